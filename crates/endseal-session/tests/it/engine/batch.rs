//! Decryption of backlogs: each message gets its own result, for all transaction sizes and numbers
//! of threads.

use core::mem::replace;
use core::time::Duration;

use endseal_session::{
    BatchOptions, Durability, EngineError, Envelope, Failure, Outcome, ReceivedKind, SendError,
};

use super::party::Party;

/// A backlog of messages from several people.
struct Backlog {
    people: Vec<Party>,
    reader: Party,
    messages: Vec<Sent>,
}

struct Sent {
    from: usize,
    id: Vec<u8>,
    text: Vec<u8>,
    body: Vec<u8>,
}

impl Backlog {
    fn new(people: usize, messages: usize) -> Self {
        let mut reader = Party::new(1);
        let mut people: Vec<_> = (2..).take(people).map(Party::new).collect();
        for person in &mut people {
            person.meet(&mut reader);
        }
        let texts: Vec<_> = (0..messages).map(|n| format!("message {n}").into_bytes()).collect();
        let count = people.len();
        let mut bodies: Vec<_> = people
            .iter_mut()
            .enumerate()
            .map(|(from, person)| {
                let own: Vec<_> = texts.iter().skip(from).step_by(count).collect();
                person.send_all(reader.address, &own).into_iter()
            })
            .collect();
        let messages = texts.into_iter().enumerate().map(|(n, text)| {
            let from = n % count;
            let id = format!("id-{n}").into_bytes();
            Sent { from, id, text, body: bodies[from].next().unwrap() }
        });
        let messages = messages.collect();
        Self { people, reader, messages }
    }

    fn envelopes(&self) -> Vec<Envelope<'_>> {
        self.messages
            .iter()
            .map(|it| Envelope::from_device(&it.id, self.people[it.from].address, &it.body))
            .collect()
    }
}

fn options() -> Vec<BatchOptions> {
    let mut all = Vec::new();
    for messages in [1, 3, 100, usize::MAX] {
        for threads in [1, 2, 4] {
            let options = BatchOptions::default().max_messages(messages).threads(threads);
            all.push(options.max_latency(Duration::MAX));
        }
    }
    all
}

#[test]
fn a_backlog_is_delivered_in_order_however_it_is_cut() {
    for options in options() {
        let mut backlog = Backlog::new(3, 300);
        let mut reader = replace(&mut backlog.reader, Party::new(99));
        let report = reader.engine().decrypt_batch(&backlog.envelopes(), &options).unwrap();
        assert_eq!(report.outcomes.len(), 300);
        assert!(
            report.outcomes.iter().all(|it| matches!(it, Outcome::Delivered(_))),
            "{options:?}"
        );
        let expected = 300_usize.div_ceil(options.max_messages.get().min(300));
        assert_eq!(usize::try_from(report.commits).unwrap(), expected, "{options:?}");
        let sent: Vec<_> = backlog.messages.iter().map(|it| it.text.clone()).collect();
        assert_eq!(reader.texts(), sent, "{options:?}");
        // The same backlog again, after a restart and in the same process.
        for _ in 0..2 {
            let again = reader.engine().decrypt_batch(&backlog.envelopes(), &options).unwrap();
            for (first, second) in report.outcomes.iter().zip(&again.outcomes) {
                let Outcome::Delivered(number) = first else { panic!("{first:?}") };
                assert_eq!(*second, Outcome::AlreadyDelivered(*number));
            }
            reader.restart();
        }
        assert_eq!(reader.texts(), sent);
    }
}

