//! Tasks: creating, changing, archiving and deleting them. Page, API and tools create through [`Board::task_create`] alone.

use crate::messages::sender_metadata;
use crate::prompts::NewPrompt;
use crate::reach::{depth_limit, known_task, known_workflow, known_workspace, scope, within};
use crate::transition::{Work, load_session, load_task};
use crate::{Actor, Board, Result, Settings};
use domain::agent::check_autopilot;
use domain::effect::EffectKind;
use domain::error::Refusal;
use domain::event::{EventKind, NewEvent};
use domain::ids::{ExecutorProfileId, ProfileId, TaskId, WorkspaceId};
use domain::params::{CreateTask, ListTasks, UpdateTask};
use domain::question::check_length;
use domain::queue::QueuedBy;
use domain::repository::Repository;
use domain::session::SessionCommand;
use domain::task::{
    Origin, Priority, Purpose, Task, TaskCommand, TaskState, TitleMode, check_depth, check_purpose,
    check_title, check_wish, cut_title,
};
use domain::turn::TurnCommand;
use domain::view::{RelatedTask, RelatedTasks, TaskCreated, TaskView};
use domain::wip::Placement;
use domain::workflow::{Step, Workflow, first_step, start_step};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::time::Duration;
use store::views::TaskFilter;

/// Title of a task whose agent is to choose it and that has no prompt to borrow from.
const UNTITLED: &str = "New task";
/// Longest external id, in code points.
const MAX_EXTERNAL_ID: usize = 256;
/// Most tasks in one list.
const MAX_LIST: i64 = 1_000;
/// How often tasks are looked for that rested in their step for long enough to be archived.
pub const AUTO_ARCHIVE_EVERY: Duration = Duration::from_secs(5 * 60);
/// So many are archived at once; the rest the next time.
const ARCHIVED_AT_ONCE: i64 = 100;

/// The answer to an archive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Archived {
    /// The task.
    #[serde(flatten)]
    pub task: TaskView,
    /// It was archived before; nothing changed.
    pub already_archived: bool,
}

impl Board {
    /// Makes a task, and starts it when a prompt is there (rulings 22). Task, session, first prompt and the wish to deliver it
    /// are one transaction: a failure leaves nothing behind.
    ///
    /// With an `external_id` that is taken in the workspace, the task made earlier is returned and nothing else happens.
    /// Refused: a bad title, an unknown or foreign parent, workspace, workflow, step or profile, nesting beyond the limit,
    /// autopilot with a profile that cannot take the tools, a start without a prompt.
    pub async fn task_create(&self, actor: &Actor, params: CreateTask) -> Result<TaskCreated> {
        let mut work = self.begin().await?;
        let created = work.create_task(actor, params).await?;
        work.commit().await?;
        Ok(created)
    }

    /// One task, archived or not.
    pub async fn task_get(&self, actor: &Actor, id: TaskId) -> Result<TaskView> {
        let mut db = self.snapshot().await?;
        known_task(&mut db, actor, id).await?;
        view(&mut db, id).await
    }

    /// Tasks in board order, or by age when paged by `cursor`.
    pub async fn task_list(&self, actor: &Actor, params: &ListTasks) -> Result<Vec<TaskView>> {
        let mut db = self.snapshot().await?;
        let reached = scope(&mut db, actor).await?;
        let filter = TaskFilter {
            workspace_id: params.workspace_id,
            within: reached.as_deref(),
            workflow_id: params.workflow_id,
            workflow_step_id: params.workflow_step_id,
            parent_id: params.parent_id,
            state: params
                .state
                .as_deref()
                .map(TaskState::parse_input)
                .transpose()?,
            include_archived: params.include_archived,
            predecessors_of: None,
            dependants_of: None,
            after: params.cursor,
            by_age: params.cursor.is_some() || params.limit.is_some(),
            limit: check_limit(params.limit, MAX_LIST, MAX_LIST)?,
        };
        if let Some(id) = params.workspace_id {
            known_workspace(&mut db, actor, id).await?;
        }
        if let Some(id) = params.workflow_id {
            known_workflow(&mut db, actor, id).await?;
        }
        Ok(store::views::tasks(&mut db, &filter).await?)
    }

