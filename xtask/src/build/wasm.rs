//! The browser's half: compile, prune, split, `wasm-bindgen`, `wasm-opt`.
//!
//! `wasm-bindgen` runs as a library whose version Cargo.lock holds, so nobody has to install a matching command.
//! Cargo decides by itself whether to compile; the steps after it are skipped when the compiled module is the same.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use wasm_bindgen_cli_support::Bindgen;

use super::split;
use crate::{files, project, setup, stage};

/// How much is done for the bundle's size.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bundle {
    /// What users get: size-optimised, through `wasm-opt`.
    Small,
    /// What a developer waits for.
    Quick,
}

impl Bundle {
    /// Cargo's profile and the folder it builds into.
    fn profile(self) -> (&'static str, &'static str) {
        match self {
            Self::Small => ("wasm-release", "wasm-release"),
            Self::Quick => ("dev", "debug"),
        }
    }
}

/// The finished modules, their glue and the scripts that crates bring along.
pub(crate) struct Glue {
    pub(crate) js: String,
    pub(crate) wasm: Vec<u8>,
    /// The script that loads what is split off.
    pub(crate) link: String,
    /// What is split off, by the names that the link has for it.
    pub(crate) modules: Vec<(String, Vec<u8>)>,
    /// Which of these modules each part needs.
    pub(crate) parts: split::Parts,
    /// Paths below the glue's folder; the glue imports them by these.
    pub(crate) snippets: Vec<(PathBuf, Vec<u8>)>,
}

/// Where the split modules lie, and what says which part needs which, below the folder of what is made.
const APART: &str = "apart";
const PARTS: &str = "parts.json";

/// Name of the bundle's files, as `[[workspace.metadata.leptos]]` has it.
pub(crate) const NAME: &str = "flightdeck";

/// Builds the bundle, or takes the last one when nothing changed.
pub(crate) fn bundle(kind: Bundle) -> Result<Glue> {
    setup::wasm_target()?;
    check_versions(&files::read(&project::root().join("Cargo.lock"))?)?;
    let (profile, folder) = kind.profile();
    let mut cargo = project::cargo("build");
    cargo.args([
        "--package",
        "frontend",
        "--target",
        "wasm32-unknown-unknown",
        "--profile",
        profile,
    ]);
    stage::must("compile for the browser", &mut cargo)?;
    let module = project::target()
        .join("wasm32-unknown-unknown")
        .join(folder)
        .join("frontend.wasm");

    let optimizer = match kind {
        Bundle::Small => (setup::WASM_OPT.find)(),
        Bundle::Quick => None,
    };
    let made = project::root().join("target/xtask-bundle").join(profile);
    let stamp_file = made.with_extension("stamp");
    let stamp = stamp(&module, optimizer.as_deref())?;
    if std::fs::read_to_string(&stamp_file).ok().as_deref() != Some(stamp.as_str()) {
        // No stamp stands beside half a bundle.
        let _ = std::fs::remove_file(&stamp_file);
        let _ = std::fs::remove_dir_all(&made);
        let mut linked =
            std::fs::read(&module).with_context(|| format!("reading {}", module.display()))?;
        if kind == Bundle::Small {
            linked = stage::work("prune", || prune(&linked))?;
        }
        let apart = made.join(APART);
        std::fs::create_dir_all(&apart)?;
        let glue = format!("./{NAME}.js");
        let parts = stage::work("split", || split::split(&linked, &apart, &glue))?;
        files::write_if_changed(&made.join(PARTS), &serde_json::to_vec(&parts)?)?;
        let main = apart.join(split::MAIN);
        stage::work("wasm-bindgen", || bind(&main, &made))?;
        match (&optimizer, kind) {
            (Some(program), _) => {
                optimize(program, &made.join(format!("{NAME}_bg.wasm")))?;
                for (_, module) in split::modules(&apart)? {
                    optimize(program, &module)?;
                }
            }
            (None, Bundle::Small) => println!(
                "  The bundle stays larger than it need be: {}",
                setup::WASM_OPT.advice()
            ),
            (None, Bundle::Quick) => {}
        }
        files::write_if_changed(&stamp_file, stamp.as_bytes())?;
    }
    read(&made)
}

