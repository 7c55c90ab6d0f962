//! The list of the nightly checks.

use std::fs;
use std::path::Path;

use crate::ci::{Job, cargo, program};
use crate::workspace;

/// Toolchain of cargo-fuzz and Miri, with the components miri and rust-src. It is pinned, so that a
/// new compiler does not fail an old tree.
const NIGHTLY: &str = "nightly-2026-05-20";
const FUZZ_TARGETS: &str = "fuzz/fuzz_targets";
/// Memory limit of a fuzz target. The limits of the formats keep memory small, so more is a fault.
const FUZZ_MEMORY_MB: u32 = 2048;
const BENCHMARK: &str = "{target}/release/endseal-bench";

/// One named check with its commands and its time limit.
pub(super) struct Check {
    pub(super) name: String,
    /// Time limit in minutes. A check that takes longer is ended and fails.
    pub(super) minutes: u64,
    pub(super) jobs: Vec<Job>,
}

/// Tests of one portable package under Miri, without std, chosen by words in their names: Argon2,
/// ML-KEM, signatures and long streams take hours under an interpreter.
struct Interpreted {
    package: &'static str,
    features: &'static str,
    words: &'static [&'static str],
}

const INTERPRETED: &[Interpreted] = &[
    Interpreted {
        package: "endseal-crypto",
        features: "alloc",
        words: &[
            "high::secret",
            "low::wipe",
            "low::limbs25519",
            "mid::label",
            "high::random",
            "base64::tests::published",
            "high::key_wrap",
            "segment::tests::within",
            "base64::tests::pieces",
            "bech32::tests",
        ],
    },
    Interpreted {
        package: "endseal-codec",
        features: "",
        words: &["crc32c", "metadata", "rich", "wire::reader", "wire::utf8::tests::characters"],
    },
    Interpreted {
        package: "endseal-keyring",
        features: "",
        words: &["numerals", "bech32m", "name::", "identity_text"],
    },
    Interpreted { package: "endseal-envelope", features: "", words: &["prelude"] },
];

/// Returns all checks, with `fuzz_minutes` for each fuzz target.
pub(super) fn all(root: &Path, fuzz_minutes: u64) -> Result<Vec<Check>, String> {
    let check = |name: &str, minutes, jobs| Check { name: name.to_owned(), minutes, jobs };
    let mut checks = vec![
        check("ignored tests", 60, vec![ignored_tests()]),
        check("packages by themselves", 60, packages(root)?),
        check("packages as they are published", 120, vec![published(root)?]),
        check("oldest compilers", 60, oldest_compilers(root)?),
        check("node: killed at every fsync", 60, released(&[NODE_KILLS])),
        check("node: all lives, and random ones", 120, released(&[NODE_LIVES, NODE_RANDOM])),
        check("node: attacks on the hub", 30, [released(&[]), attacks()].concat()),
        check("node: memory while a backlog drains", 30, released(&[NODE_DRAIN])),
        check("node: datagrams lost", 30, released(&[NODE_NET])),
        check("signer: all Nostr clients", 60, released(&[SIGNER])),
        check("s3: encrypted names", 30, released(&[S3_NAMES])),
        check("s3: all clients and servers", 60, released(&[S3_ALL])),
        check("s3: soak before MinIO", 40, released(&[S3_SOAK_MINIO])),
        check("s3: soak before versitygw", 40, released(&[S3_SOAK])),
        check("deploy: images, compose files and units", 60, released(&[DEPLOY])),
        check("bench: instructions of kernels", 20, bench(vec![program("xtask gate")])),
        check("bench: all suites", 40, bench(whole_bench())),
        check("bench: beside peers", 60, bench(bench_peers())),
        check("bench: two codecs of others", 20, vec![cargo(PEER_CODEC)]),
    ];
    checks.extend(INTERPRETED.iter().map(miri));
    for target in fuzz_targets(root)? {
        checks.push(fuzz(&target, fuzz_minutes));
    }
    Ok(checks)
}

const NODE_KILLS: &str = "tests/node/run --kill 0 --endseal {target}/release/endseal";
const NODE_LIVES: &str = "tests/node/run --lives --endseal {target}/release/endseal";
/// Runs wait more than they compute.
const NODE_RANDOM: &str =
    "tests/node/run --random 2000 --jobs 4 --endseal {target}/release/endseal";
