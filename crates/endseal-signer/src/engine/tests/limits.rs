//! Limits: of events that are remembered, of ids, of the time for which a decision stands.

use super::*;
use crate::limit::{KEPT_SEEN, MAX_EVENTS};

/// Notes events until there is room for `left` more.
fn fill(world: &mut World, left: usize) {
    let mut transaction = world.engine.store.begin().unwrap();
    let there = transaction.events().len();
    for number in there..MAX_EVENTS - left {
        let mut id = [0xee; 32];
        id[..8].copy_from_slice(&number.to_le_bytes());
        assert!(transaction.note_event(id, NOW).unwrap());
    }
    transaction.commit().unwrap();
}

#[test]
fn a_pairing_that_meets_a_limit_leaves_its_batch_alone() {
    let mut world = World::new();
    let client = world.paired("notes", allow("sign"));
    let uri = world.invite("late", Vec::new());
    let late = Client::with_key(&uri, 12);
    fill(&mut world, 1);
    let signed = client.request(world.now, "r1", "sign_event", &[&note(1, "x")]);
    let more = client.request(world.now, "r2", "ping", &[]);
    let mut events = [signed, late.connect(world.now), more].map(String::into_bytes);
    let outgoing = world.engine.arrive(world.now, &mut events);
    let answers = client.read_all(&outgoing);
    assert!(answers.len() == 2 && answers[0].result.is_some(), "{answers:?}");
    assert_eq!(answers[1].error.as_deref(), Some("too many requests wait for a decision"));
    assert_eq!(late.read_all(&outgoing), []);
    assert_eq!(world.verdicts(), ["allowed"]);
    // It is paired as soon as there is room.
    world.now += KEPT_SEEN + 1;
    world.engine.tick(world.now);
    assert_eq!(world.send(&late, &late.connect(world.now)), [Answer::result("ack")]);
}

#[test]
fn a_large_id_is_answered_and_not_remembered() {
    let mut world = World::new();
    let client = world.paired("large", allow("nip44_encrypt"));
    let (peer, text) = (client.public_hex(), "x".repeat(30_000));
    for (len, is_remembered) in [(256, true), (257, false), (60_000, false)] {
        let id = "i".repeat(len);
        let event = client.request(world.now, &id, "nip44_encrypt", &[&peer, &text]);
        let outgoing = world.engine.arrive(world.now, &mut [event.into_bytes()]);
        let answers = client.read_all(&outgoing);
        assert!(answers[0].id == id && answers[0].result.is_some(), "{len}");
        // A relay that refuses the answer has an error sent in its place, if it is remembered.
        let refused = world.engine.refused(world.now, &outgoing[0].event.id);
        assert_eq!(refused.len(), usize::from(is_remembered), "{len}");
    }
}

#[test]
fn a_decision_stands_for_ten_minutes_across_restarts() {
    for is_restarted in [false, true] {
        let mut world = World::new();
        let mut grants = allow("sign:1");
        grants[0].uses = Some(1);
        let client = world.paired("notes", grants);
        let first = world.call(&client, "sign_event", &[&note(1, "x")]);
        assert!(first.result.is_some());
        let right = world.now;
        for (offset, is_kept) in [(KEPT_SEEN - 1, true), (KEPT_SEEN, false)] {
            world.now = right + offset;
            if is_restarted {
                world = world.restarted();
            }
            let limit = Answer::error("not allowed: the limit is reached");
            let expected = if is_kept { first.clone() } else { limit };
            let answer = world.call(&client, "sign_event", &[&note(1, "x")]);
            assert_eq!(answer, expected, "{offset} {is_restarted}");
        }
        assert_eq!(world.verdicts(), ["allowed", "limit"]);
    }
}
