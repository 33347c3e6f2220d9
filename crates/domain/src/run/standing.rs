//! Where a run stands, derived from the rows of its session.
//!
//! Nothing stores the status of a run that goes on: it is asked for, and answered from what the board knows anyway. So it cannot
//! differ from what the card shows, and a crash leaves nothing to bring into order.

use super::{RunStatus, TerminalReason};
use crate::message::MessageType;
use crate::session::SessionState;
use crate::time::Timestamp;
use crate::turn::TurnState;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// What the rows say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    /// The session's state; `None` when the session is gone.
    pub session: Option<SessionState>,
    /// The card is archived.
    pub archived: bool,
    /// A turn without an end.
    pub turn_open: bool,
    /// Prompts that wait in the session's queue, or are being sent.
    pub prompts: i64,
    /// One of them goes before all others, and although the queue is held.
    pub express: bool,
    /// The operator lets the queue go on.
    pub auto_run: bool,
    /// Permissions that the agent waits for.
    pub permissions: i64,
    /// Bundles of questions to the operator without an answer.
    pub questions: i64,
    /// Bundles whose answer is on its way to the agent.
    pub answers: i64,
    /// Questions to the parent without an answer.
    pub parent_questions: i64,
    /// The card waits for a place in its step.
    pub waits_for_place: bool,
    /// A start was asked for and waits.
    pub start_waits: bool,
    /// A predecessor is not completed.
    pub blocked: bool,
    /// The newest turn since the run began; `None` when there was none.
    pub last_turn: Option<TurnState>,
    /// When the first turn of the run began.
    pub started_at: Option<Timestamp>,
    /// Until when a node has the agent.
    pub lease_until: Option<Timestamp>,
    /// What the agent did last, when that is a tool call that has not ended.
    pub tool: Option<MessageType>,
}

/// What a run is doing at the moment; a short word for machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Its prompt waits.
    Queued,
    /// Its card waits for a place.
    WaitingForPlace,
    /// An agent is coming up.
    Starting,
    /// The agent thinks, or talks.
    Thinking,
    /// The agent uses a tool of this kind.
    Tool(MessageType),
    /// The host of the agent is gone; what it was given is looked for.
    Recovering,
    /// It waits for a person's answer.
    WaitingHuman,
    /// It waits for a person's permission.
    WaitingPermission,
    /// It waits for the agent of its parent.
    WaitingParent,
    /// It waits for another task.
    WaitingDependency,
    /// An operator holds its queue.
    Held,
    /// Over.
    Done,
}

impl Phase {
    /// One of each word.
    pub const ALL: [Self; 15] = [
        Self::Queued,
        Self::WaitingForPlace,
        Self::Starting,
        Self::Thinking,
        Self::Tool(MessageType::ToolRead),
        Self::Tool(MessageType::ToolEdit),
        Self::Tool(MessageType::ToolExecute),
        Self::Tool(MessageType::ToolCall),
        Self::Recovering,
        Self::WaitingHuman,
        Self::WaitingPermission,
        Self::WaitingParent,
        Self::WaitingDependency,
        Self::Held,
        Self::Done,
    ];

    /// The word on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::WaitingForPlace => "waiting_for_place",
            Self::Starting => "starting",
            Self::Thinking => "thinking",
            Self::Tool(MessageType::ToolRead) => "tool:read",
            Self::Tool(MessageType::ToolEdit) => "tool:edit",
            Self::Tool(MessageType::ToolExecute) => "tool:execute",
            Self::Tool(_) => "tool:other",
            Self::Recovering => "recovering",
            Self::WaitingHuman => "waiting_human",
            Self::WaitingPermission => "waiting_permission",
            Self::WaitingParent => "waiting_parent",
            Self::WaitingDependency => "waiting_dependency",
            Self::Held => "held",
            Self::Done => "done",
        }
    }
}

impl Serialize for Phase {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Phase {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = String::deserialize(deserializer)?;
        let phase = Self::ALL.into_iter().find(|phase| phase.as_str() == word);
        phase.ok_or_else(|| serde::de::Error::custom("phase must be a word that a run can be in"))
    }
}

/// Where a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It goes on, or waits.
    Live(RunStatus, Phase),
    /// The session rests, and the agent came to an end of its own: completed, with or without a text.
    Finished,
    /// The session rests, or is over, for this reason.
    Ended(RunStatus, TerminalReason),
}