const NODE_ATTACKS: &str = "tests/node/run --attack --endseal {target}/release/endseal";
const NODE_DRAIN: &str = "tests/node/run --drain --endseal {target}/release/endseal";
const NODE_NET: &str = "tests/node/run --net --endseal {target}/release/endseal";
const SIGNER: &str = "tests/nostr/run --all --signer-bin {target}/release/endseal";
const S3_NAMES: &str = "tests/s3/run --quick --names --proxy-bin {target}/release/endseal";
const S3_ALL: &str =
    "tests/s3/run --all --full --backend versitygw --minio --proxy-bin {target}/release/endseal";
const S3_SOAK_MINIO: &str = "tests/s3/run --soak 20 --minio --proxy-bin {target}/release/endseal";
const S3_SOAK: &str = "tests/s3/run --soak 20 --proxy-bin {target}/release/endseal";
const DEPLOY: &str = "deploy/test --endseal {target}/release/endseal";
/// Command with the number of messages, and of mutants of each: a difference between two readers
/// shows within the first hundreds.
const PEER_CODEC: &str =
    "run --release --locked --manifest-path peers/rust-codec/Cargo.toml -- agree 5000 20";

/// Tests that are marked `#[ignore]`, except those that need other projects' libraries or server:
/// the step `nostr` of `ci` runs the libraries' tests, and no check runs the server's.
fn ignored_tests() -> Job {
    cargo("test --workspace --locked -- --ignored --skip interop --skip openbao")
}

/// Tests each package on its own: a single call would unite all features and hide a missing one.
fn packages(root: &Path) -> Result<Vec<Job>, String> {
    let clippy = |name: String| {
        cargo(&format!("clippy --all-targets --locked --quiet --package {name} -- -D warnings"))
    };
    Ok(workspace::rows(root)?.into_iter().flat_map(|row| row.crates).map(clippy).collect())
}

/// Packs the published crates in their order. Cargo builds each package from its files and from the
/// packages before it, as a user of the registry would.
fn published(root: &Path) -> Result<Job, String> {
    let names = workspace::arguments(&workspace::published(root)?).join(" ");
    let job = cargo(&format!("package --locked --allow-dirty {names}"));
    Ok(job.with("CARGO_TARGET_DIR", "{target}/published"))
}

/// Compiles the published crates with the lowest versions of Rust that they promise to support.
fn oldest_compilers(root: &Path) -> Result<Vec<Job>, String> {
    let groups = workspace::by_rust_version(workspace::published(root)?);
    let jobs = groups.into_iter().flat_map(|(version, crates)| {
        let install =
            format!("rustup toolchain install {version} --profile minimal --no-self-update");
        let check = format!(
            "env -u RUSTUP_TOOLCHAIN -u CARGO cargo +{version} check --locked {}",
            workspace::arguments(&crates).join(" ")
        );
        [program(&install), program(&check).with("CARGO_TARGET_DIR", "{target}/oldest")]
    });
    Ok(jobs.collect())
}

/// Runs the commands with the program as it is shipped, except for link-time optimisation.
fn released(commands: &[&str]) -> Vec<Job> {
    let build = cargo("build --release --locked -p endseal-cli");
    core::iter::once(build).chain(commands.iter().map(|it| program(it))).collect()
}

fn attacks() -> Vec<Job> {
    let build = cargo("build --release --locked -p endseal-hub --example attacker");
    vec![build, program(NODE_ATTACKS)]
}

fn bench(jobs: Vec<Job>) -> Vec<Job> {
    let build = cargo("build --release --locked --manifest-path bench/Cargo.toml");
    [released(&[]), vec![build], jobs].concat()
}

/// Runs all suites. Of the suite that transfers gigabytes it runs the cases that take seconds.
fn whole_bench() -> Vec<Job> {
    let run = |words: &str| program(&format!("{BENCHMARK} --quick --quiet {words}"));
    vec![
        run("--suite envelope,codec,transport,sessions,node --out {target}/bench-whole"),
        run("--suite s3 --case range,small --out {target}/bench-whole-s3"),
    ]
}

