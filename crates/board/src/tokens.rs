//! Tokens: random, shown once, kept as hashes. The hash is what is compared, so a comparison cannot leak the token.

use crate::{Actor, Board, Result};
use domain::error::Refusal;
use domain::ids::TokenId;
use domain::question::check_length;
use rand::TryRng;
use sha2::{Digest, Sha256};

/// Tells our tokens apart in logs of other programs and in secret scanners.
const PREFIX: &str = "fd_";

/// A new token with 256 random bits.
pub(crate) fn generate() -> String {
    let mut bytes = [0u8; 32];
    // The operating system's generator; without it nothing secret can be made, and a panic at start is right.
    rand::rngs::SysRng
        .try_fill_bytes(&mut bytes)
        .expect("the operating system has a random generator");
    format!("{PREFIX}{}", hex(&bytes))
}

/// The form in which a token is kept.
pub(crate) fn hash(token: &str) -> String {
    hex(&Sha256::digest(token.as_bytes()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Board {
    /// Who calls with this bearer token; `None` for one that is unknown or revoked.
    pub async fn authenticate(&self, token: &str) -> Result<Option<Actor>> {
        if !token.starts_with(PREFIX) {
            return Ok(None);
        }
        let hash = hash(token);
        let mut db = self.snapshot().await?;
        if let Some((task, session)) = store::tokens::find_session(&mut db, &hash).await? {
            return Ok(Some(Actor::Agent { task, session }));
        }
        Ok(store::tokens::find_access(&mut db, &hash)
            .await?
            .map(|token| Actor::External { token }))
    }

    /// Makes an access token for an outside client and gives it; it cannot be read again.
    pub async fn token_create(&self, actor: &Actor, name: &str) -> Result<(TokenId, String)> {
        actor.require_operator()?;
        let name = name.trim();
        if name.is_empty() {
            return Err(
                Refusal::validation("name is required: say which client the token is for").into(),
            );
        }
        check_length("name", name, 120)?;
        let (id, token) = (TokenId::new(), generate());
        let mut work = self.begin().await?;
        let now = work.now;
        store::tokens::insert_access(&mut work.tx, id, name, &hash(&token), now).await?;
        work.commit().await?;
        Ok((id, token))
    }
}
