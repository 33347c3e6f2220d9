//! Streamable HTTP, served by the official SDK, with three things it leaves to us.
//!
//! - **Whose connection it is.** An `Mcp-Session-Id` belongs to the actor that opened it; for everybody else there is no such
//!   session, whatever token they have.
//! - **What is refused before it is a call.** The SDK says so in plain text, and of a body that is no JSON that its media type is
//!   wrong. Clients read JSON-RPC.
//! - **Who is still there.** In the revisions with sessions the SDK lets a call run on when its client is cut off. A call that
//!   waits for a person must know that nobody waits for it any more, so the answer's body tells when it is dropped.

use super::Patience;
use super::identity::Identity;
use axum::body::{Body, BodyDataStream};
use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use board::Actor;
use bytes::Bytes;
use futures::Stream;
use futures::future::BoxFuture;
use http::header::{ALLOW, CONTENT_TYPE};
use http::{HeaderMap, Method, StatusCode};
use rmcp::ServerHandler;
use rmcp::model::ErrorCode;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio_util::sync::{CancellationToken, DropGuard};

const SESSION_ID: &str = "mcp-session-id";
/// The largest message; the board takes texts of up to 256 KiB.
const BODY_LIMIT: usize = 1024 * 1024;

/// JSON-RPC leaves this range to servers; these two are what the SDKs of MCP use for the same.
const REFUSED: ErrorCode = ErrorCode(-32000);
const SESSION_NOT_FOUND: ErrorCode = ErrorCode(-32001);

/// The HTTP side of the route, whatever answers behind it.
pub(super) trait Door: Send + Sync + std::fmt::Debug {
    /// Answers a request of `actor`.
    fn serve(&self, actor: Actor, request: Request) -> BoxFuture<'_, Response>;
}

/// The door to what `H` answers.
struct Transport<H> {
    agents: Half<H>,
    external: Half<H>,
}

/// A door to one handler for agents and one for everybody else, which are cloned for each connection.
pub(super) fn door<H: ServerHandler + Clone>(
    agents: H,
    external: H,
    patience: Patience,
    shutdown: &CancellationToken,
) -> Arc<dyn Door> {
    Arc::new(Transport {
        agents: Half::new(agents, patience.agent_idle, shutdown.clone()),
        external: Half::new(external, patience.external_idle, shutdown.clone()),
    })
}

impl<H> std::fmt::Debug for Transport<H> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Transport").finish_non_exhaustive()
    }
}

impl<H: ServerHandler> Door for Transport<H> {
    fn serve(&self, actor: Actor, request: Request) -> BoxFuture<'_, Response> {
        let half = match actor {
            Actor::Agent { .. } => &self.agents,
            Actor::External { .. } | Actor::Operator | Actor::System => &self.external,
        };
        Box::pin(half.serve(actor, request))
    }
}

/// Connections of one kind of client, which are forgotten after the same time.
struct Half<H> {
    service: StreamableHttpService<H, LocalSessionManager>,
    sessions: Arc<LocalSessionManager>,
    owners: Mutex<HashMap<String, Actor>>,
}

impl<H: ServerHandler> Half<H> {
    fn new(handler: H, idle: Duration, shutdown: CancellationToken) -> Self
    where
        H: Clone,
    {
        let mut sessions = LocalSessionManager::default();
        sessions.session_config.keep_alive = Some(idle);
        let sessions = Arc::new(sessions);
        // Host and Origin were judged for all routes alike, before this one.
        let config = StreamableHttpServerConfig::default()
            .disable_allowed_hosts()
            .with_max_request_body_bytes(BODY_LIMIT)
            .with_cancellation_token(shutdown);
        let service =
            StreamableHttpService::new(move || Ok(handler.clone()), sessions.clone(), config);
        Self {
            service,
            sessions,
            owners: Mutex::default(),
        }
    }

    async fn serve(&self, actor: Actor, mut request: Request) -> Response {
        let gone = CancellationToken::new();
        // From here on the client may be cut off: dropping this future says so too.
        let guard = gone.clone().drop_guard();
        request.extensions_mut().insert(Identity { actor, gone });
        let (request, sent) = match kept(request).await {
            Ok(kept) => kept,
            Err(refused) => return refused,
        };
        if !self.may_use(actor, request.headers()) {
            return no_session(sent.as_deref());
        }
        let response = self.service.handle(request).await.map(Body::new);
        if response.status().is_client_error() && !has_message(response.headers()) {
            return in_json_rpc(response, sent.as_deref()).await;
        }
        self.note_owner(actor, response.headers()).await;
        response.map(|body| {
            Body::from_stream(Watched {
                body: body.into_data_stream(),
                guard: Some(guard),
            })
        })
    }

