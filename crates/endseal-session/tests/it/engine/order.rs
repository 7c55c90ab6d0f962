//! Messages of a chain that are delivered in another order than that of their numbers.

use core::ops::ControlFlow;

use endseal_session::{BatchOptions, Envelope, Failure, Outcome};
use endseal_testing::SplitMix64;

use super::party::{Party, blake};

const MANY: u32 = 700;

/// A backlog of one sender with more messages than any window, in chains of kinds 1 and 2.
fn backlog(answered: bool) -> (Party, Party, Vec<Vec<u8>>) {
    let (mut one, mut other) = (Party::new(1), Party::new(2));
    if answered {
        one.meet(&mut other);
    } else {
        one.begin(&mut other);
    }
    let texts: Vec<_> = (0..MANY).map(|n| n.to_le_bytes().to_vec()).collect();
    let bodies = one.send_all(other.address, &texts.iter().collect::<Vec<_>>());
    (one, other, bodies)
}

fn is_delivered(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Delivered(_))
}

#[test]
fn a_backlog_in_any_order_is_delivered_whole() {
    for answered in [false, true] {
        for case in 0..4 {
            let (one, mut other, bodies) = backlog(answered);
            let mut order: Vec<usize> = (0..bodies.len()).collect();
            match case {
                0 => order.reverse(),
                1 => order.rotate_left(100),
                _ => {
                    let mut random = SplitMix64::new(case);
                    for at in 1..order.len() {
                        order.swap(at, random.below(at + 1));
                    }
                }
            }
            let ids: Vec<_> = bodies.iter().map(|it| blake(it)).collect();
            let envelopes: Vec<_> = order
                .iter()
                .map(|at| Envelope::from_device(&ids[*at], one.address, &bodies[*at]))
                .collect();
            let options = if case < 2 { BatchOptions::whole() } else { BatchOptions::default() };
            let options = options.threads(usize::try_from(case).unwrap() + 1);
            let report = other.engine().decrypt_batch(&envelopes, &options).unwrap();
            assert_eq!(report.outcomes.len(), envelopes.len());
            assert!(report.outcomes.iter().all(is_delivered), "{answered} {case}");
            // Each result belongs to its message.
            let page = other.engine().inbox().page(0, usize::MAX >> 1).unwrap();
            for (at, outcome) in order.iter().zip(&report.outcomes) {
                let Outcome::Delivered(number) = outcome else { unreachable!() };
                let row = page.iter().find(|it| it.number == *number).unwrap();
                assert_eq!(*row.plaintext, u32::try_from(*at).unwrap().to_le_bytes());
            }
        }
    }
}

/// Watcher reports and the queue position cover exactly the processed messages from the start of
/// the batch.
#[test]
fn reports_and_positions_are_in_the_order_of_delivery() {
    for threads in [1, 2] {
        let (one, mut other, bodies) = backlog(true);
        let bodies: Vec<_> = bodies.into_iter().rev().collect();
        let ids: Vec<_> = bodies.iter().map(|it| blake(it)).collect();
        let positions: Vec<_> = (0..bodies.len()).map(|n| n.to_le_bytes()).collect();
        let mut envelopes = Vec::new();
        for (at, body) in bodies.iter().enumerate() {
            let envelope = Envelope::from_device(&ids[at], one.address, body);
            envelopes.push(envelope.at(&positions[at]));
        }
        // A failed message counts as processed, too.
        let junk = Envelope::from_device(b"junk", one.address, b"junk");
        envelopes.insert(0, junk);
        let options = BatchOptions::default().max_messages(64).threads(threads).queue(b"q");
        let (mut told, mut seen) = (0, Vec::new());
        let report = other.engine().decrypt_stream(&envelopes, &options, |chunk, _| {
            assert_eq!(chunk.range.start, told);
            assert_eq!(chunk.range.len(), chunk.outcomes.len());
            told = chunk.range.end;
            seen.extend_from_slice(chunk.outcomes);
            if told > 1 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        let report = report.unwrap();
        assert_eq!(report.outcomes[0], Outcome::Failed(Failure::Malformed));
        assert!(report.outcomes[1..].iter().all(is_delivered));
        assert_eq!(report.outcomes, seen);
        // The first delivered message has the highest number, so all are processed together with
        // it.
        assert_eq!(report.outcomes.len(), envelopes.len());
        let position = other.engine().transaction(|t| t.cursor(b"q")).unwrap();
        assert_eq!(position.unwrap(), positions[positions.len() - 1]);
        assert_eq!(other.texts().len(), bodies.len());
    }
}

/// The batch ends in the middle: messages that were opened early are stored, and are recognised
/// when they are delivered again.
#[test]
fn what_was_opened_ahead_is_delivered_once() {
    let (one, mut other, bodies) = backlog(true);
    let ids: Vec<_> = bodies.iter().map(|it| blake(it)).collect();
    let late: Vec<_> = (0..bodies.len()).rev().collect();
    let envelopes: Vec<_> =
        late.iter().map(|at| Envelope::from_device(&ids[*at], one.address, &bodies[*at])).collect();
    let options = BatchOptions::default().max_messages(64);
    // The first message is processed last, so the watcher is not called before the process ends.
    let mut calls = 0;
    let report = other.engine().decrypt_stream(&envelopes[..600], &options, |_, _| {
        calls += 1;
        ControlFlow::Break(())
    });
    assert_eq!((calls, report.unwrap().outcomes.len()), (1, 600));
    other.kill();
    let again = other.receive(&envelopes);
    assert!(again[..600].iter().all(|it| matches!(it, Outcome::AlreadyDelivered(_))));
    // Earlier messages were overtaken by more than the window.
    assert!(again[600..].iter().filter(|it| is_delivered(it)).count() >= 40);
}
