//! Names the shared library after the version of its interface.
#![forbid(unsafe_code)]

fn main() {
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libendseal.so.1");
    }
    println!("cargo::rerun-if-changed=build.rs");
}