    /// Parent, children and siblings of a task, what it waits for and what waits for it.
    pub async fn task_related(
        &self,
        actor: &Actor,
        id: TaskId,
        verbose: bool,
    ) -> Result<RelatedTasks> {
        let mut db = self.snapshot().await?;
        known_task(&mut db, actor, id).await?;
        let task = view(&mut db, id).await?;
        let by_parent = |parent| TaskFilter {
            parent_id: Some(parent),
            limit: MAX_LIST,
            ..TaskFilter::default()
        };
        let parent = match task.parent_id {
            Some(parent) => store::views::task(&mut db, parent).await?,
            None => None,
        };
        let children = store::views::tasks(&mut db, &by_parent(id)).await?;
        let siblings = match task.parent_id {
            Some(parent) => store::views::tasks(&mut db, &by_parent(parent)).await?,
            None => Vec::new(),
        };
        let depends_on = related_by_edge(&mut db, predecessors_of(id), verbose).await?;
        let dependants = TaskFilter {
            dependants_of: Some(id),
            include_archived: true,
            limit: MAX_LIST,
            ..TaskFilter::default()
        };
        let blocks = related_by_edge(&mut db, dependants, verbose).await?;
        let related = |task: TaskView| related(task, verbose);
        Ok(RelatedTasks {
            blockers: depends_on.clone(),
            blocked_by: blocks.clone(),
            depends_on,
            blocks,
            parent: parent.map(related),
            children: children.into_iter().map(related).collect(),
            siblings: siblings
                .into_iter()
                .filter(|sibling| sibling.id != id)
                .map(related)
                .collect(),
            task: related(task),
        })
    }

    /// Changes a task's title, description, state, priority or parent, all or nothing. A new parent, or a state in which the task
    /// is over, makes pending questions of the task stale. Autopilot is not among what can change.
    pub async fn task_update(
        &self,
        actor: &Actor,
        id: TaskId,
        params: UpdateTask,
    ) -> Result<TaskView> {
        let mut work = self.begin().await?;
        let mut task = known_task(&mut work.tx, actor, id).await?;
        if let Some(prompt) = &params.deferred_launch_prompt {
            work.set_deferred_prompt(id, prompt).await?;
        }
        let before = task.clone();
        if let Some(title) = &params.title {
            task.title = check_title(title)?;
            if task.title_mode == TitleMode::Claimed
                && let Some(owner) = task.title_owner_session_id
                && let Some(owner) = store::sessions::find(&mut work.tx, owner).await?
            {
                // The agent that was to give the title no longer has the tool for it.
                work.effect(EffectKind::RefreshProfile, &owner, None)
                    .await?;
            }
            task.title_mode = TitleMode::Settled;
        }
        if let Some(description) = params.description {
            crate::prompts::check_size(&description)?;
            task.description = description;
        }
        if let Some(priority) = &params.priority {
            task.priority = match priority.trim() {
                "" => None,
                word => Some(Priority::parse(word)?),
            };
        }
        if let Some(parent) = params.parent_id
            && parent != task.parent_id
        {
            actor.require_operator()?;
            work.check_new_parent(&task, parent).await?;
            work.due.part_ended(task.parent_id);
            task.parent_id = parent;
            work.stale_questions_of_child(task.id).await?;
        }
        if task != before {
            work.save_task(&mut task).await?;
            work.task_event(&task).await?;
        }
        if let Some(state) = &params.state {
            let state = TaskState::parse_input(state)?;
            check_wish(state, *actor == Actor::Operator)?;
            if task.state.is_terminal() && !state.is_terminal() && task.archived_at.is_none() {
                // It gave its place up when it was over. One whose agent is still at work takes it back at once.
                let sessions = store::sessions::list(&mut work.tx, id).await?;
                if !sessions.iter().any(|session| session.state.is_busy()) {
                    work.readmit(&mut task, false).await?;
                }
            }
            work.task(&mut task, TaskCommand::Set(state)).await?;
            if state.is_terminal() {
                work.stale_questions_of_child(task.id).await?;
                work.give_up_waiting(&mut task).await?;
            }
        }
        let task = view(&mut work.tx, id).await?;
        work.commit().await?;
        Ok(task)
    }

