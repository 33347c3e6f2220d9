//! Another session on a task: a second agent beside the one that works on it, in a conversation of its own (task-domain 9.3).
//!
//! Operators and agents use the same operation. Who spawned a session, and where its agent replies to, is taken from the rows
//! behind the caller's token; nothing in a call can claim to be somebody else.

use crate::errand::Errand;
use crate::messages::{Route, attributed, check_target_task};
use crate::prompts::{NewPrompt, check_content, check_open};
use crate::transition::{Work, find_step, load_task};
use crate::{Actor, Board, Result};
use domain::error::Refusal;
use domain::ids::{ProfileId, TaskId};
use domain::params::SpawnSession;
use domain::queue::QueuedBy;
use domain::session::{Session, check_name};
use domain::task::Task;
use domain::view::SpawnedSession;

impl Board {
    /// Starts a session on a task, or on the caller's own when none is named. A name that cannot be used is left out rather
    /// than refused: the work matters more than what it is called.
    ///
    /// An agent's prompt to another task is a message: the same guards count it, and a task that is over refuses it. One that
    /// waits for other tasks is started by its operator or by their end, not by an agent.
    pub async fn session_spawn(
        &self,
        actor: &Actor,
        task: Option<TaskId>,
        params: &SpawnSession,
    ) -> Result<SpawnedSession> {
        check_content(&params.prompt)?;
        let mut work = self.begin().await?;
        let (target, spawner) = match actor {
            Actor::Operator => {
                let target = task.ok_or_else(|| Refusal::validation("name the task to work on"))?;
                (load_task(&mut work.tx, target).await?, None)
            }
            Actor::Agent { .. } | Actor::External { .. } | Actor::System => {
                let (own, session) = actor.require_agent()?;
                let own = load_task(&mut work.tx, own).await?;
                let target = load_task(&mut work.tx, task.unwrap_or(own.id)).await?;
                if target.workspace_id != own.workspace_id {
                    return Err(Refusal::forbidden(
                        "sessions can only be started on tasks of your own workspace: write to the other task with \
                         message_task_kandev",
                    )
                    .into());
                }
                if target.purpose != own.purpose {
                    // Another purpose has other tools, and no agent chooses those.
                    return Err(Refusal::forbidden(format!(
                        "only an operator starts sessions on a task that is for {}",
                        target.purpose
                    ))
                    .into());
                }
                let session = store::sessions::find(&mut work.tx, session)
                    .await?
                    .filter(|session| session.task_id == own.id);
                (target, session.map(|session| (own, session)))
            }
        };
        check_open(&target)?;
        if actor.task().is_some_and(|own| own != target.id) {
            work.check_spawn_by_agent(&target).await?;
        }
        let profile = work
            .spawn_profile(&target, spawner.as_ref().map(|(_, s)| s), params)
            .await?;
        let mut session = work.another_session(&target, profile, None).await?;
        let route = spawner.map(|(sender, sender_session)| Route {
            sender,
            sender_session,
            target: target.clone(),
            spawns: true,
        });
        let hops = match &route {
            Some(route) => work.guard(route, session.id).await?,
            None => 0,
        };
        let name = params.name.as_deref().map(check_name);
        if let Some(Ok(Some(name))) = name {
            session.name = Some(name);
            work.save_session(&mut session).await?;
        }
        let prompt = match &route {
            Some(route) => attributed(
                &route.sender,
                &route.sender_session,
                target.id,
                params.prompt.clone(),
            ),
            None if actor.session().is_some() => {
                NewPrompt::plain(params.prompt.clone(), QueuedBy::Agent)
            }
            None => NewPrompt::plain(params.prompt.clone(), QueuedBy::User),
        };
        let outcome = work.admit(&target, &mut session, prompt).await?;
        if let Some(route) = &route {
            work.keep_receipt(route, &outcome, hops, None).await?;
        }
        work.task_event(&target).await?;
        work.commit().await?;
        Ok(SpawnedSession {
            task_id: target.id,
            session_id: session.id,
            state: session.state,
            agent_profile_id: session.agent_profile_id,
        })
    }
}

impl Work {
    /// A session of a profile that was chosen beside the task's own: one of an autopilot task must be able to take the tools.
    pub(crate) async fn another_session(
        &mut self,
        task: &Task,
        profile: ProfileId,
        errand: Option<&Errand>,
    ) -> Result<Session> {
        if task.autopilot {
            self.check_autopilot(profile).await?;
        }
        self.insert_session(task, profile, errand).await
    }

    async fn check_spawn_by_agent(&mut self, target: &Task) -> Result<()> {
        check_target_task(target)?;
        if self.is_blocked(target.id).await? {
            return Err(Refusal::conflict(
                "the task waits for other tasks and starts when they are completed: nobody but its operator starts it before",
            )
            .into());
        }
        Ok(())
    }

    /// The workflow's choice for the card's step, the one asked for, the spawner's own on the same task, that of the target's
    /// primary session, the task's.
    async fn spawn_profile(
        &mut self,
        target: &Task,
        spawner: Option<&Session>,
        params: &SpawnSession,
    ) -> Result<ProfileId> {
        if let Some(given) = params.agent_profile_id
            && store::agents::find_profile(&mut self.tx, given)
                .await?
                .is_none()
        {
            return Err(Refusal::not_found("agent profile").into());
        }
        let by_workflow = self.workflow_profile(target).await?;
        let own = spawner
            .filter(|session| session.task_id == target.id)
            .map(|session| session.agent_profile_id);
        let usual = self.primary_profile(target).await?;
        Ok(by_workflow
            .or(params.agent_profile_id)
            .or(own)
            .or(usual)
            .ok_or_else(|| {
                Refusal::validation(
                    "the task has no agent profile: name one of list_agents_kandev as agent_profile_id",
                )
            })?)
    }

    /// The profile that the card's step pins, or else its workflow's.
    pub(crate) async fn workflow_profile(&mut self, task: &Task) -> Result<Option<ProfileId>> {
        let steps = store::workflows::steps(&mut self.tx, task.workflow_id).await?;
        let pinned =
            find_step(&steps, task.workflow_step_id).and_then(|step| step.agent_profile_id);
        let by_workflow = store::workflows::find(&mut self.tx, task.workflow_id)
            .await?
            .and_then(|workflow| workflow.agent_profile_id);
        Ok(pinned.or(by_workflow))
    }

    /// The profile of the task's primary session, or else the one that the task was made with.
    pub(crate) async fn primary_profile(&mut self, task: &Task) -> Result<Option<ProfileId>> {
        let sessions = store::sessions::list(&mut self.tx, task.id).await?;
        let primary = sessions.into_iter().find(|session| session.is_primary);
        Ok(primary
            .map(|session| session.agent_profile_id)
            .or(task.agent_profile_id))
    }
}
