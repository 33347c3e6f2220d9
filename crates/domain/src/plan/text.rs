//! The text of a plan as a sequence of code points: ranges, one exact replacement, an addition at the end.
//!
//! Nothing here looks at visible characters or line ends more than it must: a range may end within a family emoji or between
//! the two halves of a line end, and the ranges put together are the text.

use super::refuse::{Next, refusal};
use crate::error::{ErrorCode, Refusal};
use crate::ids::PlanVersion;

/// Code points of a range when nothing is said.
pub const DEFAULT_LIMIT: u64 = 4_096;
/// Most code points of one range.
pub const MAX_LIMIT: u64 = 8_192;
/// The greatest offset that a JSON number holds exactly.
pub const MAX_OFFSET: u64 = 9_007_199_254_740_991;

/// A range of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page<'a> {
    /// Exactly what stands there.
    pub text: &'a str,
    /// Where it begins, in code points.
    pub offset: u64,
    /// How many code points were asked for.
    pub limit: u64,
    /// How many it has.
    pub returned: u64,
    /// How many the whole text has.
    pub total: u64,
}

impl Page<'_> {
    /// Where the next range begins; `None` at the end.
    #[must_use]
    pub const fn next_offset(&self) -> Option<u64> {
        let end = self.offset + self.returned;
        if end < self.total { Some(end) } else { None }
    }
}

/// The range of `limit` code points from `offset`. At the very end it is empty; beyond it, it is refused.
pub fn page(
    text: &str,
    offset: Option<u64>,
    limit: Option<u64>,
    at: PlanVersion,
) -> Result<Page<'_>, Refusal> {
    let offset = offset.unwrap_or(0);
    let limit = limit.unwrap_or(DEFAULT_LIMIT);
    if limit == 0 || limit > MAX_LIMIT {
        return Err(Refusal::validation(format!(
            "limit must be 1 to {MAX_LIMIT}"
        )));
    }
    if offset > MAX_OFFSET {
        return Err(Refusal::validation(format!(
            "offset must be 0 to {MAX_OFFSET}"
        )));
    }
    let mut start = None;
    let mut end = text.len();
    let mut total = 0u64;
    for (position, _) in text.char_indices() {
        if total == offset {
            start = Some(position);
        }
        if total == offset + limit {
            end = position;
        }
        total += 1;
    }
    if offset == total {
        start = Some(text.len());
    }
    let Some(start) = start else {
        return Err(refusal(
            ErrorCode::PlanReadOffsetOutOfRange,
            &format!("the plan has {total} characters, so nothing begins at that offset"),
            Next::ReadFromStart,
            Some(at),
        ));
    };
    Ok(Page {
        text: &text[start..end],
        offset,
        limit,
        returned: (total - offset).min(limit),
        total,
    })
}

/// Why an exact edit does not apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EditProblem {
    /// It does not say what to replace.
    NothingToFind,
    /// The text is not there.
    NotFound,
    /// It is there more than once; occurrences that overlap count as two.
    Ambiguous,
}

/// Replaces the only place where `old` stands and leaves every other byte as it is.
pub fn replace_one(text: &str, old: &str, new: &str) -> Result<String, EditProblem> {
    let first_len = old
        .chars()
        .next()
        .map(char::len_utf8)
        .ok_or(EditProblem::NothingToFind)?;
    let place = text.find(old).ok_or(EditProblem::NotFound)?;
    // The second may begin anywhere after the first one's first letter.
    if text[place + first_len..].contains(old) {
        return Err(EditProblem::Ambiguous);
    }
    let mut replaced = String::with_capacity(text.len() - old.len() + new.len());
    replaced.push_str(&text[..place]);
    replaced.push_str(new);
    replaced.push_str(&text[place + old.len()..]);
    Ok(replaced)
}

/// Adds `fragment` after one blank line. What is there stays byte for byte; line ends are written as its last one is.
#[must_use]
pub fn append(text: &str, fragment: &str) -> String {
    let line_end = match text.rfind('\n') {
        Some(at) if text[..at].ends_with('\r') => "\r\n",
        Some(_) | None => "\n",
    };
    let ends = text
        .strip_suffix(line_end)
        .map_or(0, |rest| if rest.ends_with(line_end) { 2 } else { 1 });
    let missing = if text.is_empty() { 0 } else { 2 - ends };
    format!("{text}{}{fragment}", line_end.repeat(missing))
}
