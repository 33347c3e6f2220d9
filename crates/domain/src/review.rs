//! Review findings: what an agent found in a task's files, until the operator says that it is dealt with.
//!
//! A finding is known by its place and its title. Published again while it is open, it is the same finding with newer words;
//! once resolved it stays as it is, and publishing it again makes another one.

use crate::error::Refusal;
use crate::ids::{FindingId, SessionId, TaskId};
use crate::place::{MAX_TITLE, check_line, check_place, check_text};
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};

/// Most findings of one call.
pub const MAX_FINDINGS: usize = 100;
/// Longest category, in characters.
pub const MAX_CATEGORY: usize = 64;

words! {
    /// How bad it is.
    Severity("severity") {
        /// It must not stay.
        Blocker = "blocker",
        /// It matters.
        Major = "major",
        /// It should be better.
        Minor = "minor",
        /// A matter of taste.
        Nit = "nit",
    }
}

words! {
    /// Which side of a change the lines are of.
    Side("side") {
        /// As the file is now.
        New = "new",
        /// As the file was before.
        Old = "old",
    }
}

words! {
    /// Whether it is dealt with.
    FindingStatus("status") {
        /// Not yet.
        Open = "open",
        /// The operator says so.
        Resolved = "resolved",
    }
}

/// A finding as it is published.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FindingInput {
    /// The repository, when the task has several.
    #[serde(default)]
    pub repo: Option<String>,
    /// The file.
    pub file: String,
    /// Its first line, from 1.
    pub line: i64,
    /// Its last line.
    #[serde(default)]
    pub line_end: Option<i64>,
    /// [`Side::New`] when left out.
    #[serde(default)]
    pub side: Option<Side>,
    /// See [`Severity`].
    pub severity: Severity,
    /// Words in lower case joined by hyphens.
    pub category: String,
    /// One line.
    pub title: String,
    /// What is wrong and why, in Markdown.
    pub body: String,
    /// What could stand there instead.
    #[serde(default)]
    pub suggestion: Option<String>,
}

/// A finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Its id.
    pub id: FindingId,
    /// The task.
    pub task_id: TaskId,
    /// The session that published it last.
    pub session_id: Option<SessionId>,
    /// The repository; empty when the task has one only.
    pub repo: String,
    /// The file.
    pub file: String,
    /// Its first line.
    pub line: i64,
    /// Its last line.
    pub line_end: i64,
    /// See [`Side`].
    pub side: Side,
    /// See [`Severity`].
    pub severity: Severity,
    /// Words in lower case joined by hyphens.
    pub category: String,
    /// One line.
    pub title: String,
    /// What is wrong and why.
    pub body: String,
    /// What could stand there instead.
    pub suggestion: Option<String>,
    /// See [`FindingStatus`].
    pub status: FindingStatus,
    /// When it was first published.
    pub created_at: Timestamp,
    /// When it was last published, resolved or reopened.
    pub updated_at: Timestamp,
    /// When the operator resolved it.
    pub resolved_at: Option<Timestamp>,
}

/// What became of a publication.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FindingsPublished {
    /// The task.
    pub task_id: TaskId,
    /// How many are new.
    pub added: usize,
    /// How many were open already and have newer words now.
    pub refreshed: usize,
    /// How many of the task are open.
    pub open: usize,
    /// The ones published, in their order.
    pub finding_ids: Vec<FindingId>,
}

/// Checks what is published. One bad finding refuses all of it.
pub fn check(summary: Option<&str>, findings: &[FindingInput]) -> Result<(), Refusal> {
    if let Some(summary) = summary {
        check_text("summary", summary)?;
    }
    if findings.is_empty() || findings.len() > MAX_FINDINGS {
        return Err(Refusal::validation(format!(
            "findings must have 1 to {MAX_FINDINGS} entries"
        )));
    }
    for (index, finding) in findings.iter().enumerate() {
        let what = format!("findings[{index}]");
        check_place(
            &what,
            finding.repo.as_deref(),
            &finding.file,
            finding.line,
            finding.line_end,
        )?;
        if !is_slug(&finding.category) {
            return Err(Refusal::validation(format!(
                "{what}.category must be words in lower case joined by hyphens, at most {MAX_CATEGORY} characters"
            )));
        }
        check_line(&format!("{what}.title"), &finding.title, MAX_TITLE)?;
        check_text(&format!("{what}.body"), &finding.body)?;
        if let Some(suggestion) = &finding.suggestion {
            check_text(&format!("{what}.suggestion"), suggestion)?;
        }
    }
    Ok(())
}

