//! Tells the linker where memory is.
#![forbid(unsafe_code)]

fn main() {
    let folder = env!("CARGO_MANIFEST_DIR");
    println!("cargo:rustc-link-search={folder}");
    println!("cargo:rustc-link-arg-bins=-Tlink.x");
    println!("cargo:rustc-link-arg-bins=--nmagic");
    println!("cargo:rerun-if-changed=memory.x");
}
