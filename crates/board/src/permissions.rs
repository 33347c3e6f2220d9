//! Permissions that agents ask for.

use crate::reach::known_task;
use crate::transition::{Work, load_session, load_task};
use crate::{Actor, Board, Result};
use domain::error::Refusal;
use domain::event::{EventKind, NewEvent};
use domain::ids::{MessageId, PermissionId, SessionId, TaskId};
use domain::message::{AuthorType, Message, MessageType};
use domain::params::ResolvePermission;
use domain::permission::{
    Permission, PermissionCommand, PermissionOption, PermissionStatus, first_that_allows,
};
use domain::view::{PendingPermission, PermissionView};
use serde_json::{Map, Value, json};

impl Board {
    /// Notes that an agent asks for permission and shows it to the operator. Refused when the session is over or another node has
    /// it: an answer would reach nobody.
    pub async fn permission_request(
        &self,
        session: SessionId,
        node: &str,
        request_id: &str,
        tool_call: Value,
        options: Vec<PermissionOption>,
    ) -> Result<PermissionId> {
        let mut work = self.begin().await?;
        let session = load_session(&mut work.tx, session).await?;
        if session.state.is_terminal() || session.is_held_by_other(node) {
            return Err(Refusal::conflict("the session is over: nobody is asked").into());
        }
        let turn = store::turns::open(&mut work.tx, session.id)
            .await?
            .map(|turn| turn.id);
        let mut permission = Permission {
            id: PermissionId::new(),
            task_id: session.task_id,
            session_id: session.id,
            turn_id: turn,
            request_id: request_id.to_owned(),
            tool_call,
            options,
            status: PermissionStatus::Pending,
            option_id: None,
            created_at: work.now,
            resolved_at: None,
        };
        store::permissions::insert(&mut work.tx, &permission).await?;
        let mut metadata = Map::new();
        metadata.insert("pending_id".to_owned(), json!(permission.id));
        metadata.insert("status".to_owned(), json!(permission.status));
        metadata.insert("tool_call".to_owned(), permission.tool_call.clone());
        metadata.insert("options".to_owned(), json!(permission.options));
        work.add_message(&Message {
            id: MessageId::new(),
            session_id: session.id,
            task_id: session.task_id,
            turn_id: turn,
            seq: 0,
            author_type: AuthorType::Agent,
            author_id: None,
            content: title(&permission.tool_call),
            hidden_context: None,
            message_type: MessageType::PermissionRequest,
            metadata,
            requests_input: true,
            created_at: work.now,
            updated_at: work.now,
        })
        .await?;
        let task = load_task(&mut work.tx, session.task_id).await?;
        work.task_event(&task).await?;
        work.event(
            NewEvent::new(EventKind::PermissionChanged)
                .workspace(task.workspace_id)
                .task(task.id)
                .session(session.id)
                .subject(permission.id),
        )
        .await?;
        let profile = store::agents::find_profile(&mut work.tx, session.agent_profile_id).await?;
        if profile.is_some_and(|profile| profile.auto_approve)
            && let Some(option) = first_that_allows(&permission.options)
        {
            // Stored like any other, so that the transcript shows what was asked and what was chosen.
            work.choose(&mut permission, &option, &Actor::System)
                .await?;
            work.task_event(&task).await?;
        }
        work.commit().await?;
        Ok(permission.id)
    }

    /// The operator's choice among the options that the agent offered. The first choice wins; repeating it changes nothing.
    pub async fn permission_respond(
        &self,
        actor: &Actor,
        id: PermissionId,
        option: &str,
    ) -> Result<PermissionView> {
        actor.require_operator()?;
        let mut work = self.begin().await?;
        let mut permission = store::permissions::find(&mut work.tx, id)
            .await?
            .ok_or_else(|| Refusal::not_found("permission request"))?;
        if work.choose(&mut permission, option, actor).await? {
            let task = load_task(&mut work.tx, permission.task_id).await?;
            work.task_event(&task).await?;
            work.commit().await?;
        }
        Ok(view(permission))
    }

    /// The requests of a task that wait for a choice, oldest first; of one session when it is named.
    pub async fn permissions_pending(
        &self,
        actor: &Actor,
        task: TaskId,
        session: Option<SessionId>,
    ) -> Result<Vec<PendingPermission>> {
        actor.require_person()?;
        let mut db = self.snapshot().await?;
        known_task(&mut db, actor, task).await?;
        if let Some(session) = session
            && load_session(&mut db, session).await?.task_id != task
        {
            return Err(Refusal::not_found("session").into());
        }
        let requests = store::permissions::pending_of_task(&mut db, task).await?;
        Ok(requests
            .into_iter()
            .filter(|request| session.is_none_or(|session| request.session_id == session))
            .map(|request| PendingPermission {
                pending_id: request.id,
                request_id: request.request_id,
                task_id: request.task_id,
                session_id: request.session_id,
                title: title(&request.tool_call),
                tool_call: request.tool_call,
                options: request.options,
                created_at: request.created_at,
            })
            .collect())
    }

