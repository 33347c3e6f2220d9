//! Placeholders in scripts.
//!
//! `{name}` stands for a value: `task_id`, `session_id`, `prompt_id` and whatever else the hidden block names;
//! `parent_id`; `prompt`, the text that started the section; `question_id`, `child_task_id`, `child_session_id` of the
//! last child's question; `permission`, the last answer to a permission request; `result`, what the last MCP call gave,
//! with a path into it (`{result.id}`, `{result.items.0.title}`); and every name that `e2e:set` gave.
//!
//! An unknown name stays as it is, so JSON in text needs no care. `{{name}}` becomes `{name}`: for scripts that write
//! scripts for others.

use serde_json::Value;

/// Fills the placeholders of one text.
pub(super) fn fill(text: &str, lookup: &dyn Fn(&str) -> Option<Value>) -> String {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('{') {
        filled.push_str(&rest[..at]);
        rest = &rest[at..];
        let depth = rest.len() - rest.trim_start_matches('{').len();
        let Some((name, after)) = placeholder(rest, depth) else {
            // No placeholder: the braces are text.
            filled.push_str(&rest[..depth]);
            rest = &rest[depth..];
            continue;
        };
        match (depth, lookup(name)) {
            (1, Some(Value::String(value))) => filled.push_str(&value),
            (1, Some(value)) => filled.push_str(&value.to_string()),
            (1, None) => filled.push_str(&rest[..rest.len() - after.len()]),
            _ => filled.push_str(&rest[1..rest.len() - after.len() - 1]),
        }
        rest = after;
    }
    filled.push_str(rest);
    filled
}

/// Fills every text within a value. A text that is one placeholder and nothing else takes the value's own type.
pub(super) fn fill_value(value: &Value, lookup: &dyn Fn(&str) -> Option<Value>) -> Value {
    match value {
        Value::String(text) => match placeholder(text, 1) {
            Some((name, "")) if !text.starts_with("{{") => {
                lookup(name).unwrap_or_else(|| value.clone())
            }
            _ => Value::String(fill(text, lookup)),
        },
        Value::Array(items) => items.iter().map(|item| fill_value(item, lookup)).collect(),
        Value::Object(fields) => Value::Object(
            fields
                .iter()
                .map(|(key, field)| (key.clone(), fill_value(field, lookup)))
                .collect(),
        ),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// What a dotted path leads to within a value. An empty path is the value itself.
pub(super) fn at_path(value: &Value, path: &str) -> Option<Value> {
    let mut found = value;
    for step in path.split('.').filter(|step| !step.is_empty()) {
        found = match found {
            Value::Array(items) => items.get(step.parse::<usize>().ok()?)?,
            Value::Object(_)
            | Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_) => found.get(step)?,
        };
    }
    Some(found.clone())
}

/// The name behind `depth` braces, closed by as many, and what follows.
fn placeholder(text: &str, depth: usize) -> Option<(&str, &str)> {
    let inner = text
        .get(depth..)
        .filter(|_| text.as_bytes().iter().take(depth).all(|byte| *byte == b'{'))?;
    let length = inner
        .find(|each: char| !(each.is_ascii_alphanumeric() || matches!(each, '_' | '.' | '-')))?;
    let (name, after) = inner.split_at(length);
    let after = after.strip_prefix(&"}".repeat(depth))?;
    name.starts_with(|first: char| first.is_ascii_lowercase())
        .then_some((name, after))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn lookup(name: &str) -> Option<Value> {
        match name {
            "task_id" => Some(json!("t-1")),
            _ => {
                let path = name.strip_prefix("result")?;
                at_path(
                    &json!({"id": "r-1", "count": 2, "items": [{"title": "first"}]}),
                    path,
                )
            }
        }
    }

    #[test]
    fn names_become_values_and_everything_else_stays() {
        for (text, filled) in [
            ("{task_id}", "t-1"),
            ("a {task_id}/{result.id} b", "a t-1/r-1 b"),
            ("{result.items.0.title} {result.count}", "first 2"),
            (
                "{nobody} {result.nothing} {result.items.7}",
                "{nobody} {result.nothing} {result.items.7}",
            ),
            (
                r#"{"a":{"b":1}} {} { task_id } {task_id"#,
                r#"{"a":{"b":1}} {} { task_id } {task_id"#,
            ),
            (r#"{"id":"{task_id}"}"#, r#"{"id":"t-1"}"#),
            ("{{task_id}} {{{task_id}}}", "{task_id} {{task_id}}"),
            ("é{task_id}é", "ét-1é"),
        ] {
            assert_eq!(fill(text, &lookup), filled, "{text}");
        }
        assert_eq!(
            fill("{result}", &lookup),
            r#"{"id":"r-1","count":2,"items":[{"title":"first"}]}"#
        );
    }

    #[test]
    fn a_lone_placeholder_keeps_its_type() {
        let value = json!({"n": "{result.count}", "s": "n={result.count}", "list": ["{task_id}", 1, null], "raw": "{{task_id}}"});
        assert_eq!(
            fill_value(&value, &lookup),
            json!({"n": 2, "s": "n=2", "list": ["t-1", 1, null], "raw": "{task_id}"})
        );
    }
}
