//! Preview and confirmation: what a preview's result means to the model, and what the caller is to show.
//!
//! A preview does nothing. What it shows is done by another tool, after the user has agreed in a later message; the model's own
//! agreement is none, so that tool is refused in the turn of its preview.

use serde_json::{Map, Value};

/// The plain words of the promise.
pub(crate) const WORDS_NOTHING: &str = "Nothing was created or changed.";

/// What waits for the user's consent.
#[derive(Debug, Clone, PartialEq)]
pub struct PendingConfirmation {
    /// The tool that showed it.
    pub preview_tool: String,
    /// The tool that would do it, when the preview named one.
    pub confirmation_tool: Option<String>,
    /// What the preview was called with.
    pub arguments: Map<String, Value>,
    /// What the preview showed.
    pub shown: Value,
}

impl PendingConfirmation {
    /// Reads a tool's result; none when it asks for no confirmation.
    #[must_use]
    pub fn of(tool: &str, arguments: &Map<String, Value>, result: &Value) -> Option<Self> {
        if result.get("requiresConfirmation") != Some(&Value::Bool(true)) {
            return None;
        }
        let confirmation_tool = result
            .get("confirmationTool")
            .and_then(Value::as_str)
            .map(str::trim)
            .filter(|name| !name.is_empty())
            .map(str::to_owned);
        Some(Self {
            preview_tool: tool.to_owned(),
            confirmation_tool,
            arguments: arguments.clone(),
            shown: result.clone(),
        })
    }

    /// What the model is told along with the result.
    #[must_use]
    pub fn note(&self) -> String {
        let tool = self
            .confirmation_tool
            .as_deref()
            .unwrap_or("the matching confirm tool");
        format!(
            "This is a preview: nothing exists yet. Show it to the user and ask. Only when the user has agreed in a later message, call \
             {tool} with the same arguments; a call before that is refused."
        )
    }

    /// Whether `tool` would carry out what was shown. A preview that names no tool holds every confirm tool.
    #[must_use]
    pub fn is_confirmed_by(&self, tool: &str) -> bool {
        match &self.confirmation_tool {
            Some(name) => name == tool,
            None => tool.starts_with("confirm_"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_a_result_that_asks_for_it_waits_for_consent() {
        let none = Map::new();
        for result in [
            json!({}),
            json!("x"),
            json!({"requiresConfirmation": "true"}),
            json!({"requiresConfirmation": false}),
        ] {
            assert_eq!(
                PendingConfirmation::of("preview_task", &none, &result),
                None
            );
        }
        let named = json!({"requiresConfirmation": true, "confirmationTool": "confirm_task"});
        let pending = PendingConfirmation::of("preview_task", &none, &named).unwrap();
        assert!(
            pending.note().contains("confirm_task")
                && pending.note().contains("nothing exists yet")
        );
        assert!(
            pending.is_confirmed_by("confirm_task") && !pending.is_confirmed_by("confirm_event")
        );
        let unnamed = PendingConfirmation::of(
            "preview_task",
            &none,
            &json!({"requiresConfirmation": true}),
        )
        .unwrap();
        assert!(unnamed.note().contains("the matching confirm tool"));
        assert!(
            unnamed.is_confirmed_by("confirm_event") && !unnamed.is_confirmed_by("create_event")
        );
    }
}
