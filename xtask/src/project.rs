//! The project's folders and the commands that run in them.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Our crates as Cargo selects them for native builds and tests. The bundle's crate compiles for WASM only, and this program is
/// tested apart: with it in the selection, features of shared dependencies would differ from those of the
/// `cargo xtask` that runs, and all of them would compile twice.
pub(crate) const NATIVE: [&str; 5] = ["--workspace", "--exclude", "frontend", "--exclude", "xtask"];

/// The project's folder: where the workspace manifest is.
pub(crate) fn root() -> PathBuf {
    // Set by `cargo run`; the compiled-in one serves a binary that is called by hand.
    let manifest =
        std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    let crate_folder = PathBuf::from(manifest);
    crate_folder
        .parent()
        .map_or_else(|| crate_folder.clone(), Path::to_owned)
}

/// Cargo's output folder.
pub(crate) fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| root().join("target"), |set| root().join(set))
}

/// What the server serves as files: style sheet, bundle, icons. Always here, wherever Cargo builds.
pub(crate) fn site() -> PathBuf {
    root().join("target/site")
}

/// The server's binary in a profile's folder (`debug`, `release`).
pub(crate) fn server(profile: &str) -> PathBuf {
    target().join(profile).join("flightdeck")
}

/// Whether this is a build machine: nobody to ask, nothing to be left out.
pub(crate) fn is_ci() -> bool {
    std::env::var_os("CI").is_some_and(|value| value != "false" && !value.is_empty())
}

/// A command that runs in the project's folder.
pub(crate) fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.current_dir(root());
    command
}

/// `cargo <subcommand>` in the project's folder, where a subcommand may be two words, such as `nextest run`. On a build
/// machine the lock file is law.
pub(crate) fn cargo(subcommand: &str) -> Command {
    let mut command = command(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(subcommand.split(' '));
    if is_ci() && !matches!(subcommand, "fmt") {
        command.arg("--locked");
    }
    command
}

/// A command that is asked to end when we end, however we do: where `setpriv` exists, the kernel sees to it.
pub(crate) fn tied(what: impl AsRef<OsStr>) -> Command {
    match program("setpriv") {
        Some(setpriv) => {
            let mut tied = command(setpriv);
            tied.args(["--pdeathsig", "TERM", "--"]).arg(what);
            tied
        }
        None => command(what),
    }
}

/// A program on the PATH.
pub(crate) fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join(name))
        .find(|file| is_executable(file))
}

fn is_executable(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    file.metadata()
        .is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}