    /// Chooses the title as the session that owns the choice; answers whether it was accepted and, if not, why.
    pub async fn task_set_title(
        &self,
        actor: &Actor,
        title: &str,
    ) -> Result<(TaskView, Option<&'static str>)> {
        let (id, session) = actor.require_agent()?;
        let title = check_title(title)?;
        let mut work = self.begin().await?;
        let mut task = load_task(&mut work.tx, id).await?;
        let reason = match task.title_mode {
            TitleMode::Settled | TitleMode::Pending => Some("title_not_pending"),
            TitleMode::Claimed if task.title_owner_session_id != Some(session) => {
                Some("title_not_owner")
            }
            TitleMode::Claimed => None,
        };
        if reason.is_none() {
            task.title = title;
            task.title_mode = TitleMode::Settled;
            work.save_task(&mut task).await?;
            work.task_event(&task).await?;
            let owner = load_session(&mut work.tx, session).await?;
            work.effect(EffectKind::RefreshProfile, &owner, None)
                .await?;
        }
        let task = view(&mut work.tx, id).await?;
        work.commit().await?;
        Ok((task, reason))
    }

    /// Hides a task: its sessions are stopped, its queues emptied, its questions and those it was asked become stale. Nothing
    /// of its history goes. Repeating it changes nothing.
    pub async fn task_archive(&self, actor: &Actor, id: TaskId) -> Result<Archived> {
        let mut work = self.begin().await?;
        let mut task = known_task(&mut work.tx, actor, id).await?;
        let already_archived = task.archived_at.is_some();
        if !already_archived {
            work.archive(&mut task).await?;
        }
        let task = view(&mut work.tx, id).await?;
        tracing::debug!(%id, actor = actor.word(), "task archived");
        work.commit().await?;
        Ok(Archived {
            task,
            already_archived,
        })
    }

    /// Archives what rested in its step for as long as the step keeps its tasks and nobody works on; answers how many tasks
    /// those were. Looked for every [`AUTO_ARCHIVE_EVERY`](crate::AUTO_ARCHIVE_EVERY). Several nodes may do so at once.
    pub async fn tasks_archive_resting(&self) -> Result<usize> {
        let now = self.clock.now();
        let due =
            store::tasks::to_archive(&mut self.snapshot().await?, now, ARCHIVED_AT_ONCE).await?;
        if due.is_empty() {
            return Ok(0);
        }
        let mut work = self.begin().await?;
        // Looked at again: whoever wrote meanwhile was first.
        let due = store::tasks::to_archive(&mut work.tx, now, ARCHIVED_AT_ONCE).await?;
        for id in &due {
            let mut task = load_task(&mut work.tx, *id).await?;
            work.archive(&mut task).await?;
        }
        work.commit().await?;
        Ok(due.len())
    }

    /// Shows an archived task again, in its step when there is room. Its sessions stay as they ended; resume one to go on. A
    /// start that still waits and that nothing holds any more is made.
    pub async fn task_unarchive(&self, actor: &Actor, id: TaskId) -> Result<TaskView> {
        actor.require_operator()?;
        let mut work = self.begin().await?;
        let mut task = load_task(&mut work.tx, id).await?;
        if task.archived_at.take().is_some() {
            let is_over = task.state.is_terminal();
            work.readmit(&mut task, is_over).await?;
            work.save_task(&mut task).await?;
            work.task_event(&task).await?;
            work.due.predecessor_changed(id);
            work.start_if_ready(id).await?;
        }
        let task = view(&mut work.tx, id).await?;
        work.commit().await?;
        Ok(task)
    }

