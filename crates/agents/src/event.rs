//! What an agent says, in our own vocabulary.
//!
//! No protocol type appears here, so that stored events outlive protocol versions. Everything can be serialised; field
//! and variant names are part of what is stored and must stay. Whatever we have no word for arrives as
//! [`AgentEvent::Unknown`] with the agent's own JSON, never as an error.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One thing that an agent said or that happened to it, in the order in which it happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum AgentEvent {
    /// A piece of the answer. Pieces are joined until a tool call or the end of the turn.
    MessageChunk(Chunk),
    /// A piece of something the agent says the user said.
    UserChunk(Chunk),
    /// A piece of the agent's reasoning.
    ThoughtChunk(Chunk),
    /// A tool call was announced.
    ToolCall(ToolCall),
    /// Something about a tool call changed. It may name a call that was never announced.
    ToolCallUpdate(ToolCallUpdate),
    /// The agent's plan, whole: it replaces the one before.
    Plan {
        /// The plan's lines.
        entries: Vec<PlanEntry>,
    },
    /// The slash commands that the agent offers now.
    AvailableCommands {
        /// All of them.
        commands: Vec<AvailableCommand>,
    },
    /// The agent works in another mode now.
    CurrentMode {
        /// Id of the mode.
        mode_id: String,
    },
    /// The settings that the agent offers, with their values, whole.
    ConfigOptions {
        /// All of them.
        options: Vec<ConfigOption>,
    },
    /// The agent described its conversation.
    SessionInfo {
        /// Its title. Absent also when the agent took a title back.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        /// When it last changed, as the agent wrote it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        updated_at: Option<String>,
    },
    /// How full the context window is.
    Usage(Usage),
    /// The agent asks whether it may. It waits until
    /// [`respond_permission`](crate::acp::AgentHandle::respond_permission) or a cancel.
    PermissionRequest(PermissionRequest),
    /// A tool of the built-in server was allowed without asking a person.
    PermissionAllowed {
        /// The agent's id of the call.
        tool_call_id: String,
        /// The tool's bare name.
        tool: String,
        /// The option that was chosen.
        option_id: String,
    },
    /// A permission request needs no answer any more.
    PermissionCancelled {
        /// The id that the request came with.
        request_id: String,
    },
    /// The prompt is answered. Every event of the turn came before this one. A turn that ends because the agent died
    /// has no such event, only [`AgentEvent::Exited`].
    TurnEnded {
        /// Number of the prompt within this agent process, from 1.
        prompt: u64,
        /// How it ended.
        outcome: TurnOutcome,
    },
    /// A message of a kind we have no word for.
    Unknown {
        /// The protocol's name of the kind.
        kind: String,
        /// The message as it came.
        raw: Value,
    },
    /// A line on the agent's standard output that is no protocol message.
    JunkLine {
        /// Its beginning.
        text: String,
    },
    /// A line that was longer than we read. It was skipped, and the conversation goes on.
    OversizedLine {
        /// Its length without the line end.
        bytes: u64,
    },
    /// A line on the agent's standard error. Lines are left out when nobody keeps up with the events.
    Stderr {
        /// The line, cut when very long.
        line: String,
    },
    /// The process is gone. Nothing follows.
    Exited {
        /// How it ended.
        exit: Exit,
        /// The last lines it wrote on standard error.
        stderr_tail: Vec<String>,
    },
}

/// A piece of streamed content.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Chunk {
    /// What is in it.
    #[serde(flatten)]
    pub content: Content,
    /// The message it belongs to, when the agent names messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<String>,
}

/// Text, or a readable stand-in for something that is not text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Content {
    /// The text itself, or a stand-in such as `[image: image/png]`.
    pub text: String,
    /// The block as it came, when it is not text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<Value>,
}

/// What a tool does, for icons and for the permission policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolKind {
    /// Reads files or data.
    Read,
    /// Changes files.
    Edit,
    /// Removes files or data.
    Delete,
    /// Moves or renames files.
    Move,
    /// Looks for something.
    Search,
    /// Runs a command. Some agents call every MCP tool so.
    Execute,
    /// Thinks aloud.
    Think,
    /// Gets something from outside.
    Fetch,
    /// Changes the agent's mode.
    SwitchMode,
    /// Anything else, also kinds that are newer than this list.
    Other,
}

/// How far a tool call is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolStatus {
    /// Not started, or waits for a permission.
    Pending,
    /// Runs.
    InProgress,
    /// Done.
    Completed,
    /// Done without success.
    Failed,
}

/// A tool call as announced.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The agent's id of the call, unique within the conversation.
    pub id: String,
    /// Human-readable; agents do leave it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What the tool does.
    pub kind: ToolKind,
    /// How far it is.
    pub status: ToolStatus,
    /// What it showed so far.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub content: Vec<ToolContent>,
    /// Files it works on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub locations: Vec<Location>,
    /// The arguments as the model gave them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_input: Option<Value>,
    /// The result as the tool gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_output: Option<Value>,
    /// The vendor's own remarks (`_meta`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Value>,
}

