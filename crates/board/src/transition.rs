//! The only writer of statuses.
//!
//! A [`Work`] is one transaction: it loads, asks the rule, writes the row guarded by its version, appends the event and the
//! follow-ups the rule named, and wakes nobody before the commit. What follows from an end (a session that ends takes its
//! turn, questions, permissions and tokens with it) is here too, so that no way of ending can forget a part of it.

use crate::due::Due;
use crate::job_counts::JobNotes;
use crate::standing::active_bundles;
use crate::{Board, BoardError, Clock, Result, Settings, Signals, Topic};
use domain::clarification::{Clarification, ClarificationCommand, ClarificationStatus, Standing};
use domain::effect::EffectKind;
use domain::error::Refusal;
use domain::event::{EventKind, NewEvent};
use domain::ids::{SessionId, StepId, TaskId};
use domain::message::Message;
use domain::permission::{Permission, PermissionCommand};
use domain::question::{ParentQuestion, QuestionCommand, QuestionStatus};
use domain::queue::{Gate, QueuedPrompt, QueuedState};
use domain::session::{Session, SessionCommand};
use domain::task::{Task, TaskCommand};
use domain::time::Timestamp;
use domain::turn::{Turn, TurnCommand, TurnState};
use domain::workflow::Step;
use domain::{clarification, permission, question, session, task, turn};
use serde_json::{Map, Value, json};
use std::sync::Arc;
use store::{Snapshot, Tx, Write};

/// One transaction and what is to be woken after it.
#[derive(Debug)]
pub(crate) struct Work {
    pub(crate) tx: Tx,
    pub(crate) now: Timestamp,
    pub(crate) settings: Arc<Settings>,
    signals: Signals,
    clock: Clock,
    wake_effects: bool,
    wake_clarifications: bool,
    wake_turns: bool,
    wake_events: bool,
    wake_jobs: bool,
    wake_runs: bool,
    wake_requests: bool,
    wake_folders: bool,
    /// What happened to AI jobs.
    pub(crate) job_notes: JobNotes,
    /// What the workflow has to look at before the commit.
    pub(crate) due: Due,
}

impl Board {
    /// Opens a transaction that may write.
    pub(crate) async fn begin(&self) -> Result<Work> {
        Ok(self.work(self.store.write().await?))
    }

    /// Opens a transaction about AI jobs alone, which waits for nobody on Postgres: see [`store::Store::write_rows`].
    pub(crate) async fn begin_rows(&self) -> Result<Work> {
        Ok(self.work(self.store.write_rows().await?))
    }

    /// Opens a transaction as [`Self::begin_rows`], whose commit may be lost with the machine.
    pub(crate) async fn begin_rows_lightly(&self) -> Result<Work> {
        Ok(self.work(self.store.write_rows_lightly().await?))
    }

    fn work(&self, tx: Tx) -> Work {
        Work {
            tx,
            // Taken after the turn to write was won, so that times grow with the order of commits.
            now: self.clock.now(),
            settings: self.settings.clone(),
            signals: self.signals.clone(),
            clock: self.clock.clone(),
            wake_effects: false,
            wake_clarifications: false,
            wake_turns: false,
            wake_events: false,
            wake_jobs: false,
            wake_runs: false,
            wake_requests: false,
            wake_folders: false,
            job_notes: JobNotes::new(self.job_counts.clone()),
            due: Due::default(),
        }
    }

    /// Opens a view of the database at one moment.
    pub(crate) async fn snapshot(&self) -> Result<Snapshot> {
        Ok(self.store.read().await?)
    }
}

/// A task that must be there.
pub(crate) async fn load_task(db: &mut Snapshot, id: TaskId) -> Result<Task> {
    Ok(store::tasks::find(db, id)
        .await?
        .ok_or_else(|| Refusal::not_found("task"))?)
}

/// A session that must be there.
pub(crate) async fn load_session(db: &mut Snapshot, id: SessionId) -> Result<Session> {
    Ok(store::sessions::find(db, id)
        .await?
        .ok_or_else(|| Refusal::not_found("session"))?)
}

