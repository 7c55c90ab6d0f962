//! Component 5: backlogs of conversations, decrypted and stored, by the number of messages of a
//! transaction.

use super::{Case, Extent, Suite};
use crate::case::{OURS, Params};

/// Subject that is the floor: no store, and one fsync.
pub(crate) const BARE: &str = "bare";
/// The case that is timed: a backlog is decrypted and stored.
pub(crate) const DECRYPT: &str = "decrypt_batch";
/// Not timed by rounds: memory that the same work takes.
pub(crate) const MEMORY: &str = "memory";
/// Not timed by rounds: latency of a message that is sent while a backlog is decrypted.
pub(crate) const SEND: &str = "send_during";

/// Scenarios of the published baseline: messages, conversations.
pub(crate) const SCENARIOS: [(u64, u64); 3] = [(2000, 1), (1000, 5), (5000, 6)];
/// Messages of a transaction, between one and all.
pub(crate) const CHUNK: u64 = 100;
/// Parameter value of the ratchet between two devices.
pub(crate) const PAIRWISE: u64 = 1;
/// Parameter value of MLS.
pub(crate) const MLS: u64 = 2;
/// Scenarios of groups: messages, conversations, members.
pub(crate) const GROUPS: [(u64, u64, u64); 4] =
    [(1000, 1, 2), (1000, 1, 10), (1000, 1, 100), (1000, 5, 10)];
/// Backlogs whose memory is compared, in chunks of [`DEFAULT_CHUNK`].
pub(crate) const GROWING: [u64; 3] = [1000, 5000, 20_000];
/// Messages that the engine decrypts in one transaction by default.
pub(crate) const DEFAULT_CHUNK: u64 = 256;

/// The cases and rules of the suite `sessions`.
pub(crate) static SUITE: Suite = Suite {
    name: "sessions",
    about: "a backlog of conversations decrypted and kept, few or many messages a transaction; \
            component 5",
    cases,
    sized: &[DECRYPT],
    untimed: &[MEMORY, SEND],
    compared: &[OURS],
    floors: &[BARE],
    axis: "members",
    notes: &[(DECRYPT, KEPT)],
    rounds: super::all_rounds,
};

const KEPT: &str = "What is kept differs: endseal writes the states, the contents and the ids of all \
    messages, core-crypto the states alone; bare writes one page of nothing. Peers are asked for one \
    thread.";

/// Returns the parameters of a case: its backlog, the messages of a transaction, the engine and the
/// members of a group, and the threads.
pub(crate) fn params(
    (messages, conversations): (u64, u64),
    per_commit: u64,
    (engine, members): (u64, u64),
    threads: u64,
) -> Params {
    let params = [
        ("messages", messages),
        ("conversations", conversations),
        ("per_commit", per_commit),
        ("engine", engine),
        ("threads", threads),
        ("members", members),
    ];
    params.map(|(name, value)| (name.to_owned(), value)).into()
}

/// Returns the parameters of a case between two devices.
pub(crate) fn pairwise(scenario: (u64, u64), per_commit: u64, threads: u64) -> Params {
    params(scenario, per_commit, (PAIRWISE, 2), threads)
}

/// Returns the parameters of a case in groups, with one transaction.
pub(crate) fn groups((messages, conversations, members): (u64, u64, u64), threads: u64) -> Params {
    params((messages, conversations), messages, (MLS, members), threads)
}

fn cases(extent: Extent) -> Vec<Case> {
    let quick = extent == Extent::Quick;
    let mut cases = Vec::new();
    let mut push = |case, params| cases.push(Case { suite: "sessions", case, params });
    for threads in [1, 2] {
        for scenario in SCENARIOS {
            push(DECRYPT, pairwise(scenario, scenario.0, threads));
            push(DECRYPT, pairwise(scenario, CHUNK, threads));
        }
    }
    // With one message in each transaction every message costs an fsync, which takes seconds.
    for scenario in SCENARIOS {
        if !quick || scenario != SCENARIOS[2] {
            push(DECRYPT, pairwise(scenario, 1, 1));
        }
        if !quick {
            push(DECRYPT, pairwise(scenario, 1, 2));
        }
    }
    for group in GROUPS.into_iter().filter(|(_, _, members)| !quick || *members < 100) {
        for threads in [1, 2] {
            push(DECRYPT, groups(group, threads));
        }
    }
    let whole = SCENARIOS[2];
    push(MEMORY, pairwise(whole, whole.0, 1));
    for messages in GROWING {
        push(MEMORY, pairwise((messages, 1), DEFAULT_CHUNK, 1));
    }
    push(SEND, pairwise(whole, DEFAULT_CHUNK, 1));
    cases
}
