//! Being an agent: the other side of ACP on standard streams, for agents that are our own program.
//!
//! Whoever brings a [`Mind`] gets prompts taken apart, the conversation so far, and the tools of the MCP servers that the client
//! handed over, and says what is to be shown. The rest is done here: conversations and their record on disk, `session/load` with a
//! replay, one turn at a time, cancels, and a standard output that carries protocol lines only.
//!
//! A prompt is on the disk before anything is done about it, and what was said is before the turn ends.

use std::{
    collections::HashMap,
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use agent_client_protocol::{
    Agent, Error, Lines, on_receive_notification, on_receive_request,
    schema::ProtocolVersion,
    v1::{
        Responder,
        schema::{
            AgentCapabilities, CancelNotification, ContentBlock, ContentChunk, Implementation,
            InitializeRequest, InitializeResponse, LoadSessionRequest, LoadSessionResponse,
            McpCapabilities, McpServer, NewSessionRequest, NewSessionResponse, PromptRequest,
            PromptResponse, SessionUpdate, StopReason, ToolCall, ToolCallContent, ToolCallStatus,
            ToolCallUpdate, ToolCallUpdateFields, ToolKind,
        },
    },
};
use futures::future::BoxFuture;
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

pub use crate::stdio::{history::Said, mcp::Outcome};

use crate::stdio::{self, history::History, mcp::McpServers, outbox::Outbox};

/// Who the agent is, and where it keeps its conversations.
#[derive(Debug, Clone)]
pub struct Options {
    /// Its name for programs.
    pub name: String,
    /// Its name for people.
    pub title: String,
    /// Where conversations are kept. Without it nothing survives the process, and loading is not offered.
    pub history_dir: Option<PathBuf>,
}

/// What thinks.
pub trait Mind: Send + Sync + 'static {
    /// Answers a prompt and gives the words that are to be remembered. What it shows meanwhile is its own to choose. When
    /// `prompt.cancel` is cancelled it should return soon; its future is dropped in any case.
    fn answer<'a>(&'a self, prompt: Prompt, show: Show) -> BoxFuture<'a, Result<String, String>>;
}

/// A prompt, and what it stands in.
#[derive(Debug, Clone)]
pub struct Prompt {
    /// The conversation.
    pub session_id: String,
    /// The how many-th prompt of the conversation, from 1; the same after a reload.
    pub number: usize,
    /// What the client says beside the words.
    pub hidden: String,
    /// The words.
    pub text: String,
    /// What was said before, oldest first.
    pub history: Vec<Said>,
    /// The tools.
    pub tools: Tools,
    /// Cancelled when the client wants no answer any more.
    pub cancel: CancellationToken,
}

/// The tools of a conversation. Cheap to clone.
#[derive(Clone)]
pub struct Tools {
    servers: Arc<McpServers>,
}

impl std::fmt::Debug for Tools {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tools").finish_non_exhaustive()
    }
}

/// A tool that an MCP server offers.
#[derive(Debug, Clone, PartialEq)]
pub struct RemoteTool {
    /// The server's name.
    pub server: String,
    /// The tool's.
    pub name: String,
    /// For a model.
    pub description: String,
    /// JSON Schema of its arguments.
    pub schema: Value,
    /// Whether the server says that it only reads.
    pub read_only: Option<bool>,
}

impl Tools {
    /// All tools of all servers. Of two with the same name the first counts.
    ///
    /// # Errors
    ///
    /// When a server cannot be asked.
    pub async fn list(&self) -> Result<Vec<RemoteTool>, String> {
        let mut found: Vec<RemoteTool> = Vec::new();
        for server in self.servers.names() {
            let tools =
                self.servers.tools(&server).await.map_err(|error| {
                    format!("the tools of {server} could not be listed: {error:#}")
                })?;
            for tool in tools {
                if found.iter().any(|known| known.name == tool.name) {
                    continue;
                }
                found.push(RemoteTool {
                    server: server.clone(),
                    name: tool.name.to_string(),
                    description: tool.description.as_deref().unwrap_or_default().to_owned(),
                    schema: Value::Object((*tool.input_schema).clone()),
                    read_only: tool
                        .annotations
                        .as_ref()
                        .and_then(|hints| hints.read_only_hint),
                });
            }
        }
        Ok(found)
    }

