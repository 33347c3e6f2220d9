//! The action guard: a text that claims an effect may go out only if the effect took place.
//!
//! It is asked once the model wants no more tools. Whoever asked for something to be done gets an answer only when a tool that
//! acts or previews has succeeded; otherwise the model is told once to act, and after that its text is dropped and the user is
//! told in plain words that nothing happened. That is an honest answer, and no failure of the job.

use crate::preview::WORDS_NOTHING;

/// What happened to a request so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Deeds {
    /// A tool that acts or previews succeeded.
    pub acted: bool,
    /// The last such tool that failed, and why.
    pub failed: Option<(String, String)>,
    /// Such a tool whose effect nobody knows.
    pub unknown: Option<String>,
}

/// What is to be done with the model's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It goes out.
    Pass,
    /// The model is told once to act.
    Retry,
    /// It is dropped.
    Refuse,
}

/// Judges a text.
#[must_use]
pub const fn judge(intent: bool, deeds: &Deeds, may_retry: bool) -> Verdict {
    match (intent, deeds.acted, may_retry) {
        (false, _, _) | (true, true, _) => Verdict::Pass,
        (true, false, true) => Verdict::Retry,
        (true, false, false) => Verdict::Refuse,
    }
}

/// What the model is told once.
pub(crate) const DEMAND: &str = "You were asked to do something, and no tool that changes anything has succeeded yet, so nothing was \
    done. Call the fitting tool now. If something that you need for it is missing, say exactly what is missing, and do not say or \
    suggest that anything was done.";

/// Who reads the refusal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reader {
    /// May be told how the assistant is configured.
    pub is_admin: bool,
    /// Where the reader can do it without the assistant.
    pub link: Option<String>,
}

/// Says that nothing was done.
#[must_use]
pub fn refusal(deeds: &Deeds, has_tools: bool, reader: &Reader) -> String {
    let mut text = if let Some(tool) = &deeds.unknown {
        format!(
            "I cannot tell whether it took effect: an earlier try of {tool} broke off in the middle. Please look before you ask again."
        )
    } else if let Some((tool, reason)) = &deeds.failed {
        format!(
            "{WORDS_NOTHING} I tried {tool}, and it failed: {}",
            sentence(reason)
        )
    } else if has_tools {
        format!(
            "{WORDS_NOTHING} I did not carry out what you asked for; please ask again and give all that it needs."
        )
    } else {
        format!("{WORDS_NOTHING} I cannot change anything from here.")
    };
    if deeds.unknown.is_none()
        && let Some(link) = &reader.link
    {
        text.push_str(&format!(" You can do it yourself here: {link}"));
    }
    if !has_tools && reader.is_admin {
        text.push_str("\n\nFor administrators: the assistant was given no tools; look at its settings and at the server's log.");
    }
    text
}

fn sentence(reason: &str) -> String {
    let reason: String = reason.trim().chars().take(300).collect();
    if reason.ends_with(['.', '!', '?']) {
        reason
    } else {
        format!("{reason}.")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_verdicts_holds() {
        let deeds = |acted| Deeds {
            acted,
            ..Deeds::default()
        };
        for (intent, acted, may_retry, verdict) in [
            (false, false, true, Verdict::Pass),
            (false, false, false, Verdict::Pass),
            (false, true, true, Verdict::Pass),
            (true, true, true, Verdict::Pass),
            (true, true, false, Verdict::Pass),
            (true, false, true, Verdict::Retry),
            (true, false, false, Verdict::Refuse),
        ] {
            assert_eq!(judge(intent, &deeds(acted), may_retry), verdict);
        }
    }

    #[test]
    fn refusals_say_what_is_known_and_to_whom_it_may_be_said() {
        let user = Reader {
            is_admin: false,
            link: Some("http://board".to_owned()),
        };
        let admin = Reader {
            is_admin: true,
            link: None,
        };
        let none = Deeds::default();
        assert!(refusal(&none, false, &user).contains("http://board"));
        assert!(!refusal(&none, false, &user).contains("settings"));
        assert!(refusal(&none, false, &admin).contains("settings"));
        assert!(!refusal(&none, true, &admin).contains("settings"));
        let failed = Deeds {
            failed: Some(("create_task".to_owned(), "the title is too long".to_owned())),
            ..Deeds::default()
        };
        let said = refusal(&failed, true, &user);
        assert!(
            said.starts_with(WORDS_NOTHING)
                && said.contains("create_task")
                && said.contains("the title is too long.")
        );
        let unknown = Deeds {
            unknown: Some("create_task".to_owned()),
            ..failed
        };
        let said = refusal(&unknown, true, &user);
        assert!(
            !said.contains(WORDS_NOTHING) && said.contains("cannot tell"),
            "{said}"
        );
    }
}
