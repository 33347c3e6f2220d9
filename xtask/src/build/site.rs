//! Publishes files under `target/site`, the folder the server serves.
//!
//! What changes with the code is in `pkg/` under a name that holds its content's hash, so it may be cached for ever;
//! beside each file lie its `.br` and `.gz`. Two small files say which names are current:
//!
//! - `manifest.json`, for our server: `{"css": "…", "js": "…", "wasm": "…"}`, names within `pkg/`;
//! - `hash.txt`, for leptos' own `HydrationScripts` (`js: <hash>`, one a line), the same truth in its format.
//!
//! They are written last, and what they no longer name is removed after that.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::wasm::{Glue, NAME};
use crate::{files, stage};

/// Sizes of one published file in bytes.
#[derive(Clone, Copy, Default)]
pub(crate) struct Size {
    pub(crate) raw: usize,
    /// Zero when it was not compressed.
    pub(crate) gzip: usize,
    pub(crate) brotli: usize,
}

/// What is to be published.
pub(crate) struct Parts<'a> {
    /// Folder of files that keep their names.
    pub(crate) public: &'a Path,
    pub(crate) css: &'a str,
    pub(crate) glue: &'a Glue,
}

/// Writes the site and gives the size of each kind of file. Without `compress` there are only the plain files.
pub(crate) fn publish(
    site: &Path,
    parts: &Parts<'_>,
    compress: bool,
) -> Result<[(&'static str, Size); 3]> {
    for file in files::all(parts.public)? {
        let bytes = std::fs::read(&file)?;
        files::write_if_changed(&site.join(files::shown(parts.public, &file)), &bytes)?;
    }
    let mut package = Package {
        folder: site.join("pkg"),
        compress,
        current: BTreeSet::new(),
    };
    for (name, bytes) in &parts.glue.snippets {
        package.write(name, bytes)?;
    }
    let mut manifest = serde_json::Map::new();
    let mut hashes = String::new();
    let mut sizes = [
        ("css", Size::default()),
        ("js", Size::default()),
        ("wasm", Size::default()),
    ];
    let contents = [parts.css.as_bytes(), &parts.glue.js, &parts.glue.wasm];
    for ((kind, size), bytes) in sizes.iter_mut().zip(contents) {
        let hash = files::hash(bytes);
        let name = format!("{NAME}.{hash}.{kind}");
        *size = package.write(Path::new(&name), bytes)?;
        hashes.push_str(&format!("{kind}: {hash}\n"));
        manifest.insert((*kind).to_owned(), name.into());
    }
    files::write_if_changed(&site.join("hash.txt"), hashes.as_bytes())?;
    let manifest = serde_json::to_vec_pretty(&manifest)?;
    files::write_if_changed(&site.join("manifest.json"), &manifest)?;
    package.remove_others()?;
    Ok(sizes)
}

/// The folder of files with hashes in their names.
struct Package {
    folder: PathBuf,
    compress: bool,
    /// Everything that belongs here.
    current: BTreeSet<PathBuf>,
}

impl Package {
    /// Writes `bytes` as `name` with both compressed forms, each only when it is not there yet.
    fn write(&mut self, name: &Path, bytes: &[u8]) -> Result<Size> {
        let file = self.folder.join(name);
        let with = |end: &str| PathBuf::from(format!("{}.{end}", file.display()));
        let (gzip, brotli) = (with("gz"), with("br"));
        let is_new = files::write_if_changed(&file, bytes)?;
        self.current.insert(file);
        let mut size = Size {
            raw: bytes.len(),
            ..Size::default()
        };
        if self.compress {
            if is_new || !gzip.exists() || !brotli.exists() {
                stage::work(&format!("compress {}", name.display()), || {
                    files::write_if_changed(&gzip, &gzipped(bytes)?)?;
                    files::write_if_changed(&brotli, &brotlied(bytes)?)
                })?;
            }
            size.gzip = usize::try_from(std::fs::metadata(&gzip)?.len())?;
            size.brotli = usize::try_from(std::fs::metadata(&brotli)?.len())?;
            self.current.extend([gzip, brotli]);
        }
        Ok(size)
    }

    fn remove_others(&self) -> Result<()> {
        for file in files::all(&self.folder)? {
            if !self.current.contains(&file) {
                std::fs::remove_file(&file)
                    .with_context(|| format!("removing {}", file.display()))?;
            }
        }
        Ok(())
    }
}

fn gzipped(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes)?;
    Ok(encoder.finish()?)
}

fn brotlied(bytes: &[u8]) -> Result<Vec<u8>> {
    let params = brotli::enc::BrotliEncoderParams {
        quality: 11,
        lgwin: 22,
        size_hint: bytes.len(),
        ..Default::default()
    };
    let mut out = Vec::new();
    brotli::BrotliCompress(&mut &bytes[..], &mut out, &params)?;
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn glue(js: &str) -> Glue {
        Glue {
            js: js.into(),
            wasm: b"wasm".repeat(100),
            snippets: vec![("snippets/one/inline.js".into(), b"export {}".to_vec())],
        }
    }

    fn names(folder: &Path) -> Vec<String> {
        let found = files::all(folder).unwrap();
        found
            .iter()
            .map(|file| files::shown(folder, file).display().to_string())
            .collect()
    }

    #[test]
    fn the_manifest_names_files_that_exist_and_old_ones_go() {
        let folder = tempfile::tempdir().unwrap();
        let (site, public) = (folder.path().join("site"), folder.path().join("public"));
        files::write_if_changed(&public.join("favicon.svg"), b"<svg/>").unwrap();
        let publish = |js: &str, compress| {
            let parts = Parts {
                public: &public,
                css: "a{}",
                glue: &glue(js),
            };
            publish(&site, &parts, compress).unwrap()
        };
        publish("old", true);
        let before = names(&site.join("pkg"));
        let [_, _, (_, wasm)] = publish("new", true);
        let after = names(&site.join("pkg"));

        let manifest: serde_json::Value =
            serde_json::from_slice(&std::fs::read(site.join("manifest.json")).unwrap()).unwrap();
        for kind in ["css", "js", "wasm"] {
            let name = manifest[kind].as_str().unwrap();
            for end in ["", ".gz", ".br"] {
                assert!(after.contains(&format!("{name}{end}")), "{name}{end}");
            }
        }
        assert_eq!(before.len(), after.len(), "old files stayed: {after:?}");
        assert_ne!(before, after);
        assert!(after.contains(&"snippets/one/inline.js".to_owned()));
        assert!(site.join("favicon.svg").exists());
        assert!(wasm.raw == 400 && wasm.gzip < 400 && wasm.brotli < wasm.gzip);

        // A quick build leaves no compressed file of an earlier one to be served in its place.
        publish("new", false);
        assert_eq!(names(&site.join("pkg")).len(), 4);
    }

    #[test]
    fn compressed_files_hold_the_same_bytes() {
        let text = b"the same bytes ".repeat(50);
        let mut back = Vec::new();
        std::io::Read::read_to_end(
            &mut flate2::read::GzDecoder::new(&gzipped(&text).unwrap()[..]),
            &mut back,
        )
        .unwrap();
        assert_eq!(back, text);
        let mut back = Vec::new();
        brotli::BrotliDecompress(&mut &brotlied(&text).unwrap()[..], &mut back).unwrap();
        assert_eq!(back, text);
    }
}
