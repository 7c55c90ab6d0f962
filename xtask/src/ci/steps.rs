//! The steps of `cargo xtask ci`. In each queue, steps that are cheap and fail often come first.

use std::path::Path;

use super::step::{Job, Lane, Step, cargo, program};
use crate::workspace;

/// A target without an operating system, and the target of browsers.
const TARGETS: &[&str] = &["thumbv7em-none-eabihf", "wasm32-unknown-unknown"];
/// Targets of microcontrollers, without an allocator.
const BARE_TARGETS: &[&str] = &["riscv32imc-unknown-none-elf", "thumbv7em-none-eabihf"];
/// Portable crates that need no allocator.
const BARE: &[&str] = &[CRYPTO, "endseal-nostr"];
const CRYPTO: &str = "endseal-crypto";
/// The envelope with streams, randomness and threads, without AWS-LC and without a C compiler.
const WITHOUT_C: &str = "-p endseal-envelope --no-default-features \
                         --features std,getrandom,pure,parallel --locked";
/// Features of the envelope that one target alone has.
const TARGET_FEATURES: &[(&str, &str)] =
    &[("thumbv7em-none-eabihf", "pure"), ("wasm32-unknown-unknown", "std,wasm-simd")];
const PROGRAM: &str = "{target}/debug/endseal";
const BENCHMARK: &str = "{target}/debug/endseal-bench";
/// Name of the step that builds the shipped program.
const BUILD: &str = "build";

/// Files that the product is built from.
const PRODUCT: &[&str] = &["crates", "proto", "vectors", "Cargo.toml", "clippy.toml"];
/// Paths of the product and of the files that its tests read.
const TESTED: &[&str] = &[
    "crates",
    "proto",
    "vectors",
    "Cargo.toml",
    "clippy.toml",
    "docs",
    "deploy",
    "README.md",
    "SECURITY.md",
];
/// Files that packages are made of.
const PACKAGED: &[&str] = &["crates", "Cargo.toml", "LICENSE-APACHE", "LICENSE-MIT"];
const S3: &[&str] = &[
    "crates/endseal-keyring",
    "crates/endseal-service",
    "crates/endseal-s3proxy",
    "crates/endseal-s3-format",
    "crates/endseal-s3-protocol",
    "crates/endseal-s3-folder",
    "crates/endseal-kms",
    "crates/endseal-crypto",
    "crates/endseal-cli",
    "tests/s3",
    "tests/children.py",
    "deploy/s3",
];
const SIGNER: &[&str] = &[
    "crates/endseal-test-relay",
    "crates/endseal-service",
    "crates/endseal-signer",
    "crates/endseal-nostr",
    "crates/endseal-relay",
    "crates/endseal-store",
    "crates/endseal-crypto",
    "crates/endseal-cli",
    "tests/nostr",
    "tests/children.py",
    "peers/go",
];
const POSTGRES_TEST: &str = "python3 tests/node/postgres.py cargo test --workspace --test hub";
const DEPLOY: &[&str] = &["deploy", "tests/deploy", "crates"];
const NODE: &[&str] = &[
    "crates/endseal-service",
    "crates/endseal-node",
    "crates/endseal-hub",
    "crates/endseal-delivery",
    "crates/endseal-transport",
    "crates/endseal-session",
    "crates/endseal-store",
    "crates/endseal-keyring",
    "crates/endseal-envelope",
    "crates/endseal-codec",
    "crates/endseal-crypto",
    "crates/endseal-cli",
    "tests/node",
    "tests/children.py",
];

/// Paths of the benchmark, of the code that it measures, and of the documents and vectors that its
/// tests compare.
const BENCH: &[&str] = &["bench", "crates", "peers", "vectors", "docs", "README.md"];

