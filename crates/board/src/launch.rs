//! Starting and resuming agents: what the runtime needs to know, and what it reports.

use crate::preparations::Prepare;
use crate::transition::{Work, load_session, load_task};
use crate::{Board, Result};
use domain::agent::{Agent, AgentProfile};
use domain::effect::EffectKind;
use domain::error::Refusal;
use domain::event::{EventKind, NewEvent};
use domain::executor::McpPolicy;
use domain::ids::{AgentId, MessageId, PromptId, SessionId, TaskId, TurnId};
use domain::mcp_servers::McpServer;
use domain::message::{AuthorType, Message, MessageType};
use domain::profile::{McpProfile, resolve};
use domain::session::{FreshStart, Session, SessionCommand, SessionState};
use domain::task::{Task, TaskCommand, TitleMode};
use serde_json::{Map, json};
use std::collections::BTreeMap;
use store::Snapshot;

/// Everything that is needed to start a session's agent. It holds secrets, so its debug form is its session alone.
#[derive(Clone)]
pub struct LaunchPlan {
    /// The session.
    pub session: SessionId,
    /// Its task.
    pub task: TaskId,
    /// The agent's command line.
    pub agent: Agent,
    /// Model and mode.
    pub profile: AgentProfile,
    /// What is to run in the folder first.
    pub prepare: Option<Prepare>,
    /// The folder to work in; the runtime makes it when it is one of ours.
    pub working_directory: String,
    /// The agent's own id of the conversation to load.
    pub resume: Option<String>,
    /// The MCP servers of the profile, by name.
    pub servers: BTreeMap<String, McpServer>,
    /// The bearer token for the tools; `None` for a raw terminal. This is the only time it can be read.
    pub token: Option<String>,
    /// A prompt that may have reached the agent before: to be looked for in the history that is loaded.
    pub attempted: Option<PromptId>,
}

impl std::fmt::Debug for LaunchPlan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LaunchPlan")
            .field("session", &self.session)
            .finish_non_exhaustive()
    }
}

/// What is known of a start before it is planned.
#[derive(Debug)]
pub(crate) struct Start {
    /// See [`LaunchPlan`].
    pub(crate) working_directory: String,
    /// See [`LaunchPlan`].
    pub(crate) prepare: Option<Prepare>,
    /// Which of the profile's servers the agent is given.
    pub(crate) policy: McpPolicy,
    /// See [`LaunchPlan`].
    pub(crate) attempted: Option<PromptId>,
}

/// What is learnt from an agent's start.
#[derive(Debug)]
pub struct LaunchReport<'a> {
    /// The agent.
    pub agent: AgentId,
    /// It takes tools over HTTP.
    pub supports_mcp: bool,
    /// Its own id of the conversation, new or resumed.
    pub provider_session_id: &'a str,
    /// A prompt of [`LaunchPlan::attempted`] that is in its history.
    pub seen: Option<PromptId>,
    /// What the profile asked for and the agent does not do, in words for a person.
    pub remarks: Vec<String>,
}

impl Board {
    /// The folder that a session works in.
    pub(crate) fn folder_of(&self, task: &Task, session: &Session) -> String {
        session
            .workspace_path
            .clone()
            .or_else(|| task.working_directory.clone())
            .unwrap_or_else(|| {
                self.settings
                    .workspaces_dir
                    .join(task.id.to_string())
                    .to_string_lossy()
                    .into_owned()
            })
    }

