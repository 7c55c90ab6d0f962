//! Steps with programs built for release, which alone takes a quarter of an hour. `cargo xtask
//! long` runs them.

use std::path::Path;
use std::process::Command;

use super::steps::{Job, Step, cargo, program};
use crate::{gate, peers};

const BUILD_RELEASE: &str = "build --release --locked -p endseal-cli -p endseal-bench";
const PROGRAM: &str = "target/release/endseal";
const RUN_BENCH: &str = "target/release/endseal-bench";
const NODE_PEER: &str = "peers/node/package-lock.json";
const RUST_PEERS: &str = "peers/rust/Cargo.toml";
const RUST_CODEC: &str = "peers/rust-codec/Cargo.toml";
/// Messages and mutants of each: seconds, and a difference shows within the first hundreds.
const AGREE: &str = "agree 5000 20";

/// All of them, in their order.
pub(super) fn all(root: &Path) -> Vec<Step> {
    let step = |name, purpose, jobs| Step { name, purpose, jobs };
    vec![
        step("bench", "all suites run and write their reports", with_build(whole_bench())),
        step(
            "gate",
            "kernels take the instructions that were reviewed",
            with_build([Job::Chore(gate::check)]),
        ),
        step("peer-codec", "two libraries read messages alike", vec![peer_codec(root)]),
        step("bench-peers", "it runs beside peers, none of which fails", {
            with_build(bench_peers(root))
        }),
        step("node", "hub and nodes are killed at each fsync", with_build(node())),
        step("signer", "all Nostr clients sign over both relays", with_build([signer()])),
    ]
}

fn with_build(jobs: impl IntoIterator<Item = Job>) -> Vec<Job> {
    core::iter::once(cargo(BUILD_RELEASE)).chain(jobs).collect()
}

/// Everything that persons do over a hub, every kill, and a network that loses datagrams.
fn node() -> [Job; 4] {
    ["", " --kill 0", " --drain", " --net"]
        .map(|mode| program(&format!("tests/node/run{mode} --endseal {PROGRAM}")))
}

fn signer() -> Job {
    program(&format!("tests/nostr/run --all --signer-bin {PROGRAM}"))
}

/// All suites; of the one that carries gigabytes, the cases that start every process and take
/// seconds.
fn whole_bench() -> Vec<Job> {
    let run = |suites: &str| program(&format!("{RUN_BENCH} --quick --quiet {suites}"));
    vec![
        run("--suite envelope,codec,transport,sessions,node --out target/bench-whole"),
        run("--suite s3 --case range,small --out target/bench-whole-s3"),
    ]
}

/// Messages and mutants of them, as two other libraries read them.
fn peer_codec(root: &Path) -> Job {
    if !root.join(RUST_CODEC).exists() {
        return Job::Skip(format!("there is no {RUST_CODEC}"));
    }
    cargo(&format!("run --release --locked --manifest-path {RUST_CODEC} -- {AGREE}"))
}

/// Peers that are installed or built in minutes, and a few cases in which each subject shows that
/// it does what it says: all are checked before they are timed.
fn bench_peers(root: &Path) -> Vec<Job> {
    let nostr = [
        Job::Chore(|root| peers::command(root, &["rust-nostr", "go"].map(str::to_owned))),
        program(&format!(
            "{RUN_BENCH} --quick --quiet --strict --suite nostr \
             --case nip44_encrypt,nip44_decrypt,verify,flow --peers rust-nostr,go,node \
             --out target/bench-nostr"
        )),
    ];
    [node_peer(root), rust_peers(root), nostr.to_vec()].concat()
}

fn rust_peers(root: &Path) -> Vec<Job> {
    if !root.join(RUST_PEERS).exists() {
        return vec![Job::Skip(format!("there is no {RUST_PEERS}"))];
    }
    vec![
        Job::Chore(|root| peers::command(root, &["rust".to_owned()])),
        program(&format!(
            "{RUN_BENCH} --quick --quiet --strict --suite envelope,codec,transport \
                 --case open,decode,echo --peers rust --out target/bench-peers-rust"
        )),
    ]
}

/// Only cases that it is quick in; both seal before they open.
fn node_peer(root: &Path) -> Vec<Job> {
    if !root.join(NODE_PEER).exists() {
        return vec![Job::Skip(format!("there is no {NODE_PEER}"))];
    }
    let npm = Command::new("npm").arg("--version").output();
    if !npm.is_ok_and(|output| output.status.success()) {
        return vec![Job::Skip("npm is not installed".to_owned())];
    }
    vec![
        Job::Chore(|root| peers::command(root, &["node".to_owned()])),
        program(&format!(
            "{RUN_BENCH} --quick --quiet --strict --suite envelope --case open,open_many \
                 --peers node,bun --out target/bench-peers"
        )),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::steps::tests::words;
    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn peers_that_are_not_there_are_skipped() {
        let scratch = Scratch::with(&[]);
        let released = |name| {
            let steps = all(scratch.path());
            words(&steps.iter().find(|step| step.name == name).unwrap().jobs)
        };
        assert_eq!(released("peer-codec"), [format!("there is no {RUST_CODEC}")]);
        let none = [NODE_PEER, RUST_PEERS].map(|it| format!("there is no {it}"));
        assert_eq!(released("bench-peers")[1..3], none);
        scratch.write(RUST_PEERS, "");
        let found = released("bench-peers");
        assert!(found[3].ends_with("--out target/bench-peers-rust"), "{found:?}");
    }
}