/// Returns all steps for the crates that the root manifest names.
pub(super) fn all(root: &Path) -> Result<Vec<Step>, String> {
    let portable = workspace::portable(root)?;
    let build = |name, purpose, minutes, paths, jobs| Step {
        name,
        purpose,
        lane: Lane::Build,
        after: None,
        minutes,
        paths,
        jobs,
    };
    let run = |name, purpose, minutes, paths, jobs| Step {
        name,
        purpose,
        lane: Lane::Run,
        after: None,
        minutes,
        paths,
        jobs,
    };
    let after_build = |step: Step| Step { after: Some(BUILD), ..step };
    Ok(vec![
        build(BUILD, "the product and its tests compile", 30, &[], vec![build_all()]),
        build("test", "all tests, by README's command", 30, TESTED, vec![cargo(README_TEST)]),
        build("test-postgres", "the hub's tests over PostgreSQL", 10, NODE, {
            vec![program(POSTGRES_TEST)]
        }),
        build("clippy", "no warnings, with std and without", 25, PRODUCT, clippy(&portable)),
        build("test-no-std", "the portable crates' tests without std", 20, PRODUCT, {
            test_no_std(&portable)
        }),
        build("targets", "the portable crates compile for bare metal and wasm", 15, PRODUCT, {
            targets(&portable)
        }),
        build("bare", "crates for microcontrollers need no allocator", 15, PRODUCT, bare()),
        build("doc", "the documentation builds without warnings", 15, PRODUCT, vec![doc()]),
        build("package", "the published crates compile from their packages", 15, PACKAGED, {
            vec![program("xtask package")]
        }),
        build("vectors", "the vectors are what the generators write", 15, PRODUCT, {
            vec![program("xtask vectors --check")]
        }),
        build("bench", "the benchmark is tested and writes a report", 15, BENCH, bench()),
        run("fmt", "rustfmt has nothing to change", 10, &[], fmt()),
        run("tidy", "the house rules", 10, &[], vec![program("xtask tidy")]),
        run("xtask", "the checks themselves are tested", 10, &["xtask"], xtask()),
        run("locks", "every lock file fits its manifests", 10, &[], locks()),
        run("deny", "licences, duplicates and sources of dependencies", 5, &[], vec![cargo(DENY)]),
        run("peer", "implementations of others agree with every vector", 25, PEERS, peers()),
        run(
            "assure",
            "disassembly and constant time of the kernels",
            20,
            &[
                "crates/endseal-crypto",
                "crates/endseal-envelope",
                "crates/endseal-keyring",
                "tests/constant-time",
            ],
            vec![program("xtask assure disassembly constant-time")],
        ),
        run(
            "firmware",
            "the Nostr core keeps its budgets on two chips",
            20,
            &["crates/endseal-crypto", "crates/endseal-nostr", "firmware", "docs/bench"],
            firmware(),
        ),
        after_build(run("deploy", "alerts fire, units are closed", 5, DEPLOY, {
            ["deploy/s3/check", "deploy/signer/check", "deploy/hub/check", "deploy/test --quick"]
                .map(program)
                .to_vec()
        })),
        after_build(run("node", "people write over a hub; kills lose nothing", 25, NODE, {
            ["", " --demo", " --lives 10", " --kill 12", " --blind"]
                .map(|mode| program(&format!("tests/node/run{mode} --endseal {PROGRAM}")))
                .to_vec()
        })),
        after_build(run("s3", "clients and a server of others, with the proxy between", 25, S3, {
            vec![program(&format!("tests/s3/run --quick --proxy-bin {PROGRAM}"))]
        })),
        after_build(run("signer", "Nostr clients of others over a relay of others", 25, SIGNER, {
            vec![program(&format!("tests/nostr/run --signer-bin {PROGRAM}"))]
        })),
        after_build(run(
            "nostr",
            "libraries of others exchange messages with ours",
            25,
            &["crates/endseal-nostr", "crates/endseal-crypto", "crates/endseal-cli", "peers"],
            nostr(),
        )),
        after_build(run("bindings", "Python and Node open every vector", 30, BINDINGS, {
            vec![
                cargo("clippy --manifest-path bindings/Cargo.toml --locked -- -D warnings"),
                program(&format!("bindings/python/run --endseal {PROGRAM}")),
                program(&format!("bindings/node/run --endseal {PROGRAM}")),
            ]
        })),
        after_build(run("native", "C, Kotlin and chips open every vector", 30, BINDINGS, {
            vec![
                program("bindings/c/run"),
                program("bindings/kotlin/run"),
                cargo(EMBEDDED_CLIPPY),
                program("bindings/embedded/run"),
                program(&format!("bindings/embedded/device/run --endseal {PROGRAM}")),
            ]
        })),
        // Workspaces of their own, which share no build folder with the other queue.
        run("corpus", "kept inputs of all fuzz targets", 15, &["crates", "fuzz", "vectors"], {
            vec![program("xtask assure bounds corpus")]
        }),
        run(
            "mls",
            "groups of OpenMLS and ours meet",
            20,
            MLS,
            vec![program("peers/rust-mls/run.sh")],
        ),
    ])
}

