//! Policy for new sessions, limits of sessions, and the tags of dropped ones.

use endseal_session::{Envelope, Failure, Outcome, SendError, UnknownSenders};

use super::party::Party;

/// Number of sessions that are kept with one device.
const KEPT: usize = 8;

#[test]
fn the_first_message_of_a_forgotten_session_is_not_accepted_again() {
    for kill in [false, true] {
        let (mut one, mut other) = (Party::new(1), Party::new(2));
        let fallback = other.fallback();
        let mut first = Vec::new();
        for n in 0..=KEPT {
            one.begin_with(&fallback);
            let body = one.send(other.address, &[u8::try_from(n).unwrap()]);
            other.receive_one(one.address, format!("id {n}").as_bytes(), &body);
            first.push(body);
        }
        let address = one.address;
        let kept = other.engine().transaction(|t| t.sessions(address)).unwrap();
        assert_eq!(kept.len(), KEPT);
        if kill {
            other.kill();
        }
        let again: Vec<_> = first
            .iter()
            .map(|body| other.receive(&[Envelope::from_device(b"another id", address, body)])[0])
            .collect();
        assert_eq!(again[0], Outcome::Failed(Failure::NoSession));
        assert!(again[1..].iter().all(|it| *it == Outcome::Failed(Failure::KeyGone)), "{again:?}");
        assert_eq!(other.texts().len(), KEPT + 1);
    }
}

/// The same within the transaction that drops the session, and with all messages in one batch.
#[test]
fn a_session_forgotten_in_the_same_batch_is_remembered() {
    let (mut one, mut other) = (Party::new(1), Party::new(2));
    let fallback = other.fallback();
    let mut first = Vec::new();
    for n in 0..=u8::try_from(KEPT).unwrap() {
        one.begin_with(&fallback);
        first.push(([n], one.send(other.address, &[n])));
    }
    let mut envelopes: Vec<_> =
        first.iter().map(|(id, body)| Envelope::from_device(id, one.address, body)).collect();
    envelopes.push(Envelope::from_device(b"again", one.address, &first[0].1));
    let outcomes = other.receive(&envelopes);
    assert_eq!(outcomes.last(), Some(&Outcome::Failed(Failure::NoSession)));
    assert_eq!(other.texts().len(), KEPT + 1);
    other.restart();
    assert_eq!(other.receive(&envelopes[KEPT + 1..]), [Outcome::Failed(Failure::NoSession)]);
}

#[test]
fn a_one_time_key_is_gone_with_the_message_that_used_it() {
    for kill in [false, true] {
        let (mut one, mut two, mut other) = (Party::new(1), Party::new(2), Party::new(3));
        let bundles = other.bundles(1);
        let mut bodies = Vec::new();
        for sender in [&mut one, &mut two] {
            sender.begin_with(&bundles[0]);
            bodies.push(sender.send(other.address, b"hello"));
        }
        other.receive_one(one.address, b"1", &bodies[0]);
        if kill {
            other.kill();
        }
        let second = other.receive(&[Envelope::from_device(b"2", two.address, &bodies[1])]);
        assert_eq!(second, [Outcome::Failed(Failure::NoPrekey)]);
        let again = other.receive(&[Envelope::from_device(b"1", one.address, &bodies[0])]);
        assert!(matches!(again[0], Outcome::AlreadyDelivered(1)));
    }
}

#[test]
fn a_known_identity_may_come_with_another_device() {
    let (mut phone, mut laptop) = (Party::with_device(1, 1), Party::with_device(1, 2));
    let (mut outsider, mut other) = (Party::new(5), Party::new(2));
    other.engine().set_unknown_senders(UnknownSenders::Refused).unwrap();
    let admitted = phone.address;
    other.engine().transaction(|t| t.admit(admitted)).unwrap();
    let fallback = other.fallback();
    let mut bodies = Vec::new();
    for sender in [&mut phone, &mut laptop, &mut outsider] {
        sender.begin_with(&fallback);
        bodies.push((sender.address, sender.send(other.address, b"hello")));
    }
    let outcomes: Vec<_> = bodies
        .iter()
        .rev()
        .zip(1_u8..)
        .map(|((from, body), id)| other.receive(&[Envelope::from_device(&[id], *from, body)])[0])
        .collect();
    assert_eq!(outcomes[0], Outcome::Parked(Failure::UnknownSender));
    assert!(outcomes[1..].iter().all(|it| matches!(it, Outcome::Delivered(_))), "{outcomes:?}");
}

