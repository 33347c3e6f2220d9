//! The agent's side of the protocol, on the official crate.

use std::{
    collections::HashMap,
    io,
    sync::{Arc, Mutex, PoisonError},
};

use agent_client_protocol::{
    Agent, Client, Error, Lines, on_receive_notification, on_receive_request,
    schema::ProtocolVersion,
    v1::{
        ConnectionTo, Responder,
        schema::{
            AgentCapabilities, AuthMethod, AuthMethodAgent, CancelNotification, ContentBlock,
            ContentChunk, Implementation, InitializeRequest, InitializeResponse,
            LoadSessionRequest, LoadSessionResponse, McpCapabilities, NewSessionRequest,
            NewSessionResponse, PromptRequest, PromptResponse, SessionConfigOption,
            SessionConfigOptionCategory, SessionConfigSelectOption, SessionMode, SessionModeState,
            SessionUpdate, SetSessionConfigOptionRequest, SetSessionConfigOptionResponse,
            SetSessionModeRequest, SetSessionModeResponse,
        },
    },
};
use uuid::Uuid;

use super::{
    Options,
    entry::Entry,
    session::Session,
    turn::{End, Turn},
};
use crate::stdio::{self, outbox::Outbox};

const MODEL_SETTING: &str = "model";
const MODES: [(&str, &str); 2] = [("default", "Ask first"), ("auto", "Decide alone")];
const MODELS: [(&str, &str); 2] = [("demo-small", "Demo small"), ("demo-large", "Demo large")];

