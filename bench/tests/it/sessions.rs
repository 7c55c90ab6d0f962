//! The suite `sessions` with our subjects and real stores.

use endseal_bench::ours::sessions::{Bare, Sessions, drain};
use endseal_bench::record::{Better, Params};
use endseal_bench::subject::{Subject, SubjectError};

/// Returns the parameters: messages, conversations, messages a transaction, engine, threads,
/// members.
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
            // More iterations than inputs: each iteration must find the receiver in the same state.
            let elapsed = prepared.run(3).unwrap();
            assert!(elapsed.wall_ns > 0.0 && elapsed.cpu_ns > Some(0.0), "{name} {shape:?}");
            let extra = prepared.extra().unwrap();
            let of = |metric: &str| extra.iter().find(|it| it.metric == metric);
            if name == "bare" {
                continue;
            }
            let recovered = of("recovered").unwrap();
            assert_eq!(
                (recovered.samples.as_slice(), recovered.better),
                (&[100.0][..], Better::More)
            );
        }
    }
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
    // No program is set that could open a backlog in a process of its own.
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
