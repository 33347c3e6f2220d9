//! What comes in about plans through a door, and what goes out.

use super::{Page, Plan, PlanAuthorKind, PlanCommand, PlanRevision};
use crate::ids::{PlanId, PlanRevisionId, PlanVersion, SessionId, TaskId};
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};

/// Writes a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WritePlan {
    /// What becomes of it.
    pub change: PlanChange,
    /// The version that was read; needed when there is a plan, except for an append.
    pub expected_version: Option<String>,
    /// Most of a long plan may go.
    pub allow_truncation: bool,
}

/// See [`PlanCommand`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the fields are those of `PlanCommand`")]
pub enum PlanChange {
    /// Makes it, or replaces it.
    Create {
        title: Option<String>,
        content: String,
    },
    /// Puts another text in its place.
    Replace {
        title: Option<String>,
        content: String,
    },
    /// Adds to its end.
    Append {
        title: Option<String>,
        fragment: String,
    },
    /// Replaces the one place where a text stands.
    Edit { old_text: String, new_text: String },
}

impl PlanChange {
    /// The command it is.
    #[must_use]
    pub fn command(&self) -> PlanCommand<'_> {
        match self {
            Self::Create { title, content } => PlanCommand::Create {
                title: title.as_deref(),
                content,
            },
            Self::Replace { title, content } => PlanCommand::Replace {
                title: title.as_deref(),
                content,
            },
            Self::Append { title, fragment } => PlanCommand::Append {
                title: title.as_deref(),
                fragment,
            },
            Self::Edit { old_text, new_text } => PlanCommand::Edit { old_text, new_text },
        }
    }
}

/// Brings a revision back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RestorePlan {
    /// Which one.
    pub revision_id: PlanRevisionId,
    /// The version of the plan that was read; none when there is no plan any more.
    pub expected_version: Option<String>,
    /// The version of the revision that was read.
    pub expected_revision_version: Option<String>,
}

/// Which part of a plan to read: all of it when neither offset nor limit is given.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PlanRange {
    /// Where to begin, in code points.
    pub offset: Option<u64>,
    /// How many code points.
    pub limit: Option<u64>,
    /// The version that an earlier range was of.
    pub expected_version: Option<String>,
}

/// A plan as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanView {
    /// Its id.
    pub id: PlanId,
    /// The task.
    pub task_id: TaskId,
    /// One line.
    pub title: String,
    /// Who made it.
    pub created_by: PlanAuthorKind,
    /// To be sent with the next write.
    pub version: PlanVersion,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was last written.
    pub updated_at: Timestamp,
    /// When its operator last asked for it to be carried out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub implementation_started_at: Option<Timestamp>,
    /// Who asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub implementation_started_by: Option<PlanAuthorKind>,
    /// The session that worked on the task then; the step in which the turn begins may choose another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub implementation_started_session_id: Option<SessionId>,
    /// Exactly what was written.
    pub content: String,
}

impl From<Plan> for PlanView {
    fn from(plan: Plan) -> Self {
        Self {
            id: plan.id,
            task_id: plan.task_id,
            title: plan.title,
            created_by: plan.created_by,
            version: plan.version,
            created_at: plan.created_at,
            updated_at: plan.updated_at,
            implementation_started_at: plan.implementation.map(|mark| mark.started_at),
            implementation_started_by: plan.implementation.map(|mark| mark.started_by),
            implementation_started_session_id: plan.implementation.map(|mark| mark.session_id),
            content: plan.content,
        }
    }
}

/// A plan, or a range of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PlanRead {
    /// The plan; its content is the range when one was asked for.
    #[serde(flatten)]
    pub plan: PlanView,
    /// Where the range lies, when one was asked for.
    #[serde(flatten)]
    pub page: Option<PlanPage>,
}

/// Where a range lies within its plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PlanPage {
    /// Always true: this is a range.
    pub partial: bool,
    /// Code points of the whole.
    pub total_characters: u64,
    /// Bytes of the whole.
    pub total_content_bytes: usize,
    /// Where it begins.
    pub offset: u64,
    /// How many code points it may have.
    pub limit: u64,
    /// How many it has.
    pub returned_characters: u64,
    /// How many bytes it has.
    pub content_bytes: usize,
    /// There is more behind it.
    pub has_more: bool,
    /// Where the next one begins; null at the end.
    pub next_offset: Option<u64>,
}

impl PlanPage {
    /// The place of a range in a text of `bytes` bytes.
    #[must_use]
    pub fn of(page: &Page<'_>, bytes: usize) -> Self {
        Self {
            partial: true,
            total_characters: page.total,
            total_content_bytes: bytes,
            offset: page.offset,
            limit: page.limit,
            returned_characters: page.returned,
            content_bytes: page.text.len(),
            has_more: page.next_offset().is_some(),
            next_offset: page.next_offset(),
        }
    }
}

/// What became of a write: sizes instead of the text, which its author has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanWritten {
    /// The task.
    pub task_id: TaskId,
    /// The plan.
    pub plan_id: PlanId,
    /// Its title.
    pub title: String,
    /// To be sent with the next write.
    pub version: PlanVersion,
    /// Whether anything changed.
    pub write_applied: bool,
    /// `plan_already_current` when the plan was so already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The plan did not exist before.
    pub created: bool,
    /// The revision that holds the plan as it is now.
    pub revision_id: Option<PlanRevisionId>,
    /// Its number within the task.
    pub revision_number: Option<i64>,
    /// The write went into the revision of a moment ago.
    pub merged: bool,
    /// Code points of the plan.
    pub total_characters: usize,
    /// Bytes of the plan.
    pub content_bytes: usize,
    /// When it was last written.
    pub updated_at: Timestamp,
}

/// A revision in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanRevisionEntry {
    /// Its id.
    pub id: PlanRevisionId,
    /// The task.
    pub task_id: TaskId,
    /// Counts up within the task.
    pub revision_number: i64,
    /// To be sent with a restore of it.
    pub revision_version: PlanVersion,
    /// The title then.
    pub title: String,
    /// Who wrote it.
    pub author_kind: PlanAuthorKind,
    /// The agent's name; empty for the operator.
    pub author_name: String,
    /// The revision that it brought back.
    pub revert_of_revision_id: Option<PlanRevisionId>,
    /// Bytes of its text.
    pub content_bytes: i64,
    /// When it was begun.
    pub created_at: Timestamp,
    /// When something was last merged into it.
    pub updated_at: Timestamp,
}

/// A page of a plan's history, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanRevisions {
    /// The task.
    pub task_id: TaskId,
    /// Without their texts.
    pub revisions: Vec<PlanRevisionEntry>,
    /// How many there are on this page.
    pub total: usize,
    /// There are older ones.
    pub has_more: bool,
    /// To be sent for the next page; null at the end.
    pub next_cursor: Option<i64>,
}

/// A revision with its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanRevisionView {
    /// Everything else.
    #[serde(flatten)]
    pub entry: PlanRevisionEntry,
    /// The text then.
    pub content: String,
}

impl From<PlanRevision> for PlanRevisionView {
    fn from(revision: PlanRevision) -> Self {
        Self {
            entry: PlanRevisionEntry {
                id: revision.id,
                task_id: revision.task_id,
                revision_number: revision.number,
                revision_version: revision.version,
                title: revision.title,
                author_kind: revision.author.kind,
                author_name: revision.author.name,
                revert_of_revision_id: revision.revert_of,
                content_bytes: i64::try_from(revision.content.len()).unwrap_or(i64::MAX),
                created_at: revision.created_at,
                updated_at: revision.updated_at,
            },
            content: revision.content,
        }
    }
}
