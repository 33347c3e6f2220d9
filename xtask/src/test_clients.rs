//! `cargo xtask test-clients`: the public conformance suite of MCP, and clients that others wrote, against a real server.
//!
//! What they need comes from npm and from PyPI, by lists of exact versions in `end2end/real-clients`. On a build machine it is
//! fetched while the code compiles ([`Ahead`]), since one of the two waits for the network and the other does not.

use std::path::{Path, PathBuf};
use std::thread::JoinHandle;

use anyhow::{Result, anyhow, bail};

use crate::count::Counts;
use crate::setup::Tool;
use crate::{e2e, files, node_tests, project, setup, stage};

/// Makes the environment of the Python client.
pub(crate) const PYTHON: Tool = Tool {
    purpose: "Python 3 with venv, for a client of its SDK",
    packages: &["python3", "python3-venv"],
    find: python,
};

/// The example of the server that offers the suite's fixtures.
const FIXTURES: &str = "conformance";

/// Builds what is needed and runs the tests; `args` go to Node's test runner.
pub(crate) fn test_clients(args: &[String]) -> Result<Counts> {
    setup::install_missing(&[&PYTHON])?;
    let mut cargo = project::cargo("build");
    cargo.args(project::NATIVE);
    cargo.args(["--bin", "flightdeck", "--example", FIXTURES]);
    stage::must("compile the server and its fixtures", &mut cargo)?;
    run(Ahead::none(), args)
}

/// Where the clients are.
struct Clients {
    /// The interpreter that has the SDK; without one, its clients are skipped.
    python: Option<PathBuf>,
}

/// An installation that may have begun.
pub(crate) struct Ahead(Option<JoinHandle<Result<Clients>>>);

impl Ahead {
    /// Begins, on a build machine; elsewhere two programs at once would write over each other on the terminal.
    pub(crate) fn begin() -> Self {
        Self(project::is_ci().then(|| std::thread::spawn(install)))
    }

    const fn none() -> Self {
        Self(None)
    }

    fn done(self) -> Result<Clients> {
        match self.0 {
            Some(thread) => thread
                .join()
                .map_err(|_| anyhow!("the installation of the clients panicked"))?,
            None => install(),
        }
    }
}

/// Runs the tests against what is built. What cannot be installed is a failure on a build machine.
pub(crate) fn run(ahead: Ahead, args: &[String]) -> Result<Counts> {
    let clients = match ahead.done() {
        Ok(clients) => clients,
        Err(error) if project::is_ci() => return Err(error),
        Err(error) => {
            println!("the clients that others wrote are not here: {error:#}");
            return Ok(Counts::SKIPPED);
        }
    };
    let folder = folder();
    let tests = folder.parent().unwrap_or(&folder).to_owned();
    // Node takes the types away without reading them.
    let mut types = project::command("node");
    stage::must(
        "types of the tests of clients",
        types
            .current_dir(&folder)
            .arg(tests.join("node_modules/typescript/bin/tsc"))
            .arg("--noEmit"),
    )?;
    let files = ["conformance.test.ts", "clients.test.ts"];
    node_tests::run(&folder, "real clients", &files, args, |node| {
        node.env("FLIGHTDECK_BIN", project::server("debug")).env(
            "FLIGHTDECK_FIXTURES",
            project::target().join("debug/examples").join(FIXTURES),
        );
        if let Some(python) = clients.python {
            node.env("FLIGHTDECK_PYTHON", python);
        }
    })
}

fn folder() -> PathBuf {
    project::root().join("end2end/real-clients")
}

fn install() -> Result<Clients> {
    let folder = folder();
    // TypeScript itself is shared with the browser's tests.
    e2e::install_packages(folder.parent().unwrap_or(&folder))?;
    e2e::install_packages(&folder)?;
    let Some(python) = (PYTHON.find)() else {
        if project::is_ci() {
            bail!("{}", PYTHON.advice());
        }
        println!("{}", PYTHON.advice());
        return Ok(Clients { python: None });
    };
    let python = Some(environment(&python, &folder.join("requirements.txt"))?);
    Ok(Clients { python })
}

/// An environment with what `list` names, made when there is none, or one by another list; gives its interpreter.
fn environment(python: &Path, list: &Path) -> Result<PathBuf> {
    let home = project::root().join("target/real-clients-python");
    let own = home.join("bin/python");
    let wanted = files::hash(&std::fs::read(list)?);
    let stamp = home.join(".installed-from");
    if own.exists() && std::fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(own);
    }
    stage::must(
        "python3 -m venv",
        project::command(python)
            .args(["-m", "venv", "--clear"])
            .arg(&home),
    )?;
    // Compiling what is never imported takes longer than to load the rest once.
    stage::must(
        "pip install",
        project::command(&own)
            .args(["-m", "pip", "install", "--disable-pip-version-check"])
            .args(["--no-compile", "--no-input", "--requirement"])
            .arg(list),
    )?;
    files::write_if_changed(&stamp, wanted.as_bytes())?;
    Ok(own)
}

/// An interpreter that can make environments; Debian's own cannot without a package more.
fn python() -> Option<PathBuf> {
    let found = project::program("python3")?;
    let able = project::command(&found)
        .args(["-c", "import ensurepip, venv"])
        .output()
        .is_ok_and(|output| output.status.success());
    able.then_some(found)
}