#[test]
fn repeated_forged_and_malformed_messages_cost_themselves_alone() {
    for options in options() {
        let mut backlog = Backlog::new(2, 40);
        let mut reader = replace(&mut backlog.reader, Party::new(99));
        let outsider = Party::new(77);
        let good = backlog.envelopes();
        let mut forged = good[11].body.to_vec();
        *forged.last_mut().unwrap() ^= 1;
        let mut envelopes = good.clone();
        envelopes.insert(11, Envelope::from_device(b"forged", good[11].id_origin(), &forged));
        envelopes.insert(20, good[5]);
        envelopes.insert(21, Envelope::from_device(good[6].id, good[6].id_origin(), good[30].body));
        envelopes.insert(30, Envelope::from_device(b"junk", good[0].id_origin(), b"\x01\x02"));
        envelopes.insert(31, Envelope::from_device(b"", good[0].id_origin(), good[0].body));
        envelopes.insert(32, Envelope::from_device(b"other", good[0].id_origin(), good[0].body));
        envelopes.insert(33, Envelope::from_device(b"none", outsider.address, good[0].body));
        let report = reader.engine().decrypt_batch(&envelopes, &options).unwrap();
        let failed = |at: usize| report.outcomes[at];
        assert_eq!(failed(11), Outcome::Failed(Failure::Authentication));
        let Outcome::Delivered(number) = failed(5) else { panic!() };
        assert_eq!(failed(20), Outcome::AlreadyDelivered(number), "{options:?}");
        assert_eq!(failed(21), Outcome::Failed(Failure::IdReused), "{options:?}");
        assert_eq!(failed(30), Outcome::Failed(Failure::Malformed));
        assert_eq!(failed(31), Outcome::Failed(Failure::Malformed));
        assert_eq!(failed(32), Outcome::Failed(Failure::KeyGone));
        assert_eq!(failed(33), Outcome::Failed(Failure::NoSession));
        // A forged message claims to be the thirtieth. Before it, the messages that it has
        // overtaken were opened.
        let (mut sent, mut texts) = (Vec::new(), reader.texts());
        sent.extend(backlog.messages.iter().map(|it| it.text.clone()));
        sent.sort();
        texts.sort();
        assert_eq!(texts, sent, "{options:?}");
    }
}

/// Returns the sender that a message of a backlog names.
trait OriginOf {
    fn id_origin(&self) -> endseal_keyring::device::Address;
}

impl OriginOf for Envelope<'_> {
    fn id_origin(&self) -> endseal_keyring::device::Address {
        match self.origin {
            endseal_session::Origin::Device(address) => address,
            _ => panic!("of a group"),
        }
    }
}

#[test]
fn an_aborted_transaction_leaves_everything_to_be_delivered_again() {
    let mut backlog = Backlog::new(2, 6);
    let mut reader = replace(&mut backlog.reader, Party::new(99));
    let envelopes = backlog.envelopes();
    for round in 0..3 {
        let aborted: Result<(), EngineError> = reader.engine().transaction(|t| {
            for envelope in &envelopes {
                assert!(matches!(t.decrypt(envelope)?, Outcome::Delivered(_)));
            }
            assert_eq!(t.inbox(0, 10)?.len(), 6);
            Err(EngineError::Ended)
        });
        assert!(aborted.is_err());
        assert!(reader.texts().is_empty());
        if round == 1 {
            reader.restart();
        }
    }
    let report = reader.engine().decrypt_batch(&envelopes, &BatchOptions::whole()).unwrap();
    assert!(report.outcomes.iter().all(|it| matches!(it, Outcome::Delivered(_))));
    assert_eq!(reader.texts().len(), 6);
}

#[test]
fn messages_are_sent_while_a_backlog_is_read() {
    for threads in [1, 2] {
        let mut backlog = Backlog::new(2, 200);
        let mut reader = replace(&mut backlog.reader, Party::new(99));
        let to = backlog.people[0].address;
        let mut sent = Vec::new();
        let mut told = 0;
        let options = BatchOptions::default().max_messages(20).threads(threads);
        let report = reader
            .engine()
            .decrypt_stream(&backlog.envelopes(), &options, |chunk, turn| {
                assert_eq!(chunk.range.start, told);
                assert_eq!(chunk.range.len(), chunk.outcomes.len());
                told = chunk.range.end;
                let text = format!("between {}", sent.len());
                sent.push(turn.encrypt(to, text.as_bytes()).unwrap().body);
                core::ops::ControlFlow::Continue(())
            })
            .unwrap();
        assert_eq!(told, 200);
        assert_eq!(report.outcomes.len(), 200);
        assert!(report.outcomes.iter().all(|it| matches!(it, Outcome::Delivered(_))));
        assert_eq!(reader.texts().len(), 200);
        let from = reader.address;
        reader.restart();
        sent.push(reader.send(to, b"after"));
        let person = &mut backlog.people[0];
        for (n, body) in sent.iter().enumerate() {
            person.receive_one(from, format!("back-{n}").as_bytes(), body);
        }
        assert_eq!(person.texts().len(), sent.len());
    }
}

