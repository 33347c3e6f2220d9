//! Finds in the tokens of a module the paths of the other modules it names.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// Path of a module within its crate; the root is empty.
pub(super) type ModulePath = Vec<String>;

/// Collects the absolute form of every `crate::…`, `super::…` and `self::…` path, except in test code; also of plain
/// `use child::…`, which can only mean a child or another crate.
pub(super) fn collect(tokens: TokenStream, module: &[String], found: &mut Vec<ModulePath>) {
    let trees: Vec<TokenTree> = tokens.into_iter().collect();
    let mut at = 0;
    while at < trees.len() {
        match &trees[at] {
            TokenTree::Punct(hash)
                if hash.as_char() == '#' && is_test_attribute(trees.get(at + 1)) =>
            {
                at = end_of_item(&trees, at + 2);
                continue;
            }
            TokenTree::Ident(word) if starts_path(&trees, at) => {
                let base = match word.to_string().as_str() {
                    "crate" => Some(Vec::new()),
                    "super" => module.split_last().map(|(_, parent)| parent.to_vec()),
                    "self" => Some(module.to_vec()),
                    _ if at > 0 && is_word(&trees[at - 1], "use") => {
                        let mut path = module.to_vec();
                        path.push(word.to_string());
                        Some(path)
                    }
                    _ => None,
                };
                if let Some(base) = base {
                    at = use_tree(&trees, at + 3, base, found);
                    continue;
                }
            }
            TokenTree::Group(group) => collect(group.stream(), module, found),
            TokenTree::Ident(_) | TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
        at += 1;
    }
}

/// Reads what follows `base::` from position `at`; returns the position after it.
fn use_tree(
    trees: &[TokenTree],
    at: usize,
    base: ModulePath,
    found: &mut Vec<ModulePath>,
) -> usize {
    match trees.get(at) {
        Some(TokenTree::Ident(word)) => {
            let mut path = base;
            if word == "super" {
                path.pop();
            } else {
                path.push(word.to_string());
            }
            if is_double_colon(trees, at + 1) {
                use_tree(trees, at + 3, path, found)
            } else {
                found.push(path);
                at + 1
            }
        }
        Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
            let inner: Vec<TokenTree> = group.stream().into_iter().collect();
            let mut from = 0;
            while from < inner.len() {
                if is_word(&inner[from], "self") {
                    found.push(base.clone());
                    from += 1;
                } else {
                    from = use_tree(&inner, from, base.clone(), found).max(from + 1);
                }
                while inner.get(from).is_some_and(|tree| !is_comma(tree)) {
                    from += 1;
                }
                from += 1;
            }
            at + 1
        }
        // `::*` and turbofish.
        _ => {
            found.push(base);
            at + 1
        }
    }
}

fn starts_path(trees: &[TokenTree], at: usize) -> bool {
    // `a::self` and `$crate` do not start a path of ours.
    let after_colons = at >= 2 && is_double_colon(trees, at - 2);
    is_double_colon(trees, at + 1) && !after_colons
}

fn is_double_colon(trees: &[TokenTree], at: usize) -> bool {
    let colon = |tree: Option<&TokenTree>| matches!(tree, Some(TokenTree::Punct(punct)) if punct.as_char() == ':');
    colon(trees.get(at)) && colon(trees.get(at + 1))
}

fn is_word(tree: &TokenTree, word: &str) -> bool {
    matches!(tree, TokenTree::Ident(ident) if ident == word)
}

fn is_comma(tree: &TokenTree) -> bool {
    matches!(tree, TokenTree::Punct(punct) if punct.as_char() == ',')
}

fn is_test_attribute(tree: Option<&TokenTree>) -> bool {
    tree.is_some_and(|tree| {
        let text = tree.to_string().replace(' ', "");
        text == "[cfg(test)]" || text == "[test]"
    })
}

/// The position after the item that starts at `at`: its block or its semicolon.
fn end_of_item(trees: &[TokenTree], at: usize) -> usize {
    let is_end = |tree: &TokenTree| match tree {
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
        TokenTree::Punct(punct) => punct.as_char() == ';',
        TokenTree::Ident(_) | TokenTree::Literal(_) => false,
    };
    trees
        .iter()
        .skip(at)
        .position(is_end)
        .map_or(trees.len(), |offset| at + offset + 1)
}
