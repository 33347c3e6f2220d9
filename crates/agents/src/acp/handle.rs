//! The handle to a running agent.

use std::{fmt, sync::Arc};

use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::{
    connection::{Connection, OpenPrompt, cancelled, selected},
    error::AgentError,
    session::{Chosen, Offer, Step, Subject},
};
use crate::event::{Exit, TurnEnd};

/// A running agent, in one conversation. Cheap to clone; when the last clone is dropped, the agent is ended.
#[derive(Clone)]
pub struct AgentHandle {
    inner: Arc<Inner>,
}

struct Inner {
    connection: Arc<Connection>,
    session_id: String,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.connection.stop();
    }
}

impl fmt::Debug for AgentHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentHandle")
            .field("session_id", &self.inner.session_id)
            .finish_non_exhaustive()
    }
}

/// What is said to an agent in one turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    /// Context that is for the agent alone: a first text block of its own.
    pub hidden: Option<String>,
    /// What the operator or another agent said.
    pub text: String,
}

/// The answer to a permission request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PermissionOutcome {
    /// One of the options, by its id.
    Selected(String),
    /// No choice: the turn is being cancelled, or nobody is there to choose.
    Cancelled,
}

impl AgentHandle {
    pub(super) fn new(connection: Arc<Connection>, session_id: String) -> Self {
        Self {
            inner: Arc::new(Inner {
                connection,
                session_id,
            }),
        }
    }

    /// Starts a turn. Returns at once; the result says when the agent has the prompt and when the turn is over.
    ///
    /// # Errors
    ///
    /// [`AgentError::Busy`] while another prompt is open, [`AgentError::Exited`] when the process is gone. In both
    /// cases nothing was sent.
    pub fn prompt(&self, prompt: &Prompt) -> Result<PromptInFlight, AgentError> {
        let mut blocks = Vec::with_capacity(2);
        blocks.extend(prompt.hidden.as_deref().map(text_block));
        blocks.push(text_block(&prompt.text));
        let params = json!({"sessionId": self.inner.session_id, "prompt": blocks});
        let OpenPrompt {
            number,
            accepted,
            ended,
        } = self.inner.connection.prompt(&params)?;
        Ok(PromptInFlight {
            number,
            accepted,
            ended,
            connection: Arc::clone(&self.inner.connection),
        })
    }

    /// Asks the agent to stop its turn, and gives up every permission request that is open or still to come in it.
    /// The turn ends by the agent's own answer, normally with
    /// [`StopReason::Cancelled`](crate::event::StopReason::Cancelled); an agent may take its time or never answer.
    ///
    /// Says whether there was a turn to cancel.
    pub fn cancel(&self) -> bool {
        self.inner.connection.cancel()
    }

    /// Puts a wish to the agent between two turns. A refusal is told, and is no reason not to work.
    ///
    /// # Errors
    ///
    /// [`AgentError::Exited`] when the process went away.
    pub async fn choose(
        &self,
        offer: &mut Offer,
        subject: Subject,
        wanted: &str,
    ) -> Result<Chosen, AgentError> {
        let (method, params) = match offer.step(&self.inner.session_id, subject, wanted) {
            Step::Nothing => return Ok(Chosen::Set),
            Step::NotOffered => return Ok(Chosen::NotOffered),
            Step::Call { method, params } => (method, params),
        };
        let Ok(answer) = self.inner.connection.call(method, &params, false).await else {
            return Err(self.inner.connection.exited_error().await);
        };
        Ok(match answer.result {
            Ok(answer) => {
                offer.granted(subject, wanted, &answer);
                Chosen::Set
            }
            Err(error) => Chosen::Refused(error.message),
        })
    }

    /// Answers a permission request.
    ///
    /// # Errors
    ///
    /// [`AgentError::NoSuchPermission`] when it is not open: answered before, cancelled, or of another process.
    pub fn respond_permission(
        &self,
        request_id: &str,
        outcome: &PermissionOutcome,
    ) -> Result<(), AgentError> {
        let outcome = match outcome {
            PermissionOutcome::Selected(option_id) => selected(option_id),
            PermissionOutcome::Cancelled => cancelled(),
        };
        self.inner
            .connection
            .answer_permission(request_id, &outcome)
    }

    /// Ends the agent and everything it started, and waits until it is gone. Calling it again does no harm.
    pub async fn shutdown(&self) -> Exit {
        self.inner.connection.stop();
        self.inner.connection.gone().await
    }

    /// Waits until the process is gone, for whatever reason. Events may still be on their way then;
    /// [`AgentEvent::Exited`](crate::AgentEvent::Exited) is the last of them.
    pub async fn closed(&self) -> Exit {
        self.inner.connection.gone().await
    }

    /// The last lines that the agent wrote on standard error.
    #[must_use]
    pub fn stderr_tail(&self) -> Vec<String> {
        self.inner.connection.stderr_tail()
    }
}

/// A prompt on its way. Dropping it does not cancel the turn.
pub struct PromptInFlight {
    number: u64,
    accepted: oneshot::Receiver<()>,
    ended: oneshot::Receiver<Result<TurnEnd, AgentError>>,
    connection: Arc<Connection>,
}

impl PromptInFlight {
    /// Number of the prompt within this process, from 1; the turn's end event carries it.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Waits until the prompt is out of our hands: written to the agent's input and flushed.
    ///
    /// # Errors
    ///
    /// [`AgentError::Exited`] when the process went away first. Whether the agent saw the prompt is then unknown.
    pub async fn accepted(&mut self) -> Result<(), AgentError> {
        if self.accepted.is_terminated() {
            return Ok(());
        }
        match (&mut self.accepted).await {
            Ok(()) => Ok(()),
            Err(_) => Err(self.connection.exited_error().await),
        }
    }

    /// Waits for the end of the turn. All its events are in the channel by then.
    ///
    /// # Errors
    ///
    /// [`AgentError::Exited`] when the process ended in the middle, [`AgentError::AuthRequired`] and
    /// [`AgentError::Refused`] when the agent answered with an error, [`AgentError::Malformed`] when the answer makes
    /// no sense.
    pub async fn ended(self) -> Result<TurnEnd, AgentError> {
        match self.ended.await {
            Ok(result) => result,
            Err(_) => Err(self.connection.exited_error().await),
        }
    }
}

fn text_block(text: &str) -> Value {
    json!({"type": "text", "text": text})
}
