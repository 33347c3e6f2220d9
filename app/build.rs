//! Turns the message catalogues in `locales/` into the module that `app::i18n` includes.
//!
//! `en` is what people write; `en-XA` is made from it (see `i18n::pseudo`) and shows copy that never reached the catalogue.
//! A key that one of them lacks, or a value that only one of them has, is a warning or an error of the build.

use leptos_i18n_parser::parse_locales::options::{Config, ParseOptions};
use leptos_i18n_parser::parse_locales::parse_locales;
use std::error::Error;
use std::path::PathBuf;

const NAMESPACES: [&str; 19] = [
    "account",
    "common",
    "shell",
    "task",
    "chat",
    "question",
    "error",
    "keys",
    "time",
    "board",
    "queue",
    "taskpage",
    "plan",
    "paper",
    "job",
    "run",
    "assistant",
    "settings",
    "repository",
];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=locales");
    let config = Config::new("en")?
        .add_locale("en-XA")?
        .add_namespaces(NAMESPACES)?
        // Sentences with values are used in attributes too, so they must come as strings and not only as views.
        .parse_options(ParseOptions::new().interpolate_display(true));
    let catalogue = parse_locales(None, config)?;
    catalogue
        .diag
        .warnings()
        .iter()
        .for_each(|warning| println!("cargo::warning={warning}"));
    catalogue
        .diag
        .errors()
        .iter()
        .for_each(|error| println!("cargo::error={error}"));
    let module = leptos_i18n_codegen::gen_code(&catalogue, None, false, None, false)?;
    let target =
        PathBuf::from(std::env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR")?).join("i18n.rs");
    std::fs::write(target, module.to_string())?;
    Ok(())
}
