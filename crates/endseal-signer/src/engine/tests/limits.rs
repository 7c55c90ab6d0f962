//! Limits on remembered events, on ids, and on the time for which decisions are kept.

use core::time::Duration;
use std::time::Instant;

use endseal_nostr::nip04;

use super::*;
use crate::engine::quota::{Clock, DENIALS};
use crate::limit::{KEPT_SEEN, MAX_EVENTS, MAX_RULES};

const BUSY: &str = "too many requests wait for a decision";

/// Notes events until only `left` more can be noted.
fn fill(world: &mut World, left: usize) {
    let mut transaction = world.engine.store.begin().unwrap();
    let there = transaction.events().len();
    for number in there..MAX_EVENTS - left {
        let mut id = [0xee; 32];
        id[..8].copy_from_slice(&number.to_le_bytes());
        assert!(transaction.note_event(id, NOW, u32::try_from(number).unwrap()).unwrap());
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
    assert_eq!(answers[1].error.as_deref(), Some(BUSY));
    assert_eq!(late.read_all(&outgoing), []);
    assert_eq!(world.verdicts(), ["allowed"]);
    // The client is paired as soon as the old events have expired.
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
        // If a relay refuses a response that is remembered, an error is sent instead.
        let refused = world.engine.refused(world.now, &outgoing[0].event.id, "blocked: no");
        assert_eq!(refused.len(), usize::from(is_remembered), "{len}");
    }
}

/// A relay that takes few bytes: the app gets an error instead of a response that is lost.
#[test]
fn a_small_response_that_a_relay_calls_invalid_is_replaced_by_an_error() {
    let mut world = World::new();
    let client = world.paired("small", allow("nip44_encrypt"));
    for (text, reason, is_replaced) in [
        ("x".repeat(1_000), "invalid: event too large", true),
        ("x".repeat(1_000), "blocked: no", false),
        (String::new(), "invalid: event too large", false),
    ] {
        let event =
            client.request(world.now, "r1", "nip44_encrypt", &[&client.public_hex(), &text]);
        let outgoing = world.engine.arrive(world.now, &mut [event.into_bytes()]);
        let refused = world.engine.refused(world.now, &outgoing[0].event.id, reason);
        let answers = client.read_all(&refused);
        let expected = Answer::error("the answer is too large for the relay");
        assert_eq!(answers, vec![expected; usize::from(is_replaced)], "{reason} {}", text.len());
    }
}

