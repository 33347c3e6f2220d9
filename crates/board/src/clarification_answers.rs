//! Answers to questions: in the call that waits, or, when none does, as a prompt of their own (task-domain 5.3, 5.6).
//!
//! A call that waits gets the answer in the transaction that records it. A detached question of a session whose turn still runs
//! is answered by a prompt that is durable at once and follows that turn. A detached question of a session at rest is *claimed*:
//! the answer is queued and the bundle is `responding`; it is recorded as answered in the transaction in which the agent takes
//! the prompt, and only then does the operator's call succeed. A claim that comes to nothing is given back, and the question is
//! open again:
//!
//! | What happens | The prompt | The bundle |
//! |---|---|---|
//! | the agent takes the prompt | becomes a turn | answered |
//! | the agent cannot be started, or takes too long to come up | goes | pending, can be answered again |
//! | the host goes away before the prompt was attempted | goes | pending at the next start |
//! | the host, or the agent, goes away after it was attempted | stays: the agent's history decides about it | answered |
//! | the session is stopped | goes | expired: a stop wins over both |
//!
//! The first claim, answer or skip wins; whoever comes later gets what the first recorded, with `claimed: false`.

use crate::clarifications::owned;
use crate::prompts::{NewPrompt, check_open};
use crate::reach::within;
use crate::standing::active_bundles;
use crate::transition::{Work, load_session, load_task};
use crate::{Actor, Board, BoardError, Result, Topic};
use domain::clarification::{
    Claim, Clarification, ClarificationAnswer, ClarificationCommand, ClarificationStatus, Standing,
    response,
};
use domain::error::Refusal;
use domain::ids::{ClarificationId, PromptId};
use domain::message::MessageType;
use domain::question::Question;
use domain::queue::{Lane, QueuedBy, QueuedState};
use domain::session::Session;
use domain::view::{ClarificationOutcome, MessageOutcome};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::sync::watch;

impl Board {
    /// The operator's answer, or skip, from the page or through an outside client. The first one wins; a later one gets
    /// `claimed: false` and what was recorded. An answer that must be brought to the agent as a prompt of its own returns when the
    /// agent has taken it.
    pub async fn clarification_respond(
        &self,
        actor: &Actor,
        id: ClarificationId,
        answer: &ClarificationAnswer,
    ) -> Result<ClarificationOutcome> {
        actor.require_person()?;
        // Before the database is asked, so that nothing is missed.
        let mut changes = self.signals().subscribe(Topic::Clarifications);
        let claimed = self.answer_or_claim(actor, id, answer).await?;
        if claimed.status != ClarificationStatus::Responding {
            return Ok(claimed);
        }
        // Who came second may have read the first one's claim before it was committed; what is read from here on must show it.
        self.settled().await?;
        let patience = Duration::from_millis(self.settings().answer_wait_ms);
        let settled = tokio::time::timeout(patience, self.claim_settled(id, &mut changes)).await;
        let bundle = match settled {
            Ok(bundle) => bundle?,
            Err(_) => self.give_up(id).await?,
        };
        match bundle.status {
            ClarificationStatus::Answered | ClarificationStatus::Rejected => {
                Ok(outcome(&bundle, claimed.claimed))
            }
            ClarificationStatus::Pending | ClarificationStatus::Responding => {
                Err(self.not_delivered(&bundle).await?)
            }
            ClarificationStatus::Expired | ClarificationStatus::Cancelled => {
                Err(moved_on(bundle.status).into())
            }
        }
    }

    async fn answer_or_claim(
        &self,
        actor: &Actor,
        id: ClarificationId,
        answer: &ClarificationAnswer,
    ) -> Result<ClarificationOutcome> {
        let mut work = self.begin().await?;
        if let Some(bundle) = store::clarifications::find(&mut work.tx, id).await? {
            let task = load_task(&mut work.tx, bundle.task_id).await?;
            within(&mut work.tx, actor, task.workspace_id, "question").await?;
        }
        let outcome = work.answer_bundle(self, id, answer).await?;
        if outcome.claimed {
            work.commit().await?;
        }
        Ok(outcome)
    }

    /// The bundle once no answer is on its way any more.
    async fn claim_settled(
        &self,
        id: ClarificationId,
        changes: &mut watch::Receiver<u64>,
    ) -> Result<Clarification> {
        loop {
            let found = store::clarifications::find(&mut self.snapshot().await?, id).await?;
            let bundle = found.ok_or_else(|| Refusal::not_found("question"))?;
            if bundle.status != ClarificationStatus::Responding {
                return Ok(bundle);
            }
            if changes.changed().await.is_err() {
                return Err(shutting_down().into());
            }
        }
    }