    /// Calls a tool. That it cannot be called is an outcome too.
    pub async fn call(&self, server: &str, tool: &str, arguments: &Value) -> Outcome {
        self.servers.call(server, tool, arguments).await
    }
}

/// Shows a turn to the client. Cheap to clone.
#[derive(Clone)]
pub struct Show {
    outbox: Outbox,
    session_id: String,
    number: usize,
    open: Arc<Mutex<Vec<String>>>,
}

impl std::fmt::Debug for Show {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Show")
            .field("session_id", &self.session_id)
            .finish_non_exhaustive()
    }
}

impl Show {
    /// A piece of what is said.
    pub async fn words(&self, text: &str) {
        let chunk = SessionUpdate::AgentMessageChunk(ContentChunk::new(text.into()));
        self.outbox.update(&self.session_id, chunk).await;
    }

    /// A call to a tool begins; `seq` is its number within the turn.
    pub async fn call(&self, seq: u32, tool: &str, input: &Value) {
        let id = self.id(seq);
        lock(&self.open).push(id.clone());
        let call = ToolCall::new(id, tool)
            .kind(ToolKind::Other)
            .status(ToolCallStatus::InProgress)
            .raw_input(input.clone());
        self.outbox
            .update(&self.session_id, SessionUpdate::ToolCall(call))
            .await;
    }

    /// It ended.
    pub async fn called(&self, seq: u32, text: &str, failed: bool) {
        let status = if failed {
            ToolCallStatus::Failed
        } else {
            ToolCallStatus::Completed
        };
        let fields = ToolCallUpdateFields::new()
            .status(status)
            .content(vec![ToolCallContent::from(text.to_owned())]);
        self.close(self.id(seq), fields).await;
    }

    /// Calls that a cancel cut off are not left open.
    async fn close_all(&self) {
        let open = std::mem::take(&mut *lock(&self.open));
        for id in open {
            self.close(
                id,
                ToolCallUpdateFields::new().status(ToolCallStatus::Failed),
            )
            .await;
        }
    }

    async fn close(&self, id: String, fields: ToolCallUpdateFields) {
        lock(&self.open).retain(|open| *open != id);
        let update = SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(id, fields));
        self.outbox.update(&self.session_id, update).await;
    }

    fn id(&self, seq: u32) -> String {
        format!("call-{}-{seq}", self.number)
    }
}

