//! Passes the target's memory layout to the linker by an absolute path, which is valid in every
//! folder.

use std::env;

fn main() {
    let of = |name: &str| env::var(name).unwrap_or_default();
    let script = format!("{}/link/{}.ld", of("CARGO_MANIFEST_DIR"), of("CARGO_CFG_TARGET_ARCH"));
    println!("cargo:rustc-link-arg=-T{script}");
    println!("cargo:rerun-if-changed={script}");
}
