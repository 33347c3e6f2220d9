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
pub(crate) struct Size {
    pub(crate) name: &'static str,
    pub(crate) raw: usize,
    pub(crate) gzip: usize,
    pub(crate) brotli: usize,
}

/// Writes the site and gives the sizes of its parts.
pub(crate) fn publish(site: &Path, public: &Path, css: &str, glue: &Glue) -> Result<Vec<Size>> {
    for file in files::all(public)? {
        let bytes = std::fs::read(&file)?;
        files::write_if_changed(&site.join(files::shown(public, &file)), &bytes)?;
    }
    let pkg = site.join("pkg");
    let parts: [(&str, &[u8]); 3] = [
        ("css", css.as_bytes()),
        ("js", &glue.js),
        ("wasm", &glue.wasm),
    ];
    let mut current: BTreeSet<PathBuf> = BTreeSet::new();
    let mut manifest = serde_json::Map::new();
    let mut hashes = String::new();
    let mut sizes = Vec::new();
    for (kind, bytes) in parts {
        let hash = files::hash(bytes);
        let name = format!("{NAME}.{hash}.{kind}");
        hashes.push_str(&format!("{kind}: {hash}\n"));
        sizes.push(write_compressed(
            &pkg,
            Path::new(&name),
            bytes,
            kind,
            &mut current,
        )?);
        manifest.insert(kind.to_owned(), name.into());
    }
    for (name, bytes) in &glue.snippets {
        write_compressed(&pkg, name, bytes, "snippet", &mut current)?;
    }
    files::write_if_changed(&site.join("hash.txt"), hashes.as_bytes())?;
    files::write_if_changed(
        &site.join("manifest.json"),
        &serde_json::to_vec_pretty(&manifest)?,
    )?;
    for file in files::all(&pkg)? {
        if !current.contains(&file) {
            std::fs::remove_file(&file).with_context(|| format!("removing {}", file.display()))?;
        }
    }
    Ok(sizes)
}

/// Writes `bytes` as `folder/name` with both compressed forms, each only when it is not there yet.
fn write_compressed(
    folder: &Path,
    name: &Path,
    bytes: &[u8],
    kind: &'static str,
    current: &mut BTreeSet<PathBuf>,
) -> Result<Size> {
    let file = folder.join(name);
    let with = |end: &str| PathBuf::from(format!("{}.{end}", file.display()));
    let (gzip, brotli) = (with("gz"), with("br"));
    if files::write_if_changed(&file, bytes)? || !gzip.exists() || !brotli.exists() {
        stage::work(&format!("compress {}", name.display()), || {
            files::write_if_changed(&gzip, &gzipped(bytes)?)?;
            files::write_if_changed(&brotli, &brotlied(bytes)?)?;
            Ok(())
        })?;
    }
    let length = |file: &Path| {
        std::fs::metadata(file).map(|data| usize::try_from(data.len()).unwrap_or(usize::MAX))
    };
    let size = Size {
        name: kind,
        raw: bytes.len(),
        gzip: length(&gzip)?,
        brotli: length(&brotli)?,
    };
    current.extend([file, gzip, brotli]);
    Ok(size)
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
        publish(&site, &public, "a{}", &glue("old")).unwrap();
        let before = names(&site.join("pkg"));
        let sizes = publish(&site, &public, "a{}", &glue("new")).unwrap();
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
        let wasm = sizes.iter().find(|size| size.name == "wasm").unwrap();
        assert!(wasm.raw == 400 && wasm.gzip < 400 && wasm.brotli < wasm.gzip);
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