    fn may_use(&self, actor: Actor, headers: &HeaderMap) -> bool {
        let Some(id) = session_id(headers) else {
            return true;
        };
        let owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
        // An id that nobody has goes through: the SDK answers that it is unknown.
        owners.get(id).is_none_or(|owner| *owner == actor)
    }

    async fn note_owner(&self, actor: Actor, headers: &HeaderMap) {
        let Some(id) = session_id(headers).map(str::to_owned) else {
            return;
        };
        let live = self.sessions.sessions.read().await;
        let mut owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
        owners.retain(|known, _| live.contains_key(known.as_str()));
        owners.insert(id, actor);
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.split(';').next())
        .is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
}

/// A request with its body read, and the body once more when it is to be a message: one in JSON that is posted. The SDK reads it whole too.
async fn kept(request: Request) -> Result<(Request, Option<Bytes>), Response> {
    if request.method() != Method::POST || !is_json(request.headers()) {
        return Ok((request, None));
    }
    let (parts, body) = request.into_parts();
    match axum::body::to_bytes(body, BODY_LIMIT).await {
        Ok(sent) => Ok((
            Request::from_parts(parts, Body::from(sent.clone())),
            Some(sent),
        )),
        Err(_) => Err(refusal(
            StatusCode::PAYLOAD_TOO_LARGE,
            &Value::Null,
            ErrorCode::INVALID_REQUEST,
            format!("a message may have {BODY_LIMIT} bytes"),
        )),
    }
}

/// Whether the answer is a message, or a stream of them.
fn has_message(headers: &HeaderMap) -> bool {
    is_json(headers)
        || headers
            .get(CONTENT_TYPE)
            .is_some_and(|kind| kind == "text/event-stream")
}

/// What the SDK refused in plain text, as JSON-RPC says it; `sent` is the message, when it was to be one.
async fn in_json_rpc(response: Response, sent: Option<&[u8]>) -> Response {
    let status = response.status();
    if let Some(sent) = sent
        && status == StatusCode::UNSUPPORTED_MEDIA_TYPE
    {
        return unreadable(sent);
    }
    if status == StatusCode::NOT_FOUND {
        return no_session(sent);
    }
    let (parts, body) = response.into_parts();
    let said = axum::body::to_bytes(body, BODY_LIMIT)
        .await
        .unwrap_or_default();
    let mut answer = refusal(
        status,
        &id_in(sent),
        REFUSED,
        String::from_utf8_lossy(&said),
    );
    if let Some(allowed) = parts.headers.get(ALLOW) {
        answer.headers_mut().insert(ALLOW, allowed.clone());
    }
    answer
}

/// JSON-RPC's answer to what is no JSON, or no message.
fn unreadable(sent: &[u8]) -> Response {
    let (id, code, message) = match serde_json::from_slice::<Value>(sent) {
        Err(_) => (
            Value::Null,
            ErrorCode::PARSE_ERROR,
            "the body cannot be read: it must be JSON in UTF-8, without lone surrogates",
        ),
        Ok(message) => (
            id_of(&message),
            ErrorCode::INVALID_REQUEST,
            "the body is no message: it must be one object of JSON-RPC 2.0 with a method, and params that are an object",
        ),
    };
    refusal(StatusCode::BAD_REQUEST, &id, code, message)
}

/// One that nobody has, and one of somebody else: who asks cannot tell them apart.
fn no_session(sent: Option<&[u8]>) -> Response {
    refusal(
        StatusCode::NOT_FOUND,
        &id_in(sent),
        SESSION_NOT_FOUND,
        "there is no such MCP session: begin again with initialize",
    )
}

/// The id that an answer to what was sent carries.
fn id_in(sent: Option<&[u8]>) -> Value {
    sent.and_then(|sent| serde_json::from_slice(sent).ok())
        .map_or(Value::Null, |message| id_of(&message))
}

/// The id that an answer to `message` carries.
fn id_of(message: &Value) -> Value {
    message
        .get("id")
        .filter(|id| id.is_string() || id.is_number())
        .cloned()
        .unwrap_or_default()
}

fn refusal(
    status: StatusCode,
    id: &Value,
    code: ErrorCode,
    message: impl Into<String>,
) -> Response {
    let error = json!({"code": code.0, "message": message.into()});
    let body = json!({"jsonrpc": "2.0", "id": id, "error": error});
    (status, axum::Json(body)).into_response()
}

fn session_id(headers: &HeaderMap) -> Option<&str> {
    headers.get(SESSION_ID)?.to_str().ok()
}

/// A body that cancels its guard's token when it is dropped before its end.
struct Watched {
    body: BodyDataStream,
    guard: Option<DropGuard>,
}

impl Stream for Watched {
    type Item = Result<Bytes, axum::Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let polled = Pin::new(&mut self.body).poll_next(context);
        if let Poll::Ready(None) = polled
            && let Some(guard) = self.guard.take()
        {
            guard.disarm();
        }
        polled
    }
}
