//! Operators' accounts, and the browsers that are signed in by them.
//!
//! Who may make accounts is decided by who reaches these methods: the command line works on the data itself, and whoever has that
//! is the operator already.

use crate::{Actor, Board, BoardError, Result};
use argon2::Argon2;
use argon2::password_hash::{PasswordHasher, PasswordVerifier, phc::PasswordHash};
use domain::digest::sha256_hex;
use domain::error::{ErrorCode, Refusal};
use domain::ids::OperatorId;
use domain::operator::{OperatorView, check_name, check_password, name_key};
use domain::time::Timestamp;
use std::sync::LazyLock;
use store::StoreError;

/// What a password is compared with when there is no such account: a name that exists must not be told by the time it takes.
static NOBODY: LazyLock<Option<String>> = LazyLock::new(|| hash("nobody has this password").ok());

impl Board {
    /// Makes an account.
    ///
    /// # Errors
    ///
    /// When the name is taken, in whatever case, or name or password break the rules of `domain::operator`.
    pub async fn operator_create(
        &self,
        actor: &Actor,
        name: &str,
        password: &str,
    ) -> Result<OperatorView> {
        actor.require_operator()?;
        let name = check_name(name)?;
        check_password(password)?;
        let hash = hash_elsewhere(password).await?;
        let mut work = self.begin().await?;
        let (id, now) = (OperatorId::new(), work.now);
        let added =
            store::operators::insert(&mut work.tx, id, &name, &name_key(&name), &hash, now).await;
        match added {
            Err(StoreError::Unique(_)) => Err(Refusal::conflict(format!(
                "there is an operator \"{name}\" already: choose another name, or give that one another password"
            ))
            .into()),
            added => {
                added?;
                work.commit().await?;
                Ok(OperatorView {
                    id,
                    name,
                    created_at: now,
                    last_signed_in_at: None,
                })
            }
        }
    }

    /// All accounts, by name.
    pub async fn operator_list(&self, actor: &Actor) -> Result<Vec<OperatorView>> {
        actor.require_operator()?;
        Ok(store::operators::list(&mut self.snapshot().await?).await?)
    }

    /// Gives an account another password and signs its browsers out.
    ///
    /// # Errors
    ///
    /// When there is no such account, or the password breaks the rules.
    pub async fn operator_set_password(
        &self,
        actor: &Actor,
        name: &str,
        password: &str,
    ) -> Result<()> {
        actor.require_operator()?;
        check_password(password)?;
        let hash = hash_elsewhere(password).await?;
        let mut work = self.begin().await?;
        let (found, _) = store::operators::find(&mut work.tx, &name_key(name))
            .await?
            .ok_or_else(|| Refusal::not_found("operator"))?;
        store::operators::set_password(&mut work.tx, found.id, &hash).await?;
        store::web_sessions::delete_of(&mut work.tx, found.id).await?;
        work.commit().await
    }

    /// Takes an account away and signs its browsers out.
    ///
    /// # Errors
    ///
    /// When there is no such account.
    pub async fn operator_remove(&self, actor: &Actor, name: &str) -> Result<()> {
        actor.require_operator()?;
        let mut work = self.begin().await?;
        let (found, _) = store::operators::find(&mut work.tx, &name_key(name))
            .await?
            .ok_or_else(|| Refusal::not_found("operator"))?;
        store::operators::delete(&mut work.tx, found.id).await?;
        work.commit().await
    }

    /// Whether anybody has to sign in.
    pub async fn has_operators(&self) -> Result<bool> {
        Ok(store::operators::exist(&mut self.snapshot().await?).await?)
    }

    /// The account of a name and its password.
    ///
    /// # Errors
    ///
    /// [`ErrorCode::Unauthorized`], with the same words and after about the same time whichever of the two is wrong.
    pub async fn sign_in(&self, name: &str, password: &str) -> Result<OperatorView> {
        let found = store::operators::find(&mut self.snapshot().await?, &name_key(name)).await?;
        let kept = match &found {
            Some((_, hash)) => Some(hash.clone()),
            None => NOBODY.clone(),
        };
        let given = password.to_owned();
        let matches = elsewhere(move || {
            Ok(kept.is_some_and(|kept| {
                given.len() <= domain::operator::MAX_PASSWORD && verify(&kept, &given)
            }))
        })
        .await?;
        let Some((mut operator, kept)) = found.filter(|_| matches) else {
            return Err(domain::operator::not_right().into());
        };
        let mut work = self.begin().await?;
        let now = work.now;
        // Since it was read the account may have gone or got another password.
        let still = store::operators::find(&mut work.tx, &name_key(name)).await?;
        if still.is_none_or(|(_, hash)| hash != kept) {
            return Err(domain::operator::not_right().into());
        }
        store::operators::touch(&mut work.tx, operator.id, now).await?;
        work.commit().await?;
        operator.last_signed_in_at = Some(now);
        Ok(operator)
    }

    /// Keeps what a browser's session holds. `key` is the secret of its cookie.
    pub async fn web_session_save(
        &self,
        key: &str,
        operator: OperatorId,
        record: &str,
        expires_at: Timestamp,
    ) -> Result<()> {
        let mut work = self.begin().await?;
        store::web_sessions::save(&mut work.tx, &sha256_hex(key), operator, record, expires_at)
            .await?;
        work.commit().await
    }

    /// What a browser's session holds and until when; nothing once its time, its operator or itself is gone.
    pub async fn web_session_find(&self, key: &str) -> Result<Option<(String, Timestamp)>> {
        let now = self.clock.now();
        let mut db = self.snapshot().await?;
        Ok(store::web_sessions::find(&mut db, &sha256_hex(key), now).await?)
    }

    /// Ends a browser's session.
    pub async fn web_session_end(&self, key: &str) -> Result<()> {
        let mut work = self.begin().await?;
        store::web_sessions::delete(&mut work.tx, &sha256_hex(key)).await?;
        work.commit().await
    }

    /// Forgets the browsers' sessions whose time is over.
    pub async fn web_sessions_prune(&self) -> Result<()> {
        let mut work = self.begin().await?;
        let now = work.now;
        store::web_sessions::delete_expired(&mut work.tx, now).await?;
        work.commit().await
    }
}

/// Hashing takes tens of milliseconds of one core: not where other requests are served.
async fn elsewhere<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|_| broken())?
}

async fn hash_elsewhere(password: &str) -> Result<String> {
    let password = password.to_owned();
    elsewhere(move || hash(&password)).await
}

fn hash(password: &str) -> Result<String> {
    Argon2::default()
        .hash_password(password.as_bytes())
        .map(|hash: PasswordHash| hash.to_string())
        .map_err(|_| broken())
}

fn verify(kept: &str, given: &str) -> bool {
    PasswordHash::new(kept).is_ok_and(|kept| {
        Argon2::default()
            .verify_password(given.as_bytes(), &kept)
            .is_ok()
    })
}

fn broken() -> BoardError {
    Refusal::new(
        ErrorCode::Internal,
        "the password could not be hashed, so nothing was changed: try again",
    )
    .into()
}
