//! The files of the browser's half, as `cargo xtask build` publishes them.
//!
//! `manifest.json` says under which names the current build lies in `pkg/`. Those names hold a hash of the content, so they may
//! be kept for ever; beside each file lie its compressed forms.

use app::assets::Assets;
use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::header::CACHE_CONTROL;
use http::request::Parts;
use http::{HeaderValue, Method, Request};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tower::ServiceExt;
use tower_http::services::ServeDir;

const MANIFEST: &str = "manifest.json";
/// Where the browser finds what changes with the code.
const PKG: &str = "/pkg/";

/// The files that browsers load.
#[derive(Debug)]
pub struct Site {
    files: Option<ServeDir>,
    assets: Assets,
}

/// Names within `pkg/`.
#[derive(Deserialize)]
struct Manifest {
    css: String,
    js: String,
    wasm: String,
    /// Loads the other modules.
    link: String,
    /// Which of these each part of the app needs.
    parts: BTreeMap<String, Vec<String>>,
}

impl Site {
    /// Looks for the site in `folder`, or else beside the program and in `target/site`.
    ///
    /// Without one the pages still come, readable but unstyled; the log says what to do.
    #[must_use]
    pub fn open(folder: Option<PathBuf>) -> Self {
        let places = match folder {
            Some(folder) => vec![folder],
            None => usual_places(),
        };
        for place in &places {
            match read(place) {
                Ok(assets) => {
                    tracing::debug!(folder = %place.display(), "the web app's files");
                    return Self {
                        files: Some(
                            ServeDir::new(place)
                                .append_index_html_on_directories(false)
                                .precompressed_br()
                                .precompressed_gzip(),
                        ),
                        assets,
                    };
                }
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => {
                    tracing::warn!(folder = %place.display(), %error, "the web app's files cannot be used");
                }
            }
        }
        tracing::warn!(
            "the web app's files were not found: build them with `cargo xtask build`, or name their folder with --site-dir"
        );
        Self {
            files: None,
            assets: Assets::default(),
        }
    }

    /// The names of the current build.
    #[must_use]
    pub const fn assets(&self) -> &Assets {
        &self.assets
    }

    /// The file that was asked for; `None` when there is none.
    pub async fn file(&self, request: &Parts) -> Option<Response> {
        if !matches!(request.method, Method::GET | Method::HEAD) {
            return None;
        }
        let files = self.files.clone()?;
        let mut wanted = Request::new(Body::empty());
        *wanted.method_mut() = request.method.clone();
        *wanted.uri_mut() = request.uri.clone();
        *wanted.headers_mut() = request.headers.clone();
        // The service does not fail; what it cannot read it answers with an error status.
        let mut response = files.oneshot(wanted).await.ok()?.into_response();
        if response.status().is_client_error() || response.status().is_server_error() {
            return None;
        }
        let cache = if request.uri.path().starts_with(PKG) {
            "public, max-age=31536000, immutable"
        } else {
            "no-cache"
        };
        response
            .headers_mut()
            .insert(CACHE_CONTROL, HeaderValue::from_static(cache));
        Some(response)
    }
}

fn read(folder: &Path) -> std::io::Result<Assets> {
    let text = std::fs::read_to_string(folder.join(MANIFEST))?;
    let manifest: Manifest = serde_json::from_str(&text)?;
    let address = |name: &str| format!("{PKG}{name}");
    let parts = manifest.parts.into_iter().map(|(part, modules)| {
        let modules = modules.iter().map(|module| address(module));
        (part, modules.collect())
    });
    Ok(Assets {
        css: address(&manifest.css).into(),
        js: address(&manifest.js).into(),
        wasm: address(&manifest.wasm).into(),
        link: address(&manifest.link).into(),
        parts: Arc::new(parts.collect()),
    })
}

/// Beside an installed program; beside `release/` or `debug/`; below the project's folder.
fn usual_places() -> Vec<PathBuf> {
    let exe = std::env::current_exe().ok();
    let beside = exe.as_deref().and_then(Path::parent);
    let mut places = Vec::new();
    if let Some(folder) = beside {
        places.push(folder.join("site"));
        if let Some(above) = folder.parent() {
            places.push(above.join("site"));
        }
    }
    places.push(PathBuf::from("target/site"));
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(path: &str, encoding: Option<&str>) -> Parts {
        let mut request = Request::get(path);
        if let Some(encoding) = encoding {
            request = request.header("accept-encoding", encoding);
        }
        request.body(()).unwrap().into_parts().0
    }

    #[tokio::test]
    async fn hashed_files_are_kept_for_ever_and_come_compressed() {
        let folder = tempfile::tempdir().unwrap();
        let pkg = folder.path().join("pkg");
        std::fs::create_dir(&pkg).unwrap();
        std::fs::write(
            folder.path().join(MANIFEST),
            r#"{"css":"a.1.css","js":"a.2.js","wasm":"a.3.wasm","link":"a.4.js","parts":{"inbox":["a.5.wasm"]}}"#,
        )
        .unwrap();
        std::fs::write(pkg.join("a.1.css"), "plain").unwrap();
        std::fs::write(pkg.join("a.1.css.br"), "squeezed").unwrap();
        std::fs::write(folder.path().join("favicon.svg"), "<svg/>").unwrap();
        let site = Site::open(Some(folder.path().to_owned()));
        assert_eq!(&*site.assets().css, "/pkg/a.1.css");
        let modules = |path| site.assets().modules_of(path).collect::<Vec<_>>();
        assert_eq!(modules("/inbox"), ["/pkg/a.5.wasm"]);
        assert!(modules("/").is_empty());

        let css = site
            .file(&parts("/pkg/a.1.css", Some("br, gzip")))
            .await
            .unwrap();
        assert_eq!(css.headers()["content-encoding"], "br");
        assert!(
            css.headers()[CACHE_CONTROL]
                .to_str()
                .unwrap()
                .contains("immutable")
        );
        let icon = site.file(&parts("/favicon.svg", None)).await.unwrap();
        assert_eq!(icon.headers()[CACHE_CONTROL], "no-cache");
        for missing in ["/pkg/a.9.css", "/pkg", "/", "/../Cargo.toml", "/%2e%2e/x"] {
            assert!(
                site.file(&parts(missing, None)).await.is_none(),
                "{missing}"
            );
        }
    }
}
