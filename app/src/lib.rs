//! What the operator sees.
//!
//! - `pages` are made of `components`, read and write through `api`, and stay current through `live`.
//! - [`shell`] is the document around them, on the server.
//! - One feature decides the side: `ssr` in the server, `hydrate` in the browser. Code is the same on both wherever it can be; what
//!   runs only in the browser stands in effects and event handlers, which the server never runs.

#![recursion_limit = "256"]

// The bundle takes over only what a server of the same kind has rendered.
#[cfg(not(erase_components))]
compile_error!(
    "the flags of .cargo/config.toml are missing, most likely because RUSTFLAGS is set: add `--cfg erase_components` to it"
);

pub mod api;
pub mod assets;
pub mod carried;
pub mod clock;
pub mod components;
pub mod error;
pub mod faults;
#[cfg(feature = "gallery")]
pub mod gallery;
pub mod i18n;
pub mod keys;
pub mod lazy;
pub mod live;
#[cfg(feature = "ssr")]
pub mod markdown;
pub mod need;
pub mod order;
pub mod parts;
pub mod paths;
pub mod prefs;
#[cfg(feature = "ssr")]
pub mod rich;
#[cfg(feature = "ssr")]
pub mod shell;
#[cfg(feature = "ssr")]
pub mod sign_in;
pub mod title;
pub mod viewport;

pub mod pages;

mod app;

pub use app::*;
