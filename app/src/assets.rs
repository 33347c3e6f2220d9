//! Where the browser's half lies: paths of the style sheet and of the WASM bundle, as the build named them.

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
}

impl Default for Assets {
    /// The names a build without content hashes uses.
    fn default() -> Self {
        Self {
            css: "/pkg/flightdeck.css".into(),
            js: "/pkg/flightdeck.js".into(),
            wasm: "/pkg/flightdeck_bg.wasm".into(),
        }
    }
}
