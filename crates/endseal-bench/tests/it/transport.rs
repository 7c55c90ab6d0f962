//! The suite `transport`: our subjects, over real sockets.

use endseal_bench::ours::transport::Transport;
use endseal_bench::record::Params;
use endseal_bench::report::{html, markdown};
use endseal_bench::subject::{Subject, SubjectError};
use serde_json::{Value, json};

use crate::fixture::{empty, record};

fn params(given: &[(&str, u64)]) -> Params {
    given.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
}

#[test]
fn our_subjects_pass_their_own_checks_in_every_case() {
    for mut subject in Transport::all() {
        let name = subject.info().subject.clone();
        for (case, given) in [
            ("handshake", &[][..]),
            ("echo", &[("bytes", 8192)]),
            ("echo", &[("bytes", 1)]),
            ("messages", &[("bytes", 1000), ("count", 50), ("collect", 0)]),
            ("messages", &[("bytes", 1000), ("count", 150), ("collect", 65_536)]),
            ("bulk", &[("bytes", 1_000_001)]),
            ("wire_size", &[("bytes", 8192)]),
            ("message_size", &[("bytes", 8192)]),
        ] {
            let mut prepared = subject.prepare(case, &params(given), 16).unwrap();
            let checked = prepared.check().unwrap();
            assert!(checked.round_trip, "{name} {case}");
            assert_eq!(checked.tamper_refused, Some(true), "{name} {case}");
            assert_eq!(checked.sealed_bytes.is_some(), case.ends_with("_size"), "{name} {case}");
            // More than the inputs, in two runs on what is open.
            for iterations in [1, 17] {
                let elapsed = prepared.run(iterations).unwrap();
                assert!(elapsed.wall_ns > 0.0 && elapsed.cpu_ns > Some(0.0), "{name} {case}");
            }
            // The harness may check late.
            assert_eq!(prepared.check().unwrap().objection(), None, "{name} {case}");
        }
    }
}

#[test]
fn a_handshake_takes_two_round_trips_until_a_byte_is_back() {
    let mut subjects = Transport::all();
    assert_eq!(
        subjects.len(),
        3,
        "two policies, and one as over Ethernet, where this is measured anyway"
    );
    subjects.truncate(2);
    let mut least = [[f64::MAX; 3]; 2];
    // A busy machine delays packets and has them sent again, which only adds: the least of some
    // tries is what the protocol needs.
    for _ in 0..TRIES {
        for (subject, least) in subjects.iter_mut().zip(&mut least) {
            for (least, found) in least.iter_mut().zip(handshake(subject)) {
                *least = least.min(found);
            }
        }
        if objection(least).is_none() {
            return;
        }
    }
    assert_eq!(objection(least), None, "{least:?}");
}

const TRIES: usize = 6;

/// Bytes sent, bytes received and round trips: the least of what one preparation measures.
fn handshake(subject: &mut Transport) -> [f64; 3] {
    let mut prepared = subject.prepare("handshake", &Params::new(), 16).unwrap();
    let extra = prepared.extra().unwrap();
    // Nobody counts here: an allocator that does is the program's.
    assert!(extra.iter().all(|it| it.metric != "idle_memory"));
    ["bytes_sent", "bytes_received", "round_trips"].map(|metric| {
        let found = extra.iter().find(|it| it.metric == metric).unwrap();
        assert!((1..=3).contains(&found.samples.len()), "{metric}");
        found.samples.iter().copied().fold(f64::MAX, f64::min)
    })
}

/// What cannot be, of both policies; with what ML-KEM-768 and ML-DSA-65 add: 1,184 and 1,088 B for a
/// key and its answer, 1,952 and 3,309 B for a public key and a signature of each side. Classical
/// ones are 64 B and less, but first flights are filled up to 1,200 B.
fn objection([ours, classical]: [[f64; 3]; 2]) -> Option<&'static str> {
    let [sent, received, trips] = ours;
    let [classical_sent, classical_received, classical_trips] = classical;
    // One for the handshake and one for the byte. Less is impossible.
    if ![trips, classical_trips].iter().all(|trips| (2.0..2.9).contains(trips)) {
        return Some("round trips");
    }
    if !(6_445.0 - 1_200.0..20_000.0).contains(&(sent - classical_sent)) {
        return Some("bytes sent");
    }
    if !(6_349.0 - 1_200.0..20_000.0).contains(&(received - classical_received)) {
        return Some("bytes received");
    }
    None
}

