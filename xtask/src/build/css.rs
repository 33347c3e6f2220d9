//! The style sheet: hand-written files of `style/`, the reset, and one rule for each utility a view uses.
//!
//! A class that neither the hand-written files nor the engine knows fails the build, with every place that uses it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result, bail};

use super::classes::{Classes, Place};
use super::engine::Engine;
use super::stylesheet::Stylesheet;
use crate::files;

/// Later layers win over earlier ones whatever their selectors, so a utility always beats a hand-written class.
const LAYERS: &str = "@layer reset, base, components, utilities;\n";

/// Markers that variants such as `group-hover:` refer to; they need no rule.
fn is_marker(class: &str) -> bool {
    ["group", "peer"].iter().any(|marker| {
        class
            .strip_prefix(marker)
            .is_some_and(|name| name.is_empty() || name.starts_with('/'))
    })
}

/// Makes the style sheet for the views under `root/app/src`.
pub(crate) fn stylesheet(root: &Path) -> Result<String> {
    let mut classes = Classes::default();
    for file in files::below(&root.join("app/src"), "rs")? {
        classes.read(&files::shown(root, &file), &files::read(&file)?)?;
    }
    let mut written = String::new();
    for file in files::below(&root.join("style"), "css")? {
        let css = files::read(&file)?;
        let shown = files::shown(root, &file);
        Stylesheet::parse(&css).with_context(|| format!("reading {}", shown.display()))?;
        writeln!(written, "/* {} */\n{}", shown.display(), css.trim_end())?;
    }
    assemble(&classes, &written)
}

fn assemble(classes: &Classes, written: &str) -> Result<String> {
    let sheet = Stylesheet::parse(written)?;
    let by_hand = sheet.classes();
    let engine = Engine::new(colours(&sheet));

    let mut places: BTreeMap<&str, BTreeSet<&Place>> = BTreeMap::new();
    for (class, place) in &classes.used {
        places.entry(class).or_default().insert(place);
    }
    let mut faults: Vec<String> = classes
        .problems
        .iter()
        .map(|(problem, place)| format!("{place}: {problem}"))
        .collect();
    places.retain(|class, _| !by_hand.contains(*class) && !is_marker(class));
    for (class, places) in &places {
        if let Some(reason) = engine.refusal(class) {
            faults.extend(
                places
                    .iter()
                    .map(|place| format!("{place}: class `{class}`: {reason}")),
            );
        }
    }
    // Two meanings of one word: the hand-written one would hide the utility.
    for class in &by_hand {
        if engine.refusal(class).is_none() {
            faults.push(format!(
                "style/: `.{class}` is also a utility; give it another name"
            ));
        }
    }
    if !faults.is_empty() {
        bail!(
            "{} in the style sheet:\n  {}",
            counted(faults.len(), "fault"),
            faults.join("\n  ")
        );
    }

    let utilities = engine.rules(&places.keys().copied().collect());
    let css = format!(
        "{LAYERS}@layer reset {{\n{}\n}}\n{written}@layer utilities {{\n{utilities}\n}}\n",
        Engine::reset()
    );
    let twice = Stylesheet::parse(&css)?.duplicates();
    if !twice.is_empty() {
        let rules = twice
            .iter()
            .map(|rule| [rule.context.join(" "), rule.selector.clone()].join(" "));
        bail!(
            "rules that stand twice:\n  {}",
            rules.collect::<Vec<_>>().join("\n  ")
        );
    }
    Ok(css)
}

/// Names of the custom properties that hold a colour.
fn colours(sheet: &Stylesheet) -> impl Iterator<Item = &str> {
    sheet
        .properties
        .iter()
        .filter(|(_, value)| {
            ["light-dark(", "oklch("]
                .iter()
                .any(|start| value.starts_with(start))
        })
        .map(|(name, _)| name.trim_start_matches('-'))
}

fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRITTEN: &str =
        "@layer base { :root { --surface: light-dark(oklch(1 0 0), oklch(0.2 0 0)); --gap: 4px } }
        @layer components { .prose > p { margin: 0 } }";

    fn build(view: &str) -> Result<String> {
        let mut classes = Classes::default();
        classes
            .read(
                Path::new("app/src/page.rs"),
                &format!("fn page() {{\n view! {{ {view} }}\n}}"),
            )
            .unwrap();
        assemble(&classes, WRITTEN)
    }

    fn error(view: &str) -> String {
        build(view).unwrap_err().to_string()
    }

    #[test]
    fn a_typo_fails_the_build_and_says_where() {
        let text = error(r#"<p class="bg-surfce"/>"#);
        assert!(
            text.contains("app/src/page.rs:2: class `bg-surfce`: no rule"),
            "{text}"
        );
    }

    #[test]
    fn hand_written_classes_markers_and_tokens_are_known() {
        let css =
            build(r#"<p class="prose group peer/name bg-surface group-hover:flex"/>"#).unwrap();
        assert!(css.contains(".bg-surface"), "{css}");
        assert!(!css.contains(".bg-gap"), "{css}");
        assert!(error(r#"<p class="bg-gap"/>"#).contains("`bg-gap`"));
    }

    #[test]
    fn a_value_that_cannot_be_checked_fails_the_build() {
        assert!(
            error("<p class=colour/>")
                .contains("app/src/page.rs:2: this class value cannot be checked")
        );
    }

    #[test]
    fn a_hand_written_class_may_not_hide_a_utility() {
        let text = assemble(&Classes::default(), ".flex { display: block }")
            .unwrap_err()
            .to_string();
        assert!(text.contains("`.flex` is also a utility"), "{text}");
    }

    #[test]
    fn a_rule_that_stands_twice_fails_the_build() {
        let text = assemble(
            &Classes::default(),
            ".card { color: red } .card { color: blue }",
        )
        .unwrap_err()
        .to_string();
        assert!(text.contains("twice") && text.contains(".card"), "{text}");
    }
}
