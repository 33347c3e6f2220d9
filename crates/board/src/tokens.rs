//! Tokens: random, shown once, kept as hashes. The hash is what is compared, so a comparison cannot leak the token.

use crate::random::random;
use crate::transition::Work;
use crate::{Actor, Board, Result};
use domain::digest::{hex, sha256_hex};
use domain::error::Refusal;
use domain::ids::{TokenId, WorkspaceId};
use domain::operator::{NewToken, TokenView, TokenWorkspace};

/// Tells our tokens apart in logs of other programs and in secret scanners.
const PREFIX: &str = "fd_";

/// A new token with 256 random bits.
pub(crate) fn generate() -> Result<String> {
    Ok(format!("{PREFIX}{}", hex(&random::<32>()?)))
}

/// How often the use of a token is written down, in milliseconds: a write each call would cost more than the call.
const TOUCH_EVERY_MS: i64 = 60_000;

impl Board {
    /// Who calls with this bearer token; `None` for one that is unknown or revoked.
    pub async fn authenticate(&self, token: &str) -> Result<Option<Actor>> {
        if !token.starts_with(PREFIX) {
            return Ok(None);
        }
        let hash = sha256_hex(token);
        let mut db = self.snapshot().await?;
        if let Some((task, session)) = store::tokens::find_session(&mut db, &hash).await? {
            return Ok(Some(Actor::Agent { task, session }));
        }
        let Some((token, used)) = store::tokens::find_access(&mut db, &hash).await? else {
            return Ok(None);
        };
        drop(db);
        let now = self.clock.now();
        if used.is_none_or(|used| used.plus_millis(TOUCH_EVERY_MS) <= now) {
            let mut work = self.begin().await?;
            let now = work.now;
            store::tokens::touch_access(&mut work.tx, token, now).await?;
            work.commit().await?;
        }
        Ok(Some(Actor::External { token }))
    }

    /// Makes an access token for an outside client that reaches every workspace, and gives it; it cannot be read again.
    pub async fn token_create(&self, actor: &Actor, name: &str) -> Result<NewToken> {
        self.token_create_within(actor, name, None).await
    }

    /// As [`Self::token_create`], for a client that reaches these workspaces and no others; `None` is all.
    ///
    /// What belongs to no workspace, the profiles of agents, such a client may read and not change.
    pub async fn token_create_within(
        &self,
        actor: &Actor,
        name: &str,
        workspaces: Option<&[WorkspaceId]>,
    ) -> Result<NewToken> {
        actor.require_operator()?;
        let what_for = "say which client the token is for";
        let name = &domain::name::check("name", name, 120, what_for)?;
        let (id, token) = (TokenId::new(), generate()?);
        let mut work = self.begin().await?;
        let now = work.now;
        store::tokens::insert_access(&mut work.tx, id, name, &sha256_hex(&token), now).await?;
        let reached = match workspaces {
            None => None,
            Some(wanted) => Some(work.limit_token(id, wanted).await?),
        };
        work.commit().await?;
        let info = TokenView {
            id,
            name: name.to_owned(),
            workspaces: reached,
            created_at: now,
            last_used_at: None,
            revoked_at: None,
        };
        Ok(NewToken { info, token })
    }

    /// All access tokens, newest first, also those that were revoked.
    pub async fn token_list(&self, actor: &Actor) -> Result<Vec<TokenView>> {
        actor.require_operator()?;
        Ok(store::tokens::list_access(&mut self.snapshot().await?).await?)
    }

    /// Revokes an access token: the next call with it is refused. Revoking it again changes nothing.
    ///
    /// # Errors
    ///
    /// When there is no such token.
    pub async fn token_revoke(&self, actor: &Actor, id: TokenId) -> Result<()> {
        actor.require_operator()?;
        let mut work = self.begin().await?;
        let now = work.now;
        if !store::tokens::revoke_access(&mut work.tx, id, now).await? {
            return Err(Refusal::not_found("access token").into());
        }
        work.commit().await
    }
}

impl Work {
    async fn limit_token(
        &mut self,
        id: TokenId,
        wanted: &[WorkspaceId],
    ) -> Result<Vec<TokenWorkspace>> {
        if wanted.is_empty() {
            return Err(Refusal::validation(
                "name at least one workspace, or leave the limit out: a token that reaches nothing is of no use",
            )
            .into());
        }
        let mut wanted = wanted.to_vec();
        wanted.sort_unstable();
        wanted.dedup();
        let mut reached = Vec::new();
        for workspace in &wanted {
            let found = store::workspaces::find(&mut self.tx, *workspace)
                .await?
                .ok_or_else(|| Refusal::not_found("workspace"))?;
            reached.push(TokenWorkspace {
                id: found.id,
                name: found.name,
            });
        }
        store::tokens::limit_access(&mut self.tx, id, &wanted).await?;
        Ok(reached)
    }
}