#[test]
fn bytes_on_the_wire_are_those_of_the_message_and_some_packets() {
    for mut subject in Transport::all() {
        for bytes in [8192, 262_144] {
            let mut prepared =
                subject.prepare("wire_size", &params(&[("bytes", bytes)]), 4).unwrap();
            let size = prepared.check().unwrap().sealed_bytes.unwrap();
            assert!(size > bytes && size < bytes + bytes / 10, "{size} for {bytes}");
        }
    }
}

#[test]
fn what_is_no_case_is_declined() {
    let mut subject = Transport::all().remove(0);
    for (case, given) in [
        ("seal", &[("bytes", 1)][..]),
        ("handshake", &[("bytes", 1)]),
        ("echo", &[]),
        ("echo", &[("bytes", 0)]),
        ("echo", &[("bytes", (1 << 20) + 1)]),
        ("echo", &[("bytes", 1), ("count", 1)]),
        ("messages", &[("bytes", 1), ("collect", 0)]),
        ("messages", &[("bytes", 1), ("count", 100_001), ("collect", 0)]),
        ("messages", &[("bytes", 1), ("count", 1)]),
        ("messages", &[("bytes", 1), ("count", 1), ("collect", 8192)]),
        ("bulk", &[("bytes", (1 << 30) + 1)]),
        ("wire_size", &[("bytes", u64::MAX)]),
    ] {
        let declined = subject.prepare(case, &params(given), 16).err();
        assert!(matches!(declined, Some(SubjectError::Unsupported(_))), "{case} {given:?}");
    }
    let none = subject.prepare("echo", &params(&[("bytes", 1)]), 0).err();
    assert!(matches!(none, Some(SubjectError::Unsupported(_))));
}

