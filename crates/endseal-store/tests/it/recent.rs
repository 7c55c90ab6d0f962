//! Recently delivered messages are stored in packs until there are many. Only the time of
//! operations shows it.

use endseal_crypto::secret::Zeroizing;
use endseal_store::{
    ConversationRef, Depth, NewMessage, SessionRow, SessionStatus, Store, StoreError,
    WriteTransaction,
};

use crate::place::Place;

/// More messages than remain in packs after a checkpoint.
const MANY: usize = 16_500;

fn id(n: usize) -> [u8; 8] {
    // The ids are in random order.
    (n as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes()
}

fn digest(n: usize) -> [u8; 16] {
    u128::try_from(n).unwrap().to_le_bytes()
}

/// Delivers messages to two conversations alternately.
fn deliver(transaction: &WriteTransaction<'_>, numbers: core::ops::Range<usize>) {
    let places = places(transaction);
    let sender = transaction.address_ref(&[1; 32], 1).unwrap();
    let (ids, digests): (Vec<_>, Vec<_>) = numbers.clone().map(|n| (id(n), digest(n))).unzip();
    let all: Vec<_> = numbers
        .zip(ids.iter().zip(&digests))
        .map(|(n, (message, digest))| NewMessage {
            conversation: places[n % 2],
            message,
            sender,
            kind: 0,
            digest,
            plaintext: b"text",
        })
        .collect();
    let mut messages = transaction.messages().unwrap();
    // Half of them were looked up before, as the layer above does.
    let half: Vec<&[u8]> = all.iter().take(all.len() / 2).map(|it| it.message).collect();
    for place in places {
        let seen = messages.seen_many(place, &half).unwrap();
        assert!(seen.iter().all(Option::is_none));
    }
    messages.deliver_many(&all).unwrap();
}

fn places(transaction: &WriteTransaction<'_>) -> [ConversationRef; 2] {
    [b"here", b"away"].map(|name| transaction.conversation_ref(name).unwrap())
}

/// Asserts that the messages below `count` are known, one at a time and together, and nothing else
/// is.
fn assert_known(store: &mut Store, count: usize) {
    let transaction = store.begin().unwrap();
    let places = places(&transaction);
    let mut messages = transaction.messages().unwrap();
    let ids: Vec<_> = (0..count + 40).map(id).collect();
    let all: Vec<&[u8]> = ids.iter().map(<[u8; 8]>::as_slice).collect();
    let together = places.map(|place| messages.seen_many(place, &all).unwrap());
    for (n, id) in ids.iter().enumerate() {
        let seen = messages.seen(places[n % 2], id).unwrap();
        assert_eq!(seen, together[n % 2][n]);
        assert_eq!(
            seen.map(|it| (it.seq, it.digest)),
            (n < count).then(|| (n as u64 + 1, digest(n)))
        );
        assert_eq!(messages.seen(places[(n + 1) % 2], id).unwrap(), None);
        assert_eq!(together[(n + 1) % 2][n], None);
    }
    drop(messages);
    drop(transaction);
    assert_eq!(store.check(Depth::Structure).unwrap(), []);
    let rows = store.statistics().unwrap().rows;
    let rows_of = |name| rows.iter().find(|(table, _)| *table == name).unwrap().1;
    assert_eq!(rows_of("seen"), count as u64);
}

#[test]
fn what_was_delivered_is_known_wherever_it_lies() {
    let place = Place::quick();
    let mut store = place.create();
    let mut count = 0;
    // One pack and many, some of them sorted in, with the store reopened in between.
    for (step, some) in [1, 7, 100, 5_000, 3, MANY, 40, 2].into_iter().enumerate() {
        let transaction = store.begin().unwrap();
        deliver(&transaction, count..count + some);
        count += some;
        transaction.commit().unwrap();
        assert_known(&mut store, count);
        match step % 3 {
            0 => {
                store.close().unwrap();
                store = place.open();
            }
            1 => store.checkpoint().unwrap(),
            _ => {}
        }
        assert_known(&mut store, count);
    }
}

#[test]
fn what_was_rolled_back_was_not_delivered() {
    for before in [0, 10, MANY] {
        let place = Place::quick();
        let mut store = place.create();
        let transaction = store.begin().unwrap();
        deliver(&transaction, 0..before);
        transaction.commit().unwrap();
        store.checkpoint().unwrap();
        let transaction = store.begin().unwrap();
        deliver(&transaction, before..before + 50);
        drop(transaction);
        assert_known(&mut store, before);
        let transaction = store.begin().unwrap();
        deliver(&transaction, before..before + 50);
        transaction.commit().unwrap();
        assert_known(&mut store, before + 50);
    }
}

#[test]
fn nothing_is_delivered_twice_wherever_it_lies() {
    let place = Place::quick();
    let mut store = place.create();
    for (sorted, count) in [(false, 20), (true, MANY)] {
        let known = store.statistics().unwrap().rows;
        let known = known.iter().find(|(table, _)| *table == "seen").unwrap().1;
        let known = usize::try_from(known).unwrap();
        let transaction = store.begin().unwrap();
        deliver(&transaction, known..known + count);
        transaction.commit().unwrap();
        if sorted {
            store.checkpoint().unwrap();
        }
        let transaction = store.begin().unwrap();
        let [here, _] = places(&transaction);
        let sender = transaction.address_ref(&[1; 32], 1).unwrap();
        let mut messages = transaction.messages().unwrap();
        let again = messages.deliver(here, &id(4), sender, 0, &digest(4), b"text");
        assert!(matches!(again, Err(StoreError::Duplicate)), "{again:?}");
        let one = NewMessage {
            conversation: here,
            message: &id(4),
            sender,
            kind: 0,
            digest: &digest(4),
            plaintext: b"text",
        };
        let new: Vec<_> = (0..20).map(|n| id(1_000_000 + n)).collect();
        let mut many: Vec<_> = new.iter().map(|id| NewMessage { message: id, ..one }).collect();
        many[9] = one;
        let again = messages.deliver_many(&many);
        assert!(matches!(again, Err(StoreError::Duplicate)), "{again:?}");
        drop(messages);
        // Some of them are duplicates, so nothing of the transaction must remain.
        let ended = transaction.commit();
        assert!(matches!(ended, Err(StoreError::Ended)), "{ended:?}");
        assert_known(&mut store, known + count);
    }
}

#[test]
fn what_was_forgotten_can_be_delivered_again() {
    for count in [6, MANY] {
        let place = Place::quick();
        let mut store = place.create();
        let transaction = store.begin().unwrap();
        deliver(&transaction, 0..count);
        let [here, away] = places(&transaction);
        assert!(transaction.consume(1).unwrap() && transaction.consume(2).unwrap());
        // The third message waits in the inbox.
        assert_eq!(transaction.prune_seen(3, None, usize::MAX).unwrap().removed, 2);
        assert_eq!(transaction.prune_seen(4, None, usize::MAX).unwrap().removed, 0);
        let sender = transaction.address_ref(&[1; 32], 1).unwrap();
        let mut messages = transaction.messages().unwrap();
        assert_eq!(messages.seen(here, &id(0)).unwrap(), None);
        assert_eq!(messages.seen(away, &id(1)).unwrap(), None);
        assert!(messages.seen(here, &id(2)).unwrap().is_some());
        let seq = messages.deliver(here, &id(0), sender, 0, &digest(0), b"text").unwrap();
        assert_eq!(seq, count as u64 + 1);
        drop(messages);
        transaction.commit().unwrap();
        assert_eq!(store.check(Depth::Structure).unwrap(), []);
        // After a rollback it is known as before.
        let transaction = store.begin().unwrap();
        assert!(transaction.consume(4).unwrap());
        assert_eq!(transaction.prune_seen(5, None, usize::MAX).unwrap().removed, 1);
        assert_eq!(transaction.messages().unwrap().seen_many(away, &[&id(3)]).unwrap(), [None]);
        drop(transaction);
        let transaction = store.begin().unwrap();
        assert!(transaction.messages().unwrap().seen(away, &id(3)).unwrap().is_some());
    }
}

#[test]
fn pruning_in_steps_removes_what_one_call_removes() {
    for limit in [1, 7, 100, 1_000] {
        let place = Place::quick();
        let mut store = place.create();
        let transaction = store.begin().unwrap();
        deliver(&transaction, 0..100);
        // Every third message waits.
        for seq in (1..=100).filter(|seq| seq % 3 != 0) {
            assert!(transaction.consume(seq).unwrap());
        }
        transaction.commit().unwrap();
        let (mut removed, mut calls, mut from) = (0, 0, None);
        loop {
            let transaction = store.begin().unwrap();
            assert_eq!(transaction.last_number().unwrap(), 100);
            let step = transaction.prune_seen(51, from, limit).unwrap();
            transaction.commit().unwrap();
            assert!(step.removed <= limit as u64);
            removed += step.removed;
            calls += 1;
            from = step.next;
            if from.is_none() {
                break;
            }
        }
        assert_eq!(removed, 34, "{limit}");
        assert_eq!(calls, 1 + 100 / limit);
        assert_eq!(store.check(Depth::Structure).unwrap(), []);
        let transaction = store.begin().unwrap();
        let places = places(&transaction);
        let mut messages = transaction.messages().unwrap();
        for n in 0..100 {
            let seen = messages.seen(places[n % 2], &id(n)).unwrap();
            assert_eq!(seen.is_some(), n + 1 > 50 || (n + 1) % 3 == 0, "{n}");
        }
    }
}

#[test]
fn rows_to_which_nothing_refers_are_removed_and_no_others() {
    let place = Place::quick();
    let mut store = place.create();
    let transaction = store.begin().unwrap();
    deliver(&transaction, 0..4);
    let to = transaction.conversation_ref(b"outbox").unwrap();
    let unused = transaction.conversation_ref(b"unused").unwrap();
    let [recipient, alone, certified, partner] =
        [2, 3, 5, 6].map(|n| transaction.address_ref(&[n; 32], 1).unwrap());
    transaction.push_outbox(to, Some(recipient), b"sealed").unwrap();
    transaction.set_certificate(certified, b"certificate").unwrap();
    let state = Zeroizing::new(vec![1]);
    let row = SessionRow { tag: [1; 8], engine: 1, status: SessionStatus::Active, used: 0, state };
    transaction.put_session(partner, &row).unwrap();
    let removed = transaction.prune_unused(10).unwrap();
    assert_eq!((removed.addresses, removed.conversations), (1, 1));
    assert!(transaction.address(alone).unwrap().is_none());
    assert!(transaction.conversation_name(unused).is_err());
    for used in [recipient, partner, transaction.find_address(&[1; 32], 1).unwrap().unwrap()] {
        let refused = transaction.remove_address(used);
        assert!(matches!(refused, Err(StoreError::Reference)), "{refused:?}");
    }
    assert!(transaction.remove_address(certified).unwrap());
    transaction.commit().unwrap();
    assert_eq!(store.check(Depth::Structure).unwrap(), []);

    // After everything is consumed, pruned and sent, the rest is removed. References are not
    // reused.
    let transaction = store.begin().unwrap();
    (1..=4).for_each(|seq| assert!(transaction.consume(seq).unwrap()));
    assert_eq!(transaction.prune_seen(5, None, 100).unwrap().removed, 4);
    assert!(transaction.sent(1).unwrap());
    assert_eq!(transaction.prune_unused(2).unwrap().conversations, 2);
    let removed = transaction.prune_unused(10).unwrap();
    assert_eq!((removed.addresses, removed.conversations), (0, 1));
    let again = transaction.conversation_ref(b"here").unwrap();
    assert!(again > to && again > unused);
    transaction.commit().unwrap();
    assert_eq!(store.check(Depth::Structure).unwrap(), []);
}