    /// As [`Self::permission_respond`], of a request that is named in full. One that is over is refused, also when the same option
    /// was chosen: whoever repeats a call is to know that it was not this one that counted.
    pub async fn permission_resolve(
        &self,
        actor: &Actor,
        choice: &ResolvePermission,
    ) -> Result<PermissionView> {
        actor.require_person()?;
        let mut work = self.begin().await?;
        let task = known_task(&mut work.tx, actor, choice.task_id).await?;
        let mut permission = store::permissions::find(&mut work.tx, choice.pending_id)
            .await?
            .filter(|permission| {
                permission.task_id == choice.task_id
                    && permission.session_id == choice.session_id
                    && permission.request_id == choice.request_id
            })
            .ok_or_else(|| Refusal::not_found("permission request"))?;
        if permission.status != PermissionStatus::Pending {
            return Err(Refusal::conflict(format!(
                "this permission request is {}: list what is pending again",
                permission.status
            ))
            .into());
        }
        work.choose(&mut permission, &choice.option_id, actor)
            .await?;
        work.task_event(&task).await?;
        work.commit().await?;
        Ok(view(permission))
    }

    /// A request and the option chosen, for the runtime that hands it to the agent: `None` when it was cancelled.
    pub async fn permission_outcome(
        &self,
        id: PermissionId,
    ) -> Result<Option<(String, Option<String>)>> {
        let found = store::permissions::find(&mut self.snapshot().await?, id).await?;
        Ok(found.map(|permission| (permission.request_id, permission.option_id)))
    }

    /// The agent withdrew a request, by its own id for it.
    pub async fn permission_withdrawn(&self, session: SessionId, request_id: &str) -> Result<()> {
        let mut work = self.begin().await?;
        let pending = store::permissions::pending_of_session(&mut work.tx, session).await?;
        for mut permission in pending.into_iter().filter(|p| p.request_id == request_id) {
            work.permission(&mut permission, PermissionCommand::Cancel)
                .await?;
        }
        work.commit().await
    }
}

impl Work {
    /// Chooses an option, and notes who did before the agent can hear of it; answers whether anything changed.
    async fn choose(
        &mut self,
        permission: &mut Permission,
        option: &str,
        actor: &Actor,
    ) -> Result<bool> {
        let changed = self
            .permission(permission, PermissionCommand::Select(option))
            .await?;
        if changed && let Some(message) = self.permission_message(permission).await? {
            let mut by = Map::new();
            match actor {
                Actor::Operator | Actor::Agent { .. } => {
                    by.insert("resolved_by".to_owned(), json!("operator"));
                }
                Actor::External { token } => {
                    by.insert("resolved_by".to_owned(), json!("client"));
                    by.insert("resolved_by_token".to_owned(), json!(token));
                }
                Actor::System => {
                    by.insert("resolved_by".to_owned(), json!("profile"));
                }
            }
            store::messages::merge_metadata(&mut self.tx, message.id, by, self.now).await?;
            tracing::info!(id = %permission.id, ?actor, "permission resolved");
        }
        Ok(changed)
    }

    async fn permission_message(&mut self, permission: &Permission) -> Result<Option<Message>> {
        let (messages, _) = store::messages::page(
            &mut self.tx,
            permission.session_id,
            store::messages::Window::Newest,
            &[MessageType::PermissionRequest],
            100,
        )
        .await?;
        let id = json!(permission.id);
        Ok(messages
            .into_iter()
            .find(|message| message.metadata.get("pending_id") == Some(&id)))
    }

    /// Shows in the transcript how a request ended.
    pub(crate) async fn update_permission_message(
        &mut self,
        permission: &Permission,
    ) -> Result<()> {
        let Some(mut message) = self.permission_message(permission).await? else {
            return Ok(());
        };
        message
            .metadata
            .insert("status".to_owned(), json!(permission.status));
        message
            .metadata
            .insert("option_id".to_owned(), json!(permission.option_id));
        message.requests_input = false;
        message.updated_at = self.now;
        store::messages::update(&mut self.tx, &message).await?;
        self.event(
            NewEvent::new(EventKind::MessageUpdated)
                .task(permission.task_id)
                .session(permission.session_id)
                .subject(message.id),
        )
        .await
    }
}

/// A request as pages show it.
pub(crate) fn view(permission: Permission) -> PermissionView {
    PermissionView {
        id: permission.id,
        task_id: permission.task_id,
        session_id: permission.session_id,
        title: title(&permission.tool_call),
        tool_call: permission.tool_call,
        options: permission.options,
        created_at: permission.created_at,
    }
}

/// What the agent wants to do, in a line; agents may leave the title out.
fn title(tool_call: &Value) -> String {
    let text = |key: &str| {
        tool_call
            .get(key)
            .and_then(Value::as_str)
            .map(str::trim)
            .filter(|t| !t.is_empty())
    };
    text("title")
        .or_else(|| text("kind"))
        .unwrap_or("Use a tool")
        .to_owned()
}
