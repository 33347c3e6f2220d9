//! End-to-end tests: Playwright drives Chromium against the server's dev build with the bundle users get.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use crate::build::{self, Bundle};
use crate::count::Counts;
use crate::{files, project, setup, stage};

/// Builds what the tests need and runs them; `args` go to Playwright.
pub(crate) fn build_and_run(args: &[String]) -> Result<Counts> {
    build::site(Bundle::Small)?;
    build::server(false)?;
    run(args)
}

/// Runs them against what is built.
pub(crate) fn run(args: &[String]) -> Result<Counts> {
    let folder = project::root().join("end2end");
    install_packages(&folder)?;
    let report = project::root().join("target/xtask-logs/end-to-end.json");
    files::write_if_changed(&report, b"")?;
    // Playwright takes the types away without reading them.
    let mut types = project::command("node");
    stage::must(
        "types of the end-to-end tests",
        types
            .current_dir(&folder)
            .args(["node_modules/typescript/bin/tsc", "--noEmit"]),
    )?;
    let mut playwright = project::command("node");
    playwright
        .current_dir(&folder)
        .arg("node_modules/@playwright/test/cli.js")
        .arg("test")
        .args(args)
        .env("FLIGHTDECK_BIN", project::server("debug"))
        .env("PLAYWRIGHT_JSON_OUTPUT_FILE", &report);
    if let Some(browser) = browser(&folder)? {
        playwright.env("FLIGHTDECK_CHROMIUM", browser);
    }
    let ended = stage::run("end-to-end tests", &mut playwright)?;
    let mut counts = Counts::of_playwright(&files::read(&report)?)
        .context("Playwright ended without a report; see target/xtask-logs/end-to-end-tests.log")?;
    if !ended.success && counts.failed == 0 {
        // It failed outside any test, for example while loading one.
        counts += Counts::FAILED;
    }
    Ok(counts)
}

/// Playwright runs on this version of Node and later.
const NODE: u32 = 20;

fn check_node() -> Result<()> {
    let version = project::command("node").arg("--version").output().ok();
    let version = version
        .map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
        .unwrap_or_default();
    let major = version
        .trim_start_matches('v')
        .split('.')
        .next()
        .and_then(|major| major.parse::<u32>().ok());
    match major {
        Some(major) if major >= NODE => Ok(()),
        Some(_) => bail!("the end-to-end tests need Node.js {NODE} or newer; this is {version}"),
        None => bail!(
            "Node.js is missing, for the end-to-end tests; see https://nodejs.org or your package manager"
        ),
    }
}

/// `npm ci`, when the lock file is another than the one last installed.
pub(crate) fn install_packages(folder: &std::path::Path) -> Result<()> {
    check_node()?;
    let Some(npm) = project::program("npm") else {
        bail!("npm is missing, for the end-to-end tests; it usually comes with Node.js")
    };
    let lock = files::hash(&std::fs::read(folder.join("package-lock.json"))?);
    let stamp = folder.join("node_modules/.installed-from");
    if std::fs::read_to_string(&stamp).is_ok_and(|installed| installed == lock) {
        return Ok(());
    }
    let mut command = project::command(npm);
    command
        .current_dir(folder)
        .args(["ci", "--no-audit", "--no-fund"])
        .env("PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD", "1");
    stage::must("npm ci", &mut command)?;
    files::write_if_changed(&stamp, lock.as_bytes())?;
    Ok(())
}

/// The browser to use; `None` for the one Playwright has brought itself.
fn browser(folder: &std::path::Path) -> Result<Option<PathBuf>> {
    setup::install_missing(&[&setup::BROWSER])?;
    if let Some(found) = (setup::BROWSER.find)() {
        return Ok(Some(found));
    }
    let mut download = project::command("node");
    download.current_dir(folder).args([
        "node_modules/@playwright/test/cli.js",
        "install",
        "chromium",
    ]);
    if !stage::run("download a browser", &mut download)?.success {
        bail!("{}", setup::BROWSER.advice());
    }
    Ok(None)
}
