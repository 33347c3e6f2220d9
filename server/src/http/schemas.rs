//! The schemas of what the API takes and answers: read by the OpenAPI document, and checked against what comes in.

use crate::schema::Schema;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::{LazyLock, OnceLock};

static COMPONENTS: LazyLock<Value> = LazyLock::new(|| {
    let schemas: Value =
        serde_json::from_str(include_str!("schemas.json")).expect("schemas.json is JSON");
    json!({"components": {"schemas": schemas}})
});

/// All schemas by name, each compiled when it is first needed: all of them at once would hold up a thread that serves others.
static COMPILED: LazyLock<HashMap<&'static str, OnceLock<Schema>>> = LazyLock::new(|| {
    COMPONENTS["components"]["schemas"]
        .as_object()
        .expect("schemas.json is an object")
        .keys()
        .map(|name| (name.as_str(), OnceLock::new()))
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
    COMPILED
        .get(name)
        .expect("schemas.json has every body")
        .get_or_init(|| Schema::component(&COMPONENTS, name))
}
