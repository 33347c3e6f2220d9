//! Where the browser's half lies: paths of the style sheet and of the WASM bundle, as the build named them.

use crate::parts::Part;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Absolute paths. The server puts one into the context of every page it renders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assets {
    /// The one style sheet.
    pub css: Arc<str>,
    /// The glue module that loads the bundle.
    pub js: Arc<str>,
    /// The bundle itself, named to the browser early so that it comes in parallel with the glue.
    pub wasm: Arc<str>,
    /// The script that loads parts. The glue imports it.
    pub link: Arc<str>,
    /// The modules of each part, by its name.
    pub parts: Arc<BTreeMap<String, Vec<String>>>,
}

impl Assets {
    /// The modules that the page at this path is made by, besides the bundle.
    pub fn modules_of(&self, path: &str) -> impl Iterator<Item = &str> {
        let modules = Part::of_path(path).and_then(|part| self.parts.get(part.name()));
        modules.into_iter().flatten().map(String::as_str)
    }
}

impl Default for Assets {
    /// The names a build without content hashes uses.
    fn default() -> Self {
        Self {
            css: "/pkg/flightdeck.css".into(),
            js: "/pkg/flightdeck.js".into(),
            wasm: "/pkg/flightdeck_bg.wasm".into(),
            link: "/pkg/link.js".into(),
            parts: Arc::default(),
        }
    }
}
