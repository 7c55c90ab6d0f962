//! A ratchet opens valid messages, refuses all others, and is unchanged after a refusal.

use endseal_session::olm::OlmRatchet;
use endseal_session::{
    MAX_MESSAGE_LEN, MAX_PLAINTEXT_LEN, Message, OpenError, PairwiseAccount, PlaintextHead,
    Ratchet, RatchetBody, SealError, Sealed,
};

use crate::device::{Device, pair, seal_many, with_bytes};

/// Opens a message that must be refused, and checks that the state is unchanged.
#[track_caller]
fn refused(ratchet: &mut OlmRatchet, body: RatchetBody<'_>) -> OpenError {
    let before = ratchet.save();
    let error = ratchet.open(body).expect_err("this must not open");
    assert!(*before == *ratchet.save(), "{error:?} left a trace");
    error
}

#[track_caller]
fn opens(ratchet: &mut OlmRatchet, message: &Sealed, number: u32) {
    assert_eq!(*ratchet.open(message.as_body()).unwrap(), number.to_le_bytes());
}

#[test]
fn texts_of_all_lengths_go_both_ways() {
    let (mut one, mut other) = pair();
    for len in (0..=70).chain([1_000, 65_536]) {
        let text: Vec<u8> = (0..len).map(|i: u32| i.to_le_bytes()[0]).collect();
        let there = one.seal(&text).unwrap();
        assert_eq!(*other.open(there.as_body()).unwrap(), text);
        let back = other.seal(&text).unwrap();
        assert_eq!(*one.open(back.as_body()).unwrap(), text);
    }
    assert_eq!(one.tag(), other.tag());
}

#[test]
fn the_longest_text_makes_a_message_of_either_kind() {
    let (alice, mut bob) = (Device::new(1), Device::new(2));
    // Text of the maximum length, with the longest head.
    let text = vec![0x5a; PlaintextHead::MAX_LEN + MAX_PLAINTEXT_LEN];
    let mut one = alice.begin(&bob.one_time());
    assert_eq!(one.seal(&[&text[..], &[0]].concat()), Err(SealError::TooLong));
    let sealed = one.seal(&text).unwrap();
    let certificate = alice.certificate.as_bytes();
    let message = Message::Prekey { tag: one.tag(), certificate, body: &sealed.body };
    let bytes = message.to_bytes().unwrap();
    assert!(bytes.len() <= MAX_MESSAGE_LEN && bytes.len() > MAX_MESSAGE_LEN - 512);
    let agreement = alice.certificate.keys().agreement;
    let (_, opened) = bob.account.accept(one.tag(), &agreement, &sealed.body, |_| true).unwrap();
    assert_eq!(*opened, text);
}

#[test]
fn the_first_messages_are_prekey_messages_until_one_was_opened() {
    let (alice, mut bob) = (Device::new(1), Device::new(2));
    let mut one = alice.begin(&bob.one_time());
    let hellos = seal_many(&mut one, 3);
    assert!(hellos.iter().all(|hello| hello.prekey) && !one.has_received());
    // The last message is delivered first.
    let mut other = bob.accept(&alice, &one, &hellos[2].body);
    assert!(other.has_received());
    opens(&mut other, &hellos[0], 0);
    opens(&mut other, &hellos[1], 1);
    assert_eq!(refused(&mut other, hellos[2].as_body()), OpenError::KeyGone);
    let answer = other.seal(&[]).unwrap();
    assert!(!answer.prekey);
    one.open(answer.as_body()).unwrap();
    assert!(one.has_received() && !one.seal(&[]).unwrap().prekey);
}

#[test]
fn a_message_that_comes_again_has_no_key() {
    let (mut one, mut other) = pair();
    let messages = seal_many(&mut one, 5);
    for i in [0, 3, 1] {
        other.open(messages[i].as_body()).unwrap();
        assert_eq!(refused(&mut other, messages[i].as_body()), OpenError::KeyGone);
    }
}

