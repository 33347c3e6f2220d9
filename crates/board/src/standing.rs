//! Which questions to the operator still count: the domain's rule, asked with a session's rows.

use crate::Result;
use domain::clarification::{Clarification, Standing, standing};
use domain::session::Session;
use store::Snapshot;

/// The open bundles of a session that still count, with how they stand.
pub(crate) async fn active_bundles(
    db: &mut Snapshot,
    session: &Session,
) -> Result<Vec<(Clarification, Standing)>> {
    let open = store::clarifications::open_of_session(db, session.id).await?;
    if open.is_empty() {
        return Ok(Vec::new());
    }
    let current = store::turns::current(db, session.id).await?;
    Ok(open
        .into_iter()
        .map(|bundle| {
            let stands = standing(&bundle, current, session.state);
            (bundle, stands)
        })
        .filter(|(_, stands)| *stands != Standing::Over)
        .collect())
}