#[test]
fn a_batch_that_is_synchronised_at_its_end_delivers_the_same() {
    for threads in [1, 2] {
        let mut backlog = Backlog::new(2, 60);
        let mut reader = replace(&mut backlog.reader, Party::new(99));
        let to = backlog.people[0].address;
        let options = BatchOptions::default().max_messages(7).threads(threads);
        let options = options.durability(Durability::AtEnd);
        let mut sent = Vec::new();
        let report = reader
            .engine()
            .decrypt_stream(&backlog.envelopes(), &options, |chunk, turn| {
                assert!(!chunk.is_durable);
                sent.push(turn.encrypt(to, b"between").unwrap().number);
                core::ops::ControlFlow::Continue(())
            })
            .unwrap();
        assert!(report.outcomes.iter().all(|it| matches!(it, Outcome::Delivered(_))));
        reader.restart();
        assert_eq!(reader.texts().len(), 60);
        let pending = reader.engine().outbox().pending(0, 100).unwrap();
        assert_eq!(pending.iter().map(|it| it.number).collect::<Vec<_>>(), sent);
    }
}

#[test]
fn a_stream_can_be_stopped_and_goes_on_later() {
    for threads in [1, 2] {
        let mut backlog = Backlog::new(2, 100);
        let mut reader = replace(&mut backlog.reader, Party::new(99));
        let options = BatchOptions::default().max_messages(10).threads(threads);
        let envelopes = backlog.envelopes();
        let report = reader
            .engine()
            .decrypt_stream(&envelopes, &options, |_, _| core::ops::ControlFlow::Break(()))
            .unwrap();
        let done = report.outcomes.len();
        assert!((10..100).contains(&done), "{done}");
        assert_eq!(reader.texts().len(), done);
        let rest = reader.engine().decrypt_batch(&envelopes[done..], &options).unwrap();
        assert!(rest.outcomes.iter().all(|it| matches!(it, Outcome::Delivered(_))));
    }
}

#[test]
fn the_position_of_the_queue_is_committed_with_the_messages() {
    for threads in [1, 2] {
        let mut backlog = Backlog::new(2, 30);
        let mut reader = replace(&mut backlog.reader, Party::new(99));
        let positions: Vec<_> = (0_u32..30).map(u32::to_be_bytes).collect();
        let envelopes: Vec<_> =
            backlog.envelopes().into_iter().zip(&positions).map(|(it, at)| it.at(at)).collect();
        let options = BatchOptions::default().max_messages(7).threads(threads).queue(b"server");
        reader.engine().decrypt_batch(&envelopes[..20], &options).unwrap();
        let cursor = |reader: &mut Party| {
            reader.engine().transaction(|t| t.cursor(b"server")).unwrap().unwrap()
        };
        assert_eq!(cursor(&mut reader), 19_u32.to_be_bytes());
        reader.restart();
        reader.engine().decrypt_batch(&envelopes[20..], &options).unwrap();
        assert_eq!(cursor(&mut reader), 29_u32.to_be_bytes());
    }
}

#[test]
fn what_is_encrypted_lies_in_the_outbox_and_is_never_encrypted_twice() {
    let (mut one, mut other) = (Party::new(1), Party::new(2));
    one.meet(&mut other);
    let first = one.engine().encrypt(other.address, b"first").unwrap();
    let aborted: Result<(), SendError> = one.engine().transaction(|t| {
        t.encrypt(other.address, b"aborted")?;
        Err(SendError::Ended)
    });
    assert!(aborted.is_err());
    one.restart();
    let pending = one.engine().outbox().pending(0, 10).unwrap();
    assert_eq!(pending.len(), 1);
    assert_eq!((pending[0].number, &pending[0].body), (first.number, &first.body));
    assert_eq!(pending[0].recipient, Some(other.address));
    let second = one.engine().encrypt(other.address, b"second").unwrap();
    assert!(second.number > first.number);
    for (id, out) in [(b"1", &first), (b"2", &second)] {
        other.receive_one(one.address, id, &out.body);
        assert!(one.engine().outbox().sent(out.number).unwrap());
        assert!(!one.engine().outbox().sent(out.number).unwrap());
    }
    assert_eq!(other.texts(), [b"first".to_vec(), b"second".to_vec()]);
    let message = other.engine().inbox().next().unwrap().unwrap();
    assert_eq!(message.sender, one.address);
    assert_eq!(message.kind, ReceivedKind::Text);
}