impl Work {
    /// Lets the workflow do what follows, makes everything durable, then wakes whoever waits for it.
    pub(crate) async fn commit(mut self) -> Result<()> {
        // On the heap: every operation ends here, and none is to be as large as all that may follow from it.
        Box::pin(self.settle()).await?;
        self.tx.commit().await?;
        for (wake, topic) in [
            (self.wake_effects, Topic::Effects),
            (self.wake_clarifications, Topic::Clarifications),
            (self.wake_turns, Topic::Turns),
            (self.wake_events, Topic::Events),
            (self.job_notes.committed() || self.wake_jobs, Topic::Jobs),
            (self.wake_runs, Topic::Runs),
            (self.wake_requests, Topic::Requests),
            (self.wake_folders, Topic::Folders),
        ] {
            if wake {
                self.signals.committed(topic);
            }
        }
        Ok(())
    }

    /// Wakes who waits for AI jobs although no timeline says anything new.
    pub(crate) const fn wake_jobs(&mut self) {
        self.wake_jobs = true;
    }

    /// Wakes who watches how clients wait for their runs. Whatever else happens to a run is in the event log.
    pub(crate) const fn wake_runs(&mut self) {
        self.wake_runs = true;
    }

    /// Wakes who looks at requests: the next look may be due earlier now.
    pub(crate) const fn wake_requests(&mut self) {
        self.wake_requests = true;
    }

    /// Wakes who cleans folders up.
    pub(crate) const fn wake_folders(&mut self) {
        self.wake_folders = true;
    }

    /// Appends a fact.
    pub(crate) async fn event(&mut self, event: NewEvent) -> Result<()> {
        self.wake_events = true;
        if let Some(session) = event.session_id
            && domain::run::may_end_by(event.kind)
        {
            self.due.runs.insert(session);
        }
        match event.kind {
            EventKind::ClarificationChanged => self.wake_clarifications = true,
            // What became of a prompt shows in its turn, or in that it no longer waits.
            EventKind::TurnStarted | EventKind::TurnCompleted | EventKind::QueueChanged => {
                self.wake_turns = true;
            }
            EventKind::WorkspaceUpdated
            | EventKind::WorkflowUpdated
            | EventKind::AgentUpdated
            | EventKind::TaskCreated
            | EventKind::TaskUpdated
            | EventKind::TaskDeleted
            | EventKind::TaskStateChanged
            | EventKind::SessionStateChanged
            | EventKind::SessionInfoUpdated
            | EventKind::MessageAdded
            | EventKind::MessageUpdated
            | EventKind::PermissionChanged
            | EventKind::ParentQuestionChanged
            | EventKind::PlanChanged
            | EventKind::WalkthroughChanged
            | EventKind::ReviewChanged => {}
        }
        store::events::append(&mut self.tx, &event, self.now).await?;
        Ok(())
    }

    /// Enqueues a follow-up for now.
    pub(crate) async fn effect(
        &mut self,
        kind: EffectKind,
        session: &Session,
        subject: Option<&str>,
    ) -> Result<()> {
        self.effect_after(kind, session, subject, 0).await
    }

    /// Enqueues a follow-up for `millis` from now.
    pub(crate) async fn effect_after(
        &mut self,
        kind: EffectKind,
        session: &Session,
        subject: Option<&str>,
        millis: i64,
    ) -> Result<()> {
        self.wake_effects = true;
        let due = self.clock.now().plus_millis(millis);
        store::effects::insert(
            &mut self.tx,
            kind,
            session.task_id,
            session.id,
            subject,
            due,
        )
        .await?;
        Ok(())
    }

    /// Writes a task, guarded by its version.
    pub(crate) async fn save_task(&mut self, task: &mut Task) -> Result<()> {
        task.updated_at = self.now;
        written(store::tasks::update(&mut self.tx, task).await?)?;
        task.version += 1;
        Ok(())
    }

