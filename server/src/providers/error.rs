//! Why a provider could not be asked, or did not do as asked; in words for a person, without tokens and addresses.

use std::time::Duration;

/// Why it came to nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProviderError {
    /// Nothing is set up that reaches it: what to do about that.
    NotSetUp(String),
    /// It did not answer: how.
    Unanswered(&'static str),
    /// It wants to be left alone for so long.
    Limited(Duration),
    /// It knows no such thing, or does not show it to the token's user.
    NotFound,
    /// It takes no token, or not this one.
    Unauthorized,
    /// It refused, with its status and its own words, cut.
    Refused {
        /// The status of the answer.
        status: u16,
        /// What it said.
        said: String,
    },
    /// Its answer is not as documented: in which way.
    Unreadable(&'static str),
}

impl ProviderError {
    /// How long the provider wants to be left alone.
    #[must_use]
    pub const fn wait(&self) -> Option<Duration> {
        match self {
            Self::Limited(wait) => Some(*wait),
            Self::NotSetUp(_)
            | Self::Unanswered(_)
            | Self::NotFound
            | Self::Unauthorized
            | Self::Refused { .. }
            | Self::Unreadable(_) => None,
        }
    }
}

impl std::fmt::Display for ProviderError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotSetUp(what) => f.write_str(what),
            Self::Unanswered(how) => write!(f, "the provider {how}"),
            // Without the seconds: they differ each time, and who reads this has nothing of them.
            Self::Limited(_) => f.write_str("the provider asks to be left alone for a while"),
            Self::NotFound => f.write_str(
                "the provider knows no such request, or does not show it to this token's user: check the number and what the token may \
                 read",
            ),
            Self::Unauthorized => {
                f.write_str("the provider does not take the token: set another one and start again")
            }
            Self::Refused { status, said } => write!(f, "the provider refused ({status}): {said}"),
            Self::Unreadable(how) => write!(f, "the provider's answer {how}"),
        }
    }
}

impl std::error::Error for ProviderError {}
