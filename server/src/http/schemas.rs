//! The schemas of what the API takes and answers: read by the OpenAPI document, and checked against what comes in.

use crate::schema::Schema;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::LazyLock;

static COMPONENTS: LazyLock<Value> = LazyLock::new(|| {
    let schemas: Value =
        serde_json::from_str(include_str!("schemas.json")).expect("schemas.json is JSON");
    json!({"components": {"schemas": schemas}})
});

/// All schemas, compiled, by name.
static COMPILED: LazyLock<HashMap<&'static str, Schema>> = LazyLock::new(|| {
    COMPONENTS["components"]["schemas"]
        .as_object()
        .expect("schemas.json is an object")
        .keys()
        .map(|name| (name.as_str(), Schema::component(&COMPONENTS, name)))
        .collect()
});

/// The `components` part of the document, by itself a document that the schemas can refer to.
pub(super) fn components() -> &'static Value {
    &COMPONENTS
}

/// The compiled schema of a body.
///
/// # Panics
/// When there is none of that name: names are constants beside their types.
pub(super) fn body_schema(name: &str) -> &'static Schema {
    COMPILED.get(name).expect("schemas.json has every body")
}
