//! A runtime without processes: it works off the board's follow-ups as the server's does, and its agents are memory.
//!
//! What an agent has heard is kept on a [`Disk`] that outlives the node, as real agents keep their conversations: that is
//! what a restart searches for a prompt's id.

use board::{Board, BoardError, Delivery, LaunchPlan, LaunchReport, Next, Result, TurnOutcome};
use domain::effect::{Effect, EffectKind};
use domain::ids::{PermissionId, PromptId, SessionId, TurnId};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};

/// A prompt as an agent got it.
#[derive(Debug, Clone)]
pub(crate) struct Heard {
    pub(crate) session: SessionId,
    pub(crate) prompt: PromptId,
    pub(crate) turn: TurnId,
    pub(crate) hidden: Option<String>,
    pub(crate) text: String,
}

impl Heard {
    /// The value of the first `key: value` line of that key in the hidden block.
    pub(crate) fn field(&self, key: &str) -> Option<&str> {
        let lines = self.hidden.as_deref()?.lines();
        lines
            .filter_map(|line| line.strip_prefix(key)?.strip_prefix(": "))
            .next()
    }

    pub(crate) fn hidden(&self) -> &str {
        self.hidden.as_deref().unwrap_or_default()
    }
}

/// Conversations of agents, by the agents' own ids for them.
#[derive(Debug, Default)]
pub(crate) struct Disk {
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    conversations: HashMap<String, HashSet<PromptId>>,
    heard: Vec<Heard>,
    forgetful: bool,
}

impl Disk {
    /// From now on no agent can load a conversation.
    pub(crate) fn forget_conversations(&self) {
        self.kept.lock().unwrap().forgetful = true;
    }

    /// Everything that any agent was sent, in order.
    pub(crate) fn heard(&self) -> Vec<Heard> {
        self.kept.lock().unwrap().heard.clone()
    }

    fn open(&self, wanted: Option<&str>) -> (String, bool) {
        let mut kept = self.kept.lock().unwrap();
        if let Some(id) = wanted
            && !kept.forgetful
            && kept.conversations.contains_key(id)
        {
            return (id.to_owned(), true);
        }
        let id = format!("conversation-{}", kept.conversations.len() + 1);
        kept.conversations.insert(id.clone(), HashSet::new());
        (id, false)
    }

    fn holds(&self, conversation: &str, prompt: PromptId) -> bool {
        self.kept.lock().unwrap().conversations[conversation].contains(&prompt)
    }

    fn keep(&self, conversation: &str, delivery: &Delivery) {
        let mut kept = self.kept.lock().unwrap();
        kept.conversations
            .get_mut(conversation)
            .expect("a live agent has a conversation")
            .insert(delivery.prompt);
        kept.heard.push(Heard {
            session: delivery.session,
            prompt: delivery.prompt,
            turn: delivery.turn,
            hidden: delivery.hidden.clone(),
            text: delivery.text.clone(),
        });
    }
}

#[derive(Debug, Clone)]
struct Live {
    conversation: String,
    turn: Option<TurnId>,
    fresh_because: Option<String>,
    token: Option<String>,
}

/// One process of the server with its live agents.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) name: &'static str,
    pub(crate) board: Board,
    pub(crate) disk: Arc<Disk>,
    live: Mutex<HashMap<SessionId, Live>>,
    permissions: Mutex<Vec<(String, Option<String>)>>,
    refreshed: Mutex<Vec<SessionId>>,
    broken: Mutex<HashSet<SessionId>>,
}

impl Node {
    pub(crate) fn new(name: &'static str, board: Board, disk: Arc<Disk>) -> Self {
        Self {
            name,
            board,
            disk,
            live: Mutex::default(),
            permissions: Mutex::default(),
            refreshed: Mutex::default(),
            broken: Mutex::default(),
        }
    }

    /// Works off what is due until nothing is.
    pub(crate) async fn run(&self) {
        for _ in 0..500 {
            if self.step(16).await == 0 {
                return;
            }
        }
        panic!("the follow-ups come to no end");
    }

