//! A task's plan: one text, written by its agent and its operator, with a history.
//!
//! Whoever writes says which version he read. [`decide`] compares it with the plan as it stands, guards against a fragment that
//! would replace the whole, and gives the text to store; it normalises nothing, so what comes out is byte for byte what went in.
//! A refusal changes nothing and says so in words that a model can act on ([`refuse`]).

mod refuse;
mod text;
mod wire;

pub use refuse::{Next, refusal};
pub use text::{DEFAULT_LIMIT, MAX_LIMIT, MAX_OFFSET, Page, append, page, replace_one};
pub use wire::{
    PlanChange, PlanPage, PlanRange, PlanRead, PlanRevisionEntry, PlanRevisionView, PlanRevisions,
    PlanView, PlanWritten, RestorePlan, WritePlan,
};

use crate::error::{ErrorCode, Refusal};
use crate::ids::{PlanId, PlanRevisionId, PlanVersion, SessionId, TaskId};
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};

/// The title of a plan that was given none.
pub const DEFAULT_TITLE: &str = "Plan";
/// Longest title, in code points.
pub const MAX_TITLE: usize = 200;
/// Longest plan, in bytes of UTF-8, measured on the text as it would be stored.
pub const MAX_BYTES: usize = 256 * 1024;
/// A plan of at least so many code points is guarded against a write that keeps less than half of them.
pub const GUARDED_CHARACTERS: usize = 2_000;

words! {
    /// Who wrote a plan or a revision of it.
    PlanAuthorKind("author_kind") {
        /// An agent.
        Agent = "agent",
        /// The operator.
        User = "user",
    }
}

/// Who writes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanAuthor {
    /// An agent or the operator.
    pub kind: PlanAuthorKind,
    /// The agent's name; empty for the operator.
    pub name: String,
    /// The agent's session: two agents of one name are two authors.
    pub session_id: Option<SessionId>,
}

impl PlanAuthor {
    fn is_same(&self, other: &Self) -> bool {
        self.kind == other.kind && self.session_id == other.session_id
    }
}

/// A task's plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Its id; a plan that is made after another one was deleted has a new one.
    pub id: PlanId,
    /// The task.
    pub task_id: TaskId,
    /// One line.
    pub title: String,
    /// The text, exactly as written.
    pub content: String,
    /// Who made it.
    pub created_by: PlanAuthorKind,
    /// Changes with each write.
    pub version: PlanVersion,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was last written.
    pub updated_at: Timestamp,
    /// The last time that it was to be carried out; no part of what the version stands for.
    pub implementation: Option<Implementation>,
}

/// That a plan is to be carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Implementation {
    /// When somebody asked for it.
    pub started_at: Timestamp,
    /// Who.
    pub started_by: PlanAuthorKind,
    /// The session that worked on the task then. The step in which the turn begins may choose another one.
    pub session_id: SessionId,
}

/// What a plan was after a write, or after several of one author in a short time. Outlives its plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanRevision {
    /// Its id.
    pub id: PlanRevisionId,
    /// The task.
    pub task_id: TaskId,
    /// The plan it belongs to, which may be gone.
    pub plan_id: PlanId,
    /// Counts up within the task.
    pub number: i64,
    /// Changes when a later write is merged into it.
    pub version: PlanVersion,
    /// The title then.
    pub title: String,
    /// The text then.
    pub content: String,
    /// Who wrote it.
    pub author: PlanAuthor,
    /// The revision that this one brought back.
    pub revert_of: Option<PlanRevisionId>,
    /// When it was begun.
    pub created_at: Timestamp,
    /// When something was last merged into it.
    pub updated_at: Timestamp,
}

/// What is to be done to a plan.
#[derive(Debug, Clone, Copy)]
pub enum PlanCommand<'a> {
    /// Makes it, or replaces it like [`Self::Replace`].
    Create {
        /// Kept, or [`DEFAULT_TITLE`], when left out.
        title: Option<&'a str>,
        /// The whole text.
        content: &'a str,
    },
    /// Puts another text in its place.
    Replace {
        /// Kept when left out.
        title: Option<&'a str>,
        /// The whole text.
        content: &'a str,
    },
    /// Adds to its end, after one blank line. Doing it again adds again.
    Append {
        /// Kept when left out.
        title: Option<&'a str>,
        /// What is added.
        fragment: &'a str,
    },
    /// Replaces the one place where a text stands.
    Edit {
        /// The text, letter for letter.
        old_text: &'a str,
        /// What stands there afterwards.
        new_text: &'a str,
    },
    /// Brings back what a revision holds.
    Restore {
        /// The revision.
        revision: &'a PlanRevision,
        /// The version of it that was read.
        expected_revision_version: Option<&'a str>,
    },
}