    /// Removes a task and its history for good; its children become top-level tasks. What waited for it no longer does, and is
    /// started by nobody.
    pub async fn task_delete(&self, actor: &Actor, id: TaskId) -> Result<()> {
        let mut work = self.begin().await?;
        let task = known_task(&mut work.tx, actor, id).await?;
        work.stop_task_sessions(&task).await?;
        work.leave_folder(&task).await?;
        work.stale_questions_of_task(id).await?;
        for child in store::tasks::children(&mut work.tx, id).await? {
            work.task_event(&child).await?;
        }
        let dependants = store::dependencies::dependants(&mut work.tx, id).await?;
        store::tasks::delete(&mut work.tx, id).await?;
        for dependant in dependants {
            let dependant = load_task(&mut work.tx, dependant).await?;
            work.task_event(&dependant).await?;
        }
        work.free_place(&task);
        work.due.part_ended(task.parent_id);
        work.event(
            NewEvent::new(EventKind::TaskDeleted)
                .workspace(task.workspace_id)
                .task(id),
        )
        .await?;
        tracing::info!(%id, actor = actor.word(), "task deleted");
        work.commit().await
    }
}

impl Work {
    /// Takes a task from the board: everything about it stops, and its queues are emptied.
    async fn archive(&mut self, task: &mut Task) -> Result<()> {
        let id = task.id;
        store::moves::delete_pending(&mut self.tx, id).await?;
        store::moves::take_marker(&mut self.tx, id).await?;
        self.stop_task_sessions(task).await?;
        self.close_undecided_turns(task).await?;
        self.stale_questions_of_task(id).await?;
        for row in store::queue::list_by_task(&mut self.tx, id).await? {
            self.launch_is_over(&row).await?;
        }
        store::queue::purge_task(&mut self.tx, id).await?;
        self.leave_folder(task).await?;
        self.free_place(task);
        self.due.predecessor_changed(id);
        self.due.part_ended(task.parent_id);
        task.archived_at = Some(self.now);
        self.save_task(task).await?;
        self.task(task, TaskCommand::ParentStop).await?;
        self.task_event(task).await
    }

