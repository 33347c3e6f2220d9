//! Admitting a prompt to a session's queue, whoever sends it, and choosing the session it goes to.

use crate::errand::Errand;
use crate::transition::{Work, load_session, load_task, queue_and_gate};
use crate::{Actor, Board, Result};
use domain::effect::EffectKind;
use domain::error::Refusal;
use domain::ids::{ProfileId, PromptId, QuestionId, SessionId, TaskId};
use domain::message::MAX_MESSAGE_BYTES;
use domain::question::QuestionCommand;
use domain::queue::merge::merge;
use domain::queue::{self, Lane, QueuedBy, QueuedPrompt, QueuedState, room};
use domain::receipt::Key;
use domain::session::{FreshStart, Session, SessionCommand, SessionState};
use domain::task::Task;
use domain::view::{DeliveryStatus, MessageOutcome};
use serde_json::{Map, Value};
use store::launches::DeferredLaunch;

/// A prompt before it is admitted.
#[derive(Debug)]
pub(crate) struct NewPrompt {
    pub(crate) content: String,
    pub(crate) hidden_context: Option<String>,
    pub(crate) metadata: Map<String, Value>,
    pub(crate) queued_by: QueuedBy,
    pub(crate) sender: Option<(TaskId, SessionId)>,
    pub(crate) lane: Lane,
    /// It goes before all others, express ones too.
    pub(crate) first: bool,
    pub(crate) question_id: Option<QuestionId>,
    pub(crate) answer_for_question_id: Option<QuestionId>,
    pub(crate) dedupe_key: Option<String>,
    /// See [`QueuedPrompt::pinned`].
    pub(crate) pinned: bool,
}

impl NewPrompt {
    /// Words of a person or of Flightdeck, in the normal lane.
    pub(crate) fn plain(content: impl Into<String>, queued_by: QueuedBy) -> Self {
        Self {
            content: content.into(),
            hidden_context: None,
            metadata: Map::new(),
            queued_by,
            sender: None,
            lane: Lane::Normal,
            first: false,
            question_id: None,
            answer_for_question_id: None,
            dedupe_key: None,
            pinned: true,
        }
    }
}

/// The dedupe key of the prompt with which a deferred launch starts its task.
pub(crate) const DEFERRED_LAUNCH: &str = "deferred_launch";

impl From<&DeferredLaunch> for NewPrompt {
    /// The prompt of a start that waits.
    fn from(launch: &DeferredLaunch) -> Self {
        Self {
            metadata: launch.metadata.clone(),
            sender: launch.sender_task_id.zip(launch.sender_session_id),
            dedupe_key: Some(DEFERRED_LAUNCH.to_owned()),
            ..Self::plain(launch.prompt.clone(), launch.queued_by)
        }
    }
}

impl Board {
    /// An operator's prompt to a session. It counts as explicit input: a pending question to the parent is superseded in the
    /// same transaction, and the step-completion signal is dropped.
    ///
    /// A repeat under one `key` is told what the first was told and queues nothing, whatever became of the session meanwhile.
    pub async fn prompt_session(
        &self,
        actor: &Actor,
        session: SessionId,
        content: &str,
        key: Option<&str>,
    ) -> Result<MessageOutcome> {
        actor.require_operator()?;
        let key = Key::of_prompt(key, Some(session), content)?;
        let mut work = self.begin().await?;
        let mut session = load_session(&mut work.tx, session).await?;
        let task = load_task(&mut work.tx, session.task_id).await?;
        if let Some(outcome) = work.earlier_prompt(task.id, key.as_ref()).await? {
            return self.told_before(work, outcome).await;
        }
        let outcome = work
            .operator_prompt(&task, &mut session, content, true)
            .await?;
        work.keep_prompt_receipt(&outcome, key).await?;
        work.commit().await?;
        Ok(outcome)
    }

