//! Finds every CSS class a view can put on an element, with the place where it is written.
//!
//! The build is to fail on a class that has no rule, so nothing may slip through here. Views are read with `rstml`, the
//! parser that leptos itself uses, and what this module cannot see through is reported as a problem instead of skipped.
//!
//! # The convention
//!
//! A string is a list of classes when it is the value of something named `class`, `…_class` or `…_CLASS`:
//!
//! - an attribute or component property: `class="flex gap-2"`, `class=("open", cond)`, `class:open=cond`,
//!   `attr:class="…"`, `icon_class="…"`, and the builder method `.class("…")`;
//! - a constant, a `let`, a struct field: `const CARD_CLASS: &str = "…"`, `let row_class = move || if … { "…" } else { "…" }`;
//! - what a function returns: `fn state_class(state: TaskState) -> &'static str { match state { … } }`.
//!
//! Values may branch (`if`, `match`, closures, `format!` around whole classes); every branch must end in a literal or in
//! another name of that form. Half a class is refused (`"text-{colour}"`): a class must be found by searching for it.

mod value;

use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use proc_macro2::{Span, TokenStream, TokenTree};
use rstml::node::{KeyedAttribute, Node, NodeAttribute, NodeBlock};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Expr, Pat, Token};

/// Where something stands in the source.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    /// Path as it is to be printed.
    pub(crate) file: PathBuf,
    /// Line, counted from one.
    pub(crate) line: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file.display(), self.line)
    }
}

/// What one or several source files say about classes.
#[derive(Debug, Default)]
pub(crate) struct Classes {
    /// Each use of a class.
    pub(crate) used: Vec<(String, Place)>,
    /// Class values that cannot be checked, in words.
    pub(crate) problems: Vec<(String, Place)>,
}

impl Classes {
    /// Adds everything that `source` uses. `file` is only for messages.
    ///
    /// Fails when the file is not Rust; a view that does not parse is a problem, not a failure.
    pub(crate) fn read(&mut self, file: &Path, source: &str) -> Result<()> {
        let parsed = syn::parse_file(source)
            .with_context(|| format!("{} is not valid Rust", file.display()))?;
        Reader { file, out: self }.visit_file(&parsed);
        Ok(())
    }
}

/// Whether something of this name holds classes, by the convention above.
fn names_classes(name: &str) -> bool {
    let name = name.strip_prefix("attr:").unwrap_or(name);
    name == "class" || name.ends_with("_class") || name.ends_with("_CLASS")
}

struct Reader<'a> {
    file: &'a Path,
    out: &'a mut Classes,
}

impl Reader<'_> {
    fn place(&self, span: Span) -> Place {
        Place {
            file: self.file.to_owned(),
            line: span.start().line,
        }
    }

    fn problem(&mut self, text: impl Into<String>, span: Span) {
        let place = self.place(span);
        self.out.problems.push((text.into(), place));
    }

    fn class_list(&mut self, list: &str, span: Span) {
        let place = self.place(span);
        for class in list.split_whitespace() {
            self.out.used.push((class.to_owned(), place.clone()));
        }
    }

    fn view(&mut self, tokens: &TokenStream) {
        let config = rstml::ParserConfig::default().recover_block(true);
        let (nodes, diagnostics) = rstml::Parser::new(config)
            .parse_recoverable(tokens.clone())
            .split_vec();
        for diagnostic in diagnostics {
            // The parser goes on after an error, so what it skips may hold classes.
            let error = syn::Error::from(diagnostic);
            let span = if error.span().byte_range().is_empty() {
                tokens.span()
            } else {
                error.span()
            };
            self.problem(format!("this view does not parse: {error}"), span);
        }
        nodes.iter().for_each(|node| self.node(node));
    }

    fn node(&mut self, node: &Node) {
        match node {
            Node::Element(element) => {
                for attribute in element.attributes() {
                    match attribute {
                        NodeAttribute::Block(block) => self.node_block(block),
                        NodeAttribute::Attribute(attribute) => self.attribute(attribute),
                    }
                }
                element.children.iter().for_each(|child| self.node(child));
            }
            Node::Fragment(fragment) => fragment.children.iter().for_each(|child| self.node(child)),
            Node::Block(block) => self.node_block(block),
            Node::Comment(_)
            | Node::Doctype(_)
            | Node::Text(_)
            | Node::RawText(_)
            | Node::Custom(_) => {}
        }
    }

    fn node_block(&mut self, block: &NodeBlock) {
        if let NodeBlock::ValidBlock(block) = block {
            self.visit_block(block);
        }
    }

    fn attribute(&mut self, attribute: &KeyedAttribute) {
        // Names like `class:bg-surface` come back with the spaces of the token stream.
        let key = attribute.key.to_string().replace(' ', "");
        let value = attribute.value();
        if let Some(class) = key.strip_prefix("class:") {
            self.class_list(class, attribute.key.span());
            if let Some(value) = value {
                self.visit_expr(value);
            }
        } else if names_classes(&key) {
            // Without a value, `<Row class/>` is short for `class=class`.
            if let Some(value) = value {
                self.class_value(value);
            }
        } else if let Some(value) = value {
            self.visit_expr(value);
        }
    }

    /// Views inside macros whose arguments are no plain expressions.
    fn views_within(&mut self, tokens: TokenStream) {
        let mut before = [None::<String>, None];
        for tree in tokens {
            if let TokenTree::Group(group) = &tree {
                match &before {
                    [Some(name), Some(bang)] if bang == "!" && is_view(name) => {
                        self.view(&group.stream());
                    }
                    _ => self.views_within(group.stream()),
                }
            }
            before = [before[1].take(), Some(tree.to_string())];
        }
    }
}