    pub(crate) async fn create_task(
        &mut self,
        actor: &Actor,
        params: CreateTask,
    ) -> Result<TaskCreated> {
        let prompt = params.description.trim();
        let title = title_of(&params, prompt)?;
        let parent = match params.parent_id {
            Some(id) => {
                let parent = self.check_parent(id).await?;
                within(&mut self.tx, actor, parent.workspace_id, "parent task").await?;
                Some(parent)
            }
            None => None,
        };
        let above = parent.as_ref().map(|parent| parent.purpose);
        let purpose = params.purpose.or(above).unwrap_or(Purpose::Work);
        if purpose != Purpose::Work {
            // It decides which tools an agent is given, and no agent chooses those.
            actor.require_operator()?;
        }
        check_purpose(purpose, params.autopilot, above)?;
        let workspace = self
            .resolve_workspace(actor, &params, parent.as_ref())
            .await?;
        if let Some(key) = external_id(&params)?
            && let Some(known) =
                store::tasks::find_by_external_id(&mut self.tx, workspace, key).await?
        {
            let task = view(&mut self.tx, known.id).await?;
            return Ok(TaskCreated {
                task,
                session_id: None,
                deduplicated: true,
                creation_complete: true,
            });
        }
        let starts = params.start_agent.unwrap_or(!prompt.is_empty());
        if starts && prompt.is_empty() {
            return Err(Refusal::validation(
                "a prompt is needed to start the agent: say what is to be done, or create the task with start_agent false",
            )
            .into());
        }
        if !prompt.is_empty() {
            crate::prompts::check_content(prompt)?;
        }
        let (workflow, steps) = self
            .resolve_workflow(&params, parent.as_ref(), workspace)
            .await?;
        let step = resolve_step(&params, parent.as_ref(), &steps, starts)?;
        let mut predecessors = params.blocked_by.clone();
        predecessors.sort_unstable();
        predecessors.dedup();
        for predecessor in &predecessors {
            self.check_predecessor(*predecessor, workspace).await?;
        }
        // With predecessors and without a wish to start by itself, it is not started even when they are completed already.
        let starts =
            starts && (predecessors.is_empty() || params.start_when_unblocked.unwrap_or(true));
        let placement = self.place_new(step, &steps).await?;
        let (home, queued_for) = match placement {
            Placement::Admitted | Placement::Queued => (step.id, None),
            Placement::Feeder(feeder) => (feeder, Some(step.id)),
        };
        let profile = self
            .resolve_profile(actor, &params, parent.as_ref(), &workflow, step)
            .await?;
        if params.autopilot {
            self.check_autopilot(profile).await?;
        }
        let executor_profile_id = self
            .resolve_executor_profile(actor, &params, parent.as_ref())
            .await?;
        let id = TaskId::new();
        let about = self
            .repositories_of_new(&params, parent.as_ref(), workspace)
            .await?;
        let working_directory =
            working_directory(&self.settings, &params, &about, parent.as_ref(), id)?;
        let task = Task {
            id,
            workspace_id: workspace,
            workflow_id: workflow.id,
            workflow_step_id: home,
            title,
            description: params.description.clone(),
            state: TaskState::Created,
            priority: params.priority,
            position: store::tasks::next_position(&mut self.tx, home).await?,
            wip_admitted: placement != Placement::Queued,
            queued_for_step_id: queued_for,
            queued_at: (placement != Placement::Admitted).then_some(self.now),
            parent_id: params.parent_id,
            autopilot: params.autopilot,
            purpose,
            origin: if actor.session().is_some() {
                Origin::AgentCreated
            } else {
                Origin::Manual
            },
            external_id: external_id(&params)?.map(str::to_owned),
            title_mode: if params.auto_title {
                TitleMode::Pending
            } else {
                TitleMode::Settled
            },
            title_owner_session_id: None,
            agent_profile_id: Some(profile),
            executor_profile_id,
            working_directory: Some(working_directory),
            interrupted_at: None,
            archived_at: None,
            created_at: self.now,
            updated_at: self.now,
            version: 1,
        };
        store::tasks::insert(&mut self.tx, &task).await?;
        for repository in &about {
            let now = self.now;
            store::repositories::attach(&mut self.tx, task.id, repository.id, now).await?;
        }
        self.event(
            NewEvent::new(EventKind::TaskCreated)
                .workspace(task.workspace_id)
                .task(task.id),
        )
        .await?;
        for predecessor in predecessors {
            store::dependencies::insert(&mut self.tx, task.id, predecessor, self.now).await?;
            let predecessor = load_task(&mut self.tx, predecessor).await?;
            self.task_event(&predecessor).await?;
        }
        let waits = task.waits_for_place() || self.is_blocked(task.id).await?;
        let session_id = if starts && waits {
            self.defer_start(actor, &task, &params.description).await?;
            None
        } else if starts {
            let session = self.new_session(&task, profile).await?;
            let mut session = self.prepare(session, step, false).await?;
            let prompt = self.first_prompt(actor, &params.description).await?;
            self.admit(&task, &mut session, prompt).await?;
            Box::pin(self.run_beside(&task, step)).await?;
            Some(session.id)
        } else {
            None
        };
        let task = view(&mut self.tx, task.id).await?;
        Ok(TaskCreated {
            task,
            session_id,
            deduplicated: false,
            creation_complete: true,
        })
    }

    /// The first prompt of a new task. One that an agent made says whose words it is, like every message across tasks.
    pub(crate) async fn first_prompt(&mut self, actor: &Actor, prompt: &str) -> Result<NewPrompt> {
        let mut new = NewPrompt::plain(prompt, QueuedBy::User);
        if let Actor::Agent { task, session } = actor {
            let sender = load_task(&mut self.tx, *task).await?;
            let sender_session = load_session(&mut self.tx, *session).await?;
            new.queued_by = QueuedBy::Agent;
            new.sender = Some((*task, *session));
            new.metadata = sender_metadata(&sender, &sender_session);
        }
        Ok(new)
    }

    async fn check_parent(&mut self, id: TaskId) -> Result<Task> {
        let parent = store::tasks::find(&mut self.tx, id)
            .await?
            .ok_or_else(|| Refusal::not_found("parent task"))?;
        if parent.archived_at.is_some() {
            return Err(Refusal::conflict(
                "the parent task is archived: unarchive it first, or choose another",
            )
            .into());
        }
        let limit = depth_limit(&self.settings);
        let depth = store::tasks::ancestors(&mut self.tx, id, limit)
            .await?
            .len();
        check_depth(depth, self.settings.max_depth)?;
        Ok(parent)
    }

