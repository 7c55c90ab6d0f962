//! Certificates, bundles, messages and safety numbers: one encoding each, and no panic.

use endseal_crypto::peer_id::PeerId;
use endseal_session::{
    Address, Certificate, CertificateError, DeviceId, DeviceKeys, MAX_MESSAGE_LEN, Message,
    MessageError, PairwiseAccount, PrekeyBundle, Ratchet, RatchetBody, SafetyNumber, SessionTag,
    Succession,
};
use endseal_testing::SplitMix64;

use crate::device::{Device, identity};

#[test]
fn a_certificate_is_what_was_issued() {
    let device = Device::new(7);
    let certificate = Certificate::from_bytes(device.certificate.as_bytes()).unwrap();
    assert_eq!(certificate, device.certificate);
    assert_eq!(certificate.keys().agreement, device.account.keys().agreement);
    assert_eq!(certificate.keys().signing, device.account.keys().signing);
    assert_eq!(certificate.keys().peer_id, PeerId::from_bytes(&[7; 32]));
    assert_eq!(certificate.made_at(), 5);
    let address =
        Address { identity: *identity(7).public_key(), device: DeviceId::new(1).unwrap() };
    assert_eq!(certificate.address(), address);
}

#[test]
fn a_certificate_by_another_identity_is_forged() {
    let certificate = Device::new(7).certificate;
    let mut bytes = *certificate.as_bytes();
    bytes[1..33].copy_from_slice(identity(8).public_key().as_bytes());
    assert_eq!(Certificate::from_bytes(&bytes), Err(CertificateError::Authentication));
}

#[test]
fn the_later_certificate_holds() {
    let seen = Device::new(1).certificate;
    let of = |keys: &DeviceKeys, time| Certificate::issue(&identity(1), keys, time);
    let other = *Device::new(1).certificate.keys();
    assert_eq!(of(seen.keys(), 5).succession(&seen), Succession::Same);
    assert_eq!(of(seen.keys(), 6).succession(&seen), Succession::Later);
    assert_eq!(of(&other, 6).succession(&seen), Succession::Later);
    assert_eq!(of(&other, 4).succession(&seen), Succession::Earlier);
    assert_eq!(of(&other, 5).succession(&seen), Succession::Conflict);
}

#[test]
fn addresses_have_names_and_an_order() {
    let address = |n, device| Address {
        identity: *identity(n).public_key(),
        device: DeviceId::new(device).unwrap(),
    };
    assert_eq!(DeviceId::new(0), None);
    let prefix: String =
        identity(1).public_key().as_bytes()[..8].iter().map(|b| format!("{b:02x}")).collect();
    assert_eq!(address(1, 4_294_967_295).to_string(), format!("{prefix}/4294967295"));
    assert!(address(1, 2) < address(1, 10));
    let by_identity = identity(1).public_key() < identity(2).public_key();
    assert_eq!(address(1, 9) < address(2, 1), by_identity);
}

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

#[test]
fn safety_numbers_are_of_two_and_in_no_order() {
    let key = |n| *identity(n).public_key();
    let number = SafetyNumber::of(&key(1), &key(2));
    assert_eq!(number, SafetyNumber::of(&key(2), &key(1)));
    assert_ne!(number, SafetyNumber::of(&key(1), &key(3)));
    let text = number.to_string();
    let groups: Vec<_> = text.split(' ').collect();
    assert_eq!(groups.len(), SafetyNumber::GROUPS);
    for (group, number) in groups.iter().zip(number.groups()) {
        assert_eq!((group.len(), group.parse()), (5, Ok(*number)));
    }
}

/// 20,000 of each format. What is accepted is written again as it was.
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
    let (mut accepted, mut seen) = (0, [0; 2]);
    for i in 0..20_000 {
        let mutant = random.mutant(&messages[i % 3]);
        if let Ok(message) = Message::parse(&mutant) {
            assert_eq!(message.to_bytes().unwrap(), mutant);
            accepted += 1;
        }
        let mutant = random.mutant(certificate);
        match Certificate::from_bytes(&mutant) {
            Ok(parsed) => assert!(parsed.as_bytes()[..] == mutant && mutant == certificate),
            Err(CertificateError::Authentication) => seen[0] += 1,
            Err(_) => seen[1] += 1,
        }
        let mutant = random.mutant(bundle.as_bytes());
        if let Ok(parsed) = PrekeyBundle::from_bytes(&mutant) {
            assert!(parsed.as_bytes()[..] == mutant && mutant == bundle.as_bytes());
        }
        let mutant = random.mutant(&hello);
        let opened = one.open(RatchetBody::Prekey(&mutant));
        assert!(opened.is_err(), "nobody has answered");
        let key = alice.certificate.keys().agreement;
        if mutant != hello {
            assert!(bob.account.accept(tag, &key, &mutant, |_| true).is_err());
        }
    }
    assert!(accepted > 5_000 && seen.iter().all(|count| *count > 1_000), "{accepted} {seen:?}");
    assert!(bob.account.accept(tag, &alice.certificate.keys().agreement, &hello, |_| true).is_ok());
}
