//! The actor of a session: the one place that starts, prompts, cancels and ends its agent.

use super::choices::{Choices, remark};
use super::live::{EVENTS, Live, RunningTurn};
use super::patience::Patience;
use super::transcript::Transcript;
use super::{RuntimeConfig, SECRETS, Tools, scripts};
use agents::AgentEvent;
use agents::acp::{
    self, Address, Chosen, Conversation, FreshReason, LaunchError, LaunchSpec, Launched, LeftOut,
    McpEndpoint, OtherServer, PermissionOutcome, Prompt, Reached, Subject,
};
use agents::event::{PermissionRequest, StopReason, TurnOutcome as AgentOutcome};
use board::{
    Board, BoardError, Delivery, LaunchPlan, LaunchReport, Next, Prepare, Recorded, TurnOutcome,
};
use domain::agent::check_tools;
use domain::effect::{Effect, EffectKind};
use domain::ids::{PermissionId, SessionId, TurnId};
use domain::mcp_servers::{BUILT_IN, McpServer};
use domain::permission::PermissionOption;
use serde_json::json;
use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep, sleep_until};

/// How long output is collected before it is written: short enough to look live, long enough to spare the disk.
const FLUSH_AFTER: Duration = Duration::from_millis(80);

/// What an actor is told.
pub(super) enum Command {
    /// Carry this out and say whether it is done.
    Effect {
        /// What.
        effect: Effect,
        /// Where to say it.
        done: oneshot::Sender<bool>,
    },
    /// The process ends: end the agent, and leave the rows as they are.
    Shutdown,
    /// Another node has the session: end the agent, whose work nobody would take note of.
    LeaseLost,
}

/// Runs until the session's agent is gone and nothing is asked any more.
pub(super) async fn run(
    session: SessionId,
    board: Board,
    config: Arc<RuntimeConfig>,
    tools: Arc<dyn Tools>,
    mut mailbox: mpsc::Receiver<Command>,
    live_count: Arc<AtomicUsize>,
) {
    let mut actor = Actor {
        session,
        board,
        config,
        tools,
        live: None,
        live_count,
        backlog: VecDeque::new(),
        flush_at: None,
    };
    while let Some(wake) = actor.next(&mut mailbox).await {
        match wake {
            Wake::Command(Command::Effect { effect, done }) => {
                let outcome = actor.carry_out(&effect, &mut mailbox).await;
                // The worker is gone only when the process ends.
                let _ = done.send(outcome);
            }
            Wake::Command(Command::Shutdown) => {
                actor.flush().await;
                actor.end_agent().await;
                return;
            }
            Wake::Command(Command::LeaseLost) => actor.end_agent().await,
            Wake::Event(event) => actor.on_event(*event).await,
            Wake::Flush => actor.flush().await,
            Wake::Kill => actor.kill_stuck_turn().await,
            Wake::Idle => {
                actor.release().await;
            }
        }
        if actor.live.is_none() && actor.backlog.is_empty() && mailbox.is_empty() {
            // Nobody can be in between: a sender that finds the mailbox closed gets a new actor.
            mailbox.close();
            while let Some(command) = mailbox.recv().await {
                if let Command::Effect { done, .. } = command {
                    let _ = done.send(false);
                }
            }
            return;
        }
    }
    actor.end_agent().await;
}

/// What the end of the stream of events means.
const GONE: AgentEvent = AgentEvent::Exited {
    exit: agents::event::Exit {
        code: None,
        signal: None,
    },
    stderr_tail: Vec::new(),
};

enum Wake {
    Command(Command),
    Event(Box<AgentEvent>),
    Flush,
    Kill,
    Idle,
}

struct Actor {
    session: SessionId,
    board: Board,
    config: Arc<RuntimeConfig>,
    tools: Arc<dyn Tools>,
    live: Option<Live>,
    live_count: Arc<AtomicUsize>,
    /// Commands that came while the agent was being started.
    backlog: VecDeque<Command>,
    flush_at: Option<Instant>,
}