/// What changed about a tool call. Absent fields keep their value; lists, when present, replace.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolCallUpdate {
    /// The agent's id of the call.
    pub id: String,
    /// New title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// New kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<ToolKind>,
    /// New status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<ToolStatus>,
    /// New content, whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Vec<ToolContent>>,
    /// New locations, whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub locations: Option<Vec<Location>>,
    /// The arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_input: Option<Value>,
    /// The result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_output: Option<Value>,
    /// The vendor's own remarks (`_meta`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Value>,
}

/// Something that a tool call shows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ToolContent {
    /// Text or the like.
    Content(Content),
    /// A change to a file.
    Diff {
        /// Path as the agent wrote it.
        path: String,
        /// What stood there; absent for a new file.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        old_text: Option<String>,
        /// What stands there now.
        new_text: String,
    },
    /// Something we have no word for.
    Other {
        /// As it came.
        raw: Value,
    },
}

/// A place in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Location {
    /// Path as the agent wrote it.
    pub path: String,
    /// Line, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
}

/// One line of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanEntry {
    /// What is to be done.
    pub content: String,
    /// How far it is.
    pub status: PlanStatus,
    /// `high`, `medium`, `low`, or the agent's own word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<String>,
}

/// How far a line of a plan is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanStatus {
    /// Not begun; also any word we do not know.
    Pending,
    /// Being worked on.
    InProgress,
    /// Done.
    Completed,
}

/// A slash command of the agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AvailableCommand {
    /// Name without the slash.
    pub name: String,
    /// What it does.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// What may be typed behind it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// A setting of the agent with its value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConfigOption {
    /// Id to set it by.
    pub id: String,
    /// Human-readable.
    pub name: String,
    /// `mode`, `model`, `thought_level`, or the agent's own word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<String>,
    /// What it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The value now: a string, or a boolean for a switch.
    pub current: Value,
    /// What may be chosen; empty for a switch.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<ConfigChoice>,
}

/// One value of a setting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigChoice {
    /// The value to set.
    pub value: String,
    /// Human-readable.
    pub name: String,
    /// Heading it stands under.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
}

/// How full the context window is, and what the conversation cost so far.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens in the window.
    pub used: u64,
    /// Tokens that fit into it.
    pub size: u64,
    /// Amount and currency, when the agent knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
}

/// An amount of money.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// How much.
    pub amount: f64,
    /// ISO 4217 code.
    pub currency: String,
}

/// A question whether a tool may be used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PermissionRequest {
    /// Id to answer by; unique among the requests that are open in this agent process.
    pub request_id: String,
    /// The call, completed by what was announced about it earlier.
    pub tool_call: ToolCallUpdate,
    /// What may be answered. Choose by `kind`; ids and names differ from agent to agent.
    pub options: Vec<PermissionOption>,
    /// The vendor's own remarks on the request (`_meta`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Value>,
}

/// One possible answer to a permission request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PermissionOption {
    /// Id to choose it by.
    pub id: String,
    /// Human-readable.
    pub name: String,
    /// What it means.
    pub kind: PermissionKind,
}

/// What an answer to a permission request means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PermissionKind {
    /// This one time.
    AllowOnce,
    /// From now on.
    AllowAlways,
    /// Not this time.
    RejectOnce,
    /// Never.
    RejectAlways,
    /// A kind that is newer than this list.
    Other,
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum TurnOutcome {
    /// The agent stopped.
    Stopped(TurnEnd),
    /// The agent answered the prompt with an error.
    Failed {
        /// The JSON-RPC code.
        code: i64,
        /// What it said.
        message: String,
    },
}

/// What the agent said at the end of a turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TurnEnd {
    /// Why it stopped.
    pub stop_reason: StopReason,
    /// Token counts of the turn, as the agent gave them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Value>,
}

/// Why a turn ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// The agent is done.
    EndTurn,
    /// The answer reached the model's limit.
    MaxTokens,
    /// The turn reached the agent's limit of model calls.
    MaxTurnRequests,
    /// The agent will not go on.
    Refusal,
    /// We cancelled it.
    Cancelled,
    /// A reason that is newer than this list.
    #[serde(untagged)]
    Other(String),
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exit {
    /// Exit code, when it ended by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<i32>,
    /// Signal that ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
}

impl std::fmt::Display for Exit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.code, self.signal) {
            (_, Some(signal)) => write!(f, "was ended by signal {signal}"),
            (Some(code), None) => write!(f, "ended with exit code {code}"),
            (None, None) => f.write_str("ended"),
        }
    }
}

impl ToolCallUpdate {
    /// The same, with every field that is absent taken from an earlier state of the call.
    #[must_use]
    pub fn completed_by(mut self, known: &ToolCallUpdate) -> Self {
        self.title = self.title.or_else(|| known.title.clone());
        self.kind = self.kind.or(known.kind);
        self.status = self.status.or(known.status);
        self.content = self.content.or_else(|| known.content.clone());
        self.locations = self.locations.or_else(|| known.locations.clone());
        self.raw_input = self.raw_input.or_else(|| known.raw_input.clone());
        self.raw_output = self.raw_output.or_else(|| known.raw_output.clone());
        self.meta = self.meta.or_else(|| known.meta.clone());
        self
    }
}
