//! The OpenAPI document: whole, and true. `check` runs on every answer that any test gets.

use crate::support::{Reply, TestApp};
use http::Method;
use jsonschema::Validator;
use serde_json::{Value, json};
use server::http::openapi::document;
use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;

/// Compiled schemas of all components.
static SCHEMAS: LazyLock<HashMap<String, Validator>> = LazyLock::new(|| {
    let document = document();
    let names = document["components"]["schemas"]
        .as_object()
        .unwrap()
        .keys();
    names
        .map(|name| {
            let schema = json!({
                "$ref": format!("#/components/schemas/{name}"),
                "components": document["components"],
            });
            let validator = jsonschema::options()
                .with_draft(jsonschema::Draft::Draft202012)
                .should_validate_formats(true)
                .build(&schema)
                .unwrap_or_else(|error| panic!("{name}: {error}"));
            (name.clone(), validator)
        })
        .collect()
});

/// Fails when an answer is not as the document says.
#[track_caller]
pub(crate) fn check(method: &Method, path: &str, reply: &Reply) {
    let address = path.split('?').next().unwrap();
    let Some(operation) = operation(method, address) else {
        assert!(
            [404, 405].contains(&reply.status),
            "{method} {path} is not documented"
        );
        return;
    };
    let responses = &operation["responses"];
    let response = match responses.get(reply.status.to_string()) {
        Some(response) => response,
        None => {
            assert!(
                reply.status >= 400,
                "{method} {path}: {} is not documented",
                reply.status
            );
            &responses["default"]
        }
    };
    let schema = &response["content"]["application/json"]["schema"]["$ref"];
    let Some(name) = schema.as_str().and_then(|path| path.rsplit('/').next()) else {
        return;
    };
    let errors: Vec<String> = SCHEMAS[name]
        .iter_errors(&reply.json)
        .map(|error| format!("{} {error}", error.instance_path()))
        .collect();
    assert!(
        errors.is_empty(),
        "{method} {path} is no {name}: {errors:#?}"
    );
}

fn operation(method: &Method, address: &str) -> Option<&'static Value> {
    let parts: Vec<&str> = address.split('/').collect();
    let fits = |template: &str| {
        let wanted: Vec<&str> = template.split('/').collect();
        wanted.len() == parts.len()
            && wanted
                .iter()
                .zip(&parts)
                .all(|(wanted, part)| wanted.starts_with('{') || wanted == part)
    };
    document()["paths"]
        .as_object()
        .unwrap()
        .iter()
        .find(|(template, _)| fits(template))?
        .1
        .get(method.as_str().to_ascii_lowercase())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_is_served_and_holds_every_route() {
    let app = TestApp::new().await;
    let served = app.get("/openapi.json").await.json;
    assert_eq!(served, *document());
    let documented: BTreeSet<String> = served["paths"]
        .as_object()
        .unwrap()
        .iter()
        .flat_map(|(path, methods)| {
            let methods = methods.as_object().unwrap().keys();
            methods.map(move |method| format!("{} {path}", method.to_ascii_uppercase()))
        })
        .collect();
    let routed: BTreeSet<String> = server::http::api_routes()
        .iter()
        .map(|route| format!("{} {}{}", route.method, server::http::API, route.path))
        .chain(
            server::http::plain_routes()
                .iter()
                .map(|route| format!("{} {}", route.method, route.path)),
        )
        .collect();
    assert_eq!(documented, routed);
}

#[test]
fn it_is_sound() {
    let document = document();
    let schemas = document["components"]["schemas"].as_object().unwrap();
    assert_eq!(document["openapi"], "3.1.0");
    assert!(document["security"].is_array());
    let mut ids = BTreeSet::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        let named: BTreeSet<&str> = path
            .split('/')
            .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
            .collect();
        for (method, operation) in methods.as_object().unwrap() {
            let what = format!("{method} {path}");
            let id = operation["operationId"].as_str().unwrap();
            assert!(ids.insert(id.to_owned()), "{id} is there twice");
            assert!(
                !operation["summary"].as_str().unwrap().is_empty(),
                "{what} says nothing"
            );
            let parameters: BTreeSet<&str> = operation["parameters"]
                .as_array()
                .unwrap()
                .iter()
                .filter(|parameter| parameter["in"] == "path")
                .map(|parameter| parameter["name"].as_str().unwrap())
                .collect();
            assert_eq!(parameters, named, "{what}");
            assert!(operation["responses"]["default"].is_object(), "{what}");
        }
    }
    let mut references = BTreeSet::new();
    collect_references(document, &mut references);
    for name in &references {
        assert!(schemas.contains_key(name), "{name} is not defined");
    }
    for name in schemas.keys() {
        assert!(references.contains(name), "{name} is used by nothing");
        assert!(SCHEMAS.contains_key(name));
    }
}

fn collect_references(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            if let Some(name) = fields
                .get("$ref")
                .and_then(Value::as_str)
                .and_then(|path| path.strip_prefix("#/components/schemas/"))
            {
                found.insert(name.to_owned());
            }
            for field in fields.values() {
                collect_references(field, found);
            }
        }
        Value::Array(items) => items
            .iter()
            .for_each(|item| collect_references(item, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
