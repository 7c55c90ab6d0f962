//! Every table behaves as its methods document.

use endseal_crypto::secret::Zeroizing;
use endseal_store::limit::{MAX_BODY_LEN, MAX_NAME_LEN, MAX_STATE_LEN};
use endseal_store::{
    GroupRow, Limit, OutboxState, ParkedRow, SessionRow, SessionStatus, StoreError,
};

use crate::place::Place;

fn session(tag: u8, used: u64, state: &[u8]) -> SessionRow {
    let state = Zeroizing::new(state.to_vec());
    SessionRow { tag: [tag; 8], engine: 1, status: SessionStatus::Active, used, state }
}

#[test]
fn records_have_a_kind_and_a_name() {
    let place = Place::new();
    let mut store = place.create();
    let transaction = store.begin().unwrap();
    transaction.put_record(1, b"b", b"1b").unwrap();
    transaction.put_record(1, b"a", b"1a").unwrap();
    transaction.put_record(2, b"a", b"").unwrap();
    transaction.put_record(1, b"b", b"1b, again").unwrap();
    let read = |kind, name| transaction.record(kind, name).unwrap().map(|value| value.to_vec());
    assert_eq!(read(1, b"a").unwrap(), b"1a");
    assert_eq!(read(1, b"b").unwrap(), b"1b, again");
    assert_eq!(read(2, b"a").unwrap(), b"");
    assert_eq!(read(2, b"b"), None);
    let names: Vec<_> = transaction.records(1).unwrap().into_iter().map(|it| it.0).collect();
    assert_eq!(names, [b"a", b"b"]);
    assert!(transaction.remove_record(1, b"a").unwrap());
    assert!(!transaction.remove_record(1, b"a").unwrap());
    assert_eq!(read(1, b"a"), None);
}

#[test]
fn addresses_are_found_again() {
    let place = Place::new();
    let mut store = place.create();
    let transaction = store.begin().unwrap();
    let one = transaction.address_ref(&[1; 32], 1).unwrap();
    let two = transaction.address_ref(&[1; 32], u32::MAX).unwrap();
    assert_ne!(one, two);
    assert_eq!(transaction.address_ref(&[1; 32], 1).unwrap(), one);
    assert_eq!(transaction.find_address(&[1; 32], u32::MAX).unwrap(), Some(two));
    assert_eq!(transaction.find_address(&[2; 32], 1).unwrap(), None);
    assert!(transaction.knows_identity(&[1; 32]).unwrap());
    assert!(!transaction.knows_identity(&[2; 32]).unwrap());
    transaction.set_certificate(one, b"certificate").unwrap();
    transaction.commit().unwrap();

    let transaction = store.read().unwrap();
    let row = transaction.address(one).unwrap().unwrap();
    assert_eq!((row.identity, row.device), ([1; 32], 1));
    assert_eq!(row.certificate.as_deref(), Some(&b"certificate"[..]));
    let row = transaction.address(two).unwrap().unwrap();
    assert_eq!((row.device, row.certificate), (u32::MAX, None));
    assert_eq!(transaction.addresses().unwrap().len(), 2);
}

#[test]
fn conversations_are_found_again() {
    let place = Place::new();
    let mut store = place.create();
    let transaction = store.begin().unwrap();
    let one = transaction.conversation_ref(b"one").unwrap();
    let two = transaction.conversation_ref(b"two").unwrap();
    assert_ne!(one, two);
    assert_eq!(transaction.conversation_ref(b"one").unwrap(), one);
    assert_eq!(transaction.find_conversation(b"two").unwrap(), Some(two));
    assert_eq!(transaction.find_conversation(b"three").unwrap(), None);
    assert_eq!(transaction.conversation_name(two).unwrap(), b"two");
}

