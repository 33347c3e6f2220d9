//! A stand-in for a provider's REST API: what it shows is set by the test, and it knows conditional requests, pages, limits, tokens
//! and merging as GitHub and GitLab do.

use super::stand_in::StandIn;
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::Method;
use axum::response::Response;
use domain::digest::sha256_hex;
use serde_json::{Value, json};
use server::providers::Account;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

pub(crate) const TOKEN: &str = "token-of-the-test";

/// Status, headers and body of an answer.
type Prepared = (u16, Vec<(&'static str, String)>, Value);

/// A request that came in, and the status it was answered with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Came {
    pub(crate) call: String,
    pub(crate) status: u16,
}

#[derive(Default)]
struct World {
    /// What is at a path with its query.
    shown: HashMap<String, Value>,
    /// The page after this one.
    after: HashMap<String, String>,
    came: Vec<Came>,
    /// Answers for the next requests, before anything is looked at.
    next: VecDeque<Prepared>,
}

/// The stand-in; it ends when it is dropped.
pub(crate) struct ProviderServer {
    server: StandIn,
    world: Arc<Mutex<World>>,
}

impl ProviderServer {
    pub(crate) async fn start() -> Self {
        let world = Arc::new(Mutex::new(World::default()));
        let app = Router::new()
            .fallback(answer)
            .with_state(Arc::clone(&world));
        Self {
            server: StandIn::start(app).await,
            world,
        }
    }

    pub(crate) fn account(&self) -> Account {
        Account {
            base_url: self.server.base().to_owned(),
            token: Some(TOKEN.to_owned()),
        }
    }

    /// The address of a repository that is kept here.
    pub(crate) fn repository(&self, path: &str) -> String {
        format!("{}/{path}", self.server.base())
    }

    /// From now on this is at `path`.
    pub(crate) fn show(&self, path: &str, value: Value) {
        self.world
            .lock()
            .unwrap()
            .shown
            .insert(path.to_owned(), value);
    }

    /// The page at `path` is followed by the one at `url`, which may be a path.
    pub(crate) fn follow(&self, path: &str, url: &str) {
        let url = if url.starts_with('/') {
            format!("{}{url}", self.server.base())
        } else {
            url.to_owned()
        };
        self.world
            .lock()
            .unwrap()
            .after
            .insert(path.to_owned(), url);
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

    /// What came in since this was asked last.
    pub(crate) fn came(&self) -> Vec<Came> {
        std::mem::take(&mut self.world.lock().unwrap().came)
    }
}

async fn answer(State(world): State<Arc<Mutex<World>>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body: Value =
        serde_json::from_slice(&to_bytes(body, 1 << 20).await.unwrap()).unwrap_or_default();
    let header = |name: &str| {
        parts
            .headers
            .get(name)
            .and_then(|value| value.to_str().ok())
    };
    let path = parts.uri.path_and_query().unwrap().as_str().to_owned();
    let mut world = world.lock().unwrap();
    let (status, headers, value) = if let Some(prepared) = world.next.pop_front() {
        prepared
    } else if header("authorization") != Some(&format!("Bearer {TOKEN}"))
        && header("private-token") != Some(TOKEN)
    {
        (401, Vec::new(), json!({"message": "Bad credentials"}))
    } else if parts.method == Method::PUT {
        merge(&mut world, &path, &body)
    } else {
        show(&world, &path, header("if-none-match"))
    };
    world.came.push(Came {
        call: format!("{} {path}", parts.method),
        status,
    });
    let mut response = Response::builder()
        .status(status)
        .header("content-type", "application/json");
    for (name, value) in headers {
        response = response.header(name, value);
    }
    let body = if status == 304 {
        String::new()
    } else {
        value.to_string()
    };
    response.body(Body::from(body)).unwrap()
}

fn show(world: &World, path: &str, known: Option<&str>) -> Prepared {
    let Some(value) = world.shown.get(path) else {
        return (404, Vec::new(), json!({"message": "Not Found"}));
    };
    let tag = format!("W/\"{}\"", sha256_hex(&value.to_string()));
    if known == Some(&tag) {
        return (304, vec![("etag", tag)], Value::Null);
    }
    let mut headers = vec![("etag", tag)];
    if let Some(next) = world.after.get(path) {
        headers.push((
            "link",
            format!("<{next}>; rel=\"next\", <{next}>; rel=\"last\""),
        ));
    }
    (200, headers, value.clone())
}

/// Merges what is at the address without its last part, if that is as the request says.
fn merge(world: &mut World, path: &str, body: &Value) -> Prepared {
    let Some(found) = path
        .strip_suffix("/merge")
        .and_then(|path| world.shown.get_mut(path))
    else {
        return (404, Vec::new(), json!({"message": "Not Found"}));
    };
    let on_gitlab = found["head"].is_null();
    let head = if on_gitlab {
        &found["sha"]
    } else {
        &found["head"]["sha"]
    };
    if body["sha"] != *head {
        return (
            409,
            Vec::new(),
            json!({"message": "Head branch was modified. Review and try the merge again."}),
        );
    }
    if on_gitlab {
        found["state"] = json!("merged");
        return (200, Vec::new(), found.clone());
    }
    found["state"] = json!("closed");
    found["merged"] = json!(true);
    (
        200,
        Vec::new(),
        json!({"sha": "6dcb09b5", "merged": true, "message": "Pull Request successfully merged"}),
    )
}

/// A pull request in the shape of GitHub's, as far as it is read.
pub(crate) fn pull(number: i64, head: &str, mergeable_state: &str) -> Value {
    json!({
        "id": 1, "number": number, "state": "open", "locked": false, "draft": false, "merged": false,
        "title": "Lock twice", "html_url": format!("https://github.example/a/b/pull/{number}"),
        "user": {"login": "agent", "id": 1, "type": "User"}, "body": "It locks.",
        "head": {"label": "a:lock", "ref": "lock", "sha": head}, "base": {"label": "a:main", "ref": "main", "sha": "0"},
        "mergeable": mergeable_state == "clean", "mergeable_state": mergeable_state,
        "requested_reviewers": [{"login": "me", "id": 2}], "requested_teams": [],
    })
}

/// A check run in the shape of GitHub's.
pub(crate) fn run(id: i64, name: &str, conclusion: Option<&str>) -> Value {
    json!({
        "id": id, "name": name, "head_sha": "abc", "html_url": format!("https://github.example/runs/{id}"),
        "status": if conclusion.is_some() { "completed" } else { "in_progress" }, "conclusion": conclusion,
    })
}

/// A merge request in the shape of GitLab's, as far as it is read.
pub(crate) fn merge_request(iid: i64, head: &str, status: &str, pipeline: &str) -> Value {
    json!({
        "id": 1, "iid": iid, "project_id": 3, "title": "Lock twice", "state": "opened", "draft": false,
        "web_url": format!("https://gitlab.example/g/s/p/-/merge_requests/{iid}"), "sha": head, "has_conflicts": status == "conflict",
        "detailed_merge_status": status, "author": {"username": "agent"}, "reviewers": [{"id": 2, "username": "me"}],
        "head_pipeline": {"id": 29, "sha": head, "status": pipeline, "web_url": "https://gitlab.example/pipelines/29"},
    })
}
