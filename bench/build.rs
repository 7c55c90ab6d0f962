//! Passes the link-time optimisation that this program is built with to the code, because figures
//! with and without it cannot be compared. Cargo does not expose that setting to a build script. It
//! exposes debug information, which of the optimised profiles only `bench` has, and it names the
//! target folder of other profiles after them.

use std::env;
use std::path::Path;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    for name in ["RELEASE", "BENCH", "DIST"] {
        println!("cargo::rerun-if-env-changed=CARGO_PROFILE_{name}_LTO");
    }
    println!("cargo::rustc-env=ENDSEAL_BENCH_LTO={}", lto());
}

fn lto() -> String {
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|found| found == value);
    let out = env::var_os("OUT_DIR").unwrap_or_default();
    let folder = |name: &str| Path::new(&out).components().any(|part| part.as_os_str() == name);
    let (profile, given) = match () {
        () if folder("dist") => ("DIST", "fat"),
        () if is("PROFILE", "release") && is("DEBUG", "true") => ("BENCH", "thin"),
        () if is("PROFILE", "release") => ("RELEASE", "off"),
        () => return "off".into(),
    };
    // An environment variable that overrides the manifest.
    match env::var(format!("CARGO_PROFILE_{profile}_LTO")).as_deref() {
        Ok("true" | "fat") => "fat".into(),
        Ok("thin") => "thin".into(),
        Ok(_) => "off".into(),
        Err(_) => given.into(),
    }
}
