//! Many messages at once have the same result as one after the other, whichever statements are
//! used.

use endseal_store::limit::{MAX_BODY_LEN, MAX_NAME_LEN};
use endseal_store::{InboxRow, NewMessage, Seen, Store, StoreError, WriteTransaction};

use crate::place::Place;

/// Numbers below, at and above the messages of one statement, and with a remainder.
const COUNTS: [usize; 8] = [0, 1, 15, 16, 17, 32, 47, 100];

struct Message {
    id: Vec<u8>,
    plaintext: Vec<u8>,
    digest: [u8; 16],
}

/// Returns messages of all lengths, whose ids are in random order.
fn messages(count: usize) -> Vec<Message> {
    (0..count)
        .map(|n| {
            let number = u8::try_from(n).unwrap();
            let id = vec![number.wrapping_mul(37); 1 + n % MAX_NAME_LEN];
            Message { id, plaintext: vec![number; 13 * n], digest: [number; 16] }
        })
        .collect()
}

/// Number, kind, id and plaintext of the messages in the inbox.
type Rows = Vec<(u64, u8, Vec<u8>, Vec<u8>)>;

fn rows(transaction: &WriteTransaction<'_>) -> Rows {
    let row = |it: InboxRow| (it.seq, it.kind, it.message, it.plaintext.to_vec());
    transaction.inbox(0, usize::MAX >> 1).unwrap().into_iter().map(row).collect()
}

/// Delivers to two conversations alternately. Returns the contents of the store.
fn deliver(
    store: &mut Store,
    all: &[Message],
    together: bool,
) -> (Vec<u64>, Vec<Option<Seen>>, Rows) {
    let transaction = store.begin().unwrap();
    let places = [b"here", b"away"].map(|name| transaction.conversation_ref(name).unwrap());
    let sender = transaction.address_ref(&[1; 32], 1).unwrap();
    let mut messages = transaction.messages().unwrap();
    // A message was delivered before.
    messages.deliver(places[1], b"before", sender, 0, &[9; 16], b"").unwrap();
    let new: Vec<_> = all
        .iter()
        .enumerate()
        .map(|(n, it)| NewMessage {
            conversation: places[n % 2],
            message: &it.id,
            sender,
            kind: u8::from(n % 3 == 0),
            digest: &it.digest,
            plaintext: &it.plaintext,
        })
        .collect();
    let numbers = if together {
        messages.deliver_many(&new).unwrap().collect()
    } else {
        let one = |it: &NewMessage<'_>| {
            messages.deliver(
                it.conversation,
                it.message,
                it.sender,
                it.kind,
                it.digest,
                it.plaintext,
            )
        };
        new.iter().map(one).collect::<Result<Vec<_>, _>>().unwrap()
    };
    let ids: Vec<&[u8]> = all.iter().map(|it| &it.id[..]).chain([&b"before"[..]]).collect();
    let mut seen = Vec::new();
    for place in places {
        if together {
            seen.extend(messages.seen_many(place, &ids).unwrap());
        } else {
            seen.extend(ids.iter().map(|id| messages.seen(place, id).unwrap()));
        }
    }
    drop(messages);
    let rows = rows(&transaction);
    transaction.commit().unwrap();
    (numbers, seen, rows)
}

#[test]
fn many_at_once_are_like_one_after_the_other() {
    for count in COUNTS {
        let all = messages(count);
        let (apart, together) = (Place::new(), Place::new());
        let expected = deliver(&mut apart.create(), &all, false);
        let found = deliver(&mut together.create(), &all, true);
        assert!(found == expected, "{count} messages");
        assert_eq!(found.0, (2..2 + count as u64).collect::<Vec<_>>());
        assert_eq!(found.1.iter().flatten().count(), count + 1);
    }
}

#[test]
fn one_that_was_delivered_before_ends_the_transaction_and_leaves_nothing() {
    let all = messages(40);
    for repeated in [0, 3, 15, 16, 31, 39] {
        let place = Place::new();
        let mut store = place.create();
        {
            let transaction = store.begin().unwrap();
            let here = transaction.conversation_ref(b"here").unwrap();
            let sender = transaction.address_ref(&[1; 32], 1).unwrap();
            let mut messages = transaction.messages().unwrap();
            let known: &Message = &all[repeated];
            messages.deliver(here, &known.id, sender, 0, &known.digest, b"").unwrap();
            drop(messages);
            transaction.commit().unwrap();
        }
        let transaction = store.begin().unwrap();
        let here = transaction.conversation_ref(b"here").unwrap();
        let sender = transaction.address_ref(&[1; 32], 1).unwrap();
        let new: Vec<_> = all
            .iter()
            .map(|it| NewMessage {
                conversation: here,
                message: &it.id,
                sender,
                kind: 0,
                digest: &it.digest,
                plaintext: &it.plaintext,
            })
            .collect();
        let mut messages = transaction.messages().unwrap();
        let refused = messages.deliver_many(&new);
        assert!(matches!(refused, Err(StoreError::Duplicate)), "{repeated}: {refused:?}");
        drop(messages);
        drop(transaction);
        let transaction = store.begin().unwrap();
        assert_eq!(rows(&transaction).len(), 1, "{repeated}");
        // The numbers were not used.
        let mut messages = transaction.messages().unwrap();
        let others = new.iter().enumerate().filter(|(n, _)| *n != repeated);
        let others: Vec<_> = others.map(|(_, it)| *it).collect();
        assert_eq!(messages.deliver_many(&others).unwrap(), 2..41, "{repeated}");
    }
}

#[test]
fn what_is_too_long_is_refused_before_anything_is_written() {
    let place = Place::new();
    let mut store = place.create();
    let transaction = store.begin().unwrap();
    let here = transaction.conversation_ref(b"here").unwrap();
    let sender = transaction.address_ref(&[1; 32], 1).unwrap();
    let (long, large) = (vec![1; MAX_NAME_LEN + 1], vec![1; MAX_BODY_LEN + 1]);
    let good = NewMessage {
        conversation: here,
        message: b"good",
        sender,
        kind: 0,
        digest: &[0; 16],
        plaintext: b"text",
    };
    let mut messages = transaction.messages().unwrap();
    for bad in [
        NewMessage { message: &[], ..good },
        NewMessage { message: &long, ..good },
        NewMessage { plaintext: &large, ..good },
    ] {
        assert!(matches!(messages.deliver_many(&[good, bad]), Err(StoreError::Limit(_))));
        assert_eq!(messages.seen(here, b"good").unwrap(), None);
    }
}
