//! The codec's tables of component 2: serialize, deserialize, round trip and size, at three sizes
//! and three layers.

use super::{Case, Extent, Suite};
use crate::case::OURS;

/// The subject without an AEAD of its own.
pub(crate) const DIRECT: &str = "endseal-direct";

/// Sizes of the published tables: 8, 64 and 256 KB.
pub(crate) const BYTES: [u64; 3] = [8192, 65_536, 262_144];
/// Shares of a message that its blob has, in percent.
const BLOB_PERCENTS: [u64; 2] = [0, 75];
const LAYERS: [u64; 3] = [1, 2, 3];
const TIMED: [&str; 3] = ["encode", "decode", "roundtrip"];
const SIZED: &str = "wire_size";

/// The cases and rules of the suite `codec`.
pub(crate) static SUITE: Suite = Suite {
    name: "codec",
    about: "a message encoded, sealed and framed, and back; component 2",
    cases,
    sized: &[SIZED],
    untimed: &[SIZED],
    compared: &[OURS, DIRECT],
    // Copying, and encrypting a copy.
    floors: &["memcpy", "aes-256-gcm", "chacha20-poly1305"],
    axis: "bytes",
    notes: &[],
    rounds: super::all_rounds,
};

fn cases(extent: Extent) -> Vec<Case> {
    let mut cases = Vec::new();
    for name in TIMED.into_iter().chain([SIZED]) {
        for layer in LAYERS {
            for blob_percent in BLOB_PERCENTS {
                for bytes in BYTES {
                    let params =
                        [("bytes", bytes), ("blob_percent", blob_percent), ("layer", layer)];
                    cases.push(case(name, &params));
                }
            }
            cases.extend(BYTES.map(|bytes| case(name, &letter(bytes, layer))));
        }
    }
    if extent == Extent::Quick {
        cases.retain(is_quick);
    }
    cases
}

/// Returns true for every row of the published tables in both texts, and for a message of 8 KB with
/// a blob at layer 1.
fn is_quick(case: &Case) -> bool {
    let is = |name: &str, value: u64| case.params.get(name) == Some(&value);
    is("blob_percent", 0) || (is("layer", 1) && is("bytes", BYTES[0]))
}

fn letter(bytes: u64, layer: u64) -> [(&'static str, u64); 4] {
    [("bytes", bytes), ("blob_percent", 0), ("layer", layer), ("letter", 1)]
}

fn case(case: &'static str, params: &[(&str, u64)]) -> Case {
    Case::new("codec", case, params)
}
