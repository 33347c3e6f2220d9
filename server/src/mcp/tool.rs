//! A tool as data, and a call to it.

use super::Patience;
use super::identity::Identity;
use super::waiting::Runs;
use crate::schema::{self, Schema};
use board::{Actor, Board, BoardError};
use domain::error::Refusal;
use domain::ids::TaskId;
use futures::future::BoxFuture;
use rmcp::model::{CallToolResult, JsonObject, ProgressNotificationParam, ToolAnnotations};
use rmcp::service::{RequestContext, RoleServer};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, interval_at};
use tokio_util::sync::CancellationToken;

/// What a tool does to the board; hints for clients that ask their user before some calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hints {
    /// It only reads.
    Reads,
    /// It adds or changes.
    Writes,
    /// It changes, and doing it again changes nothing more.
    WritesOnce,
    /// It takes something away that does not come back.
    Destroys,
    /// It takes something away, and doing it again changes nothing more.
    DestroysOnce,
}

impl Hints {
    fn annotations(self, title: &str) -> ToolAnnotations {
        let (reads, destroys, once) = match self {
            Self::Reads => (true, false, true),
            Self::Writes => (false, false, false),
            Self::WritesOnce => (false, false, true),
            Self::Destroys => (false, true, false),
            Self::DestroysOnce => (false, true, true),
        };
        ToolAnnotations::with_title(title)
            .read_only(reads)
            .destructive(destroys)
            .idempotent(once)
            .open_world(false)
    }
}

/// What a tool gives: data, which is shown to the model as JSON.
pub(super) type Outcome = Result<Value, BoardError>;

/// A tool.
#[derive(Debug)]
pub struct Tool {
    /// Canonical name, ending in `_kandev`; stable once shipped.
    pub name: &'static str,
    /// For people.
    pub title: &'static str,
    /// For a model: the first sentence says what it is for.
    pub description: &'static str,
    /// JSON Schema of its arguments; the root is closed whether or not it says so.
    pub input: Value,
    /// Names of text arguments that are understood and not listed: older names.
    pub unlisted: &'static [&'static str],
    /// See [`Hints`].
    pub hints: Hints,
    /// Carries out a call whose arguments fit `input`.
    pub run: fn(Call) -> BoxFuture<'static, Outcome>,
}

/// What a tool of the outside contract gives: the answer whole, since the contract says how a refusal looks.
#[derive(Debug)]
pub(super) struct Answer {
    /// Shown as data, and as the same JSON in text.
    pub(super) value: Value,
    /// Models start over when they are told of an error, so only what failed is one.
    pub(super) is_error: bool,
}

impl Answer {
    /// The same JSON as data and as text, since several clients show a model the text alone.
    pub(super) fn into_result(self) -> CallToolResult {
        let mut result = CallToolResult::structured(self.value);
        result.is_error = Some(self.is_error);
        result
    }
}

/// A tool of the outside contract. It reads its arguments itself: what it does not know it ignores (rulings 25).
#[derive(Debug)]
pub struct ContractTool {
    /// Without a version and without a suffix; stable once shipped.
    pub name: &'static str,
    /// For people.
    pub title: &'static str,
    /// For a model: the first sentence says what it is for.
    pub description: &'static str,
    /// JSON Schema of its arguments.
    pub input: Value,
    /// JSON Schema of its result.
    pub output: Value,
    /// See [`Hints`].
    pub hints: Hints,
    /// It sets things going outside of the server.
    pub open_world: bool,
    /// Carries out a call.
    pub(super) run: fn(Call) -> BoxFuture<'static, Answer>,
}

/// How a call is carried out.
#[derive(Debug)]
pub(super) enum Run {
    /// The arguments are checked against the listed schema first.
    Board {
        schema: Box<Schema>,
        run: fn(Call) -> BoxFuture<'static, Outcome>,
    },
    /// The tool looks at them itself.
    Contract(fn(Call) -> BoxFuture<'static, Answer>),
}

/// A tool made ready to be listed and called.
#[derive(Debug)]
pub(super) struct Ready {
    pub(super) name: &'static str,
    pub(super) listed: rmcp::model::Tool,
    pub(super) run: Run,
}

impl Ready {
    pub(super) fn new(tool: Tool) -> Self {
        let mut accepted = tool.input.clone();
        for name in tool.unlisted {
            accepted["properties"][name] = json!({"type": "string"});
        }
        let schema = Schema::closed(&accepted);
        let input = object(tool.input);
        let mut listed = rmcp::model::Tool::new(tool.name, tool.description, Arc::new(input));
        listed.title = Some(tool.title.to_owned());
        listed.annotations = Some(tool.hints.annotations(tool.title));
        Self {
            name: tool.name,
            listed,
            run: Run::Board {
                schema: Box::new(schema),
                run: tool.run,
            },
        }
    }

