//! The steps in order of yield: what is cheap and fails often comes first. All use one profile.

use std::path::Path;
use std::process::Command;

use super::ENVIRONMENT;
use crate::vectors::{self, Mode};
use crate::{assure, firmware, peers, readme, tidy, workspace};

/// Without an operating system, and without one but with a garbage-collected host.
const TARGETS: &[&str] = &["thumbv7em-none-eabihf", "wasm32-unknown-unknown"];
/// The chips of microcontrollers, where there is no allocator.
const BARE_TARGETS: &[&str] = &["riscv32imc-unknown-none-elf", "thumbv7em-none-eabihf"];
/// Portable crates that need no allocator.
const BARE: &[&str] = &[CRYPTO, "endseal-nostr"];
const CRYPTO: &str = "endseal-crypto";
/// Rows up to this one hold formats and algorithms, which need no operating system.
const LAST_PORTABLE_ROW: u32 = 1;
/// A second implementation, written from a specification, or one that others have written.
struct Peer {
    script: &'static str,
    /// Without it the peer is skipped, with a line that says so; `.ci/run` installs it.
    needs: &'static str,
}

const PEERS: &[Peer] = &[
    Peer { script: "peers/python/run-vectors.sh", needs: "python3" },
    Peer { script: "peers/python/run-identity.sh", needs: "python3" },
    Peer { script: "peers/python/run-session.sh", needs: "python3" },
    Peer { script: "peers/python/run-codec.sh", needs: "python3" },
    Peer { script: "peers/python/run-signer.sh", needs: "python3" },
    Peer { script: "peers/python/run-delivery.sh", needs: "python3" },
    Peer { script: "peers/python/run-node.sh", needs: "python3" },
    Peer { script: "peers/node-codec/run-vectors.sh", needs: "npm" },
    Peer { script: "peers/node-nostr/run-vectors.sh", needs: "npm" },
    Peer { script: "peers/rust-mls/run.sh", needs: "cargo" },
];
/// In a portable row by what they may use, but the types of HTTP need std, and the store and the
/// helpers of tests have files.
const NEEDS_STD: &[&str] = &[
    "endseal-s3-format",
    "endseal-s3-protocol",
    "endseal-service",
    "endseal-store",
    "endseal-testing",
];
const CLI: &str = "endseal-cli";
const BENCH: &str = "endseal-bench";
const NOSTR: &str = "endseal-nostr";
/// The program and the benchmark, with what the step `test` has built.
const BUILD: &str = "test --workspace --locked --no-run";
const PROGRAM: &str = "target/debug/endseal";
const BENCHMARK: &str = "target/debug/endseal-bench";
const S3_TESTS: &str = "tests/s3/run";
const S3_DEPLOYMENT: &str = "deploy/s3/check";
const NODE_TESTS: &str = "tests/node/run";
const SIGNER_TESTS: &str = "tests/nostr/run";
const SIGNER_DEPLOYMENT: &str = "deploy/signer/check";
const HUB_DEPLOYMENT: &str = "deploy/hub/check";
const FIRMWARE: &str = "firmware/Cargo.toml";
/// Packages with a lock file of their own.
const LOCKED: [&str; 8] = [
    "firmware",
    "fuzz",
    "peers/rust",
    "peers/rust-codec",
    "peers/rust-iroh",
    "peers/rust-mls",
    "peers/rust-nostr",
    "tests/constant-time",
];

pub(super) struct Step {
    pub(super) name: &'static str,
    pub(super) purpose: &'static str,
    pub(super) jobs: Vec<Job>,
}

#[derive(Clone)]
pub(super) enum Job {
    /// A chore of this program, run without starting another.
    Chore(fn(&Path) -> Result<bool, String>),
    Program {
        words: Vec<String>,
        environment: Vec<(&'static str, &'static str)>,
    },
    /// Cannot be done here, for the reason given.
    Skip(String),
}

fn locks() -> Vec<Job> {
    let tree =
        |folder| format!("tree --locked --quiet --depth 0 --manifest-path {folder}/Cargo.toml");
    LOCKED.map(|folder| cargo(&tree(folder))).to_vec()
}

