//! Operators who sign in, and what they may know of the tokens of outside clients.

use crate::error::Refusal;
use crate::ids::{OperatorId, TokenId, WorkspaceId};
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};

/// Longest name of an operator, in code points.
pub const MAX_NAME: usize = 64;
/// Fewest code points of a password.
pub const MIN_PASSWORD: usize = 10;
/// Most bytes of a password: hashing must not be made long by a long text.
pub const MAX_PASSWORD: usize = 1024;
/// How long a browser stays signed in, in milliseconds.
pub const SIGNED_IN_MS: i64 = 30 * 24 * 60 * 60 * 1_000;

/// An operator's account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperatorView {
    /// Which one.
    pub id: OperatorId,
    /// The name to sign in with.
    pub name: String,
    /// When the account was made.
    pub created_at: Timestamp,
    /// When somebody last signed in with it.
    pub last_signed_in_at: Option<Timestamp>,
}

/// An access token, without what it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenView {
    /// Which one.
    pub id: TokenId,
    /// Which client it is for.
    pub name: String,
    /// The workspaces that it reaches; all when nothing is said.
    pub workspaces: Option<Vec<TokenWorkspace>>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was last shown, to within a minute.
    pub last_used_at: Option<Timestamp>,
    /// Since when it counts no more.
    pub revoked_at: Option<Timestamp>,
}

/// A workspace that a token reaches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenWorkspace {
    /// Which one.
    pub id: WorkspaceId,
    /// What it is called.
    pub name: String,
}

/// A token that was just made: the only moment at which it can be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewToken {
    /// What is kept of it.
    pub info: TokenView,
    /// The token itself.
    pub token: String,
}

/// A name as it is kept.
///
/// # Errors
///
/// When it is empty, longer than [`MAX_NAME`], or holds what cannot be seen.
pub fn check_name(name: &str) -> Result<String, Refusal> {
    crate::name::check("name", name, MAX_NAME, "say what to sign in with")
}

/// The form in which names are compared: whoever signs in may type it in any case.
#[must_use]
pub fn name_key(name: &str) -> String {
    name.trim().to_lowercase()
}

/// The answer to a sign-in that failed: it does not say which of the two was wrong.
#[must_use]
pub fn not_right() -> Refusal {
    Refusal::unauthorized("name or password are not right: try again")
}

/// Whether a password may be chosen.
///
/// # Errors
///
/// When it is shorter than [`MIN_PASSWORD`] or longer than [`MAX_PASSWORD`]. What it is made of is nobody's business.
pub fn check_password(password: &str) -> Result<(), Refusal> {
    let length = password.chars().count();
    if length < MIN_PASSWORD {
        return Err(Refusal::validation(format!(
            "the password has {length} characters and needs {MIN_PASSWORD}"
        )));
    }
    if password.len() > MAX_PASSWORD {
        return Err(Refusal::validation(format!(
            "the password has more than {MAX_PASSWORD} bytes"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_trimmed_and_compared_without_case() {
        assert_eq!(check_name("  Ada Lovelace ").unwrap(), "Ada Lovelace");
        assert_eq!(name_key(" ADA "), name_key("ada"));
        for bad in ["", "   ", "a\nb", "a\u{0}b", &"x".repeat(MAX_NAME + 1)] {
            assert!(check_name(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn passwords_have_a_least_and_a_greatest_length() {
        for bad in ["", "short", "123456789", &"x".repeat(MAX_PASSWORD + 1)] {
            assert!(check_password(bad).is_err());
        }
        for good in ["1234567890", "ééééééééééé", "a b c d e f "] {
            check_password(good).unwrap();
        }
    }
}