    /// The wait is over: gives the claim back, unless the agent may have the answer already.
    async fn give_up(&self, id: ClarificationId) -> Result<Clarification> {
        let mut work = self.begin().await?;
        let found = store::clarifications::find(&mut work.tx, id).await?;
        let mut bundle = found.ok_or_else(|| Refusal::not_found("question"))?;
        if work.settle_claim(&mut bundle).await? {
            work.commit().await?;
        }
        Ok(bundle)
    }

    async fn not_delivered(&self, bundle: &Clarification) -> Result<BoardError> {
        let session = load_session(&mut self.snapshot().await?, bundle.session_id).await?;
        let why = session
            .error_message
            .unwrap_or_else(|| "its agent did not come up in time.".to_owned());
        Ok(Refusal::unavailable(format!(
            "the answer was not delivered: {why} The question is open again: answer it once more"
        ))
        .into())
    }

    /// Says the answer to a question that is history as an ordinary message to its session.
    pub async fn clarification_say(
        &self,
        actor: &Actor,
        id: ClarificationId,
        answer: &ClarificationAnswer,
    ) -> Result<MessageOutcome> {
        actor.require_operator()?;
        let mut work = self.begin().await?;
        let found = store::clarifications::find(&mut work.tx, id).await?;
        let bundle = owned(actor, found)?;
        if !matches!(
            bundle.status,
            ClarificationStatus::Expired | ClarificationStatus::Cancelled
        ) {
            return Err(Refusal::conflict(format!(
                "the question is {}: only one that has expired is answered by a message",
                bundle.status
            ))
            .into());
        }
        if answer.rejected {
            return Err(
                Refusal::validation("there is nothing to skip: answer, or leave it").into(),
            );
        }
        let result = response(&bundle.questions, answer)?;
        let task = load_task(&mut work.tx, bundle.task_id).await?;
        let mut session = load_session(&mut work.tx, bundle.session_id).await?;
        let text = in_words(&bundle.questions, &result);
        let outcome = work
            .operator_prompt(&task, &mut session, &text, true)
            .await?;
        work.mark_said(&bundle).await?;
        work.commit().await?;
        Ok(outcome)
    }
}

impl Work {
    /// Records an answer where its call still waits, or puts it on its way; `claimed` says whether anything was written.
    pub(crate) async fn answer_bundle(
        &mut self,
        board: &Board,
        id: ClarificationId,
        answer: &ClarificationAnswer,
    ) -> Result<ClarificationOutcome> {
        let mut bundle = store::clarifications::find(&mut self.tx, id)
            .await?
            .ok_or_else(|| Refusal::not_found("question"))?;
        match bundle.status {
            ClarificationStatus::Pending => {}
            ClarificationStatus::Responding
            | ClarificationStatus::Answered
            | ClarificationStatus::Rejected => {
                return Ok(outcome(&bundle, false));
            }
            ClarificationStatus::Expired | ClarificationStatus::Cancelled => {
                return Err(moved_on(bundle.status).into());
            }
        }
        let mut session = load_session(&mut self.tx, bundle.session_id).await?;
        let stands = active_bundles(&mut self.tx, &session)
            .await?
            .into_iter()
            .find_map(|(active, stands)| (active.id == id).then_some(stands));
        let result = response(&bundle.questions, answer)?;
        let command = if answer.rejected {
            ClarificationCommand::Reject
        } else {
            ClarificationCommand::Answer
        };
        match (stands, command) {
            (None | Some(Standing::Over), _) => {
                return Err(moved_on(ClarificationStatus::Expired).into());
            }
            (Some(Standing::Detached), ClarificationCommand::Answer) => {
                self.bring_answer(board, &mut bundle, &mut session, result)
                    .await?;
            }
            // A skip of a detached bundle is stored and wakes nobody.
            (Some(Standing::Live | Standing::Detached), _) => {
                self.end_bundle(&mut bundle, command, Some(result)).await?;
            }
        }
        Ok(outcome(&bundle, true))
    }

    /// Brings an answer to an agent that no longer waits for it.
    async fn bring_answer(
        &mut self,
        board: &Board,
        bundle: &mut Clarification,
        session: &mut Session,
        result: Value,
    ) -> Result<()> {
        let task = load_task(&mut self.tx, bundle.task_id).await?;
        check_open(&task)?;
        let runs_on = store::turns::open(&mut self.tx, session.id)
            .await?
            .is_some_and(|turn| Some(turn.id) == bundle.turn_id);
        let mut prompt = NewPrompt::plain(in_words(&bundle.questions, &result), QueuedBy::User);
        prompt.lane = Lane::Express;
        prompt
            .metadata
            .insert("pending_id".to_owned(), json!(bundle.id));
        let admitted = self.admit(&task, session, prompt).await?;
        let carrier = admitted.queue_entry_id.filter(|_| !runs_on);
        let command = match carrier {
            Some(prompt) => {
                bundle.claim = Some(Claim {
                    prompt,
                    holder: board.node_name(),
                    until: self.now.plus_millis(
                        i64::try_from(board.settings().answer_wait_ms)
                            .unwrap_or(i64::MAX / 2)
                            .saturating_add(CLAIM_SLACK_MS),
                    ),
                });
                ClarificationCommand::Claim
            }
            None => ClarificationCommand::Answer,
        };
        self.clarification(bundle, command, Some(result)).await?;
        self.task_event(&task).await
    }

