//! Messages between two people that cannot be opened yet.

use endseal_session::{BatchOptions, ConversationId, Envelope, Failure, Outcome, UnknownSenders};

use super::party::Party;

/// Largest number of messages that are skipped at once.
const GAP: usize = 2_000;

#[test]
fn what_an_outsider_sent_is_opened_when_it_is_known() {
    for by_session in [false, true] {
        for kill in [false, true] {
            let (mut one, mut other) = (Party::new(1), Party::new(2));
            other.engine().set_unknown_senders(UnknownSenders::Refused).unwrap();
            one.begin(&mut other);
            let bodies = [b"one", b"two"].map(|text| one.send(other.address, text));
            let envelopes = [
                Envelope::from_device(b"1", one.address, &bodies[0]).at(b"at 1"),
                Envelope::from_device(b"2", one.address, &bodies[1]).at(b"at 2"),
                Envelope::from_device(b"1", one.address, &bodies[0]).at(b"at 3"),
                Envelope::from_device(b"2", one.address, &bodies[0]).at(b"at 4"),
            ];
            let options = BatchOptions::default().queue(b"queue");
            let report = other.engine().decrypt_batch(&envelopes, &options).unwrap();
            let parked = Outcome::Parked(Failure::UnknownSender);
            let reused = Outcome::Failed(Failure::IdReused);
            assert_eq!(report.outcomes, [parked, parked, parked, reused]);
            let cursor = other.engine().transaction(|t| t.cursor(b"queue"));
            assert_eq!(
                cursor.map_err(|it: endseal_session::EngineError| it).unwrap().unwrap(),
                b"at 4"
            );
            if kill {
                other.kill();
                assert_eq!(other.engine().unknown_senders(), UnknownSenders::Refused);
            }
            assert_eq!(other.texts(), [[0; 0]; 0]);
            let address = one.address;
            if by_session {
                other.begin(&mut one);
            } else {
                other.engine().transaction(|t| t.admit(address)).unwrap();
            }
            assert_eq!(other.texts(), [b"one", b"two"]);
            assert_eq!(other.engine().parked().unwrap(), []);
            let again = other.receive(&envelopes[..2]);
            assert!(again.iter().all(|it| matches!(it, Outcome::AlreadyDelivered(_))));
            assert_eq!(other.texts().len(), 2);
        }
    }
}

#[test]
fn outsiders_messages_are_opened_with_the_next_one_when_outsiders_are_accepted() {
    let (mut one, mut other) = (Party::new(1), Party::new(2));
    other.engine().set_unknown_senders(UnknownSenders::Refused).unwrap();
    one.begin(&mut other);
    let bodies = [b"one", b"two"].map(|text| one.send(other.address, text));
    let of = |id, at: usize| Envelope::from_device(id, one.address, &bodies[at]);
    assert_eq!(other.receive(&[of(b"1", 0)]), [Outcome::Parked(Failure::UnknownSender)]);
    other.engine().set_unknown_senders(UnknownSenders::Accepted).unwrap();
    let options = BatchOptions::default();
    let report = other.engine().decrypt_batch(&[of(b"2", 1)], &options).unwrap();
    assert!(matches!(report.outcomes[..], [Outcome::Delivered(_)]));
    assert_eq!(report.released[0].id, b"1");
    assert!(matches!(report.released[0].outcome, Outcome::Delivered(_)));
    assert_eq!(other.texts(), [b"two", b"one"]);
}

#[test]
fn a_message_too_far_ahead_is_opened_when_the_session_has_moved() {
    for threads in [1, 2] {
        let (mut one, mut other) = (Party::new(1), Party::new(2));
        one.meet(&mut other);
        let texts: Vec<_> = (0..=GAP + 2).map(|n| n.to_string().into_bytes()).collect();
        let bodies = one.send_all(other.address, &texts.iter().collect::<Vec<_>>());
        let last = GAP + 2;
        let of = |id, at: usize| Envelope::from_device(id, one.address, &bodies[at]);
        let parked = Outcome::Parked(Failure::TooFarAhead);
        assert_eq!(other.receive(&[of(b"last", last)]), [parked]);
        other.kill();
        let options = BatchOptions::default().threads(threads);
        let batch = [of(b"last", last), of(b"middle", 1_000), of(b"last", last)];
        let report = other.engine().decrypt_batch(&batch, &options).unwrap();
        assert_eq!(report.outcomes[0], parked);
        assert!(matches!(report.outcomes[1], Outcome::Delivered(_)));
        assert_eq!(report.released[0].id, b"last");
        assert_eq!(other.texts(), [texts[1_000].clone(), texts[last].clone()]);
        other.kill();
        let again = other.receive(&batch);
        assert!(again.iter().all(|it| matches!(it, Outcome::AlreadyDelivered(_))), "{again:?}");
    }
}

#[test]
fn the_place_of_a_conversation_is_bounded() {
    let (mut one, mut other) = (Party::new(1), Party::new(2));
    other.engine().set_unknown_senders(UnknownSenders::Refused).unwrap();
    one.begin(&mut other);
    let body = one.send(other.address, &vec![7; 20 << 10]);
    let ids: Vec<_> = (0..1_001_u32).map(|n| n.to_le_bytes()).collect();
    let envelopes: Vec<_> =
        ids.iter().map(|id| Envelope::from_device(id, one.address, &body)).collect();
    let outcomes = other.receive(&envelopes);
    let parked = Outcome::Parked(Failure::UnknownSender);
    let room = (16 << 20) / body.len();
    assert!(room < 1_000);
    assert!(outcomes[..room].iter().all(|it| *it == parked));
    assert!(outcomes[room..].iter().all(|it| *it == Outcome::Failed(Failure::BufferFull)));
    let of = ConversationId::Person(one.address.identity);
    let total = &other.engine().parked().unwrap()[0];
    assert_eq!((&total.conversation, total.messages), (&of, room as u64));
    assert_eq!(other.engine().transaction(|t| t.drop_parked(&of)).unwrap(), room);
    assert_eq!(other.receive(&envelopes[1_000..]), [parked]);
    let listed = other.engine().transaction(|t| t.parked(&of)).unwrap();
    assert_eq!((listed[0].id.as_slice(), listed[0].outcome), (&ids[1_000][..], parked));
    assert_eq!(listed[0].device, Some(one.address.device));
}
