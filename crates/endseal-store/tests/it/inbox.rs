//! Messages of the inbox are stored in packs of about a page. Only the time of operations shows it.

use alloc::collections::BTreeMap;

use endseal_store::limit::MAX_BODY_LEN;
use endseal_store::{ConversationRef, Depth, NewMessage, ReadTransaction, Store, WriteTransaction};
use endseal_testing::SplitMix64;

use crate::place::Place;

/// Expected content of the inbox, by number: id and plaintext.
type Model = BTreeMap<u64, (Vec<u8>, Vec<u8>)>;

fn id(n: u64) -> Vec<u8> {
    n.to_le_bytes()[..1 + usize::try_from(n % 8).unwrap()]
        .iter()
        .chain(&n.to_be_bytes())
        .copied()
        .collect()
}

/// Returns a plaintext whose length is between zero and more than a page, often about a page.
fn plaintext(n: u64) -> Vec<u8> {
    let len = match n % 50 {
        7 => 9_000,
        9 => 3_950 + n % 60,
        11 => 0,
        _ => n * 37 % 300,
    };
    vec![n.to_le_bytes()[0]; usize::try_from(len).unwrap()]
}

const NAMES: [&[u8; 3]; 3] = [b"one", b"two", b"six"];

fn places(transaction: &WriteTransaction<'_>) -> [ConversationRef; 3] {
    NAMES.map(|name| transaction.conversation_ref(name).unwrap())
}

/// Delivers `count` messages with numbers from `next` on.
fn deliver(transaction: &WriteTransaction<'_>, model: &mut Model, next: &mut u64, count: u64) {
    let places = places(transaction);
    let senders = [1, 2].map(|n| transaction.address_ref(&[n; 32], 1).unwrap());
    let numbers = *next..*next + count;
    let all: Vec<_> = numbers.clone().map(|n| (id(n), plaintext(n))).collect();
    let new: Vec<_> = numbers
        .clone()
        .zip(&all)
        .map(|(n, (message, plaintext))| NewMessage {
            conversation: places[usize::try_from(n / 5 % 3).unwrap()],
            message,
            sender: senders[usize::try_from(n / 7 % 2).unwrap()],
            kind: u8::from(n % 13 == 0),
            digest: &[3; 16],
            plaintext,
        })
        .collect();
    let given = transaction.messages().unwrap().deliver_many(&new).unwrap();
    assert_eq!(given, numbers);
    model.extend(numbers.zip(all));
    *next += count;
}

fn assert_is(transaction: &ReadTransaction<'_>, model: &Model) {
    let inbox = transaction.inbox(0, usize::MAX).unwrap();
    assert!(inbox.iter().map(|it| it.seq).eq(model.keys().copied()));
    for message in &inbox {
        let n = message.seq;
        let (id, plaintext) = &model[&n];
        assert_eq!((&message.message, &message.plaintext[..]), (id, &plaintext[..]));
        let name = transaction.conversation_name(message.conversation).unwrap();
        assert_eq!(name, NAMES[usize::try_from(n / 5 % 3).unwrap()]);
        assert_eq!(message.kind, u8::from(n % 13 == 0));
    }
    assert_eq!(transaction.inbox_len().unwrap(), model.len() as u64);
}

fn assert_sound(store: &mut Store, model: &Model) {
    assert_is(&store.read().unwrap(), model);
    assert_eq!(store.check(Depth::Structure).unwrap(), []);
    let rows = store.statistics().unwrap().rows;
    assert!(rows.contains(&("inbox", model.len() as u64)), "{rows:?}");
}

#[test]
fn messages_are_consumed_in_any_order_and_the_others_stay() {
    let place = Place::quick();
    let mut store = place.create();
    let (mut model, mut next, mut dice) = (Model::new(), 1, SplitMix64::new(11));
    for step in 0..120 {
        let transaction = store.begin().unwrap();
        let kept = (model.clone(), next);
        // Deliveries and consumptions alternate in one transaction.
        for _ in 0..1 + dice.below(4) {
            match dice.below(4) {
                0 => {
                    let count = [0, 1, 2, 40, 150][dice.below(5)];
                    deliver(&transaction, &mut model, &mut next, count);
                }
                1 => {
                    // In order, as applications do.
                    let some: Vec<_> = model.keys().copied().take(dice.below(60)).collect();
                    for seq in some {
                        assert!(transaction.consume(seq).unwrap());
                        assert!(!transaction.consume(seq).unwrap());
                        model.remove(&seq);
                    }
                }
                2 => {
                    for _ in 0..dice.below(40) {
                        let seq = dice.below(usize::try_from(next).unwrap() + 3) as u64;
                        let there = model.remove(&seq).is_some();
                        assert_eq!(transaction.consume(seq).unwrap(), there, "{seq}");
                    }
                }
                _ => {
                    let after = dice.below(usize::try_from(next).unwrap()) as u64;
                    let limit = dice.below(50);
                    let page = transaction.inbox(after, limit).unwrap();
                    let expected = model.range(after + 1..).take(limit).map(|(seq, _)| *seq);
                    assert!(page.iter().map(|it| it.seq).eq(expected));
                }
            }
        }
        if dice.below(4) == 0 {
            drop(transaction);
            (model, next) = kept;
        } else {
            transaction.commit().unwrap();
        }
        if step % 10 == 0 {
            assert_sound(&mut store, &model);
            store.close().unwrap();
            store = place.open();
        }
        if step % 17 == 0 {
            store.checkpoint().unwrap();
        }
    }
    assert_sound(&mut store, &model);
    assert!(next > 1_000, "{next}");
    let transaction = store.begin().unwrap();
    for seq in model.keys().rev() {
        assert!(transaction.consume(*seq).unwrap());
    }
    assert_eq!(transaction.inbox_len().unwrap(), 0);
    transaction.commit().unwrap();
    assert_sound(&mut store, &Model::new());
}