#[test]
fn sessions_are_replaced_by_tag() {
    let place = Place::new();
    let mut store = place.create();
    let transaction = store.begin().unwrap();
    let address = transaction.address_ref(&[1; 32], 1).unwrap();
    let other = transaction.address_ref(&[2; 32], 1).unwrap();
    transaction.put_session(address, &session(1, 5, b"one")).unwrap();
    transaction.put_session(address, &session(2, 9, b"two")).unwrap();
    transaction.put_session(address, &session(1, 7, b"one, again")).unwrap();
    transaction.set_session_status(address, &[1; 8], SessionStatus::ReceiveOnly).unwrap();
    let sessions = transaction.sessions_of(address).unwrap();
    assert_eq!(sessions.len(), 2);
    assert_eq!((sessions[0].tag, sessions[0].used), ([2; 8], 9));
    assert_eq!(sessions[0].status, SessionStatus::Active);
    assert_eq!((sessions[1].tag, sessions[1].used), ([1; 8], 7));
    assert_eq!(sessions[1].status, SessionStatus::ReceiveOnly);
    assert_eq!(sessions[1].state.as_slice(), b"one, again");
    assert!(transaction.sessions_of(other).unwrap().is_empty());
    let all = transaction.sessions().unwrap();
    assert_eq!(all.iter().map(|it| it.state_len).collect::<Vec<_>>(), [10, 3]);
    assert!(transaction.remove_session(address, &[1; 8]).unwrap());
    assert!(!transaction.remove_session(address, &[1; 8]).unwrap());
    let missing = transaction.set_session_status(address, &[1; 8], SessionStatus::Active);
    assert!(matches!(missing, Err(StoreError::Reference)));
}

#[test]
fn a_session_needs_its_address() {
    let place = Place::new();
    let mut store = place.create();
    let transaction = store.begin().unwrap();
    let address = transaction.address_ref(&[1; 32], 1).unwrap();
    drop(transaction);
    let transaction = store.begin().unwrap();
    let put = transaction.put_session(address, &session(1, 1, b""));
    assert!(matches!(put, Err(StoreError::Reference)), "{put:?}");
    let set = transaction.set_certificate(address, b"certificate");
    assert!(matches!(set, Err(StoreError::Reference)), "{set:?}");
}

#[test]
fn groups_keep_their_past_epochs() {
    let place = Place::new();
    let mut store = place.create();
    let transaction = store.begin().unwrap();
    let group = |epoch, state: &[u8]| GroupRow {
        status: SessionStatus::Active,
        epoch,
        state: Zeroizing::new(state.to_vec()),
    };
    transaction.put_group(b"team", &group(1, b"first")).unwrap();
    transaction.put_group(b"team", &group(2, b"second")).unwrap();
    transaction.put_group(b"all", &group(0, b"")).unwrap();
    let row = transaction.group(b"team").unwrap().unwrap();
    assert_eq!(
        (row.epoch, row.status, row.state.as_slice()),
        (2, SessionStatus::Active, &b"second"[..])
    );
    assert!(transaction.group(b"none").unwrap().is_none());
    assert_eq!(transaction.groups().unwrap(), [&b"all"[..], b"team"]);

    assert_eq!(transaction.max_group_epoch(b"team").unwrap(), None);
    for epoch in 0..5 {
        transaction.put_group_epoch(b"team", epoch, &epoch.to_le_bytes()).unwrap();
    }
    transaction.put_group_epoch(b"team", 4, b"again").unwrap();
    assert_eq!(transaction.max_group_epoch(b"team").unwrap(), Some(4));
    assert_eq!(transaction.group_epoch(b"team", 4).unwrap().unwrap().as_slice(), b"again");
    assert_eq!(transaction.trim_group_epochs(b"team", 3).unwrap(), 3);
    assert!(transaction.group_epoch(b"team", 2).unwrap().is_none());
    assert!(transaction.group_epoch(b"team", 3).unwrap().is_some());
    assert!(transaction.group_epoch(b"team", u64::MAX).unwrap().is_none());
    assert!(transaction.remove_group(b"team").unwrap());
    assert!(!transaction.remove_group(b"team").unwrap());
    assert_eq!(transaction.max_group_epoch(b"team").unwrap(), None);
}