    /// Writes a session, guarded by its version.
    pub(crate) async fn save_session(&mut self, session: &mut Session) -> Result<()> {
        session.updated_at = self.now;
        written(store::sessions::update(&mut self.tx, session).await?)?;
        session.version += 1;
        Ok(())
    }

    /// Applies a command to a task; answers whether anything changed.
    pub(crate) async fn task(&mut self, task: &mut Task, command: TaskCommand) -> Result<bool> {
        let transition = task::decide(task.state, command);
        if !transition.changed {
            return Ok(false);
        }
        let was_over = task.state.is_terminal();
        task.state = transition.next;
        self.save_task(task).await?;
        self.due.state_changed(task, was_over);
        if let Some(kind) = transition.event {
            self.event(
                NewEvent::new(kind)
                    .workspace(task.workspace_id)
                    .task(task.id),
            )
            .await?;
        }
        Ok(true)
    }

    /// Applies a command to a session; answers whether anything changed. A session that ends takes with it what hangs on it.
    pub(crate) async fn session(
        &mut self,
        session: &mut Session,
        command: SessionCommand,
    ) -> Result<bool> {
        let transition = session::decide(session.state, command)?;
        if !transition.changed {
            return Ok(false);
        }
        session.state = transition.next;
        if !session.state.is_busy() {
            self.due.at_rest(session.id);
        }
        session.completed_at = transition.next.is_terminal().then_some(self.now);
        if matches!(command, SessionCommand::Launch | SessionCommand::Resume) {
            session.started_at = session.started_at.or(Some(self.now));
        }
        // What went wrong is said until somebody has done something about it.
        if matches!(
            command,
            SessionCommand::Launch
                | SessionCommand::Resume
                | SessionCommand::PromptAccepted
                | SessionCommand::Stop
                | SessionCommand::Complete
        ) {
            session.error_message = None;
        }
        self.save_session(session).await?;
        if let Some(kind) = transition.event {
            self.event(
                NewEvent::new(kind)
                    .task(session.task_id)
                    .session(session.id),
            )
            .await?;
        }
        for effect in transition.effects {
            self.effect(effect, session, None).await?;
        }
        if session.state.is_terminal() {
            self.session_ended(session, command).await?;
        }
        Ok(true)
    }

    async fn session_ended(&mut self, session: &Session, command: SessionCommand) -> Result<()> {
        store::tokens::revoke_session(&mut self.tx, session.id, self.now).await?;
        // A wish to deliver from before the end would stand for one made after a resume, and come before the end of the process:
        // the prompt would go to an agent that is about to be ended.
        store::effects::delete(&mut self.tx, EffectKind::Dispatch, session.id, None).await?;
        // A failure while a prompt was under way keeps turn and row: whether the agent has it is found out at the resume.
        let undecided =
            |turn: &Turn| command == SessionCommand::Fail && turn.state == TurnState::Dispatching;
        if let Some(mut turn) = store::turns::open(&mut self.tx, session.id)
            .await?
            .filter(|turn| !undecided(turn))
        {
            self.keep_what_was_not_accepted(&turn).await?;
            let end = match command {
                SessionCommand::Fail => TurnCommand::Fail,
                SessionCommand::Complete => TurnCommand::Complete,
                SessionCommand::Stop
                | SessionCommand::Launch
                | SessionCommand::Resume
                | SessionCommand::PromptAccepted
                | SessionCommand::Settle
                | SessionCommand::Interrupt => TurnCommand::Cancel,
            };
            self.turn(&mut turn, end, None).await?;
        }
        self.end_questions_of_session(session, QuestionCommand::MakeStale)
            .await?;
        self.expire_history(session).await?;
        self.cancel_permissions(session.id).await?;
        store::workflows::clear_signals(&mut self.tx, session.id).await?;
        Ok(())
    }

