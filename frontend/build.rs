//! Keeps what the splitter reads: where the code refers to what.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-link-arg-cdylib=--emit-relocs");
}
