//! Makes what users run: the site under `target/site` and the server's binary.

mod classes;
#[cfg(test)]
mod contrast;
mod css;
mod engine;
mod mend;
mod prune;
mod site;
mod split;
mod stylesheet;
mod wasm;

use std::fs::File;

use anyhow::{Context, Result};

use self::site::Size;
pub(crate) use self::wasm::Bundle;
use crate::{files, project, stage};

/// Builds the site and the server; `release` chooses the server's profile, the bundle is small either way.
pub(crate) fn all(release: bool) -> Result<()> {
    site(Bundle::Small)?;
    server(release)
}

/// The server's binary.
pub(crate) fn server(release: bool) -> Result<()> {
    let mut cargo = project::cargo("build");
    if release {
        cargo.args(["--package", "server", "--release"]);
    } else {
        // The selection of the tests: another one gives shared dependencies other features, and all of them compile anew.
        cargo.args(project::NATIVE);
    }
    cargo.args(["--bin", "flightdeck"]);
    stage::must("compile the server", &mut cargo)?;
    Ok(())
}

/// Checks every class of every view against the style sheet that would be made of them.
pub(crate) fn check_styles() -> Result<()> {
    css::stylesheet(&project::root()).map(drop)
}

/// Style sheet and bundle, published under `target/site`. Says how large they are.
pub(crate) fn site(bundle: Bundle) -> Result<()> {
    let root = project::root();
    let css = stage::work("style sheet", || css::stylesheet(&root))?;
    // For those who build with cargo-leptos, which looks for a style sheet at a fixed place.
    files::write_if_changed(&root.join("target/css/flightdeck.css"), css.as_bytes())?;
    let _alone = lock()?;
    let glue = wasm::bundle(bundle)?;
    let parts = site::Parts {
        public: &root.join("public"),
        css: &css,
        glue: &glue,
    };
    let sizes = site::publish(&project::site(), &parts, bundle == Bundle::Small)?;
    if bundle == Bundle::Small {
        print_sizes(&sizes);
    }
    Ok(())
}

/// Two builds at once would remove each other's files.
fn lock() -> Result<File> {
    let path = project::root().join("target/xtask-site.lock");
    std::fs::create_dir_all(project::root().join("target"))?;
    let file = File::create(&path).with_context(|| format!("creating {}", path.display()))?;
    file.lock()
        .with_context(|| format!("locking {}", path.display()))?;
    Ok(file)
}

fn print_sizes(sizes: &[(String, Size)]) {
    println!(
        "  {:<14} {:>10} {:>10} {:>10}",
        "kB", "raw", "gzip", "brotli"
    );
    let mut first = Size::default();
    for (name, size) in sizes {
        print_size(name, *size);
        if [site::JS, site::LINK, site::WASM].contains(&name.as_str()) {
            first = first.and(*size);
        }
    }
    print_size("first page", first);
}

fn print_size(name: &str, size: Size) {
    #[expect(clippy::cast_precision_loss, reason = "sizes are far below 2^52 bytes")]
    let [raw, gzip, brotli] = [size.raw, size.gzip, size.brotli].map(|bytes| bytes as f64 / 1000.0);
    println!("  {name:<14} {raw:>10.1} {gzip:>10.1} {brotli:>10.1}");
}