    pub(super) fn contract(tool: ContractTool) -> Self {
        let input = object(tool.input);
        let mut listed = rmcp::model::Tool::new(tool.name, tool.description, Arc::new(input));
        listed.title = Some(tool.title.to_owned());
        listed.output_schema = Some(Arc::new(object(tool.output)));
        let hints = tool.hints.annotations(tool.title);
        listed.annotations = Some(hints.open_world(tool.open_world));
        Self {
            name: tool.name,
            listed,
            run: Run::Contract(tool.run),
        }
    }
}

/// The schema of an id.
pub(super) fn uuid(description: &str) -> Value {
    json!({"type": "string", "format": "uuid", "description": description})
}

/// The fields of an object; anything else has none.
pub(super) fn object(value: Value) -> JsonObject {
    match value {
        Value::Object(fields) => fields,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            JsonObject::default()
        }
    }
}

/// One call.
#[derive(Debug)]
pub struct Call {
    /// What carries it out.
    pub board: Board,
    /// Who calls.
    pub actor: Actor,
    /// The arguments; they fit the tool's schema.
    pub arguments: Value,
    /// Metadata, progress and cancellation of the call.
    pub(super) context: RequestContext<RoleServer>,
    /// Cancelled when the client is cut off.
    pub(super) gone: CancellationToken,
    pub(super) patience: Patience,
    pub(super) shutdown: CancellationToken,
    /// Who waits for runs.
    pub(super) runs: Runs,
}

impl Call {
    /// The arguments as `T`.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, Refusal> {
        schema::read("the arguments", self.arguments.clone())
    }

    /// An id, or the caller's own task for `self`.
    pub fn task(&self, name: &str, text: &str) -> Result<TaskId, Refusal> {
        if text.trim() == "self" {
            return self.own_task(name);
        }
        required_id(name, text)
    }

    /// The caller's own task.
    pub fn own_task(&self, name: &str) -> Result<TaskId, Refusal> {
        self.actor.task().ok_or_else(|| {
            Refusal::validation(format!(
                "{name} must be a full id: this client works on no task of its own"
            ))
        })
    }

    /// The client's own id of the call, when it sends one (rulings 6).
    pub fn tool_use_id(&self) -> Option<&str> {
        ["claudecode/toolUseId", "callId", "toolUseId", "tool_use_id"]
            .iter()
            .find_map(|key| self.context.meta.get(*key)?.as_str())
            .filter(|id| !id.is_empty())
    }
}

impl Call {
    /// Tells the client now and then that its call still waits, if it asked for that; many give a quiet call up. Never ends
    /// unless the client cannot be told any more.
    pub(super) async fn tell_progress(&self, every: Duration, message: &'static str) {
        let Some(token) = self.context.meta.get_progress_token() else {
            return std::future::pending().await;
        };
        let mut ticks = interval_at(Instant::now() + every, every);
        let mut count = 0.0;
        loop {
            ticks.tick().await;
            count += 1.0;
            let notice = ProgressNotificationParam::new(token.clone(), count).with_message(message);
            if self.context.peer.notify_progress(notice).await.is_err() {
                return;
            }
        }
    }
}

/// Reads an id, naming its field when it is not one.
pub(super) fn required_id<T: FromStr<Err = Refusal>>(name: &str, text: &str) -> Result<T, Refusal> {
    domain::ids::parse_uuid(name, text)?;
    text.parse()
}

/// Reads an id that may be left out; an empty word is left out too, since models write it so.
pub(super) fn optional_id<T: FromStr<Err = Refusal>>(
    name: &str,
    text: Option<&str>,
) -> Result<Option<T>, Refusal> {
    text.map(str::trim)
        .filter(|text| !text.is_empty())
        .map(|text| required_id(name, text))
        .transpose()
}

/// Data as JSON. Views always serialise.
pub(super) fn to_json<T: serde::Serialize>(view: &T) -> Value {
    serde_json::to_value(view).unwrap_or_default()
}

/// As [`to_json`], without the description: its author knows it, and it is long.
pub(super) fn without_description<T: serde::Serialize>(view: &T) -> Value {
    let mut value = to_json(view);
    if let Some(fields) = value.as_object_mut() {
        fields.remove("description");
    }
    value
}

impl Identity {
    pub(super) fn of(context: &rmcp::model::Extensions) -> Option<&Self> {
        context
            .get::<http::request::Parts>()?
            .extensions
            .get::<Self>()
    }
}
