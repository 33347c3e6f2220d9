//! The conversation with the assistant.

#[cfg(feature = "ssr")]
use crate::api::Door;
use crate::components::transcript::Entry;
use crate::error::AppError;
#[cfg(feature = "ssr")]
use board::TalkPart;
#[cfg(feature = "ssr")]
use domain::job::event::source;
#[cfg(feature = "ssr")]
use domain::job::intake::OPERATOR;
use domain::job::view::{ConsentView, Enqueued, JobView};
#[cfg(feature = "ssr")]
use domain::job::view::{Talk, TalkTurn};
use domain::job::{JobEvent, JobId};
use leptos::prelude::*;
use leptos::server_fn::codec::Json;
use serde::{Deserialize, Serialize};

/// Whether the assistant can be talked to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Readiness {
    /// The setting.
    pub enabled: bool,
    /// There is a model to ask.
    pub has_model: bool,
    /// What was set and cannot be used, in sentences.
    pub problems: Vec<String>,
}

/// A message and its answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ShownTurn {
    /// The message's job; its answer is in `html`.
    pub job: JobView,
    /// The answer as HTML that the server has made and sanitised.
    pub html: Option<String>,
    /// The job's timeline, as long as it is not over.
    pub events: Vec<JobEvent>,
    /// What it previewed.
    pub confirmation: Option<ConsentView>,
}

impl Entry for ShownTurn {
    type Id = JobId;
    fn id(&self) -> JobId {
        self.job.id
    }
    fn seq(&self) -> i64 {
        self.job.id.0
    }
}

/// A part of the conversation, oldest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ShownTalk {
    /// Its turns.
    pub turns: Vec<ShownTurn>,
    /// There are earlier ones.
    pub has_earlier: bool,
}

/// What the page begins with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Opened {
    /// Whether the assistant can be talked to.
    pub readiness: Readiness,
    /// The newest turns.
    pub talk: ShownTalk,
}

#[cfg(feature = "ssr")]
fn shown(talk: Talk) -> ShownTalk {
    let turns = talk.turns.into_iter().map(|turn| {
        let TalkTurn {
            mut job,
            events,
            confirmation,
        } = turn;
        // Before it is delivered it is nothing that was said.
        let answer = job.answer_text.take();
        let html = answer
            .filter(|_| job.status.is_final())
            .map(|answer| crate::markdown::to_html(&answer));
        ShownTurn {
            job,
            html,
            events,
            confirmation,
        }
    });
    ShownTalk {
        turns: turns.collect(),
        has_earlier: talk.has_earlier,
    }
}

#[cfg(feature = "ssr")]
async fn read(door: &Door, part: TalkPart) -> Result<ShownTalk, AppError> {
    let talk = door.board.job_talk(OPERATOR, source::IN_APP, part).await;
    door.answer(talk.map(shown))
}

/// The newest turns, and whether more can follow.
#[server(prefix = "/api/page", endpoint = "assistant", input = Json)]
pub async fn assistant_open() -> Result<Opened, AppError> {
    let door = Door::open()?;
    Ok(Opened {
        readiness: door.desk()?.readiness(),
        talk: read(&door, TalkPart::Newest).await?,
    })
}

/// The turns before one of them.
#[server(prefix = "/api/page", endpoint = "assistant/earlier", input = Json)]
pub async fn assistant_earlier(before: JobId) -> Result<ShownTalk, AppError> {
    let door = Door::open()?;
    read(&door, TalkPart::Before(before)).await
}

/// A turn as it is now, and all that follow it.
#[server(prefix = "/api/page", endpoint = "assistant/news", input = Json)]
pub async fn assistant_news(from: JobId) -> Result<ShownTalk, AppError> {
    let door = Door::open()?;
    read(&door, TalkPart::From(from)).await
}

/// Says something to the assistant. Safe to repeat under the same key.
#[server(prefix = "/api/page", endpoint = "assistant/say", input = Json)]
pub async fn assistant_say(content: String, key: String) -> Result<Enqueued, AppError> {
    let door = Door::open()?;
    let said = door.desk()?.say(content, key).await;
    door.answer(said)
}
