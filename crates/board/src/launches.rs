//! Deferred launches: starts that were asked for and wait for predecessors, or for a place in a step (task-domain 1.6).
//!
//! The row goes when an agent has taken the prompt, or when somebody starts the task by hand; a start that fails keeps it. A
//! start under way is marked, so that two paths to it (the last predecessor, the promotion) make one.

use crate::entry::{Entry, EntryMoment};
use crate::prompts::{DEFERRED_LAUNCH, NewPrompt};
use crate::transition::{Work, load_task};
use crate::{Actor, Result};
use domain::dependency::{LaunchIntent, blocked_reason};
use domain::effect::EffectKind;
use domain::error::Refusal;
use domain::ids::TaskId;
use domain::queue::{QueuedPrompt, QueuedState};
use domain::session::{SessionCommand, SessionState};
use domain::task::{Task, TaskState};
use store::launches::DeferredLaunch;

impl Work {
    /// Stores the start of a new task for later.
    pub(crate) async fn defer_start(
        &mut self,
        actor: &Actor,
        task: &Task,
        prompt: &str,
    ) -> Result<()> {
        let prompt = self.first_prompt(actor, prompt).await?;
        let launch = DeferredLaunch {
            task_id: task.id,
            intent: LaunchIntent::Start,
            prompt: prompt.content,
            queued_by: prompt.queued_by,
            sender_task_id: prompt.sender.map(|(task, _)| task),
            sender_session_id: prompt.sender.map(|(_, session)| session),
            metadata: prompt.metadata,
            launched: false,
            created_at: self.now,
        };
        store::launches::insert(&mut self.tx, &launch).await?;
        Ok(())
    }

    /// Whether a task waits for another.
    pub(crate) async fn is_blocked(&mut self, task: TaskId) -> Result<bool> {
        let predecessors = store::dependencies::predecessors(&mut self.tx, task).await?;
        Ok(blocked_reason(&predecessors).is_some())
    }

    /// Makes the start that waits for a task, when nothing holds it any more; answers whether it was made.
    ///
    /// It runs within transactions that are about something else, so whatever makes the start impossible leaves it waiting.
    pub(crate) async fn start_if_ready(&mut self, id: TaskId) -> Result<bool> {
        let Some(launch) = store::launches::find(&mut self.tx, id).await? else {
            return Ok(false);
        };
        let mut task = load_task(&mut self.tx, id).await?;
        if launch.launched
            || task.archived_at.is_some()
            || matches!(task.state, TaskState::Completed | TaskState::Cancelled)
            || task.waits_for_place()
            || self.is_blocked(id).await?
        {
            return Ok(false);
        }
        if launch.intent == LaunchIntent::EnterStep {
            store::launches::delete(&mut self.tx, id).await?;
            let Some(step) = self.step_of(&task).await? else {
                return Ok(false);
            };
            let marker = store::moves::take_marker(&mut self.tx, id).await?;
            let entry = Entry {
                options: marker.filter(|m| m.step_id == step.id).map(|m| m.options),
                ..Entry::at(EntryMoment::Promotion)
            };
            self.enter(&mut task, &step, entry).await?;
            return Ok(true);
        }
        let sessions = store::sessions::list(&mut self.tx, id).await?;
        if task.agent_profile_id.is_none() && sessions.is_empty() {
            let notice = "This task cannot start: its agent profile no longer exists. Start it by hand with another one.";
            store::tasks::set_notice(&mut self.tx, id, Some(notice)).await?;
            return Ok(false);
        }
        let step = self.step_of(&task).await?;
        let mut session = match &step {
            Some(step) => {
                let session = self.session_for_step(&task, step).await?;
                self.prepare(session, step, false).await?
            }
            None => self.ensure_session(&task).await?,
        };
        if session.state == SessionState::Cancelled {
            return Ok(false);
        }
        if session.state == SessionState::Failed {
            self.session(&mut session, SessionCommand::Resume).await?;
        }
        // A start that failed left its prompt behind. It goes with the words as they are now, unless it may have arrived.
        let waits = store::queue::list(&mut self.tx, session.id).await?;
        let left = waits
            .iter()
            .find(|row| row.dedupe_key.as_deref() == Some(DEFERRED_LAUNCH));
        match left {
            Some(row) if row.state == QueuedState::Attempted || row.content == launch.prompt => {
                self.effect(EffectKind::Dispatch, &session, None).await?;
            }
            Some(row) => {
                store::queue::delete(&mut self.tx, row.id).await?;
                self.admit(&task, &mut session, NewPrompt::from(&launch))
                    .await?;
            }
            None => {
                self.admit(&task, &mut session, NewPrompt::from(&launch))
                    .await?;
                if let Some(step) = &step {
                    Box::pin(self.run_beside(&task, step)).await?;
                }
            }
        }
        store::launches::set_launched(&mut self.tx, id, true).await?;
        Ok(true)
    }

    /// Somebody starts the task by hand: the start that waited is no longer wanted. What its step has others do beside it was to
    /// begin with that start, and begins with this one. An entry into a step that waits goes on waiting: what was said with the move
    /// was accepted. Answers whether sessions may have changed.
    pub(crate) async fn launch_by_hand(&mut self, task: &Task) -> Result<bool> {
        let waited = store::launches::find(&mut self.tx, task.id).await?;
        let Some(waited) = waited.filter(|launch| launch.intent == LaunchIntent::Start) else {
            return Ok(false);
        };
        store::launches::delete(&mut self.tx, task.id).await?;
        if !waited.launched
            && !task.waits_for_place()
            && let Some(step) = self.step_of(task).await?
        {
            Box::pin(self.run_beside(task, &step)).await?;
            return Ok(true);
        }
        Ok(false)
    }

    /// What a step asked for when the card could not enter it yet is not done any more.
    pub(crate) async fn forget_entry(&mut self, task: &Task) -> Result<()> {
        let waited = store::launches::find(&mut self.tx, task.id).await?;
        if waited.is_some_and(|launch| launch.intent == LaunchIntent::EnterStep) {
            store::launches::delete(&mut self.tx, task.id).await?;
        }
        store::moves::take_marker(&mut self.tx, task.id).await?;
        Ok(())
    }

    /// A prompt has reached its agent, or was taken back: when it was that of a deferred launch, nothing waits any more.
    pub(crate) async fn launch_is_over(&mut self, row: &QueuedPrompt) -> Result<()> {
        if row.dedupe_key.as_deref() == Some(DEFERRED_LAUNCH) {
            store::launches::delete(&mut self.tx, row.task_id).await?;
        }
        Ok(())
    }

    /// Changes the words of a start that still waits.
    pub(crate) async fn set_deferred_prompt(&mut self, task: TaskId, prompt: &str) -> Result<()> {
        crate::prompts::check_content(prompt)?;
        let refusal = match store::launches::find(&mut self.tx, task).await? {
            Some(launch) if launch.launched => {
                "the task is being started already: write to it with message_task_kandev"
            }
            Some(launch) if launch.intent == LaunchIntent::EnterStep => {
                "what waits is the entry into a step, which has its own prompt"
            }
            Some(_) => {
                store::launches::set_prompt(&mut self.tx, task, prompt).await?;
                return Ok(());
            }
            None => {
                "no start waits for this task: it was started already, or nothing asked for one"
            }
        };
        Err(Refusal::conflict(format!("deferred_launch_prompt: {refusal}")).into())
    }
}