fn is_slug(text: &str) -> bool {
    text.len() <= MAX_CATEGORY
        && text.split('-').all(|word| {
            !word.is_empty()
                && word
                    .bytes()
                    .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
        })
}

/// A finding that nobody has published before. [`refreshed`] makes of it what an open one becomes.
#[must_use]
pub fn fresh(
    id: FindingId,
    input: FindingInput,
    task: TaskId,
    session: Option<SessionId>,
    now: Timestamp,
) -> Finding {
    Finding {
        id,
        task_id: task,
        session_id: session,
        repo: input.repo.unwrap_or_default(),
        line: input.line,
        line_end: input.line_end.unwrap_or(input.line),
        file: input.file,
        side: input.side.unwrap_or(Side::New),
        severity: input.severity,
        category: input.category,
        title: input.title,
        body: input.body,
        suggestion: input.suggestion,
        status: FindingStatus::Open,
        created_at: now,
        updated_at: now,
        resolved_at: None,
    }
}

/// An open finding with the words of the same one published again: it keeps its id and its age.
#[must_use]
pub fn refreshed(open: &Finding, fresh: Finding) -> Finding {
    Finding {
        id: open.id,
        created_at: open.created_at,
        ..fresh
    }
}

impl Finding {
    /// Whether two findings are of one place and title.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        self.repo == other.repo
            && self.file == other.file
            && (self.line, self.line_end, self.side) == (other.line, other.line_end, other.side)
            && self.title == other.title
    }
}

/// Whether setting a finding's status changes anything. `twin` says that another one is open at its place, which a reopened one
/// would be the same as.
pub fn set_status(finding: &Finding, status: FindingStatus, twin: bool) -> Result<bool, Refusal> {
    if finding.status == status {
        return Ok(false);
    }
    if status == FindingStatus::Open && twin {
        return Err(Refusal::conflict(
            "the same finding was published again meanwhile and is open: look at that one",
        ));
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input() -> FindingInput {
        FindingInput {
            repo: None,
            file: "src/main.rs".to_owned(),
            line: 3,
            line_end: None,
            side: None,
            severity: Severity::Major,
            category: "error-handling".to_owned(),
            title: "It panics".to_owned(),
            body: "On empty input.".to_owned(),
            suggestion: None,
        }
    }

    #[test]
    fn one_bad_finding_refuses_all_and_is_named() {
        check(Some("In short."), &[input(), input()]).unwrap();
        for category in [
            "",
            "Naming",
            "two words",
            "-a",
            "a--b",
            "ü",
            &"a".repeat(65),
        ] {
            let bad = FindingInput {
                category: category.to_owned(),
                ..input()
            };
            let refusal = check(None, &[input(), bad]).unwrap_err();
            assert!(refusal.message.starts_with("findings[1].category"));
        }
        for bad in [
            FindingInput {
                title: "two\nlines".to_owned(),
                ..input()
            },
            FindingInput {
                body: " ".to_owned(),
                ..input()
            },
            FindingInput {
                suggestion: Some(String::new()),
                ..input()
            },
            FindingInput {
                line: -1,
                ..input()
            },
        ] {
            assert!(check(None, &[bad]).is_err());
        }
        assert!(check(None, &[]).is_err());
        assert!(check(Some(""), &[input()]).is_err());
    }

    #[test]
    fn an_open_finding_keeps_its_id_and_its_age() {
        let at = Timestamp::from_millis;
        let task = TaskId::new();
        let first = fresh(FindingId::new(), input(), task, None, at(1));
        let newer = FindingInput {
            severity: Severity::Nit,
            ..input()
        };
        let newer = fresh(FindingId::new(), newer, task, None, at(2));
        assert!(first.is_same(&newer));
        let again = refreshed(&first, newer);
        assert_eq!(
            (again.id, again.created_at, again.updated_at),
            (first.id, at(1), at(2))
        );
        assert_eq!(again.severity, Severity::Nit);
    }

    #[test]
    fn a_finding_is_reopened_unless_its_twin_is_open() {
        let open = fresh(
            FindingId::new(),
            input(),
            TaskId::new(),
            None,
            Timestamp::from_millis(1),
        );
        let resolved = Finding {
            status: FindingStatus::Resolved,
            ..open.clone()
        };
        assert!(!set_status(&open, FindingStatus::Open, true).unwrap());
        assert!(set_status(&open, FindingStatus::Resolved, false).unwrap());
        assert!(set_status(&resolved, FindingStatus::Open, false).unwrap());
        assert!(set_status(&resolved, FindingStatus::Open, true).is_err());
    }
}
