//! The data folder: who uses it, and the node's name in it.

use anyhow::{Context, bail};
use domain::ids::TokenId;
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

/// Held as long as the server runs; the system lets go of it however the process ends.
#[derive(Debug)]
pub struct Lock(#[expect(dead_code, reason = "held for its drop, which unlocks")] File);

/// Makes the folder, for its owner's eyes only: the database and the agents' work are in it.
pub fn create(dir: &Path) -> anyhow::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
        .create(dir)
        .with_context(|| format!("the data folder {} cannot be made", dir.display()))?;
    close_to_others(dir).with_context(|| {
        format!(
            "the data folder {} cannot be kept from others",
            dir.display()
        )
    })
}

/// Takes a folder that was there before from the eyes of others, who could read agents' environments in the database.
#[cfg(unix)]
fn close_to_others(dir: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let mut permissions = std::fs::metadata(dir)?.permissions();
    let mode = permissions.mode();
    if mode & 0o077 != 0 {
        permissions.set_mode(mode & !0o077);
        std::fs::set_permissions(dir, permissions)?;
        tracing::warn!(folder = %dir.display(), "others could read the data folder; they no longer can");
    }
    Ok(())
}

#[cfg(not(unix))]
fn close_to_others(_dir: &Path) -> std::io::Result<()> {
    Ok(())
}

/// Takes the folder for this process.
pub fn lock(dir: &Path) -> anyhow::Result<Lock> {
    create(dir)?;
    let path = dir.join("flightdeck.lock");
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path)
        .with_context(|| format!("the lock file {} cannot be opened", path.display()))?;
    match file.try_lock() {
        Ok(()) => Ok(Lock(file)),
        Err(TryLockError::WouldBlock) => bail!(
            "another Flightdeck server is running on the data folder {}: stop it first, or name another folder with --data-dir",
            dir.display()
        ),
        Err(TryLockError::Error(error)) => Err(error)
            .with_context(|| format!("the data folder {} cannot be locked", dir.display())),
    }
}

/// The name of this node, made once: after a restart it finds by it what it held before.
pub fn node_id(dir: &Path) -> anyhow::Result<String> {
    let path = dir.join("node-id");
    let known = match std::fs::read_to_string(&path) {
        Ok(text) => text.trim().to_owned(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => {
            return Err(error).with_context(|| format!("{} cannot be read", path.display()));
        }
    };
    if !known.is_empty() {
        return Ok(known);
    }
    let made = format!("node-{}", TokenId::new());
    write_whole(&path, &made).with_context(|| format!("{} cannot be written", path.display()))?;
    Ok(made)
}

/// Writes a file so that a crash leaves either all of it or none.
fn write_whole(path: &Path, text: &str) -> std::io::Result<()> {
    let draft: PathBuf = path.with_extension("new");
    std::fs::write(&draft, text)?;
    File::open(&draft)?.sync_all()?;
    std::fs::rename(&draft, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_server_on_the_same_data_is_refused_until_the_first_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let first = lock(folder.path()).unwrap();
        let refused = lock(folder.path()).unwrap_err().to_string();
        assert!(refused.contains("another Flightdeck server"), "{refused}");
        drop(first);
        lock(folder.path()).unwrap();
    }

    #[test]
    fn a_node_keeps_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let name = node_id(folder.path()).unwrap();
        assert_eq!(node_id(folder.path()).unwrap(), name);
        let other = tempfile::tempdir().unwrap();
        assert_ne!(node_id(other.path()).unwrap(), name);
    }
}
