//! The suite `sessions`: our subjects, over real stores.

use endseal_bench::ours::sessions::{Bare, Sessions, drain};
use endseal_bench::record::{Better, Params};
use endseal_bench::report::{html, markdown};
use endseal_bench::subject::{Subject, SubjectError};
use serde_json::{Value, json};

use crate::fixture::{empty, record};

/// Messages, conversations, messages a transaction, engine, threads, members.
fn params(values: [u64; 6]) -> Params {
    let names = ["messages", "conversations", "per_commit", "engine", "threads", "members"];
    names.map(str::to_owned).into_iter().zip(values).collect()
}

#[test]
fn our_subjects_pass_their_own_checks_in_every_shape() {
    for shape in [
        [30, 1, 30, 1, 1, 2],
        [30, 4, 7, 1, 2, 2],
        [30, 4, 30, 1, 2, 2],
        [3, 1, 1, 1, 1, 2],
        [20, 1, 20, 2, 1, 2],
        [20, 2, 20, 2, 2, 5],
        [20, 2, 3, 2, 1, 5],
    ] {
        let given = params(shape);
        for subject in [&mut Sessions::new() as &mut dyn Subject, &mut Bare::new()] {
            let name = subject.info().subject.clone();
            let mut prepared = match subject.prepare("decrypt_batch", &given, 2) {
                Err(SubjectError::Unsupported(_)) if name == "bare" && shape[2] != shape[0] => {
                    continue;
                }
                other => other.unwrap(),
            };
            let checked = prepared.check().unwrap();
            assert_eq!(checked.objection(), None, "{name} {shape:?}");
            assert_eq!(checked.tamper_refused, Some(true), "{name} {shape:?}");
            assert!(checked.sealed_bytes > Some(100), "{name} {shape:?}");
            // More than the inputs: each iteration finds the receiver as it was.
            let elapsed = prepared.run(3).unwrap();
            assert!(elapsed.wall_ns > 0.0 && elapsed.cpu_ns > Some(0.0), "{name} {shape:?}");
            let extra = prepared.extra().unwrap();
            let of = |metric: &str| extra.iter().find(|it| it.metric == metric);
            if name == "bare" {
                assert!(of("synchronise").unwrap().samples.iter().all(|ns| *ns > 0.0));
                continue;
            }
            let recovered = of("recovered").unwrap();
            assert_eq!(
                (recovered.samples.as_slice(), recovered.better),
                (&[100.0][..], Better::More)
            );
            let commits = u32::try_from(shape[0].div_ceil(shape[2])).unwrap();
            assert_eq!(of("commits").unwrap().samples, [f64::from(commits)], "{shape:?}");
            let conversations = usize::try_from(shape[1]).unwrap();
            assert_eq!(of("session_bytes").unwrap().samples.len(), conversations);
            let afterwards = shape[2] == shape[0] && shape[4] == 1;
            assert_eq!(of("again").is_some(), afterwards, "{shape:?}");
            assert_eq!(of("settle").is_some(), afterwards, "{shape:?}");
        }
    }
}

#[test]
fn events_become_messages_of_the_inbox() {
    for shape in [[30, 1, 30, 1, 1, 2], [30, 4, 1, 1, 1, 2], [300, 3, 300, 2, 1, 5]] {
        let mut subject = Sessions::new();
        let mut prepared = subject.prepare("receive", &params(shape), 2).unwrap();
        let checked = prepared.check().unwrap();
        assert!(checked.round_trip && checked.tamper_refused == Some(true), "{shape:?}");
        let elapsed = prepared.run(3).unwrap();
        assert!(elapsed.wall_ns > 0.0 && elapsed.cpu_ns > Some(0.0), "{shape:?}");
    }
    let bare = Bare::new().prepare("receive", &params([30, 1, 30, 1, 1, 2]), 2).is_err();
    assert!(bare, "it has nothing but cryptography");
}

#[test]
fn sending_and_memory_are_cases_of_their_own() {
    let mut subject = Sessions::new();
    let extra = |subject: &mut Sessions, case| {
        let mut prepared = subject.prepare(case, &params([40, 2, 10, 1, 1, 2]), 1).unwrap();
        prepared.extra().unwrap()
    };
    let sends = extra(&mut subject, "send_during");
    let of = |metric: &str| sends.iter().find(|it| it.metric == metric).unwrap().samples[0];
    assert!(of("send_p50") > 0.0 && of("send_p50") <= of("send_p99"));
    assert!(of("send_p99") <= of("wait_p99"), "waiting is sending and what came before it");
    // No program is set that opens a backlog in a process of its own.
    assert_eq!(extra(&mut subject, "memory"), []);
    assert!(drain::serve(&["here".into(), "nothing".into()]).is_err());
}

