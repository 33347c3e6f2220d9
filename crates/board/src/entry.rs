//! Entering a step: what it does to the card's session, and the agent it starts.
//!
//! Runs once an entry, when the card has its place; a card that waits for one enters at its promotion.

use crate::Result;
use crate::prompts::{DEFERRED_LAUNCH, NewPrompt, target_session};
use crate::standing::active_bundles;
use crate::transition::{Work, find_step, load_session};
use domain::dependency::LaunchIntent;
use domain::effect::EffectKind;
use domain::ids::{MoveId, ProfileId};
use domain::moves::{EntryMarker, EntryOptions};
use domain::queue::{Lane, QueuedBy};
use domain::session::{FreshStart, Session, SessionCommand, SessionState};
use domain::task::Task;
use domain::workflow::{EnterAction, SessionOperation, SessionRule, Step, rule_for};
use store::launches::DeferredLaunch;

/// When a step is entered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EntryMoment {
    /// The card was moved there.
    Move,
    /// The card waited there and got its place. Prompts that came meanwhile are work enough.
    Promotion,
    /// A turn is about to begin: there is nothing to start.
    TurnStart,
}

/// How a step is entered.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) moment: EntryMoment,
    pub(crate) options: Option<EntryOptions>,
    /// The move took the place of an answer that the card's session waited for.
    pub(crate) superseded: bool,
    /// Nobody wanted it just now: the workflow moved the card. It takes up nothing that somebody has ended.
    pub(crate) by_workflow: bool,
}

impl Entry {
    pub(crate) const fn at(moment: EntryMoment) -> Self {
        Self {
            moment,
            options: None,
            superseded: false,
            by_workflow: false,
        }
    }

    /// A move that follows from a turn's end, or from the end of all parts.
    pub(crate) fn by_workflow() -> Self {
        Self {
            by_workflow: true,
            ..Self::at(EntryMoment::Move)
        }
    }
}

impl Work {
    /// What the step says about entering it. One that waits for another task starts what it starts when that is done.
    pub(crate) async fn enter(&mut self, task: &mut Task, step: &Step, entry: Entry) -> Result<()> {
        if step.events.on_enter.contains(&EnterAction::ClearDecisions)
            && store::documents::clear_decisions(&mut self.tx, task.id, step.id).await?
        {
            self.task_event(task).await?;
        }
        // A turn that begins already leaves nothing to start, and what is over is taken up by somebody's wish alone.
        let over = task.state.is_terminal();
        let starts = entry.moment != EntryMoment::TurnStart
            && step.starts_something()
            && !(over && (entry.by_workflow || !step.auto_starts()));
        if !starts {
            return self.prepare_main(task, step).await;
        }
        let launch = store::launches::find(&mut self.tx, task.id).await?;
        if self.is_blocked(task.id).await? {
            return self.enter_later(task, step, entry.options, launch).await;
        }
        if step.auto_starts() {
            // On the heap, like the rest of what is large and not part of every move.
            Box::pin(self.start_agent(task, step, entry, launch)).await?;
            if task.waits_for_place() {
                // It enters when it has one.
                return Ok(());
            }
        } else {
            self.prepare_main(task, step).await?;
        }
        self.run_beside(task, step).await
    }

    /// What the step does to the session that prompts to the task go to, where it starts nothing in it.
    async fn prepare_main(&mut self, task: &Task, step: &Step) -> Result<()> {
        let sessions = store::sessions::list(&mut self.tx, task.id).await?;
        if let Some(session) = target_session(&sessions) {
            self.prepare(session.clone(), step, false).await?;
        }
        Ok(())
    }

