//! Random bytes of the operating system.

use crate::{BoardError, Result};
use domain::error::{ErrorCode, Refusal};
use rand::TryRng as _;

/// Random bytes of the operating system.
pub(crate) fn random<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    rand::rngs::SysRng
        .try_fill_bytes(&mut bytes)
        .map_err(|_error| {
            BoardError::Refused(Refusal::new(
                ErrorCode::Internal,
                "the operating system gave no random bytes: try again",
            ))
        })?;
    Ok(bytes)
}