#[test]
fn a_message_is_delivered_once() {
    let place = Place::new();
    let mut store = place.create();
    let transaction = store.begin().unwrap();
    let here = transaction.conversation_ref(b"here").unwrap();
    let there = transaction.conversation_ref(b"there").unwrap();
    let sender = transaction.address_ref(&[1; 32], 1).unwrap();
    let mut messages = transaction.messages().unwrap();
    assert_eq!(messages.seen(here, b"m").unwrap(), None);
    assert_eq!(messages.deliver(here, b"m", sender, 0, &[3; 16], b"text").unwrap(), 1);
    assert_eq!(messages.deliver(there, b"m", sender, 1, &[4; 16], b"").unwrap(), 2);
    let seen = messages.seen(here, b"m").unwrap().unwrap();
    assert_eq!((seen.seq, seen.digest), (1, [3; 16]));
    let again = messages.deliver(here, b"m", sender, 0, &[3; 16], b"text");
    assert!(matches!(again, Err(StoreError::Duplicate)), "{again:?}");
    // The refused delivery has used no number.
    assert_eq!(messages.deliver(here, b"n", sender, 0, &[5; 16], b"more").unwrap(), 3);
    drop(messages);
    transaction.commit().unwrap();

    let transaction = store.begin().unwrap();
    let inbox = transaction.inbox(0, 10).unwrap();
    assert_eq!(inbox.iter().map(|it| it.seq).collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!((inbox[0].conversation, inbox[0].sender, inbox[0].kind), (here, sender, 0));
    assert_eq!(
        (inbox[0].message.as_slice(), inbox[0].plaintext.as_slice()),
        (&b"m"[..], &b"text"[..])
    );
    assert_eq!((inbox[1].conversation, inbox[1].kind), (there, 1));
    assert_eq!(transaction.inbox(1, 1).unwrap()[0].seq, 2);
    assert!(transaction.inbox(3, 10).unwrap().is_empty());
    assert!(transaction.inbox(u64::MAX, 10).unwrap().is_empty());

    // A consumed message is still known, and its number is not used again.
    assert!(transaction.consume(1).unwrap() && transaction.consume(3).unwrap());
    assert!(!transaction.consume(1).unwrap());
    assert_eq!(transaction.inbox_len().unwrap(), 1);
    let mut messages = transaction.messages().unwrap();
    assert_eq!(messages.seen(here, b"m").unwrap().unwrap().seq, 1);
    assert_eq!(messages.deliver(here, b"o", sender, 0, &[5; 16], b"").unwrap(), 4);
    drop(messages);

    // Only consumed messages below that number are forgotten.
    assert_eq!(transaction.prune_seen(3, None, 10).unwrap().removed, 1);
    let mut messages = transaction.messages().unwrap();
    assert_eq!(messages.seen(here, b"m").unwrap(), None);
    assert!(messages.seen(here, b"n").unwrap().is_some());
    assert!(messages.seen(there, b"m").unwrap().is_some());
}

#[test]
fn parked_ciphertexts_keep_the_order_of_arrival() {
    let place = Place::new();
    let mut store = place.create();
    let transaction = store.begin().unwrap();
    let here = transaction.conversation_ref(b"here").unwrap();
    let mut messages = transaction.messages().unwrap();
    for (epoch, message) in [(2, b"c"), (1, b"b"), (1, b"a")] {
        messages.park(here, &parked(message, epoch)).unwrap();
    }
    // The same message, parked for another reason, keeps its position.
    messages.park(here, &parked(b"c", 5)).unwrap();
    let waiting = messages.parked(here).unwrap();
    assert_eq!(waiting, [parked(b"c", 5), parked(b"b", 1), parked(b"a", 1)]);
    let total = transaction.parked_totals().unwrap().remove(0);
    assert_eq!((total.conversation, total.messages, total.bytes), (here, 3, 18));
    assert_eq!((total.reason, total.last_place, total.last.as_slice()), (1, 3, &b"a"[..]));
    assert!(messages.unpark(here, b"b").unwrap());
    assert!(!messages.unpark(here, b"b").unwrap());
    assert_eq!(messages.parked(here).unwrap().len(), 2);
    assert_eq!(transaction.unpark_all(here).unwrap(), 2);
    assert_eq!(transaction.parked_totals().unwrap(), []);
}

fn parked(message: &[u8], epoch: u64) -> ParkedRow {
    ParkedRow { message: message.to_vec(), device: 0, reason: 1, epoch, body: b"sealed".to_vec() }
}

#[test]
fn held_ciphertexts_are_sent_when_their_change_is_accepted() {
    let place = Place::new();
    let mut store = place.create();
    let transaction = store.begin().unwrap();
    let here = transaction.conversation_ref(b"here").unwrap();
    let there = transaction.conversation_ref(b"there").unwrap();
    let push = |at, state| transaction.push_outbox_as(at, None, 1, state, b"sealed").unwrap();
    let listed = || {
        let rows = transaction.outbox(0, 10).unwrap();
        rows.iter().map(|row| row.seq).collect::<Vec<_>>()
    };
    let text = transaction.push_outbox(here, None, b"text").unwrap();
    let change = push(here, OutboxState::Proposes);
    let held = push(here, OutboxState::Held);
    let other = push(there, OutboxState::Held);
    assert_eq!(listed(), [text, change]);
    assert_eq!(transaction.decide_outbox(here, true).unwrap(), 2);
    assert_eq!(listed(), [text, change, held]);
    // Rejecting a change removes no entry that was accepted before.
    push(here, OutboxState::Proposes);
    push(here, OutboxState::Held);
    assert_eq!(transaction.decide_outbox(here, false).unwrap(), 2);
    assert_eq!(listed(), [text, change, held]);
    assert_eq!(transaction.decide_outbox(there, true).unwrap(), 1);
    assert_eq!(listed(), [text, change, held, other]);
}

#[test]
fn numbers_of_the_outbox_are_never_given_out_twice() {
    let place = Place::new();
    let mut store = place.create();
    let transaction = store.begin().unwrap();
    let here = transaction.conversation_ref(b"here").unwrap();
    let recipient = transaction.address_ref(&[1; 32], 1).unwrap();
    assert_eq!(transaction.push_outbox(here, Some(recipient), b"one").unwrap(), 1);
    assert_eq!(transaction.push_outbox(here, None, b"two").unwrap(), 2);
    let waiting = transaction.outbox(0, 10).unwrap();
    assert_eq!((waiting[0].recipient, waiting[0].body.as_slice()), (Some(recipient), &b"one"[..]));
    assert_eq!((waiting[1].recipient, waiting[1].conversation), (None, here));
    assert_eq!(transaction.outbox(1, 10).unwrap().len(), 1);
    assert!(transaction.sent(2).unwrap() && !transaction.sent(2).unwrap());
    assert_eq!(transaction.push_outbox(here, None, b"three").unwrap(), 3);
}

#[test]
fn cursors_move() {
    let place = Place::new();
    let mut store = place.create();
    let transaction = store.begin().unwrap();
    assert_eq!(transaction.cursor(b"queue").unwrap(), None);
    transaction.set_cursor(b"queue", b"5").unwrap();
    transaction.set_cursor(b"queue", b"7").unwrap();
    assert_eq!(transaction.cursor(b"queue").unwrap().unwrap(), b"7");
}

#[test]
fn what_is_too_large_is_refused_before_anything_is_written() {
    let place = Place::new();
    let mut store = place.create();
    let transaction = store.begin().unwrap();
    let here = transaction.conversation_ref(&[1; MAX_NAME_LEN]).unwrap();
    let sender = transaction.address_ref(&[1; 32], 1).unwrap();
    let limit = |result: Result<(), StoreError>| match result {
        Err(StoreError::Limit(limit)) => limit,
        other => panic!("{other:?}"),
    };
    let name = [1; MAX_NAME_LEN + 1];
    let body = vec![1; MAX_BODY_LEN + 1];
    let state = vec![1; MAX_STATE_LEN + 1];
    assert_eq!(limit(transaction.conversation_ref(&name).map(drop)), Limit::Name);
    assert_eq!(limit(transaction.conversation_ref(b"").map(drop)), Limit::Name);
    assert_eq!(limit(transaction.put_record(1, &name, b"")), Limit::Name);
    assert_eq!(limit(transaction.put_record(1, b"", &state)), Limit::State);
    assert_eq!(limit(transaction.set_cursor(b"", b"")), Limit::Name);
    assert_eq!(limit(transaction.set_cursor(b"q", &body)), Limit::Body);
    assert_eq!(limit(transaction.push_outbox(here, None, &body).map(drop)), Limit::Body);
    assert_eq!(limit(transaction.set_certificate(sender, &state)), Limit::State);
    assert_eq!(limit(transaction.put_session(sender, &session(1, 1, &state))), Limit::State);
    assert_eq!(limit(transaction.put_session(sender, &session(1, 1 << 63, b""))), Limit::Number);
    let mut messages = transaction.messages().unwrap();
    let mut deliver = |message: &[u8], plaintext: &[u8]| {
        messages.deliver(here, message, sender, 0, &[0; 16], plaintext).map(drop)
    };
    assert_eq!(limit(deliver(b"", b"")), Limit::Name);
    assert_eq!(limit(deliver(&name, b"")), Limit::Name);
    assert_eq!(limit(deliver(b"m", &body)), Limit::Body);
    deliver(&[1; MAX_NAME_LEN], &body[1..]).unwrap();
    assert_eq!(limit(messages.park(here, &parked(b"m", 1 << 63))), Limit::Number);
    drop(messages);
    transaction.put_record(1, b"", &state[1..]).unwrap();
    transaction.commit().unwrap();
    let transaction = store.read().unwrap();
    assert_eq!(transaction.inbox_len().unwrap(), 1);
    assert_eq!(transaction.record(1, b"").unwrap().unwrap().len(), MAX_STATE_LEN);
}