/// A moment that never comes.
async fn at(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

impl Actor {
    async fn next(&mut self, mailbox: &mut mpsc::Receiver<Command>) -> Option<Wake> {
        if let Some(command) = self.backlog.pop_front() {
            return Some(Wake::Command(command));
        }
        let Some(live) = &mut self.live else {
            return mailbox.recv().await.map(Wake::Command);
        };
        let kill_at = live.turn.and_then(|turn| turn.kill_at);
        let idle_at = (live.turn.is_none() && live.can_resume)
            .then(|| live.idle_since + self.config.idle_timeout);
        tokio::select! {
            // Wishes first: a cancel must not wait behind a flood of output.
            biased;
            command = mailbox.recv() => command.map(Wake::Command),
            () = at(kill_at) => Some(Wake::Kill),
            () = at(self.flush_at) => Some(Wake::Flush),
            event = live.events.recv() => Some(Wake::Event(Box::new(event.unwrap_or(GONE)))),
            () = at(idle_at) => Some(Wake::Idle),
        }
    }

    /// Carries out a follow-up; answers whether it is done. One that failed for want of the database is tried again.
    async fn carry_out(&mut self, effect: &Effect, mailbox: &mut mpsc::Receiver<Command>) -> bool {
        let result = match effect.kind {
            // On the heap: the largest of them by far, and the others would carry it.
            EffectKind::Dispatch => Box::pin(self.dispatch(mailbox)).await,
            EffectKind::CancelTurn => self.cancel_turn(effect.subject_id.as_deref()).await,
            EffectKind::StopProcess => {
                self.flush().await;
                self.end_agent().await;
                self.board
                    .session_released(self.session, &self.config.node)
                    .await
            }
            EffectKind::SettleQuestion => self.board.question_grace_over(self.session).await,
            EffectKind::AnswerPermission => {
                self.answer_permission(effect.subject_id.as_deref()).await
            }
            EffectKind::RefreshProfile => {
                self.tools.refresh(self.session).await;
                Ok(())
            }
        };
        match result {
            Ok(()) => true,
            Err(BoardError::Refused(refusal)) => {
                tracing::debug!(session = %self.session, kind = %effect.kind, %refusal, "a follow-up no longer applies");
                true
            }
            Err(error) => {
                tracing::error!(session = %self.session, kind = %effect.kind, error = &error as &dyn std::error::Error,
                    "a follow-up failed");
                false
            }
        }
    }

    /// Delivers until there is nothing to deliver: at most one prompt, since a turn follows from it.
    async fn dispatch(&mut self, mailbox: &mut mpsc::Receiver<Command>) -> board::Result<()> {
        let mut relaunched = false;
        loop {
            let fresh_because = self
                .live
                .as_ref()
                .and_then(|live| live.fresh_because.clone());
            let next = self
                .board
                .delivery_next(
                    self.session,
                    &self.config.node,
                    self.live.is_some(),
                    fresh_because.as_deref(),
                )
                .await?;
            match next {
                Next::Rest => return Ok(()),
                Next::Restart => {
                    self.flush().await;
                    self.end_agent().await;
                }
                Next::Launch(plan) => {
                    if !self.launch(*plan, mailbox).await? {
                        return Ok(());
                    }
                }
                Next::Deliver(delivery) => {
                    match self.live.as_ref().and_then(|live| live.turn) {
                        // It is the prompt of the very turn that runs: acceptance was not recorded in time.
                        Some(running) if running.id == delivery.turn => {
                            return self
                                .board
                                .prompt_accepted(delivery.turn, &self.config.node)
                                .await;
                        }
                        // The board has ended the turn that the agent is in, and goes on without it: so does the session.
                        Some(_) => {
                            self.end_agent().await;
                            continue;
                        }
                        None => {}
                    }
                    if self.send(&delivery).await? {
                        return Ok(());
                    }
                    // The process was gone before anything was sent. Once more with a new one, then it has failed.
                    let reason = "the agent ended before it took the message";
                    self.forget_agent();
                    if std::mem::replace(&mut relaunched, true) {
                        return self
                            .board
                            .session_failed(self.session, &self.config.node, reason)
                            .await;
                    }
                }
            }
        }
    }

    /// Starts the agent; answers whether it is up. A stop that comes meanwhile ends the attempt.
    async fn launch(
        &mut self,
        plan: LaunchPlan,
        mailbox: &mut mpsc::Receiver<Command>,
    ) -> board::Result<bool> {
        let ready = match check_tools(&plan.agent, plan.token.is_some()) {
            Ok(()) => self.make_folder(&plan.working_directory).await,
            Err(refusal) => Err(sentence(&refusal.message)),
        };
        if let Err(reason) = ready {
            self.board
                .session_failed(self.session, &self.config.node, &reason)
                .await?;
            return Ok(false);
        }
        if let Some(prepare) = &plan.prepare
            && !self
                .prepare(&plan.working_directory, prepare, mailbox)
                .await?
        {
            return Ok(false);
        }
        let (sender, mut events) = mpsc::channel(EVENTS);
        let launching = acp::launch(self.spec(&plan), sender);
        let listening = async {
            let mut early = Vec::new();
            tokio::pin!(launching);
            loop {
                tokio::select! {
                    launched = &mut launching => return (launched, early),
                    Some(event) = events.recv() => early.push(event),
                }
            }
        };
        let Some((launched, early)) = self.unless_stopped(listening, mailbox).await else {
            return Ok(false);
        };
        match launched {
            Ok(launched) => self.took_off(&plan, launched, events, early).await,
            Err(error) => {
                if matches!(error, LaunchError::NoHttpMcp) {
                    self.board.agent_handshake(plan.agent.id, false).await?;
                }
                tracing::warn!(session = %self.session, error = &error as &dyn std::error::Error, "an agent did not start");
                self.board
                    .session_failed(
                        self.session,
                        &self.config.node,
                        &sentence(&error.to_string()),
                    )
                    .await?;
                Ok(false)
            }
        }
    }

    /// Runs what is to run in the folder before its first agent; answers whether the start may go on.
    async fn prepare(
        &mut self,
        folder: &str,
        prepare: &Prepare,
        mailbox: &mut mpsc::Receiver<Command>,
    ) -> board::Result<bool> {
        let config = self.config.clone();
        let Prepare {
            id,
            profile,
            script,
            timeout,
        } = prepare;
        let running = scripts::run(&config, *id, folder, script, *timeout);
        let Some(ran) = self.unless_stopped(running, mailbox).await else {
            return Ok(false);
        };
        let Err(error) = ran else {
            self.board.folder_prepared(*id, self.session).await?;
            return Ok(true);
        };
        self.board.folder_not_prepared(*id, self.session).await?;
        let reason = format!("the prepare script of the executor profile \"{profile}\" {error}");
        tracing::warn!(session = %self.session, %reason, "an agent did not start");
        self.board
            .session_failed(self.session, &self.config.node, &sentence(&reason))
            .await?;
        Ok(false)
    }

    /// Does something to its end, unless a stop comes meanwhile: the attempt is dropped then, which ends what it started.
    async fn unless_stopped<T>(
        &mut self,
        attempt: impl Future<Output = T>,
        mailbox: &mut mpsc::Receiver<Command>,
    ) -> Option<T> {
        tokio::pin!(attempt);
        loop {
            tokio::select! {
                done = &mut attempt => return Some(done),
                Some(command) = mailbox.recv() => {
                    let stops = match &command {
                        Command::Shutdown | Command::LeaseLost => true,
                        Command::Effect { effect, .. } => effect.kind == EffectKind::StopProcess,
                    };
                    self.backlog.push_back(command);
                    if stops {
                        return None;
                    }
                }
            }
        }
    }

    async fn took_off(
        &mut self,
        plan: &LaunchPlan,
        launched: Launched,
        events: mpsc::Receiver<AgentEvent>,
        early: Vec<AgentEvent>,
    ) -> board::Result<bool> {
        let (fresh_because, seen) = match &launched.conversation {
            Conversation::Loaded { replay } => (
                None,
                plan.attempted
                    .filter(|prompt| replay.saw_prompt(&prompt.to_string())),
            ),
            Conversation::Fresh { reason } => {
                (plan.resume.as_ref().and_then(|_| why_fresh(reason)), None)
            }
        };
        let mut transcript = Transcript::default();
        for event in &early {
            transcript.take(event);
        }
        self.live = Some(Live {
            agent: launched.agent,
            events,
            fresh_because,
            choices: Choices::of(plan, launched.offer),
            can_resume: launched.capabilities.load_session,
            turn: None,
            transcript,
            idle_since: Instant::now(),
        });
        self.live_count.fetch_add(1, Ordering::Relaxed);
        let mut remarks = remarks(plan, &launched.mode, &launched.model);
        remarks.extend(launched.left_out.iter().map(without));
        let report = LaunchReport {
            agent: plan.agent.id,
            supports_mcp: launched.capabilities.mcp_http,
            provider_session_id: &launched.provider_session_id,
            seen,
            remarks,
        };
        let stored = self
            .board
            .session_launched(self.session, &self.config.node, report)
            .await;
        if stored.is_err() {
            // Unreported, it would be given a prompt again that it has in its history.
            self.end_agent().await;
        }
        stored.map(|()| true)
    }

    fn spec(&self, plan: &LaunchPlan) -> LaunchSpec {
        let mut spec = LaunchSpec::new(plan.agent.command.clone(), &plan.working_directory);
        spec.args = plan.agent.args.clone();
        spec.env = plan.agent.env.clone();
        spec.env_remove = SECRETS.iter().map(|&name| name.to_owned()).collect();
        spec.guard_exe = Some(self.config.guard_exe.clone());
        spec.lock = Some(self.config.locks_dir.join(format!("{}.lock", self.session)));
        spec.mcp = plan.token.as_ref().map(|token| McpEndpoint {
            name: BUILT_IN.to_owned(),
            url: self.config.mcp_url.clone(),
            bearer: token.clone(),
        });
        spec.servers = plan.servers.iter().map(other_server).collect();
        spec.takes_http_mcp = plan.agent.supports_mcp_override;
        spec.mode = plan.profile.mode.clone();
        spec.model = plan.profile.model.clone();
        spec.resume = plan.resume.clone();
        spec.start_timeout = self.config.start_timeout;
        spec
    }

    /// Folders of our own are made; one that the operator named must be there.
    async fn make_folder(&self, folder: &str) -> Result<(), String> {
        let path = Path::new(folder);
        if path.starts_with(&self.board.settings().workspaces_dir) {
            tokio::fs::create_dir_all(path).await.map_err(|error| {
                format!("The folder {folder} could not be made ({error}). Check the data folder's permissions and space.")
            })?;
        }
        Ok(())
    }

    /// Sees to it that the agent is in the mode that the card's step wants before it gets the prompt.
    async fn choose(&mut self, delivery: &Delivery) -> board::Result<()> {
        let Some(live) = &mut self.live else {
            return Ok(());
        };
        let due = live.choices.due(delivery);
        if due.is_empty() {
            return Ok(());
        }
        let agent = live.agent.clone();
        let mut choices = std::mem::take(&mut live.choices);
        let remarks = {
            let asking = choices.ask(&agent, due);
            tokio::pin!(asking);
            loop {
                let Some(live) = &mut self.live else {
                    break asking.await;
                };
                tokio::select! {
                    remarks = &mut asking => break remarks,
                    // An agent that talks before it answers must be listened to.
                    Some(event) = live.events.recv() => self.on_event(event).await,
                }
            }
        };
        if let Some(live) = &mut self.live {
            live.choices = choices;
        }
        if remarks.is_empty() {
            return Ok(());
        }
        self.board
            .session_remarked(self.session, &self.config.node, remarks)
            .await
    }

    /// Sends a prompt and reports its acceptance; answers false when the process was gone before anything was sent.
    async fn send(&mut self, delivery: &Delivery) -> board::Result<bool> {
        self.choose(delivery).await?;
        let Some(live) = &mut self.live else {
            return Ok(false);
        };
        let prompt = Prompt {
            hidden: delivery.hidden.clone(),
            text: delivery.text.clone(),
        };
        let Ok(mut in_flight) = live.agent.prompt(&prompt) else {
            return Ok(false);
        };
        live.fresh_because = None;
        live.turn = Some(RunningTurn {
            id: delivery.turn,
            prompt: in_flight.number(),
            kill_at: None,
        });
        live.transcript.reset();
        loop {
            let Some(live) = &mut self.live else {
                return Ok(true);
            };
            tokio::select! {
                // Acceptance before whatever follows from it.
                biased;
                accepted = in_flight.accepted() => {
                    return match accepted {
                        Ok(()) => self
                            .board
                            .prompt_accepted(delivery.turn, &self.config.node)
                            .await
                            .map(|()| true),
                        // Whether the agent saw it is unknown: the exit is an event like any other, and fails the session.
                        Err(_) => Ok(true),
                    };
                }
                // An agent that talks before it reads must be listened to, or both wait for ever.
                Some(event) = live.events.recv() => self.on_event(event).await,
            }
        }
    }

    async fn cancel_turn(&mut self, subject: Option<&str>) -> board::Result<()> {
        let Some(turn) = subject.and_then(|id| id.parse::<TurnId>().ok()) else {
            return Ok(());
        };
        match &mut self.live {
            Some(live) if live.turn.is_some_and(|running| running.id == turn) => {
                live.agent.cancel();
                if let Some(running) = &mut live.turn {
                    running
                        .kill_at
                        .get_or_insert(Instant::now() + self.config.cancel_grace);
                }
                Ok(())
            }
            // A later turn is left alone.
            Some(live) if live.turn.is_some() => Ok(()),
            // Nobody works on it any more.
            Some(_) | None => {
                self.board
                    .turn_ended(turn, &self.config.node, &TurnOutcome::Cancelled)
                    .await
            }
        }
    }

    async fn answer_permission(&mut self, subject: Option<&str>) -> board::Result<()> {
        let Some(id) = subject.and_then(|id| id.parse::<PermissionId>().ok()) else {
            return Ok(());
        };
        if let (Some((request, option)), Some(live)) =
            (self.board.permission_outcome(id).await?, &self.live)
        {
            let outcome = option.map_or(PermissionOutcome::Cancelled, PermissionOutcome::Selected);
            if let Err(error) = live.agent.respond_permission(&request, &outcome) {
                tracing::debug!(session = %self.session, %error, "a permission came too late");
            }
        }
        Ok(())
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "whatever is not for the actor is for the transcript, which matches on everything"
    )]
    async fn on_event(&mut self, event: AgentEvent) {
        match event {
            AgentEvent::TurnEnded { prompt, outcome } => self.on_turn_ended(prompt, outcome).await,
            AgentEvent::Exited { exit, stderr_tail } => {
                self.on_exit(&exit.to_string(), &stderr_tail).await;
            }
            AgentEvent::PermissionRequest(request) => {
                self.flush().await;
                self.on_permission_request(request).await;
            }
            AgentEvent::PermissionCancelled { request_id } => {
                if let Err(error) = self
                    .board
                    .permission_withdrawn(self.session, &request_id)
                    .await
                {
                    tracing::warn!(session = %self.session, error = &error as &dyn std::error::Error, "a withdrawal was not stored");
                }
            }
            other => {
                if let Some(live) = &mut self.live {
                    live.transcript.take(&other);
                    if live.transcript.is_dirty() && self.flush_at.is_none() {
                        self.flush_at = Some(Instant::now() + FLUSH_AFTER);
                    }
                }
            }
        }
    }

    async fn on_permission_request(&mut self, request: PermissionRequest) {
        let options = request
            .options
            .iter()
            .map(|option| PermissionOption {
                option_id: option.id.clone(),
                name: option.name.clone(),
                kind: json!(option.kind).as_str().unwrap_or("other").to_owned(),
            })
            .collect();
        let call = json!(request.tool_call);
        if let Err(error) = self
            .board
            .permission_request(
                self.session,
                &self.config.node,
                &request.request_id,
                call,
                options,
            )
            .await
        {
            // Nobody can be asked: the agent must not wait for ever.
            tracing::error!(session = %self.session, error = &error as &dyn std::error::Error, "a permission request was not stored");
            if let Some(live) = &self.live {
                let _ = live
                    .agent
                    .respond_permission(&request.request_id, &PermissionOutcome::Cancelled);
            }
        }
    }

    async fn on_turn_ended(&mut self, prompt: u64, outcome: AgentOutcome) {
        let Some(turn) = self
            .live
            .as_ref()
            .and_then(|live| live.turn)
            .filter(|turn| turn.prompt == prompt)
        else {
            return;
        };
        let outcome = match outcome {
            AgentOutcome::Stopped(end) if end.stop_reason == StopReason::Cancelled => {
                TurnOutcome::Cancelled
            }
            AgentOutcome::Stopped(end) => TurnOutcome::Stopped(
                json!(end.stop_reason)
                    .as_str()
                    .unwrap_or("end_turn")
                    .to_owned(),
            ),
            AgentOutcome::Failed { message, .. } => TurnOutcome::Failed(sentence(&message)),
        };
        self.end_turn(turn.id, &outcome).await;
    }

    /// Writes what is left of a turn's output, then its end. Both are tried until they are stored: an end that is not stored
    /// would leave the session running for ever.
    async fn end_turn(&mut self, turn: TurnId, outcome: &TurnOutcome) {
        let mut patience = Patience::default();
        loop {
            self.flush().await;
            let flushed = self
                .live
                .as_ref()
                .is_none_or(|live| !live.transcript.is_dirty());
            if flushed {
                match self
                    .board
                    .turn_ended(turn, &self.config.node, outcome)
                    .await
                {
                    Ok(()) => break,
                    Err(error) => {
                        tracing::error!(session = %self.session, error = &error as &dyn std::error::Error,
                        "the end of a turn was not stored");
                    }
                }
            }
            patience.wait().await;
        }
        if let Some(live) = &mut self.live {
            live.turn = None;
            live.transcript.reset();
            live.idle_since = Instant::now();
        }
    }

    async fn on_exit(&mut self, exit: &str, stderr_tail: &[String]) {
        let Some(live) = &self.live else { return };
        let in_turn = live.turn.is_some();
        self.flush().await;
        self.forget_agent();
        let message = in_turn.then(|| {
            let words = stderr_tail
                .iter()
                .rev()
                .take(5)
                .rev()
                .cloned()
                .collect::<Vec<_>>()
                .join(" / ");
            let words = if words.is_empty() {
                String::new()
            } else {
                format!(" Its last words: {}", sentence(&words))
            };
            format!(
                "The agent {exit} in the middle of its turn.{words} Resume the session to go on."
            )
        });
        // Tried until it is stored: the lease is renewed for as long as this node lives, so nobody else would find the session.
        let mut patience = Patience::default();
        loop {
            let result = match &message {
                Some(message) => {
                    self.board
                        .session_failed(self.session, &self.config.node, message)
                        .await
                }
                None => {
                    self.board
                        .session_released(self.session, &self.config.node)
                        .await
                }
            };
            match result {
                // Refused means that there is no such session any more.
                Ok(()) | Err(BoardError::Refused(_)) => return,
                Err(error) => {
                    tracing::error!(session = %self.session, error = &error as &dyn std::error::Error, "an agent's end was not stored");
                }
            }
            patience.wait().await;
        }
    }

    /// A cancelled turn that does not end is ended with its process; the conversation can be resumed.
    async fn kill_stuck_turn(&mut self) {
        let Some(turn) = self.live.as_ref().and_then(|live| live.turn) else {
            return;
        };
        tracing::warn!(session = %self.session, "an agent did not end its cancelled turn and is ended by force");
        self.flush().await;
        self.end_agent().await;
        self.end_turn(turn.id, &TurnOutcome::Cancelled).await;
        if let Err(error) = self
            .board
            .session_released(self.session, &self.config.node)
            .await
        {
            tracing::error!(session = %self.session, error = &error as &dyn std::error::Error, "a lease was not given back");
        }
    }

    /// Ends an idle agent and gives the session's lease back.
    async fn release(&mut self) {
        self.end_agent().await;
        if let Err(error) = self
            .board
            .session_released(self.session, &self.config.node)
            .await
        {
            tracing::error!(session = %self.session, error = &error as &dyn std::error::Error, "a lease was not given back");
        }
    }

    async fn flush(&mut self) {
        self.flush_at = None;
        let Some(live) = &mut self.live else {
            return;
        };
        let outputs = live.transcript.drain();
        if outputs.is_empty() {
            return;
        }
        let turn = live.turn.map(|turn| turn.id);
        match self
            .board
            .record_output(self.session, &self.config.node, turn, outputs.clone())
            .await
        {
            Ok(Recorded::Stored) => {}
            Ok(Recorded::Truncated) => live.transcript.set_full(),
            Err(BoardError::Refused(_)) => live.transcript.set_full(),
            Err(error) => {
                tracing::error!(session = %self.session, error = &error as &dyn std::error::Error, "output was not stored yet");
                live.transcript.put_back(outputs);
                self.flush_at = Some(Instant::now() + Duration::from_secs(1));
            }
        }
    }

    /// Ends the process and waits until it is gone.
    async fn end_agent(&mut self) {
        if let Some(mut live) = self.live.take() {
            self.live_count.fetch_sub(1, Ordering::Relaxed);
            // Events are drained so that the agent can come to its end.
            let drain = async { while live.events.recv().await.is_some() {} };
            tokio::select! {
                _ = live.agent.shutdown() => {}
                () = async { drain.await; sleep(Duration::from_secs(30)).await } => {}
            }
        }
        self.flush_at = None;
    }

    /// The process is gone already.
    fn forget_agent(&mut self) {
        if self.live.take().is_some() {
            self.live_count.fetch_sub(1, Ordering::Relaxed);
        }
        self.flush_at = None;
    }
}