/// The test command of README.md, word for word; a test compares them.
const README_TEST: &str = "test --workspace";
const MLS: &[&str] = &[
    "crates/endseal-session",
    "crates/endseal-keyring",
    "crates/endseal-store",
    "crates/endseal-crypto",
    "peers/rust-mls",
];
/// Without a package of its own, this workspace needs the names.
const FMT_BINDINGS: &str = "fmt --manifest-path bindings/Cargo.toml -p endseal-c \
                            -p endseal-facade -p endseal-kotlin -p endseal-kotlin-generator \
                            -p endseal-napi -p endseal-python -p endseal-session-facade \
                            -p endseal-wasm -p endseal-wasm-abi -p endseal-wasm-nostr \
                            -p endseal-wasm-roster --check";
const FMT_DEVICE: &str = "fmt --manifest-path bindings/embedded/device/Cargo.toml \
                          -p endseal-device -p endseal-device-rp2040 --check";
const EMBEDDED_CLIPPY: &str = "clippy --manifest-path bindings/embedded/Cargo.toml --locked \
                               --target-dir {target}/embedded -- -D warnings";
const DENY: &str = "deny --locked check bans licenses sources";
const PEERS: &[&str] = &["vectors", "peers"];
/// Paths of the packages, and of the node that they use.
const BINDINGS: &[&str] = &[
    "bindings",
    "crates/endseal-service",
    "crates/endseal-node",
    "crates/endseal-hub",
    "crates/endseal-delivery",
    "crates/endseal-transport",
    "crates/endseal-session",
    "crates/endseal-store",
    "crates/endseal-keyring",
    "crates/endseal-envelope",
    "crates/endseal-codec",
    "crates/endseal-nostr",
    "crates/endseal-relay",
    "crates/endseal-signer",
    "crates/endseal-test-relay",
    "crates/endseal-crypto",
    "crates/endseal-cli",
    "docs/spec/node-api.md",
    "peers/node-nostr",
    "vectors/envelope",
    "vectors/nostr",
    "vectors/nostr-connect",
    "vectors/nostr-events",
    "vectors/signer-device",
    "vectors/third-party/nostr",
];

/// Compiles everything that the next step runs, with the same features.
fn build_all() -> Job {
    cargo("test --workspace --locked --no-run")
}

fn fmt() -> Vec<Job> {
    // With --all, another workspace would format the product's crates once more.
    let others = ["bench", "bindings/embedded", "firmware", "fuzz", "xtask"]
        .map(|folder| cargo(&format!("fmt --manifest-path {folder}/Cargo.toml --check")));
    [cargo("fmt --all --check"), cargo(FMT_BINDINGS), cargo(FMT_DEVICE)]
        .into_iter()
        .chain(others)
        .collect()
}

/// Asks Cargo to resolve every workspace without changing its lock file.
fn locks() -> Vec<Job> {
    [
        "Cargo.toml",
        "bench/Cargo.toml",
        "bindings/Cargo.toml",
        "bindings/embedded/Cargo.toml",
        "bindings/embedded/device/Cargo.toml",
        "firmware/Cargo.toml",
        "fuzz/Cargo.toml",
        "peers/rust/Cargo.toml",
        "peers/rust-codec/Cargo.toml",
        "peers/rust-iroh/Cargo.toml",
        "peers/rust-mls/Cargo.toml",
        "peers/rust-nostr/Cargo.toml",
        "tests/constant-time/Cargo.toml",
        "xtask/Cargo.toml",
    ]
    .map(|manifest| cargo(&format!("tree --locked --quiet --depth 0 --manifest-path {manifest}")))
    .to_vec()
}