pub(super) fn all(root: &Path) -> Result<Vec<Step>, String> {
    let rows = workspace::rows(root)?;
    let portable = rows.iter().filter(|row| row.number <= LAST_PORTABLE_ROW);
    let portable: Vec<&str> = portable
        .flat_map(|row| &row.crates)
        .map(String::as_str)
        .filter(|name| !NEEDS_STD.contains(name))
        .collect();
    let packages: Vec<&str> = rows.iter().flat_map(|row| &row.crates).map(String::as_str).collect();
    let step = |name, purpose, jobs| Step { name, purpose, jobs };
    Ok(vec![
        step("fmt", "the code is formatted", vec![cargo("fmt --all --check")]),
        step("tidy", "the house rules hold", vec![check_tidiness()]),
        step("locks", "lock files beside the workspace's fit", locks()),
        step("deny", "licences, duplicates and sources of what we depend on", vec![deny()]),
        step("clippy", "no warnings, with std and without", clippy(&portable)),
        step("test", "all tests, as the README says", vec![cargo("test --workspace --locked")]),
        step("test-no-std", "the portable crates' tests without std", test_no_std(&portable)),
        step("targets", "the portable crates compile for bare metal and wasm", targets(&portable)),
        step("bare", "the crates for microcontrollers build without an allocator", bare(&portable)),
        step(
            "assure",
            "limb bounds, disassembly, constant time and the fuzz corpus",
            vec![assure_briefly()],
        ),
        step("firmware", "the Nostr core keeps its budgets on two chips", run_firmware(root)),
        step("vectors", "the vectors are what the generators write", vec![check_vectors()]),
        step("doc", "the documentation builds without warnings", vec![doc()]),
        step("peer", "implementations of others agree with every vector and with us", peers(root)),
        step("bench", "the benchmark runs and writes its report", bench(&packages)),
        step(
            "readme",
            "README's table is that of the committed run",
            vec![Job::Chore(readme::check)],
        ),
        step(
            "s3",
            "S3 clients and a server of others work with the proxy between",
            s3(root, &packages),
        ),
        step(
            "deploy",
            "alerts of signer and hub fire when they should",
            vec![program(SIGNER_DEPLOYMENT), program(HUB_DEPLOYMENT)],
        ),
        step(
            "signer",
            "Nostr clients of others sign through the signer, over a relay of others",
            signer(root, &packages),
        ),
        step(
            "node",
            "persons write over a hub; killed, it and nodes lose nothing",
            node(root, &packages),
        ),
        step("nostr", "three libraries of others exchange messages with ours", nostr(&packages)),
    ])
}

fn check_tidiness() -> Job {
    Job::Chore(|root| tidy::command(root, &[]))
}

/// Without Miri, which takes minutes: `cargo xtask long` runs it.
fn assure_briefly() -> Job {
    Job::Chore(|root| {
        let place = assure::Place { root, environment: ENVIRONMENT };
        let checks = ["limb bounds", "disassembly", "constant time", "corpus"];
        assure::run(&place, &checks.map(str::to_owned))
    })
}

/// Without an allocator, in QEMU. A chip whose emulator is not installed is skipped.
fn run_firmware(root: &Path) -> Vec<Job> {
    if !root.join(FIRMWARE).exists() {
        return vec![Job::Skip(format!("there is no {FIRMWARE}"))];
    }
    let (skips, chips) = firmware::skips();
    let mut jobs = vec![cargo(&format!("fmt --manifest-path {FIRMWARE} --check"))];
    if skips.len() < chips {
        jobs.push(Job::Chore(firmware::check));
    }
    jobs.extend(skips.into_iter().map(Job::Skip));
    jobs
}

fn check_vectors() -> Job {
    Job::Chore(|root| vectors::renew(root, Mode::Check, ENVIRONMENT))
}

/// All packages in one call, which builds what they depend on once; `cargo xtask long` checks each
/// with its own features. The portable crates once more without std, where other code is in use.
fn clippy(portable: &[&str]) -> Vec<Job> {
    let without = format!("clippy {} --lib --locked -- -D warnings", without_std(portable));
    vec![cargo("clippy --workspace --all-targets --locked -- -D warnings"), cargo(&without)]
}

/// Without the examples in the documentation: they show the paved way, which has std.
fn test_no_std(portable: &[&str]) -> Vec<Job> {
    vec![cargo(&format!("test {} --lib --tests --locked", without_std(portable)))]
}

/// Portable crates without std. What allocates is a feature of one crate; the step `bare` leaves it
/// out.
fn without_std(names: &[&str]) -> String {
    let packages: String = names.iter().map(|name| format!("-p {name} ")).collect();
    let alloc =
        if names.contains(&CRYPTO) { format!(" --features {CRYPTO}/alloc") } else { String::new() };
    format!("{packages}--no-default-features{alloc}")
}

/// Each by itself, so that none lives on the features of another.
fn targets(portable: &[&str]) -> Vec<Job> {
    let mut jobs = missing_targets(TARGETS);
    for target in TARGETS {
        for name in portable {
            let check = format!("check {} --target {target} --locked", without_std(&[name]));
            jobs.push(cargo(&check));
        }
    }
    jobs
}

