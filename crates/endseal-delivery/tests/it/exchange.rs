//! Requests that are refused, and payloads that are not valid answers.

use endseal_codec::hub::{
    Acknowledge, Answer, By, CaughtUp, Code, Credit as More, Deliver, Find, Gap, GapReason, Hello,
    Publish, Put, Recover, Refused, Register, Request, Stored, Subscribe, Take, Welcome,
};
use endseal_crypto::peer_id::PeerId;
use endseal_delivery::hub::{Action, Exchange, Kind, RegistrationState, allows};
use endseal_delivery::limit::{MAX_TARGETS, MAX_UNANSWERED};
use endseal_delivery::node::{Arrival, HubFault, Puts, Settled, Subscription};
use endseal_delivery::{Credit, Targets, TargetsError};
use endseal_testing::SplitMix64;

use crate::{answer, frame, peer, put, request};

/// Returns a request of each kind that can be the first of an exchange.
fn first(kind: Kind) -> Vec<u8> {
    match kind {
        Kind::Hello => request(Request::Hello(Hello { version: 1, ..Hello::default() })),
        Kind::Register => request(Request::Register(Register {
            token: Some([1; 32]),
            certificate: [2; 237].into(),
            person: [3].into(),
        })),
        Kind::Put => put(&[peer(2)], &frame(peer(1), 1, b"text")),
        Kind::Subscribe => request(Request::Subscribe(Subscribe { after: 5, frames: 1, bytes: 1 })),
        Kind::Find => request(Request::Find(Find { by: By::Identity([4; 32]) })),
        Kind::Publish => request(Request::Publish(Publish::default())),
        Kind::Take => request(Request::Take(Take { peer: [5; 32] })),
        Kind::Recover => {
            request(Request::Recover(Recover { identity: [6; 32], signature: [7; 64].into() }))
        }
    }
}

fn refusal(action: Action<'_>) -> Option<Code> {
    match action {
        Action::Refuse(code) => Some(code),
        _ => None,
    }
}

#[test]
fn each_exchange_is_for_those_who_may() {
    for kind in Kind::ALL {
        for (state, code) in [
            (RegistrationState::Registered, None),
            (RegistrationState::Revoked, Some(Code::REVOKED)),
            (
                RegistrationState::Pending,
                match kind {
                    Kind::Register | Kind::Recover | Kind::Subscribe => None,
                    _ => Some(Code::REGISTERED),
                },
            ),
            (
                RegistrationState::Unknown,
                match kind {
                    Kind::Register | Kind::Recover => None,
                    _ => Some(Code::REGISTERED),
                },
            ),
        ] {
            assert_eq!(allows(state, kind).err(), code, "{kind:?} {state:?}");
            let payload = first(kind);
            let mut exchange = Exchange::new();
            let action = exchange.request(&payload, &peer(1), state);
            assert_eq!(refusal(action), code, "{kind:?} {state:?}");
            assert_eq!(exchange.kind(), Some(kind).filter(|_| code.is_none()));
        }
    }
}

#[test]
fn an_exchange_goes_on_as_it_began() {
    let more = [
        request(Request::Credit(More { frames: 1, bytes: 2 })),
        request(Request::Acknowledge(Acknowledge { position: 3 })),
    ];
    for kind in Kind::ALL {
        // Requests that cannot be the first of an exchange, and requests that cannot be the second.
        for payload in &more {
            let mut exchange = Exchange::new();
            let action = exchange.request(payload, &peer(1), RegistrationState::Registered);
            assert_eq!(refusal(action), Some(Code::REQUEST));
            let mut exchange = Exchange::new();
            let payload_of_first = first(kind);
            exchange.request(&payload_of_first, &peer(1), RegistrationState::Registered);
            let action = exchange.request(payload, &peer(1), RegistrationState::Registered);
            let expected = Some(Code::REQUEST).filter(|_| kind != Kind::Subscribe);
            assert_eq!(refusal(action), expected, "{kind:?}");
        }
        for second in Kind::ALL {
            let payload = first(second);
            let mut exchange = Exchange::new();
            let payload_of_first = first(kind);
            exchange.request(&payload_of_first, &peer(1), RegistrationState::Registered);
            let action = exchange.request(&payload, &peer(1), RegistrationState::Registered);
            // The second put repeats the sequence number of the first.
            let expected =
                Some(Code::REQUEST).filter(|_| (kind, second) != (Kind::Find, Kind::Find));
            assert_eq!(refusal(action), expected, "{kind:?} {second:?}");
        }
    }
    let (mut exchange, find) = (Exchange::new(), first(Kind::Find));
    for code in [None, None, Some(Code::REVOKED), Some(Code::REQUEST)] {
        let state =
            if code.is_none() { RegistrationState::Registered } else { RegistrationState::Revoked };
        assert_eq!(refusal(exchange.request(&find, &peer(1), state)), code);
    }
    let mut exchange = Exchange::new();
    let subscribe = first(Kind::Subscribe);
    exchange.request(&subscribe, &peer(1), RegistrationState::Registered);
    let action = exchange.request(&more[0], &peer(1), RegistrationState::Registered);
    assert!(matches!(action, Action::Credit(Credit { frames: 1, bytes: 2 })));
    let action = exchange.request(&more[1], &peer(1), RegistrationState::Registered);
    assert!(matches!(action, Action::Acknowledge(3)));
    // A device that was revoked in the meantime gets nothing more, and the exchange ends.
    let action = exchange.request(&more[0], &peer(1), RegistrationState::Revoked);
    assert_eq!(refusal(action), Some(Code::REVOKED));
    let action = exchange.request(&more[0], &peer(1), RegistrationState::Registered);
    assert_eq!(refusal(action), Some(Code::REQUEST));
}

