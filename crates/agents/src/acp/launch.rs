//! From a command line to a conversation.

use std::sync::{Arc, Mutex, PoisonError};

use agent_client_protocol::{
    schema::ProtocolVersion,
    v1::schema::{
        ClientCapabilities, Implementation, InitializeRequest, LoadSessionRequest, McpServer,
        NewSessionRequest,
    },
};
use serde::Serialize;
use serde_json::Value;
use tokio::{sync::mpsc, time};

use super::{
    connection::{AUTH_REQUIRED, Answer, Connection, Gone, RpcError},
    error::{AuthMethod, LaunchError},
    handle::AgentHandle,
    normalise::string,
    process,
    replay::Replay,
    servers::{LeftOut, Taken, choose},
    session::{Chosen, Offer, Step, Subject},
    spec::LaunchSpec,
    vendors,
};
use crate::{
    event::AgentEvent,
    guard::{CANNOT_RUN, NOT_FOUND, is_guards},
    permission::BuiltIn,
};

const INITIALIZE: &str = "initialize";
const NEW: &str = "session/new";
const LOAD: &str = "session/load";

/// A started agent that waits for its first prompt.
#[derive(Debug)]
pub struct Launched {
    /// To talk to it.
    pub agent: AgentHandle,
    /// The agent's id of the conversation: what [`LaunchSpec::resume`] takes next time.
    pub provider_session_id: String,
    /// What it can do.
    pub capabilities: Capabilities,
    /// Who it says it is.
    pub agent_info: Option<AgentInfo>,
    /// Whether it remembers what came before.
    pub conversation: Conversation,
    /// What may be chosen, and what holds now.
    pub offer: Offer,
    /// What became of [`LaunchSpec::mode`].
    pub mode: Chosen,
    /// What became of [`LaunchSpec::model`].
    pub model: Chosen,
    /// Those of [`LaunchSpec::servers`] that it was not given.
    pub left_out: Vec<LeftOut>,
}

/// What an agent announced.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// Can go on with an earlier conversation.
    pub load_session: bool,
    /// Connects to MCP servers over HTTP.
    pub mcp_http: bool,
    /// Connects to MCP servers over SSE.
    pub mcp_sse: bool,
    /// Takes images in prompts.
    pub prompt_image: bool,
    /// Takes sound in prompts.
    pub prompt_audio: bool,
    /// Takes embedded resources in prompts.
    pub prompt_embedded_context: bool,
}

/// Who an agent says it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentInfo {
    /// Program name.
    pub name: String,
    /// Name for people.
    pub title: Option<String>,
    /// Its version.
    pub version: Option<String>,
}

/// Whether an agent remembers what came before.
#[derive(Debug)]
pub enum Conversation {
    /// The conversation asked for goes on.
    Loaded {
        /// What the agent repeated of it.
        replay: Replay,
    },
    /// It knows nothing of what came before.
    Fresh {
        /// Why not.
        reason: FreshReason,
    },
}

/// Why a conversation is a new one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FreshReason {
    /// None was asked for.
    NotAsked,
    /// The agent cannot load conversations.
    NotSupported,
    /// The agent refused, in these words.
    Refused(String),
}

/// Starts an agent and opens its conversation.
///
/// Events flow into `events` from the first moment, those of a failed start included; see the [module](super) for why
/// they must be drained meanwhile.
///
/// # Errors
///
/// Every [`LaunchError`] but the first four means that a process was started; it is gone when this returns.
pub async fn launch(
    spec: LaunchSpec,
    events: mpsc::Sender<AgentEvent>,
) -> Result<Launched, LaunchError> {
    let process = process::start(&spec)?;
    let unasked = spec.mcp.as_ref().map(|mcp| BuiltIn {
        server: mcp.name.clone(),
        others: spec
            .servers
            .iter()
            .map(|other| other.name.clone())
            .collect(),
    });
    let connection = Connection::start(process, unasked, events);
    // Also for a caller that loses patience and drops this future.
    let unclaimed = connection.stop_on_drop();
    let start = Start {
        spec: &spec,
        connection: &connection,
        step: Mutex::new(INITIALIZE),
    };
    let error = match time::timeout(spec.start_timeout, start.run()).await {
        Ok(Ok(launched)) => {
            // From here on the handle has that duty.
            unclaimed.disarm();
            return Ok(launched);
        }
        Ok(Err(error)) => error,
        Err(_) => LaunchError::Timeout {
            step: start.step(),
            after: spec.start_timeout,
            stderr_tail: connection.stderr_tail(),
        },
    };
    connection.stop();
    connection.gone().await;
    Err(error)
}