    /// An operator's prompt to a task: to its primary session, which is made when the task has none yet, or to the one that the
    /// step chooses in which the turn begins. See [`Board::prompt_session`].
    pub async fn prompt_task(
        &self,
        actor: &Actor,
        task: TaskId,
        content: &str,
        key: Option<&str>,
    ) -> Result<MessageOutcome> {
        actor.require_operator()?;
        let key = Key::of_prompt(key, None, content)?;
        let mut work = self.begin().await?;
        let task = load_task(&mut work.tx, task).await?;
        if let Some(outcome) = work.earlier_prompt(task.id, key.as_ref()).await? {
            return self.told_before(work, outcome).await;
        }
        let mut session = work.ensure_session(&task).await?;
        let outcome = work
            .operator_prompt(&task, &mut session, content, false)
            .await?;
        work.keep_prompt_receipt(&outcome, key).await?;
        work.commit().await?;
        Ok(outcome)
    }
}

/// The session of a task that an unaddressed prompt goes to: a live primary, or else the newest live one (task-domain 3.3). A
/// finished primary is taken when nothing else is left, since it can be resumed.
pub(crate) fn target_session(sessions: &[Session]) -> Option<&Session> {
    let primary = sessions.iter().find(|s| s.is_primary);
    primary
        .filter(|s| !s.state.is_terminal())
        .or_else(|| {
            sessions
                .iter()
                .filter(|s| !s.state.is_terminal())
                .max_by_key(|s| (s.started_at, s.created_at))
        })
        .or_else(|| primary.filter(|s| s.state == SessionState::Completed))
}

impl Work {
    /// Adds a session in CREATED; the first one of a task is its primary.
    pub(crate) async fn new_session(&mut self, task: &Task, profile: ProfileId) -> Result<Session> {
        self.insert_session(task, profile, None).await
    }

    /// See [`Self::new_session`]; `errand` is what the workflow makes it for.
    pub(crate) async fn insert_session(
        &mut self,
        task: &Task,
        profile: ProfileId,
        errand: Option<&Errand>,
    ) -> Result<Session> {
        let is_first = store::sessions::list(&mut self.tx, task.id)
            .await?
            .is_empty();
        let agent_profile = store::agents::find_profile(&mut self.tx, profile)
            .await?
            .ok_or_else(|| {
                Refusal::validation("the task's agent profile no longer exists: choose another one")
            })?;
        let session = Session {
            id: SessionId::new(),
            task_id: task.id,
            name: errand.map(|errand| errand.name.clone()),
            made_for: errand.map(|errand| errand.key.clone()),
            state: SessionState::Created,
            is_primary: is_first,
            is_passthrough: agent_profile.passthrough,
            agent_profile_id: profile,
            executor_profile_id: task.executor_profile_id,
            provider_session_id: None,
            workspace_path: None,
            error_message: None,
            generation: 0,
            auto_run: true,
            plan_mode: false,
            session_mode: None,
            session_model: None,
            fresh_start: FreshStart::None,
            holder: None,
            lease_until: None,
            started_at: None,
            completed_at: None,
            created_at: self.now,
            updated_at: self.now,
            version: 1,
        };
        store::sessions::insert(&mut self.tx, &session).await?;
        self.event(
            domain::event::NewEvent::new(domain::event::EventKind::SessionStateChanged)
                .workspace(task.workspace_id)
                .task(task.id)
                .session(session.id),
        )
        .await?;
        self.deliver_waiting_questions(task, &session).await?;
        Ok(session)
    }

