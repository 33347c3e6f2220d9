//! Publishes files under `target/site`, the folder the server serves.
//!
//! What changes with the code is in `pkg/` under a name that holds its content's hash, so it may be cached for ever;
//! beside each file lie its `.br` and `.gz`. Two small files say which names are current:
//!
//! - `manifest.json`, for our server: `{"css": "…", "js": "…", "wasm": "…", "link": "…", "parts": {"…": ["…"]}}`, names
//!   within `pkg/`: style sheet, glue, main module, the script that loads the other modules, and which of these a part needs;
//! - `hash.txt`, for leptos' own `HydrationScripts` (`js: <hash>`, one a line), the same truth in its format.
//!
//! They are written last, and what they no longer name is removed after that.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::split;
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

impl Size {
    pub(crate) const fn and(self, other: Self) -> Self {
        Self {
            raw: self.raw + other.raw,
            gzip: self.gzip + other.gzip,
            brotli: self.brotli + other.brotli,
        }
    }
}

/// What is to be published.
pub(crate) struct Parts<'a> {
    /// Folder of files that keep their names.
    pub(crate) public: &'a Path,
    pub(crate) css: &'a str,
    pub(crate) glue: &'a Glue,
}

/// Writes the site and gives the size of each file by what it is. Without `compress` there are only the plain files.
pub(crate) fn publish(
    site: &Path,
    parts: &Parts<'_>,
    compress: bool,
) -> Result<Vec<(String, Size)>> {
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
    let named = Named::new(parts.glue)?;
    let mut sizes = Vec::new();
    let mut names = BTreeMap::new();
    let css = parts.css.as_bytes();
    let contents: [(&str, String, &[u8]); 4] = [
        (CSS, hashed(css, "css"), css),
        (JS, hashed(named.js.as_bytes(), "js"), named.js.as_bytes()),
        (LINK, named.link_name.clone(), named.link.as_bytes()),
        (WASM, hashed(&parts.glue.wasm, "wasm"), &parts.glue.wasm),
    ];
    let modules = parts.glue.modules.iter().map(|(module, bytes)| {
        (
            module.as_str(),
            named.modules[module].clone(),
            bytes.as_slice(),
        )
    });
    for (what, name, bytes) in contents.into_iter().chain(modules) {
        sizes.push((what.to_owned(), package.write(Path::new(&name), bytes)?));
        names.insert(what, name);
    }
    let needed: BTreeMap<&str, Vec<&str>> = parts
        .glue
        .parts
        .iter()
        .map(|(part, modules)| {
            let files = modules.iter().map(|module| named.modules[module].as_str());
            (part.as_str(), files.collect())
        })
        .collect();
    let manifest = serde_json::json!({
        CSS: names[CSS], JS: names[JS], WASM: names[WASM], LINK: names[LINK], "parts": needed,
    });
    let hashes = [CSS, JS, WASM].map(|kind| {
        // The name is ours: `flightdeck.<hash>.<kind>`.
        let hash = names[kind].split('.').nth(1).unwrap_or_default();
        format!("{kind}: {hash}\n")
    });
    files::write_if_changed(&site.join("hash.txt"), hashes.concat().as_bytes())?;
    files::write_if_changed(
        &site.join("manifest.json"),
        &serde_json::to_vec_pretty(&manifest)?,
    )?;
    package.remove_others()?;
    Ok(sizes)
}

/// What the files of a bundle are called in the manifest.
pub(crate) const CSS: &str = "css";
pub(crate) const JS: &str = "js";
pub(crate) const WASM: &str = "wasm";
pub(crate) const LINK: &str = "link";

fn hashed(bytes: &[u8], end: &str) -> String {
    format!("{NAME}.{}.{end}", files::hash(bytes))
}

/// The scripts of a bundle, with the names under which its files are published.
struct Named {
    js: String,
    link: String,
    link_name: String,
    modules: BTreeMap<String, String>,
}