    /// The agent has taken the prompt that carries an answer, or may have: it is given for good.
    pub(crate) async fn answer_given(&mut self, bundle: &mut Clarification) -> Result<()> {
        let response = bundle.response.take();
        self.clarification(bundle, ClarificationCommand::Answer, response)
            .await?;
        Ok(())
    }

    /// An agent has taken a prompt: if it carries an answer, that is given now.
    pub(crate) async fn answer_taken(&mut self, prompt: PromptId) -> Result<()> {
        match store::clarifications::claimed_by(&mut self.tx, prompt).await? {
            Some(mut bundle) => self.answer_given(&mut bundle).await,
            None => Ok(()),
        }
    }

    /// Takes the prompt of an answer back that is on its way; answers false when the agent may have it already.
    pub(crate) async fn recall_answer(&mut self, bundle: &Clarification) -> Result<bool> {
        let Some(claim) = &bundle.claim else {
            return Ok(true);
        };
        match store::queue::find(&mut self.tx, claim.prompt).await? {
            Some(row) if row.state == QueuedState::Attempted => Ok(false),
            Some(row) => {
                store::queue::delete(&mut self.tx, row.id).await?;
                self.queue_event(row.task_id, row.session_id).await?;
                Ok(true)
            }
            None => Ok(true),
        }
    }

    /// Ends a claim that nobody sees through any more; answers whether there was one.
    pub(crate) async fn settle_claim(&mut self, bundle: &mut Clarification) -> Result<bool> {
        if bundle.status != ClarificationStatus::Responding {
            return Ok(false);
        }
        if self.recall_answer(bundle).await? {
            self.clarification(bundle, ClarificationCommand::Release, None)
                .await?;
            let task = load_task(&mut self.tx, bundle.task_id).await?;
            self.task_event(&task).await?;
        } else {
            self.answer_given(bundle).await?;
        }
        Ok(true)
    }

    /// An agent that was started only to be given an answer did not come up: gives the claims of its session back. Answers
    /// whether there was one.
    pub(crate) async fn release_claims(&mut self, session: &Session) -> Result<bool> {
        let mut any = false;
        for mut bundle in store::clarifications::open_of_session(&mut self.tx, session.id).await? {
            any |= self.settle_claim(&mut bundle).await?;
        }
        Ok(any)
    }

    /// Notes on the messages of an expired bundle that it was answered by an ordinary one.
    async fn mark_said(&mut self, bundle: &Clarification) -> Result<()> {
        let Some(turn) = bundle.turn_id else {
            return Ok(());
        };
        let kind = MessageType::ClarificationRequest;
        let asked = store::messages::of_turn(&mut self.tx, bundle.session_id, turn, kind).await?;
        for message in asked
            .into_iter()
            .filter(|m| m.metadata.get("pending_id") == Some(&json!(bundle.id)))
        {
            let said = serde_json::Map::from_iter([("said_later".to_owned(), json!(true))]);
            store::messages::merge_metadata(&mut self.tx, message.id, said, self.now).await?;
            self.message_updated(&message).await?;
        }
        Ok(())
    }
}

/// How much longer than its wait a claim holds before others take it for abandoned, in milliseconds.
const CLAIM_SLACK_MS: i64 = 30_000;

fn outcome(bundle: &Clarification, claimed: bool) -> ClarificationOutcome {
    ClarificationOutcome {
        success: true,
        claimed,
        status: bundle.status,
        response: bundle.response.clone(),
    }
}

fn moved_on(status: ClarificationStatus) -> Refusal {
    Refusal::conflict(format!(
        "the question is {status}: its agent has moved on; send what you want to say as a new message"
    ))
}

fn shutting_down() -> Refusal {
    Refusal::unavailable("the server is shutting down: look at the question again when it is back")
}

/// Question and answer in words, for an agent that no longer waits for the tool's result.
fn in_words(questions: &[Question], response: &Value) -> String {
    let mut text = String::from("You asked earlier:\n");
    for question in questions {
        let answer = response.get(&question.id);
        let option = answer
            .and_then(|a| a.pointer("/selected_option/label"))
            .and_then(Value::as_str);
        let custom = answer
            .and_then(|a| a.get("custom_text"))
            .and_then(Value::as_str);
        let words: Vec<&str> = option.into_iter().chain(custom).collect();
        text.push_str(&format!(
            "\n{}\nAnswer: {}\n",
            question.prompt,
            words.join("; ")
        ));
    }
    text
}
