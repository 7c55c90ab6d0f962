//! Distances by which messages may overtake each other (docs/spec/session.md, "Limits of the
//! ratchets").

use endseal_session::{BatchOptions, Envelope, Failure, Outcome};

use super::party::{NOW, Party, blake};

const GROUP: &[u8] = b"team";

fn texts(count: usize) -> Vec<Vec<u8>> {
    (0..count).map(|n| format!("text {n}").into_bytes()).collect()
}

/// Returns messages from one party to the other, with an id for each.
fn pairwise(one: &mut Party, other: &Party, count: usize) -> Vec<(Vec<u8>, Vec<u8>)> {
    let texts = texts(count);
    let bodies = one.send_all(other.address, &texts.iter().collect::<Vec<_>>());
    bodies.into_iter().map(|body| (blake(&body).to_vec(), body)).collect()
}

fn is_delivered(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Delivered(_))
}

#[test]
fn forty_overtaken_messages_are_opened_and_no_more() {
    let (mut one, mut other) = (Party::new(1), Party::new(2));
    one.meet(&mut other);
    let messages = pairwise(&mut one, &other, 60);
    // Each message is in its own batch, so the engine cannot reorder them.
    let outcomes: Vec<_> = messages
        .iter()
        .rev()
        .map(|(id, body)| other.receive(&[Envelope::from_device(id, one.address, body)])[0])
        .collect();
    assert!(outcomes[..41].iter().all(is_delivered), "{outcomes:?}");
    assert!(outcomes[41..].iter().all(|it| *it == Outcome::Failed(Failure::KeyGone)));
    // Failed messages leave nothing, and later ones are opened, also by the next process.
    other.kill();
    let next = pairwise(&mut one, &other, 1);
    other.receive_one(one.address, &next[0].0, &next[0].1);
    assert_eq!(other.texts().len(), 42);
}

#[test]
fn two_thousand_messages_may_be_missing_and_no_more() {
    let (mut one, mut other) = (Party::new(1), Party::new(2));
    one.meet(&mut other);
    let messages = pairwise(&mut one, &other, 2_010);
    let from = one.address;
    let outcome = |other: &mut Party, at: usize| {
        let (id, body) = &messages[at];
        other.receive(&[Envelope::from_device(id, from, body)])[0]
    };
    assert_eq!(outcome(&mut other, 2_009), Outcome::Parked(Failure::TooFarAhead));
    // One message of this chain was opened before, in `meet`.
    let far = (1_990..2_009).rev().find(|at| is_delivered(&outcome(&mut other, *at))).unwrap();
    assert!((1_998..=2_001).contains(&far), "{far}");
    assert!(matches!(outcome(&mut other, 2_009), Outcome::AlreadyDelivered(_)));
    assert!(is_delivered(&outcome(&mut other, far - 5)));
    assert_eq!(outcome(&mut other, far - 50), Outcome::Failed(Failure::KeyGone));
}

#[test]
fn a_thousand_group_messages_may_be_overtaken() {
    let (mut one, mut other) = (Party::new(1), Party::new(2));
    one.found(GROUP, &mut [&mut other]);
    let bodies = one.send_group(GROUP, &texts(1_000));
    let ids: Vec<_> = bodies.iter().map(|body| blake(body)).collect();
    let envelopes: Vec<_> = ids
        .iter()
        .zip(&bodies)
        .rev()
        .map(|(id, body)| Envelope::from_group(id, GROUP, body))
        .collect();
    for (at, chunk) in envelopes.chunks(300).enumerate() {
        let outcomes = other.receive(chunk);
        assert!(outcomes.iter().all(is_delivered), "{at}");
        other.restart();
    }
    assert_eq!(other.texts().len(), 1_000);
}

#[test]
fn more_than_a_thousand_missing_group_messages_are_too_many() {
    let (mut one, mut other) = (Party::new(1), Party::new(2));
    one.found(GROUP, &mut [&mut other]);
    let bodies = one.send_group(GROUP, &texts(1_100));
    let outcome =
        |other: &mut Party, at: usize| other.receive_group(GROUP, &blake(&bodies[at]), &bodies[at]);
    assert_eq!(outcome(&mut other, 1_099), Outcome::Parked(Failure::TooFarAhead));
    assert!(is_delivered(&outcome(&mut other, 1_020)));
    assert!(matches!(outcome(&mut other, 1_099), Outcome::AlreadyDelivered(_)));
    assert!(is_delivered(&outcome(&mut other, 3)));
}

#[test]
fn a_message_of_an_old_epoch_is_opened_three_epochs_long() {
    let (mut one, mut other) = (Party::new(1), Party::new(2));
    one.found(GROUP, &mut [&mut other]);
    let bodies = one.send_group(GROUP, &texts(3));
    for epoch in 0..4 {
        if epoch == 3 {
            assert!(is_delivered(&other.receive_group(GROUP, b"in time", &bodies[0])));
        }
        let (commit, _) = one.change(GROUP, |group| group.update(NOW));
        assert!(is_delivered(&other.receive_group(GROUP, &blake(&commit), &commit)));
        other.kill();
    }
    let late = other.receive_group(GROUP, b"late", &bodies[1]);
    assert_eq!(late, Outcome::Failed(Failure::OldEpoch));
}

#[test]
fn one_poisoned_message_in_two_thousand_costs_one_result() {
    for threads in [1, 2] {
        let (mut one, mut other) = (Party::new(1), Party::new(2));
        one.meet(&mut other);
        one.found(GROUP, &mut [&mut other]);
        let from = one.address;
        let mut messages = pairwise(&mut one, &other, 1_000);
        let group = one.send_group(GROUP, &texts(1_000));
        messages.extend(group.into_iter().map(|body| (blake(&body).to_vec(), body)));
        let good = messages.clone();
        for poisoned in [700, 1_500] {
            let body = &mut messages[poisoned].1;
            let last = body.len() - 1;
            body[last] ^= 1;
        }
        let envelopes = |messages: &[(Vec<u8>, Vec<u8>)]| -> Vec<Outcome> {
            let envelopes: Vec<_> = messages
                .iter()
                .enumerate()
                .map(|(at, (id, body))| match at < 1_000 {
                    true => Envelope::from_device(id, from, body),
                    false => Envelope::from_group(id, GROUP, body),
                })
                .collect();
            let options = BatchOptions::default().threads(threads);
            other.engine().decrypt_batch(&envelopes, &options).unwrap().outcomes
        };
        let mut envelopes = envelopes;
        let outcomes = envelopes(&messages);
        for (at, outcome) in outcomes.iter().enumerate() {
            if at == 700 || at == 1_500 {
                assert_eq!(*outcome, Outcome::Failed(Failure::Authentication));
            } else {
                assert!(is_delivered(outcome), "{at}: {outcome:?}");
            }
        }
        // The genuine messages come last.
        let again = envelopes(&good);
        let late = again.iter().filter(|it| is_delivered(it)).count();
        assert_eq!((late, is_delivered(&again[700]), is_delivered(&again[1_500])), (2, true, true));
    }
}
