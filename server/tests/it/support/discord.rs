//! A stand-in for Discord's REST API that enforces its limits: lengths, nonces, a bucket for each route, who cannot be written to.

use super::stand_in::StandIn;
use axum::Router;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use axum::routing::post;
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::sleep;

pub(crate) const TOKEN: &str = "bot-token-of-the-test";

/// What a user sees of a message.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Shown {
    pub(crate) channel: String,
    pub(crate) content: String,
    pub(crate) id: String,
}

/// Status, headers and body of an answer.
type Prepared = (u16, Vec<(&'static str, String)>, Value);

#[derive(Default)]
struct World {
    channels: HashMap<String, String>,
    blocked: HashSet<String>,
    nonces: HashMap<(String, String), String>,
    shown: Vec<Shown>,
    requests: usize,
    opened: usize,
    /// Answers for the next requests, before anything is looked at.
    next: VecDeque<Prepared>,
    /// Messages that a channel takes before its bucket is empty.
    bucket: Option<usize>,
    /// How long a message takes to arrive, and its answer to come back.
    way: Duration,
    next_id: u64,
}

/// The stand-in; it ends when it is dropped.
pub(crate) struct DiscordServer {
    url: String,
    world: Arc<Mutex<World>>,
    _server: StandIn,
}

impl DiscordServer {
    pub(crate) async fn start() -> Self {
        let world = Arc::new(Mutex::new(World::default()));
        let app = Router::new()
            .route("/api/v10/users/@me/channels", post(open))
            .route("/api/v10/channels/{channel}/messages", post(send))
            .with_state(Arc::clone(&world));
        let server = StandIn::start(app).await;
        Self {
            url: format!("{}/api/v10", server.base()),
            world,
            _server: server,
        }
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// All that users see, in order.
    pub(crate) fn shown(&self) -> Vec<Shown> {
        self.world.lock().unwrap().shown.clone()
    }

    pub(crate) fn requests(&self) -> usize {
        self.world.lock().unwrap().requests
    }

    /// How often a channel was asked for.
    pub(crate) fn opened(&self) -> usize {
        self.world.lock().unwrap().opened
    }

    /// This user takes no messages.
    pub(crate) fn block(&self, user: &str) {
        self.world.lock().unwrap().blocked.insert(user.to_owned());
    }

    /// The next request gets this answer.
    pub(crate) fn answer_next(
        &self,
        status: u16,
        headers: Vec<(&'static str, String)>,
        body: Value,
    ) {
        self.world
            .lock()
            .unwrap()
            .next
            .push_back((status, headers, body));
    }

    /// A message takes so long to arrive, and its answer as long to come back.
    pub(crate) fn slow_down(&self, way: Duration) {
        self.world.lock().unwrap().way = way;
    }

    /// Each channel takes so many messages, and then says that it is used up.
    pub(crate) fn limit(&self, messages: usize) {
        self.world.lock().unwrap().bucket = Some(messages);
    }
}

fn reply(status: u16, headers: &[(&'static str, String)], body: &Value) -> Response {
    let mut response = Response::builder()
        .status(status)
        .header("content-type", "application/json");
    for (name, value) in headers {
        response = response.header(*name, value);
    }
    response.body(Body::from(body.to_string())).unwrap()
}

fn refused(status: StatusCode, code: i64, message: &str) -> Response {
    reply(
        status.as_u16(),
        &[],
        &json!({"code": code, "message": message}),
    )
}

/// What comes before a request is looked at.
fn before(world: &mut World, headers: &HeaderMap) -> Option<Response> {
    world.requests += 1;
    if let Some((status, headers, body)) = world.next.pop_front() {
        return Some(reply(status, &headers, &body));
    }
    let known = headers
        .get("authorization")
        .is_some_and(|value| *value == format!("Bot {TOKEN}"));
    (!known).then(|| refused(StatusCode::UNAUTHORIZED, 0, "401: Unauthorized"))
}

async fn open(
    State(world): State<Arc<Mutex<World>>>,
    headers: HeaderMap,
    body: String,
) -> Response {
    let mut world = world.lock().unwrap();
    if let Some(reply) = before(&mut world, &headers) {
        return reply;
    }
    world.opened += 1;
    let body: Value = serde_json::from_str(&body).unwrap_or_default();
    let Some(user) = body["recipient_id"].as_str() else {
        return refused(StatusCode::BAD_REQUEST, 50_035, "Invalid Form Body");
    };
    if user == "404" {
        return refused(StatusCode::NOT_FOUND, 10_013, "Unknown User");
    }
    let channel = world
        .channels
        .entry(user.to_owned())
        .or_insert_with(|| format!("9{user}"))
        .clone();
    reply(200, &[], &json!({"id": channel, "type": 1}))
}

async fn send(
    State(world): State<Arc<Mutex<World>>>,
    Path(channel): Path<String>,
    headers: HeaderMap,
    body: String,
) -> Response {
    let way = world.lock().unwrap().way;
    sleep(way).await;
    let reply = take(&mut world.lock().unwrap(), channel, &headers, &body);
    sleep(way).await;
    reply
}

fn take(world: &mut World, channel: String, headers: &HeaderMap, body: &str) -> Response {
    if let Some(reply) = before(world, headers) {
        return reply;
    }
    let Some(user) = world
        .channels
        .iter()
        .find(|(_, open)| **open == channel)
        .map(|(user, _)| user.clone())
    else {
        return refused(StatusCode::NOT_FOUND, 10_003, "Unknown Channel");
    };
    if world.blocked.contains(&user) {
        return refused(
            StatusCode::FORBIDDEN,
            50_007,
            "Cannot send messages to this user",
        );
    }
    let body: Value = serde_json::from_str(body).unwrap_or_default();
    let content = body["content"].as_str().unwrap_or_default();
    let nonce = body["nonce"].as_str().unwrap_or_default();
    let too_long = content.chars().count() > 2000 || nonce.chars().count() > 25;
    if content.trim().is_empty() || too_long {
        return refused(StatusCode::BAD_REQUEST, 50_035, "Invalid Form Body");
    }
    if body["allowed_mentions"]["parse"] != json!([]) {
        return refused(
            StatusCode::BAD_REQUEST,
            50_035,
            "this would have pinged somebody",
        );
    }
    let key = (channel.clone(), nonce.to_owned());
    let enforced = body["enforce_nonce"] == true && !nonce.is_empty();
    if let Some(id) = world.nonces.get(&key).filter(|_| enforced) {
        return reply(200, &[], &json!({"id": id, "nonce": nonce}));
    }
    let used_up = match &mut world.bucket {
        Some(0) => {
            let headers = [("retry-after", "0.05".to_owned())];
            world.bucket = Some(1);
            return reply(
                429,
                &headers,
                &json!({"message": "You are being rate limited.", "retry_after": 0.05, "global": false}),
            );
        }
        Some(left) => {
            *left -= 1;
            *left == 0
        }
        None => false,
    };
    world.next_id += 1;
    let id = format!("7{}", world.next_id);
    world.nonces.insert(key, id.clone());
    world.shown.push(Shown {
        channel,
        content: content.to_owned(),
        id: id.clone(),
    });
    let headers = if used_up {
        world.bucket = Some(1);
        vec![
            ("x-ratelimit-remaining", "0".to_owned()),
            ("x-ratelimit-reset-after", "0.2".to_owned()),
        ]
    } else {
        vec![("x-ratelimit-remaining", "4".to_owned())]
    };
    reply(200, &headers, &json!({"id": id, "nonce": nonce}))
}
