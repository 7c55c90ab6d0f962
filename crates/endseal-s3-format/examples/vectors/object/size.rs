//! Vectors of the section "Sizes".

use std::path::Path;

use endseal_testing::Vector;

use super::{MIN, sealed_len};

pub(super) fn write(dir: &Path) {
    let mut lengths = Vec::new();
    for edge in [0, 16_384, 32_768, MIN, 2 * MIN, 9_998 * MIN, 9_999 * MIN, 10_000 * MIN, 1 << 40] {
        lengths.extend([edge.max(1) - 1, edge, edge + 1]);
    }
    lengths.extend([16_383, 5_000_000, 123_456_789, (5 << 40) - 1, 5 << 40]);
    lengths.sort_unstable();
    lengths.dedup();
    let pairs: Vec<String> =
        lengths.iter().map(|len| format!("    [{len}, {}]", sealed_len(*len))).collect();
    // Lengths below the shortest, between two values at which a chunk or a slot starts, and above
    // the longest.
    let mut none = vec![0, 1, 876, sealed_len(5 << 40) + 1, u64::MAX];
    for edge in [16_384, 32_768, MIN, 2 * MIN, 9_999 * MIN, 10_000 * MIN] {
        let (before, behind) = (sealed_len(edge - 1), sealed_len(edge));
        none.extend([before + 1, behind - 1]);
    }
    let none: Vec<String> = none.iter().map(|len| format!("    {len}")).collect();
    Vector::bare("sizes")
        .with("comment", "pairs of P and T(P), and lengths that no object has")
        .with_json("pairs", &format!("[\n{}\n  ]", pairs.join(",\n")))
        .with_json("none", &format!("[\n{}\n  ]", none.join(",\n")))
        .write(dir);
}
