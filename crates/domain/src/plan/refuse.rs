//! Refusals of writes to a plan: each says that nothing was written, what to do next, and which version the plan has.

use crate::error::{ErrorCode, Refusal};
use crate::ids::PlanVersion;
use serde_json::json;

/// What to do after a refusal, as a word for programs and models.
#[derive(Debug, Clone, Copy)]
pub enum Next {
    /// Read the plan and its version again.
    ReadAgain,
    /// Read it and copy the text from it.
    ReadAndCopy,
    /// Give more of the text around the place.
    Widen,
    /// Make a plan first.
    Create,
    /// Delete the plan if that is meant.
    DeleteInstead,
    /// Give some text.
    GiveText,
    /// Give a title that fits.
    GiveTitle,
    /// Leave the flag out.
    DropAllowTruncation,
    /// Edit or append, or allow it.
    EditOrAllow,
    /// Leave it to the operator.
    AskOperator,
    /// Read the revision again.
    ReadRevision,
    /// List the revisions.
    ListRevisions,
    /// Make it shorter.
    Shorten,
    /// Take the character out.
    RemoveNul,
    /// Begin within the plan.
    ReadFromStart,
}

impl Next {
    const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::ReadAgain => (
                "read_plan",
                "read the plan, look at what changed, and write again with its version",
            ),
            Self::ReadAndCopy => (
                "read_plan",
                "read the plan and copy old_text from it exactly, line breaks included",
            ),
            Self::Widen => (
                "extend_old_text",
                "put more of the text around the place into old_text and new_text",
            ),
            Self::Create => (
                "create_plan",
                "make the plan with the whole text and without expected_version",
            ),
            Self::DeleteInstead => (
                "send_content",
                "send the text, or delete the plan if it is to go",
            ),
            Self::GiveText => ("send_content", "send the text"),
            Self::GiveTitle => ("fix_title", "send another title or leave it out"),
            Self::DropAllowTruncation => ("drop_allow_truncation", "leave allow_truncation out"),
            Self::EditOrAllow => (
                "edit_or_allow_truncation",
                "use an exact edit or an append for a part; if most of it is to go, send the whole new text with \
                 allow_truncation and the current version",
            ),
            Self::AskOperator => (
                "ask_operator",
                "leave the plan as it is and tell the operator",
            ),
            Self::ReadRevision => (
                "read_revision",
                "read the revision and send its revision_version",
            ),
            Self::ListRevisions => ("list_revisions", "list the revisions of the plan"),
            Self::Shorten => ("shorten", "shorten the plan, or keep details in files"),
            Self::RemoveNul => ("remove_nul", "send it without that character"),
            Self::ReadFromStart => (
                "read_from_start",
                "read from offset 0 and go on with next_offset",
            ),
        }
    }
}

/// A refusal in the form that all of a plan's have.
#[must_use]
pub fn refusal(code: ErrorCode, what: &str, next: Next, at: Option<PlanVersion>) -> Refusal {
    let (action, words) = next.words();
    let version = at.map_or_else(|| "none".to_owned(), |version| version.to_string());
    Refusal {
        details: Some(json!({
            "write_applied": false,
            "next_action": action,
            "current_version": at,
        })),
        ..Refusal::new(
            code,
            format!(
                "{what}; write_applied=false; next_action={action} ({words}); current_version={version}"
            ),
        )
    }
}
