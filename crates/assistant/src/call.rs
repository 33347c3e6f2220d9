//! A call to a tool as a model asked for it.
//!
//! Two shapes are on the wire, `{name, arguments: {…}}` and `{function: {name, arguments: "…"}}`, and some write `parameters`
//! for `arguments`. Arguments that cannot be read stay what they are: the model is told, and the tool does not run.

use domain::job::effects::args_hash;
use serde_json::{Map, Value};

/// A call.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// The provider's id of it; one of ours when it gave none.
    pub id: String,
    /// The tool.
    pub name: String,
    /// What to call it with.
    pub arguments: Arguments,
}

/// What a tool is called with.
#[derive(Debug, Clone, PartialEq)]
pub enum Arguments {
    /// As it should be.
    Object(Map<String, Value>),
    /// Not a JSON object: the text, and what is wrong with it.
    Unreadable {
        /// What came.
        text: String,
        /// For the model.
        problem: String,
    },
}

impl ToolCall {
    /// Reads one call of a reply; none when it names no tool. `position` makes an id where the provider gave none.
    #[must_use]
    pub fn read(value: &Value, position: usize) -> Option<Self> {
        let inner = value
            .get("function")
            .filter(|f| f.is_object())
            .unwrap_or(value);
        let name = inner.get("name")?.as_str()?.trim();
        if name.is_empty() {
            return None;
        }
        let id = value
            .get("id")
            .and_then(Value::as_str)
            .filter(|id| !id.is_empty())
            .map_or_else(|| format!("call_{position}"), str::to_owned);
        let arguments = ["arguments", "parameters", "args"]
            .iter()
            .find_map(|key| inner.get(*key));
        Some(Self {
            id,
            name: name.to_owned(),
            arguments: Arguments::read(arguments),
        })
    }

    /// The same call for whoever compares: tool and arguments, whatever their order.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        let arguments = match &self.arguments {
            Arguments::Object(map) => args_hash(&Value::Object(map.clone())),
            Arguments::Unreadable { text, .. } => text.clone(),
        };
        format!("{}\0{arguments}", self.name)
    }
}

impl Arguments {
    /// An object, or a text that holds one. Nothing at all is an empty object: that is how tools without parameters are called.
    #[must_use]
    pub fn read(value: Option<&Value>) -> Self {
        match value {
            None | Some(Value::Null) => Self::Object(Map::new()),
            Some(Value::Object(map)) => Self::Object(map.clone()),
            Some(Value::String(text)) => Self::parse(text),
            Some(other @ (Value::Bool(_) | Value::Number(_) | Value::Array(_))) => {
                Self::Unreadable {
                    text: other.to_string(),
                    problem: "they must be a JSON object".to_owned(),
                }
            }
        }
    }

    /// As an object in any case: what could not be read is quoted in it, since some servers read a history's arguments again.
    #[must_use]
    pub fn as_object(&self) -> Value {
        match self {
            Self::Object(map) => Value::Object(map.clone()),
            Self::Unreadable { text, .. } => serde_json::json!({"unreadable": text}),
        }
    }

    /// As [`Self::read`], from text.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        if text.trim().is_empty() {
            return Self::Object(Map::new());
        }
        match serde_json::from_str(text) {
            Ok(Value::Object(map)) => Self::Object(map),
            Ok(Value::Null) => Self::Object(Map::new()),
            Ok(_) => Self::Unreadable {
                text: text.to_owned(),
                problem: "they must be a JSON object".to_owned(),
            },
            Err(error) => Self::Unreadable {
                text: text.to_owned(),
                problem: format!("they are not valid JSON ({error})"),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn both_wire_shapes_are_read() {
        let object = json!({"a": {"b": 1}});
        for shape in [
            json!({"name": "t", "arguments": object}),
            json!({"name": "t", "parameters": object}),
            json!({"id": "", "type": "function", "function": {"name": "t", "arguments": object.to_string()}}),
            json!({"function": {"name": " t ", "parameters": object}}),
        ] {
            let call = ToolCall::read(&shape, 3).unwrap();
            assert_eq!((call.id.as_str(), call.name.as_str()), ("call_3", "t"));
            assert_eq!(
                call.arguments,
                Arguments::Object(object.as_object().unwrap().clone()),
                "{shape}"
            );
        }
    }

    #[test]
    fn a_call_that_names_no_tool_is_none() {
        for shape in [
            json!({}),
            json!({"name": ""}),
            json!({"name": 5}),
            json!({"function": {"arguments": "{}"}}),
            json!("t"),
        ] {
            assert_eq!(ToolCall::read(&shape, 0), None, "{shape}");
        }
    }

    #[test]
    fn unreadable_arguments_are_kept_for_the_model_to_see() {
        for text in ["{\"a\":", "[1]", "5", "{a: 1}"] {
            let call = ToolCall::read(&json!({"name": "t", "arguments": text}), 0).unwrap();
            let Arguments::Unreadable {
                text: kept,
                problem,
            } = call.arguments
            else {
                panic!("{text} was read");
            };
            assert_eq!(kept, text);
            assert!(problem.starts_with("they "), "{problem}");
        }
        let none = Arguments::Object(Map::new());
        assert_eq!(Arguments::read(Some(&json!(""))), none);
        assert_eq!(Arguments::read(Some(&json!("null"))), none);
        assert_eq!(Arguments::read(None), none);
    }

    #[test]
    fn the_order_of_keys_makes_no_other_call() {
        let read = |text: &str| {
            ToolCall::read(&json!({"name": "t", "arguments": text}), 0)
                .unwrap()
                .fingerprint()
        };
        assert_eq!(
            read(r#"{"a":1,"b":{"c":2,"d":3}}"#),
            read(r#"{"b":{"d":3,"c":2},"a":1}"#)
        );
        assert_ne!(read(r#"{"a":1}"#), read(r#"{"a":"1"}"#));
    }
}