/// A command and what its sender knows and allows.
#[derive(Debug, Clone, Copy)]
pub struct PlanWrite<'a> {
    /// See [`PlanCommand`].
    pub command: PlanCommand<'a>,
    /// The version of the plan that was read.
    pub expected_version: Option<&'a str>,
    /// Most of a long plan may go.
    pub allow_truncation: bool,
}

/// What follows from a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlanDecision {
    /// The plan is so already.
    AlreadyCurrent,
    /// The plan becomes this.
    Write {
        /// Its title.
        title: String,
        /// Its text.
        content: String,
        /// It must have a revision of its own, whoever wrote the last one.
        separate: bool,
        /// The revision that it brings back.
        revert_of: Option<PlanRevisionId>,
    },
}

/// Judges a write to the plan `head`, the last revision of which is `latest`.
pub fn decide(
    head: Option<&Plan>,
    latest: Option<&PlanRevision>,
    write: &PlanWrite<'_>,
) -> Result<PlanDecision, Refusal> {
    let at = head.map(|plan| plan.version);
    let appends = matches!(write.command, PlanCommand::Append { .. });
    if appends && write.allow_truncation {
        return Err(refusal(
            ErrorCode::PlanAppendTruncationNotApplicable,
            "an append takes nothing away, so allow_truncation does not apply",
            Next::DropAllowTruncation,
            at,
        ));
    }
    check_version(head, write)?;
    let (title, content, revert_of) = compose(head, write)?;
    if content.trim().is_empty() {
        return Err(refusal(
            ErrorCode::PlanContentRequired,
            "a plan cannot be empty",
            Next::DeleteInstead,
            at,
        ));
    }
    if content.contains('\0') {
        return Err(refusal(
            ErrorCode::Validation,
            "a plan cannot hold the character U+0000",
            Next::RemoveNul,
            at,
        ));
    }
    if content.len() > MAX_BYTES {
        return Err(refusal(
            ErrorCode::Validation,
            &format!(
                "the plan would have {} bytes of UTF-8; at most {MAX_BYTES} are kept",
                content.len()
            ),
            Next::Shorten,
            at,
        ));
    }
    let Some(plan) = head else {
        return Ok(PlanDecision::Write {
            title,
            content,
            separate: true,
            revert_of,
        });
    };
    if plan.title == title && plan.content == content {
        return Ok(PlanDecision::AlreadyCurrent);
    }
    let cuts = truncates(&plan.content, &content);
    if cuts {
        check_truncation(plan, latest, write)?;
    }
    Ok(PlanDecision::Write {
        title,
        content,
        separate: cuts || revert_of.is_some(),
        revert_of,
    })
}

/// Whether a write of `author` at `now` is merged into the revision `latest` rather than given one of its own. A window of zero
/// gives each write its own.
#[must_use]
pub fn merges(
    latest: &PlanRevision,
    plan: PlanId,
    author: &PlanAuthor,
    now: Timestamp,
    window_ms: i64,
) -> bool {
    latest.plan_id == plan
        && latest.revert_of.is_none()
        && latest.author.is_same(author)
        && now.since(latest.created_at) < window_ms
}

/// Compares the version that a reader holds with the plan as it stands. A reader that holds none reads what there is.
pub fn check_read(head: Option<&Plan>, expected: Option<&str>) -> Result<(), Refusal> {
    let at = head.map(|plan| plan.version);
    match (at, expected) {
        (_, None) => Ok(()),
        (Some(version), Some(expected)) if version.to_string() == expected => Ok(()),
        (_, Some(_)) => Err(conflict(at)),
    }
}

fn conflict(at: Option<PlanVersion>) -> Refusal {
    let what = match at {
        Some(_) => "the plan was written by somebody else since you read it",
        None => "there is no plan any more of the version that you read",
    };
    refusal(
        ErrorCode::PlanVersionConflict,
        what,
        if at.is_some() {
            Next::ReadAgain
        } else {
            Next::Create
        },
        at,
    )
}

