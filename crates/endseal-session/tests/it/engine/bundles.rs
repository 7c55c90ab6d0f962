//! Bundles that were made and were not published in the directory.

use endseal_keyring::device::{PrekeyBundle, PrekeyKind};
use endseal_session::EngineError;

use super::party::Party;

const DAY: u64 = 24 * 60 * 60 * 1_000;

fn make(party: &mut Party, count: usize, now: u64) -> Vec<PrekeyBundle> {
    let made = party.engine().transaction(|t| t.prekey_bundles(count, now));
    made.map_err(|it: EngineError| it).unwrap()
}

fn pending(party: &mut Party) -> Vec<PrekeyBundle> {
    party.engine().transaction(|t| t.pending_bundles()).unwrap()
}

/// The upload fails repeatedly; the server has the bundles of the first attempt.
#[test]
fn a_call_that_is_repeated_gives_the_same_bundles() {
    let (mut alice, mut bob) = (Party::new(1), Party::new(2));
    let made = make(&mut bob, 3, DAY);
    assert_eq!(made.iter().filter(|it| it.kind() == PrekeyKind::OneTime).count(), 3);
    let published = bob.engine().transaction(|t| t.published(&made));
    published.map_err(|it: EngineError| it).unwrap();
    assert_eq!(pending(&mut bob), []);
    let fallback = made.last().unwrap();

    let again = make(&mut bob, 2, 2 * DAY);
    assert_eq!(again.last(), Some(fallback));
    assert!(!made.contains(&again[0]) && !made.contains(&again[1]));
    for turn in 0..3 {
        match turn {
            0 => bob.restart(),
            1 => bob.kill(),
            _ => {}
        }
        assert_eq!(make(&mut bob, 2, 3 * DAY), again);
        assert_eq!(pending(&mut bob), again[..2]);
    }
    // A larger number gives the same bundles and new ones.
    let more = make(&mut bob, 3, 3 * DAY);
    assert_eq!(more[..2], again[..2]);
    // Sessions begin with the fallback bundle that the server has.
    alice.begin_with(fallback);
    let body = alice.send(bob.address, b"hello");
    bob.receive_one(alice.address, b"id", &body);
}

#[test]
fn keys_of_a_transaction_that_was_dropped_were_never_made() {
    let mut bob = Party::new(2);
    let kept = make(&mut bob, 1, DAY);
    let dropped = bob.engine().transaction(|t| {
        t.prekey_bundles(5, DAY)?;
        t.published(&kept)?;
        Err::<(), _>(EngineError::Ended)
    });
    assert!(dropped.is_err());
    assert_eq!(pending(&mut bob), kept);
    assert_eq!(make(&mut bob, 1, DAY), kept);
}

/// A bundle that was used before it was recorded as published is not returned again.
#[test]
fn a_used_bundle_is_not_pending() {
    let (mut alice, mut bob) = (Party::new(1), Party::new(2));
    let made = make(&mut bob, 2, DAY);
    alice.begin_with(&made[0]);
    let body = alice.send(bob.address, b"hello");
    bob.receive_one(alice.address, b"id", &body);
    assert_eq!(pending(&mut bob), made[1..]);
}
