//! A walkthrough: a few places in a task's files, in an order, with what there is to see at each. One a task, replaced as a whole.

use crate::error::Refusal;
use crate::ids::{TaskId, WalkthroughId};
use crate::place::{MAX_TITLE, check_line, check_place, check_text};
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};

/// The title of a walkthrough that was given none.
pub const DEFAULT_TITLE: &str = "Walkthrough";
/// Most steps of one.
pub const MAX_STEPS: usize = 100;

/// One place and what there is to see.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WalkthroughStep {
    /// A heading.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The repository, when the task has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repo: Option<String>,
    /// The file.
    pub file: String,
    /// Its first line, from 1.
    pub line: i64,
    /// Its last line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line_end: Option<i64>,
    /// What there is to see, in Markdown.
    pub text: String,
}

/// A task's walkthrough.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Walkthrough {
    /// Its id; another walkthrough has another one.
    pub id: WalkthroughId,
    /// The task.
    pub task_id: TaskId,
    /// One line.
    pub title: String,
    /// In order.
    pub steps: Vec<WalkthroughStep>,
    /// When it was shown.
    pub created_at: Timestamp,
}

/// Checks a walkthrough and gives its title. One bad step refuses all of it.
pub fn check(title: Option<&str>, steps: &[WalkthroughStep]) -> Result<String, Refusal> {
    let title = title.unwrap_or(DEFAULT_TITLE);
    check_line("title", title, MAX_TITLE)?;
    if steps.is_empty() || steps.len() > MAX_STEPS {
        return Err(Refusal::validation(format!(
            "steps must have 1 to {MAX_STEPS} entries"
        )));
    }
    for (index, step) in steps.iter().enumerate() {
        let what = format!("steps[{index}]");
        if let Some(title) = &step.title {
            check_line(&format!("{what}.title"), title, MAX_TITLE)?;
        }
        check_place(
            &what,
            step.repo.as_deref(),
            &step.file,
            step.line,
            step.line_end,
        )?;
        check_text(&format!("{what}.text"), &step.text)?;
    }
    Ok(title.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step() -> WalkthroughStep {
        WalkthroughStep {
            title: None,
            repo: None,
            file: "src/main.rs".to_owned(),
            line: 1,
            line_end: None,
            text: "Here it begins.".to_owned(),
        }
    }

    #[test]
    fn one_bad_step_refuses_all_and_is_named() {
        assert_eq!(check(None, &[step(), step()]).unwrap(), "Walkthrough");
        let bad = [
            (
                "file",
                WalkthroughStep {
                    file: " ".to_owned(),
                    ..step()
                },
            ),
            (
                "file",
                WalkthroughStep {
                    file: "a\nb".to_owned(),
                    ..step()
                },
            ),
            ("line", WalkthroughStep { line: 0, ..step() }),
            (
                "line_end",
                WalkthroughStep {
                    line: 5,
                    line_end: Some(4),
                    ..step()
                },
            ),
            (
                "text",
                WalkthroughStep {
                    text: "\n".to_owned(),
                    ..step()
                },
            ),
            (
                "title",
                WalkthroughStep {
                    title: Some(String::new()),
                    ..step()
                },
            ),
            (
                "repo",
                WalkthroughStep {
                    repo: Some("x".repeat(2_000)),
                    ..step()
                },
            ),
        ];
        for (field, bad) in bad {
            let refusal = check(None, &[step(), bad]).unwrap_err();
            assert!(
                refusal.message.starts_with(&format!("steps[1].{field} ")),
                "{}",
                refusal.message
            );
        }
        assert!(check(None, &[]).is_err());
        assert!(check(None, &vec![step(); MAX_STEPS + 1]).is_err());
        assert!(check(Some("two\nlines"), &[step()]).is_err());
    }
}
