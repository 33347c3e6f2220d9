//! Places in a task's files, as walkthroughs and review findings name them, and the limits of what is said about them.

use crate::error::Refusal;

/// Longest path or repository name, in code points.
pub const MAX_PATH: usize = 1_024;
/// Longest title of a step or a finding, in code points.
pub const MAX_TITLE: usize = 200;
/// Longest text of a step or a finding, in bytes.
pub const MAX_TEXT: usize = 16 * 1024;

/// Checks one line of text: `what` names it in the refusal.
pub fn check_line(what: &str, text: &str, most: usize) -> Result<(), Refusal> {
    let fits = !text.trim().is_empty()
        && text.chars().count() <= most
        && !text.chars().any(char::is_control);
    if fits {
        Ok(())
    } else {
        Err(Refusal::validation(format!(
            "{what} must be one line of 1 to {most} characters"
        )))
    }
}

/// Checks a text of several lines.
pub fn check_text(what: &str, text: &str) -> Result<(), Refusal> {
    if text.trim().is_empty() {
        return Err(Refusal::validation(format!("{what} must not be empty")));
    }
    if text.len() > MAX_TEXT {
        return Err(Refusal::validation(format!(
            "{what} must have at most {MAX_TEXT} bytes"
        )));
    }
    Ok(())
}

/// Checks a place and gives the last line of it.
pub fn check_place(
    what: &str,
    repo: Option<&str>,
    file: &str,
    line: i64,
    line_end: Option<i64>,
) -> Result<i64, Refusal> {
    if let Some(repo) = repo {
        check_line(&format!("{what}.repo"), repo, MAX_PATH)?;
    }
    check_line(&format!("{what}.file"), file, MAX_PATH)?;
    let end = line_end.unwrap_or(line);
    if line < 1 || end > i64::from(i32::MAX) {
        return Err(Refusal::validation(format!(
            "{what}.line must be the number of a line, from 1"
        )));
    }
    if end < line {
        return Err(Refusal::validation(format!(
            "{what}.line_end must not be before line"
        )));
    }
    Ok(end)
}
