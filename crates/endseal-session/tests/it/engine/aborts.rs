//! After an aborted transaction, the same messages can be delivered again.

use core::ops::ControlFlow;
use core::panic::AssertUnwindSafe;
use std::panic::catch_unwind;

use endseal_session::{
    BatchOptions, EngineError, Envelope, Outcome, Received, ReceivedKind, SendError,
};

use super::party::{NOW, Party, blake};

const GROUP: &[u8] = b"team";

struct Backlog {
    senders: [Party; 2],
    reader: Party,
    messages: Vec<(Option<usize>, [u8; 32], Vec<u8>)>,
}

/// A backlog of texts from two people and a group, with a commit in the middle.
fn backlog() -> Backlog {
    let mut reader = Party::new(1);
    let mut senders = [Party::new(2), Party::new(3)];
    let mut messages = Vec::new();
    // The first message of the second sender begins the session, so the account changes with it.
    senders[0].meet(&mut reader);
    senders[1].begin(&mut reader);
    for (at, sender) in senders.iter_mut().enumerate() {
        let texts: Vec<_> = (0..10).map(|n| format!("{at} {n}").into_bytes()).collect();
        for body in sender.send_all(reader.address, &texts.iter().collect::<Vec<_>>()) {
            messages.push((Some(at), blake(&body), body));
        }
    }
    senders[0].found(GROUP, &mut [&mut reader]);
    for n in 0..10 {
        if n == 5 {
            let body = senders[0].change(GROUP, |group| group.update(NOW)).0;
            messages.push((None, blake(&body), body));
        }
        let body = senders[0].send_group(GROUP, &[format!("group {n}").into_bytes()]).remove(0);
        messages.push((None, blake(&body), body));
    }
    Backlog { senders, reader, messages }
}

impl Backlog {
    fn deliver<T>(&mut self, what: impl FnOnce(&mut Party, &[Envelope<'_>]) -> T) -> T {
        let envelopes: Vec<_> = self
            .messages
            .iter()
            .map(|(sender, id, body)| match sender {
                Some(at) => Envelope::from_device(id, self.senders[*at].address, body),
                None => Envelope::from_group(id, GROUP, body),
            })
            .collect();
        what(&mut self.reader, &envelopes)
    }

    fn deliver_all(&mut self) {
        self.deliver(|reader, envelopes| {
            let outcomes = reader.receive(envelopes);
            assert!(outcomes.iter().all(|it| matches!(it, Outcome::Delivered(_))), "{outcomes:?}");
            assert_eq!(reader.texts().len(), 31);
        });
    }
}

#[test]
fn an_aborted_transaction_can_be_repeated() {
    for kill in [false, true] {
        let mut backlog = backlog();
        backlog.deliver(|reader, envelopes| {
            let aborted: Result<(), EngineError> = reader.engine().transaction(|t| {
                for envelope in envelopes {
                    assert!(matches!(t.decrypt(envelope)?, Outcome::Delivered(_)));
                }
                Err(EngineError::Random)
            });
            assert!(matches!(aborted, Err(EngineError::Random)));
            assert!(reader.texts().is_empty());
            if kill {
                reader.kill();
            }
        });
        backlog.deliver_all();
    }
}

#[test]
fn a_panic_of_the_caller_is_an_abort() {
    let mut backlog = backlog();
    backlog.deliver(|reader, envelopes| {
        let unwound = catch_unwind(AssertUnwindSafe(|| {
            let _: Result<(), EngineError> = reader.engine().transaction(|t| {
                for envelope in envelopes {
                    t.decrypt(envelope)?;
                }
                panic!("on purpose")
            });
        }));
        assert!(unwound.is_err());
        assert!(reader.texts().is_empty());
    });
    backlog.deliver_all();
}

/// Waiting worker threads end, too.
#[test]
fn a_panic_of_the_watcher_keeps_what_was_committed() {
    for threads in [1, 2, 3] {
        let mut backlog = backlog();
        let kept = backlog.deliver(|reader, envelopes| {
            let options = BatchOptions::default().max_messages(4).threads(threads);
            let unwound = catch_unwind(AssertUnwindSafe(|| {
                reader.engine().decrypt_stream(envelopes, &options, |chunk, _| {
                    if chunk.range.end > 11 {
                        panic!("on purpose");
                    }
                    ControlFlow::Continue(())
                })
            }));
            assert!(unwound.is_err());
            reader.texts().len()
        });
        assert!((11..31).contains(&kept), "{kept}");
        backlog.deliver(|reader, envelopes| {
            let outcomes = reader.receive(envelopes);
            for (at, outcome) in outcomes.iter().enumerate() {
                let is_new = matches!(outcome, Outcome::Delivered(_));
                assert!(outcome.is_kept() && is_new == (at >= kept), "{at}: {outcome:?}");
            }
            assert_eq!(reader.texts().len(), 31);
        });
    }
}

/// References of conversations that were assigned in an aborted transaction are assigned again. A
/// cache that kept them would write into another conversation.
#[test]
fn conversations_are_told_apart_after_a_panic() {
    let mut backlog = backlog();
    backlog.deliver(|reader, envelopes| {
        let unwound = catch_unwind(AssertUnwindSafe(|| {
            let _: Result<(), EngineError> = reader.engine().transaction(|t| {
                t.decrypt(&envelopes[10])?;
                t.decrypt(&envelopes[20])?;
                panic!("on purpose")
            });
        }));
        assert!(unwound.is_err());
        // In the other order, so that each conversation would get the reference of the other.
        assert!(reader.receive(&[envelopes[20], envelopes[10]]).iter().all(|it| it.is_kept()));
        let page = reader.engine().inbox().page(0, 9).unwrap();
        let texts: Vec<_> = page.iter().map(|it: &Received| it.plaintext.to_vec()).collect();
        assert_eq!(texts, [b"group 0".to_vec(), b"1 0".to_vec()]);
        assert_ne!(page[0].conversation, page[1].conversation);
        assert_eq!(page[0].kind, ReceivedKind::Text);
        reader.restart();
        let again = reader.receive(&[envelopes[20], envelopes[10]]);
        assert!(again.iter().all(|it| matches!(it, Outcome::AlreadyDelivered(_))), "{again:?}");
    });
}

#[test]
fn what_was_sealed_in_an_aborted_transaction_never_leaves() {
    let (mut one, mut other) = (Party::new(1), Party::new(2));
    one.meet(&mut other);
    let to = other.address;
    for round in 0..5_u8 {
        let aborted: Result<(), SendError> = one.engine().transaction(|t| {
            t.encrypt(to, b"never")?;
            Err(SendError::Ended)
        });
        assert!(aborted.is_err());
        if round % 2 == 0 {
            one.kill();
        }
        let body = one.send(to, &[round]);
        other.receive_one(one.address, &[round + 1], &body);
    }
    assert_eq!(other.texts(), [[0], [1], [2], [3], [4]]);
}