/// Uses a target folder of its own, because the other queue locks the shared one.
fn xtask() -> Vec<Job> {
    let own = "--locked --manifest-path xtask/Cargo.toml --target-dir {target}/xtask";
    vec![
        cargo(&format!("clippy {own} --all-targets -- -D warnings")),
        cargo(&format!("test {own}")),
    ]
}

/// Checks all packages in one call, which builds their dependencies once. The portable crates are
/// checked again without std, and the envelope without AWS-LC, where other code is compiled.
fn clippy(portable: &[String]) -> Vec<Job> {
    let without = format!("clippy {} --lib --locked -- -D warnings", without_std(portable));
    vec![
        cargo("clippy --workspace --all-targets --locked -- -D warnings"),
        cargo(&without),
        cargo(&format!("clippy {WITHOUT_C} --lib -- -D warnings")),
    ]
}

/// Tests without std, and without the examples in the documentation, which use std. The envelope's
/// need std: they run on the portable back end without AWS-LC.
fn test_no_std(portable: &[String]) -> Vec<Job> {
    vec![
        cargo(&format!("test {} --lib --tests --locked", without_std(portable))),
        cargo(&format!("test {WITHOUT_C} --tests")),
    ]
}

/// Returns the arguments for portable crates without std. Allocation, and scrypt with it, is a
/// feature of one crate, which the step `bare` leaves out.
fn without_std(names: &[String]) -> String {
    let packages: String = names.iter().map(|name| format!("-p {name} ")).collect();
    let has_crypto = names.iter().any(|name| name == CRYPTO);
    let alloc = if has_crypto { format!(" --features {CRYPTO}/scrypt") } else { String::new() };
    format!("{packages}--no-default-features{alloc}")
}

/// Builds each crate on its own, because a single call would unite their features.
fn targets(portable: &[String]) -> Vec<Job> {
    let check = |target: &str, name: &String| {
        let packages = without_std(core::slice::from_ref(name));
        cargo(&format!("check {packages} --target {target} --locked"))
    };
    let with_features = TARGET_FEATURES.iter().map(|(target, features)| {
        let options = format!("--no-default-features --features {features} --target {target}");
        cargo(&format!("check -p endseal-envelope {options} --locked"))
    });
    let plain = TARGETS.iter().flat_map(|target| portable.iter().map(|name| check(target, name)));
    plain.chain(with_features).collect()
}

/// Checks code that needs no allocator: no warnings, its tests here, and a build for each chip. The
/// firmware proves that a program links without an allocator.
fn bare() -> Vec<Job> {
    let of = |name: &&str| {
        let options = format!("-p {name} --no-default-features --locked");
        let checks = BARE_TARGETS.iter().map(|it| format!("check {options} --target {it}"));
        [format!("clippy --lib {options} -- -D warnings"), format!("test --lib {options}")]
            .into_iter()
            .chain(checks.collect::<Vec<_>>())
            .map(|words| cargo(&words))
            .collect::<Vec<_>>()
    };
    BARE.iter().flat_map(of).collect()
}

fn doc() -> Job {
    cargo("doc --workspace --no-deps --locked").with("RUSTDOCFLAGS", "-D warnings")
}

/// Runs the firmware in QEMU, for the chips that the pinned compiler builds for.
fn firmware() -> Vec<Job> {
    vec![program("xtask firmware --isa rv32,cortex-m4")]
}

/// Tests a second implementation that was written from the specifications alone, and
/// implementations of other projects.
fn peers() -> Vec<Job> {
    [
        "peers/python/run-vectors.sh",
        "peers/python/run-identity.sh",
        "peers/python/run-session.sh",
        "peers/python/run-codec.sh",
        "peers/python/run-signer.sh",
        "peers/python/run-delivery.sh",
        "peers/python/run-node.sh",
        "peers/python/run-s3.sh",
        "peers/node-codec/run-vectors.sh",
        "peers/node-nostr/run-vectors.sh",
    ]
    .map(program)
    .to_vec()
}

