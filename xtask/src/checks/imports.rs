//! No circles of imports between modules.
//!
//! At each level of a crate, sibling modules must form a layering: if something below `crate::a` names something below
//! `crate::b`, nothing below `b` may name anything below `a`. A child may use its parent and the other way round, since
//! one cannot be understood without the other. Tests may look wherever they like.
//!
//! Paths are found in the token stream, so those inside macros such as `view!` count too. Names that a parent
//! re-exports from a child (`pub use a::Thing`) count as that child's.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::Path;

use anyhow::{Context, Result, bail};
use proc_macro2::TokenStream;

use super::paths::{self, ModulePath};
use crate::{files, project};

/// Checks every crate of the workspace.
pub(crate) fn check() -> Result<()> {
    let root = project::root();
    let mut sources = vec![
        root.join("app/src"),
        root.join("frontend/src"),
        root.join("server/src"),
        root.join("xtask/src"),
    ];
    for entry in std::fs::read_dir(root.join("crates"))? {
        sources.push(entry?.path().join("src"));
    }
    let mut faults = Vec::new();
    for source in sources {
        let mut modules = BTreeMap::new();
        for file in files::below(&source, "rs")? {
            modules.insert(module_path(&source, &file), files::read(&file)?);
        }
        let name = files::shown(&root, &source).display().to_string();
        let found = circles(&modules).with_context(|| format!("reading {name}"))?;
        faults.extend(found.into_iter().map(|circle| format!("{name}: {circle}")));
    }
    if !faults.is_empty() {
        bail!("modules that import each other:\n  {}", faults.join("\n  "));
    }
    Ok(())
}

fn module_path(source: &Path, file: &Path) -> ModulePath {
    let mut path: ModulePath = files::shown(source, file)
        .with_extension("")
        .iter()
        .map(|part| part.to_string_lossy().into_owned())
        .collect();
    let is_root = path.len() == 1 && matches!(path[0].as_str(), "lib" | "main");
    if is_root || path.last().is_some_and(|last| last == "mod") {
        path.pop();
    }
    path
}

/// One line for each circle among siblings.
fn circles(modules: &BTreeMap<ModulePath, String>) -> Result<Vec<String>> {
    let mut uses: BTreeMap<ModulePath, Vec<ModulePath>> = BTreeMap::new();
    for (path, source) in modules {
        let tokens: TokenStream = source
            .parse()
            .map_err(|error| anyhow::anyhow!("{error}"))
            .with_context(|| path.join("::"))?;
        let mut found = Vec::new();
        paths::collect(tokens, path, &mut found);
        uses.insert(path.clone(), found);
    }
    let aliases = aliases(modules, &uses);
    // Parent → edges between its children, each with one example.
    let mut levels: BTreeMap<ModulePath, BTreeMap<(String, String), String>> = BTreeMap::new();
    for (from, targets) in &uses {
        for target in targets {
            let target = resolve(target, &aliases);
            let common = from
                .iter()
                .zip(&target)
                .take_while(|(one, other)| one == other)
                .count();
            let (Some(one), Some(other)) = (from.get(common), target.get(common)) else {
                continue;
            };
            let parent = target[..common].to_vec();
            let mut sibling = parent.clone();
            sibling.push(other.clone());
            if modules.keys().any(|module| module.starts_with(&sibling)) {
                let example = format!("{} uses {}", from.join("::"), target.join("::"));
                levels
                    .entry(parent)
                    .or_default()
                    .entry((one.clone(), other.clone()))
                    .or_insert(example);
            }
        }
    }
    let mut found = Vec::new();
    for edges in levels.values() {
        found.extend(circles_among(edges));
    }
    Ok(found)
}

/// Names a module gives to things of its children: `crate::Name` → `crate::child::Name`.
fn aliases(
    modules: &BTreeMap<ModulePath, String>,
    uses: &BTreeMap<ModulePath, Vec<ModulePath>>,
) -> BTreeMap<ModulePath, ModulePath> {
    let mut aliases = BTreeMap::new();
    for (module, targets) in uses {
        for target in targets {
            let is_from_child = target.len() > module.len() + 1 && target.starts_with(module);
            if let (true, Some(name)) = (is_from_child, target.last()) {
                let mut alias = module.clone();
                alias.push(name.clone());
                if !modules.contains_key(&alias) {
                    aliases.insert(alias, target.clone());
                }
            }
        }
    }
    aliases
}