fn check_version(head: Option<&Plan>, write: &PlanWrite<'_>) -> Result<(), Refusal> {
    check_read(head, write.expected_version)?;
    let at = head.map(|plan| plan.version);
    let makes = matches!(
        write.command,
        PlanCommand::Create { .. } | PlanCommand::Restore { .. }
    );
    let appends = matches!(write.command, PlanCommand::Append { .. });
    match (head, write.expected_version) {
        (None, _) if makes => Ok(()),
        (None, _) => Err(refusal(
            ErrorCode::PlanHeadUnavailable,
            "the task has no plan",
            Next::Create,
            at,
        )),
        (Some(_), None) if !appends => Err(refusal(
            ErrorCode::PlanVersionRequired,
            "the task has a plan: to change it, say in expected_version which version of it you read",
            Next::ReadAgain,
            at,
        )),
        (Some(_), _) => Ok(()),
    }
}

type Composed = (String, String, Option<PlanRevisionId>);

fn compose(head: Option<&Plan>, write: &PlanWrite<'_>) -> Result<Composed, Refusal> {
    let at = head.map(|plan| plan.version);
    let kept = || head.map_or(DEFAULT_TITLE, |plan| plan.title.as_str());
    let titled = |title: Option<&str>| check_title(title.unwrap_or_else(|| kept()), at);
    let before = head.map_or("", |plan| plan.content.as_str());
    match write.command {
        PlanCommand::Create { title, content } | PlanCommand::Replace { title, content } => {
            Ok((titled(title)?, content.to_owned(), None))
        }
        PlanCommand::Append { title, fragment } => {
            if fragment.trim().is_empty() {
                return Err(refusal(
                    ErrorCode::PlanContentRequired,
                    "there is nothing to append",
                    Next::GiveText,
                    at,
                ));
            }
            Ok((titled(title)?, append(before, fragment), None))
        }
        PlanCommand::Edit { old_text, new_text } => {
            let content =
                replace_one(before, old_text, new_text).map_err(|problem| match problem {
                    text::EditProblem::NothingToFind => refusal(
                        ErrorCode::PlanEditTextRequired,
                        "old_text is empty",
                        Next::GiveText,
                        at,
                    ),
                    text::EditProblem::NotFound => refusal(
                        ErrorCode::PlanEditNotFound,
                        "old_text is not in the plan, letter for letter",
                        Next::ReadAndCopy,
                        at,
                    ),
                    text::EditProblem::Ambiguous => refusal(
                        ErrorCode::PlanEditAmbiguous,
                        "old_text is in the plan more than once (overlaps count)",
                        Next::Widen,
                        at,
                    ),
                })?;
            Ok((kept().to_owned(), content, None))
        }
        PlanCommand::Restore {
            revision,
            expected_revision_version,
        } => {
            let Some(expected) = expected_revision_version else {
                return Err(refusal(
                    ErrorCode::PlanRevisionVersionRequired,
                    "say in expected_revision_version which version of the revision you read",
                    Next::ReadRevision,
                    at,
                ));
            };
            if revision.version.to_string() != expected {
                return Err(refusal(
                    ErrorCode::PlanRevisionChanged,
                    "a later write was merged into the revision since you read it",
                    Next::ReadRevision,
                    at,
                ));
            }
            Ok((
                revision.title.clone(),
                revision.content.clone(),
                Some(revision.id),
            ))
        }
    }
}

fn check_title(title: &str, at: Option<PlanVersion>) -> Result<String, Refusal> {
    let fits = !title.trim().is_empty()
        && title.chars().count() <= MAX_TITLE
        && !title.chars().any(char::is_control);
    if fits {
        return Ok(title.to_owned());
    }
    Err(refusal(
        ErrorCode::Validation,
        &format!("the title must be one line of 1 to {MAX_TITLE} characters"),
        Next::GiveTitle,
        at,
    ))
}

/// Whether a write keeps less than half of a long plan.
fn truncates(before: &str, after: &str) -> bool {
    let before = before.chars().count();
    before >= GUARDED_CHARACTERS && after.chars().count() * 2 < before
}

fn check_truncation(
    plan: &Plan,
    latest: Option<&PlanRevision>,
    write: &PlanWrite<'_>,
) -> Result<(), Refusal> {
    if !write.allow_truncation {
        return Err(refusal(
            ErrorCode::PlanTruncationRejected,
            "the write would keep less than half of a long plan, as a fragment sent for the whole would",
            Next::EditOrAllow,
            Some(plan.version),
        ));
    }
    let kept = latest.is_some_and(|revision| {
        revision.plan_id == plan.id
            && revision.content == plan.content
            && revision.title == plan.title
    });
    if kept {
        Ok(())
    } else {
        Err(refusal(
            ErrorCode::PlanHistoryUnavailable,
            "the history does not hold the plan as it stands, so most of it would be lost for good",
            Next::AskOperator,
            Some(plan.version),
        ))
    }
}

#[cfg(test)]
mod tests;
