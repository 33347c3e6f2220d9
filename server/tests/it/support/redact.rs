//! Snapshots of shapes: what differs from run to run is replaced by a name for it, the same name for the same value.

use serde_json::Value;
use std::collections::HashMap;
use uuid::Uuid;

/// Replaces ids by `[id 1]`, `[id 2]`, …, times by `[time]`, and everything below `root` by a path in `[data]`.
pub(crate) struct Redact {
    ids: HashMap<Uuid, usize>,
    root: String,
}

impl Redact {
    pub(crate) fn new(root: &std::path::Path) -> Self {
        Self {
            ids: HashMap::new(),
            root: root.to_string_lossy().into_owned(),
        }
    }

    pub(crate) fn value(&mut self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(text)),
            Value::Array(items) => items.iter().map(|item| self.value(item)).collect(),
            Value::Object(fields) => fields
                .iter()
                .map(|(name, field)| match name.as_str() {
                    // How many events a step makes is no part of a shape.
                    "as_of" | "epoch" | "sequence" => {
                        (name.clone(), Value::String("[position]".to_owned()))
                    }
                    _ => (name.clone(), self.value(field)),
                })
                .collect::<serde_json::Map<_, _>>()
                .into(),
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }

    fn text(&mut self, text: &str) -> String {
        if domain::time::Timestamp::parse_rfc3339(text).is_some() {
            return "[time]".to_owned();
        }
        let mut text = text.replace(&self.root, "[data]");
        let mut from = 0;
        while let Some((start, id)) = find_id(&text, from) {
            let next = self.ids.len() + 1;
            let number = *self.ids.entry(id).or_insert(next);
            let name = format!("[id {number}]");
            text.replace_range(start..start + 36, &name);
            from = start + name.len();
        }
        text
    }
}

fn find_id(text: &str, from: usize) -> Option<(usize, Uuid)> {
    (from..text.len().saturating_sub(35)).find_map(|start| {
        let id = Uuid::try_parse(text.get(start..start + 36)?).ok()?;
        Some((start, id))
    })
}
