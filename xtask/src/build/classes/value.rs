//! Follows an expression that gives classes to the literals it ends in.
//!
//! Whatever cannot be followed is reported: a class that the build does not see would reach users without a rule.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "syntax trees are open enums; a class value of an unknown form is reported as a problem"
)]

use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Block, Expr, Lit, Stmt, Token};

use super::{Reader, names_classes};

pub(super) const OPAQUE: &str = "this class value cannot be checked: use literals, or something named `…_class` / `…_CLASS` \
                      whose definition has the literals";
pub(super) const HALF: &str = "a class must be written whole, without a placeholder inside it";

impl Reader<'_> {
    /// Reads an expression whose value is a list of classes.
    pub(super) fn class_value(&mut self, expr: &Expr) {
        match expr {
            Expr::Lit(lit) => {
                if let Lit::Str(text) = &lit.lit {
                    self.class_list(&text.value(), text.span());
                }
            }
            Expr::Paren(inner) => self.class_value(&inner.expr),
            Expr::Group(inner) => self.class_value(&inner.expr),
            Expr::Reference(inner) => self.class_value(&inner.expr),
            Expr::Closure(closure) => self.class_value(&closure.body),
            Expr::Block(block) => self.class_block(&block.block),
            Expr::Array(array) => array.elems.iter().for_each(|item| self.class_value(item)),
            // `class=("name", condition)`.
            Expr::Tuple(tuple) => {
                let mut items = tuple.elems.iter();
                if let Some(first) = items.next() {
                    self.class_value(first);
                }
                items.for_each(|item| self.visit_expr(item));
            }
            Expr::If(branch) => {
                self.visit_expr(&branch.cond);
                self.class_block(&branch.then_branch);
                if let Some((_, otherwise)) = &branch.else_branch {
                    self.class_value(otherwise);
                }
            }
            Expr::Match(choice) => {
                self.visit_expr(&choice.expr);
                for arm in &choice.arms {
                    self.class_value(&arm.body);
                }
            }
            Expr::Return(value) => {
                if let Some(value) = &value.expr {
                    self.class_value(value);
                }
            }
            Expr::Index(index) => self.class_value(&index.expr),
            Expr::Path(path) => {
                let name = path.path.segments.last().map(|last| last.ident.to_string());
                if !name.is_some_and(|name| names_classes(&name) || name == "None") {
                    self.problem(OPAQUE, path.span());
                }
            }
            Expr::Field(field) => {
                let known = matches!(&field.member, syn::Member::Named(name) if names_classes(&name.to_string()));
                if !known {
                    self.problem(OPAQUE, field.span());
                }
            }
            Expr::Macro(call) => self.class_macro(&call.mac),
            Expr::Call(call) => self.class_call(call),
            Expr::MethodCall(call) => self.class_method(call),
            other => self.problem(OPAQUE, other.span()),
        }
    }

    /// A block gives classes by its last expression and by every `return` within it.
    pub(super) fn class_block(&mut self, block: &Block) {
        let last = match block.stmts.last() {
            Some(Stmt::Expr(value, None)) => Some(value),
            _ => None,
        };
        for stmt in &block.stmts[..block.stmts.len() - usize::from(last.is_some())] {
            self.visit_stmt(stmt);
            Returns { reader: self }.visit_stmt(stmt);
        }
        if let Some(value) = last {
            self.class_value(value);
        }
    }

    fn class_call(&mut self, call: &syn::ExprCall) {
        let name = match &*call.func {
            Expr::Path(path) => path.path.segments.last().map(|last| last.ident.to_string()),
            _ => None,
        };
        match name.as_deref() {
            // Its own definition is read by the same convention; only its arguments are left.
            Some(name) if names_classes(name) => {
                call.args.iter().for_each(|arg| self.visit_expr(arg));
            }
            // Wrappers around one value: `Some(…)`, `String::from(…)`, `Signal::derive(…)`, `Memo::new(…)`.
            Some("Some" | "from" | "new" | "derive" | "stored") => {
                call.args.iter().for_each(|arg| self.class_value(arg));
            }
            _ => self.problem(OPAQUE, call.span()),
        }
    }

    fn class_method(&mut self, call: &syn::ExprMethodCall) {
        let name = call.method.to_string();
        match name.as_str() {
            name if names_classes(name) => visit::visit_expr_method_call(self, call),
            "then" | "then_some" => {
                self.visit_expr(&call.receiver);
                call.args.iter().for_each(|arg| self.class_value(arg));
            }
            "map" | "map_or" | "map_or_else" | "and_then" => {
                self.visit_expr(&call.receiver);
                call.args.iter().for_each(|arg| self.class_value(arg));
            }
            "unwrap_or" | "unwrap_or_else" | "or" => {
                self.class_value(&call.receiver);
                call.args.iter().for_each(|arg| self.class_value(arg));
            }
            "to_string" | "to_owned" | "into" | "clone" | "get" | "as_str" | "as_deref"
            | "unwrap_or_default" | "join" | "concat" => self.class_value(&call.receiver),
            _ => self.problem(OPAQUE, call.span()),
        }
    }

    /// `format!("card {}", state_class(state))`: the words of the text are classes, the arguments class values.
    fn class_macro(&mut self, mac: &syn::Macro) {
        let is_format = mac.path.is_ident("format");
        let args = mac.parse_body_with(Punctuated::<Expr, Token![,]>::parse_terminated);
        let (true, Ok(args)) = (is_format, args) else {
            return self.problem(OPAQUE, mac.span());
        };
        let mut args = args.iter();
        let Some(Expr::Lit(syn::ExprLit {
            lit: Lit::Str(text),
            ..
        })) = args.next()
        else {
            return self.problem(OPAQUE, mac.span());
        };
        for word in text.value().split_whitespace() {
            match word
                .strip_prefix('{')
                .and_then(|rest| rest.strip_suffix('}'))
            {
                Some("") => {}
                Some(name) if names_classes(name) => {}
                Some(_) => self.problem(OPAQUE, text.span()),
                None if word.contains(['{', '}']) => self.problem(HALF, text.span()),
                None => self.class_list(word, text.span()),
            }
        }
        args.for_each(|arg| self.class_value(arg));
    }
}

/// Finds the `return`s of a function whose value is a list of classes; closures inside it return for themselves.
struct Returns<'r, 'a> {
    reader: &'r mut Reader<'a>,
}

impl<'ast> Visit<'ast> for Returns<'_, '_> {
    fn visit_expr_return(&mut self, value: &'ast syn::ExprReturn) {
        if let Some(value) = &value.expr {
            self.reader.class_value(value);
        }
    }

    fn visit_expr_closure(&mut self, _closure: &'ast syn::ExprClosure) {}

    fn visit_item(&mut self, _item: &'ast syn::Item) {}
}
