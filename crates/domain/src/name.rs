//! What may be a name: of a task, a session, a step, a client or a person. One line that is seen, and reads as it is written.

use crate::error::Refusal;
use crate::question::check_length;

/// A name as it is kept, without what stands around it. `what_for` says what to write when there is none.
///
/// # Errors
///
/// When nothing of it can be seen, when it has more than `max` code points, or when it holds what breaks a line or changes the
/// direction of what follows: a card must not be able to look like another one.
pub fn check(field: &str, text: &str, max: usize, what_for: &str) -> Result<String, Refusal> {
    let name = text.trim();
    if !name.chars().any(is_seen) {
        return Err(Refusal::validation(format!(
            "{field} is required: {what_for}"
        )));
    }
    check_length(field, name, max)?;
    if name.chars().any(disturbs) {
        return Err(Refusal::validation(format!(
            "{field} must be a single line without control characters"
        )));
    }
    Ok(name.to_owned())
}

/// Breaks a line, or turns the text around it.
fn disturbs(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{2028}'..='\u{202E}' | '\u{2066}'..='\u{2069}' | '\u{FFF9}'..='\u{FFFB}')
}

/// Leaves a mark on the page. The joiners of scripts and emoji, which alone are nothing, may stand between what does.
fn is_seen(c: char) -> bool {
    !c.is_whitespace()
        && !disturbs(c)
        && !matches!(
            c,
            '\u{AD}'
                | '\u{61C}'
                | '\u{115F}'
                | '\u{1160}'
                | '\u{180E}'
                | '\u{200B}'..='\u{200F}'
                | '\u{2060}'..='\u{206F}'
                | '\u{2800}'
                | '\u{3164}'
                | '\u{FE00}'..='\u{FE0F}'
                | '\u{FEFF}'
                | '\u{E0000}'..='\u{E0FFF}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> Result<String, Refusal> {
        super::check("title", text, 10, "say it")
    }

    #[test]
    fn a_name_is_one_line_that_is_seen() {
        for (text, kept) in [
            (" Fix it ", "Fix it"),
            ("👨\u{200D}👩\u{200D}👧", "👨\u{200D}👩\u{200D}👧"),
            ("می\u{200C}خواهم", "می\u{200C}خواهم"),
            ("❤\u{FE0F}", "❤\u{FE0F}"),
            ("שלום", "שלום"),
        ] {
            assert_eq!(check(text).unwrap(), kept);
        }
        for nothing in [
            "",
            " \t",
            "\u{200B}",
            "\u{FEFF}\u{200D}",
            "\u{2800}",
            "\u{202E}",
        ] {
            let refusal = check(nothing).unwrap_err();
            assert_eq!(refusal.message, "title is required: say it", "{nothing:?}");
        }
        for bad in [
            "a\nb",
            "a\u{0}",
            "a\u{202E}b",
            "\u{2067}x",
            "a\u{2028}b",
            "12345678901",
        ] {
            assert!(check(bad).is_err(), "{bad:?}");
        }
    }
}
