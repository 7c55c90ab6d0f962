//! The suite `node`: a hub and nodes, at sizes that take little time.

use endseal_bench::ours::node::{DecryptBatch, Node};
use endseal_bench::record::Params;
use endseal_bench::subject::{Extra, Subject, SubjectError};

fn params<const N: usize>(values: [(&str, u64); N]) -> Params {
    values.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn visit(frames: u64, senders: u64, per_commit: u64) -> Params {
    params([("frames", frames), ("senders", senders), ("per_commit", per_commit)])
}

#[track_caller]
fn of<'a>(extra: &'a [Extra], metric: &str) -> &'a [f64] {
    let found = extra.iter().find(|it| it.metric == metric);
    &found.unwrap_or_else(|| panic!("no {metric}")).samples
}

#[test]
fn a_backlog_is_received_in_every_form() {
    for shape in [(12, 3, 12), (5, 2, 1)] {
        let given = visit(shape.0, shape.1, shape.2);
        let mut node = Node::new();
        let mut prepared = node.prepare("sync", &given, 1).unwrap();
        assert!(prepared.check().unwrap().round_trip, "{shape:?}");
        // More than once: each iteration must find the hub and the node in the same state.
        let elapsed = prepared.run(2).unwrap();
        assert!(elapsed.wall_ns > 0.0 && elapsed.cpu_ns > Some(0.0), "{shape:?}");
    }
    let mut floor = DecryptBatch::new();
    let mut prepared = floor.prepare("sync", &visit(12, 3, 12), 1).unwrap();
    assert!(prepared.check().unwrap().round_trip);
    assert!(prepared.run(2).unwrap().wall_ns > 0.0);
}

#[test]
fn frames_are_put_as_fast_as_they_are_answered_and_at_a_given_rate() {
    let given = params([("bytes", 100), ("frames", 64), ("senders", 4)]);
    let mut node = Node::new();
    let mut prepared = node.prepare("put", &given, 1).unwrap();
    assert!(prepared.check().unwrap().round_trip);
    assert!(prepared.run(2).unwrap().wall_ns > 0.0);
    let extra = prepared.extra().unwrap();
    for metric in ["frames_s", "of_insert_loop", "commits"] {
        let samples = of(&extra, metric);
        assert!(samples.len() == 2 && samples.iter().all(|it| *it > 0.0), "{metric}");
    }
    drop(prepared);
    let mut prepared = node.prepare("put_open", &given, 1).unwrap();
    assert!(prepared.check().unwrap().round_trip);
    let extra = prepared.extra().unwrap();
    for who in ["put", "insert"] {
        let [p50, p95, p99] =
            ["p50", "p95", "p99"].map(|it| of(&extra, &format!("{who}_{it}")).to_vec());
        assert!(p50.iter().zip(&p95).all(|(a, b)| *a > 0.0 && a <= b), "{who}");
        assert!(p95.iter().zip(&p99).all(|(a, b)| a <= b), "{who}");
    }
    assert!(of(&extra, "frames_s")[0] > 0.0);
}

#[test]
fn a_letter_is_in_every_inbox_and_its_bytes_are_counted() {
    let mut node = Node::new();
    // The larger group needs members that the smaller one does not have.
    for (members, round_trip) in [(2, 0), (3, 10)] {
        let given = params([("bytes", 1024), ("members", members), ("round_trip_ms", round_trip)]);
        let mut prepared = node.prepare("letter", &given, 1).unwrap();
        assert!(prepared.check().unwrap().round_trip);
        let elapsed = prepared.run(2).unwrap();
        #[allow(clippy::cast_precision_loss, reason = "a few milliseconds")]
        let least = 2.0 * round_trip as f64 * 1e6;
        assert!(elapsed.wall_ns > least, "each way takes half of a round trip");
        let extra = prepared.extra().unwrap();
        let slots = 1124.0 * f64::from(u32::try_from(members).unwrap());
        for samples in [of(&extra, "up"), of(&extra, "stored")] {
            assert!(samples.len() == 2 && samples.iter().all(|it| *it > 1024.0 + slots));
        }
        let down = of(&extra, "down");
        assert!(down.iter().all(|it| (1024.0 + 1124.0..4096.0).contains(it)), "{down:?}");
        assert!(of(&extra, "udp_up")[0] > of(&extra, "up")[0]);
        assert!(of(&extra, "udp_down")[0] > down[0]);
    }
}

#[test]
fn waiting_frames_are_written_and_memory_is_that_of_another_process() {
    let mut node = Node::new();
    let given = params([("idle", 2), ("waiting", 30)]);
    let mut prepared = node.prepare("memory", &given, 1).unwrap();
    assert!(prepared.check().unwrap().round_trip);
    assert!(matches!(prepared.run(1), Err(SubjectError::Unsupported(_))));
    // No program is set that could serve a hub in a process of its own.
    assert_eq!(prepared.extra().unwrap(), []);
}

#[test]
fn what_there_is_not_is_unsupported() {
    let put = |frames, senders| params([("bytes", 10), ("frames", frames), ("senders", senders)]);
    for (case, given) in [
        ("seal", visit(4, 2, 4)),
        ("sync", visit(4, 0, 4)),
        ("sync", visit(4, 5, 4)),
        ("sync", visit(4, 2, 3)),
        ("sync", put(4, 2)),
        ("put", put(5, 2)),
        ("put", put(4, 1)),
        ("put_open", put(0, 2)),
        ("letter", params([("bytes", 10), ("members", 0), ("round_trip_ms", 0)])),
        ("memory", params([("idle", 1)])),
    ] {
        for subject in [&mut Node::new() as &mut dyn Subject, &mut DecryptBatch::new()] {
            let refused = subject.prepare(case, &given, 1).err();
            assert!(matches!(refused, Some(SubjectError::Unsupported(_))), "{case} {given:?}");
        }
    }
    for per_commit in [1, 4] {
        let floor = DecryptBatch::new().prepare("sync", &visit(4, 2, per_commit), 1).err();
        assert_eq!(floor.is_some(), per_commit == 1, "it has one transaction");
    }
}