struct Start<'a> {
    spec: &'a LaunchSpec,
    connection: &'a Arc<Connection>,
    /// What is being waited for, for the text of a timeout.
    step: Mutex<&'static str>,
}

impl Start<'_> {
    async fn run(&self) -> Result<Launched, LaunchError> {
        let request = InitializeRequest::new(ProtocolVersion::V1)
            .client_capabilities(ClientCapabilities::new())
            .client_info(Implementation::new(
                self.spec.client_name.clone(),
                self.spec.client_version.clone(),
            ));
        let hello = self.call(INITIALIZE, &request).await?;
        let methods = auth_methods(&hello);
        let hello = self.accept(INITIALIZE, hello.result, &[])?;
        let version = hello.get("protocolVersion").cloned().unwrap_or_default();
        if version != 1 {
            return Err(LaunchError::ProtocolVersion {
                version: version.to_string(),
            });
        }
        let capabilities = capabilities(&hello);
        let taken = Taken {
            http: self.spec.takes_http_mcp.unwrap_or(capabilities.mcp_http),
            sse: capabilities.mcp_sse,
        };
        if self.spec.mcp.is_some() && !taken.http {
            return Err(LaunchError::NoHttpMcp);
        }
        let (servers, left_out) = choose(self.spec, taken);
        let (session_id, conversation, mut offer) =
            self.open(capabilities, servers, &methods).await?;
        self.connection.set_session(&session_id);
        let mode = self
            .choose(
                &session_id,
                &mut offer,
                Subject::Mode,
                self.spec.mode.as_deref(),
            )
            .await?;
        let model = self
            .choose(
                &session_id,
                &mut offer,
                Subject::Model,
                self.spec.model.as_deref(),
            )
            .await?;
        Ok(Launched {
            agent: AgentHandle::new(Arc::clone(self.connection), session_id.clone()),
            provider_session_id: session_id,
            capabilities,
            agent_info: agent_info(&hello),
            conversation,
            offer,
            mode,
            model,
            left_out,
        })
    }

    /// Loads the conversation asked for, or opens a new one.
    async fn open(
        &self,
        capabilities: Capabilities,
        servers: Vec<McpServer>,
        methods: &[AuthMethod],
    ) -> Result<(String, Conversation, Offer), LaunchError> {
        let mut offer = Offer::default();
        let cwd = std::path::absolute(&self.spec.cwd).unwrap_or_else(|_| self.spec.cwd.clone());
        let remarks = self
            .spec
            .mcp
            .as_ref()
            .map(|mcp| vendors::remarks(&mcp.name));
        let reason = match &self.spec.resume {
            None => FreshReason::NotAsked,
            Some(_) if !capabilities.load_session => FreshReason::NotSupported,
            Some(id) => {
                let request = LoadSessionRequest::new(id.clone(), cwd.clone())
                    .mcp_servers(servers.clone())
                    .meta(remarks.clone());
                let Answer { result, replay } = self.call(LOAD, &request).await?;
                match result {
                    Ok(answer) => {
                        offer.read(&answer);
                        let conversation = Conversation::Loaded {
                            replay: replay.unwrap_or_default(),
                        };
                        return Ok((id.clone(), conversation, offer));
                    }
                    Err(error) if error.code == AUTH_REQUIRED => {
                        return Err(LaunchError::AuthRequired {
                            message: error.message,
                            methods: methods.to_vec(),
                        });
                    }
                    Err(error) => FreshReason::Refused(error.message),
                }
            }
        };
        let request = NewSessionRequest::new(cwd)
            .mcp_servers(servers)
            .meta(remarks);
        let answer = self.call(NEW, &request).await?;
        let answer = self.accept(NEW, answer.result, methods)?;
        let id = string(&answer, "sessionId")
            .filter(|id| !id.is_empty())
            .ok_or(LaunchError::Malformed {
                step: NEW,
                reason: "it has no sessionId",
            })?;
        offer.read(&answer);
        Ok((id, Conversation::Fresh { reason }, offer))
    }

    /// Puts one wish of the profile to the agent. A refusal is told, and is no reason not to work.
    async fn choose(
        &self,
        session_id: &str,
        offer: &mut Offer,
        subject: Subject,
        wanted: Option<&str>,
    ) -> Result<Chosen, LaunchError> {
        let Some(wanted) = wanted else {
            return Ok(Chosen::NotAsked);
        };
        let (method, params) = match offer.step(session_id, subject, wanted) {
            Step::Nothing => return Ok(Chosen::Set),
            Step::NotOffered => return Ok(Chosen::NotOffered),
            Step::Call { method, params } => (method, params),
        };
        match self.call(method, &params).await?.result {
            Ok(answer) => {
                offer.granted(subject, wanted, &answer);
                Ok(Chosen::Set)
            }
            Err(error) => Ok(Chosen::Refused(error.message)),
        }
    }

    async fn call(
        &self,
        step: &'static str,
        params: &impl Serialize,
    ) -> Result<Answer, LaunchError> {
        *self.step.lock().unwrap_or_else(PoisonError::into_inner) = step;
        let params = serde_json::to_value(params).map_err(|_| LaunchError::Malformed {
            step,
            reason: "our request could not be written",
        })?;
        match self.connection.call(step, &params, step == LOAD).await {
            Ok(answer) => Ok(answer),
            Err(Gone) => Err(self.exited(step).await),
        }
    }

    fn accept(
        &self,
        step: &'static str,
        result: Result<Value, RpcError>,
        methods: &[AuthMethod],
    ) -> Result<Value, LaunchError> {
        match result {
            Ok(answer) => Ok(answer),
            Err(error) if error.code == AUTH_REQUIRED => Err(LaunchError::AuthRequired {
                message: error.message,
                methods: methods.to_vec(),
            }),
            Err(RpcError { code, message }) => Err(LaunchError::Refused {
                step,
                code,
                message,
                stderr_tail: self.connection.stderr_tail(),
            }),
        }
    }

    /// The process is gone. The guard's own exit codes say that it never got as far as the agent.
    async fn exited(&self, step: &'static str) -> LaunchError {
        let exit = self.connection.gone().await;
        let stderr_tail = self.connection.stderr_tail();
        let command = self.spec.command.clone();
        match exit.code {
            Some(NOT_FOUND)
                if step == INITIALIZE && stderr_tail.iter().any(|line| is_guards(line)) =>
            {
                LaunchError::CommandNotFound { command }
            }
            Some(CANNOT_RUN)
                if step == INITIALIZE && stderr_tail.iter().any(|line| is_guards(line)) =>
            {
                LaunchError::NotExecutable {
                    command,
                    reason: stderr_tail.last().cloned().unwrap_or_default(),
                }
            }
            _ => LaunchError::Exited {
                step,
                exit,
                stderr_tail,
            },
        }
    }

    fn step(&self) -> &'static str {
        *self.step.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn capabilities(hello: &Value) -> Capabilities {
    let flag = |pointer: &str| {
        hello
            .pointer(pointer)
            .and_then(Value::as_bool)
            .unwrap_or(false)
    };
    Capabilities {
        load_session: flag("/agentCapabilities/loadSession"),
        mcp_http: flag("/agentCapabilities/mcpCapabilities/http"),
        mcp_sse: flag("/agentCapabilities/mcpCapabilities/sse"),
        prompt_image: flag("/agentCapabilities/promptCapabilities/image"),
        prompt_audio: flag("/agentCapabilities/promptCapabilities/audio"),
        prompt_embedded_context: flag("/agentCapabilities/promptCapabilities/embeddedContext"),
    }
}

