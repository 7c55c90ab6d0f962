//! Tells the linker what a server's memory gains by, where linkers and programs can do it.
//!
//! Relative relocations are packed (RELR), where programs will run that can read them.
//! A position-independent program of this size has 40,000 of them, 1 MB in the plain form. The loader reads
//! all of it, and it stays in the memory of a server such as `endseal s3 serve`. Packed they are some KB.
//! glibc reads that form from 2.36 on. A program needs the glibc that it was built with, or a newer one, so
//! the one here decides; `ENDSEAL_PLAIN_RELOCATIONS=1` keeps the plain form, for older ones.
//!
//! Functions that run in `endseal s3 serve` lie side by side (`served.ld`, which `tests/s3/layout` writes),
//! in optimised programs: 1.5 MB of 21 that were in 100 places, around each of which the kernel maps 64 KB. Linkers
//! that somebody has chosen may not know `INSERT`, so only the usual one is told; `ENDSEAL_PLAIN_LAYOUT=1`
//! leaves functions where they are.

use std::env::var;
use std::process::Command;

/// The first glibc that reads packed relocations.
const SINCE: (u32, u32) = (2, 36);

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=served.ld");
    println!("cargo::rerun-if-env-changed=ENDSEAL_PLAIN_RELOCATIONS");
    println!("cargo::rerun-if-env-changed=ENDSEAL_PLAIN_LAYOUT");
    let is_glibc =
        ["linux", "gnu"] == ["CARGO_CFG_TARGET_OS", "CARGO_CFG_TARGET_ENV"].map(text)[..];
    if !is_glibc || text("HOST") != text("TARGET") {
        return;
    }
    if text("ENDSEAL_PLAIN_RELOCATIONS") != "1" && glibc().is_some_and(|version| version >= SINCE) {
        // Linkers that do not know it say so and go on.
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
    let is_optimised = text("PROFILE") == "release" && text("CARGO_CFG_TARGET_ARCH") == "x86_64";
    if text("ENDSEAL_PLAIN_LAYOUT") != "1" && is_optimised && is_usual_linker() {
        let folder = text("CARGO_MANIFEST_DIR");
        println!("cargo::rustc-link-arg-bins=-Wl,-T,{folder}/served.ld");
    }
}

/// A variable of the environment; empty where there is none.
fn text(name: &str) -> String {
    var(name).unwrap_or_default()
}

/// Whether rustc takes the linker that it would take by itself: LLD since 1.90, GNU ld before.
fn is_usual_linker() -> bool {
    let flags = text("CARGO_ENCODED_RUSTFLAGS");
    // `-C linker=…`, `-C linker-flavor=…`, `-C link-arg=-fuse-ld=…`
    let is_chosen = flags.contains("linker") || flags.contains("fuse-ld");
    !is_chosen && text("RUSTC_LINKER").is_empty()
}

/// The version that `getconf` tells: `glibc 2.36`.
fn glibc() -> Option<(u32, u32)> {
    let output = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let (major, minor) = text.trim().strip_prefix("glibc ")?.split_once('.')?;
    let minor = minor.split('.').next()?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