#[test]
fn frames_are_vouched_for_in_order_and_answered() {
    let mut exchange = Exchange::new();
    let mut put_of = |from: PeerId, sequence: u64| {
        let payload = put(&[peer(2)], &frame(from, sequence, b"text"));
        refusal(exchange.request(&payload, &peer(1), RegistrationState::Registered))
    };
    assert_eq!((put_of(peer(1), 3), put_of(peer(1), 9)), (None, None));
    assert_eq!(put_of(peer(1), 8), Some(Code::REQUEST));
    let mut exchange = Exchange::new();
    let payload = put(&[peer(2)], &frame(peer(3), 1, b"text"));
    let action = exchange.request(&payload, &peer(1), RegistrationState::Registered);
    assert_eq!(refusal(action), Some(Code::FRAME), "another's peer id");

    let mut exchange = Exchange::new();
    for sequence in 0..MAX_UNANSWERED as u64 {
        let payload = put(&[peer(2)], &frame(peer(1), sequence, b"t"));
        let action = exchange.request(&payload, &peer(1), RegistrationState::Registered);
        assert!(matches!(action, Action::Put(it, ..) if it == sequence));
    }
    exchange.answered();
    for expected in [None, Some(Code::REQUEST)] {
        let sequence = 2_000 + u64::from(expected.is_some());
        let payload = put(&[peer(2)], &frame(peer(1), sequence, b"t"));
        let action = exchange.request(&payload, &peer(1), RegistrationState::Registered);
        assert_eq!(refusal(action), expected);
    }
}

#[test]
fn targets_are_each_once() {
    let ids = |count: u16| -> Vec<u8> {
        let id = |number: u16| {
            let mut id = [0; 32];
            id[..2].copy_from_slice(&number.to_le_bytes());
            id
        };
        (0..count).flat_map(id).collect()
    };
    let read = |targets: &[u8]| Targets::read(targets).map(|it| it.count());
    let most = u16::try_from(MAX_TARGETS).unwrap();
    assert_eq!(read(&ids(1)), Ok(1));
    assert_eq!(read(&ids(most)), Ok(MAX_TARGETS));
    assert_eq!(read(&[]), Err(TargetsError::Count));
    assert_eq!(read(&ids(most + 1)), Err(TargetsError::Count));
    assert_eq!(read(&ids(1)[1..]), Err(TargetsError::Length));
    assert_eq!(read(&[ids(2), ids(1)].concat()), Err(TargetsError::Twice));
    let (ids, mut exchange) = ([peer(7), peer(8)], Exchange::new());
    let payload = put(&ids, &frame(peer(1), 1, b"text"));
    let Action::Put(1, targets, _) =
        exchange.request(&payload, &peer(1), RegistrationState::Registered)
    else {
        panic!()
    };
    assert!(targets.iter().eq([peer(7), peer(8)]));
    // One frame is refused, and the next one is accepted.
    let payload = put(&[peer(7), peer(7)], &frame(peer(1), 2, b"text"));
    let action = exchange.request(&payload, &peer(1), RegistrationState::Registered);
    assert!(matches!(action, Action::RefuseFrame(2, Code::TARGETS)));
    let payload = put(&[peer(7)], &frame(peer(1), 3, b"text"));
    let action = exchange.request(&payload, &peer(1), RegistrationState::Registered);
    assert!(matches!(action, Action::Put(3, ..)));
}

