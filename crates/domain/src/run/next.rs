//! The call that a client is told to make next.
//!
//! Models follow it to the letter, so one that cannot be made is worse than none. The fields are private and each constructor
//! makes a whole call: tool, names and values that the tool takes. Only [`NextAction::run`] lacks something, and says what.

use crate::ids::{RunId, SessionId};
use serde::Serialize;

/// A call to make next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NextAction {
    tool: &'static str,
    args: Args,
    /// Arguments that only the caller knows; without any the call can be made as it stands.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    needs: &'static [&'static str],
    #[serde(skip_serializing_if = "Option::is_none")]
    ask_user: Option<&'static str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(untagged)]
enum Args {
    #[serde(rename_all = "camelCase")]
    Check {
        task_id: RunId,
        session_key: SessionId,
    },
    #[serde(rename_all = "camelCase")]
    Get {
        task_id: RunId,
        detail: &'static str,
    },
    #[serde(rename_all = "camelCase")]
    Run {
        session_key: SessionId,
    },
    List {
        view: &'static str,
    },
}

impl NextAction {
    /// Wait for the run.
    #[must_use]
    pub const fn check(run: RunId, session: SessionId) -> Self {
        Self {
            tool: "check_task",
            args: Args::Check {
                task_id: run,
                session_key: session,
            },
            needs: &[],
            ask_user: None,
        }
    }

    /// Wait for the run once a person has done something elsewhere; the sentence says what.
    #[must_use]
    pub const fn check_after(run: RunId, session: SessionId, ask_user: &'static str) -> Self {
        Self {
            ask_user: Some(ask_user),
            ..Self::check(run, session)
        }
    }

    /// Read the run's log.
    #[must_use]
    pub const fn updates(run: RunId) -> Self {
        Self {
            tool: "get_task",
            args: Args::Get {
                task_id: run,
                detail: "updates",
            },
            needs: &[],
            ask_user: None,
        }
    }

    /// Say something in the run's conversation; what, is for the caller to find out.
    #[must_use]
    pub const fn run(session: SessionId, ask_user: &'static str) -> Self {
        Self {
            tool: "run_task",
            args: Args::Run {
                session_key: session,
            },
            needs: &["task"],
            ask_user: Some(ask_user),
        }
    }

    /// Look at all runs.
    #[must_use]
    pub const fn list() -> Self {
        Self {
            tool: "list_tasks",
            args: Args::List { view: "all" },
            needs: &[],
            ask_user: None,
        }
    }

    /// What to tell or to ask the user before.
    #[must_use]
    pub const fn ask_user(&self) -> Option<&'static str> {
        self.ask_user
    }

    /// Whether the call can be made as it stands.
    #[must_use]
    pub const fn is_callable(&self) -> bool {
        self.needs.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_next_action_on_the_wire() {
        let (run, session) = (RunId::new(), SessionId::new());
        assert_eq!(
            json!(NextAction::check(run, session)),
            json!({"tool": "check_task", "args": {"taskId": run, "sessionKey": session}})
        );
        assert_eq!(
            json!(NextAction::run(session, "Ask.")),
            json!({"tool": "run_task", "args": {"sessionKey": session}, "needs": ["task"], "askUser": "Ask."})
        );
        assert!(NextAction::list().is_callable());
        assert!(!NextAction::run(session, "Ask.").is_callable());
    }
}