    /// The session that a prompt to `task` goes to, made as its step wants it when the task has none.
    pub(crate) async fn ensure_session(&mut self, task: &Task) -> Result<Session> {
        let sessions = store::sessions::list(&mut self.tx, task.id).await?;
        if let Some(session) =
            target_session(&sessions).or_else(|| sessions.iter().find(|s| s.is_primary))
        {
            return Ok(session.clone());
        }
        let profile = task.agent_profile_id.ok_or_else(|| {
            Refusal::validation(
                "the task has no agent profile: choose an agent for it before it is started",
            )
        })?;
        let session = self.new_session(task, profile).await?;
        match self.step_of(task).await? {
            // It enters when it has its place.
            _ if task.waits_for_place() => Ok(session),
            Some(step) => Box::pin(self.prepare(session, &step, false)).await,
            None => Ok(session),
        }
    }

    /// See [`Board::prompt_session`].
    pub(crate) async fn operator_prompt(
        &mut self,
        task: &Task,
        session: &mut Session,
        content: &str,
        pinned: bool,
    ) -> Result<MessageOutcome> {
        check_content(content)?;
        check_open(task)?;
        check_not_over(session)?;
        let superseded = self
            .end_questions_of_session(session, QuestionCommand::Supersede)
            .await?;
        store::workflows::clear_signals(&mut self.tx, session.id).await?;
        let mut prompt = NewPrompt::plain(content, QueuedBy::User);
        prompt.pinned = pinned;
        if superseded {
            prompt.lane = Lane::Express;
        }
        self.admit(task, session, prompt).await
    }

    /// Puts a prompt into a session's queue and sees to its delivery. The capacity does not count questions and answers, nor
    /// does it hold up what supersedes a question, or what a step of the workflow sends, each of whose few actions waits once.
    pub(crate) async fn admit(
        &mut self,
        task: &Task,
        session: &mut Session,
        prompt: NewPrompt,
    ) -> Result<MessageOutcome> {
        let (rows, gate) = queue_and_gate(&mut self.tx, task, session).await?;
        let reserved = prompt.question_id.is_some() || prompt.answer_for_question_id.is_some();
        let deferred = prompt.dedupe_key.as_deref() == Some(DEFERRED_LAUNCH);
        // A word to another session than the task's own does not start the task.
        let by_hand = prompt.queued_by == QueuedBy::User && !deferred && session.is_primary;
        let row = QueuedPrompt {
            id: PromptId::new(),
            session_id: session.id,
            task_id: task.id,
            position: 0,
            lane: prompt.lane,
            content: prompt.content,
            hidden_context: prompt.hidden_context,
            metadata: prompt.metadata,
            queued_by: prompt.queued_by,
            sender_task_id: prompt.sender.map(|(task, _)| task),
            sender_session_id: prompt.sender.map(|(_, session)| session),
            question_id: prompt.question_id,
            answer_for_question_id: prompt.answer_for_question_id,
            dedupe_key: prompt.dedupe_key,
            pinned: prompt.pinned,
            state: QueuedState::Queued,
            turn_id: None,
            attempts: 0,
            queued_at: self.now,
        };
        let by_board = deferred || row.queued_by == QueuedBy::Workflow;
        let takes_a_place = row.lane == Lane::Normal || prompt.first;
        if !reserved && takes_a_place && !by_board {
            if !prompt.first
                && let Some(outcome) = self.join_predecessor(&rows, &row).await?
            {
                if by_hand {
                    self.launch_by_hand(task).await?;
                }
                return Ok(outcome);
            }
            room::check_capacity(self.settings.queue_capacity, &rows)?;
            if row.queued_by == QueuedBy::Agent
                && let Some(sender) = prompt.sender
            {
                let max = self.settings.queue_capacity;
                room::check_share(&self.settings.guards, max, &rows, task.id, sender)?;
            }
        }
        store::queue::insert(&mut self.tx, &row).await?;
        if prompt.first {
            store::queue::put_first(&mut self.tx, session.id, row.id).await?;
        }
        self.queue_event(task.id, session.id).await?;
        if by_hand && self.launch_by_hand(task).await? {
            *session = load_session(&mut self.tx, session.id).await?;
        }

        let never_started = never_started(session);
        let idle = !session.state.is_busy() && queue::is_at_rest(&rows, gate);
        if session.state == SessionState::Completed {
            self.session(session, SessionCommand::Resume).await?;
        }
        self.effect(EffectKind::Dispatch, session, None).await?;

        let mut after = rows;
        let place = if prompt.first { 0 } else { after.len() };
        after.insert(place, row.clone());
        let goes_now = idle && {
            let open = queue::Gate {
                closed: false,
                ..gate
            };
            queue::next(&sorted(after), open).is_ok_and(|head| head.id == row.id)
        };
        let goes_now = goes_now
            && (row.queued_by == QueuedBy::Workflow || !self.turn_would_wait(task).await?);
        let status = match (goes_now, never_started) {
            (true, true) => DeliveryStatus::Started,
            (true, false) => DeliveryStatus::Sent,
            (false, _) => DeliveryStatus::Queued,
        };
        Ok(MessageOutcome::of_prompt(
            task.id, session.id, status, row.id,
        ))
    }

