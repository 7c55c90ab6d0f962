//! Tells the compiler's version.

#[path = "../rust/rustc.rs"]
mod rustc;

fn main() {
    rustc::tell();
    println!("cargo::rerun-if-changed=build.rs");
}