    /// Starts the task's agent. A card without words for an agent, or whose agent is at work already, starts nothing.
    async fn start_agent(
        &mut self,
        task: &mut Task,
        step: &Step,
        entry: Entry,
        launch: Option<DeferredLaunch>,
    ) -> Result<()> {
        let options = entry.options.unwrap_or_default();
        let sessions = store::sessions::list(&mut self.tx, task.id).await?;
        let has_started = sessions.iter().any(|s| s.generation > 0);
        let Some(mut prompt) = self
            .entry_prompt(task, step, &options, has_started, launch.as_ref())
            .await?
        else {
            // Told to leave out what would start it: then nothing else starts it either.
            store::launches::delete(&mut self.tx, task.id).await?;
            if let Some(session) = target_session(&sessions) {
                self.prepare(session.clone(), step, options.reset_context)
                    .await?;
            }
            return Ok(());
        };
        let is_busy = sessions.iter().any(|s| s.state.is_busy());
        let nobody = task.agent_profile_id.is_none() && sessions.is_empty();
        if nobody {
            return Ok(());
        }
        if is_busy && !entry.superseded && options.instructions.is_none() {
            // Nothing is started beside the one that works. What was asked for the card's own session holds for its next turn.
            if let Some(session) = target_session(&sessions).filter(|s| !s.state.is_busy())
                && options.reset_context
            {
                self.prepare(session.clone(), step, true).await?;
            }
            return Ok(());
        }
        let place = self.take_up_again(task).await?;
        self.wait_without(place, task).await?;
        if task.waits_for_place() {
            let from = task.workflow_step_id;
            return self
                .leave_for_entry(task, from, MoveId::new(), Some(options))
                .await;
        }
        let session = self.session_for_step(task, step).await?;
        let ended = matches!(
            session.state,
            SessionState::Failed | SessionState::Cancelled
        );
        if ended && options.is_empty() {
            let notice = format!(
                "The agent was not started in \"{}\": its session is {}. Resume the session to go on.",
                step.name, session.state
            );
            store::tasks::set_notice(&mut self.tx, task.id, Some(&notice)).await?;
            return self.task_event(task).await;
        }
        let mut session = self.prepare(session, step, options.reset_context).await?;
        let waits = store::queue::list(&mut self.tx, session.id).await?;
        let is_asked_already = waits
            .iter()
            .any(|row| row.dedupe_key.is_some() && row.dedupe_key == prompt.dedupe_key);
        let has_work = entry.moment == EntryMoment::Promotion
            && !waits.is_empty()
            && options.instructions.is_none();
        if is_asked_already || has_work {
            return Ok(());
        }
        if entry.superseded {
            prompt.lane = Lane::Express;
        }
        match launch {
            Some(_) if prompt.dedupe_key.as_deref() == Some(DEFERRED_LAUNCH) => {
                store::launches::set_launched(&mut self.tx, task.id, true).await?;
            }
            Some(_) => {
                store::launches::delete(&mut self.tx, task.id).await?;
            }
            None => {}
        }
        self.admit(task, &mut session, prompt).await?;
        if ended {
            // What the move said waits in the queue of the session, which only its operator starts again.
            let notice = format!(
                "The agent was not started in \"{}\": its session is {}. What the move says waits there; resume the session to go on.",
                step.name, session.state
            );
            store::tasks::set_notice(&mut self.tx, task.id, Some(&notice)).await?;
            self.task_event(task).await?;
        }
        Ok(())
    }

    /// The card is in the step but waits for another task: it enters when that is completed.
    async fn enter_later(
        &mut self,
        task: &Task,
        step: &Step,
        options: Option<EntryOptions>,
        launch: Option<DeferredLaunch>,
    ) -> Result<()> {
        if launch.is_none() {
            let launch = DeferredLaunch {
                task_id: task.id,
                intent: LaunchIntent::EnterStep,
                prompt: String::new(),
                queued_by: QueuedBy::Workflow,
                sender_task_id: None,
                sender_session_id: None,
                metadata: serde_json::Map::new(),
                launched: false,
                created_at: self.now,
            };
            store::launches::insert(&mut self.tx, &launch).await?;
        }
        if let Some(options) = options {
            let marker = EntryMarker {
                task_id: task.id,
                move_id: MoveId::new(),
                from_step_id: step.id,
                step_id: step.id,
                options,
                created_at: self.now,
            };
            store::moves::put_marker(&mut self.tx, &marker).await?;
        }
        self.task_event(task).await
    }