/// The code that needs no allocator: no warnings, its tests here, and a build for each chip. That a
/// program links without one is proved by the firmware.
fn bare(portable: &[&str]) -> Vec<Job> {
    let mut jobs = missing_targets(BARE_TARGETS);
    for name in BARE.iter().filter(|name| portable.contains(*name)) {
        let options = format!("-p {name} --no-default-features --locked");
        jobs.push(cargo(&format!("clippy --lib {options} -- -D warnings")));
        jobs.push(cargo(&format!("test --lib {options}")));
        let check = |target: &&str| cargo(&format!("check {options} --target {target}"));
        jobs.extend(BARE_TARGETS.iter().map(check));
    }
    jobs
}

/// Without rustup the targets are whatever the toolchain came with; the build will tell.
fn missing_targets(targets: &[&str]) -> Vec<Job> {
    let installed = Command::new("rustup").args(["target", "list", "--installed"]).output();
    let Ok(installed) = installed else { return Vec::new() };
    let installed = String::from_utf8_lossy(&installed.stdout);
    let missing = targets.iter().filter(|target| !installed.lines().any(|line| line == **target));
    missing.map(|target| program(&format!("rustup target add {target}"))).collect()
}

fn doc() -> Job {
    let mut job = cargo("doc --workspace --no-deps --locked");
    if let Job::Program { environment, .. } = &mut job {
        environment.push(("RUSTDOCFLAGS", "-D warnings"));
    }
    job
}

fn peers(root: &Path) -> Vec<Job> {
    let job = |Peer { script, needs }: &Peer| {
        if !root.join(script).exists() {
            return Job::Skip(format!("there is no {script}"));
        }
        let started = Command::new(needs).arg("--version").output();
        if started.is_ok_and(|output| output.status.success()) {
            program(script)
        } else {
            Job::Skip(format!("{script} needs {needs}"))
        }
    };
    PEERS.iter().map(job).collect()
}

/// A case or two of each suite, not optimised: a report is written, and no figure means anything.
fn bench(packages: &[&str]) -> Vec<Job> {
    if !packages.contains(&BENCH) {
        return vec![Job::Skip(format!("there is no {BENCH}"))];
    }
    let run = |suites: &str| program(&format!("{BENCHMARK} --quick --quiet {suites}"));
    let cases = "open_many,roundtrip,echo,sync";
    let suites = "envelope,codec,transport,sessions,node";
    vec![
        cargo(BUILD),
        run(&format!("--suite {suites} --case {cases} --out target/bench-smoke")),
        run("--suite s3 --case range --out target/bench-smoke-s3"),
    ]
}

/// Clients and a server that nobody here wrote; the script installs what is missing. A server that
/// cannot be had is skipped with a line that says so.
fn s3(root: &Path, packages: &[&str]) -> Vec<Job> {
    if !packages.contains(&CLI) || !root.join(S3_TESTS).exists() {
        return vec![Job::Skip(format!("there is no {CLI} or no {S3_TESTS}"))];
    }
    let go = Command::new("go").arg("version").output();
    if !go.is_ok_and(|output| output.status.success()) {
        return vec![Job::Skip(format!("{S3_TESTS} needs Go, in which the server is written"))];
    }
    let run = format!("{S3_TESTS} --quick --proxy-bin {PROGRAM}");
    vec![cargo(BUILD), program(S3_DEPLOYMENT), program(&run)]
}

/// Clients and a relay of others; the script installs and builds them in seconds.
fn signer(root: &Path, packages: &[&str]) -> Vec<Job> {
    if !packages.contains(&CLI) || !root.join(SIGNER_TESTS).exists() {
        return vec![Job::Skip(format!("there is no {CLI} or no {SIGNER_TESTS}"))];
    }
    if let Some(missing) = missing_program(&["go", "npm"]) {
        return vec![Job::Skip(format!("{missing} is not installed"))];
    }
    let run = format!("{SIGNER_TESTS} --signer-bin {PROGRAM}");
    vec![cargo(BUILD), program(&run)]
}

fn node(root: &Path, packages: &[&str]) -> Vec<Job> {
    if !packages.contains(&CLI) || !root.join(NODE_TESTS).exists() {
        return vec![Job::Skip(format!("there is no {CLI} or no {NODE_TESTS}"))];
    }
    let run = |mode| program(&format!("{NODE_TESTS}{mode} --endseal {PROGRAM}"));
    vec![cargo(BUILD), run(""), run(" --kill 20"), run(" --blind")]
}

