//! What station 2 set out to reach on the wire.

use super::super::document::Document;
use super::super::figures::{Case, Figures, OURS};
use super::super::goals::{Bound, Goal, Measure};
use super::{
    CLASSICAL, ETHERNET, FORKS, QUINN, TCP_TLS, bulk, collected, echo, handshake, messages,
    wire_size,
};
use crate::words;

pub(super) fn goals(figures: &Figures<'_>) -> Vec<Goal> {
    let at_most = |what: &str, measure, bound| Goal {
        what: what.into(),
        measure,
        bound: Bound::AtMost(bound),
        note: None,
    };
    // How many times longer ours takes than another is how many times faster that one is.
    let longer = |case, than| Measure::Factor { case, subject: than, against: OURS };
    let of_classical = |metric| {
        let (ours, classical) =
            (metric_of(figures, OURS, metric), metric_of(figures, CLASSICAL, metric));
        Measure::Share(share(ours, classical))
    };
    let bytes = |subject| {
        let [sent, received] =
            ["bytes_sent", "bytes_received"].map(|metric| metric_of(figures, subject, metric));
        Some(sent? + received?)
    };
    let round_trips = |subject| metric_of(figures, subject, "round_trips").map(f64::round);
    let size = figures.row(&wire_size(8192), OURS, "size").map(|row| row.median);
    let mut goals = vec![
        at_most(
            "Post-quantum handshake beside classical: CPU of both ends",
            of_classical("cpu"),
            3.0,
        ),
        at_most(
            "Post-quantum handshake beside classical: time",
            longer(handshake(), CLASSICAL),
            1.6,
        ),
        at_most(
            "Post-quantum handshake beside classical: UDP payload, both ways",
            Measure::Exact(share(bytes(OURS), bytes(CLASSICAL))),
            4.0,
        ),
        at_most(
            "Post-quantum handshake beside classical: round trips, in whole ones",
            Measure::Exact(share(round_trips(OURS), round_trips(CLASSICAL))),
            1.0,
        ),
    ];
    for (subject, against, name) in [
        (OURS, CLASSICAL, "beside classical keys"),
        (OURS, QUINN, "beside plain quinn"),
        (ETHERNET, QUINN, "in packets as over Ethernet, beside plain quinn"),
    ] {
        for (what, case) in connected() {
            goals.push(Goal {
                what: format!("{what}, {name}"),
                measure: Measure::Factor { case, subject, against },
                bound: Bound::AtLeast(0.95),
                note: None,
            });
        }
    }
    goals.extend([
        at_most("Time of an echo of 8 KB, beside TCP and TLS 1.3", longer(echo(), TCP_TLS), 1.4),
        Goal {
            note: Some(UNCOLLECTED),
            ..Goal::faster(
                "1,000 messages of 8 KB, beside TCP and TLS 1.3",
                messages(),
                TCP_TLS,
                0.8,
            )
        },
        Goal::faster("Bulk, 64 MB, beside TCP and TLS 1.3", bulk(), TCP_TLS, 0.35),
        at_most(
            "UDP payload of a message of 8 KB, of its own bytes (1.034)",
            Measure::Exact(share(size, Some(8192.0))),
            1.034,
        ),
    ]);
    goals
}

fn connected() -> [(&'static str, Case); 4] {
    [
        ("Echo of 8 KB", echo()),
        ("1,000 messages of 8 KB", messages()),
        ("1,000 messages of 8 KB, 64 KB collected before a write", collected()),
        ("Bulk, 64 MB", bulk()),
    ]
}

const UNCOLLECTED: &str = "Each on its way before the next call, as where this goal was set: one write \
     for each on TCP. With 64 KB collected before a write, which no goal was set on, the ratio is in \
     the table \u{201c}Once connected\u{201d}: TCP gains more.";

fn metric_of(figures: &Figures<'_>, subject: &str, metric: &str) -> Option<f64> {
    figures.row(&handshake(), subject, metric).map(|row| row.median)
}

fn share(of: Option<f64>, whole: Option<f64>) -> Option<f64> {
    Some(of? / whole.filter(|whole| *whole > 0.0)?)
}

/// Where the two differ by what they are.
pub(super) fn why_lost(case: &Case, metric: &str, other: &str) -> Option<&'static str> {
    let tcp = other.starts_with("tcp");
    match (&*case.case, metric) {
        (_, "idle_memory") if tcp => Some(
            "the state and the buffers of TCP are the kernel's, where no allocator counts them",
        ),
        ("handshake", "round_trips") => None,
        ("handshake" | "wire_size", "bytes_sent" | "bytes_received" | "size") if tcp => {
            Some("headers of QUIC's packets count, those of TCP are the kernel's and do not")
        }
        ("handshake" | "echo", _) if tcp => {
            Some("packets are made, timed and acknowledged in the process, TCP's in the kernel")
        }
        (_, _) if tcp => Some(
            "packets of 6,550 bytes, each sealed and acknowledged in the process; the loopback \
             interface takes up to 64 KB of TCP at once",
        ),
        (_, _) if other.starts_with(QUINN) => Some(
            "the same library without frames, bounds of its own, a control stream and smaller windows",
        ),
        (_, _) if FORKS.contains(&other) => {
            Some("a fork of the same library, without frames and a control stream")
        }
        _ => None,
    }
}

pub(super) fn why_missed(document: &mut Document, figures: &Figures<'_>) {
    let mut parts = Vec::new();
    for (what, case) in connected() {
        let [ours, quinn, tcp] = [OURS, QUINN, TCP_TLS]
            .map(|subject| figures.row(&case, subject, "cpu").map(|row| row.median));
        let (Some(ours), Some(quinn), Some(tcp)) = (ours, quinn, tcp) else { continue };
        parts.push(format!(
            "{what}: {} here, {} in plain quinn, {} in TCP with TLS",
            words::time(ours),
            words::time(quinn),
            words::time(tcp),
        ));
    }
    if parts.is_empty() {
        return;
    }
    document.paragraph(format!(
        "CPU time of both ends together. {}. What ours takes beyond quinn is our layer and the sizes of \
         our windows and buffers, what it saves is by longer packets; what quinn takes beyond TCP is packets of \
         1,452 bytes, each sealed and acknowledged outside the kernel, where the loopback interface gives \
         TCP 64 KB at once. On a \
         machine that is busy with something else, both ends share a CPU, and times become those of \
         the computations.",
        parts.join("; "),
    ));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Record;

    #[test]
    fn every_goal_names_a_case_of_the_suite() {
        let cases =
            crate::suite::Suite::find("transport").unwrap().cases(crate::suite::Extent::Quick);
        let record = Record::default();
        let goals = goals(&Figures::new(&record, Vec::new()));
        assert_eq!(goals.len(), 20);
        for goal in goals {
            let Measure::Factor { case, .. } = goal.measure else { continue };
            let found = cases.iter().any(|c| c.case == case.case && c.params == case.params);
            assert!(found, "{}", goal.what);
        }
    }
}
