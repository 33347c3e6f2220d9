//! What went wrong, in classes that decide what follows.
//!
//! Classes come from typed errors: the client that met the error knows whether it was a status, a time-out or a refusal. Only
//! where nothing but a text is left is the text looked at ([`ErrorClass::from_text`]).

use serde::{Deserialize, Serialize};

words! {
    /// Kinds of failure.
    ErrorClass("error class") {
        /// The network, a time-out, an overloaded server.
        TransientTransport = "transient_transport",
        /// The user's own machine is not there.
        RunnerUnavailable = "runner_unavailable",
        /// A tool or its arguments did not fit.
        ToolSchema = "tool_schema",
        /// Only the user can mend it.
        UserActionable = "user_actionable",
        /// Anything else.
        Unknown = "unknown",
        /// The platform will never take this message: the user blocks it, or is unknown.
        DeliveryPermanent = "delivery_permanent",
        /// The platform did not take the message this time.
        DeliveryTransient = "delivery_transient",
        /// The job was canceled under way.
        Canceled = "canceled",
        /// Something is missing in the settings; an operator has to mend it.
        Config = "config",
        /// The model or its provider declines to answer.
        SafetyRefusal = "safety_refusal",
    }
}

impl ErrorClass {
    /// The last resort: a class from the words of an error. The runner comes first, since its texts hold the other words too.
    #[must_use]
    pub fn from_text(text: &str) -> Self {
        let text = text.to_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
        if has(&["runner"]) && has(&["offline", "unavailable"]) {
            Self::RunnerUnavailable
        } else if has(&["timed out", "timeout", "503", "429", "unavailable"]) {
            Self::TransientTransport
        } else if has(&["tool", "schema", "json"]) {
            Self::ToolSchema
        } else if has(&["permission", "unauthorized", "forbidden"]) {
            Self::UserActionable
        } else {
            Self::Unknown
        }
    }

    /// Whether a failure message to the user could arrive at all.
    #[must_use]
    pub const fn reaches_user(self) -> bool {
        !matches!(self, Self::DeliveryPermanent)
    }
}

/// One failure of one attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{class}: {message}")]
pub struct Failure {
    /// What kind.
    pub class: ErrorClass,
    /// What happened, for operators. It may hold anything; see [`super::reply::reason`] before a user sees it.
    pub message: String,
    /// The other side said not to come back before this many milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<i64>,
}

impl Failure {
    /// A failure of a known kind.
    pub fn new(class: ErrorClass, message: impl Into<String>) -> Self {
        Self {
            class,
            message: message.into(),
            retry_after_ms: None,
        }
    }

    /// A failure of which nothing but its text is known.
    pub fn from_text(message: impl Into<String>) -> Self {
        let message = message.into();
        Self::new(ErrorClass::from_text(&message), message)
    }

    /// With the other side's advice when to come back.
    #[must_use]
    pub const fn retry_after(mut self, millis: Option<i64>) -> Self {
        self.retry_after_ms = millis;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_a_last_resort_with_the_runner_first() {
        use ErrorClass as C;
        for (text, class) in [
            ("The request timed out", C::TransientTransport),
            ("TIMEOUT", C::TransientTransport),
            ("HTTP 503", C::TransientTransport),
            ("status 429", C::TransientTransport),
            ("service Unavailable", C::TransientTransport),
            ("Runner unavailable", C::RunnerUnavailable),
            ("your runner laptop is offline", C::RunnerUnavailable),
            ("runner unavailable: timed out", C::RunnerUnavailable),
            ("bad JSON", C::ToolSchema),
            ("tool failed", C::ToolSchema),
            ("missing permission", C::UserActionable),
            ("Unauthorized", C::UserActionable),
            ("Forbidden", C::UserActionable),
            ("", C::Unknown),
            ("something else", C::Unknown),
        ] {
            assert_eq!(C::from_text(text), class, "{text}");
        }
    }
}