#[test]
fn outsiders_are_refused_after_a_restart_and_a_restoration_too() {
    let (mut outsider, mut other) = (Party::new(1), Party::new(2));
    assert_eq!(other.engine().unknown_senders(), UnknownSenders::Accepted);
    other.engine().set_unknown_senders(UnknownSenders::Refused).unwrap();
    other.restart();
    other.backup();
    let refused = |other: &mut Party, outsider: &mut Party, id: &[u8]| {
        outsider.begin(other);
        let body = outsider.send(other.address, b"hello");
        let outcome = other.receive(&[Envelope::from_device(id, outsider.address, &body)])[0];
        assert_eq!(outcome, Outcome::Parked(Failure::UnknownSender));
    };
    refused(&mut other, &mut outsider, b"1");
    other.restore();
    refused(&mut other, &mut outsider, b"2");
    other.engine().set_unknown_senders(UnknownSenders::Accepted).unwrap();
    other.kill();
    outsider.begin(&mut other);
    let body = outsider.send(other.address, b"hello");
    let outcome = other.receive(&[Envelope::from_device(b"3", outsider.address, &body)])[0];
    assert!(matches!(outcome, Outcome::Delivered(_)), "{outcome:?}");
}

/// Ids are distinguished by conversation, and all devices of a person are one conversation.
#[test]
fn an_id_belongs_to_the_conversation() {
    let (mut phone, mut laptop) = (Party::with_device(1, 1), Party::with_device(1, 2));
    let (mut third, mut other) = (Party::new(5), Party::new(2));
    for sender in [&mut phone, &mut laptop, &mut third] {
        sender.begin(&mut other);
    }
    let bodies = [&mut phone, &mut laptop, &mut third].map(|it| it.send(other.address, b"hello"));
    let from = [phone.address, laptop.address, third.address];
    let envelopes: Vec<_> = from
        .iter()
        .zip(&bodies)
        .map(|(from, it)| Envelope::from_device(b"id", *from, it))
        .collect();
    let outcomes = other.receive(&envelopes);
    assert_eq!(outcomes[1], Outcome::Failed(Failure::IdReused));
    assert!(matches!((outcomes[0], outcomes[2]), (Outcome::Delivered(1), Outcome::Delivered(2))));
    let second = other.receive(&[Envelope::from_device(b"id 2", from[1], &bodies[1])]);
    assert_eq!(second, [Outcome::Delivered(3)]);
}

#[test]
fn a_restored_store_does_not_send_until_the_session_was_reset() {
    let (mut one, mut other) = (Party::new(1), Party::new(2));
    one.meet(&mut other);
    one.found(b"team", &mut [&mut other]);
    let to = other.address;
    one.backup();
    let late = one.send(to, b"after the backup");
    // With keys that the backup has. After another round trip, the keys would be different.
    let answer = other.send(one.address, b"received on the old one");
    other.receive_one(one.address, b"late", &late);
    one.restore();
    assert!(matches!(one.engine().encrypt(to, b"no"), Err(SendError::Restored)));
    assert!(matches!(one.engine().encrypt_group(b"team", b"no"), Err(SendError::Restored)));
    one.receive_one(to, b"answer", &answer);
    assert!(matches!(one.engine().encrypt(to, b"no"), Err(SendError::Restored)));
    assert_eq!(one.engine().transaction(|t| t.reset_session(to)).unwrap(), 1);
    assert!(matches!(one.engine().encrypt(to, b"no"), Err(SendError::NoSession)));
    let fallback = other.fallback();
    one.begin_with(&fallback);
    let body = one.send(to, b"on a new one");
    one.kill();
    other.receive_one(one.address, b"new", &body);
    let answer = other.send(one.address, b"back");
    one.receive_one(to, b"back", &answer);
    assert_eq!(other.texts(), [b"after the backup".to_vec(), b"on a new one".to_vec()]);
    // The first row is the change that made the group.
    assert_eq!(one.texts()[1..], [b"received on the old one".to_vec(), b"back".to_vec()]);
}

/// One device has a session, one has none, and one awaits a reset.
#[test]
fn a_message_to_all_devices_says_which_were_skipped() {
    let mut own = Party::new(1);
    let mut devices = [1, 2, 3].map(|device| Party::with_device(2, device));
    own.meet(&mut devices[0]);
    own.backup();
    own.restore();
    own.begin(&mut devices[1]);
    let third = devices[2].address;
    own.engine().transaction(|t| t.admit(third)).unwrap();
    let identity = third.identity;
    let sent = own.engine().transaction(|t| t.encrypt_to_all(&identity, b"all")).unwrap();
    assert_eq!(sent.numbers.len(), 1);
    let [(first, restored), (last, none)] = &sent.skipped[..] else { panic!("{sent:?}") };
    assert_eq!((*first, *last), (devices[0].address, third));
    assert!(matches!((restored, none), (SendError::Restored, SendError::NoSession)));
    let second = devices[1].address;
    own.engine().transaction(|t| t.reset_session(second)).unwrap();
    let sent = own.engine().transaction(|t| t.encrypt_to_all(&identity, b"none"));
    assert!(matches!(sent, Err(SendError::Restored)));
}