    /// Takes a session for `node`, puts it into STARTING and makes its token. Earlier tokens are revoked.
    pub(crate) async fn plan_launch(
        &self,
        work: &mut Work,
        task: &mut Task,
        session: &mut Session,
        start: Start,
        node: &str,
    ) -> Result<LaunchPlan> {
        let Start {
            working_directory,
            prepare,
            policy,
            attempted,
        } = start;
        let profile = work.configured_profile(session).await?;
        let agent = store::agents::find(&mut work.tx, profile.agent_id)
            .await?
            .ok_or_else(|| Refusal::not_found("agent"))?;
        let mut servers = store::mcp_configs::find(&mut work.tx, profile.id)
            .await?
            .filter(|(config, _)| config.enabled)
            .map(|(config, _)| config.servers)
            .unwrap_or_default();
        servers.retain(|_, server| policy.lets(server));
        if task.title_mode == TitleMode::Pending && !session.is_passthrough {
            task.title_mode = TitleMode::Claimed;
            task.title_owner_session_id = Some(session.id);
            work.save_task(task).await?;
        }
        // What an earlier process asked for, this one cannot be answered: its requests are numbered from the start again.
        work.cancel_permissions(session.id).await?;
        // The session has no agent here. A wish to end the one it had must not end the one that comes now.
        store::effects::delete(&mut work.tx, EffectKind::StopProcess, session.id, None).await?;
        work.task(task, TaskCommand::LaunchAccepted).await?;
        // What may have reached the agent is searched for in the old conversation first.
        if session.fresh_start == FreshStart::Wanted && attempted.is_none() {
            session.fresh_start = FreshStart::Begun;
            session.provider_session_id = None;
        }
        session.holder = Some(node.to_owned());
        session.lease_until = Some(work.now.plus_millis(self.settings.lease_ms));
        session.workspace_path = Some(working_directory.clone());
        if !work.session(session, SessionCommand::Launch).await? {
            work.save_session(session).await?;
        }
        let token = if session.is_passthrough {
            None
        } else {
            let now = work.now;
            store::tokens::revoke_session(&mut work.tx, session.id, now).await?;
            let token = crate::tokens::generate()?;
            let hash = domain::digest::sha256_hex(&token);
            store::tokens::insert_session(&mut work.tx, &hash, task.id, session.id, now).await?;
            Some(token)
        };
        Ok(LaunchPlan {
            session: session.id,
            task: task.id,
            agent,
            profile,
            servers,
            prepare,
            working_directory,
            resume: session.provider_session_id.clone(),
            token,
            attempted,
        })
    }

    /// The agent is up: everything that is learnt from its start, stored at once, so that no part of it can be missing. Refused
    /// when another node has taken the session meanwhile.
    pub async fn session_launched(
        &self,
        id: SessionId,
        node: &str,
        report: LaunchReport<'_>,
    ) -> Result<()> {
        let mut work = self.begin().await?;
        let mut session = load_session(&mut work.tx, id).await?;
        if session.is_held_by_other(node) {
            return Err(Refusal::conflict("another node has the session").into());
        }
        if session.provider_session_id.as_deref() != Some(report.provider_session_id) {
            session.provider_session_id = Some(report.provider_session_id.to_owned());
            work.save_session(&mut session).await?;
        }
        work.note_handshake(report.agent, report.supports_mcp)
            .await?;
        for remark in report.remarks {
            work.add_notice(&session, None, MessageType::Status, "warning", remark)
                .await?;
        }
        if let Some(prompt) = report.seen {
            work.prompt_seen(prompt).await?;
        }
        work.event(
            NewEvent::new(EventKind::SessionInfoUpdated)
                .task(session.task_id)
                .session(id),
        )
        .await?;
        work.commit().await
    }

    /// The agent could not be started, or died. The session fails with words for a person; what waits in its queue stays, and
    /// so does the conversation's id, so that a resume can try again. From a node that another has taken the session from, it
    /// changes nothing.
    pub async fn session_failed(&self, id: SessionId, node: &str, message: &str) -> Result<()> {
        let mut work = self.begin().await?;
        let mut session = load_session(&mut work.tx, id).await?;
        let mut task = load_task(&mut work.tx, session.task_id).await?;
        if session.state.is_terminal() || session.is_held_by_other(node) {
            return Ok(());
        }
        let turn = store::turns::open(&mut work.tx, id)
            .await?
            .map(|turn| turn.id);
        session.error_message = Some(message.to_owned());
        session.holder = None;
        session.lease_until = None;
        work.add_notice(
            &session,
            turn,
            MessageType::Error,
            "error",
            message.to_owned(),
        )
        .await?;
        let undecided = turn.is_some();
        if session.state == SessionState::Starting
            && !undecided
            && work.release_claims(&session).await?
        {
            // It was started only to be given an answer: the question is open again, and everything is as it was.
            work.task(&mut task, TaskCommand::Settle).await?;
            work.session(&mut session, SessionCommand::Interrupt)
                .await?;
        } else {
            // A start that was asked for and failed is still asked for.
            store::launches::set_launched(&mut work.tx, task.id, false).await?;
            work.task(&mut task, TaskCommand::LaunchFailed).await?;
            work.session(&mut session, SessionCommand::Fail).await?;
            Box::pin(work.work_left_done(&mut task, &session)).await?;
        }
        work.task_event(&task).await?;
        work.commit().await
    }

