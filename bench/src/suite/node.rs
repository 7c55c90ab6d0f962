//! Component 6, nodes over a hub: a backlog received, a letter to a group, frames made durable, and
//! the memory of the hub.

use core::ops::RangeInclusive;

use super::{Case, Extent, Suite};
use crate::case::{MIN_ROUNDS, OURS};

/// Subject that is the floor of [`SYNC`]: the frames are in memory, and one transaction decrypts
/// and stores them.
pub(crate) const DECRYPT_BATCH: &str = "decrypt-batch";
/// Our hub over PostgreSQL.
pub(crate) const POSTGRES: &str = "postgresql";
/// Three hubs over one database of PostgreSQL.
pub(crate) const POSTGRES_3: &str = "postgresql-3";
/// Timed from the connection to the acknowledgement.
pub(crate) const SYNC: &str = "sync";
/// Timed from the text to the last inbox.
pub(crate) const LETTER: &str = "letter";
/// Timed from the first frame to the last answer.
pub(crate) const PUT: &str = "put";
/// Not timed by rounds: the latency of frames that are due at half the rate of [`PUT`].
pub(crate) const PUT_OPEN: &str = "put_open";
/// Not timed by rounds: the peak memory of a hub's process.
pub(crate) const MEMORY: &str = "memory";

/// Backlogs of the suite `sessions`: frames and senders.
pub(crate) const SCENARIOS: [(u64, u64); 3] = [(1000, 5), (2000, 1), (5000, 6)];
/// The backlog of a quick run.
const SMALL: (u64, u64) = (200, 2);
/// Numbers of members of a group without its sender, as published.
pub(crate) const GROUPS: [u64; 5] = [5, 10, 25, 50, 100];
/// Round-trip times between a node and the hub, in ms.
pub(crate) const ROUND_TRIPS: [u64; 3] = [0, 50, 200];
/// Bytes of a letter's text, and of a frame's ciphertext.
const KB: u64 = 1024;
/// Number of nodes that put frames.
const SENDERS: u64 = 16;
/// Frames of one iteration: in a quick run, and in other runs.
const FRAMES: [u64; 2] = [800, 8000];
/// Number of idle connected nodes.
const IDLE: u64 = 200;
/// Frames in the mailboxes of disconnected nodes.
const WAITING: [u64; 2] = [10_000, 100_000];
/// Frames in the mailboxes of disconnected nodes in a full run.
const MANY_WAITING: u64 = 1_000_000;

/// The cases and rules of the suite `node`.
pub(crate) static SUITE: Suite = Suite {
    name: "node",
    about: "nodes over a hub: a backlog received, a letter to a group, durable frames, memory",
    cases,
    sized: &[],
    untimed: &[PUT_OPEN, MEMORY],
    compared: &[OURS],
    floors: &[DECRYPT_BATCH],
    axis: "members",
    notes: &[(SYNC, VISIT), (LETTER, TO_ALL), (PUT, DURABLE)],
    rounds,
};

const VISIT: &str = "A node with an encrypted store and a hub in the same process, over loopback QUIC. Before each \
    iteration the node's store and the hub's database are put back, and the hub is started. decrypt-batch gets the \
    same frames in memory. One frame a transaction: fetched with credit for one, decrypted, kept, acknowledged.";

const TO_ALL: &str = "Every member is a service (`endseal up`) with a store of its own, behind a relay of UDP of its own that \
    delays. All of them share the processors of one machine. Frames are counted by the hub, datagrams by the relays.";

const DURABLE: &str = "Nodes in the same process put frames over loopback QUIC, each into the mailbox of the next one, and wait \
    for no answer but at the end. The insert loop writes the same rows into another database, in as many commits.";

/// Returns the least and largest number of rounds: few for a case that takes seconds.
fn rounds(extent: Extent, case: &Case) -> RangeInclusive<usize> {
    let is_slow = case.case == SYNC && case.params.get("per_commit") == Some(&1);
    if extent == Extent::Quick || is_slow || case.case == LETTER {
        return MIN_ROUNDS..=MIN_ROUNDS;
    }
    super::all_rounds(extent, case)
}

fn cases(extent: Extent) -> Vec<Case> {
    let quick = extent == Extent::Quick;
    let mut cases = Vec::new();
    // The noise floor is measured in the first case of each name.
    let scenarios: &[_] = if quick { &[] } else { &SCENARIOS };
    for (frames, senders) in scenarios.iter().copied().chain([SMALL]) {
        cases.push(sync((frames, senders), frames));
    }
    cases.extend(scenarios.iter().map(|scenario| sync(*scenario, 1)));
    let sizes = if quick { &FRAMES[..1] } else { &FRAMES };
    for name in [PUT, PUT_OPEN] {
        let put =
            |frames: &u64| case(name, &[("bytes", KB), ("frames", *frames), ("senders", SENDERS)]);
        cases.extend(sizes.iter().rev().map(put));
    }
    if quick {
        return cases;
    }
    let many = (extent == Extent::Full).then_some(MANY_WAITING);
    let waiting = WAITING.into_iter().chain(many);
    cases.extend(waiting.map(|waiting| case(MEMORY, &[("idle", IDLE), ("waiting", waiting)])));
    for round_trip in ROUND_TRIPS {
        let letter = |members| {
            case(LETTER, &[("bytes", KB), ("members", members), ("round_trip_ms", round_trip)])
        };
        cases.extend(GROUPS.map(letter));
    }
    cases
}

fn sync((frames, senders): (u64, u64), per_commit: u64) -> Case {
    case(SYNC, &[("frames", frames), ("senders", senders), ("per_commit", per_commit)])
}

fn case(case: &'static str, params: &[(&str, u64)]) -> Case {
    Case::new("node", case, params)
}
