//! Calls written into the text of a reply, for models that are not given tools natively.
//!
//! Looked for are a fence tagged `tool`, a fence tagged `json`, a fence without a tag that begins with an object whose first
//! key is `tool`, and a bare object with that key: `{"tool": name, "args": {…}}`. Only names in the catalogue count, so a JSON
//! sample in an answer does not run, and only what counted is taken out of the text that a person sees.

use crate::call::{Arguments, ToolCall};
use serde_json::Value;
use std::ops::Range;

/// Objects are looked for at this many places; a text with more opening braces is no call.
const MAX_TRIES: usize = 500;

/// What a text holds.
#[derive(Debug, Clone, PartialEq)]
pub struct Scan {
    /// The calls, in order, each only once.
    pub calls: Vec<ToolCall>,
    /// The text without them.
    pub text: String,
    /// A fence tagged `tool` that could not be read: what is wrong with it, for the model.
    pub problem: Option<String>,
}

/// Looks for calls to tools that `is_known`.
#[must_use]
pub fn scan(text: &str, is_known: impl Fn(&str) -> bool) -> Scan {
    let mut found = Found {
        is_known: &is_known,
        calls: Vec::new(),
        taken: Vec::new(),
        problem: None,
    };
    let mut at = 0;
    for fence in fences(text) {
        found.bare(text, at..fence.whole.start);
        found.fence(text, &fence);
        at = fence.whole.end;
    }
    found.bare(text, at..text.len());
    let mut seen = std::collections::HashSet::new();
    found.calls.retain(|call| seen.insert(call.fingerprint()));
    for (position, call) in found.calls.iter_mut().enumerate() {
        call.id = format!("call_{position}");
    }
    let problem = found.problem.filter(|_| found.calls.is_empty());
    Scan {
        text: without(text, &found.taken),
        calls: found.calls,
        problem,
    }
}

struct Fence {
    /// From the opening line to the closing one, both included.
    whole: Range<usize>,
    body: Range<usize>,
    tag: String,
}

/// Fences of three backticks. One that is never closed reaches to the end.
fn fences(text: &str) -> Vec<Fence> {
    let mut fences = Vec::new();
    let mut open: Option<(usize, usize, String)> = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let next = at + line.len();
        let trimmed = line.trim();
        if let Some(tag) = trimmed.strip_prefix("```") {
            match open.take() {
                None if !tag.contains('`') => open = Some((at, next, tag.trim().to_lowercase())),
                None => {}
                Some((start, body, tag_before)) if tag.is_empty() => fences.push(Fence {
                    whole: start..next,
                    body: body..at,
                    tag: tag_before,
                }),
                // A tagged line within a fence is text of it.
                inside @ Some(_) => open = inside,
            }
        }
        at = next;
    }
    if let Some((start, body, tag)) = open {
        fences.push(Fence {
            whole: start..text.len(),
            body: body..text.len(),
            tag,
        });
    }
    fences
}

struct Found<'a> {
    is_known: &'a dyn Fn(&str) -> bool,
    calls: Vec<ToolCall>,
    taken: Vec<Range<usize>>,
    problem: Option<String>,
}

impl Found<'_> {
    fn fence(&mut self, text: &str, fence: &Fence) {
        let body = &text[fence.body.clone()];
        let calls = match fence.tag.as_str() {
            "tool" | "json" => self.calls_of(body),
            "" => self
                .calls_of(body)
                .filter(|_| first_key(body).as_deref() == Some("tool")),
            _ => None,
        };
        match calls {
            Some(calls) => {
                self.calls.extend(calls);
                self.taken.push(fence.whole.clone());
            }
            None if fence.tag == "tool" => {
                self.problem = Some(self.why_not(body));
            }
            None => {}
        }
    }

    /// The calls of a fence that holds nothing else.
    fn calls_of(&self, body: &str) -> Option<Vec<ToolCall>> {
        let mut calls = Vec::new();
        for value in serde_json::Deserializer::from_str(body).into_iter::<Value>() {
            let value = value.ok()?;
            for one in value
                .as_array()
                .map_or(std::slice::from_ref(&value), Vec::as_slice)
            {
                calls.push(self.call(one)?);
            }
        }
        (!calls.is_empty()).then_some(calls)
    }

    fn why_not(&self, body: &str) -> String {
        match serde_json::from_str::<Value>(body) {
            Err(error) => format!("it is not valid JSON ({error})"),
            Ok(value) => match value.get("tool").and_then(Value::as_str) {
                Some(name) if !(self.is_known)(name) => format!("there is no tool \"{name}\""),
                Some(_) | None => "it must be {\"tool\": name, \"args\": {…}}".to_owned(),
            },
        }
    }

    /// Objects that stand in the text as they are.
    fn bare(&mut self, text: &str, range: Range<usize>) {
        let mut at = range.start;
        let mut tries = 0;
        while let Some(brace) = text[at..range.end].find('{') {
            let start = at + brace;
            at = start + 1;
            tries += 1;
            if tries > MAX_TRIES {
                return;
            }
            let mut values =
                serde_json::Deserializer::from_str(&text[start..range.end]).into_iter::<Value>();
            if let Some(Ok(value)) = values.next() {
                let end = start + values.byte_offset();
                if let Some(call) = self.call(&value) {
                    self.calls.push(call);
                    self.taken.push(start..end);
                }
                // What is inside of an object is its business: a call quoted there is not one.
                at = end;
            }
        }
    }

    fn call(&self, value: &Value) -> Option<ToolCall> {
        let name = value.get("tool")?.as_str()?.trim();
        let arguments = ["args", "arguments", "parameters"]
            .iter()
            .find_map(|key| value.get(*key));
        (self.is_known)(name).then(|| ToolCall {
            id: String::new(),
            name: name.to_owned(),
            arguments: Arguments::read(arguments),
        })
    }
}