    /// The session that works in a step: of the step's own profile, when it pins one, and the primary from then on; else the one
    /// that prompts to the task go to. One that was retired comes back.
    pub(crate) async fn session_for_step(&mut self, task: &Task, step: &Step) -> Result<Session> {
        let mut session = match step.agent_profile_id {
            None => return self.ensure_session(task).await,
            Some(pinned) => {
                let sessions = store::sessions::list(&mut self.tx, task.id).await?;
                match target_session(&sessions).filter(|s| s.agent_profile_id == pinned) {
                    Some(session) => return Ok(session.clone()),
                    None => match of_profile(&sessions, pinned) {
                        Some(session) => session.clone(),
                        None => self.new_session(task, pinned).await?,
                    },
                }
            }
        };
        if session.state == SessionState::Completed {
            self.session(&mut session, SessionCommand::Resume).await?;
        }
        if !session.is_primary
            && let Some(before) = self.make_primary(&mut session).await?
        {
            self.hand_over(&before, &session).await?;
            Box::pin(self.retire(before)).await?;
        }
        Ok(session)
    }

    /// Ends the session that was the task's own until its step chose another (1.7). One that has something left to say or to hear
    /// goes on beside it; a prompt or a step that chooses it again brings it back.
    async fn retire(&mut self, mut session: Session) -> Result<()> {
        let has_something = session.state != SessionState::WaitingForInput
            || !store::queue::list(&mut self.tx, session.id)
                .await?
                .is_empty()
            || !active_bundles(&mut self.tx, &session).await?.is_empty()
            || store::questions::pending_of_child(&mut self.tx, session.task_id)
                .await?
                .iter()
                .any(|question| question.child_session_id == session.id);
        if !has_something {
            self.session(&mut session, SessionCommand::Complete).await?;
        }
        Ok(())
    }

    /// What waits for the session that was the primary, and was not addressed to it alone, follows the card to the one that is.
    pub(crate) async fn hand_over(&mut self, from: &Session, to: &Session) -> Result<()> {
        if store::queue::hand_over(&mut self.tx, from.id, to.id).await? > 0 {
            self.queue_event(from.task_id, from.id).await?;
            self.queue_event(to.task_id, to.id).await?;
            self.effect(EffectKind::Dispatch, to, None).await?;
        }
        Ok(())
    }

    /// Applies to a session what entering a step does beside starting it.
    pub(crate) async fn prepare(
        &mut self,
        mut session: Session,
        step: &Step,
        reset: bool,
    ) -> Result<Session> {
        let mut resets = reset;
        let before = session.clone();
        for action in &step.events.on_enter {
            match action {
                EnterAction::AutoStartAgent
                | EnterAction::ClearDecisions
                | EnterAction::QueueRun(_)
                | EnterAction::QueueRunForEachParticipant(_)
                | EnterAction::RunCodeReview(_) => {}
                EnterAction::ResetAgentContext => resets = true,
                EnterAction::SetSessionMode { mode } => session.session_mode = Some(mode.clone()),
                EnterAction::EnablePlanMode => session.plan_mode = true,
                EnterAction::ConfigureSession { rules } => {
                    let agent = self.agent_name(&session).await?;
                    if let Some(rule) = rule_for(rules, &agent) {
                        configure(&mut session, rule);
                    }
                }
            }
        }
        // A conversation that has not begun is fresh anyway.
        if resets && session.provider_session_id.is_some() {
            session.fresh_start = FreshStart::Wanted;
        }
        if session != before {
            self.save_session(&mut session).await?;
            session = load_session(&mut self.tx, session.id).await?;
        }
        Ok(session)
    }