/// What the profile asked for and the agent does not do, in words for a person.
fn remarks(plan: &LaunchPlan, mode: &Chosen, model: &Chosen) -> Vec<String> {
    let said = |subject, wanted: &Option<String>, chosen| {
        remark("profile", subject, wanted.as_deref()?, chosen)
    };
    [
        said(Subject::Mode, &plan.profile.mode, mode),
        said(Subject::Model, &plan.profile.model, model),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// A server of the profile that the agent was not given, in words for a person.
fn without(left_out: &LeftOut) -> String {
    format!(
        "The profile's MCP server \"{}\" was left out: {}. The agent goes on without it.",
        left_out.name, left_out.reason
    )
}

fn other_server((name, server): (&String, &McpServer)) -> OtherServer {
    let reached = match server.clone() {
        McpServer::Stdio { command, args, env } => Reached::Stdio {
            command,
            args,
            env: env.0,
        },
        McpServer::Http { url, headers } => Reached::Http(Address {
            url,
            headers: headers.0,
        }),
        McpServer::Sse { url, headers } => Reached::Sse(Address {
            url,
            headers: headers.0,
        }),
    };
    OtherServer {
        name: name.clone(),
        reached,
    }
}

fn why_fresh(reason: &FreshReason) -> Option<String> {
    match reason {
        FreshReason::NotAsked => None,
        FreshReason::NotSupported => Some("the agent cannot load conversations".to_owned()),
        FreshReason::Refused(words) => Some(format!("the agent refused: {words}")),
    }
}

/// A message as a sentence for people: it begins with a capital and ends with a stop.
fn sentence(text: &str) -> String {
    let mut chars = text.trim().chars();
    let Some(first) = chars.next() else {
        return String::new();
    };
    let mut sentence: String = first.to_uppercase().chain(chars).collect();
    if !sentence.ends_with(['.', '!', '?']) {
        sentence.push('.');
    }
    sentence
}
