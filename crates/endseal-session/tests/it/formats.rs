//! Messages and ratchet bodies: each has one encoding, and no input causes a panic.

use endseal_session::{
    MAX_MESSAGE_LEN, Message, MessageError, PairwiseAccount, Ratchet, RatchetBody, SessionTag,
};
use endseal_testing::SplitMix64;

use crate::device::Device;

#[test]
fn messages_are_written_as_they_are_read() {
    let certificate = Device::new(1).certificate;
    let tag = SessionTag::from_bytes(&[1, 2, 3, 4, 5, 6, 7, 8]);
    let prekey = Message::Prekey { tag, certificate: certificate.as_bytes(), body: b"body" };
    let ratchet = Message::Ratchet { tag, body: b"body" };
    let group = Message::Group(b"body");
    assert_eq!(ratchet.to_bytes().unwrap(), b"\x01\x02\x01\x02\x03\x04\x05\x06\x07\x08body");
    assert_eq!(group.to_bytes().unwrap(), b"\x01\x03body");
    for message in [prekey, ratchet, group] {
        let bytes = message.to_bytes().unwrap();
        assert_eq!((bytes.len(), bytes.capacity()), (message.encoded_len(), bytes.len()));
        assert_eq!(Message::parse(&bytes), Ok(message));
    }
    assert_eq!(prekey.ratchet_body(), Some(RatchetBody::Prekey(b"body")));
    assert_eq!(ratchet.ratchet_body(), Some(RatchetBody::Ratchet(b"body")));
    assert_eq!((group.ratchet_body(), group.tag(), prekey.tag()), (None, None, Some(tag)));
}

#[test]
fn a_message_is_at_most_one_mebibyte() {
    let body = vec![0; MAX_MESSAGE_LEN - 1];
    let longest = Message::Group(&body[..MAX_MESSAGE_LEN - 2]).to_bytes().unwrap();
    assert!(Message::parse(&longest).is_ok());
    let mut out = vec![9];
    assert_eq!(Message::Group(&body).write_to(&mut out), Err(MessageError::TooLong));
    assert_eq!(Message::Group(&[]).write_to(&mut out), Err(MessageError::Truncated));
    assert_eq!(out, [9]);
    let longer = [&longest[..], &[0]].concat();
    assert_eq!(Message::parse(&longer), Err(MessageError::TooLong));
}

/// 20,000 mutations of each format. Accepted ones must be encoded to the same bytes.
#[test]
fn mutants_are_refused_or_are_what_they_say() {
    let (alice, mut bob) = (Device::new(1), Device::new(2));
    let bundle = bob.one_time();
    let mut one = alice.begin(&bundle);
    let hello = one.seal(b"hello").unwrap().body;
    let (tag, certificate) = (one.tag(), alice.certificate.as_bytes());
    let messages = [
        Message::Prekey { tag, certificate, body: &hello }.to_bytes().unwrap(),
        Message::Ratchet { tag, body: &hello }.to_bytes().unwrap(),
        Message::Group(&hello).to_bytes().unwrap(),
    ];
    let mut random = SplitMix64::new(1);
    let mut accepted = 0;
    for i in 0..20_000 {
        let mutant = random.mutant(&messages[i % 3]);
        if let Ok(message) = Message::parse(&mutant) {
            assert_eq!(message.to_bytes().unwrap(), mutant);
            accepted += 1;
        }
        let mutant = random.mutant(&hello);
        let opened = one.open(RatchetBody::Prekey(&mutant));
        assert!(opened.is_err(), "the other side has not answered");
        let key = alice.certificate.keys().agreement;
        if mutant != hello {
            assert!(bob.account.accept(tag, &key, &mutant, |_| true).is_err());
        }
    }
    assert!(accepted > 5_000, "{accepted}");
    assert!(bob.account.accept(tag, &alice.certificate.keys().agreement, &hello, |_| true).is_ok());
}
