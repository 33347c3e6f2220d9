//! Why a provider gave no answer, as a type: the engine decides by it, never by text.

use domain::job::{ErrorClass, Failure};
use std::time::Duration;

/// What went wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Trouble {
    /// It was not there, or the connection broke, also in the middle of an answer.
    Connection,
    /// It took longer than it may.
    Timeout,
    /// Too many requests (429).
    RateLimited,
    /// It failed on its side (5xx, 408, 425).
    Server,
    /// The key is missing, wrong, or not enough (401, 403).
    Credentials,
    /// No such address or model (404), or nothing is configured.
    Setup,
    /// It did not take the request (other 4xx).
    Rejected,
    /// What it sent is no answer of its protocol.
    Unreadable,
    /// It answered with nothing.
    Empty,
    /// It declines to answer.
    Refused,
    /// The caller does not want the answer any more.
    Canceled,
}

impl Trouble {
    /// Whether another provider may be asked instead.
    #[must_use]
    pub const fn another_may_help(self) -> bool {
        match self {
            Self::Connection
            | Self::Timeout
            | Self::RateLimited
            | Self::Server
            | Self::Credentials
            | Self::Setup
            | Self::Rejected
            | Self::Unreadable
            | Self::Empty => true,
            Self::Refused | Self::Canceled => false,
        }
    }

    /// Whether the same request may succeed later.
    #[must_use]
    pub const fn passes(self) -> bool {
        match self {
            Self::Connection | Self::Timeout | Self::RateLimited | Self::Server => true,
            Self::Credentials
            | Self::Setup
            | Self::Rejected
            | Self::Unreadable
            | Self::Empty
            | Self::Refused
            | Self::Canceled => false,
        }
    }
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{provider}: {message}")]
pub struct ProviderError {
    /// Which provider, by its name in the chain.
    pub provider: String,
    /// What went wrong.
    pub trouble: Trouble,
    /// The HTTP status, when there was a response.
    pub status: Option<u16>,
    /// How long the provider asks to be left alone.
    pub retry_after: Option<Duration>,
    /// For the log and the operator; without keys and without addresses.
    pub message: String,
}

impl ProviderError {
    /// An error that no response came with.
    #[must_use]
    pub fn new(provider: &str, trouble: Trouble, message: impl Into<String>) -> Self {
        Self {
            provider: provider.to_owned(),
            trouble,
            status: None,
            retry_after: None,
            message: message.into(),
        }
    }
}

impl From<ProviderError> for Failure {
    /// As the engine judges it. A key that does not fit is the operator's to mend, never the user's.
    fn from(error: ProviderError) -> Self {
        let class = match error.trouble {
            Trouble::Connection | Trouble::Timeout | Trouble::RateLimited | Trouble::Server => {
                ErrorClass::TransientTransport
            }
            Trouble::Credentials | Trouble::Setup => ErrorClass::Config,
            // Usually the tools' schemas; the status does not say, so the words have to.
            Trouble::Rejected => match ErrorClass::from_text(&error.message) {
                ErrorClass::ToolSchema => ErrorClass::ToolSchema,
                ErrorClass::TransientTransport
                | ErrorClass::RunnerUnavailable
                | ErrorClass::UserActionable
                | ErrorClass::Unknown
                | ErrorClass::DeliveryPermanent
                | ErrorClass::DeliveryTransient
                | ErrorClass::Canceled
                | ErrorClass::Config
                | ErrorClass::SafetyRefusal => ErrorClass::Unknown,
            },
            Trouble::Unreadable => ErrorClass::ToolSchema,
            Trouble::Empty => ErrorClass::Unknown,
            Trouble::Refused => ErrorClass::SafetyRefusal,
            Trouble::Canceled => ErrorClass::Canceled,
        };
        let advised = error
            .retry_after
            .and_then(|wait| i64::try_from(wait.as_millis()).ok());
        Self::new(class, error.to_string()).retry_after(advised)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_trouble_has_the_class_that_the_engine_retries_by() {
        for (trouble, class) in [
            (Trouble::Connection, ErrorClass::TransientTransport),
            (Trouble::Timeout, ErrorClass::TransientTransport),
            (Trouble::RateLimited, ErrorClass::TransientTransport),
            (Trouble::Server, ErrorClass::TransientTransport),
            (Trouble::Credentials, ErrorClass::Config),
            (Trouble::Setup, ErrorClass::Config),
            (Trouble::Unreadable, ErrorClass::ToolSchema),
            (Trouble::Empty, ErrorClass::Unknown),
            (Trouble::Refused, ErrorClass::SafetyRefusal),
            (Trouble::Canceled, ErrorClass::Canceled),
        ] {
            let failure = Failure::from(ProviderError::new("openai", trouble, "permission 429"));
            assert_eq!(failure.class, class, "{trouble:?}");
            assert_eq!(failure.message, "openai: permission 429");
        }
    }

    #[test]
    fn advice_to_wait_and_the_words_of_a_rejection_are_kept() {
        let rejected = |message: &str| {
            let error = ProviderError {
                retry_after: Some(Duration::from_millis(1500)),
                ..ProviderError::new("p", Trouble::Rejected, message)
            };
            Failure::from(error)
        };
        assert_eq!(
            rejected("bad schema of tool x").class,
            ErrorClass::ToolSchema
        );
        assert_eq!(rejected("prompt is too long").class, ErrorClass::Unknown);
        assert_eq!(rejected("x").retry_after_ms, Some(1500));
    }
}