    async fn agent_name(&mut self, session: &Session) -> Result<String> {
        let profile = store::agents::find_profile(&mut self.tx, session.agent_profile_id).await?;
        let agent = match profile {
            Some(profile) => store::agents::find(&mut self.tx, profile.agent_id).await?,
            None => None,
        };
        Ok(agent.map(|agent| agent.name).unwrap_or_default())
    }

    /// What the agent is told: the hand-off, then the step's own prompt, or the task's on its first start, or a word that the
    /// card came here.
    async fn entry_prompt(
        &mut self,
        task: &Task,
        step: &Step,
        options: &EntryOptions,
        has_started: bool,
        launch: Option<&DeferredLaunch>,
    ) -> Result<Option<NewPrompt>> {
        let description = task.description.trim();
        let start = launch.filter(|l| l.intent == LaunchIntent::Start && !l.launched);
        let mut own = None;
        if !options.skip_step_prompt {
            own = if !step.prompt.trim().is_empty() {
                let text = self.workflow_words(task, step, &step.prompt).await?;
                Some(NewPrompt::plain(text, QueuedBy::Workflow))
            } else if let Some(launch) = start {
                Some(NewPrompt::from(launch))
            } else if has_started {
                let text = format!("Go on with this task: it was moved to \"{}\".", step.name);
                Some(NewPrompt::plain(text, QueuedBy::Workflow))
            } else if description.is_empty() {
                None
            } else {
                Some(NewPrompt::plain(
                    task.description.clone(),
                    QueuedBy::Workflow,
                ))
            };
        }
        Ok(match (&options.instructions, own) {
            (Some(handoff), Some(mut prompt)) => {
                prompt.content = joined(handoff, &prompt.content);
                Some(prompt)
            }
            (Some(handoff), None) => Some(NewPrompt::plain(handoff.clone(), QueuedBy::Workflow)),
            (None, Some(mut prompt)) => {
                // Going to and fro before the agent has read it says it once.
                let key = format!("enter:{}", step.id);
                prompt.dedupe_key = prompt.dedupe_key.or(Some(key));
                Some(prompt)
            }
            (None, None) => None,
        })
    }

    /// Words of a step as an agent is told them: the workflow's before them, the task's in their place.
    pub(crate) async fn workflow_words(
        &mut self,
        task: &Task,
        step: &Step,
        words: &str,
    ) -> Result<String> {
        let workflow = store::workflows::find(&mut self.tx, step.workflow_id).await?;
        let before = workflow.map(|w| w.prompt).unwrap_or_default();
        let text = words.replace("{{task_prompt}}", task.description.trim());
        Ok(joined(&before, &text))
    }

    /// The step a card is in.
    pub(crate) async fn step_of(&mut self, task: &Task) -> Result<Option<Step>> {
        let steps = store::workflows::steps(&mut self.tx, task.workflow_id).await?;
        Ok(find_step(&steps, task.workflow_step_id).cloned())
    }
}

/// The session of a profile that goes on with a task: a live one, or else one that was retired; the newest of each.
fn of_profile(sessions: &[Session], profile: ProfileId) -> Option<&Session> {
    let with = |keeps: fn(&Session) -> bool| {
        let mut of_profile = sessions.iter().filter(|s| s.agent_profile_id == profile);
        of_profile.find(|session| session.made_for.is_none() && keeps(session))
    };
    with(|session| !session.state.is_terminal())
        .or_else(|| with(|session| session.state == SessionState::Completed))
}

fn configure(session: &mut Session, rule: &SessionRule) {
    match rule.operation {
        SessionOperation::Keep => {}
        SessionOperation::RestoreOriginal => {
            session.session_mode = None;
            session.session_model = None;
        }
        SessionOperation::Set => {
            if rule.mode.is_some() {
                session.session_mode.clone_from(&rule.mode);
            }
            if rule.model.is_some() {
                session.session_model.clone_from(&rule.model);
            }
        }
    }
}

fn joined(first: &str, then: &str) -> String {
    if first.trim().is_empty() {
        return then.to_owned();
    }
    format!("{}\n\n{then}", first.trim())
}