#[test]
fn every_changed_byte_and_every_cut_has_an_answer() {
    let mut random = SplitMix64::new(5);
    for kind in Kind::ALL {
        let payload = first(kind);
        let mut changed: Vec<Vec<u8>> = (0..payload.len()).map(|at| payload[..at].into()).collect();
        for at in 0..payload.len() {
            for bit in 0..8 {
                let mut flipped = payload.clone();
                flipped[at] ^= 1 << bit;
                changed.push(flipped);
            }
        }
        changed.extend((0..2_000).map(|_| random.mutant(&payload)));
        for payload in changed {
            let mut exchange = Exchange::new();
            let action = exchange.request(&payload, &peer(1), RegistrationState::Registered);
            if let Action::Put(_, targets, stored) = action {
                // No byte of the frame can be changed, but its mailboxes can.
                assert_eq!(stored, frame(peer(1), 1, b"text"));
                assert_eq!(targets.count(), 1);
            }
            let ended = refusal(action).is_some();
            let again = exchange.request(&payload, &peer(1), RegistrationState::Registered);
            assert!(!ended || refusal(again) == Some(Code::REQUEST));
        }
    }
}

#[test]
fn a_node_believes_answers_to_its_own_frames_alone() {
    let mut puts = Puts::new();
    assert!(puts.send(2) && puts.send(5) && puts.send(6) && !puts.send(6) && !puts.send(3));
    let stored = |sequence| answer(Answer::Stored(Stored { sequence }));
    for sequence in [0, 1, 3, 7] {
        assert_eq!(puts.answer(&stored(sequence)).err(), Some(HubFault::Sequence), "{sequence}");
    }
    let refused = |sequence| {
        let refused = Refused { code: Code::FULL, sequence, ..Refused::default() };
        answer(Answer::Refused(refused))
    };
    assert_eq!(puts.answer(&refused(Some(3))).err(), Some(HubFault::Sequence));
    let payload = refused(Some(5));
    let Settled::Refused(Some(5), view) = puts.answer(&payload).unwrap() else { panic!() };
    assert_eq!(view.code, Code::FULL);
    assert_eq!(puts.answer(&stored(5)).err(), Some(HubFault::Sequence));
    let Settled::Stored(sequences) = puts.answer(&stored(6)).unwrap() else { panic!() };
    assert_eq!(sequences, [2, 6]);
    assert_eq!(puts.unanswered(), 0);
    assert_eq!(puts.answer(&stored(6)).err(), Some(HubFault::Sequence), "once");
    let payload = refused(None);
    assert!(matches!(puts.answer(&payload), Ok(Settled::Refused(None, _))));
    assert_eq!(puts.answer(b"x").err(), Some(HubFault::Answer));
    let welcome = answer(Answer::Welcome(Welcome::default()));
    assert_eq!(puts.answer(&welcome).err(), Some(HubFault::Unexpected));
    let sent = (0..2_000).filter(|sequence| puts.send(100 + sequence)).count();
    assert_eq!(sent, MAX_UNANSWERED);
}

#[test]
fn a_node_takes_what_it_asked_for_in_order() {
    let deliver = |position, frame: &[u8]| {
        let deliver = Deliver { position, frame: frame.into() };
        answer(Answer::Deliver(deliver))
    };
    let bytes = frame(peer(3), 8, b"text");
    let mut subscription = Subscription::new(10, Credit { frames: 2, bytes: 1 });
    for position in [0, 9, 10] {
        let payload = deliver(position, &bytes);
        assert_eq!(subscription.answer(&payload).err(), Some(HubFault::Position));
    }
    let payload = deliver(12, &bytes);
    let Arrival::Frame { position: 12, frame: stored, .. } = subscription.answer(&payload).unwrap()
    else {
        panic!()
    };
    assert_eq!(stored.stamp().sender, [3; 32]);
    // The credit of bytes is used up.
    assert_eq!(subscription.answer(&deliver(13, &bytes)).err(), Some(HubFault::Credit));
    subscription.give(Credit { frames: 0, bytes: 1 });
    assert!(subscription.answer(&deliver(13, &bytes)).is_ok());
    subscription.give(Credit { frames: 0, bytes: 1_000 });
    assert_eq!(subscription.answer(&deliver(14, &bytes)).err(), Some(HubFault::Credit));
    subscription.give(Credit { frames: 9, bytes: 0 });
    let mut damaged = bytes.clone();
    damaged[70] ^= 1;
    let damaged = deliver(14, &damaged);
    assert!(matches!(subscription.answer(&damaged), Ok(Arrival::Damaged { position: 14 })));
    let caught_up = answer(Answer::CaughtUp(CaughtUp { position: 13 }));
    assert!(matches!(subscription.answer(&caught_up), Ok(Arrival::CaughtUp)));
    // A hub that was restored starts again at position 0.
    let gap = Gap { count: 0, reason: GapReason::RESTORED, position: 0 };
    let payload = answer(Answer::Gap(gap));
    assert!(matches!(subscription.answer(&payload), Ok(Arrival::Gap(_))));
    assert!(subscription.answer(&deliver(4, &bytes)).is_ok());
    let put = Put { targets: [1; 32].into(), frame: bytes.into(), conversation: None };
    assert_eq!(subscription.answer(&request(Request::Put(put))).err(), Some(HubFault::Answer));
}
