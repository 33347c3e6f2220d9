//! Reading our own source tree.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Every file below `folder` whose name ends in `.extension`, sorted; none when the folder does not exist.
pub(crate) fn below(folder: &Path, extension: &str) -> Result<Vec<PathBuf>> {
    let mut found = all(folder)?;
    found.retain(|file| file.extension().is_some_and(|it| it == extension));
    Ok(found)
}

/// Every file below `folder`, sorted; none when the folder does not exist.
pub(crate) fn all(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        if !folder.is_dir() {
            continue;
        }
        let entries =
            std::fs::read_dir(&folder).with_context(|| format!("listing {}", folder.display()))?;
        for entry in entries {
            let path = entry?.path();
            if path.is_dir() {
                open.push(path);
            } else {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// The text of `file`.
pub(crate) fn read(file: &Path) -> Result<String> {
    std::fs::read_to_string(file).with_context(|| format!("reading {}", file.display()))
}

/// `file` as it is printed: relative to the project's folder.
pub(crate) fn shown(root: &Path, file: &Path) -> PathBuf {
    file.strip_prefix(root).unwrap_or(file).to_owned()
}

/// Writes `bytes` to `file` unless they are there already, which leaves its time stamp alone; tells whether it wrote.
///
/// Nobody ever sees half of it, even if we are killed.
pub(crate) fn write_if_changed(file: &Path, bytes: &[u8]) -> Result<bool> {
    if std::fs::read(file).is_ok_and(|old| old == bytes) {
        return Ok(false);
    }
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let part = PathBuf::from(format!("{}.{}.part", file.display(), std::process::id()));
    std::fs::write(&part, bytes)
        .and_then(|()| std::fs::rename(&part, file))
        .with_context(|| format!("writing {}", file.display()))?;
    Ok(true)
}

/// Twenty hexadecimal digits that stand for `bytes`.
pub(crate) fn hash(bytes: &[u8]) -> String {
    use sha2::Digest as _;
    sha2::Sha256::digest(bytes)
        .iter()
        .take(10)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