    async fn check_new_parent(&mut self, task: &Task, parent: Option<TaskId>) -> Result<()> {
        let Some(parent) = parent else { return Ok(()) };
        let new_parent = store::tasks::find(&mut self.tx, parent)
            .await?
            .ok_or_else(|| Refusal::not_found("parent task"))?;
        if new_parent.workspace_id != task.workspace_id {
            return Err(Refusal::validation("the parent must be in the same workspace").into());
        }
        if new_parent.archived_at.is_some() {
            return Err(Refusal::conflict(
                "the parent task is archived: unarchive it first, or choose another",
            )
            .into());
        }
        check_purpose(task.purpose, task.autopilot, Some(new_parent.purpose))?;
        let limit = depth_limit(&self.settings);
        let chain = store::tasks::ancestors(&mut self.tx, parent, limit).await?;
        if parent == task.id || chain.iter().any(|ancestor| ancestor.id == task.id) {
            return Err(Refusal::validation(
                "a task cannot be a part of itself or of one of its parts",
            )
            .into());
        }
        let below = store::tasks::height(&mut self.tx, task.id, limit).await?;
        check_depth(
            chain.len() + usize::try_from(below).unwrap_or(usize::MAX / 2),
            self.settings.max_depth,
        )?;
        Ok(())
    }

    async fn resolve_workspace(
        &mut self,
        actor: &Actor,
        params: &CreateTask,
        parent: Option<&Task>,
    ) -> Result<WorkspaceId> {
        if let Some(parent) = parent {
            return match params.workspace_id {
                Some(given) if given != parent.workspace_id => Err(Refusal::validation(
                    "workspace_id must be the parent's: leave it out for a subtask",
                )
                .into()),
                Some(_) | None => Ok(parent.workspace_id),
            };
        }
        if let Some(given) = params.workspace_id {
            return Ok(known_workspace(&mut self.tx, actor, given).await?.id);
        }
        if let Some(workflow) = params.workflow_id {
            let workflow = known_workflow(&mut self.tx, actor, workflow).await?;
            return Ok(workflow.workspace_id);
        }
        let mut known = store::workspaces::list(&mut self.tx).await?;
        if let Some(reached) = scope(&mut self.tx, actor).await? {
            known.retain(|workspace| reached.contains(&workspace.id));
        }
        // The oldest is the default: it is the one whose board is shown first.
        let first = known.first().map(|workspace| workspace.id);
        Ok(first.ok_or_else(|| Refusal::not_found("workspace"))?)
    }

    async fn resolve_workflow(
        &mut self,
        params: &CreateTask,
        parent: Option<&Task>,
        workspace: WorkspaceId,
    ) -> Result<(Workflow, Vec<Step>)> {
        let workflow = match (params.workflow_id, parent) {
            (Some(given), _) => {
                let found = store::workflows::find(&mut self.tx, given).await?;
                let found = found.ok_or_else(|| Refusal::not_found("workflow"))?;
                if found.workspace_id != workspace {
                    return Err(Refusal::validation(
                        "workflow_id must belong to the task's workspace",
                    )
                    .into());
                }
                found
            }
            (None, Some(parent)) => store::workflows::find(&mut self.tx, parent.workflow_id)
                .await?
                .ok_or_else(|| Refusal::not_found("workflow"))?,
            (None, None) => store::workflows::list(&mut self.tx, workspace)
                .await?
                .into_iter()
                .find(|w| !w.hidden)
                .ok_or_else(|| {
                    Refusal::validation("the workspace has no workflow: create one first")
                })?,
        };
        let steps = store::workflows::steps(&mut self.tx, workflow.id).await?;
        Ok((workflow, steps))
    }

