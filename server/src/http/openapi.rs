//! The OpenAPI document, made of the list of routes and of `schemas.json`.
//!
//! The schemas are written by hand, since `domain` knows nothing of documents. What keeps them true: bodies are checked
//! against them before they are read, and the tests check every answer they get.

use super::route::{Answer, Parameter, Route};
use super::{API, api_routes, plain_routes, schemas};
use crate::state::AppState;
use axum::Json;
use axum::extract::State;
use serde_json::{Map, Value, json};
use std::sync::LazyLock;

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/openapi.json", show)
            .says("This document.")
            .answers("OpenApi"),
    ]
}

static DOCUMENT: LazyLock<Value> = LazyLock::new(|| {
    let mut paths = Map::new();
    let api = api_routes()
        .into_iter()
        .map(|route| (format!("{API}{}", route.path), route));
    let plain = plain_routes()
        .into_iter()
        .map(|route| (route.path.to_owned(), route));
    for (path, route) in api.chain(plain) {
        let method = route.method.as_str().to_ascii_lowercase();
        let described = operation(&path, &route);
        let entry = paths.entry(path).or_insert_with(|| json!({}));
        entry[method] = described;
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Flightdeck",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "The JSON API of a Flightdeck board. Ids are UUIDs, times are RFC 3339. What changes something must \
                            come from the same origin or from outside of a browser. Errors have one shape and a closed list of codes.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        // Bound to loopback and without accounts nothing has to be shown; where the request comes from is checked.
        "security": [{}],
        "paths": paths,
        "components": schemas::components()["components"].clone(),
    })
});

/// The document.
#[must_use]
pub fn document() -> &'static Value {
    &DOCUMENT
}

async fn show(State(_app): State<AppState>) -> Json<&'static Value> {
    Json(document())
}

fn operation(path: &str, route: &Route) -> Value {
    let noun = path
        .trim_start_matches(API)
        .split('/')
        .nth(1)
        .unwrap_or_default();
    let mut operation = json!({
        "operationId": operation_id(path, route),
        "summary": route.summary,
        "tags": [noun],
        "parameters": parameters(path, route.query),
        "responses": responses(route),
    });
    if let Some(body) = route.body {
        operation["requestBody"] =
            json!({"required": true, "content": content("application/json", body)});
    }
    operation
}

/// What a path's part is: a UUID, unless it is one of those that are not (ruling 26).
fn path_part(name: &str) -> (&'static str, Value) {
    match name {
        "job_id" => (
            "The job's number, or its correlation id.",
            json!({"type": "string", "minLength": 1}),
        ),
        "document_key" => (
            "What the document is known by within its task.",
            json!({"type": "string", "minLength": 1, "maxLength": 120}),
        ),
        _ => (
            "The full UUID.",
            json!({"type": "string", "format": "uuid"}),
        ),
    }
}

/// `GET /api/v1/tasks/{id}/sessions` becomes `get_tasks_id_sessions`.
fn operation_id(path: &str, route: &Route) -> String {
    let words: Vec<&str> = path
        .trim_start_matches(API)
        .split(['/', '-', '.'])
        .map(|word| word.trim_matches(['{', '}']))
        .filter(|word| !word.is_empty())
        .collect();
    format!(
        "{}_{}",
        route.method.as_str().to_ascii_lowercase(),
        words.join("_")
    )
}

fn parameters(path: &str, query: &[Parameter]) -> Vec<Value> {
    let in_path = path.split('/').filter_map(|part| {
        let name = part.strip_prefix('{')?.strip_suffix('}')?;
        let (description, schema) = path_part(name);
        Some(json!({
            "name": name,
            "in": "path",
            "required": true,
            "description": description,
            "schema": schema,
        }))
    });
    let in_query = query.iter().map(|parameter| {
        let schema: Value =
            serde_json::from_str(parameter.schema).expect("schemas of parameters are JSON");
        json!({
            "name": parameter.name,
            "in": "query",
            "required": false,
            "description": parameter.description,
            "schema": schema,
        })
    });
    in_path.chain(in_query).collect()
}

fn responses(route: &Route) -> Value {
    let (status, answer) = route.answer;
    let good = match answer {
        Answer::Json(schema) => {
            json!({"description": "Done.", "content": content("application/json", schema)})
        }
        Answer::Text(kind) => {
            json!({"description": "Done.", "content": {kind: {"schema": {"type": "string"}}}})
        }
        Answer::Empty => json!({"description": "Done."}),
    };
    let mut responses = Map::new();
    if status == 201 {
        responses.insert("200".to_owned(), good.clone());
    }
    responses.insert(status.to_string(), good);
    responses.insert(
        "default".to_owned(),
        json!({"description": "It was not done.", "content": content("application/json", route.error)}),
    );
    Value::Object(responses)
}

fn content(kind: &str, schema: &str) -> Value {
    json!({kind: {"schema": {"$ref": format!("#/components/schemas/{schema}")}}})
}
