//! Miri over tests of the portable crates without std: what is undefined behaviour there, and
//! leaks.
//!
//! Argon2, ML-KEM, signatures and long streams take minutes under an interpreter. Tests are chosen
//! by name; the long form runs more of them.

use core::time::Duration;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use super::{Count, Place, output_of, tests_in};

/// Pinned, so that a new compiler does not fail an old tree. It needs miri and rust-src.
pub(crate) const NIGHTLY: &str = "nightly-2026-05-20";

const SHORT: Duration = Duration::from_secs(400);
const LONG: Duration = Duration::from_secs(600);

/// Tests of one package whose names contain one of the words.
struct Part {
    package: &'static str,
    /// Added to none: the default ones have std.
    features: &'static str,
    short: &'static [&'static str],
    /// Besides the short ones.
    long: &'static [&'static str],
}

const PARTS: &[Part] = &[
    Part {
        package: "endseal-crypto",
        features: "alloc",
        short: &[
            "high::secret",
            "low::wipe",
            "low::limbs25519",
            "mid::label",
            "high::random",
            "base64::tests::published",
        ],
        long: &["high::key_wrap", "segment::tests::within", "base64::tests::pieces"],
    },
    Part {
        package: "endseal-codec",
        features: "",
        short: &["crc32c", "metadata", "rich", "wire::reader"],
        long: &["wire::utf8::tests::characters"],
    },
    Part {
        package: "endseal-keyring",
        features: "",
        short: &["numerals", "bip_350", "bech32_without_m", "padding_must", "name::"],
        long: &["identity_text"],
    },
    Part { package: "endseal-envelope", features: "", short: &["prelude"], long: &[] },
];

pub(super) fn short(place: &Place<'_>) -> Result<Count, String> {
    run(place.root, SHORT, |part| part.short.to_vec())
}

/// All chosen tests, within ten minutes.
pub(crate) fn long(root: &Path) -> Result<Count, String> {
    run(root, LONG, |part| [part.short, part.long].concat())
}

/// The clock ends what takes longer; tests that were done until then count.
fn run(
    root: &Path,
    limit: Duration,
    names: fn(&Part) -> Vec<&'static str>,
) -> Result<Count, String> {
    let end = Instant::now() + limit;
    let mut sum = Count { done: 0, what: "tests".to_owned(), failures: 0 };
    for part in PARTS {
        let left = end.saturating_duration_since(Instant::now()).as_secs();
        let words = format!(
            "--kill-after=5 {left} cargo +{NIGHTLY} miri test --package {} --lib --no-default-features \
             --features={} --locked --",
            part.package, part.features
        );
        let output = output_of(
            Command::new("timeout")
                .args(words.split(' '))
                .args(names(part))
                .current_dir(root)
                .env("MIRIFLAGS", "-Zmiri-disable-isolation")
                // The compiler of the workspace would be taken for cargo's.
                .env_remove("RUSTUP_TOOLCHAIN"),
        )?;
        let count = tests_in(&output).or_else(|| passed_in(&output));
        let count = count.ok_or_else(|| format!("{}:\n{output}", part.package))?;
        if count.failures > 0 || output.contains("Undefined Behavior") {
            println!("{output}");
            sum.failures += count.failures.max(1);
        }
        if count.done == 0 {
            return Err(format!(
                "{}: no test has such a name, or time was too short",
                part.package
            ));
        }
        sum.done += count.done;
    }
    Ok(sum)
}

/// Tests that ended before the clock did.
fn passed_in(output: &str) -> Option<Count> {
    let done = output.lines().filter(|line| line.ends_with("... ok")).count();
    let stopped = done > 0 && !output.contains("error:");
    stopped.then(|| Count { done, what: "tests".to_owned(), failures: 0 })
}