    /// Precedence of task-domain 1.13: the step's pin, the workflow's default, the one asked for, the creating session's, the
    /// parent's, and at last the oldest agent's first one.
    async fn resolve_profile(
        &mut self,
        actor: &Actor,
        params: &CreateTask,
        parent: Option<&Task>,
        workflow: &Workflow,
        step: &Step,
    ) -> Result<ProfileId> {
        if let Some(given) = params.agent_profile_id
            && store::agents::find_profile(&mut self.tx, given)
                .await?
                .is_none()
        {
            return Err(Refusal::not_found("agent profile").into());
        }
        let creator = match actor.session() {
            Some(session) => store::sessions::find(&mut self.tx, session)
                .await?
                .map(|s| s.agent_profile_id),
            None => None,
        };
        let chosen = step
            .agent_profile_id
            .or(workflow.agent_profile_id)
            .or(params.agent_profile_id)
            .or(creator)
            .or(parent.and_then(|p| p.agent_profile_id));
        if let Some(profile) = chosen {
            return Ok(profile);
        }
        let profiles = store::agents::profiles(&mut self.tx).await?;
        let first = profiles
            .iter()
            .find(|p| !p.passthrough)
            .or(profiles.first());
        Ok(first
            .ok_or_else(|| {
                Refusal::validation("there is no agent yet: add one by its command line first")
            })?
            .id)
    }

    /// The executor's profile that was asked for, or else that of the creating session, or the parent's. Without any a task is run as
    /// usual.
    async fn resolve_executor_profile(
        &mut self,
        actor: &Actor,
        params: &CreateTask,
        parent: Option<&Task>,
    ) -> Result<Option<ExecutorProfileId>> {
        if let Some(given) = params.executor_profile_id {
            return Ok(Some(crate::executors::find(&mut self.tx, given).await?.id));
        }
        let creator = match actor.session() {
            Some(session) => store::sessions::find(&mut self.tx, session).await?,
            None => None,
        };
        Ok(creator
            .and_then(|session| session.executor_profile_id)
            .or(parent.and_then(|parent| parent.executor_profile_id)))
    }

    pub(crate) async fn check_autopilot(&mut self, profile: ProfileId) -> Result<()> {
        let profile = store::agents::find_profile(&mut self.tx, profile)
            .await?
            .ok_or_else(|| Refusal::not_found("agent profile"))?;
        let agent = store::agents::find(&mut self.tx, profile.agent_id)
            .await?
            .ok_or_else(|| Refusal::not_found("agent"))?;
        check_autopilot(&agent, &profile)?;
        Ok(())
    }

    /// Ends the turns that sessions kept which failed with a prompt under way: nobody will resume them.
    async fn close_undecided_turns(&mut self, task: &Task) -> Result<()> {
        for session in store::sessions::list(&mut self.tx, task.id).await? {
            if let Some(mut turn) = store::turns::open(&mut self.tx, session.id).await? {
                self.turn(&mut turn, TurnCommand::Cancel, None).await?;
            }
        }
        Ok(())
    }

    /// Stops every session of a task that is not over yet; answers whether there was one.
    pub(crate) async fn stop_task_sessions(&mut self, task: &Task) -> Result<bool> {
        let mut stopped = false;
        for mut session in store::sessions::list(&mut self.tx, task.id).await? {
            stopped |= self.session(&mut session, SessionCommand::Stop).await?;
        }
        Ok(stopped)
    }
}

/// The projection of a task that must be there.
pub(crate) async fn view(db: &mut store::Snapshot, id: TaskId) -> Result<TaskView> {
    Ok(store::views::task(db, id)
        .await?
        .ok_or_else(|| Refusal::not_found("task"))?)
}

/// The tasks that a task waits for.
pub(crate) fn predecessors_of(id: TaskId) -> TaskFilter<'static> {
    TaskFilter {
        predecessors_of: Some(id),
        include_archived: true,
        limit: MAX_LIST,
        ..TaskFilter::default()
    }
}

/// Tasks of a filter, each in one line.
pub(crate) async fn related_by_edge(
    db: &mut store::Snapshot,
    filter: TaskFilter<'_>,
    verbose: bool,
) -> Result<Vec<RelatedTask>> {
    let tasks = store::views::tasks(db, &filter).await?;
    Ok(tasks
        .into_iter()
        .map(|task| related(task, verbose))
        .collect())
}