fn is_view(name: &str) -> bool {
    matches!(name, "view" | "template")
}

/// Whether an item is compiled for tests only.
fn is_test(attrs: &[syn::Attribute]) -> bool {
    attrs.iter().any(|attr| {
        attr.path().is_ident("cfg")
            && attr
                .parse_args::<syn::Path>()
                .is_ok_and(|what| what.is_ident("test"))
    })
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !is_test(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_macro(&mut self, mac: &'ast syn::Macro) {
        let name = mac.path.segments.last().map(|last| last.ident.to_string());
        if name.as_deref().is_some_and(is_view) {
            return self.view(&mac.tokens);
        }
        match mac.parse_body_with(Punctuated::<Expr, Token![,]>::parse_terminated) {
            Ok(args) => args.iter().for_each(|arg| self.visit_expr(arg)),
            Err(_) => self.views_within(mac.tokens.clone()),
        }
    }

    fn visit_local(&mut self, local: &'ast syn::Local) {
        let pat = if let Pat::Type(typed) = &local.pat {
            &typed.pat
        } else {
            &local.pat
        };
        let named = matches!(pat, Pat::Ident(name) if names_classes(&name.ident.to_string()));
        match &local.init {
            Some(init) if named => self.class_value(&init.expr),
            _ => visit::visit_local(self, local),
        }
    }

    fn visit_item_const(&mut self, item: &'ast syn::ItemConst) {
        if names_classes(&item.ident.to_string()) {
            self.class_value(&item.expr);
        } else {
            visit::visit_item_const(self, item);
        }
    }

    fn visit_impl_item_const(&mut self, item: &'ast syn::ImplItemConst) {
        if names_classes(&item.ident.to_string()) {
            self.class_value(&item.expr);
        } else {
            visit::visit_impl_item_const(self, item);
        }
    }

    fn visit_item_static(&mut self, item: &'ast syn::ItemStatic) {
        if names_classes(&item.ident.to_string()) {
            self.class_value(&item.expr);
        } else {
            visit::visit_item_static(self, item);
        }
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        if is_test(&item.attrs) {
        } else if names_classes(&item.sig.ident.to_string()) {
            self.class_block(&item.block);
        } else {
            visit::visit_item_fn(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if names_classes(&item.sig.ident.to_string()) {
            self.class_block(&item.block);
        } else {
            visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_field_value(&mut self, field: &'ast syn::FieldValue) {
        let named =
            matches!(&field.member, syn::Member::Named(name) if names_classes(&name.to_string()));
        if named {
            self.class_value(&field.expr);
        } else {
            visit::visit_field_value(self, field);
        }
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        if call.method == "class" && call.args.len() == 1 {
            self.visit_expr(&call.receiver);
            self.class_value(&call.args[0]);
        } else {
            visit::visit_expr_method_call(self, call);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::value::{HALF, OPAQUE};
    use super::*;

    fn read(source: &str) -> Classes {
        let mut classes = Classes::default();
        classes.read(Path::new("app/src/page.rs"), source).unwrap();
        classes
    }

    fn used(source: &str) -> Vec<String> {
        let classes = read(source);
        assert_eq!(classes.problems, vec![], "unexpected problems");
        classes.used.into_iter().map(|(class, _)| class).collect()
    }

    fn page(view: &str) -> String {
        format!("fn page() -> impl IntoView {{ view! {{ {view} }} }}")
    }

    #[test]
    fn finds_every_form_of_class_attribute() {
        let source = page(
            r#"<main class="flex gap-2">
                <p class=("open", move || open.get())>"class=\"not-a-class\""</p>
                <p class=(["one", "two"], flag) class:bg-surface=flag class:flex-1=move || { 1 < 2 }/>
                <Icon attr:class="attr" icon_class="icon" title="not-a-class"/>
            </main>"#,
        );
        assert_eq!(
            used(&source),
            [
                "flex",
                "gap-2",
                "open",
                "one",
                "two",
                "bg-surface",
                "flex-1",
                "attr",
                "icon"
            ]
        );
    }

    #[test]
    fn follows_branches_but_not_their_conditions() {
        let source = page(
            r#"<p class=move || if kind.get() == "x" { "a b" } else { "c" }/>
               <p class=match kind { Kind::One => "d", _ => "e" }/>
               <p class=move || (count > 1).then_some("f")/>"#,
        );
        assert_eq!(used(&source), ["a", "b", "c", "d", "e", "f"]);
    }

    #[test]
    fn names_ending_in_class_hold_classes() {
        let source = r#"
            const CARD_CLASS: &str = "a";
            fn state_class(state: State) -> &'static str {
                if state.is_over() { return "b"; }
                match state { State::Run => "c", State::Wait => { let x = "not-a-class"; "d" } }
            }
            impl State { fn class(self) -> &'static str { "e" } }
            fn page() -> impl IntoView {
                let row_class = move || if flag.get() { "f" } else { CARD_CLASS };
                let style = Style { row_class: "g", name: "not-a-class" };
                div().class("h").child("not-a-class");
                view! { <p class=row_class/> <p class=state_class(s)/> <p class=state.class()/>
                        <p class=format!("i {} {row_class}", CARD_CLASS)/> }
            }"#;
        assert_eq!(used(source), ["a", "b", "c", "d", "e", "f", "g", "h", "i"]);
    }

    #[test]
    fn finds_views_within_views_and_macros() {
        let source = page(
            r#"<Show when=move || true fallback=|| view! { <i class="a"/> }>
                {items.iter().map(|item| view! { <b class="b">{vec![view! { <i class="c"/> }]}</b> }).collect_view()}
                {odd!(x => view! { <i class="d"/> })}
            </Show>"#,
        );
        assert_eq!(used(&source), ["a", "b", "c", "d"]);
    }

    #[test]
    fn reports_what_it_cannot_see_through_with_its_line() {
        for (value, problem) in [
            ("colour", OPAQUE),
            ("pick(state)", OPAQUE),
            ("{names.iter().collect::<String>()}", OPAQUE),
            (r#"format!("text-{colour}")"#, HALF),
            (r#"format!("card {colour}")"#, OPAQUE),
        ] {
            let classes = read(&format!("\n{}", page(&format!("<p class={value}/>"))));
            assert_eq!(classes.problems.len(), 1, "{value}");
            assert_eq!(classes.problems[0].0, problem, "{value}");
            assert_eq!(classes.problems[0].1.to_string(), "app/src/page.rs:2");
        }
    }

    #[test]
    fn a_view_that_does_not_parse_is_a_problem() {
        let classes = read(&page(r#"<p class="a"> <q </p>"#));
        assert!(
            classes.problems[0]
                .0
                .starts_with("this view does not parse: "),
            "{classes:?}"
        );
    }

    #[test]
    fn test_code_and_plain_strings_are_no_classes() {
        let source = r#"
            fn title() -> &'static str { "plain" }
            #[cfg(test)] mod tests { const X_CLASS: &str = "tests-only"; }"#;
        assert_eq!(used(source), Vec::<String>::new());
    }

    #[test]
    fn each_use_has_its_line() {
        let classes = read("fn page() {\n  view! {\n    <p\n      class=\"a\"/>\n  }\n}");
        assert_eq!(classes.used[0].1.line, 4);
    }
}
