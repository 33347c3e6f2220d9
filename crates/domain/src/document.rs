//! What tasks beside the board leave: documents, each under a key of its own, and decisions about the step a card is in.

use crate::error::Refusal;
use crate::ids::{DecisionId, DocumentId, SessionId, StepId, TaskId};
use crate::plan::PlanAuthorKind;
use crate::question::check_length;
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Longest key, in characters.
const MAX_KEY: usize = 120;
/// Longest title, in code points.
const MAX_TITLE: usize = 200;
/// Longest word for a document's type, in characters.
const MAX_KIND: usize = 40;
/// Longest document, in bytes of UTF-8.
pub const MAX_BYTES: usize = 256 * 1024;
/// Most documents of a task.
pub const MAX_DOCUMENTS: i64 = 200;
/// Longest reason of a decision, in code points.
const MAX_REASON: usize = 4_000;
/// The type of a document that was given none.
const USUAL_KIND: &str = "custom";

/// What a document is known by within its task: small letters, digits, points, lines; nothing that means something in an address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct DocumentKey(String);

impl DocumentKey {
    /// The key as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for DocumentKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for DocumentKey {
    type Err = Refusal;

    fn from_str(text: &str) -> Result<Self, Refusal> {
        let text = text.trim();
        if !is_slug(text, MAX_KEY) {
            return Err(Refusal::validation(format!(
                "document_key must begin with a small letter or a digit and hold only those, \".\", \"_\" and \"-\", at most \
                 {MAX_KEY} of them"
            )));
        }
        Ok(Self(text.to_owned()))
    }
}

fn is_slug(text: &str, most: usize) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    text.len() <= most
        && text.starts_with(plain)
        && text
            .chars()
            .all(|c| plain(c) || matches!(c, '.' | '_' | '-'))
}

/// A document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Document {
    /// What it is, and what it is called.
    #[serde(flatten)]
    pub entry: DocumentEntry,
    /// Its text, as it was written.
    pub content: String,
}

/// A document without its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DocumentEntry {
    /// Its id.
    pub id: DocumentId,
    /// The task it belongs to.
    pub task_id: TaskId,
    /// See [`DocumentKey`].
    pub document_key: DocumentKey,
    /// What people call it.
    pub title: String,
    /// What kind it is, in a word of its author's.
    #[serde(rename = "type")]
    pub kind: String,
    /// Length of its text in UTF-8.
    pub content_bytes: i64,
    /// Who wrote it last.
    pub author_kind: PlanAuthorKind,
    /// The agent's session that wrote it last.
    pub author_session_id: Option<SessionId>,
    /// When it was first written.
    pub created_at: Timestamp,
    /// When it was last written.
    pub updated_at: Timestamp,
}

/// Writes a document in the place of the one under its key.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct WriteDocument {
    /// The whole text.
    pub content: String,
    /// As it was, or the key, when left out.
    pub title: Option<String>,
    /// As it was, or `custom`, when left out.
    #[serde(rename = "type")]
    pub kind: Option<String>,
}

/// Title and type of a document as it is to be stored, when the text may be stored at all.
pub fn decide(
    before: Option<&DocumentEntry>,
    key: &DocumentKey,
    write: &WriteDocument,
) -> Result<(String, String), Refusal> {
    if write.content.len() > MAX_BYTES {
        return Err(Refusal::validation(format!(
            "the document has {} bytes and may have {MAX_BYTES}: split it, or name a file by its path",
            write.content.len()
        )));
    }
    if write.content.contains('\0') {
        return Err(Refusal::validation(
            "the document holds a character that cannot be stored (U+0000)",
        ));
    }
    let given = |text: &Option<String>| {
        text.as_deref()
            .map(str::trim)
            .filter(|text| !text.is_empty())
            .map(str::to_owned)
    };
    let title = given(&write.title)
        .or_else(|| before.map(|entry| entry.title.clone()))
        .unwrap_or_else(|| key.to_string());
    check_length("title", &title, MAX_TITLE)?;
    let kind = given(&write.kind)
        .or_else(|| before.map(|entry| entry.kind.clone()))
        .unwrap_or_else(|| USUAL_KIND.to_owned());
    if !is_slug(&kind, MAX_KIND) {
        return Err(Refusal::validation(
            "type must be a word of small letters, such as custom, notes or report",
        ));
    }
    Ok((title, kind))
}

words! {
    /// What was decided about the work of a step.
    Decision("decision") {
        /// It is good as it is.
        Approved = "approved",
        /// It is not.
        Rejected = "rejected",
    }
}

/// A decision about the step that a card was in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StepDecision {
    /// Its id.
    pub id: DecisionId,
    /// The task.
    pub task_id: TaskId,
    /// The step that the card was in; it may be gone since.
    pub step_id: StepId,
    /// The session whose agent decided.
    pub session_id: Option<SessionId>,
    /// What was decided.
    pub decision: Decision,
    /// Why.
    pub reason: String,
    /// When.
    pub created_at: Timestamp,
}

/// The reason of a decision as it is kept.
pub fn check_reason(reason: &str) -> Result<String, Refusal> {
    let reason = reason.trim();
    if reason.is_empty() {
        return Err(Refusal::validation(
            "reason is required: say in a sentence why",
        ));
    }
    check_length("reason", reason, MAX_REASON)?;
    Ok(reason.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_plain_words() {
        for good in ["notes", "2026-report.v2", "a_b"] {
            assert_eq!(good.parse::<DocumentKey>().unwrap().as_str(), good);
        }
        for bad in [
            "",
            "  ",
            "Notes",
            "-a",
            "a/b",
            "../a",
            "a b",
            "ä",
            &"x".repeat(MAX_KEY + 1),
        ] {
            assert!(bad.parse::<DocumentKey>().is_err(), "{bad}");
        }
    }

    #[test]
    fn what_is_left_out_stays_or_is_the_usual() {
        let key: DocumentKey = "notes".parse().unwrap();
        let write = WriteDocument::default();
        let (title, kind) = decide(None, &key, &write).unwrap();
        assert_eq!((title.as_str(), kind.as_str()), ("notes", "custom"));
        let before = DocumentEntry {
            id: DocumentId::new(),
            task_id: TaskId::new(),
            document_key: key.clone(),
            title: "Our notes".to_owned(),
            kind: "report".to_owned(),
            content_bytes: 0,
            author_kind: PlanAuthorKind::Agent,
            author_session_id: None,
            created_at: Timestamp::from_millis(0),
            updated_at: Timestamp::from_millis(0),
        };
        let (title, kind) = decide(Some(&before), &key, &write).unwrap();
        assert_eq!((title.as_str(), kind.as_str()), ("Our notes", "report"));
        for bad in [
            WriteDocument {
                content: "x".repeat(MAX_BYTES + 1),
                ..WriteDocument::default()
            },
            WriteDocument {
                content: "a\0".to_owned(),
                ..WriteDocument::default()
            },
            WriteDocument {
                kind: Some("No Word".to_owned()),
                ..WriteDocument::default()
            },
            WriteDocument {
                title: Some("x".repeat(MAX_TITLE + 1)),
                ..WriteDocument::default()
            },
        ] {
            assert!(decide(Some(&before), &key, &bad).is_err());
        }
    }
}