#[test]
fn what_there_is_not_is_unsupported() {
    let good = [4, 2, 2, 1, 1, 2];
    let mut wrong = vec![("seal", params(good))];
    for (at, value) in [(0, 0), (1, 300), (2, 5), (3, 3), (4, 0), (5, 3)] {
        let mut shape = good;
        shape[at] = value;
        wrong.push(("decrypt_batch", params(shape)));
    }
    let mut more = params(good);
    more.insert("bytes".into(), 1);
    wrong.push(("decrypt_batch", more));
    for (case, given) in wrong {
        for subject in [&mut Sessions::new() as &mut dyn Subject, &mut Bare::new()] {
            let refused = subject.prepare(case, &given, 1).err();
            assert!(matches!(refused, Some(SubjectError::Unsupported(_))), "{case} {given:?}");
        }
    }
}

/// A run with the figures of the research note: times in ms of one by one, 100 and all.
fn backlog_run() -> Value {
    let (mut rows, mut ratios) = (vec![], vec![]);
    for (messages, conversations, ours, theirs, floor) in [
        (2000, 1, [411.0, 11.5, 5.7], [704.0, 75.0, 62.7], 3.5),
        (1000, 5, [199.0, 6.1, 3.2], [349.0, 42.0, 31.3], 1.8),
        (5000, 6, [852.0, 40.0, 14.3], [1617.0, 201.0, 170.0], 8.5),
    ] {
        for (i, per_commit) in [1, 100, messages].into_iter().enumerate() {
            for threads in [1, 2] {
                let given = params([messages, conversations, per_commit, 1, threads, 2]);
                let mut row = |subject: &str, metric: &str, unit: &str, median: f64| {
                    rows.push(json!({"suite": "sessions", "case": "decrypt_batch",
                        "params": given, "subject": subject, "metric": metric, "unit": unit,
                        "median": median, "ci95": [median, median], "n": 15}));
                };
                row("endseal", "time", "ns", ours[i] * 1e6 / if threads == 2 { 1.3 } else { 1.0 });
                row("endseal", "recovered", "%", 100.0);
                if threads == 2 {
                    continue;
                }
                row("core-crypto", "time", "ns", theirs[i] * 1e6);
                row("core-crypto", "recovered", "%", 0.0);
                if per_commit == messages {
                    row("bare", "time", "ns", floor * 1e6);
                    row("bare", "crypto", "ns", (floor - 0.2) * 1e6);
                    row("bare", "synchronise", "ns", 0.2e6);
                    row("bare", "synchronise_p95", "ns", 0.3e6);
                }
                for (other, ns) in [("core-crypto", theirs[i]), ("bare", floor)] {
                    let ratio = ns / ours[i];
                    ratios.push(json!({"suite": "sessions", "case": "decrypt_batch",
                        "params": given, "subject": "endseal", "against": other, "clock": "wall",
                        "median": ratio, "ci95": [ratio * 0.999, ratio * 1.001]}));
                }
            }
        }
    }
    let mut run = empty();
    run["arguments"]["suites"] = json!(["sessions"]);
    run["noise_floor"] = json!(0.01);
    (run["rows"], run["ratios"]) = (json!(rows), json!(ratios));
    run
}

#[test]
fn the_report_has_the_table_of_the_seed_and_judges_its_goals() {
    let record = record(&backlog_run());
    let text = markdown(&record);
    let line = |start: &str| {
        let found = text.lines().find(|line| line.starts_with(start));
        found.unwrap_or_else(|| panic!("no line starts with {start:?} in {text}")).to_owned()
    };
    for (start, wanted) in [
        ("| 2,000 messages, 1 conversation | 10.2 s → 6.05 s<br>40.83 %", "→ 62.7 ms<br>91.09 % |"),
        ("| mean gain |", "| 42.45 % |"),
        ("| 2,000 messages, 1 conversation, beside CoreCrypto's one tr", "| ≥ 8.00× | 11.0×"),
        ("| 2,000 messages, 1 conversation, beside CoreCrypto's one for", "| 124× | reached |"),
        ("| 5,000 messages, 6 conversations, on 2 threads", "| 15.5× | reached |"),
        ("| 2,000 messages, 1 conversation, one transaction", "| 72.1× | reached |"),
        ("| 5,000 messages, 6 conversations, chunks", "| ≤ 2.50× | 2.80× | **missed** |"),
        ("| 2,000 messages, 1 conversation, beside the bare", "| ≤ 1.60× | 1.63×"),
        ("| between two devices |", "**0.0 %**"),
    ] {
        assert!(line(start).contains(wanted), "{}", line(start));
    }
    assert!(text.contains("The rest, 1.10 µs a message, is that of the store"), "{text}");
    let page = html(&record);
    assert!(page.contains("A backlog before and after transactions") && !page.contains("NaN"));
}

#[test]
fn a_run_without_backlogs_says_so() {
    let mut run = empty();
    run["arguments"]["suites"] = json!(["sessions"]);
    let text = markdown(&record(&run));
    assert!(text.contains("did not measure backlogs"));
    assert!(text.contains("measured no messages of sessions"));
}
