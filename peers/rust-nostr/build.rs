//! Passes the compiler's version to the program.

#[path = "../rust/rustc.rs"]
mod rustc;

fn main() {
    rustc::tell();
    println!("cargo::rerun-if-changed=build.rs");
}
