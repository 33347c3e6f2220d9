//! Who issues a command.

use domain::error::Refusal;
use domain::ids::{SessionId, TaskId, TokenId};
use domain::workflow::Mover;

/// Who issues a command. Made from a verified credential at the door, never from a payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Actor {
    /// The person at the machine.
    Operator,
    /// An agent, as the session its token was made for.
    Agent {
        /// The session's task.
        task: TaskId,
        /// The session.
        session: SessionId,
    },
    /// An outside client with an access token.
    External {
        /// Which token.
        token: TokenId,
    },
    /// Flightdeck itself.
    System,
}

impl Actor {
    /// The word for the log.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Operator | Self::External { .. } => "human",
            Self::Agent { .. } => "agent",
            Self::System => "system",
        }
    }

    /// Who moves a card, for the history. What an outside client does has no session to be attributed to.
    #[must_use]
    pub const fn mover(self) -> Mover {
        match self {
            Self::Operator => Mover::Human,
            Self::Agent { .. } => Mover::Agent,
            Self::External { .. } | Self::System => Mover::System,
        }
    }

    /// The agent's session.
    #[must_use]
    pub const fn session(self) -> Option<SessionId> {
        match self {
            Self::Agent { session, .. } => Some(session),
            Self::Operator | Self::External { .. } | Self::System => None,
        }
    }

    /// The agent's task.
    #[must_use]
    pub const fn task(self) -> Option<TaskId> {
        match self {
            Self::Agent { task, .. } => Some(task),
            Self::Operator | Self::External { .. } | Self::System => None,
        }
    }

    /// Refuses everybody but the operator.
    pub fn require_operator(self) -> Result<(), Refusal> {
        match self {
            Self::Operator => Ok(()),
            Self::Agent { .. } | Self::External { .. } | Self::System => {
                Err(Refusal::forbidden("only the operator may do this"))
            }
        }
    }

    /// Refuses everybody but the operator and outside clients, which act for one.
    pub fn require_person(self) -> Result<(), Refusal> {
        match self {
            Self::Operator | Self::External { .. } => Ok(()),
            Self::Agent { .. } | Self::System => Err(Refusal::forbidden(
                "only the operator, or a client that acts for one, may do this",
            )),
        }
    }

    /// The task and session of an agent; everybody else has no session of their own.
    pub fn require_agent(self) -> Result<(TaskId, SessionId), Refusal> {
        match self {
            Self::Agent { task, session } => Ok((task, session)),
            Self::Operator | Self::External { .. } | Self::System => Err(Refusal::forbidden(
                "only an agent's own session may do this",
            )),
        }
    }
}