    /// A question or an answer that was under way when its session was ended goes back to its place: a child must not wait for
    /// a question that nobody was asked, nor an accepted answer be lost. At the resume the agent's history is searched for it.
    pub(crate) async fn keep_what_was_not_accepted(&mut self, turn: &Turn) -> Result<()> {
        if turn.state != TurnState::Dispatching {
            return Ok(());
        }
        let Some(row) = store::queue::find(&mut self.tx, turn.prompt_id).await? else {
            return Ok(());
        };
        let matters = match row.question_id {
            Some(question) => store::questions::find(&mut self.tx, question)
                .await?
                .is_some_and(|question| question.status == QuestionStatus::Pending),
            None => row.answer_for_question_id.is_some(),
        };
        if matters {
            store::queue::put_back(&mut self.tx, row.id).await?;
        }
        Ok(())
    }

    /// Applies a command to a turn; answers whether anything changed. Once it is accepted or over, its prompt no longer waits.
    pub(crate) async fn turn(
        &mut self,
        turn: &mut Turn,
        command: TurnCommand,
        stop_reason: Option<String>,
    ) -> Result<bool> {
        let transition = turn::decide(turn.state, command)?;
        if !transition.changed {
            return Ok(false);
        }
        turn.state = transition.next;
        if !turn.state.is_open() {
            self.due.at_rest(turn.session_id);
            turn.completed_at = Some(self.now);
            turn.stop_reason = stop_reason.or(turn.stop_reason.take());
        }
        written(store::turns::update_if_open(&mut self.tx, turn).await?)?;
        if !turn.state.is_open() {
            self.stop_tool_calls(turn).await?;
        }
        let row = store::queue::find(&mut self.tx, turn.prompt_id).await?;
        if row.is_some_and(|row| row.turn_id == Some(turn.id)) {
            store::queue::delete(&mut self.tx, turn.prompt_id).await?;
            self.queue_event(turn.task_id, turn.session_id).await?;
        }
        if let Some(kind) = transition.event {
            self.event(
                NewEvent::new(kind)
                    .task(turn.task_id)
                    .session(turn.session_id)
                    .subject(turn.id),
            )
            .await?;
        }
        Ok(true)
    }

    /// Tool calls that a turn left unfinished are shown as stopped: whoever reads them later must not wait for them.
    async fn stop_tool_calls(&mut self, turn: &Turn) -> Result<()> {
        for message in
            store::messages::unfinished_calls(&mut self.tx, turn.session_id, turn.id).await?
        {
            let stopped = Map::from_iter([("status".to_owned(), json!("stopped"))]);
            store::messages::merge_metadata(&mut self.tx, message.id, stopped, self.now).await?;
            self.message_updated(&message).await?;
        }
        Ok(())
    }

    /// Ends a parent question; answers whether this call did it. Exactly one of any number of callers gets `true`.
    pub(crate) async fn question(
        &mut self,
        question: &mut ParentQuestion,
        command: QuestionCommand,
        answer: Option<(&str, SessionId)>,
    ) -> Result<bool> {
        let transition = question::decide(question.status, command)?;
        if !transition.changed {
            return Ok(false);
        }
        question.status = transition.next;
        question.resolved_at = Some(self.now);
        if let Some((text, session)) = answer {
            question.response = Some(text.to_owned());
            question.answered_by_session_id = Some(session);
        }
        written(store::questions::resolve_if_pending(&mut self.tx, question).await?)?;

        let mut metadata = Map::new();
        metadata.insert("status".to_owned(), json!(question.status));
        metadata.insert("parent_question_status".to_owned(), json!(question.status));
        if question.status == QuestionStatus::Answered {
            metadata.insert(
                "parent_question_response".to_owned(),
                json!(question.response),
            );
            metadata.insert("response".to_owned(), json!(question.response));
            metadata.insert(
                "parent_question_answered_at".to_owned(),
                json!(question.resolved_at),
            );
        }
        self.show_to_parent(question, &metadata).await?;
        if let Some(mut message) = store::messages::find(&mut self.tx, question.message_id).await? {
            message.metadata.extend(metadata);
            message.requests_input = false;
            message.updated_at = self.now;
            store::messages::update(&mut self.tx, &message).await?;
        }

        // A question that is over must not reach the parent, not even one that it answered before it was asked. What was sent
        // cannot be called back.
        if let Some(prompt) = question.prompt_id
            && let Some(row) = store::queue::find(&mut self.tx, prompt).await?
            && row.state == QueuedState::Queued
        {
            store::queue::delete(&mut self.tx, prompt).await?;
            self.queue_event(row.task_id, row.session_id).await?;
        }
        if let Some(kind) = transition.event {
            let event = || NewEvent::new(kind).subject(question.id);
            self.event(
                event()
                    .task(question.child_task_id)
                    .session(question.child_session_id),
            )
            .await?;
            self.event(event().task(question.parent_task_id)).await?;
        }
        self.event(
            NewEvent::new(EventKind::MessageUpdated)
                .task(question.child_task_id)
                .session(question.child_session_id)
                .subject(question.message_id),
        )
        .await?;
        let child = load_session(&mut self.tx, question.child_session_id).await?;
        for effect in transition.effects {
            self.effect(effect, &child, None).await?;
        }
        if question.status == QuestionStatus::Stale {
            // Answered or superseded, a turn follows; now none does, and a move that waited for it is carried out.
            self.due.at_rest(child.id);
        }
        Ok(true)
    }

