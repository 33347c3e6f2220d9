//! `/events`: the feed of what changed, as server-sent events.
//!
//! Each event's id is its position in the log; `Last-Event-ID`, which browsers send by themselves, or `?since=` takes the feed
//! up where it broke off. Events say what changed and carry nothing else: the client reads it again. When the log no longer
//! reaches back that far, an event named `reset` says that everything may have changed.
//!
//! AI jobs have timelines of their own and are not in the log. An event named `jobs.changed`, without an id, says that something
//! happened to them, to listeners who ask for no workspace and no task. One named `runs.changed` says in the same way that outside
//! clients waited for their runs, or read of them: what happens in a run is in the log.

use super::extract::{Caller, Query, id};
use super::route::{Parameter, Route};
use crate::error::ApiError;
use crate::feed::{Listener, Told};
use crate::state::AppState;
use axum::extract::State;
use axum::response::sse::{Event as Line, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use domain::error::Refusal;
use domain::event::Event;
use domain::ids::{TaskId, WorkspaceId};
use futures::{Stream, StreamExt, stream};
use http::HeaderMap;
use serde::Deserialize;
use std::convert::Infallible;
use std::time::Duration;

/// Often enough that a proxy does not take a quiet feed for a dead one.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// Name of the event that speaks of AI jobs.
const JOBS_CHANGED: &str = "jobs.changed";
/// Name of the event that speaks of clients and their runs.
const RUNS_CHANGED: &str = "runs.changed";
/// After how long a browser takes a lost feed up again.
const RETRY: Duration = Duration::from_secs(1);

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/events", listen)
            .says("What changes from now on, or from since or Last-Event-ID on. An event named reset: read everything again; one named \
                   jobs.changed: something happened to AI jobs; one named runs.changed: outside clients waited for their runs.")
            .asks(QUERY)
            .writes("text/event-stream"),
    ]
}

const QUERY: &[Parameter] = &[
    Parameter {
        name: "since",
        schema: r#"{"type":"integer","minimum":0}"#,
        description: "Position after which to begin; the newest when left out. Last-Event-ID goes before it.",
    },
    Parameter {
        name: "workspace_id",
        schema: r#"{"type":"string","format":"uuid"}"#,
        description: "Without what belongs to other workspaces.",
    },
    Parameter {
        name: "task_id",
        schema: r#"{"type":"string","format":"uuid"}"#,
        description: "Only what belongs to this task.",
    },
];

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct FeedQuery {
    since: Option<i64>,
    workspace_id: Option<String>,
    task_id: Option<String>,
}

/// Which events a listener wants.
#[derive(Debug, Clone, Copy)]
struct Filter {
    workspace: Option<WorkspaceId>,
    task: Option<TaskId>,
}

impl Filter {
    const fn wants_the_rest(self) -> bool {
        self.workspace.is_none() && self.task.is_none()
    }

    /// Agents and their profiles belong to no workspace: whoever listens to one hears of them.
    fn passes(self, event: &Event) -> bool {
        let workspace = match (self.workspace, event.workspace_id) {
            (Some(wanted), Some(given)) => wanted == given,
            (Some(_), None) => event.task_id.is_none(),
            (None, _) => true,
        };
        let task = self.task.is_none_or(|wanted| event.task_id == Some(wanted));
        workspace && task
    }
}

async fn listen(
    State(app): State<AppState>,
    Caller(_actor): Caller,
    Query(query): Query<FeedQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let filter = Filter {
        workspace: id("workspace_id", query.workspace_id.as_deref())?,
        task: id("task_id", query.task_id.as_deref())?,
    };
    let since = match headers.get("last-event-id") {
        Some(value) => Some(position(value.as_bytes())?),
        None => query.since,
    };
    if since.is_some_and(|since| since < 0) {
        return Err(Refusal::validation("since must be a position of the feed: 0 or more").into());
    }
    let listener = app.feed.listen(since);
    let events = told(listener, filter).take_until(app.shutdown.cancelled_owned());
    let mut response = Sse::new(events)
        .keep_alive(KeepAlive::new().interval(KEEP_ALIVE))
        .into_response();
    // Proxies that collect an answer before they pass it on leave it alone with this.
    response
        .headers_mut()
        .insert("x-accel-buffering", http::HeaderValue::from_static("no"));
    Ok(response)
}

fn position(bytes: &[u8]) -> Result<i64, Refusal> {
    std::str::from_utf8(bytes)
        .ok()
        .and_then(|text| text.trim().parse().ok())
        .ok_or_else(|| Refusal::validation("Last-Event-ID must be the id of an event of this feed"))
}

fn told(listener: Listener, filter: Filter) -> impl Stream<Item = Result<Line, Infallible>> {
    // The position we begin at, without an event: a client that is cut off before the first one knows where to go on.
    let start = Line::default()
        .id(listener.position().to_string())
        .retry(RETRY);
    let follow = stream::unfold(listener, move |mut listener| async move {
        loop {
            match listener.next().await? {
                Told::Event(event) if filter.passes(&event.event) => {
                    let line = Line::default()
                        .id(event.event.id.to_string())
                        .event(event.event.kind.as_str())
                        .data(&*event.json);
                    return Some((Ok(line), listener));
                }
                Told::Jobs if filter.wants_the_rest() => {
                    let line = Line::default().event(JOBS_CHANGED).data("{}");
                    return Some((Ok(line), listener));
                }
                Told::Runs if filter.wants_the_rest() => {
                    let line = Line::default().event(RUNS_CHANGED).data("{}");
                    return Some((Ok(line), listener));
                }
                Told::Event(_) | Told::Jobs | Told::Runs => {}
                Told::Reset(position) => {
                    let line = Line::default()
                        .id(position.to_string())
                        .event("reset")
                        .data(format!("{{\"since\":{position}}}"));
                    return Some((Ok(line), listener));
                }
            }
        }
    });
    stream::once(async move { Ok(start) }).chain(follow)
}