    /// What a step asked for and the live agent does not do, in words for a person. From a node that another has taken the
    /// session from, it changes nothing.
    pub async fn session_remarked(
        &self,
        id: SessionId,
        node: &str,
        remarks: Vec<String>,
    ) -> Result<()> {
        let mut work = self.begin().await?;
        let session = load_session(&mut work.tx, id).await?;
        if session.is_held_by_other(node) {
            return Ok(());
        }
        for remark in remarks {
            work.add_notice(&session, None, MessageType::Status, "warning", remark)
                .await?;
        }
        work.commit().await
    }

    /// The session's agent is gone and nothing was at work: gives the session's lease back, keeping its state.
    pub async fn session_released(&self, id: SessionId, node: &str) -> Result<()> {
        let mut work = self.begin().await?;
        let Some(mut session) = store::sessions::find(&mut work.tx, id).await? else {
            return Ok(());
        };
        if session.holder.as_deref() == Some(node) {
            session.holder = None;
            session.lease_until = None;
            work.save_session(&mut session).await?;
            work.cancel_permissions(session.id).await?;
            work.commit().await?;
        }
        Ok(())
    }

    /// The tools of a session as they are now.
    pub async fn mcp_profile(&self, id: SessionId) -> Result<McpProfile> {
        let mut db = self.snapshot().await?;
        let session = load_session(&mut db, id).await?;
        let task = load_task(&mut db, session.task_id).await?;
        profile_of(&mut db, &task, &session).await
    }
}

impl Work {
    /// A session's profile, with the mode and the model that a step chose for it.
    pub(crate) async fn configured_profile(&mut self, session: &Session) -> Result<AgentProfile> {
        let mut profile = store::agents::find_profile(&mut self.tx, session.agent_profile_id)
            .await?
            .ok_or_else(|| Refusal::not_found("agent profile"))?;
        profile.mode = session.session_mode.clone().or(profile.mode);
        profile.model = session.session_model.clone().or(profile.model);
        Ok(profile)
    }

    /// Something that Flightdeck itself has to say in a transcript.
    async fn add_notice(
        &mut self,
        session: &Session,
        turn: Option<TurnId>,
        message_type: MessageType,
        severity: &str,
        content: String,
    ) -> Result<()> {
        let mut metadata = Map::new();
        metadata.insert("severity".to_owned(), json!(severity));
        self.add_message(&Message {
            id: MessageId::new(),
            session_id: session.id,
            task_id: session.task_id,
            turn_id: turn,
            seq: 0,
            author_type: AuthorType::Agent,
            author_id: None,
            content,
            hidden_context: None,
            message_type,
            metadata,
            requests_input: false,
            created_at: self.now,
            updated_at: self.now,
        })
        .await
    }
}

/// The tools of a session: derived from task, session and what the task is about alone (rulings 2).
pub(crate) async fn profile_of(
    db: &mut Snapshot,
    task: &Task,
    session: &Session,
) -> Result<McpProfile> {
    let owns_title =
        task.title_mode == TitleMode::Claimed && task.title_owner_session_id == Some(session.id);
    let providers = store::repositories::providers(db, task.id).await?;
    Ok(resolve(
        task.purpose,
        task.autopilot,
        task.parent_id.is_some(),
        session.is_passthrough,
        owns_title,
        &providers,
    ))
}