/// Serves one client on standard input and output until the input ends.
///
/// Meant to be all that its process does: it reads standard input from a thread of its own, and should be followed by
/// [`std::process::exit`].
///
/// # Errors
///
/// When the history folder cannot be made, or the connection breaks.
pub async fn run(options: Options, mind: impl Mind) -> anyhow::Result<()> {
    if let Some(folder) = &options.history_dir {
        std::fs::create_dir_all(folder)?;
    }
    let outbox = Outbox::start();
    let transport = Lines::new(outbox.sink(), stdio::lines());
    let agent = Served {
        options: Arc::new(options),
        mind: Arc::new(mind),
        outbox,
        sessions: Arc::default(),
    };
    let [initialize, new, load, prompt] = std::array::from_fn(|_| agent.clone());
    Agent
        .v1()
        .name(agent.options.name.clone())
        .on_receive_request(
            async move |_: InitializeRequest, responder, _| responder.respond(initialize.hello()),
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: NewSessionRequest, responder, _| {
                responder.respond_with_result(new.open(request))
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: LoadSessionRequest, responder, _| {
                responder.respond_with_result(load.load(request).await)
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: PromptRequest, responder, _| prompt.prompt(request, responder),
            on_receive_request!(),
        )
        .on_receive_notification(
            async move |notice: CancelNotification, _| {
                if let Some(session) = agent.find(&notice.session_id.0)
                    && let Some(turn) = &*lock(&session.turn)
                {
                    turn.cancel();
                }
                Ok(())
            },
            on_receive_notification!(),
        )
        .connect_to(transport)
        .await?;
    Ok(())
}

/// A conversation.
struct Session {
    tools: Tools,
    record: Mutex<(History, Vec<Said>)>,
    /// The running turn, to cancel it.
    turn: Mutex<Option<CancellationToken>>,
}

impl Session {
    fn new(history: History, said: Vec<Said>, servers: Vec<McpServer>) -> Self {
        Self {
            tools: Tools {
                servers: Arc::new(McpServers::new(servers)),
            },
            record: Mutex::new((history, said)),
            turn: Mutex::default(),
        }
    }

    /// Remembers something, on the disk first.
    fn record(&self, said: Said) -> io::Result<()> {
        let mut record = lock(&self.record);
        record.0.append(&said)?;
        record.1.push(said);
        Ok(())
    }

    fn said(&self) -> Vec<Said> {
        lock(&self.record).1.clone()
    }
}

struct Served<M> {
    options: Arc<Options>,
    mind: Arc<M>,
    outbox: Outbox,
    sessions: Arc<Mutex<HashMap<String, Arc<Session>>>>,
}

impl<M> Clone for Served<M> {
    fn clone(&self) -> Self {
        Self {
            options: Arc::clone(&self.options),
            mind: Arc::clone(&self.mind),
            outbox: self.outbox.clone(),
            sessions: Arc::clone(&self.sessions),
        }
    }
}

impl<M: Mind> Served<M> {
    fn hello(&self) -> InitializeResponse {
        InitializeResponse::new(ProtocolVersion::V1)
            .agent_capabilities(
                AgentCapabilities::new()
                    .load_session(self.options.history_dir.is_some())
                    .mcp_capabilities(McpCapabilities::new().http(true)),
            )
            .agent_info(
                Implementation::new(self.options.name.clone(), env!("CARGO_PKG_VERSION"))
                    .title(self.options.title.clone()),
            )
    }

    fn folder(&self) -> Option<&Path> {
        self.options.history_dir.as_deref()
    }

    fn open(&self, request: NewSessionRequest) -> Result<NewSessionResponse, Error> {
        let id = Uuid::now_v7().to_string();
        let history = History::create(self.folder(), &id).map_err(Error::into_internal_error)?;
        self.keep(&id, Session::new(history, Vec::new(), request.mcp_servers));
        Ok(NewSessionResponse::new(id))
    }

    async fn load(&self, request: LoadSessionRequest) -> Result<LoadSessionResponse, Error> {
        let id = request.session_id.0.to_string();
        // Only ids of ours: the id becomes a file's name.
        let folder = self.folder().filter(|_| Uuid::parse_str(&id).is_ok());
        let (history, said) = History::open::<Said>(folder, &id).map_err(|error| {
            let reason = if error.kind() == io::ErrorKind::NotFound {
                "it is not known".to_owned()
            } else {
                error.to_string()
            };
            Error::new(
                -32002,
                format!("the conversation {id} cannot be loaded: {reason}"),
            )
        })?;
        self.keep(
            &id,
            Session::new(history, said.clone(), request.mcp_servers),
        );
        for one in said {
            self.replay(&id, one).await;
        }
        Ok(LoadSessionResponse::new())
    }

    /// Repeats what was said, hidden blocks included: that is where a prompt's id stands.
    async fn replay(&self, session_id: &str, said: Said) {
        let chunks: Vec<SessionUpdate> = match said {
            Said::Prompt { blocks, .. } => blocks
                .into_iter()
                .map(|block| SessionUpdate::UserMessageChunk(ContentChunk::new(block.into())))
                .collect(),
            Said::Message { text } => vec![SessionUpdate::AgentMessageChunk(ContentChunk::new(
                text.into(),
            ))],
        };
        for chunk in chunks {
            self.outbox.update(session_id, chunk).await;
        }
    }

    /// Starts a turn. It runs beside the connection, which must stay free to hear a cancel.
    fn prompt(
        &self,
        request: PromptRequest,
        responder: Responder<PromptResponse>,
    ) -> Result<(), Error> {
        let session_id = request.session_id.0.to_string();
        let Some(session) = self.find(&session_id) else {
            return responder
                .respond_with_error(Error::new(-32002, "there is no such conversation"));
        };
        let cancel = CancellationToken::new();
        {
            let mut turn = lock(&session.turn);
            if turn.is_some() {
                return responder
                    .respond_with_error(Error::new(-32600, "another prompt is being worked on"));
            }
            *turn = Some(cancel.clone());
        }
        let agent = self.clone();
        tokio::spawn(async move {
            let blocks = request.prompt.into_iter().filter_map(text_of).collect();
            let end = agent.turn(&session, session_id, blocks, cancel).await;
            // First, so that a prompt sent on the answer is not refused.
            lock(&session.turn).take();
            let answered = match end {
                Ok(reason) => responder.respond(PromptResponse::new(reason)),
                Err(message) => responder.respond_with_error(Error::new(-32603, message)),
            };
            if let Err(error) = answered {
                tracing::debug!(%error, "a turn's end could not be told");
            }
        });
        Ok(())
    }

    async fn turn(
        &self,
        session: &Session,
        session_id: String,
        blocks: Vec<String>,
        cancel: CancellationToken,
    ) -> Result<StopReason, String> {
        let unwritten = |error: io::Error| format!("the history could not be written: {error}");
        let history = session.said();
        let (hidden, text) = take_apart(&blocks);
        let number = 1 + history
            .iter()
            .filter(|said| matches!(said, Said::Prompt { .. }))
            .count();
        let prompt_id = prompt_id(&hidden);
        session
            .record(Said::Prompt { prompt_id, blocks })
            .map_err(unwritten)?;
        let show = Show {
            outbox: self.outbox.clone(),
            session_id: session_id.clone(),
            number,
            open: Arc::default(),
        };
        let prompt = Prompt {
            session_id,
            number,
            hidden,
            text,
            history,
            tools: session.tools.clone(),
            cancel: cancel.clone(),
        };
        let answered = tokio::select! {
            biased;
            answered = self.mind.answer(prompt, show.clone()) => Some(answered),
            () = cancel.cancelled() => None,
        };
        show.close_all().await;
        match answered {
            Some(Ok(text)) => {
                session.record(Said::Message { text }).map_err(unwritten)?;
                Ok(StopReason::EndTurn)
            }
            Some(Err(_)) | None if cancel.is_cancelled() => Ok(StopReason::Cancelled),
            Some(Err(message)) => Err(message),
            None => Ok(StopReason::Cancelled),
        }
    }

    fn keep(&self, id: &str, session: Session) {
        lock(&self.sessions).insert(id.to_owned(), Arc::new(session));
    }

    fn find(&self, id: &str) -> Option<Arc<Session>> {
        lock(&self.sessions).get(id).cloned()
    }
}

fn text_of(block: ContentBlock) -> Option<String> {
    if let ContentBlock::Text(text) = block {
        Some(text.text)
    } else {
        None
    }
}

/// Hidden context and words: with two or more blocks, the first is hidden.
fn take_apart(blocks: &[String]) -> (String, String) {
    match blocks {
        [] => (String::new(), String::new()),
        [text] => (String::new(), text.clone()),
        [hidden, rest @ ..] => (hidden.clone(), rest.join("\n")),
    }
}

/// The prompt's id, which the first line of a hidden block names.
fn prompt_id(hidden: &str) -> Option<String> {
    let id = hidden
        .lines()
        .next()?
        .trim()
        .strip_prefix("prompt_id:")?
        .trim();
    (!id.is_empty()).then(|| id.to_owned())
}

impl Said {
    /// The words without the hidden context.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Self::Prompt { blocks, .. } => take_apart(blocks).1,
            Self::Message { text } => text.clone(),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompts_id_is_the_first_line_of_its_hidden_block() {
        assert_eq!(
            prompt_id("prompt_id: p1\ntask_id: t"),
            Some("p1".to_owned())
        );
        for none in ["", "task_id: t\nprompt_id: p1", "prompt_id:", "hello"] {
            assert_eq!(prompt_id(none), None, "{none}");
        }
    }

    #[test]
    fn the_first_of_several_blocks_is_hidden() {
        let blocks = |texts: &[&str]| {
            texts
                .iter()
                .map(|text| (*text).to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(take_apart(&blocks(&["a"])), (String::new(), "a".to_owned()));
        assert_eq!(
            take_apart(&blocks(&["h", "a", "b"])),
            ("h".to_owned(), "a\nb".to_owned())
        );
        assert_eq!(take_apart(&[]), (String::new(), String::new()));
    }
}