/// The rule. Total: there is no combination of facts that it has no answer for.
#[must_use]
pub const fn standing(facts: &Facts) -> Standing {
    use RunStatus as S;
    use Standing::{Ended, Finished, Live};
    use TerminalReason as R;
    let busy = match facts.session {
        None => return Ended(S::Cancelled, R::Deleted),
        Some(SessionState::Cancelled) => return Ended(S::Cancelled, R::Stopped),
        Some(SessionState::Failed) => return Ended(S::Error, R::AgentFailed),
        Some(SessionState::Completed) => return by_last_turn(facts),
        Some(state) => state.is_busy(),
    };
    if facts.archived {
        return Ended(S::Cancelled, R::Stopped);
    }
    // A person first: whoever waits for one waits whatever else goes on.
    if facts.questions > 0 {
        return Live(S::NeedsHuman, Phase::WaitingHuman);
    }
    if facts.permissions > 0 {
        return Live(S::NeedsHuman, Phase::WaitingPermission);
    }
    if facts.turn_open || busy {
        return Live(
            S::Running,
            match (facts.turn_open, busy, facts.tool) {
                (true, false, _) => Phase::Recovering,
                (false, _, _) => Phase::Starting,
                (true, true, Some(kind)) => Phase::Tool(kind),
                (true, true, None) => Phase::Thinking,
            },
        );
    }
    if facts.parent_questions > 0 {
        return Live(S::Blocked, Phase::WaitingParent);
    }
    // Once it has begun it must not be seen to go backwards.
    let begun = facts.last_turn.is_some();
    let waiting = if begun { S::Running } else { S::Queued };
    if facts.answers > 0 {
        return Live(S::Running, Phase::Starting);
    }
    if facts.prompts > 0 {
        if facts.waits_for_place {
            return Live(waiting, Phase::WaitingForPlace);
        }
        if !facts.auto_run && !facts.express {
            return Live(S::Blocked, Phase::Held);
        }
        let phase = if begun {
            Phase::Starting
        } else {
            Phase::Queued
        };
        return Live(waiting, phase);
    }
    if facts.start_waits {
        return if facts.blocked {
            Live(S::Blocked, Phase::WaitingDependency)
        } else {
            Live(waiting, Phase::WaitingForPlace)
        };
    }
    match facts.last_turn {
        // Recorded as open, and yet no turn is: the end of it is about to be written.
        Some(TurnState::Dispatching | TurnState::Open) => Live(S::Running, Phase::Recovering),
        None => Ended(S::Cancelled, R::Withdrawn),
        Some(TurnState::Completed) => Finished,
        Some(TurnState::Cancelled | TurnState::Failed | TurnState::Interrupted) => {
            by_last_turn(facts)
        }
    }
}

