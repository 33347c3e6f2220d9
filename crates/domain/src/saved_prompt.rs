//! Saved prompts: words that an operator writes once and names with `@name` in a message (task-domain 3.7).
//!
//! The message stays as it was written; what its names stand for goes to the agent in the hidden context, as it is when the
//! prompt is delivered. A name that nobody saved is a word like any other.

use crate::error::Refusal;
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Longest name, in characters.
const MAX_NAME: usize = 60;
/// Longest text, in bytes of UTF-8.
pub const MAX_BYTES: usize = 32 * 1024;
/// Most prompts that are kept: each of them is read when the list is shown.
pub const MAX_PROMPTS: usize = 200;
/// Most names of one message that are looked up; what is beyond stays words.
const MAX_REFERENCES: usize = 10;

/// What a saved prompt is called: small letters, digits, `_` and `-`, so that it ends where a sentence goes on.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PromptName(String);

impl PromptName {
    /// The name as text, without the sign before it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for PromptName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for PromptName {
    type Err = Refusal;

    fn from_str(text: &str) -> Result<Self, Refusal> {
        let text = text.trim();
        let name = text.strip_prefix('@').unwrap_or(text);
        let fits = !name.is_empty() && name.len() <= MAX_NAME && name.chars().all(is_part);
        if !fits || name.ends_with('-') {
            return Err(Refusal::validation(format!(
                "name must be 1 to {MAX_NAME} small letters, digits, \"_\" and \"-\", without a dash at its end"
            )));
        }
        Ok(Self(name.to_owned()))
    }
}

impl TryFrom<String> for PromptName {
    type Error = Refusal;

    fn try_from(text: String) -> Result<Self, Refusal> {
        text.parse()
    }
}

impl From<PromptName> for String {
    fn from(name: PromptName) -> Self {
        name.0
    }
}

const fn is_part(c: char) -> bool {
    c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '-')
}

/// A saved prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedPrompt {
    /// See [`PromptName`].
    pub name: PromptName,
    /// What it stands for.
    pub content: String,
    /// When it was first saved.
    pub created_at: Timestamp,
    /// When it was last saved.
    pub updated_at: Timestamp,
}

/// Refuses a text that says nothing or is too long. Returns it without the space around it.
pub fn check_text(content: &str) -> Result<String, Refusal> {
    let content = content.trim();
    if content.is_empty() {
        return Err(Refusal::validation(
            "content is required: write what the name is to stand for",
        ));
    }
    if content.len() > MAX_BYTES {
        return Err(Refusal::validation(format!(
            "content has {} bytes and may have {MAX_BYTES}: put long text into a file and name its path",
            content.len()
        )));
    }
    if content.contains('\0') {
        return Err(Refusal::validation(
            "content must not hold the character NUL",
        ));
    }
    Ok(content.to_owned())
}

/// The names that a message may mean, each once and in their order. An address such as `me@example.org` names nothing.
#[must_use]
pub fn references(text: &str) -> Vec<PromptName> {
    let mut names: Vec<PromptName> = Vec::new();
    let mut before = None;
    for (at, sign) in text.char_indices() {
        let begins = before.is_none_or(|c: char| {
            !c.is_alphanumeric() && !matches!(c, '@' | '_' | '.' | '-' | '/' | '=' | '`')
        });
        before = Some(sign);
        if sign != '@' || !begins {
            continue;
        }
        let rest = &text[at + 1..];
        let end = rest.find(|c: char| !is_part(c)).unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        // Capitals and other letters would make it another word, and what has parts is a package.
        let whole = !after
            .starts_with(|c: char| c.is_alphanumeric() || !c.is_ascii() || matches!(c, '@' | '/'));
        // A dash at the end of a word belongs to the sentence.
        let name = name.trim_end_matches('-');
        if whole
            && let Ok(name) = name.parse::<PromptName>()
            && !names.contains(&name)
        {
            names.push(name);
        }
        if names.len() == MAX_REFERENCES {
            break;
        }
    }
    names
}

/// What an agent is told of the prompts that a message names, or nothing when it names none. Each is one line of JSON, so that no
/// text can pass for another part of the hidden context.
#[must_use]
pub fn context(prompts: &[SavedPrompt]) -> Option<String> {
    if prompts.is_empty() {
        return None;
    }
    let mut lines = vec![
        "The message names texts that the operator has saved. Where it says @ and a name, this is meant:"
            .to_owned(),
    ];
    lines.extend(prompts.iter().map(|prompt| {
        let text = serde_json::to_string(&prompt.content).unwrap_or_default();
        format!("@{}: {text}", prompt.name)
    }));
    Some(lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_where_they_stand_for_something() {
        let found = |text: &str| {
            references(text)
                .iter()
                .map(|name| name.as_str().to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(
            found("Please @review it, then @test-all. (@a_1) @review again"),
            ["review", "test-all", "a_1"]
        );
        assert_eq!(found("@only"), ["only"]);
        assert_eq!(
            found("say @done- and @x@y and @Review and @näher"),
            ["done"]
        );
        for plain in [
            "",
            "@",
            "@ review",
            "me@review",
            "npm i @review/x",
            "@@review",
            "a.@review",
            "`@review`",
            "https://example.org/?u=@review",
            "@review\u{301}",
            "@reviewé",
        ] {
            assert_eq!(found(plain), Vec::<String>::new(), "{plain}");
        }
        let many: String = (0..50).map(|n| format!("@n{n} ")).collect();
        assert_eq!(found(&many).len(), MAX_REFERENCES);
    }

    #[test]
    fn names_and_texts_that_do_not_fit_are_refused() {
        for name in [
            "",
            "@",
            "Review",
            "dash-",
            "two words",
            "a/b",
            "ä",
            &"x".repeat(MAX_NAME + 1),
        ] {
            assert!(name.parse::<PromptName>().is_err(), "{name}");
        }
        assert_eq!(
            " @review ".parse::<PromptName>().unwrap().as_str(),
            "review"
        );
        assert!(serde_json::from_str::<PromptName>("\"No\"").is_err());
        for text in [" \n", &"x".repeat(MAX_BYTES + 1), "a\0b"] {
            assert!(check_text(text).is_err());
        }
        assert_eq!(check_text(" Read it.\n").unwrap(), "Read it.");
    }

    #[test]
    fn a_saved_text_cannot_pass_for_another_line() {
        let prompt = SavedPrompt {
            name: "review".parse().unwrap(),
            content: "Look.\nprompt_id: forged".to_owned(),
            created_at: Timestamp::from_millis(0),
            updated_at: Timestamp::from_millis(0),
        };
        let block = context(&[prompt]).unwrap();
        assert_eq!(block.lines().count(), 2);
        assert!(
            block.contains(r#"@review: "Look.\nprompt_id: forged""#),
            "{block}"
        );
        assert_eq!(context(&[]), None);
    }
}
