//! Checking what came in through a door against its published schema: one engine for the API's bodies and the tools' arguments.
//!
//! A refusal says where (a JSON pointer, `$` for the root), which keyword was violated and what is expected. It never repeats
//! what was sent.

use domain::error::Refusal;
use domain::ids::parse_uuid;
use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{ValidationError, Validator};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use serde_path_to_error::Segment;

/// A compiled schema. One that does not compile refuses everything.
#[derive(Debug)]
pub struct Schema {
    validator: Option<Validator>,
    /// Names of the root's properties that hold one of our ids.
    ids: Vec<String>,
}

impl Schema {
    /// Compiles `schema` closed: fields of the root that it does not name are refused, whether or not it says so itself.
    #[must_use]
    pub fn closed(schema: &Value) -> Self {
        let mut closed = schema.clone();
        closed["additionalProperties"] = json!(false);
        Self::compile(&closed, schema)
    }

    /// Compiles the schema `name` of `document`'s components.
    #[must_use]
    pub fn component(document: &Value, name: &str) -> Self {
        let rooted = json!({
            "$ref": format!("#/components/schemas/{name}"),
            "components": document["components"],
        });
        Self::compile(&rooted, &document["components"]["schemas"][name])
    }

    fn compile(schema: &Value, plain: &Value) -> Self {
        let ids = plain["properties"].as_object().map(|properties| {
            properties
                .iter()
                .filter(|(_, property)| property["format"] == "uuid")
                .map(|(name, _)| name.clone())
                .collect()
        });
        let validator = jsonschema::options()
            .with_draft(jsonschema::Draft::Draft202012)
            .build(schema)
            .inspect_err(|error| tracing::error!(%error, "a schema of ours does not compile"))
            .ok();
        Self {
            validator,
            ids: ids.unwrap_or_default(),
        }
    }

    /// Whether it can be used at all.
    #[must_use]
    pub const fn compiles(&self) -> bool {
        self.validator.is_some()
    }

    /// Refuses `value` when it does not fit; `what` names the tool or the body.
    pub fn check(&self, what: &str, value: &Value) -> Result<(), Refusal> {
        let Some(validator) = &self.validator else {
            return Err(Refusal::unavailable(format!(
                "{what}: its schema cannot be used, so nothing is accepted; this is a fault of the server"
            )));
        };
        let errors: Vec<ValidationError<'_>> = validator.iter_errors(value).collect();
        if let Some(first) = errors.first() {
            return Err(refusal(what, first, &errors));
        }
        for name in &self.ids {
            if let Some(text) = value.get(name).and_then(Value::as_str) {
                // The tools have a word for the caller's own task where an id could stand.
                if text != "self" {
                    parse_uuid(name, text)?;
                }
            }
        }
        Ok(())
    }
}

/// Reads what fits its schema. What a schema lets through and the type does not is a number with a point or beyond all bounds,
/// and an id below the root that is none. The parser's own text would repeat what was sent, so only the place is taken from it.
pub fn read<T: DeserializeOwned>(what: &str, value: Value) -> Result<T, Refusal> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let place = error
            .path()
            .iter()
            .fold(String::new(), |place, segment| match segment {
                Segment::Seq { index } => format!("{place}/{index}"),
                Segment::Map { key: name } | Segment::Enum { variant: name } => {
                    format!("{place}/{name}")
                }
                Segment::Unknown => place,
            });
        let place = if place.is_empty() { "$" } else { &place };
        Refusal {
            details: Some(json!({"location": place, "keyword": "format"})),
            ..Refusal::validation(format!(
                "{what}: {place} violates \"format\": a number must be whole, without a point and of usual size, an id whole as it \
                 was given"
            ))
        }
    })
}

fn refusal(what: &str, error: &ValidationError<'_>, all: &[ValidationError<'_>]) -> Refusal {
    let keyword = error.kind().keyword().to_owned();
    let path = error.instance_path().as_str();
    let place = if path.is_empty() {
        "$".to_owned()
    } else {
        path.to_owned()
    };
    let mut details = json!({"location": place, "keyword": keyword});
    let explanation = if let ValidationErrorKind::Required { .. } = error.kind() {
        let missing = missing(error.instance_path().as_str(), all);
        details["missing"] = json!(missing);
        format!("missing {}", missing.join(", "))
    } else {
        explain(error.kind())
    };
    Refusal {
        details: Some(details),
        ..Refusal::validation(format!(
            "{what}: {place} violates \"{keyword}\": {explanation}"
        ))
    }
}