/// How a run ended whose session does nothing more.
const fn by_last_turn(facts: &Facts) -> Standing {
    use RunStatus as S;
    use TerminalReason as R;
    match facts.last_turn {
        Some(TurnState::Completed | TurnState::Dispatching | TurnState::Open) => Standing::Finished,
        Some(TurnState::Cancelled) => Standing::Ended(S::Cancelled, R::TurnCancelled),
        Some(TurnState::Failed) => Standing::Ended(S::Error, R::TurnFailed),
        Some(TurnState::Interrupted) => Standing::Ended(S::Error, R::Interrupted),
        None => Standing::Ended(S::Cancelled, R::Withdrawn),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_is_read_back_as_it_was_said() {
        for phase in Phase::ALL {
            let said = serde_json::to_string(&phase).unwrap();
            assert_eq!(serde_json::from_str::<Phase>(&said).unwrap(), phase);
        }
        assert!(serde_json::from_str::<Phase>("\"sideways\"").is_err());
    }

    /// A run whose agent has ended its only turn.
    const RESTING: Facts = Facts {
        session: Some(SessionState::WaitingForInput),
        archived: false,
        turn_open: false,
        prompts: 0,
        express: false,
        auto_run: true,
        permissions: 0,
        questions: 0,
        answers: 0,
        parent_questions: 0,
        waits_for_place: false,
        start_waits: false,
        blocked: false,
        last_turn: Some(TurnState::Completed),
        started_at: None,
        lease_until: None,
        tool: None,
    };
    const FRESH: Facts = Facts {
        session: Some(SessionState::Created),
        prompts: 1,
        last_turn: None,
        ..RESTING
    };
    const WORKING: Facts = Facts {
        session: Some(SessionState::Running),
        turn_open: true,
        last_turn: Some(TurnState::Open),
        ..RESTING
    };

    #[test]
    fn what_the_rows_say() {
        use RunStatus as S;
        use Standing::{Ended, Finished, Live};
        use TerminalReason as R;
        let cases = [
            ("a new run", FRESH, Live(S::Queued, Phase::Queued)),
            (
                "its agent comes up",
                Facts {
                    session: Some(SessionState::Starting),
                    ..FRESH
                },
                Live(S::Running, Phase::Starting),
            ),
            ("at work", WORKING, Live(S::Running, Phase::Thinking)),
            (
                "editing",
                Facts {
                    tool: Some(MessageType::ToolEdit),
                    ..WORKING
                },
                Live(S::Running, Phase::Tool(MessageType::ToolEdit)),
            ),
            (
                "a question in the turn",
                Facts {
                    session: Some(SessionState::WaitingForInput),
                    questions: 1,
                    ..WORKING
                },
                Live(S::NeedsHuman, Phase::WaitingHuman),
            ),
            (
                "a permission in the turn",
                Facts {
                    permissions: 1,
                    ..WORKING
                },
                Live(S::NeedsHuman, Phase::WaitingPermission),
            ),
            (
                "a question left behind by a turn that ended: the run goes on",
                Facts {
                    questions: 1,
                    ..RESTING
                },
                Live(S::NeedsHuman, Phase::WaitingHuman),
            ),
            (
                "its answer on the way",
                Facts {
                    answers: 1,
                    prompts: 1,
                    ..RESTING
                },
                Live(S::Running, Phase::Starting),
            ),
            (
                "asked its parent, the turn not over yet",
                Facts {
                    parent_questions: 1,
                    ..WORKING
                },
                Live(S::Running, Phase::Thinking),
            ),
            (
                "waits for its parent",
                Facts {
                    parent_questions: 1,
                    ..RESTING
                },
                Live(S::Blocked, Phase::WaitingParent),
            ),
            (
                "waits for another task",
                Facts {
                    prompts: 0,
                    start_waits: true,
                    blocked: true,
                    ..FRESH
                },
                Live(S::Blocked, Phase::WaitingDependency),
            ),
            (
                "waits for a place",
                Facts {
                    waits_for_place: true,
                    ..FRESH
                },
                Live(S::Queued, Phase::WaitingForPlace),
            ),
            (
                "more to come",
                Facts {
                    prompts: 1,
                    ..RESTING
                },
                Live(S::Running, Phase::Starting),
            ),
            (
                "held by the operator",
                Facts {
                    prompts: 1,
                    auto_run: false,
                    ..RESTING
                },
                Live(S::Blocked, Phase::Held),
            ),
            (
                "an answer goes although the queue is held",
                Facts {
                    prompts: 1,
                    auto_run: false,
                    express: true,
                    ..RESTING
                },
                Live(S::Running, Phase::Starting),
            ),
            (
                "the host is gone, its prompt is looked for",
                Facts {
                    session: Some(SessionState::WaitingForInput),
                    ..WORKING
                },
                Live(S::Running, Phase::Recovering),
            ),
            ("over", RESTING, Finished),
            (
                "over, in a session that was retired",
                Facts {
                    session: Some(SessionState::Completed),
                    ..RESTING
                },
                Finished,
            ),
            (
                "cancelled",
                Facts {
                    last_turn: Some(TurnState::Cancelled),
                    ..RESTING
                },
                Ended(S::Cancelled, R::TurnCancelled),
            ),
            (
                "failed",
                Facts {
                    last_turn: Some(TurnState::Failed),
                    ..RESTING
                },
                Ended(S::Error, R::TurnFailed),
            ),
            (
                "interrupted",
                Facts {
                    last_turn: Some(TurnState::Interrupted),
                    ..RESTING
                },
                Ended(S::Error, R::Interrupted),
            ),
            (
                "the prompt was taken back",
                Facts {
                    prompts: 0,
                    ..FRESH
                },
                Ended(S::Cancelled, R::Withdrawn),
            ),
            (
                "stopped",
                Facts {
                    session: Some(SessionState::Cancelled),
                    ..WORKING
                },
                Ended(S::Cancelled, R::Stopped),
            ),
            (
                "the agent died",
                Facts {
                    session: Some(SessionState::Failed),
                    prompts: 1,
                    ..WORKING
                },
                Ended(S::Error, R::AgentFailed),
            ),
            (
                "deleted",
                Facts {
                    session: None,
                    ..WORKING
                },
                Ended(S::Cancelled, R::Deleted),
            ),
        ];
        for (name, facts, expected) in cases {
            assert_eq!(standing(&facts), expected, "{name}");
        }
    }

    /// Every combination of what can be pending: a run that ended has nothing pending, and one with something pending goes on.
    #[test]
    fn a_run_never_ends_while_something_is_pending() {
        for bits in 0u32..1 << 9 {
            let bit = |n: u32| bits & (1 << n) != 0;
            for state in [
                SessionState::Created,
                SessionState::Starting,
                SessionState::Running,
                SessionState::WaitingForInput,
                SessionState::Idle,
            ] {
                let facts = Facts {
                    session: Some(state),
                    turn_open: bit(0),
                    prompts: i64::from(bit(1)),
                    express: bit(1) && bit(2),
                    auto_run: bit(3),
                    permissions: i64::from(bit(4)),
                    questions: i64::from(bit(5)),
                    answers: i64::from(bit(6)),
                    parent_questions: i64::from(bit(7)),
                    start_waits: bit(8),
                    ..RESTING
                };
                let pending = state.is_busy() || bits & 0b1_1111_0011 != 0;
                let live = matches!(standing(&facts), Standing::Live(..));
                assert_eq!(live, pending, "{facts:?}");
            }
        }
    }
}
