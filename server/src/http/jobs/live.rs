//! A job's timeline as it grows: each entry an event whose id takes the stream up again, and one named `end` when the job is over.

use super::auth::Party;
use super::{JobError, ShowQuery, available, bad};
use crate::state::AppState;
use axum::extract::{Path, Query, State};
use axum::response::sse::{Event as Line, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use board::Topic;
use domain::job::JobKey;
use domain::job::view::JobTimeline;
use futures::{Stream, StreamExt, stream};
use http::HeaderMap;
use std::convert::Infallible;
use std::time::Duration;
use tokio::sync::watch;

/// Often enough that a proxy does not take a quiet stream for a dead one.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// Other nodes write without waking us.
const LOOK: Duration = Duration::from_secs(2);

pub(super) async fn listen(
    State(app): State<AppState>,
    headers: HeaderMap,
    Path(key): Path<String>,
    query: Result<Query<ShowQuery>, axum::extract::rejection::QueryRejection>,
) -> Result<Response, JobError> {
    let party = Party::of(&app, &headers)?;
    available(&app).await?;
    let Query(query) = query.map_err(|error| bad(&error.body_text()))?;
    let after = match headers.get("last-event-id") {
        Some(id) => id
            .to_str()
            .ok()
            .and_then(|id| id.trim().parse().ok())
            .ok_or_else(|| bad("Last-Event-ID must be the id of an entry of this timeline"))?,
        None => query.after.unwrap_or_default(),
    };
    let key = JobKey::parse(&key)?;
    let wake = app.board.signals().subscribe(Topic::Jobs);
    // Looked at once before the stream begins, so that a job that is not there is a 404.
    let first = app
        .board
        .job_timeline(&key, party.viewer(), after, None)
        .await?;
    let shutdown = app.shutdown.clone();
    let lines = told(Listener {
        app,
        party,
        key,
        wake,
        after,
        next: Some(first),
        over: false,
    })
    .take_until(shutdown.cancelled_owned());
    let mut response = Sse::new(lines)
        .keep_alive(KeepAlive::new().interval(KEEP_ALIVE))
        .into_response();
    response
        .headers_mut()
        .insert("x-accel-buffering", http::HeaderValue::from_static("no"));
    Ok(response)
}

struct Listener {
    app: AppState,
    party: Party,
    key: JobKey,
    wake: watch::Receiver<u64>,
    after: i64,
    next: Option<JobTimeline>,
    over: bool,
}

impl Listener {
    /// What is new, waited for.
    async fn news(&mut self) -> Option<JobTimeline> {
        loop {
            let timeline = match self.next.take() {
                Some(timeline) => timeline,
                None => {
                    tokio::select! {
                        changed = self.wake.changed() => changed.ok()?,
                        () = tokio::time::sleep(LOOK) => {}
                    }
                    self.app
                        .board
                        .job_timeline(&self.key, self.party.viewer(), self.after, None)
                        .await
                        .ok()?
                }
            };
            if !timeline.events.is_empty() || timeline.job.status.is_final() {
                return Some(timeline);
            }
        }
    }
}

fn told(listener: Listener) -> impl Stream<Item = Result<Line, Infallible>> {
    stream::unfold(listener, |mut listener| async move {
        if listener.over {
            return None;
        }
        let timeline = listener.news().await?;
        listener.over = timeline.job.status.is_final();
        let mut lines = Vec::new();
        for event in &timeline.events {
            listener.after = event.id;
            let line = Line::default()
                .id(event.id.to_string())
                .event(event.event_type.as_str())
                .data(serde_json::to_string(event).unwrap_or_default());
            lines.push(Ok(line));
        }
        if listener.over {
            let end = serde_json::json!({"status": timeline.job.status});
            lines.push(Ok(Line::default().event("end").data(end.to_string())));
        }
        Some((stream::iter(lines), listener))
    })
    .flatten()
}
