//! `cargo xtask dev`: build quickly, run, and do it again whenever a source file changes.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Child;
use std::time::{Duration, Instant, SystemTime};

use anyhow::Result;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::build::{self, Bundle};
use crate::{files, project};

const WATCHED: [&str; 6] = ["app", "crates", "frontend", "public", "server", "style"];
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Time in which the server may end its work before it is killed.
const STOP_LIMIT: Duration = Duration::from_secs(10);

/// Runs until interrupted.
pub(crate) fn dev(args: &[String]) -> Result<()> {
    loop {
        let built_from = sources()?;
        let built = build::site(Bundle::Quick).and_then(|()| build::server(false));
        let mut server = match built {
            Ok(()) => Some(
                project::tied(project::server("debug"))
                    .arg("serve")
                    .args(args)
                    .spawn()?,
            ),
            Err(error) => {
                println!("{error:#}");
                None
            }
        };
        wait_for_change(&built_from)?;
        if let Some(server) = &mut server {
            stop(server)?;
        }
    }
}

/// Returns when sources differ from `before` and have been left alone for one look.
fn wait_for_change(before: &BTreeMap<PathBuf, SystemTime>) -> Result<()> {
    let mut last = before.clone();
    loop {
        std::thread::sleep(LOOK_EVERY);
        let now = sources()?;
        if now != *before && now == last {
            return Ok(());
        }
        last = now;
    }
}

fn sources() -> Result<BTreeMap<PathBuf, SystemTime>> {
    let root = project::root();
    let mut found = BTreeMap::new();
    for folder in WATCHED {
        for file in files::all(&root.join(folder))? {
            // Gone between listing and looking: the next look settles it.
            if let Ok(changed) = file.metadata().and_then(|data| data.modified()) {
                found.insert(file, changed);
            }
        }
    }
    for file in ["Cargo.toml", "Cargo.lock"] {
        found.insert(file.into(), root.join(file).metadata()?.modified()?);
    }
    Ok(found)
}

fn stop(server: &mut Child) -> Result<()> {
    // A server that has ended by itself is not an error.
    let _ = kill(Pid::from_raw(i32::try_from(server.id())?), Signal::SIGTERM);
    let deadline = Instant::now() + STOP_LIMIT;
    while Instant::now() < deadline {
        if server.try_wait()?.is_some() {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    server.kill()?;
    server.wait()?;
    Ok(())
}
