//! Component 4: encryption, signatures and a signer's whole answer in Nostr.

use core::ops::RangeInclusive;

use super::{Case, Extent, Suite};
use crate::case::{MIN_ROUNDS, OURS};

/// Sizes of the published rows of ciphers, in bytes.
const CIPHERS: [u64; 6] = [16, 64, 256, 1024, 4096, 8192];
/// Sizes of the published rows of NIP-44, with a key derived for each; 1024 is in the published
/// sample.
const DERIVED: [u64; 6] = [32, 128, 512, 1024, 2048, 4096];
/// Largest plaintext without the extended length, in bytes.
const LARGEST: u64 = 65_535;
/// Bytes of the content of a signed event.
const CONTENT: u64 = 100;
/// Rounds of the published fragmentation test, and a thousand times as many.
const ROUNDS: [u64; 2] = [10, 10_000];
/// Numbers of the instruction sets in the parameter `isa`: RV32IMC, Cortex-M4, Xtensa LX7.
pub(crate) const ISAS: [(u64, &str); 3] = [(1, "rv32imc"), (2, "cortex-m4"), (3, "xtensa-lx7")];
/// Sizes of the published budget: the buffer of a plaintext and that of a payload.
pub(crate) const BUDGET: [usize; 2] = [8 * 1024, 16 * 1024];

/// Rounds of encryption within the published memory budget.
pub(crate) const FRAGMENTATION: &str = "fragmentation";
/// Our subject with a decision by an app's rules in the case `flow`.
pub(crate) const POLICY: &str = "endseal-policy";
/// A signer's process signs events for a client behind a relay.
pub(crate) const BUNKER_SIGN: &str = "bunker_sign";
/// Not timed by rounds: memory of a signer's process.
pub(crate) const BUNKER_IDLE: &str = "bunker_idle";
/// Number of signatures of an iteration.
const SIGNATURES: u64 = 256;
/// Number of apps of the idle signer.
const APPS: u64 = 100;
/// Not timed by rounds: instructions, stack and image on a chip.
pub(crate) const MCU: &str = "mcu";

const SIZED: [&str; 1] = ["nip44_encrypt"];

/// The cases and rules of the suite `nostr`.
pub(crate) static SUITE: Suite = Suite {
    name: "nostr",
    about: "encryption, signatures and a signer's whole answer in Nostr; component 4",
    cases,
    sized: &SIZED,
    untimed: &[MCU, BUNKER_IDLE],
    compared: &[OURS],
    floors: &[],
    axis: "bytes",
    notes: &[("flow", FLOW), (BUNKER_SIGN, BUNKER), (FRAGMENTATION, FRAGMENTS)],
    rounds,
};

const FLOW: &str = "A signer's whole answer without a relay: a request event is parsed, its signature verified, its \
    content decrypted and parsed; the event in it is signed; the response is encrypted, and its event signed and \
    written. endseal-policy also decides by the 16 rules of an app, and computes the request's digest.";

const BUNKER: &str = "256 events of kind 1 with 200 B are signed for one client, the same for all, over khatru. CPU time is that of \
    the signer's process alone. Every signature is verified, after the clock. endseal decides by its rules, and no signature leaves \
    before its line of the audit log is durable; the others grant everything and keep nothing.";

const FRAGMENTS: &str = "Messages of 16 B to 8 KB encrypted and decrypted one after the other in a buffer of 8 KB and \
    one of 16 KB, the published budget.";

/// Returns the least and largest number of rounds. Between processes a quick run and the noise
/// floor have few, because an app has a quota.
fn rounds(extent: Extent, case: &Case) -> RangeInclusive<usize> {
    match extent {
        Extent::Quick if case.case == BUNKER_SIGN => MIN_ROUNDS..=MIN_ROUNDS,
        _ => super::all_rounds(extent, case),
    }
}

fn cases(extent: Extent) -> Vec<Case> {
    let mut cases = Vec::new();
    let quick = extent == Extent::Quick;
    let few = |all: &[u64]| -> Vec<u64> {
        all.iter().copied().filter(|bytes| !quick || [16, 32, 1024, 8192].contains(bytes)).collect()
    };
    let (sizes, derived) = (few(&CIPHERS), few(&DERIVED));
    let large: Vec<u64> = sizes.iter().copied().chain([LARGEST]).collect();
    for name in ["nip44_encrypt", "nip44_decrypt"] {
        for (cached, sizes) in [(1, &large), (0, &derived)] {
            let params = |bytes: &u64| [("bytes", *bytes), ("cached", cached)];
            cases.extend(sizes.iter().map(|bytes| case(name, &params(bytes))));
        }
    }
    cases.push(case("full_decrypt", &[("bytes", 1024), ("nip", 44)]));
    for name in ["aes_encrypt", "aes_decrypt"] {
        cases.extend(sizes.iter().map(|bytes| case(name, &[("bytes", *bytes)])));
    }
    cases.push(case("conversation_key", &[]));
    cases.extend(["sign", "verify"].map(|name| case(name, &[("bytes", CONTENT)])));
    cases.push(case("flow", &[("bytes", 1024)]));
    let in_flight = |requests| [("in_flight", requests), ("count", SIGNATURES)];
    cases.extend([1, 32].map(|requests| case(BUNKER_SIGN, &in_flight(requests))));
    cases.push(case(BUNKER_IDLE, &[("apps", APPS)]));
    let rounds = ROUNDS.into_iter().filter(|rounds| !quick || *rounds == ROUNDS[0]);
    cases.extend(rounds.map(|rounds| case(FRAGMENTATION, &[("rounds", rounds)])));
    for (isa, _) in ISAS {
        cases.extend(sizes.iter().map(|bytes| case(MCU, &[("isa", isa), ("bytes", *bytes)])));
    }
    cases
}

fn case(case: &'static str, params: &[(&str, u64)]) -> Case {
    Case::new("nostr", case, params)
}
