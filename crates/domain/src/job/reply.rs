//! What the user is told. A reason for a failure loses what must not leave: secrets, addresses with credentials, stack traces.

use crate::redact::redact;

/// Longest reason for a user, in characters.
pub const LONGEST_REASON: usize = 300;
/// Longest error kept for operators, in characters.
pub const LONGEST_ERROR: usize = 2_000;

/// The first answer, while the work has only begun.
#[must_use]
pub fn accepted(correlation_id: &str) -> String {
    format!("I have begun to work on this. Reference: {correlation_id}")
}

/// The notice that a job was given up.
#[must_use]
pub fn failed(correlation_id: &str, error: &str) -> String {
    let reason = reason(error);
    let because = if reason.is_empty() {
        String::new()
    } else {
        format!("\nReason: {reason}")
    };
    format!("I could not complete your request. Reference: {correlation_id}{because}")
}

/// The word that the user's own machine has the job now.
#[must_use]
pub fn handed_over(correlation_id: &str, runner: &str) -> String {
    format!("Your machine {runner} has taken over your request. Reference: {correlation_id}")
}

/// An error in words that a user may read: one line of at most [`LONGEST_REASON`] characters.
#[must_use]
pub fn reason(error: &str) -> String {
    let mut kept = String::new();
    for line in error.lines() {
        let line = line.trim();
        if starts_trace(line) {
            break;
        }
        if line.is_empty() || is_frame(line) {
            continue;
        }
        if !kept.is_empty() {
            kept.push(' ');
        }
        kept.push_str(line);
    }
    cut(&redact(&kept), LONGEST_REASON)
}

/// An error as it is kept.
#[must_use]
pub fn kept(error: &str) -> String {
    cut(error, LONGEST_ERROR)
}

fn starts_trace(line: &str) -> bool {
    let line = line.to_ascii_lowercase();
    [
        "stack backtrace:",
        "traceback (most recent",
        "backtrace:",
        "stack trace:",
    ]
    .iter()
    .any(|start| line.starts_with(start))
}

/// A line of a stack trace, as the usual languages print it.
fn is_frame(line: &str) -> bool {
    let numbered = line.split_once(':').is_some_and(|(number, rest)| {
        !number.is_empty()
            && number.bytes().all(|byte| byte.is_ascii_digit())
            && rest.contains("::")
    });
    line.starts_with("at ")
        || line.starts_with("File \"")
        || line.starts_with("goroutine ")
        || numbered
}

fn cut(text: &str, characters: usize) -> String {
    if text.chars().count() <= characters {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(characters.saturating_sub(1)).collect();
    short.push('…');
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_must_not_leave_does_not() {
        for error in [
            "failed: Authorization: Bearer s3cret",
            "GET https://user:s3cret@example.org/v1 failed",
            "GET https://example.org/v1?api_key=s3cret failed",
            "it broke\nstack backtrace:\n   0: core::s3cret",
            "it broke\n    at Object.s3cret (/srv/app.js:1:2)",
            "it broke\nTraceback (most recent call last):\n  File \"s3cret.py\", line 1",
            "it broke\n  File \"s3cret.py\", line 1",
            "it broke\n  12: server::s3cret::run",
            "key sk-s3cret0123456789 is wrong",
        ] {
            let text = failed("aij_x", error);
            assert!(!text.contains("s3cret"), "{error} became {text}");
            assert!(text.contains("aij_x"));
        }
    }

    #[test]
    fn reasons_are_one_line_and_cut() {
        assert_eq!(reason("a\n\n b "), "a b");
        assert_eq!(reason(&"ü".repeat(400)).chars().count(), 300);
        assert_eq!(reason(&"x".repeat(300)), "x".repeat(300));
        assert_eq!(kept(&"x".repeat(3_000)).chars().count(), 2_000);
        assert_eq!(
            failed("aij_x", ""),
            "I could not complete your request. Reference: aij_x"
        );
        assert!(accepted("aij_x").contains("aij_x"));
    }
}