/// Runs a case or two of each suite, unoptimised: a report is written, and its figures mean
/// nothing.
fn bench() -> Vec<Job> {
    let manifest = "--manifest-path bench/Cargo.toml --locked";
    let run = |words: &str| program(&format!("{BENCHMARK} --quick --quiet {words}"));
    vec![
        cargo(&format!("clippy {manifest} --all-targets -- -D warnings")),
        cargo(&format!("test {manifest}")),
        run("--suite envelope,codec,transport,sessions,node \
             --case open_many,roundtrip,echo,sync --out {target}/bench-smoke"),
        run("--suite s3 --case range --out {target}/bench-smoke-s3"),
        program("xtask readme --check"),
    ]
}

/// Exchanges messages, events and gift wraps with other implementations in both directions.
fn nostr() -> Vec<Job> {
    vec![
        program("xtask peers rust-nostr go"),
        program("peers/node-nostr/install.sh"),
        // The features must be those of the step `build`, so that nothing is built again.
        cargo("test --workspace --locked --test it -- --ignored interop"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    const MANIFEST: &str = "[workspace.metadata.layers]\n0 = [\"a\"]\n1 = [\"b\"]\n2 = [\"c\"]\n";

    fn step(root: &Path, name: &str) -> Vec<String> {
        let steps = all(root).unwrap();
        let step = steps.iter().find(|step| step.name == name).unwrap();
        step.jobs.iter().map(|job| job.words.join(" ")).collect()
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
                format!("cargo clippy {WITHOUT_C} --lib -- -D warnings"),
            ]
        );
        let tests = format!("cargo test {portable} --tests --locked");
        let without_c = format!("cargo test {WITHOUT_C} --tests");
        assert_eq!(step(scratch.path(), "test-no-std"), [tests, without_c]);
    }

    #[test]
    fn only_the_lower_rows_are_checked_on_targets_each_by_itself() {
        let scratch = Scratch::with(&[("Cargo.toml", MANIFEST)]);
        let jobs = step(scratch.path(), "targets");
        assert_eq!(jobs.len(), 6);
        assert!(jobs.iter().all(|it| it.matches("-p ").count() == 1 && !it.contains("-p c ")));
    }

    #[test]
    fn readme_has_the_test_command_of_ci() {
        let readme = std::fs::read_to_string(crate::root().join("README.md")).unwrap();
        assert!(readme.contains(&format!("`cargo {README_TEST}`")));
    }

    /// A change of a crate must run each step whose program contains it. `endseal-cli`
    /// is left out, because it contains all crates and a step names only those that it tests.
    #[test]
    fn a_step_that_names_a_crate_names_the_crates_below_it() {
        let root = crate::root();
        for step in all(&root).unwrap() {
            let named = |name: &str| step.paths.contains(&format!("crates/{name}").as_str());
            for path in step.paths {
                let Some(name) = path.strip_prefix("crates/") else { continue };
                if name == "endseal-cli" {
                    continue;
                }
                let text = std::fs::read_to_string(root.join(path).join("Cargo.toml")).unwrap();
                let manifest: toml::Table = text.parse().unwrap();
                let below = manifest["dependencies"].as_table().unwrap().keys();
                for below in below.filter(|it| it.starts_with("endseal-")) {
                    assert!(named(below), "{}: {name} contains {below}", step.name);
                }
            }
        }
    }

    #[test]
    fn a_step_waits_for_a_step_that_exists_and_names_paths_that_exist() {
        let root = crate::root();
        let steps = all(&root).unwrap();
        for step in &steps {
            let known = step.after.is_none_or(|name| steps.iter().any(|it| it.name == name));
            assert!(known, "{}", step.name);
            for path in step.paths {
                assert!(root.join(path).exists(), "{}: {path}", step.name);
            }
        }
    }
}