#[test]
fn each_ignored_event_has_a_cause_in_the_status() {
    let mut world = World::new();
    let uri = world.invite("open", Vec::new());
    let open = Client::of_bunker(&uri);
    let over = Client::with_key(&world.invite("over", Vec::new()), 13);
    assert!(world.command(Command::Revoke { app: "over".to_owned() }).is_ok());
    let (client, now) = (world.paired("notes", Vec::new()), world.now);
    let outsider = Client::new(10, client.signer, "");
    let ping = client.request(now, "r1", "ping", &[]);
    assert_eq!(world.send(&client, &ping), [Answer::result("pong")]);
    let key = nip04::Key::new(open.key.secret_key(), &open.signer);
    let mut content = vec![0; nip04::content_len(40)];
    let legacy = key.encrypt(&[b' '; 40], &[3; 16], &mut content).unwrap().to_owned();
    let long = format!("{ping}{}", " ".repeat(512 * 1024));
    for (event, cause) in [
        ("{}".to_owned(), "shape"),
        (long, "size"),
        (outsider.request(now, "r1", "ping", &[]), "unknown-sender"),
        (over.connect(now), "no-invitation"),
        (ping.clone(), "repeated"),
        (forged(&client.request(now, "r2", "ping", &[])), "signature"),
        (client.sign(now, "not a payload"), "encryption"),
        (open.sign(now, &legacy), "no-request"),
        (client.event(now, "{}"), "no-request"),
        (open.request(now, "r1", "connect", &["", "wrong"]), "secret"),
        (open.request(now, "r1", "ping", &[]), "secret"),
        (open.connect(now - 301), "stale"),
    ] {
        let before = world.status().ignored;
        assert!(world.engine.arrive(now, &mut [event.into_bytes()]).is_empty(), "{cause}");
        let mut after = world.status().ignored;
        let counted = after.iter_mut().find(|it| it.cause == cause).expect(cause);
        counted.count -= 1;
        after.retain(|it| it.count > 0);
        assert_eq!(after, before, "{cause}");
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

/// Replaces the signature of an event with a wrong one.
fn forged(event: &str) -> String {
    let at = event.find("\"sig\":\"").unwrap() + 7;
    let digit = if &event[at..=at] == "0" { "1" } else { "0" };
    format!("{}{digit}{}", &event[..at], &event[at + 1..])
}

#[test]
fn a_flood_in_the_name_of_one_client_leaves_the_others_theirs() {
    let mut world = World::new();
    let (first, second) = (world.paired("a", Vec::new()), world.paired("b", Vec::new()));
    let ping = |client: &Client| client.request(NOW, "r1", "ping", &[]);
    let (first_key, second_key) = (first.signer.to_bytes(), second.signer.to_bytes());
    let mut now = Instant::now();
    world.engine.parts.clock = Clock::Stopped(now);
    while world.engine.parts.verifications.take(&first_key, 0, now) {}
    assert!(world.send(&first, &forged(&ping(&first))).is_empty());
    assert_eq!(world.send(&second, &ping(&second)), [Answer::result("pong")]);
    let text = world.engine.parts.metrics.text();
    assert!(text.contains("ignored_total{cause=\"flood\"} 1"), "{text}");
    // An event without an acceptable request uses one verification, a good request none.
    let key = nip04::Key::new(second.key.secret_key(), &second.signer);
    let json = "{\"id\":\"r1\",\"method\":\"ping\",\"params\":[]}";
    let mut content = vec![0; nip04::content_len(json.len())];
    let legacy = key.encrypt(json.as_bytes(), &[3; 16], &mut content).unwrap().to_owned();
    let costs = [
        (forged(&ping(&second)), 1),
        (second.request(NOW - 1_000, "r1", "ping", &[]), 1),
        (second.sign(NOW, &legacy), 0),
        (second.sign(NOW, "not a payload"), 1),
        (ping(&second), 0),
    ];
    for (event, cost) in costs {
        // A new second, in which the whole budget is available.
        now += Duration::from_secs(1);
        world.engine.parts.clock = Clock::Stopped(now);
        assert!(world.engine.parts.verifications.take(&second_key, 0, now));
        world.engine.parts.verifications.give_back(&second_key, 0);
        world.engine.arrive(NOW, &mut [event.clone().into_bytes()]);
        let mut left = 0;
        while world.engine.parts.verifications.take(&first_key, 0, now) {
            left += 1;
        }
        assert_eq!(left, 3_100 - cost, "{event}");
    }
}

#[test]
fn denials_of_an_app_do_not_fill_the_log() {
    let mut world = World::new();
    let client = world.paired("eager", allow("sign:1"));
    let head = |world: &World| world.engine.store.state().head().number;
    let before = head(&world);
    let request =
        |id: u32| client.request(NOW, &id.to_string(), "sign_event", &[&note(4, &id.to_string())]);
    let mut events: Vec<_> = (0..DENIALS).map(|id| request(id).into_bytes()).collect();
    let outgoing = world.engine.arrive(world.now, &mut events);
    let denied = Some("not allowed");
    assert!(client.read_all(&outgoing).iter().all(|it| it.error.as_deref() == denied));
    assert_eq!(head(&world) - before, u64::from(DENIALS));
    let answers = world.send(&client, &request(DENIALS));
    assert_eq!(answers[0].error.as_deref(), Some(BUSY));
    assert_eq!(head(&world) - before, u64::from(DENIALS));
    // Allowed requests are still logged, and another app has its own quota of denials.
    assert!(world.call(&client, "sign_event", &[&note(1, "x")]).result.is_some());
    let other = world.paired("other", Vec::new());
    assert_eq!(world.call(&other, "sign_event", &[&note(4, "x")]).error.as_deref(), denied);
}

#[test]
fn a_decision_that_cannot_be_remembered_is_not_taken() {
    let mut world = World::new();
    let kinds: Vec<_> = (1..MAX_RULES).map(|kind| format!("sign:{}", 1_000 + kind)).collect();
    let grants = vec![grant(GrantEffect::Ask, "sign"), grant(GrantEffect::Deny, &kinds.join(","))];
    let client = world.paired("web", grants);
    let event = client.request(world.now, "r1", "sign_event", &[&note(1, "x")]);
    assert_eq!(world.send(&client, &event), []);
    let id = |world: &mut World| match world.command(Command::Waiting { id: None }) {
        Ok(Reply::Waiting(list)) => list[0].id,
        _ => panic!("no list"),
    };
    let id = id(&mut world);
    let remember = Some(crate::control::Remember { lifetime: None });
    for command in
        [Command::Deny { id, remember }, Command::Approve { id, remember, requested: None }]
    {
        assert!(matches!(world.command(command), Err(CommandError::Limit(_))));
    }
    assert_eq!(world.verdicts(), ["asks"]);
    assert!(world.command(Command::Deny { id, remember: None }).is_ok());
    assert_eq!(world.verdicts(), ["asks", "denied"]);
    assert_eq!(world.rules("web").len(), MAX_RULES);
}
