//! Tells the linker to pack relative relocations (RELR), where programs will run that can read them.
//!
//! A position-independent program of this size has 40,000 of them, 1 MB in the plain form. The loader reads
//! all of it, and it stays in the memory of a server such as `endseal s3 serve`. Packed they are some KB.
//! glibc reads that form from 2.36 on. A program needs the glibc that it was built with, or a newer one, so
//! the one here decides; `ENDSEAL_PLAIN_RELOCATIONS=1` keeps the plain form, for older ones.

use std::env::var;
use std::process::Command;

/// The first glibc that reads packed relocations.
const SINCE: (u32, u32) = (2, 36);

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=ENDSEAL_PLAIN_RELOCATIONS");
    let is_glibc = ["linux", "gnu"]
        == ["CARGO_CFG_TARGET_OS", "CARGO_CFG_TARGET_ENV"]
            .map(|name| var(name).unwrap_or_default())[..];
    let is_native = var("HOST") == var("TARGET");
    let is_unwanted = var("ENDSEAL_PLAIN_RELOCATIONS").is_ok_and(|value| value == "1");
    if is_glibc && is_native && !is_unwanted && glibc().is_some_and(|version| version >= SINCE) {
        // Linkers that do not know it say so and go on.
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// The version that `getconf` tells: `glibc 2.36`.
fn glibc() -> Option<(u32, u32)> {
    let output = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let (major, minor) = text.trim().strip_prefix("glibc ")?.split_once('.')?;
    let minor = minor.split('.').next()?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