/// The first of some programs that does not start here.
fn missing_program(names: &[&'static str]) -> Option<&'static str> {
    let is_here = |name: &&str| {
        let started = Command::new(name).arg("version").output();
        started.is_ok_and(|output| output.status.success())
    };
    names.iter().find(|name| !is_here(name)).copied()
}

/// Messages, events and gift wraps in both directions.
fn nostr(packages: &[&str]) -> Vec<Job> {
    if !packages.contains(&NOSTR) || !packages.contains(&BENCH) {
        return vec![Job::Skip(format!("there is no {NOSTR} or no {BENCH}"))];
    }
    if let Some(missing) = missing_program(&["go", "npm"]) {
        return vec![Job::Skip(format!("{missing} is not installed"))];
    }
    vec![
        Job::Chore(|root| peers::command(root, &["rust-nostr", "go"].map(str::to_owned))),
        program("peers/node-nostr/install.sh"),
        // Of the whole workspace, whose features the step `test` has built; of two packages, 45
        // crates would be built with others.
        cargo("test --workspace --locked --test it -- --ignored interop"),
    ]
}

/// Advisories are left out: their database is fetched, and a check must give the same answer today
/// and tomorrow for the same tree.
fn deny() -> Job {
    let version = Command::new("cargo").args(["deny", "--version"]).output();
    if version.is_ok_and(|output| output.status.success()) {
        cargo("deny --locked check bans licenses sources")
    } else {
        Job::Skip("cargo-deny is not installed (`cargo install cargo-deny --locked`)".to_owned())
    }
}

pub(super) fn cargo(arguments: &str) -> Job {
    program(&format!("cargo {arguments}"))
}

pub(super) fn program(words: &str) -> Job {
    let words = words.split(' ').map(str::to_owned).collect();
    Job::Program { words, environment: Vec::new() }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::scratch::Scratch;

    const MANIFEST: &str = "[workspace.metadata.layers]\n0 = [\"a\"]\n1 = [\"b\"]\n2 = [\"c\"]\n";

    pub(in crate::ci) fn words(jobs: &[Job]) -> Vec<String> {
        let words = |job: &Job| match job {
            Job::Program { words, .. } => words.join(" "),
            Job::Skip(reason) => reason.clone(),
            Job::Chore(_) => "chore".to_owned(),
        };
        jobs.iter().map(words).collect()
    }

    fn step(root: &Path, name: &str) -> Vec<String> {
        let steps = all(root).unwrap();
        words(&steps.iter().find(|step| step.name == name).unwrap().jobs)
    }

    #[test]
    fn portable_packages_are_linted_and_tested_without_std_too() {
        let scratch = Scratch::with(&[("Cargo.toml", MANIFEST)]);
        let portable = "-p a -p b --no-default-features --lib";
        assert_eq!(
            step(scratch.path(), "clippy"),
            [
                "cargo clippy --workspace --all-targets --locked -- -D warnings".to_owned(),
                format!("cargo clippy {portable} --locked -- -D warnings"),
            ]
        );
        let tests = format!("cargo test {portable} --tests --locked");
        assert_eq!(step(scratch.path(), "test-no-std"), [tests]);
    }

    #[test]
    fn only_the_lower_rows_are_checked_on_targets_each_by_itself() {
        let scratch = Scratch::with(&[("Cargo.toml", MANIFEST)]);
        let jobs = step(scratch.path(), "targets");
        let checks: Vec<_> = jobs.iter().filter(|it| it.starts_with("cargo check")).collect();
        assert_eq!(checks.len(), 4);
        assert!(checks.iter().all(|it| it.matches("-p ").count() == 1 && !it.contains("-p c ")));
    }

    #[test]
    fn what_allocates_is_left_out_on_chips_alone() {
        let manifest = MANIFEST.replace("\"a\"", &format!("\"a\", \"{CRYPTO}\""));
        let scratch = Scratch::with(&[("Cargo.toml", &manifest)]);
        let tests = step(scratch.path(), "test-no-std");
        assert!(tests[0].contains(&format!(" --features {CRYPTO}/alloc ")), "{tests:?}");
        let bare = step(scratch.path(), "bare");
        let checks: Vec<_> = bare.iter().filter(|job| job.starts_with("cargo check")).collect();
        let check = |target: &&str| {
            format!("cargo check -p {CRYPTO} --no-default-features --locked --target {target}")
        };
        let expected: Vec<_> = BARE_TARGETS.iter().map(check).collect();
        assert_eq!(checks, expected.iter().collect::<Vec<_>>());
    }

    #[test]
    fn what_is_not_there_yet_is_skipped() {
        let scratch = Scratch::with(&[("Cargo.toml", MANIFEST)]);
        let none = PEERS.iter().map(|peer| format!("there is no {}", peer.script));
        assert_eq!(step(scratch.path(), "peer"), none.collect::<Vec<_>>());
        assert_eq!(step(scratch.path(), "firmware"), [format!("there is no {FIRMWARE}")]);
        scratch.write(PEERS[0].script, "");
        let first = &step(scratch.path(), "peer")[0];
        // On a machine without Python it is skipped, and says so.
        assert!(first == PEERS[0].script || first.ends_with("needs python3"), "{first}");
    }
}
