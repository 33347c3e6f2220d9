//! Holds the catalogue and the views to each other: no copy outside of the catalogue, no copy in it that nobody shows, and a
//! pseudo locale that is up to date.

use super::pseudo;
use proc_macro2::{Delimiter, TokenStream, TokenTree};
use rstml::node::{KeyedAttributeValue, Node, NodeAttribute};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Attributes whose text a person reads or hears.
const SPOKEN: [&str; 8] = [
    "alt",
    "aria-description",
    "aria-label",
    "aria-roledescription",
    "aria-valuetext",
    "label",
    "placeholder",
    "title",
];

#[test]
fn the_pseudo_catalogue_is_made_from_the_english_one() {
    let update = std::env::var_os("UPDATE_PSEUDO").is_some();
    for path in files(&root().join("locales/en"), "json") {
        let english: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        let wanted = serde_json::to_string_pretty(&pseudo::catalogue(&english)).unwrap() + "\n";
        let target = root().join("locales/en-XA").join(path.file_name().unwrap());
        if update {
            fs::write(&target, &wanted).unwrap();
        }
        assert!(
            fs::read_to_string(&target).is_ok_and(|found| found == wanted),
            "{} is stale: UPDATE_PSEUDO=1 cargo test -p app --features ssr pseudo",
            target.display()
        );
    }
}

#[test]
fn every_key_is_used_by_some_view() {
    let sources: String = files(&root().join("src"), "rs")
        .iter()
        .map(|path| fs::read_to_string(path).unwrap())
        .collect();
    // `t!(locale, task.autopilot)` may be broken over lines by the formatter.
    let sources: String = sources.split_whitespace().collect();
    let mut unused = Vec::new();
    for path in files(&root().join("locales/en"), "json") {
        let namespace = path.file_stem().unwrap().to_string_lossy().into_owned();
        let entries: BTreeMap<String, Value> =
            serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        for key in entries.keys() {
            let call = format!("{namespace}.{key}");
            let used = sources.match_indices(&call).any(|(at, _)| {
                !sources[at + call.len()..].starts_with(|c: char| c == '_' || c.is_alphanumeric())
            });
            if !used {
                unused.push(call);
            }
        }
    }
    unused.dedup();
    assert!(unused.is_empty(), "copy that nothing shows: {unused:?}");
}

#[test]
fn no_view_has_copy_of_its_own() {
    let mut found = Vec::new();
    for path in files(&root().join("src"), "rs") {
        // The gallery is a workbench with made-up data, and no part of the product.
        if path.components().any(|part| part.as_os_str() == "gallery") {
            continue;
        }
        let tokens: TokenStream = fs::read_to_string(&path).unwrap().parse().unwrap();
        literal_copy(tokens, &mut |text| {
            found.push(format!("{}: {text}", path.display()));
        });
    }
    assert!(
        found.is_empty(),
        "literal copy in views, move it to locales/en: {found:#?}"
    );
}

#[test]
fn literal_copy_is_found_where_it_hides() {
    let view = r#"fn x() { view! { <p>"Hi"</p> <b title="Tip" class="x">{"in a block"}</b> {move || view! { <i>Bare</i> }} "·" } }"#;
    let mut found = Vec::new();
    literal_copy(view.parse().unwrap(), &mut |text| found.push(text));
    found.sort();
    assert_eq!(found, ["Bare", "Hi", "Tip", "in a block"]);
}

/// Reports every text in a `view!` that has a letter in it and is not the result of an expression.
fn literal_copy(tokens: TokenStream, report: &mut dyn FnMut(String)) {
    let mut is_view = false;
    for token in tokens {
        match token {
            TokenTree::Ident(ident) if ident == "view" => is_view = true,
            TokenTree::Punct(punct) if punct.as_char() == '!' => continue,
            TokenTree::Group(group) => {
                if is_view && group.delimiter() == Delimiter::Brace {
                    let (nodes, _) = rstml::Parser::new(rstml::ParserConfig::default())
                        .parse_recoverable(group.stream())
                        .split_vec();
                    nodes.iter().for_each(|node| copy_of_node(node, report));
                }
                literal_copy(group.stream(), report);
                is_view = false;
            }
            TokenTree::Ident(_) | TokenTree::Punct(_) | TokenTree::Literal(_) => is_view = false,
        }
    }
}

fn copy_of_node(node: &Node, report: &mut dyn FnMut(String)) {
    match node {
        Node::Text(text) => spoken(text.value_string(), report),
        Node::RawText(text) => spoken(text.to_string_best(), report),
        Node::Block(block) => {
            if let Some(block) = block.try_block()
                && let [syn::Stmt::Expr(syn::Expr::Lit(literal), None)] = block.stmts.as_slice()
                && let syn::Lit::Str(text) = &literal.lit
            {
                spoken(text.value(), report);
            }
        }
        Node::Element(element) => {
            for attribute in element.attributes() {
                if let NodeAttribute::Attribute(attribute) = attribute
                    && SPOKEN.contains(&attribute.key.to_string().as_str())
                    && let KeyedAttributeValue::Value(_) = &attribute.possible_value
                    && let Some(text) = attribute.value_literal_string()
                {
                    spoken(text, report);
                }
            }
            element
                .children
                .iter()
                .for_each(|child| copy_of_node(child, report));
        }
        Node::Fragment(fragment) => fragment
            .children
            .iter()
            .for_each(|child| copy_of_node(child, report)),
        Node::Comment(_) | Node::Doctype(_) | Node::Custom(_) => {}
    }
}

fn spoken(text: String, report: &mut dyn FnMut(String)) {
    if text.chars().any(char::is_alphabetic) {
        report(text);
    }
}

fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path, extension));
        } else if path.extension().is_some_and(|e| e == extension) {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}