pub(super) async fn serve(options: Options) -> anyhow::Result<()> {
    if let Some(folder) = &options.history_dir {
        std::fs::create_dir_all(folder)?;
    }
    let outbox = Outbox::start();
    let transport = Lines::new(outbox.sink(), stdio::lines());
    let agent = DemoAgent {
        options: Arc::new(options),
        outbox,
        sessions: Arc::default(),
    };
    let [initialize, new, load, mode, setting, prompt] = std::array::from_fn(|_| agent.clone());
    Agent
        .v1()
        .name("demo-agent")
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
            async move |request: SetSessionModeRequest, responder, _| {
                responder.respond_with_result(mode.set_mode(&request))
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: SetSessionConfigOptionRequest, responder, _| {
                responder.respond_with_result(setting.set_option(&request))
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: PromptRequest, responder, client| {
                prompt.prompt(request, responder, client)
            },
            on_receive_request!(),
        )
        .on_receive_notification(
            async move |notice: CancelNotification, _| {
                if let Some(session) = agent.find(&notice.session_id.0) {
                    session.cancel_turn();
                }
                Ok(())
            },
            on_receive_notification!(),
        )
        .connect_to(transport)
        .await?;
    Ok(())
}

#[derive(Clone)]
struct DemoAgent {
    options: Arc<Options>,
    outbox: Outbox,
    sessions: Arc<Mutex<HashMap<String, Arc<Session>>>>,
}

impl DemoAgent {
    fn hello(&self) -> InitializeResponse {
        let can_load = self.options.load_session && self.options.history_dir.is_some();
        let mut hello = InitializeResponse::new(ProtocolVersion::V1)
            .agent_capabilities(
                AgentCapabilities::new()
                    .load_session(can_load)
                    .mcp_capabilities(McpCapabilities::new().http(self.options.http_mcp)),
            )
            .agent_info(
                Implementation::new("flightdeck-demo-agent", env!("CARGO_PKG_VERSION"))
                    .title("Demo agent".to_owned()),
            );
        if self.options.auth_required {
            let method = AuthMethodAgent::new("login", "Log in")
                .description("There is no way to log in.".to_owned());
            hello = hello.auth_methods(vec![AuthMethod::Agent(method)]);
        }
        hello
    }

    fn open(&self, request: NewSessionRequest) -> Result<NewSessionResponse, Error> {
        if self.options.auth_required {
            return Err(Error::auth_required());
        }
        let id = Uuid::now_v7().to_string();
        let folder = self.options.history_dir.as_deref();
        let session = Session::create(folder, id.clone(), request.mcp_servers)
            .map_err(Error::into_internal_error)?;
        self.keep(session);
        Ok(NewSessionResponse::new(id)
            .modes(modes(MODES[0].0))
            .config_options(settings(MODELS[0].0)))
    }

    async fn load(&self, request: LoadSessionRequest) -> Result<LoadSessionResponse, Error> {
        let id = request.session_id.0.to_string();
        // Only ids of ours: the id becomes a file's name.
        let known = Uuid::parse_str(&id).is_ok() && self.options.load_session;
        let folder = self.options.history_dir.as_deref().filter(|_| known);
        let (session, entries) =
            Session::load(folder, id.clone(), request.mcp_servers).map_err(|error| {
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
        self.keep(session);
        for entry in entries {
            self.replay(&id, entry).await;
        }
        Ok(LoadSessionResponse::new()
            .modes(modes(MODES[0].0))
            .config_options(settings(MODELS[0].0)))
    }

    /// Repeats what was said, hidden blocks included: that is where a prompt's id stands.
    async fn replay(&self, session_id: &str, entry: Entry) {
        match entry {
            Entry::Prompt { blocks, .. } => {
                for block in blocks {
                    let chunk = SessionUpdate::UserMessageChunk(ContentChunk::new(block.into()));
                    self.outbox.update(session_id, chunk).await;
                }
            }
            Entry::Message { text } => {
                let chunk = SessionUpdate::AgentMessageChunk(ContentChunk::new(text.into()));
                self.outbox.update(session_id, chunk).await;
            }
            Entry::Later { .. }
            | Entry::Set { .. }
            | Entry::Answer { .. }
            | Entry::AnswerDelay { .. }
            | Entry::AnswerTimes { .. }
            | Entry::QuestionSettled { .. } => {}
        }
    }

    fn set_mode(&self, request: &SetSessionModeRequest) -> Result<SetSessionModeResponse, Error> {
        self.find(&request.session_id.0)
            .ok_or_else(Error::invalid_params)?;
        match MODES.iter().any(|(id, _)| *id == &*request.mode_id.0) {
            true => Ok(SetSessionModeResponse::new()),
            false => Err(Error::invalid_params()),
        }
    }

    fn set_option(
        &self,
        request: &SetSessionConfigOptionRequest,
    ) -> Result<SetSessionConfigOptionResponse, Error> {
        self.find(&request.session_id.0)
            .ok_or_else(Error::invalid_params)?;
        let wanted = request
            .value
            .as_value_id()
            .map(|value| value.0.to_string())
            .unwrap_or_default();
        let known =
            &*request.config_id.0 == MODEL_SETTING && MODELS.iter().any(|(id, _)| *id == wanted);
        match known {
            true => Ok(SetSessionConfigOptionResponse::new(settings(&wanted))),
            false => Err(Error::invalid_params()),
        }
    }

    /// Starts a turn. It runs beside the connection, which must stay free to hear a cancel.
    fn prompt(
        &self,
        request: PromptRequest,
        responder: Responder<PromptResponse>,
        client: ConnectionTo<Client>,
    ) -> Result<(), Error> {
        let Some(session) = self.find(&request.session_id.0) else {
            return responder
                .respond_with_error(Error::new(-32002, "there is no such conversation"));
        };
        let Some(cancel) = session.begin_turn() else {
            return responder
                .respond_with_error(Error::new(-32600, "another prompt is being worked on"));
        };
        let turn = Turn::new(
            Arc::clone(&session),
            self.outbox.clone(),
            client,
            Arc::clone(&self.options),
            cancel,
        );
        tokio::spawn(async move {
            let blocks = request.prompt.into_iter().filter_map(text_of).collect();
            let end = turn.run(blocks).await;
            // First, so that a prompt sent on the answer is not refused.
            session.end_turn();
            let answered = match end {
                End::Stopped(reason) => responder.respond(PromptResponse::new(reason)),
                End::Failed(message) => responder.respond_with_error(Error::new(-32603, message)),
            };
            if let Err(error) = answered {
                tracing::debug!(%error, "a turn's end could not be told");
            }
        });
        Ok(())
    }

    fn keep(&self, session: Session) {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.insert(session.id.clone(), Arc::new(session));
    }

    fn find(&self, session_id: &str) -> Option<Arc<Session>> {
        self.sessions
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(session_id)
            .cloned()
    }
}

fn text_of(block: ContentBlock) -> Option<String> {
    if let ContentBlock::Text(text) = block {
        Some(text.text)
    } else {
        None
    }
}

fn modes(current: &str) -> SessionModeState {
    SessionModeState::new(
        current.to_owned(),
        MODES
            .iter()
            .map(|(id, name)| SessionMode::new(*id, *name))
            .collect(),
    )
}

fn settings(model: &str) -> Vec<SessionConfigOption> {
    let choices: Vec<_> = MODELS
        .iter()
        .map(|(id, name)| SessionConfigSelectOption::new(*id, *name))
        .collect();
    let model = SessionConfigOption::select(MODEL_SETTING, "Model", model.to_owned(), choices);
    vec![model.category(SessionConfigOptionCategory::Model)]
}