impl Named {
    /// Glue and link import one another, so neither name can hold the hash of the other's final text: the link's stands for
    /// everything that it could be used with.
    fn new(glue: &Glue) -> Result<Self> {
        let mut link = glue.link.clone();
        let mut modules = BTreeMap::new();
        for (module, bytes) in &glue.modules {
            let name = hashed(bytes, &format!("{module}.wasm"));
            replace(
                &mut link,
                &format!("\"./{module}.wasm\""),
                &format!("\"./{name}\""),
            )?;
            modules.insert(module.clone(), name);
        }
        let all = [link.as_bytes(), glue.js.as_bytes(), &glue.wasm].concat();
        let link_name = hashed(&all, "link.js");
        let mut js = glue.js.clone();
        // Only where it is imported from: the same words are the module's own name for it.
        let from = |name: &str| format!("from \"./{name}\"");
        replace(&mut js, &from(split::LINK), &from(&link_name))?;
        let glue_name = hashed(js.as_bytes(), "js");
        replace(&mut link, &from(&format!("{NAME}.js")), &from(&glue_name))?;
        Ok(Self {
            js,
            link,
            link_name,
            modules,
        })
    }
}

/// Replaces what must be there.
fn replace(text: &mut String, old: &str, new: &str) -> Result<()> {
    ensure!(
        text.contains(old),
        "a script of the bundle has no `{old}`: its makers have changed, and xtask/src/build/site.rs must follow"
    );
    *text = text.replace(old, new);
    Ok(())
}

/// Bytes from which the compression of a file is a step of its own.
const WORTH_A_LINE: usize = 100_000;

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
                let forms = || {
                    files::write_if_changed(&gzip, &gzipped(bytes)?)?;
                    files::write_if_changed(&brotli, &brotlied(bytes)?)
                };
                // The many small modules take no time and would only hide what does.
                if bytes.len() < WORTH_A_LINE {
                    forms()?;
                } else {
                    stage::work(&format!("compress {}", name.display()), forms)?;
                }
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
            js: format!("import * as link from \"./link.js\"; const name = \"./link.js\"; // {js}"),
            wasm: b"wasm".repeat(100),
            link: "import { initSync } from \"./flightdeck.js\"; load(\"./split_task.wasm\")"
                .into(),
            modules: vec![("split_task".into(), b"task".repeat(100))],
            parts: [("task".into(), vec!["split_task".into()])].into(),
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
        let sizes = publish("new", true);
        let after = names(&site.join("pkg"));

        let manifest: serde_json::Value =
            serde_json::from_slice(&std::fs::read(site.join("manifest.json")).unwrap()).unwrap();
        let text = |at: &str| manifest.pointer(at).unwrap().as_str().unwrap();
        let module = text("/parts/task/0");
        for name in [
            text("/css"),
            text("/js"),
            text("/wasm"),
            text("/link"),
            module,
        ] {
            for end in ["", ".gz", ".br"] {
                assert!(after.contains(&format!("{name}{end}")), "{name}{end}");
            }
        }
        // Each script names the others as they are published, and glue and module agree on what the link is called.
        let script = |at| files::read(&site.join("pkg").join(text(at))).unwrap();
        assert!(script("/js").contains(&format!("from \"./{}\"", text("/link"))));
        assert!(script("/js").contains("const name = \"./link.js\""));
        assert!(script("/link").contains(&format!("from \"./{}\"", text("/js"))));
        assert!(script("/link").contains(&format!("load(\"./{module}\")")));
        assert_eq!(before.len(), after.len(), "old files stayed: {after:?}");
        assert_ne!(before, after);
        assert!(after.contains(&"snippets/one/inline.js".to_owned()));
        assert!(site.join("favicon.svg").exists());
        let (_, wasm) = sizes.iter().find(|(what, _)| what == WASM).unwrap();
        assert!(wasm.raw == 400 && wasm.gzip < 400 && wasm.brotli < wasm.gzip);

        // A quick build leaves no compressed file of an earlier one to be served in its place.
        publish("new", false);
        assert_eq!(names(&site.join("pkg")).len(), 6);
    }

    #[test]
    fn a_link_that_loads_something_else_is_an_error() {
        let mut glue = glue("");
        glue.link = glue.link.replace("split_task", "split_job");
        assert!(Named::new(&glue).is_err());
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