/// Subject, ns of a handshake, CPU ns of one, bytes each way, round trips, ns of an echo, of messages,
/// of bulk, bytes on the wire at 8 KB, properties.
type Model = (&'static str, [f64; 9], &'static [&'static str]);

const MODELS: [Model; 5] = [
    (
        "endseal",
        [1.1e6, 1.2e6, 10_945.0, 2.13, 84e3, 7.3e6, 57e6, 8_398.0, 268_078.0],
        &["confidential", "authenticated", "sender", "post-quantum"],
    ),
    (
        "endseal-classical",
        [0.8e6, 0.5e6, 3_000.0, 2.08, 84e3, 7.3e6, 57e6, 8_398.0, 268_078.0],
        &["confidential", "authenticated", "sender"],
    ),
    (
        "endseal-ethernet",
        [1.1e6, 1.2e6, 10_945.0, 2.13, 84e3, 14.6e6, 114e6, 8_398.0, 268_078.0],
        &["confidential", "authenticated", "sender", "post-quantum"],
    ),
    (
        "quinn",
        [1.1e6, 1.1e6, 10_961.0, 2.13, 84e3, 14.8e6, 112e6, 8_397.0, 268_076.0],
        &["confidential", "authenticated", "sender", "post-quantum"],
    ),
    (
        "tcp-tls",
        [0.3e6, 0.3e6, 461.0, 3.12, 50e3, 5.8e6, 16e6, 8_218.0, 262_522.0],
        &["confidential", "authenticated", "sender"],
    ),
];

fn wire_run() -> Value {
    let (mut rows, mut ratios, mut subjects) = (vec![], vec![], vec![]);
    let compared = [("endseal", MODELS[0].1), ("endseal-ethernet", MODELS[2].1)];
    for (name, figures, properties) in MODELS {
        subjects.push(json!({"subject": name, "about": name, "runtime": "Rust",
                             "properties": properties}));
        let [connect, cpu, bytes, trips, echo, messages, bulk, small, large] = figures;
        let eight = json!({"bytes": 8192});
        let many = json!({"bytes": 8192, "count": 1000, "collect": 0});
        let collected = json!({"bytes": 8192, "count": 1000, "collect": 65_536});
        let size = json!({"bytes": 64 << 20});
        let mut row = |case: &str, params: &Value, metric: &str, unit: &str, median: f64| {
            rows.push(
                json!({"suite": "transport", "case": case, "params": params, "subject": name,
                             "metric": metric, "unit": unit, "median": median,
                             "ci95": [median, median], "n": 15}),
            );
        };
        let handshake = json!({});
        row("handshake", &handshake, "cpu", "ns", cpu);
        row("handshake", &handshake, "bytes_sent", "B", bytes);
        row("handshake", &handshake, "bytes_received", "B", bytes);
        row("handshake", &handshake, "round_trips", "1", trips);
        row("wire_size", &eight, "size", "B", small);
        row("wire_size", &json!({"bytes": 262_144}), "size", "B", large);
        let idle = if name == "tcp-tls" { 70_123.0 } else { 131_985.0 };
        row("handshake", &handshake, "idle_memory", "B", idle);
        for (case, params, ns, figure) in [
            ("handshake", &handshake, connect, 0),
            ("echo", &eight, echo, 4),
            ("messages", &many, messages, 5),
            ("messages", &collected, if name == "tcp-tls" { 2.9e6 } else { messages }, 5),
            ("bulk", &size, bulk, 6),
        ] {
            row(case, params, "time", "ns", ns);
            if case != "handshake" {
                row(case, params, "cpu", "ns", ns);
            }
            for (subject, ours) in compared.iter().filter(|(subject, _)| *subject != name) {
                let ratio = ns / ours[figure];
                ratios.push(json!({"suite": "transport", "case": case, "params": params,
                                   "subject": subject, "against": name, "clock": "wall",
                                   "median": ratio, "ci95": [ratio * 0.999, ratio * 1.001]}));
            }
        }
    }
    let mut run = empty();
    run["arguments"]["suites"] = json!(["transport"]);
    run["noise_floor"] = json!(0.01);
    (run["rows"], run["ratios"], run["subjects"]) = (json!(rows), json!(ratios), json!(subjects));
    run
}

#[test]
fn the_report_has_the_tables_of_the_wire_and_judges_its_goals() {
    let record = record(&wire_run());
    let text = markdown(&record);
    let line = |start: &str| {
        let found = text.lines().find(|line| line.starts_with(start));
        found.unwrap_or_else(|| panic!("no line starts with {start:?} in {text}")).to_owned()
    };
    for (start, wanted) in [
        ("| Post-quantum handshake beside classical: CPU", "| ≤ 3.00× | 2.40× | reached |"),
        ("| Post-quantum handshake beside classical: time", "| ≤ 1.60× | 1.38×"),
        ("| Post-quantum handshake beside classical: UDP", "| ≤ 4.00× | 3.65× | reached |"),
        ("| Post-quantum handshake beside classical: round", "| 1.000× | reached |"),
        ("| Bulk, 64 MB, beside plain quinn", "| ≥ 0.95× | 1.96×"),
        ("| Bulk, 64 MB, in packets as over Ethernet, beside plain quinn", "| ≥ 0.95× | 0.98×"),
        ("| Time of an echo of 8 KB, beside TCP", "| ≤ 1.40× | 1.68×"),
        ("| 1,000 messages of 8 KB, beside TCP and TLS 1.3¹", "| ≥ 0.80× | 0.79×"),
        (
            "| 1,000 messages of 8 KB, in packets as over Ethernet, beside plain",
            "| ≥ 0.95× | 1.01×",
        ),
        (
            "| 1,000 messages of 8 KB, 64 KB collected before a write, in packets as over Ethernet",
            "| 1.01×",
        ),
        ("| the same, 64 KB collected before a write", "| *0.40× (0.40–0.40)* |"),
        ("| Bulk, 64 MB, beside TCP", "**missed** |"),
        ("| endseal | 1.10 ms | 1.20 ms | 10,945 B", "| 2.13 | 2 |"),
        ("| endseal | 84.0 µs | – | 136,986 | – | 136,986 |", "| 1,177 |"),
        ("| tcp-tls | 50.0 µs |", "| 172,414 |"),
        ("| as published | 8,472 B (1.034×)", "| 260 KB |"),
        ("| endseal | 8,398 B | 1.0251× |", "268,078 B | 1.0226× |"),
    ] {
        assert!(line(start).contains(wanted), "{}", line(start));
    }
    assert!(line("| endseal | 1.10 ms").ends_with("| 131,985 B |"), "{}", line("| endseal |"));
    assert!(line("| tcp-tls | 300 µs").ends_with("| 70,123 B |"), "{}", line("| tcp-tls |"));
    let lost = line("| **handshake, idle memory** |");
    assert!(
        lost.contains("| *131,985 B against 70,123 B* |") && lost.contains("the kernel's"),
        "{lost}"
    );
    assert!(text.contains("2,272 B handshake"));
    assert!(text.contains("What ours takes beyond quinn"), "why a goal was missed");
    assert!(!html(&record).contains("NaN"));
}

#[test]
fn a_run_without_the_wire_says_so() {
    let mut run = empty();
    run["arguments"]["suites"] = json!(["transport"]);
    let text = markdown(&record(&run));
    assert!(text.contains("did not measure handshakes") && text.contains("no bytes on the wire"));
}