/// What the bundle follows from; the versions are those this program was built with.
fn stamp(module: &Path, optimizer: Option<&Path>) -> Result<String> {
    let bytes = std::fs::read(module).with_context(|| format!("reading {}", module.display()))?;
    let optimizer = match optimizer {
        Some(program) => {
            let output = project::command(program).arg("--version").output()?;
            String::from_utf8_lossy(&output.stdout).trim().to_owned()
        }
        None => "no wasm-opt".to_owned(),
    };
    let tools = [
        "wasm-bindgen-cli-support",
        "wasm_split_cli_support",
        "walrus",
    ];
    let versions = tools.map(|package| {
        locked_version(include_str!("../../../Cargo.lock"), package).unwrap_or_default()
    });
    let steps = [
        include_str!("prune.rs"),
        include_str!("split.rs"),
        include_str!("wasm.rs"),
    ];
    let steps = files::hash(steps.concat().as_bytes());
    Ok(format!(
        "{} {steps} {versions:?} {optimizer}",
        files::hash(&bytes)
    ))
}

fn bind(module: &Path, folder: &Path) -> Result<()> {
    Bindgen::new()
        .input_path(module)
        .out_name(NAME)
        .web(true)?
        .typescript(false)
        // The parts share the table of functions, which only the linker exports.
        .keep_lld_exports(true)
        .remove_name_section(true)
        .remove_producers_section(true)
        .generate(folder)
}

fn prune(wasm: &[u8]) -> Result<Vec<u8>> {
    let (pruned, count) = super::prune::unused_hydration(wasm)?;
    if count == 0 {
        bail!(
            "the bundle has no function that pruning looks for: leptos has changed, and xtask/src/build/prune.rs must follow"
        );
    }
    Ok(pruned)
}

fn optimize(program: &Path, wasm: &Path) -> Result<()> {
    let mut command = project::command(program);
    // What rustc may use on this target today; older versions of wasm-opt refuse what is not named.
    command.args([
        "-Oz",
        "--enable-bulk-memory",
        "--enable-mutable-globals",
        "--enable-nontrapping-float-to-int",
    ]);
    command.args([
        "--enable-sign-ext",
        "--enable-reference-types",
        "--enable-multivalue",
    ]);
    stage::must("wasm-opt", command.arg(wasm).arg("-o").arg(wasm))?;
    let mended = super::mend::table_export(std::fs::read(wasm)?)?;
    files::write_if_changed(wasm, &mended)?;
    Ok(())
}

fn read(made: &Path) -> Result<Glue> {
    let file = |name: &str| {
        let path = made.join(name);
        std::fs::read(&path).with_context(|| format!("reading {}", path.display()))
    };
    let apart = made.join(APART);
    let mut modules = Vec::new();
    for (name, path) in split::modules(&apart)? {
        modules.push((name, std::fs::read(&path)?));
    }
    let mut snippets = Vec::new();
    for path in files::all(&made.join("snippets"))? {
        snippets.push((files::shown(made, &path), std::fs::read(&path)?));
    }
    Ok(Glue {
        js: files::read(&made.join(format!("{NAME}.js")))?,
        wasm: file(&format!("{NAME}_bg.wasm"))?,
        link: files::read(&apart.join(split::LINK))?,
        modules,
        parts: serde_json::from_slice(&file(PARTS)?)?,
        snippets,
    })
}

/// The glue's maker and the module's macros must be of one version, and this program must be built from the lock file.
fn check_versions(lock: &str) -> Result<()> {
    let module = locked_version(lock, "wasm-bindgen");
    let maker = locked_version(lock, "wasm-bindgen-cli-support");
    match (module, maker) {
        (Some(module), Some(maker)) if module == maker => Ok(()),
        (Some(module), Some(maker)) => bail!(
            "Cargo.lock has wasm-bindgen {module} but wasm-bindgen-cli-support {maker}; they must be the same. Run:\n  \
             cargo update -p wasm-bindgen-cli-support --precise {module}"
        ),
        _ => bail!("Cargo.lock names no version of wasm-bindgen and wasm-bindgen-cli-support"),
    }
}

fn locked_version(lock: &str, package: &str) -> Option<String> {
    let (_, after) = lock.split_once(&format!("name = \"{package}\"\nversion = \""))?;
    after.split('"').next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_that_differ_are_an_error_with_the_way_out() {
        let lock = |maker: &str| {
            format!(
                "[[package]]\nname = \"wasm-bindgen\"\nversion = \"0.2.130\"\n\n\
                     [[package]]\nname = \"wasm-bindgen-cli-support\"\nversion = \"{maker}\"\n"
            )
        };
        check_versions(&lock("0.2.130")).unwrap();
        let text = check_versions(&lock("0.2.129")).unwrap_err().to_string();
        assert!(
            text.contains("cargo update -p wasm-bindgen-cli-support --precise 0.2.130"),
            "{text}"
        );
        assert!(check_versions("").is_err());
    }
}