#[test]
fn forty_that_were_overtaken_open_in_any_order() {
    let (mut one, mut other) = pair();
    let messages = seal_many(&mut one, 41);
    opens(&mut other, &messages[40], 40);
    for i in (0..40).step_by(2).chain((0..40).skip(1).step_by(2)) {
        opens(&mut other, &messages[usize::try_from(i).unwrap()], i);
    }
}

#[test]
fn of_sixty_in_reversed_order_the_last_forty_one_open() {
    let (mut one, mut other) = pair();
    let messages = seal_many(&mut one, 60);
    for (i, message) in messages.iter().enumerate().rev() {
        if i >= 19 {
            opens(&mut other, message, u32::try_from(i).unwrap());
        } else {
            assert_eq!(refused(&mut other, message.as_body()), OpenError::KeyGone);
        }
    }
}

#[test]
fn two_thousand_may_be_missing_and_not_one_more() {
    let limits = OlmRatchet::limits();
    assert_eq!((limits.kept_keys, limits.chains, limits.gap), (40, 5, 2_000));
    let (mut one, mut other) = pair();
    // On a known chain: two messages of it were opened.
    let messages = seal_many(&mut one, 2_002);
    let far = OpenError::TooFarAhead { gap: 2_001, limit: 2_000 };
    assert_eq!(refused(&mut other, messages[2_001].as_body()), far);
    opens(&mut other, &messages[2_000], 2_000);
    opens(&mut other, &messages[2_001], 2_001);
    opens(&mut other, &messages[1_960], 1_960);
    assert_eq!(refused(&mut other, messages[1_959].as_body()), OpenError::KeyGone);

    // On a chain that is not known yet.
    let messages = seal_many(&mut other, 2_002);
    assert_eq!(refused(&mut one, messages[2_001].as_body()), far);
    opens(&mut one, &messages[2_000], 2_000);
}

#[test]
fn a_chain_is_kept_until_five_newer_ones_came() {
    let (mut one, mut other) = pair();
    let mut late = Vec::new();
    for turn in 0..7 {
        let first = one.seal(&[turn]).unwrap();
        late.push(one.seal(&[turn, 0xff]).unwrap());
        other.open(first.as_body()).unwrap();
        let back = other.seal(&[turn]).unwrap();
        one.open(back.as_body()).unwrap();
    }
    for message in &late[..2] {
        assert_eq!(refused(&mut other, message.as_body()), OpenError::Authentication);
    }
    for (turn, message) in (2..7).zip(&late[2..]) {
        assert_eq!(*other.open(message.as_body()).unwrap(), [turn, 0xff]);
    }
}

/// Messages on a known and on a new chain, for a receiver with and without a sending chain, and a
/// pre-key message. Each byte is replaced by each of three others.
#[test]
fn no_byte_can_be_changed_added_or_left_out() {
    let (mut one, mut other) = pair();
    // `other` has opened a message on a new chain and sent nothing, so it has no sending chain.
    let known = one.seal(b"on a known chain").unwrap();
    damage(&mut other.fork(), &known);
    other.open(known.as_body()).unwrap();
    let new = other.seal(b"on a new chain").unwrap();
    damage(&mut one.fork(), &new);
    one.open(new.as_body()).unwrap();
    damage(&mut one.fork(), &other.seal(b"known, and no chain of its own").unwrap());

    let (alice, mut bob) = (Device::new(1), Device::new(2));
    let mut one = alice.begin(&bob.one_time());
    let hellos = seal_many(&mut one, 2);
    let mut other = bob.accept(&alice, &one, &hellos[0].body);
    damage(&mut other, &hellos[1]);
}

