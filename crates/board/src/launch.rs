//! Starting and resuming agents: what the runtime needs to know, and what it reports.

use crate::transition::{load_session, load_task};
use crate::{Board, Result};
use domain::agent::{Agent, AgentProfile};
use domain::effect::EffectKind;
use domain::error::Refusal;
use domain::event::{EventKind, NewEvent};
use domain::ids::{MessageId, PromptId, SessionId, TaskId};
use domain::message::{AuthorType, Message, MessageType};
use domain::profile::{McpProfile, resolve};
use domain::session::{Session, SessionCommand};
use domain::task::{Task, TaskCommand, TitleMode};
use serde_json::{Map, json};

/// Everything that is needed to start a session's agent.
#[derive(Debug, Clone)]
pub struct LaunchPlan {
    /// The session.
    pub session: SessionId,
    /// Its task.
    pub task: TaskId,
    /// The agent's command line.
    pub agent: Agent,
    /// Model and mode.
    pub profile: AgentProfile,
    /// The folder to work in; the runtime makes it when it is one of ours.
    pub working_directory: String,
    /// The agent's own id of the conversation to load.
    pub resume: Option<String>,
    /// The bearer token for the tools; `None` for a raw terminal. This is the only time it can be read.
    pub token: Option<String>,
    /// A prompt that may have reached the agent before: to be looked for in the history that is loaded.
    pub attempted: Option<PromptId>,
}

impl Board {
    /// Takes a session for `node`, puts it into STARTING and makes its token. Earlier tokens are revoked.
    pub(crate) async fn plan_launch(
        &self,
        work: &mut crate::transition::Work,
        task: &mut Task,
        session: &mut Session,
        attempted: Option<PromptId>,
        node: &str,
    ) -> Result<LaunchPlan> {
        let profile = store::agents::find_profile(&mut work.tx, session.agent_profile_id)
            .await?
            .ok_or_else(|| Refusal::not_found("agent profile"))?;
        let agent = store::agents::find(&mut work.tx, profile.agent_id)
            .await?
            .ok_or_else(|| Refusal::not_found("agent"))?;
        let working_directory = session
            .workspace_path
            .clone()
            .or_else(|| task.working_directory.clone())
            .unwrap_or_else(|| {
                self.settings
                    .workspaces_dir
                    .join(task.id.to_string())
                    .to_string_lossy()
                    .into_owned()
            });
        if task.title_mode == TitleMode::Pending && !session.is_passthrough {
            task.title_mode = TitleMode::Claimed;
            task.title_owner_session_id = Some(session.id);
            work.save_task(task).await?;
        }
        // The session has no agent here. A wish to end the one it had must not end the one that comes now.
        store::effects::delete(&mut work.tx, EffectKind::StopProcess, session.id, None).await?;
        work.task(task, TaskCommand::LaunchAccepted).await?;
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
            let token = crate::tokens::generate();
            let hash = crate::tokens::hash(&token);
            store::tokens::insert_session(&mut work.tx, &hash, task.id, session.id, now).await?;
            Some(token)
        };
        Ok(LaunchPlan {
            session: session.id,
            task: task.id,
            agent,
            profile,
            working_directory,
            resume: session.provider_session_id.clone(),
            token,
            attempted,
        })
    }

    /// The agent is up. `provider_session_id` is its id of the conversation, new or resumed. With nothing to deliver the
    /// session settles.
    pub async fn session_launched(&self, id: SessionId, provider_session_id: &str) -> Result<()> {
        let mut work = self.begin().await?;
        let mut session = load_session(&mut work.tx, id).await?;
        if session.provider_session_id.as_deref() != Some(provider_session_id) {
            session.provider_session_id = Some(provider_session_id.to_owned());
            work.save_session(&mut session).await?;
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
    /// so does the conversation's id, so that a resume can try again.
    pub async fn session_failed(&self, id: SessionId, message: &str) -> Result<()> {
        let mut work = self.begin().await?;
        let mut session = load_session(&mut work.tx, id).await?;
        let mut task = load_task(&mut work.tx, session.task_id).await?;
        if session.state.is_terminal() {
            return Ok(());
        }
        let turn = store::turns::open(&mut work.tx, id)
            .await?
            .map(|turn| turn.id);
        session.error_message = Some(message.to_owned());
        session.holder = None;
        session.lease_until = None;
        let mut metadata = Map::new();
        metadata.insert("severity".to_owned(), json!("error"));
        work.add_message(&Message {
            id: MessageId::new(),
            session_id: id,
            task_id: task.id,
            turn_id: turn,
            seq: 0,
            author_type: AuthorType::Agent,
            author_id: None,
            content: message.to_owned(),
            hidden_context: None,
            message_type: MessageType::Error,
            metadata,
            requests_input: false,
            created_at: work.now,
            updated_at: work.now,
        })
        .await?;
        work.task(&mut task, TaskCommand::LaunchFailed).await?;
        work.session(&mut session, SessionCommand::Fail).await?;
        work.task_event(&task).await?;
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
            work.commit().await?;
        }
        Ok(())
    }

    /// The tools of a session as they are now.
    pub async fn mcp_profile(&self, id: SessionId) -> Result<McpProfile> {
        let mut db = self.snapshot().await?;
        let session = load_session(&mut db, id).await?;
        let task = load_task(&mut db, session.task_id).await?;
        Ok(profile_of(&task, &session))
    }
}

/// The tools of a session: derived from task and session alone (rulings 2).
pub(crate) fn profile_of(task: &Task, session: &Session) -> McpProfile {
    let owns_title =
        task.title_mode == TitleMode::Claimed && task.title_owner_session_id == Some(session.id);
    resolve(
        task.autopilot,
        task.parent_id.is_some(),
        session.is_passthrough,
        owns_title,
    )
}