    /// Works off up to `limit` due follow-ups; answers how many there were.
    pub(crate) async fn step(&self, limit: i64) -> usize {
        let effects = self.board.effect_claim(self.name, limit).await.unwrap();
        for effect in &effects {
            match self.carry_out(effect).await {
                // As in the server: a follow-up that no longer applies is done.
                Ok(()) | Err(BoardError::Refused(_)) => {}
                Err(error) => panic!("{} failed: {error:?}", effect.kind),
            }
            self.board.effect_finish(effect, self.name).await.unwrap();
        }
        effects.len()
    }

    async fn carry_out(&self, effect: &Effect) -> Result<()> {
        let session = effect.session_id;
        match effect.kind {
            EffectKind::Dispatch => self.dispatch(session).await,
            EffectKind::CancelTurn => {
                let turn: TurnId = effect.subject_id.as_deref().unwrap().parse()?;
                let running = self.turn(session);
                if running.is_some() && running != Some(turn) {
                    return Ok(());
                }
                self.set_turn(session, None);
                self.board
                    .turn_ended(turn, self.name, &TurnOutcome::Cancelled)
                    .await
            }
            EffectKind::StopProcess => {
                self.live.lock().unwrap().remove(&session);
                Ok(())
            }
            EffectKind::SettleQuestion => self.board.question_grace_over(session).await,
            EffectKind::AnswerPermission => {
                let id: PermissionId = effect.subject_id.as_deref().unwrap().parse()?;
                let outcome = self.board.permission_outcome(id).await?;
                self.permissions.lock().unwrap().extend(outcome);
                Ok(())
            }
            EffectKind::RefreshProfile => {
                self.refreshed.lock().unwrap().push(session);
                Ok(())
            }
        }
    }

    /// What the server's actor does for one session.
    pub(crate) async fn dispatch(&self, session: SessionId) -> Result<()> {
        loop {
            match self.next(session).await? {
                Next::Rest => return Ok(()),
                Next::Restart => {
                    self.live.lock().unwrap().remove(&session);
                }
                Next::Launch(plan) => {
                    if self.broken.lock().unwrap().contains(&session) {
                        return self
                            .board
                            .session_failed(session, self.name, "no such program")
                            .await;
                    }
                    self.launch(&plan).await?;
                }
                Next::Deliver(delivery) => {
                    match self.turn(session) {
                        None => self.hear(&delivery),
                        Some(turn) if turn == delivery.turn => {}
                        // The board has ended the turn that the agent is in.
                        Some(_) => {
                            self.live.lock().unwrap().remove(&session);
                            continue;
                        }
                    }
                    return self.board.prompt_accepted(delivery.turn, self.name).await;
                }
            }
        }
    }

    /// Asks the board what to do for a session.
    pub(crate) async fn next(&self, session: SessionId) -> Result<Next> {
        let fresh = self
            .live
            .lock()
            .unwrap()
            .get(&session)
            .map(|l| l.fresh_because.clone());
        self.board
            .delivery_next(
                session,
                self.name,
                fresh.is_some(),
                fresh.flatten().as_deref(),
            )
            .await
    }

    /// Starts an agent: loads the conversation when it can, and looks for a prompt that was under way.
    pub(crate) async fn launch(&self, plan: &LaunchPlan) -> Result<()> {
        let (conversation, loaded) = self.disk.open(plan.resume.as_deref());
        let live = Live {
            conversation: conversation.clone(),
            turn: None,
            fresh_because: (!loaded && plan.resume.is_some())
                .then(|| "the agent cannot load it".to_owned()),
            token: plan.token.clone(),
        };
        self.live.lock().unwrap().insert(plan.session, live);
        let report = LaunchReport {
            agent: plan.agent.id,
            supports_mcp: true,
            provider_session_id: &conversation,
            seen: plan
                .attempted
                .filter(|prompt| self.disk.holds(&conversation, *prompt)),
            remarks: Vec::new(),
        };
        self.board
            .session_launched(plan.session, self.name, report)
            .await
    }