    /// Joins a new prompt to the last one that waits, when the settings say so and the two are of one source.
    async fn join_predecessor(
        &mut self,
        rows: &[QueuedPrompt],
        row: &QueuedPrompt,
    ) -> Result<Option<MessageOutcome>> {
        let Some(above) = rows
            .last()
            .filter(|_| self.settings.queue_auto_merge.takes(row.queued_by))
        else {
            return Ok(None);
        };
        let Ok(words) = merge(above, row) else {
            return Ok(None);
        };
        store::queue::set_content(&mut self.tx, above.id, &words).await?;
        self.queue_event(row.task_id, row.session_id).await?;
        Ok(Some(MessageOutcome {
            merged: true,
            ..MessageOutcome::of_prompt(
                row.task_id,
                row.session_id,
                DeliveryStatus::Queued,
                above.id,
            )
        }))
    }
}

fn sorted(mut rows: Vec<QueuedPrompt>) -> Vec<QueuedPrompt> {
    // Stable: within a lane the rows are in order already, and the new one is last.
    rows.sort_by_key(|row| row.lane);
    rows
}

/// Whether no agent of this session has had a prompt yet: it is created, or was only made ready.
pub(crate) fn never_started(session: &Session) -> bool {
    match session.state {
        SessionState::Created => true,
        SessionState::WaitingForInput | SessionState::Idle => session.generation == 0,
        SessionState::Starting
        | SessionState::Running
        | SessionState::Completed
        | SessionState::Failed
        | SessionState::Cancelled => false,
    }
}

/// Refuses an operator's prompt to a session that must be resumed first. A COMPLETED one takes it and goes on.
pub(crate) fn check_not_over(session: &Session) -> Result<()> {
    if matches!(
        session.state,
        SessionState::Failed | SessionState::Cancelled
    ) {
        return Err(Refusal::conflict(format!(
            "the session is {}: resume it first, then send the message again",
            session.state
        ))
        .into());
    }
    Ok(())
}

/// Refuses an empty or over-long prompt.
pub(crate) fn check_content(content: &str) -> Result<()> {
    if content.trim().is_empty() {
        return Err(Refusal::validation("the message is empty").into());
    }
    check_size(content)
}

/// Refuses text beyond [`MAX_MESSAGE_BYTES`].
pub(crate) fn check_size(content: &str) -> Result<()> {
    if content.len() > MAX_MESSAGE_BYTES {
        return Err(Refusal::validation(format!(
            "the message has {} bytes and may have {MAX_MESSAGE_BYTES}: put long text into a file and name its path",
            content.len()
        ))
        .into());
    }
    Ok(())
}

/// Refuses work on an archived task.
pub(crate) fn check_open(task: &Task) -> Result<()> {
    if task.archived_at.is_some() {
        return Err(Refusal::conflict(
            "the task is archived: unarchive it, or make a new one with create_task_kandev",
        )
        .into());
    }
    Ok(())
}