/// Runs a few cases of each peer that can be installed or built in minutes. A subject is checked
/// before it is timed.
fn bench_peers() -> Vec<Job> {
    let run = |words: &str| program(&format!("{BENCHMARK} --quick --quiet --strict {words}"));
    vec![
        program("xtask peers node rust rust-nostr go"),
        run("--suite envelope --case open,open_many --peers node,bun --out {target}/bench-peers"),
        run("--suite envelope,codec,transport --case open,decode,echo --peers rust \
             --out {target}/bench-peers-rust"),
        run("--suite nostr --case nip44_encrypt,nip44_decrypt,verify,flow \
             --peers rust-nostr,go,node --out {target}/bench-nostr"),
    ]
}

/// Looks for undefined behaviour and leaks with Miri.
fn miri(part: &Interpreted) -> Check {
    let Interpreted { package, features, words } = part;
    let words = format!(
        "env -u RUSTUP_TOOLCHAIN -u CARGO cargo +{NIGHTLY} miri test --package {package} --lib \
         --no-default-features --features={features} --locked -- {}",
        words.join(" ")
    );
    let job = program(&words)
        .with("MIRIFLAGS", "-Zmiri-disable-isolation")
        .with("CARGO_TARGET_DIR", "{target}/miri");
    Check { name: format!("miri {package}"), minutes: 30, jobs: vec![job] }
}

/// Fuzzes one target from its kept corpus. New inputs go to `fuzz/found/`, crashes to
/// `fuzz/artifacts/`.
fn fuzz(target: &str, minutes: u64) -> Check {
    let kept = format!("{{target}}/fuzz-kept/{target}");
    let run = format!(
        "env -u RUSTUP_TOOLCHAIN -u CARGO cargo +{NIGHTLY} fuzz run --fuzz-dir fuzz \
         --features libfuzzer {target} fuzz/found/{target} {kept} -- -max_total_time={} \
         -rss_limit_mb={FUZZ_MEMORY_MB} -timeout=10 -print_final_stats=1",
        minutes * 60
    );
    let jobs = vec![
        program(&format!("mkdir -p fuzz/found/{target}")),
        cargo(&format!(
            "run --locked --quiet --manifest-path fuzz/Cargo.toml --bin replay -- unpack {target} \
             {kept}"
        )),
        // SQLite in one file has two globals of the same name, which AddressSanitizer would report.
        program(&run).with("ASAN_OPTIONS", "detect_odr_violation=0"),
    ];
    Check { name: format!("fuzz {target}"), minutes: minutes + 20, jobs }
}

fn fuzz_targets(root: &Path) -> Result<Vec<String>, String> {
    let folder = root.join(FUZZ_TARGETS);
    let entries =
        fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut names: Vec<String> = entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.strip_suffix(".rs").map(str::to_owned))
        .collect();
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn fuzz_targets_are_the_files_in_their_folder() {
        let scratch = Scratch::with(&[
            ("fuzz/fuzz_targets/b.rs", ""),
            ("fuzz/fuzz_targets/a.rs", ""),
            ("fuzz/fuzz_targets/notes.md", ""),
        ]);
        assert_eq!(fuzz_targets(scratch.path()).unwrap(), ["a", "b"]);
    }

    #[test]
    fn a_published_crate_is_compiled_with_its_oldest_compiler() {
        let package =
            |version| format!("[package]\nversion = \"1\"\nrust-version = \"{version}\"\n");
        let scratch = Scratch::with(&[
            ("Cargo.toml", "[workspace.metadata.layers]\n0 = [\"a\", \"b\", \"c\"]\n"),
            ("crates/a/Cargo.toml", &package("1.89")),
            ("crates/b/Cargo.toml", &package("1.94")),
            ("crates/c/Cargo.toml", "[package]\npublish = false\n"),
        ]);
        let jobs = oldest_compilers(scratch.path()).unwrap();
        let ends: Vec<String> = jobs
            .iter()
            .filter(|it| it.words[0] == "env")
            .map(|it| it.words[6..].join(" "))
            .collect();
        assert_eq!(ends, ["+1.89 check --locked --package=a", "+1.94 check --locked --package=b"]);
        assert!(published(scratch.path()).unwrap().words.contains(&"--package=b".to_owned()));
    }

    #[test]
    fn each_check_has_a_name_of_its_own() {
        let checks = all(&crate::root(), 10).unwrap();
        let mut names: Vec<&str> = checks.iter().map(|check| check.name.as_str()).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
