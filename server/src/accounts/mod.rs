//! Who is signed in, and whether anybody has to be (design 7).
//!
//! Bound to loopback and without accounts, the person at the machine is the operator. As soon as there is an account, and wherever
//! else the server is bound, a browser has to be signed in.

mod browsers;

pub use browsers::Browsers;

use crate::buckets::Buckets;
use board::{Actor, Board};
use domain::error::{ErrorCode, Refusal};
use domain::ids::OperatorId;
use domain::operator::{self, MAX_NAME, OperatorView, SIGNED_IN_MS, name_key};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tower_sessions::cookie::SameSite;
use tower_sessions::{Expiry, Session, SessionManagerLayer};

/// What a browser's session holds.
const OPERATOR: &str = "operator";
/// Name of the cookie.
const COOKIE: &str = "flightdeck-session";
/// How long it is believed that there is no account yet; one that is made beside a running server counts from then on.
const BELIEVED: Duration = Duration::from_secs(2);
/// Attempts that a name has, and the time after which it has as many again.
const ATTEMPTS: u32 = 10;
const ATTEMPTS_WITHIN: Duration = Duration::from_secs(10 * 60);
/// Attempts of all names together: guessing one password for many names is no way around.
const ALL_ATTEMPTS: u32 = 120;
/// Passwords that are compared at once: each takes a core and some memory.
const COMPARED_AT_ONCE: usize = 2;

/// Accounts, as the doors see them.
#[derive(Debug)]
pub struct Accounts {
    board: Board,
    /// Others than this machine can reach the server.
    exposed: bool,
    /// When it was last seen that there is no account.
    none_at: Mutex<Option<Instant>>,
    names: Buckets,
    all: Buckets,
    comparing: Semaphore,
}

impl Accounts {
    /// `exposed`: others than this machine can reach the server.
    #[must_use]
    pub fn new(board: Board, exposed: bool) -> Self {
        Self {
            board,
            exposed,
            none_at: Mutex::default(),
            names: Buckets::new(ATTEMPTS, ATTEMPTS_WITHIN),
            all: Buckets::new(ALL_ATTEMPTS, ATTEMPTS_WITHIN),
            comparing: Semaphore::new(COMPARED_AT_ONCE),
        }
    }

    /// Whether a browser has to be signed in.
    ///
    /// # Errors
    ///
    /// When the database does not answer; nobody is let in then.
    pub async fn required(&self) -> board::Result<bool> {
        if self.exposed {
            return Ok(true);
        }
        let now = Instant::now();
        let known = *self.none_at.lock().unwrap_or_else(PoisonError::into_inner);
        if known.is_some_and(|at| now.duration_since(at) < BELIEVED) {
            return Ok(false);
        }
        let any = self.board.has_operators().await?;
        *self.none_at.lock().unwrap_or_else(PoisonError::into_inner) = (!any).then_some(now);
        Ok(any)
    }

    /// Signs a browser in: its session gets a new secret, so that one that was known before is worth nothing.
    ///
    /// # Errors
    ///
    /// [`ErrorCode::Unauthorized`] when name or password are wrong, [`ErrorCode::RateLimited`] after too many attempts.
    pub async fn sign_in(
        &self,
        session: &Session,
        name: &str,
        password: &str,
    ) -> Result<OperatorView, Refusal> {
        if name.chars().count() > MAX_NAME {
            // Nobody is called that, and what is refused is not to be remembered.
            return Err(operator::not_right());
        }
        let key = name_key(name);
        let now = Instant::now();
        self.names
            .take(&key, now)
            .and_then(|()| self.all.take("", now))
            .map_err(too_many)?;
        let operator = {
            let _one = self.comparing.acquire().await.map_err(|_| closed())?;
            self.board
                .sign_in(name, password)
                .await
                .map_err(crate::error::refusal_of)?
        };
        self.names.fill(&key);
        session.cycle_id().await.map_err(|_| closed())?;
        session
            .insert(OPERATOR, operator.id)
            .await
            .map_err(|_| closed())?;
        session.save().await.map_err(|_| closed())?;
        tracing::info!(operator = %operator.id, "signed in");
        Ok(operator)
    }

    /// Signs a browser out, here and in the database.
    ///
    /// # Errors
    ///
    /// When the database does not answer; the browser is still signed in then.
    pub async fn sign_out(&self, session: &Session) -> Result<(), Refusal> {
        session.flush().await.map_err(|_| closed())
    }
}

/// Whom a request is from. Only what the gate has let in has one.
#[derive(Debug, Clone, Copy)]
pub struct Signed(pub Actor);

/// Whose browser it is; nobody's once its time or its account is over.
///
/// # Errors
///
/// When the database does not answer.
pub async fn operator_of(session: &Session) -> Result<Option<OperatorId>, Refusal> {
    session.get(OPERATOR).await.map_err(|_| closed())
}

/// What gives each request its browser's session. `secure`: the cookie is sent over TLS alone.
#[must_use]
pub fn layer(board: Board, secure: bool) -> SessionManagerLayer<Browsers> {
    SessionManagerLayer::new(Browsers::new(board))
        .with_name(COOKIE)
        .with_http_only(true)
        .with_secure(secure)
        // Strict would sign an operator out of each link in a chat; what changes something has its own check of where it comes from.
        .with_same_site(SameSite::Lax)
        .with_expiry(Expiry::OnInactivity(time::Duration::milliseconds(
            SIGNED_IN_MS,
        )))
}

fn too_many(wait: Duration) -> Refusal {
    Refusal {
        code: ErrorCode::RateLimited,
        message: "too many attempts to sign in: wait a little and try again".to_owned(),
        details: Some(serde_json::json!({"retry_after_ms": wait.as_millis()})),
    }
}

fn closed() -> Refusal {
    Refusal::unavailable("the database does not answer at present: try again in a moment")
}
