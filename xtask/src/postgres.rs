//! A PostgreSQL server that lives as long as one test run.
//!
//! It has its own data folder under the system's temporary one, listens on a free loopback port, and runs as an
//! unprivileged user when we are root, since initdb refuses root. For tests nothing is synced to disk (`fsync=off`): the
//! folder is thrown away, and the crash tests kill our server, never the database's machine, so nothing they prove rests on
//! it. Measurements of what is durable ask for a server that syncs.

use std::net::TcpListener;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Gid, Pid, Uid, User};
use tempfile::TempDir;

use crate::project;
use crate::setup::Tool;

/// The second database of the conformance suite.
pub(crate) const TOOL: Tool = Tool {
    purpose: "PostgreSQL, for the conformance tests",
    packages: &["postgresql"],
    find: binaries,
};

const START_LIMIT: Duration = Duration::from_secs(60);
const STOP_LIMIT: Duration = Duration::from_secs(10);

/// The folder with `initdb` and `postgres`: the PATH first, then the newest of the usual places.
pub(crate) fn binaries() -> Option<PathBuf> {
    let complete = |folder: &Path| {
        ["initdb", "postgres"]
            .iter()
            .all(|name| folder.join(name).is_file())
    };
    let on_path = project::program("initdb")
        .and_then(|file| file.canonicalize().ok()?.parent().map(Path::to_owned));
    if let Some(folder) = on_path.filter(|folder| complete(folder)) {
        return Some(folder);
    }
    let mut found: Vec<(u32, PathBuf)> = Vec::new();
    for (parent, prefix, suffix) in [
        ("/usr/lib/postgresql", "", "bin"),
        ("/usr", "pgsql-", "bin"),
        ("/opt/homebrew/opt", "postgresql@", "bin"),
        ("/usr/local/opt", "postgresql@", "bin"),
    ] {
        for entry in std::fs::read_dir(parent).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let version = name
                .to_str()
                .and_then(|name| name.strip_prefix(prefix)?.parse().ok());
            let folder = entry.path().join(suffix);
            if let Some(version) = version
                && complete(&folder)
            {
                found.push((version, folder));
            }
        }
    }
    found.into_iter().max().map(|(_, folder)| folder)
}

/// Whether what is committed is on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Durability {
    /// No: faster, and good for tests.
    None,
    /// Yes, as on a server that people use.
    Full,
}

impl Durability {
    fn settings(self) -> &'static [&'static str] {
        match self {
            Self::None => &[
                "fsync=off",
                "full_page_writes=off",
                // Nobody restores or follows it, and no table lives long enough to be swept.
                "wal_level=minimal",
                "max_wal_senders=0",
                "autovacuum=off",
            ],
            Self::Full => &["fsync=on", "synchronous_commit=on"],
        }
    }
}

/// A running server; dropping it stops it and removes its data.
pub(crate) struct Cluster {
    server: Child,
    // Removed after the server has gone.
    _folder: TempDir,
    url: String,
}

impl Cluster {
    /// Starts a fresh server with the programs in `binaries`, logging to `log`.
    pub(crate) fn start(binaries: &Path, log: &Path, durability: Durability) -> Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix("flightdeck-postgres-")
            .tempdir()?;
        let owner = Owner::find()?;
        if let Some(owner) = &owner {
            std::os::unix::fs::chown(
                folder.path(),
                Some(owner.uid.as_raw()),
                Some(owner.gid.as_raw()),
            )?;
        }
        let data = folder.path().join("data");
        let mut initdb = Command::new(binaries.join("initdb"));
        initdb
            .args([
                "--username=postgres",
                "--auth=trust",
                "--encoding=UTF8",
                "--no-locale",
                "--no-sync",
                "--pgdata",
            ])
            .arg(&data)
            .current_dir(folder.path());
        Owner::become_it(owner.as_ref(), &mut initdb);
        let made = initdb.output().context("running initdb")?;
        if !made.status.success() {
            bail!(
                "initdb failed: {}",
                String::from_utf8_lossy(&made.stderr).trim()
            );
        }
        if let Some(parent) = log.parent() {
            std::fs::create_dir_all(parent)?;
        }
        // Between finding a free port and taking it, somebody else may.
        let mut last_error = None;
        for _ in 0..3 {
            let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
            match start_on(port, binaries, &data, owner.as_ref(), log, durability) {
                Ok(server) => {
                    let url = format!("postgres://postgres@127.0.0.1:{port}/postgres");
                    return Ok(Self {
                        server,
                        _folder: folder,
                        url,
                    });
                }
                Err(error) => last_error = Some(error),
            }
        }
        Err(last_error.unwrap_or_else(|| anyhow::anyhow!("PostgreSQL did not start")))
    }

    /// How to connect, with the right to create databases.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        stop(&mut self.server);
    }
}