    /// Shows in the parent's transcript how a question ended that was put to it there.
    async fn show_to_parent(
        &mut self,
        question: &ParentQuestion,
        ending: &Map<String, Value>,
    ) -> Result<()> {
        let Some(prompt) = question.prompt_id else {
            return Ok(());
        };
        for message in store::messages::of_prompt(&mut self.tx, prompt).await? {
            let shown = ending
                .iter()
                .filter(|(key, _)| key.starts_with("parent_question_"))
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect();
            store::messages::merge_metadata(&mut self.tx, message.id, shown, self.now).await?;
            self.message_updated(&message).await?;
        }
        Ok(())
    }

    /// Ends the pending question of a session, when there is one; answers whether there was.
    pub(crate) async fn end_questions_of_session(
        &mut self,
        session: &Session,
        command: QuestionCommand,
    ) -> Result<bool> {
        match store::questions::pending_of_session(&mut self.tx, session.id).await? {
            Some(mut question) => self.question(&mut question, command, None).await,
            None => Ok(false),
        }
    }

    /// Makes all questions stale that a task asks.
    pub(crate) async fn stale_questions_of_child(&mut self, task: TaskId) -> Result<()> {
        for mut question in store::questions::pending_of_child(&mut self.tx, task).await? {
            self.question(&mut question, QuestionCommand::MakeStale, None)
                .await?;
        }
        Ok(())
    }

    /// Makes all questions stale that a task asks or is asked.
    pub(crate) async fn stale_questions_of_task(&mut self, task: TaskId) -> Result<()> {
        self.stale_questions_of_child(task).await?;
        for mut question in store::questions::pending_of_parent(&mut self.tx, task).await? {
            self.question(&mut question, QuestionCommand::MakeStale, None)
                .await?;
        }
        Ok(())
    }

    /// Applies a command to a bundle of questions to the operator and shows it in the transcript; answers whether this call
    /// changed it. A claim must stand in `bundle` already.
    pub(crate) async fn clarification(
        &mut self,
        bundle: &mut Clarification,
        command: ClarificationCommand,
        response: Option<Value>,
    ) -> Result<bool> {
        let transition = clarification::decide(bundle.status, command);
        if !transition.changed {
            return Ok(false);
        }
        let before = std::mem::replace(&mut bundle.status, transition.next);
        bundle.resolved_at = (!bundle.status.is_open()).then_some(self.now);
        bundle.response = response;
        if bundle.status != ClarificationStatus::Responding {
            bundle.claim = None;
        }
        written(store::clarifications::update_if(&mut self.tx, bundle, before).await?)?;
        self.show_bundle(bundle).await?;
        if let Some(kind) = transition.event {
            self.event(
                NewEvent::new(kind)
                    .task(bundle.task_id)
                    .session(bundle.session_id)
                    .subject(bundle.id),
            )
            .await?;
        }
        Ok(true)
    }