/// Packs that are partly written are unchanged after a process was killed: the files are copied as
/// they are and opened there.
#[test]
fn packs_in_part_are_what_they_were_after_a_kill() {
    let place = Place::quick();
    let mut store = place.create();
    let (mut model, mut next) = (Model::new(), 1);
    let transaction = store.begin().unwrap();
    deliver(&transaction, &mut model, &mut next, 200);
    transaction.commit().unwrap();
    let transaction = store.begin().unwrap();
    for seq in (1..200).step_by(3) {
        assert!(transaction.consume(seq).unwrap());
        model.remove(&seq);
    }
    transaction.commit().unwrap();
    let transaction = store.begin().unwrap();
    for seq in 2..100 {
        transaction.consume(seq).unwrap();
    }
    deliver(&transaction, &mut model.clone(), &mut next.clone(), 90);
    // The transaction above is in memory, and perhaps partly in files.
    let left = Place::quick();
    std::fs::create_dir(left.store()).unwrap();
    for name in ["store.db", "store.db-wal", "key"] {
        std::fs::copy(place.store().join(name), left.store().join(name)).unwrap();
    }
    drop(transaction);
    for mut store in [store, left.open()] {
        assert_sound(&mut store, &model);
        let transaction = store.begin().unwrap();
        let (mut model, mut next) = (model.clone(), next);
        deliver(&transaction, &mut model, &mut next, 90);
        transaction.commit().unwrap();
        assert_sound(&mut store, &model);
    }
}

#[test]
fn the_longest_message_stands_between_short_ones() {
    let place = Place::quick();
    let mut store = place.create();
    let transaction = store.begin().unwrap();
    let here = transaction.conversation_ref(b"here").unwrap();
    let sender = transaction.address_ref(&[1; 32], 1).unwrap();
    let long = vec![7; MAX_BODY_LEN];
    let mut messages = transaction.messages().unwrap();
    for (id, plaintext) in [(b"a", &b"x"[..]), (b"b", &long), (b"c", b"y")] {
        messages.deliver(here, id, sender, 0, &[0; 16], plaintext).unwrap();
    }
    drop(messages);
    transaction.commit().unwrap();
    let transaction = store.begin().unwrap();
    let lens: Vec<_> =
        transaction.inbox(0, 9).unwrap().iter().map(|it| it.plaintext.len()).collect();
    assert_eq!(lens, [1, MAX_BODY_LEN, 1]);
    assert!(transaction.consume(2).unwrap());
    assert_eq!(transaction.inbox(1, 1).unwrap()[0].seq, 3);
}

#[test]
fn what_is_written_ahead_of_the_commit_is_there_after_it_and_not_before() {
    let place = Place::quick();
    let mut store = place.create();
    let (mut model, mut next) = (Model::new(), 1);
    for commit in [true, false, true] {
        let kept = (model.clone(), next);
        let transaction = store.begin().unwrap();
        for count in [300, 1, 200, 0] {
            deliver(&transaction, &mut model, &mut next, count);
            transaction.write_ahead().unwrap();
        }
        let last = next - 1;
        assert!(transaction.consume(last).unwrap());
        model.remove(&last);
        // The state that a process leaves that is killed here.
        let left = Place::quick();
        std::fs::create_dir(left.store()).unwrap();
        for name in ["store.db", "store.db-wal", "key"] {
            std::fs::copy(place.store().join(name), left.store().join(name)).unwrap();
        }
        assert!(std::fs::metadata(left.store().join("store.db-wal")).unwrap().len() > 50_000);
        assert_sound(&mut left.open(), &kept.0);
        if commit {
            transaction.commit().unwrap();
        } else {
            drop(transaction);
            (model, next) = kept;
        }
        assert_sound(&mut store, &model);
    }
}
