//! `cargo xtask serve`: from a fresh clone to a page in the browser.

use std::os::unix::process::CommandExt as _;

use anyhow::{Context, Result};

use crate::{build, project};

/// Builds for users and becomes the server, so that signals reach it and its output is ours.
///
/// The server's own last line of start-up says where to look.
pub(crate) fn serve(args: &[String]) -> Result<()> {
    build::all(true)?;
    let server = project::server("release");
    let error = project::command(&server).arg("serve").args(args).exec();
    Err(error).with_context(|| format!("starting {}", server.display()))
}