    /// Ends a permission request; answers whether this call did it.
    pub(crate) async fn permission(
        &mut self,
        permission: &mut Permission,
        command: PermissionCommand<'_>,
    ) -> Result<bool> {
        let transition = permission::decide(permission, command)?;
        if !transition.changed {
            return Ok(false);
        }
        permission.status = transition.next;
        permission.resolved_at = Some(self.now);
        if let PermissionCommand::Select(option) = command {
            permission.option_id = Some(option.to_owned());
        }
        written(store::permissions::resolve_if_pending(&mut self.tx, permission).await?)?;
        self.update_permission_message(permission).await?;
        if let Some(kind) = transition.event {
            self.event(
                NewEvent::new(kind)
                    .task(permission.task_id)
                    .session(permission.session_id)
                    .subject(permission.id),
            )
            .await?;
        }
        let session = load_session(&mut self.tx, permission.session_id).await?;
        for effect in transition.effects {
            self.effect(effect, &session, Some(&permission.id.to_string()))
                .await?;
        }
        Ok(true)
    }

    /// Cancels all pending permission requests of a session.
    pub(crate) async fn cancel_permissions(&mut self, session: SessionId) -> Result<()> {
        for mut request in store::permissions::pending_of_session(&mut self.tx, session).await? {
            self.permission(&mut request, PermissionCommand::Cancel)
                .await?;
        }
        Ok(())
    }

    /// Adds a message at the end of its transcript.
    pub(crate) async fn add_message(&mut self, message: &Message) -> Result<()> {
        store::messages::append(&mut self.tx, message).await?;
        self.event(
            NewEvent::new(EventKind::MessageAdded)
                .task(message.task_id)
                .session(message.session_id)
                .subject(message.id),
        )
        .await
    }

    /// Notes that a message's text or particulars changed.
    pub(crate) async fn message_updated(&mut self, message: &Message) -> Result<()> {
        self.event(
            NewEvent::new(EventKind::MessageUpdated)
                .task(message.task_id)
                .session(message.session_id)
                .subject(message.id),
        )
        .await
    }

    /// Notes that what waits in a session's queue changed.
    pub(crate) async fn queue_event(&mut self, task: TaskId, session: SessionId) -> Result<()> {
        self.event(
            NewEvent::new(EventKind::QueueChanged)
                .task(task)
                .session(session),
        )
        .await
    }

    /// Notes that a task's fields or its pending action changed.
    pub(crate) async fn task_event(&mut self, task: &Task) -> Result<()> {
        self.event(
            NewEvent::new(EventKind::TaskUpdated)
                .workspace(task.workspace_id)
                .task(task.id),
        )
        .await
    }
}

/// The prompts of a session in delivery order and what holds them.
pub(crate) async fn queue_and_gate(
    db: &mut Snapshot,
    task: &Task,
    session: &Session,
) -> Result<(Vec<QueuedPrompt>, Gate)> {
    let rows = store::queue::list(db, session.id).await?;
    let bundles = active_bundles(db, session).await?;
    let gate = Gate {
        turn_open: store::turns::open(db, session.id).await?.is_some(),
        parent_question_pending: store::questions::pending_of_session(db, session.id)
            .await?
            .is_some(),
        clarification_live: bundles.iter().any(|(_, stands)| *stands == Standing::Live),
        auto_run_off: !session.auto_run,
        waits_for_place: task.waits_for_place(),
        closed: session.state.is_terminal() || task.archived_at.is_some(),
    };
    Ok((rows, gate))
}

/// The step of that id among `steps`.
pub(crate) fn find_step(steps: &[Step], id: StepId) -> Option<&Step> {
    steps.iter().find(|step| step.id == id)
}

/// Writers take turns, so a guarded write that finds the row changed means a row was loaded before the transaction began.
fn written(write: Write) -> Result<()> {
    match write {
        Write::Changed => Ok(()),
        Write::Stale => Err(BoardError::Refused(Refusal::conflict(
            "somebody else changed this at the same moment: look at it again and repeat what still applies",
        ))),
    }
}
