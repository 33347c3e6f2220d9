//! Parameters of a tool, described in prose or by a schema, as the JSON Schema that models are given.
//!
//! A spec reads `type (required) - description`: a type word, an optional marker, an optional hyphen, dash or colon, and the
//! rest. One that cannot be read becomes an optional text whose description is the whole spec; a parameter is never dropped,
//! because a tool without one of its parameters cannot be called properly.

use serde_json::{Map, Value, json};

const TYPES: &[&str] = &["string", "number", "integer", "boolean", "array", "object"];
const SEPARATORS: &[char] = &['-', '\u{2013}', '\u{2014}', ':'];

/// What a tool takes.
#[derive(Debug, Clone, PartialEq)]
pub enum Parameters {
    /// Name and spec of each parameter, in order; `Null` is a tool without any.
    Prose(Value),
    /// A JSON Schema whose root is an object.
    Schema(Value),
}

impl Parameters {
    /// The JSON Schema for a model.
    #[must_use]
    pub fn schema(&self) -> Value {
        match self {
            Self::Schema(schema) => schema.clone(),
            Self::Prose(specs) => schema_of(specs),
        }
    }
}

/// The schema of a map of specs. Anything but a map has no parameters.
#[must_use]
pub fn schema_of(specs: &Value) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for (name, spec) in specs.as_object().into_iter().flatten() {
        let text = match spec {
            Value::Null => as_text(""),
            Value::String(text) => read(text),
            Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
                as_text(&spec.to_string())
            }
        };
        if text.required {
            required.push(Value::from(name.as_str()));
        }
        properties.insert(name.clone(), text.property);
    }
    let mut schema = json!({"type": "object", "properties": properties});
    if !required.is_empty() {
        schema["required"] = required.into();
    }
    schema
}

struct Parameter {
    property: Value,
    required: bool,
}

fn as_text(description: &str) -> Parameter {
    let mut property = json!({"type": "string"});
    if !description.is_empty() {
        property["description"] = description.into();
    }
    Parameter {
        property,
        required: false,
    }
}

fn read(spec: &str) -> Parameter {
    let text = spec.trim();
    let word = text
        .find(|c: char| !c.is_ascii_alphabetic())
        .unwrap_or(text.len());
    let (kind, rest) = text.split_at(word);
    let kind = kind.to_ascii_lowercase();
    // "string_list" and "integer2" are no types, they only begin like one.
    let ends = rest
        .chars()
        .next()
        .is_none_or(|c| !c.is_alphanumeric() && c != '_');
    if !TYPES.contains(&kind.as_str()) || !ends {
        return as_text(text);
    }
    let rest = rest.trim_start();
    let (required, rest) = match (marker(rest, "(required)"), marker(rest, "(optional)")) {
        (Some(rest), _) => (true, rest),
        (None, Some(rest)) => (false, rest),
        (None, None) => (false, rest),
    };
    let rest = rest.trim_start();
    let description = rest.strip_prefix(SEPARATORS).unwrap_or(rest).trim();
    let mut property = json!({"type": kind});
    if kind == "array" {
        property["items"] = json!({"type": "string"});
    }
    if !description.is_empty() {
        property["description"] = description.into();
    }
    Parameter { property, required }
}

fn marker<'a>(text: &'a str, marker: &str) -> Option<&'a str> {
    let head = text.get(..marker.len())?;
    head.eq_ignore_ascii_case(marker)
        .then(|| &text[marker.len()..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn property(spec: &str) -> (Value, bool) {
        let schema = schema_of(&json!({"p": spec}));
        (
            schema["properties"]["p"].clone(),
            schema.get("required").is_some(),
        )
    }

    #[test]
    fn every_type_and_marker_is_read() {
        for kind in TYPES {
            for (marker, required) in [
                ("(required)", true),
                ("(optional)", false),
                ("(Required)", true),
                ("", false),
            ] {
                let (read, is_required) =
                    property(&format!("{} {marker} - what it is", kind.to_uppercase()));
                assert_eq!(read["type"], *kind);
                assert_eq!(read["description"], "what it is");
                assert_eq!(is_required, required, "{kind} {marker}");
                assert_eq!(read.get("items").is_some(), *kind == "array");
            }
        }
    }

    #[test]
    fn every_separator_is_understood_and_only_one_is_taken() {
        for dash in ["-", "–", "—", ":", ""] {
            assert_eq!(
                property(&format!("integer (required) {dash} how many")).0["description"],
                "how many"
            );
        }
        assert_eq!(property("string:- x").0["description"], "- x");
        assert_eq!(
            property("string(required): x"),
            (json!({"type": "string", "description": "x"}), true)
        );
    }

    #[test]
    fn what_cannot_be_read_stays_as_an_optional_text() {
        for junk in [
            "the title (required)",
            "strings of text",
            "string_list (required)",
            "(required) string",
            "日付",
            "uuid",
        ] {
            assert_eq!(
                property(junk),
                (json!({"type": "string", "description": junk}), false)
            );
        }
        let schema = schema_of(&json!({"n": 5, "o": {"a": 1}, "none": null}));
        assert_eq!(
            schema["properties"]["n"],
            json!({"type": "string", "description": "5"})
        );
        assert_eq!(schema["properties"]["o"]["description"], "{\"a\":1}");
        assert_eq!(schema["properties"]["none"], json!({"type": "string"}));
    }

    #[test]
    fn no_specs_are_no_parameters() {
        for none in [Value::Null, json!({}), json!([]), json!("x")] {
            assert_eq!(
                schema_of(&none),
                json!({"type": "object", "properties": {}})
            );
        }
    }

    #[test]
    fn parameters_keep_their_order() {
        let schema =
            schema_of(&json!({"z": "string (required)", "a": "string", "m": "array (required)"}));
        let names: Vec<_> = schema["properties"].as_object().unwrap().keys().collect();
        assert_eq!(names, ["z", "a", "m"]);
        assert_eq!(schema["required"], json!(["z", "m"]));
    }
}
