//! Understanding a prompt: what is hidden context, what was said, and whether a child asks.

use std::collections::BTreeMap;

use serde_json::Value;

/// First words of the part of a hidden block that hands on a child's question.
const CHILD_QUESTION: &str = "AUTOPILOT CHILD QUESTION";

/// A prompt taken apart.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Received {
    /// What an operator or another agent said.
    pub(super) text: String,
    /// The `key: value` lines of the hidden block.
    pub(super) facts: BTreeMap<String, String>,
    /// The question, when a child asks.
    pub(super) question: Option<ChildQuestion>,
}

/// A question of an autopilot child to this agent's task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ChildQuestion {
    pub(super) question_id: String,
    pub(super) child_task_id: String,
    pub(super) child_session_id: Option<String>,
    /// Label of the first choice of the first question, when it can be made out.
    pub(super) first_choice: Option<String>,
}

impl Received {
    /// Reads the text blocks of a prompt. With two or more, the first one is hidden context.
    pub(super) fn read(blocks: &[String]) -> Self {
        let (hidden, text) = match blocks {
            [] => ("", String::new()),
            [text] => ("", text.clone()),
            [hidden, rest @ ..] => (hidden.as_str(), rest.join("\n")),
        };
        let question = child_question(hidden).or_else(|| child_question(&text));
        Self {
            facts: facts(hidden.lines()),
            question,
            text,
        }
    }

    /// The prompt's id, which the server puts into every hidden block.
    pub(super) fn prompt_id(&self) -> Option<&str> {
        self.facts.get("prompt_id").map(String::as_str)
    }
}

/// Lines `key: value` with a key of lower-case letters and underscores. The first one of a key counts: what follows
/// may quote others.
fn facts<'a>(lines: impl Iterator<Item = &'a str>) -> BTreeMap<String, String> {
    let mut facts = BTreeMap::new();
    for line in lines {
        let line = line.trim().trim_start_matches("- ");
        if let Some((key, value)) = line.split_once(':')
            && !key.is_empty()
            && key
                .chars()
                .all(|each| each.is_ascii_lowercase() || each == '_')
            && !value.trim().is_empty()
        {
            facts
                .entry(key.to_owned())
                .or_insert_with(|| value.trim().to_owned());
        }
    }
    facts
}

fn child_question(block: &str) -> Option<ChildQuestion> {
    let is_heading = |line: &&str| {
        line.trim_start_matches(['#', ' '])
            .starts_with(CHILD_QUESTION)
    };
    let below: Vec<&str> = block
        .lines()
        .skip_while(|line| !is_heading(line))
        .skip(1)
        .collect();
    let facts = facts(below.iter().copied());
    Some(ChildQuestion {
        question_id: facts.get("question_id")?.clone(),
        child_task_id: facts.get("child_task_id")?.clone(),
        child_session_id: facts.get("child_session_id").cloned(),
        first_choice: first_choice(&below.join("\n")),
    })
}

/// Looks for the questions as JSON, wherever a value begins a line or stands behind `key: `.
fn first_choice(text: &str) -> Option<String> {
    let starts = text.char_indices().filter(|(at, each)| {
        matches!(each, '{' | '[') && (*at == 0 || text[..*at].ends_with(['\n', ' ', '\t']))
    });
    starts
        .filter_map(|(at, _)| {
            serde_json::Deserializer::from_str(&text[at..])
                .into_iter::<Value>()
                .next()?
                .ok()
        })
        .find_map(|value| label(&value))
}

fn label(value: &Value) -> Option<String> {
    let questions = value.get("questions").unwrap_or(value);
    let first = questions.get(0).unwrap_or(questions);
    let choice = first.get("options")?.get(0)?;
    choice
        .as_str()
        .or_else(|| choice.get("label")?.as_str())
        .map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(blocks: &[&str]) -> Received {
        Received::read(
            &blocks
                .iter()
                .map(|block| (*block).to_owned())
                .collect::<Vec<_>>(),
        )
    }

    #[test]
    fn the_first_of_two_blocks_is_hidden() {
        let received = read(&[
            "Some rules.\nprompt_id: p1\ntask_id: t1\nNote: no key\ntask_id: other",
            "Do it",
        ]);
        assert_eq!(received.text, "Do it");
        assert_eq!(received.prompt_id(), Some("p1"));
        assert_eq!(
            received.facts.get("task_id").map(String::as_str),
            Some("t1")
        );
        assert_eq!(received.facts.len(), 2);
        assert_eq!(received.question, None);
    }

    #[test]
    fn a_single_block_is_what_was_said() {
        assert_eq!(
            read(&["prompt_id: p1"]),
            Received {
                text: "prompt_id: p1".into(),
                ..Received::default()
            }
        );
    }

    #[test]
    fn a_childs_question_is_found_below_its_heading() {
        let hidden = "prompt_id: p1\ntask_id: parent\n\n## AUTOPILOT CHILD QUESTION\nquestion_id: q\nchild_task_id: c\n\
            child_session_id: s\nquestions: [{\"prompt\":\"Which?\",\"options\":[{\"label\":\"SQLite\"},{\"label\":\"Postgres\"}]}]\nAnswer it.";
        let received = read(&[hidden, ""]);
        assert_eq!(
            received.question,
            Some(ChildQuestion {
                question_id: "q".into(),
                child_task_id: "c".into(),
                child_session_id: Some("s".into()),
                first_choice: Some("SQLite".into()),
            })
        );
    }

    #[test]
    fn choices_are_found_as_objects_or_plain_strings_and_on_several_lines() {
        assert_eq!(
            first_choice("x\n{\n \"questions\": [{\"options\": [\"A\", \"B\"]}]\n}\n"),
            Some("A".into())
        );
        assert_eq!(
            first_choice("[broken\nquestions: [{\"prompt\": \"free text\"}]"),
            None
        );
        assert_eq!(first_choice(""), None);
    }

    #[test]
    fn a_heading_without_ids_is_no_question() {
        assert_eq!(
            read(&["AUTOPILOT CHILD QUESTION\nquestion_id: q", "x"]).question,
            None
        );
    }
}