fn start_on(
    port: u16,
    binaries: &Path,
    data: &Path,
    owner: Option<&Owner>,
    log: &Path,
    durability: Durability,
) -> Result<Child> {
    let mut command = project::tied(binaries.join("postgres"));
    command.arg("-D").arg(data).args(["-p", &port.to_string()]);
    for setting in [
        "listen_addresses=127.0.0.1",
        "unix_socket_directories=",
        "max_connections=300",
    ] {
        command.args(["-c", setting]);
    }
    for setting in durability.settings() {
        command.args(["-c", setting]);
    }
    let output =
        std::fs::File::create(log).with_context(|| format!("creating {}", log.display()))?;
    command
        .current_dir(data)
        .stdin(Stdio::null())
        .stdout(output.try_clone()?)
        .stderr(output);
    Owner::become_it(owner, &mut command);
    let mut server = command.spawn().context("starting postgres")?;
    let deadline = Instant::now() + START_LIMIT;
    loop {
        // The eighth line of this file is the server's own word on its state.
        let status = std::fs::read_to_string(data.join("postmaster.pid")).unwrap_or_default();
        if status
            .lines()
            .nth(7)
            .is_some_and(|line| line.trim() == "ready")
        {
            return Ok(server);
        }
        if let Some(ended) = server.try_wait()? {
            bail!("postgres ended with {ended}; see {}", log.display());
        }
        if Instant::now() > deadline {
            stop(&mut server);
            bail!(
                "postgres was not ready within {START_LIMIT:?}; see {}",
                log.display()
            );
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Ends the server without ceremony: its data is thrown away.
fn stop(server: &mut Child) {
    let pid = i32::try_from(server.id()).map(Pid::from_raw);
    let asked = pid.is_ok_and(|pid| kill(pid, Signal::SIGQUIT).is_ok());
    let deadline = Instant::now() + STOP_LIMIT;
    while asked && Instant::now() < deadline {
        if !matches!(server.try_wait(), Ok(None)) {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    // Nothing is left to do about a failure here: the process is gone or not ours.
    let _ = server.kill();
    let _ = server.wait();
}

/// The unprivileged user that root lends the database to.
struct Owner {
    uid: Uid,
    gid: Gid,
}

impl Owner {
    fn find() -> Result<Option<Self>> {
        if !nix::unistd::geteuid().is_root() {
            return Ok(None);
        }
        for name in ["postgres", "nobody"] {
            if let Some(user) = User::from_name(name)? {
                return Ok(Some(Self {
                    uid: user.uid,
                    gid: user.gid,
                }));
            }
        }
        bail!(
            "PostgreSQL does not run as root, and there is neither a user `postgres` nor `nobody`"
        )
    }

    /// Also drops root's supplementary groups, as the standard library does with a user id set by root.
    fn become_it(owner: Option<&Self>, command: &mut Command) {
        if let Some(owner) = owner {
            command.uid(owner.uid.as_raw()).gid(owner.gid.as_raw());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_answers_and_leaves_nothing_behind() {
        let Some(binaries) = binaries() else { return };
        let logs = tempfile::tempdir().unwrap();
        let cluster = Cluster::start(
            &binaries,
            &logs.path().join("postgres.log"),
            Durability::None,
        )
        .unwrap();
        let folder = cluster._folder.path().to_owned();
        let pid = cluster.server.id();
        let address = cluster
            .url()
            .strip_prefix("postgres://postgres@")
            .unwrap()
            .strip_suffix("/postgres")
            .unwrap();
        std::net::TcpStream::connect(address).unwrap();
        assert!(folder.exists());
        let address = address.to_owned();
        drop(cluster);
        assert!(!folder.exists());
        assert!(!Path::new(&format!("/proc/{pid}")).exists());
        std::net::TcpStream::connect(address).unwrap_err();
    }
}
