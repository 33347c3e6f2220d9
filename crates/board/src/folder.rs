//! Reading files of a task's folder that an agent points to.
//!
//! The agent may read them anyway; Flightdeck, which may read more, must not be led out of the folder by a path or a link, nor be
//! made to wait by something that is no file. The folder is opened once and everything is resolved beneath it.

use crate::Result;
use cap_fs_ext::OpenOptionsSyncExt;
use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions};
use domain::error::Refusal;
use domain::rich::{MAX_EXCERPT, excerpt_of};
use std::io::Read;
use std::path::{Path, PathBuf};

/// The beginning of a text file in `folder`, and whether there is more of it; `None` for one that is not text. `path` is relative
/// to the folder, or a whole path into it.
pub(crate) async fn excerpt(folder: PathBuf, path: String) -> Result<Option<(String, bool)>> {
    let read = tokio::task::spawn_blocking(move || read(&folder, &path));
    match read.await {
        Ok(read) => Ok(read?),
        Err(_) => Err(Refusal::conflict("the file could not be read").into()),
    }
}

fn read(folder: &Path, path: &str) -> std::result::Result<Option<(String, bool)>, Refusal> {
    let refuse = |what: &str| {
        Refusal::validation(format!(
            "blocks: \"{path}\" {what}: name a file in the task's folder, or give the part to show as excerpt"
        ))
    };
    let folder = folder
        .canonicalize()
        .map_err(|_| refuse("cannot be looked for, since the task has no folder"))?;
    let asked = Path::new(path);
    let beneath = asked.strip_prefix(&folder).unwrap_or(asked);
    let dir = Dir::open_ambient_dir(&folder, ambient_authority())
        .map_err(|_| refuse("cannot be looked for, since the task has no folder"))?;
    let mut options = OpenOptions::new();
    // A pipe that nobody writes to would keep us for ever.
    options.read(true).nonblock(true);
    let file = dir.open_with(beneath, &options).map_err(|error| {
        if error.kind() == std::io::ErrorKind::NotFound {
            refuse("is not there")
        } else {
            refuse("cannot be read, or leads out of the folder")
        }
    })?;
    let unread = |_| refuse("cannot be read");
    if !file.metadata().map_err(unread)?.is_file() {
        return Err(refuse("is no file"));
    }
    let mut bytes = Vec::new();
    file.take(MAX_EXCERPT as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(unread)?;
    Ok(excerpt_of(bytes))
}

#[cfg(test)]
mod tests {
    use super::read;
    use domain::error::ErrorCode;
    use domain::rich::MAX_EXCERPT;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_file_is_read_in_its_folder_and_nowhere_else() {
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("secret"), "secret").unwrap();
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("docs")).unwrap();
        fs::write(at("docs/report.md"), "All is well.").unwrap();
        symlink("docs/report.md", at("link")).unwrap();
        symlink(outside.path().join("secret"), at("leak")).unwrap();
        symlink(outside.path(), at("out")).unwrap();
        let text = Ok(Some(("All is well.".to_owned(), false)));
        let whole = at("docs/report.md").to_string_lossy().into_owned();
        for path in ["docs/report.md", "./docs/../docs/report.md", "link", &whole] {
            assert_eq!(read(folder.path(), path), text, "{path}");
        }
        let escapes = outside.path().join("secret").to_string_lossy().into_owned();
        let up = format!(
            "../{}/secret",
            outside.path().file_name().unwrap().to_string_lossy()
        );
        for path in [
            "leak",
            "out/secret",
            &escapes,
            &up,
            "/etc/passwd",
            "docs",
            "missing",
            "",
        ] {
            let refusal = read(folder.path(), path).unwrap_err();
            assert_eq!(refusal.code, ErrorCode::Validation, "{path}");
            assert!(!refusal.message.contains("root:"), "{refusal}");
        }
        assert!(read(&folder.path().join("gone"), "link").is_err());
    }

    #[test]
    fn a_long_file_is_cut_and_one_that_is_no_text_is_not_shown() {
        let folder = tempfile::tempdir().unwrap();
        let put = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).unwrap();
        put("long", "é".repeat(MAX_EXCERPT).as_bytes());
        let (text, more) = read(folder.path(), "long").unwrap().unwrap();
        assert!(more && text.len() <= MAX_EXCERPT && text.chars().all(|c| c == 'é'));
        put("picture", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR");
        assert_eq!(read(folder.path(), "picture"), Ok(None));
        put("empty", b"");
        assert_eq!(
            read(folder.path(), "empty"),
            Ok(Some((String::new(), false)))
        );
    }

    #[test]
    #[expect(
        clippy::disallowed_methods,
        reason = "it makes a pipe, is waited for and leaves nothing behind"
    )]
    fn a_pipe_keeps_nobody_waiting() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        let refusal = read(folder.path(), "pipe").unwrap_err();
        assert!(refusal.message.contains("is no file"), "{refusal}");
    }
}
