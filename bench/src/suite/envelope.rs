//! The tables of component 1: by group size, decrypt, large messages, concurrency, message size by
//! group size.

use super::{Case, Extent, Suite};
use crate::case::OURS;

/// 1 KB as the published tables define it.
const KB: u64 = 1024;

/// One recipient opens its view, which a server cut: the header, its own slot and the content.
pub(crate) const OPEN_VIEW: &str = "open_view";

/// Members of the group for which opening a view has a goal.
const VIEWERS: u64 = 100_000;

/// Subject of the suite that people get who exchange long identities.
pub(crate) const HYBRID: &str = "endseal-hybrid";

/// The cases and rules of the suite `envelope`.
pub(crate) static SUITE: Suite = Suite {
    name: "envelope",
    about: "one sender, a message or file sealed to a group; component 1",
    cases,
    sized: &["seal"],
    untimed: &[],
    compared: &[OURS, HYBRID],
    floors: &[],
    axis: "members",
    notes: &[("seal_many", ALL_CPUS), ("open_many", ALL_CPUS)],
    rounds: super::all_rounds,
};

const ALL_CPUS: &str = "endseal, and those whose description says so, share the messages out among all \
     CPUs; the others take one after the other.";

fn cases(extent: Extent) -> Vec<Case> {
    let mut cases = Vec::new();
    let members: &[u64] = match extent {
        Extent::Quick => &[5, 10, 25, 50, 100, 1000],
        _ => &[1, 5, 10, 25, 50, 100, 1000, 10_000],
    };
    for &members in members {
        cases.push(case("seal", &[("members", members), ("bytes", KB)]));
    }
    // The group of 10 is compared with the backlog below.
    let readers: &[u64] = match extent {
        Extent::Quick => &[10, 50, 100],
        Extent::Default => &[1, 5, 10, 25, 50, 100, 1000],
        Extent::Full => members,
    };
    for &members in readers {
        cases.push(case("open", &[("members", members), ("bytes", KB)]));
    }
    // The noise floor is measured in the first case, which is therefore a short one.
    let viewers: &[u64] = if extent == Extent::Quick { &[100] } else { &[100, VIEWERS] };
    for &members in viewers {
        cases.push(case(OPEN_VIEW, &[("members", members), ("bytes", KB)]));
    }
    let large: &[(u64, u64)] = match extent {
        // Rows of the published tables.
        Extent::Quick => &[(10, 25), (10, 100), (100, 25)],
        _ => &[(10, 10), (10, 25), (10, 100), (100, 10), (100, 25), (100, 100)],
    };
    for &(kb, members) in large {
        cases.push(case("seal", &[("members", members), ("bytes", kb * KB)]));
    }
    if extent > Extent::Quick {
        cases.push(case("seal", &[("members", 3), ("bytes", 16 * KB * KB)]));
        cases.push(case("open", &[("members", 3), ("bytes", 16 * KB * KB)]));
    }
    cases.push(case("seal_many", &[("members", 25), ("bytes", KB), ("count", 10)]));
    let counts: &[u64] = if extent == Extent::Quick { &[100] } else { &[100, 1000] };
    for &count in counts {
        let params = [("members", 10), ("bytes", KB), ("count", count)];
        cases.push(case("open_many", &params));
    }
    cases
}

fn case(case: &'static str, params: &[(&str, u64)]) -> Case {
    Case::new("envelope", case, params)
}