fn first_key(body: &str) -> Option<String> {
    let value = serde_json::Deserializer::from_str(body)
        .into_iter::<Value>()
        .next()?
        .ok()?;
    value.as_object()?.keys().next().cloned()
}

fn without(text: &str, taken: &[Range<usize>]) -> String {
    if taken.is_empty() {
        return text.trim().to_owned();
    }
    let mut kept = String::with_capacity(text.len());
    let mut at = 0;
    for range in taken {
        kept.push_str(text[at..range.start].trim_end_matches([' ', '\t']));
        at = range.end;
    }
    kept.push_str(&text[at..]);
    // The hole must not be seen.
    while kept.contains("\n\n\n") {
        kept = kept.replace("\n\n\n", "\n\n");
    }
    kept.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn scanned(text: &str) -> Scan {
        scan(text, |name| matches!(name, "create_task" | "list_tasks"))
    }

    fn names(scan: &Scan) -> Vec<&str> {
        scan.calls.iter().map(|call| call.name.as_str()).collect()
    }

    #[test]
    fn nested_arguments_survive_in_every_form() {
        let call =
            r#"{"tool": "create_task", "args": {"title": "a } b", "more": {"x": [{"y": 1}]}}}"#;
        for text in [
            format!("Right away.\n```tool\n{call}\n```\nDone soon."),
            format!("Right away.\n```json\n{call}\n```\nDone soon."),
            format!("Right away.\n```\n{call}\n```\nDone soon."),
            format!("Right away.\n{call}\nDone soon."),
        ] {
            let scan = scanned(&text);
            assert_eq!(names(&scan), ["create_task"], "{text}");
            let Arguments::Object(arguments) = &scan.calls[0].arguments else {
                panic!("unreadable");
            };
            assert_eq!(arguments["more"], json!({"x": [{"y": 1}]}));
            assert!(!scan.text.contains("create_task"), "{}", scan.text);
            assert!(scan.text.starts_with("Right away.") && scan.text.ends_with("Done soon."));
        }
    }

    #[test]
    fn a_sample_in_an_answer_neither_runs_nor_disappears() {
        for text in [
            "Send this:\n```json\n{\"name\": \"x\", \"value\": 1}\n```",
            "```json\n{\"tool\": \"rm_rf\", \"args\": {}}\n```",
            "```rust\nlet x = r#\"{\"tool\": \"create_task\", \"args\": {}}\"#;\n```",
            "```\n{\"args\": {}, \"tool\": \"create_task\"}\n```",
            "Use {\"tool\": \"hammer\"} for that.",
            "An object { like this } and {\"outer\": {\"tool\": \"create_task\"}}.",
        ] {
            let scan = scanned(text);
            assert_eq!(scan.calls, [], "{text}");
            assert_eq!(scan.text, text);
        }
    }

    #[test]
    fn only_what_ran_is_taken_out() {
        let scan = scanned(
            "First:\n```json\n{\"keep\": true}\n```\nthen\n```tool\n{\"tool\": \"list_tasks\"}\n```\n\nend",
        );
        assert_eq!(names(&scan), ["list_tasks"]);
        assert_eq!(
            scan.text,
            "First:\n```json\n{\"keep\": true}\n```\nthen\n\nend"
        );
    }

    #[test]
    fn the_same_call_twice_is_one() {
        let scan = scanned(
            "{\"tool\":\"list_tasks\",\"args\":{\"a\":1,\"b\":2}} {\"tool\":\"list_tasks\",\"args\":{\"b\":2,\"a\":1}} {\"tool\":\"list_tasks\"}",
        );
        assert_eq!(names(&scan), ["list_tasks", "list_tasks"]);
        assert_eq!(scan.calls[1].id, "call_1");
        assert_eq!(scan.text, "");
    }

    #[test]
    fn a_fence_meant_as_a_call_that_cannot_be_read_is_a_problem_for_the_model() {
        let scan = scanned("```tool\n{\"tool\": \"list_tasks\", \"args\": {\n```");
        assert_eq!(scan.calls, []);
        assert!(scan.problem.unwrap().contains("not valid JSON"));
        let unknown = scanned("```tool\n{\"tool\": \"fly\"}\n```");
        assert_eq!(unknown.problem.as_deref(), Some("there is no tool \"fly\""));
    }

    #[test]
    fn an_open_fence_and_hostile_text_end_well() {
        assert_eq!(
            names(&scanned("```tool\n{\"tool\": \"list_tasks\"}")),
            ["list_tasks"]
        );
        let hostile = "{\"a\":".repeat(20_000);
        assert_eq!(scanned(&hostile).calls, []);
        assert_eq!(
            scanned("``` ` ```\n{\"tool\": \"list_tasks\"}").calls.len(),
            1
        );
    }
}
