//! The first messages of a session name both sides, so a certificate for another device's key
//! cannot be used.

use endseal_crypto::ed25519::{Seed, SigningKey};
use endseal_crypto::peer_id::PeerId;
use endseal_keyring::device::{Address, Certificate, DeviceId, DeviceKeys, PrekeyBundle};
use endseal_session::{BatchOptions, Envelope, Failure, Message, Outcome};

use super::party::Party;
use crate::device::identity;

const MALLORY: u8 = 66;

/// Returns a certificate of Mallory with the agreement key of another certificate, and the key that
/// signs her prekeys.
fn borrowed(from: &Certificate) -> (Certificate, SigningKey) {
    let signing = SigningKey::from_seed(Seed::from_bytes(&[67; 32]));
    let keys = DeviceKeys {
        device: DeviceId::new(9).unwrap(),
        peer_id: PeerId::from_bytes(&[9; 32]),
        agreement: from.keys().agreement,
        signing: *signing.public_key(),
        group: *signing.public_key(),
    };
    (Certificate::issue(&identity(MALLORY), &keys, 1), signing)
}

/// Returns the message with another certificate.
fn under(certificate: &Certificate, message: &[u8]) -> Vec<u8> {
    let Ok(Message::Prekey { tag, body, .. }) = Message::parse(message) else {
        panic!("no message of kind 1")
    };
    Message::Prekey { tag, certificate: certificate.as_bytes(), body }.to_bytes().unwrap()
}

fn sessions(party: &mut Party, with: Address) -> usize {
    party.engine().transaction(|t| t.sessions(with)).unwrap().len()
}

/// Mallory delivers Alice's first message to Bob as her own, with a certificate of hers for Alice's
/// key.
#[test]
fn a_message_under_a_certificate_that_borrows_the_senders_key_is_refused() {
    let (mut alice, mut bob) = (Party::new(1), Party::new(2));
    alice.begin(&mut bob);
    let body = alice.send(bob.address, b"credit it to me");
    let (certificate, _) = borrowed(alice.engine().certificate());
    let forged = under(&certificate, &body);
    let mallory = certificate.address();
    let outcomes = bob.receive(&[Envelope::from_device(b"id", mallory, &forged)]);
    assert_eq!(outcomes, [Outcome::Failed(Failure::Authentication)]);
    assert_eq!(sessions(&mut bob, mallory), 0);
    // No key was used up: Alice's own message opens, in this process and after a restart.
    bob.restart();
    bob.receive_one(alice.address, b"id", &body);
    assert_eq!(bob.texts(), [b"credit it to me"]);
}

/// Mallory publishes a bundle for Bob's key with one of Bob's prekeys, and forwards Alice's
/// messages for her to Bob.
#[test]
fn a_message_to_a_device_that_borrows_the_recipients_key_is_refused() {
    let (mut alice, mut bob) = (Party::new(1), Party::new(2));
    let genuine = bob.bundles(1).remove(0);
    let (certificate, signing) = borrowed(genuine.certificate());
    let (kind, key, time) = (genuine.kind(), *genuine.key(), genuine.made_at());
    let bundle = PrekeyBundle::issue(&certificate, kind, key, time, |it| signing.sign(it));
    let bundle = PrekeyBundle::from_bytes(bundle.as_bytes()).unwrap();
    alice.begin_with(&bundle);
    let mallory = certificate.address();
    let body = alice.send(mallory, b"for Mallory alone");
    let outcomes = bob.receive(&[Envelope::from_device(b"id", alice.address, &body)]);
    assert_eq!(outcomes, [Outcome::Failed(Failure::Authentication)]);
    assert_eq!(sessions(&mut bob, alice.address), 0);
    // The prekey still exists.
    alice.begin_with(&genuine);
    let body = alice.send(bob.address, b"for Bob");
    bob.receive_one(alice.address, b"id", &body);
    assert_eq!(bob.texts(), [b"for Bob"]);
}

/// Returns the Olm message of a message of kind 1 as a message of kind 2; its MAC is valid.
fn taken_out(message: &[u8]) -> Vec<u8> {
    let Ok(Message::Prekey { tag, body, .. }) = Message::parse(message) else {
        panic!("no message of kind 1")
    };
    // 03, three keys of 2 + 32 bytes, 22, and a length of one byte or two.
    let rest = &body[1 + 3 * 34 + 1..];
    let inner = if rest[0] < 0x80 { &rest[1..] } else { &rest[2..] };
    Message::Ratchet { tag, body: inner }.to_bytes().unwrap()
}

#[test]
fn a_message_of_kind_1_is_none_of_kind_2() {
    for threads in [1, 2] {
        let (mut alice, mut bob) = (Party::new(1), Party::new(2));
        alice.begin(&mut bob);
        let bodies = [b"one", b"two"].map(|text| alice.send(bob.address, text));
        bob.receive_one(alice.address, b"1", &bodies[0]);
        let forged = taken_out(&bodies[1]);
        let envelopes = [
            Envelope::from_device(b"forged", alice.address, &forged),
            Envelope::from_device(b"2", alice.address, &bodies[1]),
        ];
        let options = BatchOptions::whole().threads(threads);
        let outcomes = bob.engine().decrypt_batch(&envelopes, &options).unwrap().outcomes;
        // It used up no key: the genuine message opens.
        assert_eq!(outcomes[0], Outcome::Failed(Failure::Authentication));
        assert!(matches!(outcomes[1], Outcome::Delivered(_)), "{outcomes:?}");
        assert_eq!(bob.texts(), [b"one", b"two"]);
    }
}

/// The same after both sides have written, and after a restart: a late message is still of kind 1.
#[test]
fn a_late_message_of_kind_1_is_none_of_kind_2() {
    for restart in [false, true] {
        let (mut alice, mut bob) = (Party::new(1), Party::new(2));
        alice.begin(&mut bob);
        let late = alice.send(bob.address, b"late");
        let first = alice.send(bob.address, b"first");
        bob.receive_one(alice.address, b"first", &first);
        let answer = bob.send(alice.address, b"answer");
        alice.receive_one(bob.address, b"answer", &answer);
        let second = alice.send(bob.address, b"second");
        bob.receive_one(alice.address, b"second", &second);
        let forged = taken_out(&late);
        if restart {
            bob.restart();
        }
        let outcomes = bob.receive(&[
            Envelope::from_device(b"forged", alice.address, &forged),
            Envelope::from_device(b"late", alice.address, &late),
        ]);
        assert_eq!(outcomes[0], Outcome::Failed(Failure::Authentication));
        assert!(matches!(outcomes[1], Outcome::Delivered(_)), "{outcomes:?}");
        assert_eq!(bob.texts(), [&b"first"[..], b"second", b"late"]);
    }
}