/// A task in one line.
pub(crate) fn related(task: TaskView, verbose: bool) -> RelatedTask {
    RelatedTask {
        id: task.id,
        title: task.title,
        state: task.state,
        workspace_id: task.workspace_id,
        parent_id: task.parent_id,
        workflow_step_id: task.workflow_step_id,
        autopilot: task.autopilot,
        pending_action: task.task_pending_action,
        description: verbose.then_some(task.description),
    }
}

/// A limit within bounds, or the default.
pub(crate) fn check_limit(given: Option<i64>, default: i64, max: i64) -> Result<i64> {
    match given {
        None => Ok(default),
        Some(limit) if limit < 1 => Err(Refusal::validation("limit must be at least 1").into()),
        Some(limit) => Ok(limit.min(max)),
    }
}

fn title_of(params: &CreateTask, prompt: &str) -> Result<String> {
    if params.auto_title && params.title.trim().is_empty() {
        let line = prompt.lines().next().unwrap_or_default().trim();
        let clean: String = line.chars().filter(|c| !c.is_control()).collect();
        return Ok(if clean.is_empty() {
            UNTITLED.to_owned()
        } else {
            cut_title(&clean)
        });
    }
    Ok(check_title(&params.title)?)
}

fn external_id(params: &CreateTask) -> Result<Option<&str>> {
    let key = params
        .external_id
        .as_deref()
        .map(str::trim)
        .filter(|key| !key.is_empty());
    if let Some(key) = key {
        check_length("external_id", key, MAX_EXTERNAL_ID)?;
    }
    Ok(key)
}

fn resolve_step<'a>(
    params: &CreateTask,
    parent: Option<&Task>,
    steps: &'a [Step],
    starts: bool,
) -> Result<&'a Step> {
    if let Some(given) = params.workflow_step_id {
        if parent.is_some() && params.workflow_id.is_none() {
            return Err(Refusal::validation(
                "a step for a subtask needs the workflow named too: give workflow_id with workflow_step_id",
            )
            .into());
        }
        return Ok(steps.iter().find(|step| step.id == given).ok_or_else(|| {
            Refusal::validation("workflow_step_id must be a step of the task's workflow: list_workflow_steps_kandev")
        })?);
    }
    let default = if starts {
        start_step(steps)
    } else {
        first_step(steps)
    };
    Ok(default.ok_or_else(|| Refusal::validation("the workflow has no steps: add one first"))?)
}

/// The folder that agents work in, by one rule: the one that was named, that of the repository that was named, the parent's, and at
/// last one of the task's own.
fn working_directory(
    settings: &Settings,
    params: &CreateTask,
    about: &[Repository],
    parent: Option<&Task>,
    id: TaskId,
) -> Result<String> {
    if let Some(dir) = named_folder(params)? {
        return Ok(dir);
    }
    let inherited = parent.and_then(|p| p.working_directory.clone());
    let of_repository = if names_repository(params) {
        about.first().and_then(|first| first.local_path.clone())
    } else {
        None
    };
    Ok(of_repository.or(inherited).unwrap_or_else(|| {
        settings
            .workspaces_dir
            .join(id.to_string())
            .to_string_lossy()
            .into_owned()
    }))
}

/// The folder that is named for agents to work in: `working_directory`, or `local_path`, which names a repository too.
pub(crate) fn named_folder(params: &CreateTask) -> Result<Option<String>> {
    let said = |text: Option<&str>| {
        text.map(str::trim)
            .filter(|dir| !dir.is_empty())
            .map(str::to_owned)
    };
    let (field, dir) = match (
        said(params.working_directory.as_deref()),
        said(params.local_path.as_deref()),
    ) {
        (Some(_), Some(_)) => {
            return Err(Refusal::validation(
                "give working_directory or local_path, not both: each is the folder to work in",
            )
            .into());
        }
        (Some(dir), None) => ("working_directory", dir),
        (None, Some(dir)) => ("local_path", dir),
        (None, None) => return Ok(None),
    };
    if !Path::new(&dir).is_absolute() {
        return Err(Refusal::validation(format!("{field} must be an absolute path")).into());
    }
    Ok(Some(dir))
}

const fn names_repository(params: &CreateTask) -> bool {
    params.repository_id.is_some() || params.repository_url.is_some()
}