/// The names that are missing at one place, sorted.
fn missing(path: &str, all: &[ValidationError<'_>]) -> Vec<String> {
    let mut names: Vec<String> = all
        .iter()
        .filter(|error| error.instance_path().as_str() == path)
        .filter_map(|error| {
            if let ValidationErrorKind::Required { property } = error.kind() {
                property.as_str().map(str::to_owned)
            } else {
                None
            }
        })
        .collect();
    names.sort();
    names.dedup();
    names
}

/// What was expected, as our own schema says it. Of what was sent, only names of fields go in, and only if they look like one.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the library's list; only the keywords that we use have words"
)]
fn explain(kind: &ValidationErrorKind) -> String {
    match kind {
        ValidationErrorKind::AdditionalProperties { unexpected }
        | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
            let names: Vec<&str> = unexpected
                .iter()
                .map(String::as_str)
                .filter(|name| is_field_name(name))
                .take(5)
                .collect();
            format!("unknown field {}", names.join(", "))
        }
        ValidationErrorKind::Type { kind } => format!("expected {}", expected(kind)),
        ValidationErrorKind::Enum { options } => format!("expected one of {options}"),
        ValidationErrorKind::Constant { expected_value } => format!("expected {expected_value}"),
        ValidationErrorKind::MinLength { limit } => format!("needs at least {limit} characters"),
        ValidationErrorKind::MaxLength { limit } => format!("takes at most {limit} characters"),
        ValidationErrorKind::MinItems { limit } => format!("needs at least {limit} entries"),
        ValidationErrorKind::MaxItems { limit } => format!("takes at most {limit} entries"),
        ValidationErrorKind::Minimum { limit } => format!("must be at least {limit}"),
        ValidationErrorKind::Maximum { limit } => format!("must be at most {limit}"),
        ValidationErrorKind::UniqueItems => "entries must differ".to_owned(),
        _ => "does not fit the schema".to_owned(),
    }
}

fn is_field_name(name: &str) -> bool {
    name.len() <= 40
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
}

fn expected(kind: &TypeKind) -> String {
    match kind {
        TypeKind::Single(kind) => kind.to_string(),
        TypeKind::Multiple(kinds) => {
            let names: Vec<String> = kinds.iter().map(|kind| kind.to_string()).collect();
            names.join(" or ")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema() -> Schema {
        Schema::closed(&json!({
            "type": "object",
            "properties": {
                "title": {"type": "string", "maxLength": 5},
                "mode": {"enum": ["fast", "slow"]},
                "parent_id": {"type": "string", "format": "uuid"},
                "questions": {"type": "array", "items": {
                    "type": "object",
                    "properties": {"prompt": {"type": "string"}, "id": {"type": "string"}},
                    "required": ["prompt", "id"]
                }},
                "open": {"type": "object", "additionalProperties": {"type": "string"}},
            },
            "required": ["title", "mode"]
        }))
    }

    fn refused(value: &Value) -> String {
        schema().check("the_tool", value).unwrap_err().message
    }

    #[test]
    fn refusals_name_tool_place_keyword_and_what_is_missing_in_order() {
        assert_eq!(
            refused(&json!({})),
            "the_tool: $ violates \"required\": missing mode, title"
        );
        assert_eq!(
            refused(&json!({"title": "a", "mode": "fast", "questions": [{}]})),
            "the_tool: /questions/0 violates \"required\": missing id, prompt"
        );
        assert_eq!(
            refused(&json!({"title": 7, "mode": "fast"})),
            "the_tool: /title violates \"type\": expected string"
        );
    }

    #[test]
    fn nothing_that_was_sent_is_repeated() {
        for value in [
            json!({"title": "s3cret-long", "mode": "fast"}),
            json!({"title": "a", "mode": "s3cret"}),
            json!({"title": "a", "mode": "fast", "x": "s3cret"}),
            json!({"title": "a", "mode": "fast", "s3cret: a sentence": 1}),
            json!({"title": "a", "mode": "fast", "parent_id": "s3cret"}),
            json!({"title": "a", "mode": {"s3cret": 1}}),
            json!(["s3cret"]),
        ] {
            let text = refused(&value);
            assert!(!text.contains("s3cret"), "{text}");
        }
    }

    #[test]
    fn the_root_is_closed_and_nested_maps_that_are_open_stay_open() {
        let open = json!({"title": "a", "mode": "fast", "open": {"anything": "goes"}});
        schema().check("the_tool", &open).unwrap();
        let unknown = json!({"title": "a", "mode": "fast", "autopilott": true});
        assert_eq!(
            refused(&unknown),
            "the_tool: $ violates \"additionalProperties\": unknown field autopilott"
        );
    }

    #[test]
    fn a_shortened_id_is_told_so_by_the_name_of_its_field() {
        let text = refused(&json!({"title": "a", "mode": "fast", "parent_id": "0198c0de"}));
        assert!(text.starts_with("parent_id looks shortened"), "{text}");
    }

    #[test]
    fn a_schema_that_does_not_compile_lets_nothing_through() {
        let broken = Schema::closed(
            &json!({"type": "object", "properties": {"a": {"type": "no such type"}}}),
        );
        assert!(!broken.compiles());
        assert!(broken.check("the_tool", &json!({})).is_err());
    }
}
