//! What a fresh machine lacks: found, installed where that needs nobody's consent, otherwise named.

use std::path::PathBuf;

use anyhow::{Result, bail};

use crate::{project, stage};

/// A program that some stage needs.
pub(crate) struct Tool {
    /// What it is for, in words.
    pub(crate) purpose: &'static str,
    /// Debian packages that bring it.
    pub(crate) packages: &'static [&'static str],
    /// Where it is, when it is there.
    pub(crate) find: fn() -> Option<PathBuf>,
}

/// The browser of the end-to-end tests.
pub(crate) const BROWSER: Tool = Tool {
    purpose: "a Chromium browser, for the end-to-end tests",
    // Without any font a page has no size to measure.
    packages: &["chromium", "fonts-liberation"],
    find: browser,
};

/// Shrinks the bundle.
pub(crate) const WASM_OPT: Tool = Tool {
    purpose: "wasm-opt, to shrink the bundle",
    packages: &["binaryen"],
    find: || project::program("wasm-opt"),
};

/// Installs those of `tools` that are missing, when we are root on a machine with apt. Otherwise changes nothing.
pub(crate) fn install_missing(tools: &[&Tool]) -> Result<()> {
    let packages: Vec<_> = tools
        .iter()
        .filter(|tool| (tool.find)().is_none())
        .flat_map(|tool| tool.packages)
        .collect();
    let (Some(apt), true) = (
        project::program("apt-get"),
        nix::unistd::geteuid().is_root(),
    ) else {
        return Ok(());
    };
    if packages.is_empty() {
        return Ok(());
    }
    let apt = || {
        let mut command = project::command(&apt);
        command.env("DEBIAN_FRONTEND", "noninteractive");
        command
    };
    stage::must("apt-get update", apt().args(["update", "-q"]))?;
    stage::must(
        "apt-get install",
        apt()
            .args(["install", "-q", "-y", "--no-install-recommends"])
            .args(packages),
    )?;
    Ok(())
}

impl Tool {
    /// The sentence for somebody who has to install it.
    pub(crate) fn advice(&self) -> String {
        format!(
            "{} is missing; on Debian: apt-get install {}",
            self.purpose,
            self.packages.join(" ")
        )
    }
}

/// Makes sure that Rust can compile for the browser.
pub(crate) fn wasm_target() -> Result<()> {
    const TARGET: &str = "wasm32-unknown-unknown";
    let sysroot = project::command("rustc")
        .args(["--print", "sysroot"])
        .output()?;
    let sysroot = PathBuf::from(String::from_utf8_lossy(&sysroot.stdout).trim());
    if sysroot.join("lib/rustlib").join(TARGET).is_dir() {
        return Ok(());
    }
    if project::program("rustup").is_none() {
        bail!("the Rust target {TARGET} is missing and rustup is not there to add it");
    }
    stage::must(
        "rustup target add",
        project::command("rustup").args(["target", "add", TARGET]),
    )?;
    Ok(())
}

fn browser() -> Option<PathBuf> {
    if let Some(chosen) = std::env::var_os("FLIGHTDECK_CHROMIUM") {
        return Some(chosen.into());
    }
    [
        "chromium",
        "chromium-browser",
        "google-chrome",
        "google-chrome-stable",
        "microsoft-edge",
    ]
    .into_iter()
    .find_map(project::program)
    .or_else(|| {
        let mac = PathBuf::from("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome");
        mac.exists().then_some(mac)
    })
}