    /// Asks for the next prompt of a session, starting the agent first, and neither sends it nor reports anything: what a
    /// crash right after the board's commit leaves behind.
    pub(crate) async fn take(&self, session: SessionId) -> Delivery {
        loop {
            match self.next(session).await.unwrap() {
                Next::Rest => panic!("nothing to deliver"),
                Next::Restart => {
                    self.live.lock().unwrap().remove(&session);
                }
                Next::Launch(plan) => self.launch(&plan).await.unwrap(),
                Next::Deliver(delivery) => return *delivery,
            }
        }
    }

    /// The agent gets the prompt; nobody has told the board yet.
    pub(crate) fn hear(&self, delivery: &Delivery) {
        let mut live = self.live.lock().unwrap();
        let agent = live
            .get_mut(&delivery.session)
            .expect("only a live agent hears");
        agent.turn = Some(delivery.turn);
        agent.fresh_because = None;
        self.disk.keep(&agent.conversation, delivery);
    }

    /// The turn that a session's agent works on.
    pub(crate) fn turn(&self, session: SessionId) -> Option<TurnId> {
        self.live.lock().unwrap().get(&session)?.turn
    }

    fn set_turn(&self, session: SessionId, turn: Option<TurnId>) {
        if let Some(live) = self.live.lock().unwrap().get_mut(&session) {
            live.turn = turn;
        }
    }

    /// The agent stops; its end is reported.
    pub(crate) async fn end_turn(&self, session: SessionId, outcome: &TurnOutcome) -> Result<()> {
        let turn = self.turn(session).expect("the agent is in a turn");
        self.set_turn(session, None);
        self.board.turn_ended(turn, self.name, outcome).await
    }

    /// The agent stops in this turn; its end is reported. When it works on another turn by now, only the late report is made.
    pub(crate) async fn end_this_turn(
        &self,
        session: SessionId,
        turn: TurnId,
        outcome: &TurnOutcome,
    ) -> Result<()> {
        if let Some(live) = self.live.lock().unwrap().get_mut(&session) {
            live.turn = live.turn.filter(|running| *running != turn);
        }
        self.board.turn_ended(turn, self.name, outcome).await
    }

    /// The agent's process dies and the board is told.
    pub(crate) async fn die(&self, session: SessionId) -> Result<()> {
        let live = self.live.lock().unwrap().remove(&session);
        match live.and_then(|l| l.turn) {
            Some(_) => {
                self.board
                    .session_failed(
                        session,
                        self.name,
                        "the agent died in the middle of its turn",
                    )
                    .await
            }
            None => self.board.session_released(session, self.name).await,
        }
    }

    /// The agent is gone and nobody notices.
    pub(crate) fn lose(&self, session: SessionId) {
        self.live.lock().unwrap().remove(&session);
    }

    /// From now on the session's agent cannot be started.
    pub(crate) fn break_agent(&self, session: SessionId) {
        self.broken.lock().unwrap().insert(session);
    }

    /// The session's agent can be started again.
    pub(crate) fn mend_agent(&self, session: SessionId) {
        self.broken.lock().unwrap().remove(&session);
    }

    pub(crate) fn is_live(&self, session: SessionId) -> bool {
        self.live.lock().unwrap().contains_key(&session)
    }

    /// The token that the session's live agent was given.
    pub(crate) fn token(&self, session: SessionId) -> Option<String> {
        self.live.lock().unwrap().get(&session)?.token.clone()
    }

    /// Permission answers handed to agents: their request ids and the options chosen.
    pub(crate) fn permissions(&self) -> Vec<(String, Option<String>)> {
        self.permissions.lock().unwrap().clone()
    }

    /// Sessions whose tools were rebuilt.
    pub(crate) fn refreshed(&self) -> Vec<SessionId> {
        self.refreshed.lock().unwrap().clone()
    }
}