fn resolve(target: &ModulePath, aliases: &BTreeMap<ModulePath, ModulePath>) -> ModulePath {
    for length in (1..=target.len()).rev() {
        if let Some(real) = aliases.get(&target[..length]) {
            return real.iter().chain(&target[length..]).cloned().collect();
        }
    }
    target.clone()
}

/// The shortest circle through each edge that lies on one, told with an example for each of its edges.
fn circles_among(edges: &BTreeMap<(String, String), String>) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (from, to) in edges.keys() {
        if let Some(mut circle) = shortest_way(edges, to, from) {
            // The same circle is met once from each of its edges: it begins with its first name.
            let first = (0..circle.len()).min_by_key(|at| circle[*at]);
            circle.rotate_left(first.unwrap_or(0));
            let next = circle.iter().cycle().skip(1);
            let told = circle
                .iter()
                .zip(next)
                .map(|(one, other)| edges[&((*one).clone(), (*other).clone())].as_str());
            found.insert(told.collect::<Vec<_>>().join(", "));
        }
    }
    found
}

/// The nodes on a shortest way, both ends included.
fn shortest_way<'a>(
    edges: &'a BTreeMap<(String, String), String>,
    from: &'a String,
    to: &String,
) -> Option<Vec<&'a String>> {
    let mut came_from: BTreeMap<&String, &String> = BTreeMap::new();
    let mut queue = VecDeque::from([from]);
    while let Some(node) = queue.pop_front() {
        if node == to {
            let mut way = vec![node];
            while let Some(before) = way
                .last()
                .filter(|at| **at != from)
                .and_then(|at| came_from.get(at))
            {
                way.push(before);
            }
            way.reverse();
            return Some(way);
        }
        for (_, next) in edges.keys().filter(|(one, _)| one == node) {
            if next != from && !came_from.contains_key(next) {
                came_from.insert(next, node);
                queue.push_back(next);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(modules: &[(&str, &str)]) -> Vec<String> {
        let modules = modules
            .iter()
            .map(|(path, source)| {
                let path = path
                    .split("::")
                    .filter(|part| !part.is_empty())
                    .map(str::to_owned)
                    .collect();
                (path, (*source).to_owned())
            })
            .collect();
        circles(&modules).unwrap()
    }

    #[test]
    fn a_layering_is_no_circle() {
        assert_eq!(
            found(&[
                ("", "mod a; mod b; pub use b::Thing;"),
                (
                    "a",
                    "use crate::b::{self, Thing}; fn f() { crate::b::g::<u8>() }"
                ),
                ("b", "use super::Setting; use std::a::x;"),
            ]),
            Vec::<String>::new()
        );
    }

    #[test]
    fn a_circle_is_found_through_groups_macros_and_re_exports() {
        let circle = ["a uses b::Thing, b uses a::f"];
        assert_eq!(
            found(&[
                ("a", "use crate::{c::X, b::Thing};"),
                ("b", "fn g() { view! { {crate::a::f()} } }"),
                ("c", "")
            ]),
            circle
        );
        assert_eq!(
            found(&[
                ("", "pub use b::Thing;"),
                ("a", "use crate::Thing;"),
                ("b", "use super::a::f;")
            ]),
            circle
        );
    }

    #[test]
    fn longer_circles_and_those_of_descendants_are_found() {
        let circle = found(&[
            ("a", "use crate::b::X;"),
            ("b", "use crate::c::X;"),
            ("c::deep", "use crate::a::deep::X;"),
            ("a::deep", ""),
        ]);
        assert_eq!(
            circle,
            ["a uses b::X, b uses c::X, c::deep uses a::deep::X"]
        );
    }

    #[test]
    fn parents_and_tests_may_look_back() {
        assert_eq!(
            found(&[
                ("a", "mod child; pub use child::X; use self::child::Y;"),
                ("a::child", "use super::Z; use crate::a::W;"),
                ("b", "#[cfg(test)] mod tests { use crate::c::X; }"),
                ("c", "use crate::b::X;"),
            ]),
            Vec::<String>::new()
        );
    }
}