fn damage(ratchet: &mut OlmRatchet, message: &Sealed) {
    let mut seen = [false; 4];
    let mut check = |bytes: &[u8]| {
        let error = refused(ratchet, with_bytes(message, bytes));
        seen[match error {
            OpenError::Malformed => 0,
            OpenError::Authentication => 1,
            // The number of the message, which is used before the MAC can be checked.
            OpenError::KeyGone => 2,
            OpenError::TooFarAhead { .. } => 3,
            other => panic!("{other}"),
        }] = true;
    };
    for at in 0..message.body.len() {
        for change in [1, 0x80, 0xff] {
            let mut bytes = message.body.clone();
            bytes[at] ^= change;
            check(&bytes);
        }
        check(&message.body[..at]);
        check(&[&message.body[..at], &[0], &message.body[at..]].concat());
    }
    check(&[&message.body[..], &[0]].concat());
    assert!(seen[0] && seen[1], "{seen:?}");
    assert!(ratchet.fork().open(message.as_body()).is_ok(), "the message itself is good");
}

/// The library keeps a new sending chain that it made for a forged message. This crate drops it.
#[test]
fn a_forged_chain_leaves_no_trace_where_there_is_no_sending_chain() {
    let (mut one, mut other) = pair();
    let good = one.seal(b"next").unwrap();
    let mut forged = good.body.clone();
    forged[3..35].copy_from_slice(&[9; 32]);
    assert_eq!(refused(&mut other, RatchetBody::Ratchet(&forged)), OpenError::Authentication);
    // A point of low order.
    forged[3..35].copy_from_slice(&[0; 32]);
    assert_eq!(refused(&mut other, RatchetBody::Ratchet(&forged)), OpenError::Authentication);
    assert_eq!(*other.open(good.as_body()).unwrap(), b"next");
}

/// Encodings that the library accepts for the same message, with the same MAC.
#[test]
fn a_message_has_one_encoding() {
    let (mut one, mut other) = pair();
    let body = one.seal(b"one form").unwrap().body;
    // 03, 0a 20 key, 10 index, 22 length ciphertext, MAC: the index is 1.
    assert_eq!(body[..3], [3, 0x0a, 32]);
    assert_eq!(body[35..39], [0x10, 1, 0x22, 16]);
    let (key, index, text, mac) = (&body[1..35], &body[35..37], &body[37..55], &body[55..]);
    let forms = [
        [&[3], index, key, text, mac].concat(),
        [&[3], key, &[0x10, 0x81, 0], text, mac].concat(),
        [&[3], key, index, index, text, mac].concat(),
        [&[3], key, index, text, &[0x28, 1], mac].concat(),
        [&[3], key, index, &[0x22, 0x90, 0], &text[2..], mac].concat(),
    ];
    for form in &forms {
        assert_eq!(refused(&mut other, RatchetBody::Ratchet(form)), OpenError::Malformed);
    }
    assert_eq!(*other.open(RatchetBody::Ratchet(&body)).unwrap(), b"one form");
}

/// Version 4 of the protocol has a MAC of 32 bytes.
#[test]
fn another_version_of_olm_is_malformed() {
    let (mut one, mut other) = pair();
    let mut body = one.seal(b"text").unwrap().body;
    body[0] = 4;
    assert_eq!(refused(&mut other, RatchetBody::Ratchet(&body)), OpenError::Malformed);
    body.extend([0; 24]);
    assert_eq!(refused(&mut other, RatchetBody::Ratchet(&body)), OpenError::Malformed);
}

#[test]
fn a_fork_goes_its_own_way() {
    let (mut one, mut other) = pair();
    let messages = seal_many(&mut one, 3);
    let mut copy = other.fork();
    assert!(*copy.save() == *other.save() && copy.tag() == other.tag());
    for (i, message) in (0..).zip(&messages) {
        opens(&mut copy, message, i);
    }
    // The batch failed, and the same messages are delivered again.
    drop(copy);
    for (i, message) in (0..).zip(&messages) {
        opens(&mut other, message, i);
    }
}