fn agent_info(hello: &Value) -> Option<AgentInfo> {
    let info = hello.get("agentInfo")?;
    Some(AgentInfo {
        name: string(info, "name")?,
        title: string(info, "title"),
        version: string(info, "version"),
    })
}

fn auth_methods(hello: &Answer) -> Vec<AuthMethod> {
    let Ok(hello) = &hello.result else {
        return Vec::new();
    };
    let Some(Value::Array(methods)) = hello.get("authMethods") else {
        return Vec::new();
    };
    methods
        .iter()
        .filter_map(|method| {
            let id = string(method, "id")?;
            Some(AuthMethod {
                name: string(method, "name").unwrap_or_else(|| id.clone()),
                description: string(method, "description"),
                id,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_list_of_servers_is_always_there() {
        let without = serde_json::to_value(NewSessionRequest::new("/w")).expect("writable");
        assert_eq!(without, json!({"cwd": "/w", "mcpServers": []}));
    }

    #[test]
    fn what_an_agent_leaves_out_it_cannot_do() {
        assert_eq!(
            capabilities(&json!({"agentCapabilities": {"mcpCapabilities": {"http": null}}})),
            Capabilities::default()
        );
        let all = capabilities(
            &json!({"agentCapabilities": {"loadSession": true, "mcpCapabilities": {"http": true}}}),
        );
        assert!(all.load_session && all.mcp_http && !all.mcp_sse);
    }
}
