//! What keeps agents from talking without end (rulings 20).
//!
//! Two agents that answer one another politely would go on for ever and fill each other's queues. Three limits stop them: the
//! length of a chain of replies, the traffic of a pair, and one sender's share of a queue (in [`crate::queue::room`]). All are
//! settings; 0 switches one off. Questions to a parent and their answers carry their chain on and count as traffic, but are never
//! refused here: a child must not be left without its answer. What follows from them is.

use crate::error::Refusal;
use crate::ids::{SessionId, TaskId};
use crate::time::Timestamp;
use serde_json::{Value, json};

/// The limits in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Guards {
    /// How many messages may follow from one another before a person has to say something.
    pub max_hops: i64,
    /// How many messages two tasks may exchange within [`Self::pair_window_ms`].
    pub pair_limit: i64,
    /// The window of [`Self::pair_limit`], in milliseconds.
    pub pair_window_ms: i64,
    /// One sender's share of a queue, in percent of its capacity.
    pub share_percent: usize,
}

impl Default for Guards {
    fn default() -> Self {
        Self {
            max_hops: 20,
            pair_limit: 30,
            pair_window_ms: 10 * 60 * 1_000,
            share_percent: 50,
        }
    }
}

impl Guards {
    /// How many of `max` places one sender may hold: always one at least. `None` is without limit.
    #[must_use]
    pub fn share_of(&self, max: usize) -> Option<usize> {
        if max == 0 || self.share_percent == 0 {
            return None;
        }
        Some((max.saturating_mul(self.share_percent) / 100).max(1))
    }
}

/// What two correspondents exchanged within the window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Messages in both directions.
    pub messages: i64,
    /// When the first of them was sent.
    pub oldest: Option<Timestamp>,
}

/// Two correspondents as one word, whoever writes: two tasks, or two sessions of one task.
#[must_use]
pub fn pair(one: (TaskId, SessionId), other: (TaskId, SessionId)) -> String {
    let (one, other) = if one.0 == other.0 {
        (one.1.to_string(), other.1.to_string())
    } else {
        (one.0.to_string(), other.0.to_string())
    };
    if one <= other {
        format!("{one} {other}")
    } else {
        format!("{other} {one}")
    }
}

/// The number of a message in its chain: one more than that of the message that its sender's turn came of, or the first.
#[must_use]
pub const fn hop(came_of: Option<i64>) -> i64 {
    match came_of {
        Some(earlier) => earlier.saturating_add(1),
        None => 1,
    }
}

/// Refuses a message that would make its chain too long, and one more between two that have written enough.
pub fn check(guards: &Guards, hop: i64, traffic: Traffic, now: Timestamp) -> Result<(), Refusal> {
    if guards.max_hops > 0 && hop > guards.max_hops {
        return Err(limited(
            format!(
                "this would be message {hop} of a chain of replies in which no person has spoken, and {} are allowed: stop here. \
                 Do not send it again; end your turn and say in your result what is still open",
                guards.max_hops
            ),
            "hops",
            guards.pair_window_ms,
            json!({"hops": hop, "max": guards.max_hops}),
        ));
    }
    if guards.pair_limit > 0 && traffic.messages >= guards.pair_limit {
        let free_at = traffic
            .oldest
            .map_or(now, |oldest| oldest.plus_millis(guards.pair_window_ms));
        let wait = free_at.since(now).max(1);
        return Err(limited(
            format!(
                "you and that task have exchanged {} messages within {} minutes, which is the limit: wait {} seconds, or go on \
                 without it. Come to an agreement in fewer and fuller messages",
                traffic.messages,
                guards.pair_window_ms / 60_000,
                (wait + 999) / 1_000
            ),
            "pair",
            wait,
            json!({"messages": traffic.messages, "max": guards.pair_limit, "window_ms": guards.pair_window_ms}),
        ));
    }
    Ok(())
}

/// A refusal of one of the guards. `retry_after_ms` is a time before which trying again cannot help.
pub(crate) fn limited(message: String, guard: &str, retry_after_ms: i64, more: Value) -> Refusal {
    let mut details = json!({"guard": guard, "retry_after_ms": retry_after_ms});
    if let (Some(details), Value::Object(more)) = (details.as_object_mut(), more) {
        details.extend(more);
    }
    Refusal::rate_limited(message, details)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorCode;

    const NOW: Timestamp = Timestamp::from_millis(1_000_000);

    fn details(refused: Result<(), Refusal>) -> Value {
        let refusal = refused.unwrap_err();
        assert_eq!(refusal.code, ErrorCode::RateLimited);
        refusal.details.unwrap()
    }

    #[test]
    fn a_chain_may_have_so_many_messages_and_no_more() {
        let guards = Guards::default();
        let quiet = Traffic::default();
        assert_eq!((hop(None), hop(Some(1)), hop(Some(20))), (1, 2, 21));
        assert!(check(&guards, 20, quiet, NOW).is_ok());
        let refused = details(check(&guards, 21, quiet, NOW));
        assert_eq!(
            (&refused["guard"], &refused["max"]),
            (&json!("hops"), &json!(20))
        );
        assert!(refused["retry_after_ms"].as_i64().unwrap() > 0);
        let without = Guards {
            max_hops: 0,
            ..guards
        };
        assert!(check(&without, 10_000, quiet, NOW).is_ok());
    }

    #[test]
    fn a_pair_is_told_when_its_window_has_room_again() {
        let guards = Guards::default();
        let traffic = |messages| Traffic {
            messages,
            oldest: Some(NOW.plus_millis(-60_000)),
        };
        assert!(check(&guards, 1, traffic(29), NOW).is_ok());
        let refused = details(check(&guards, 1, traffic(30), NOW));
        assert_eq!(refused["guard"], "pair");
        assert_eq!(refused["retry_after_ms"], 9 * 60_000);
        let without = Guards {
            pair_limit: 0,
            ..guards
        };
        assert!(check(&without, 1, traffic(10_000), NOW).is_ok());
    }

    #[test]
    fn a_pair_is_the_same_from_both_sides() {
        let (a, b) = (
            (TaskId::new(), SessionId::new()),
            (TaskId::new(), SessionId::new()),
        );
        assert_eq!(pair(a, b), pair(b, a));
        assert_eq!(
            pair(a, b),
            pair((a.0, SessionId::new()), b),
            "whatever the session"
        );
        let sibling = (a.0, SessionId::new());
        assert_eq!(pair(a, sibling), pair(sibling, a));
        assert_ne!(pair(a, sibling), pair(a, (a.0, SessionId::new())));
    }

    #[test]
    fn a_share_is_half_and_never_nothing() {
        let guards = Guards::default();
        assert_eq!(guards.share_of(10), Some(5));
        assert_eq!(guards.share_of(3), Some(1));
        assert_eq!(guards.share_of(1), Some(1));
        assert_eq!(guards.share_of(0), None);
        assert_eq!(
            Guards {
                share_percent: 0,
                ..guards
            }
            .share_of(10),
            None
        );
    }
}
