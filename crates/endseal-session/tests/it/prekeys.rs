//! Beginning sessions with prekeys.

use endseal_crypto::ed25519::Signature;
use endseal_crypto::x25519;
use endseal_keyring::device::{PrekeyBundle, PrekeyKind};
use endseal_session::olm::{OlmAccount, OlmRatchet};
use endseal_session::{
    AcceptError, BeginError, OpenError, PairwiseAccount, Ratchet, SessionTag, WrongCertificate,
};

use crate::device::{Device, signing};

/// Accepts a message that must be refused, and checks that nothing changes.
#[track_caller]
fn refused(bob: &mut Device, from: &Device, tag: SessionTag, body: &[u8]) -> AcceptError {
    let before = bob.account.save();
    let key = from.certificate.keys().agreement;
    let error =
        bob.account.accept(tag, &key, body, |_| true).err().expect("this must not be accepted");
    assert!(*before == *bob.account.save(), "{error:?} left a trace");
    error
}

#[test]
fn bundles_are_what_others_verify() {
    let mut bob = Device::new(2);
    bob.account.add_one_time_keys(3, 77).unwrap();
    bob.account.refresh_fallback_key(77).unwrap();
    let bundles = bob.account.pending(&bob.certificate).unwrap();
    let kinds: Vec<_> = bundles.iter().map(PrekeyBundle::kind).collect();
    assert_eq!(kinds[..3], [PrekeyKind::OneTime; 3]);
    assert_eq!(kinds[3..], [PrekeyKind::Fallback]);
    for bundle in &bundles {
        let parsed = PrekeyBundle::from_bytes(bundle.as_bytes()).unwrap();
        assert_eq!(&parsed, bundle);
        assert_eq!((parsed.made_at(), parsed.certificate()), (77, &bob.certificate));
    }
    // The bundles are the same until they are published; afterwards there are none.
    assert_eq!(bob.account.pending(&bob.certificate).unwrap(), bundles);
    bob.account.published(&[*bundles[1].key()]);
    let rest = [&bundles[..1], &bundles[2..]].concat();
    assert_eq!(bob.account.pending(&bob.certificate).unwrap(), rest);
    let keys: Vec<_> = rest.iter().map(|it| *it.key()).collect();
    bob.account.published(&keys);
    assert!(bob.account.pending(&bob.certificate).unwrap().is_empty());
    assert_eq!(bob.account.fallback(&bob.certificate).unwrap().as_ref(), bundles.last());
    assert_eq!(bob.account.one_time_keys_left(), 3);
}

#[test]
fn bundles_need_the_certificate_of_the_account() {
    let mut bob = Device::new(2);
    bob.account.add_one_time_keys(1, 7).unwrap();
    let other = signing(2, &OlmAccount::generate());
    assert!(matches!(bob.account.pending(&other), Err(WrongCertificate { .. })));
}

#[test]
fn a_one_time_key_serves_once() {
    let (alice, carol, mut bob) = (Device::new(1), Device::new(3), Device::new(2));
    let bundle = bob.one_time();
    let (mut first, mut second) = (alice.begin(&bundle), carol.begin(&bundle));
    let hello = first.seal(b"hello").unwrap();
    bob.accept(&alice, &first, &hello.body);
    assert_eq!(bob.account.one_time_keys_left(), 0);
    assert_eq!(refused(&mut bob, &alice, first.tag(), &hello.body), AcceptError::NoPrekey);
    let late = second.seal(b"hello").unwrap();
    assert_eq!(refused(&mut bob, &carol, second.tag(), &late.body), AcceptError::NoPrekey);
}

const DAY: u64 = 24 * 60 * 60 * 1_000;

#[test]
fn a_fallback_key_serves_until_two_newer_ones_were_made() {
    let (alice, mut bob) = (Device::new(1), Device::new(2));
    let bundle = bob.fallback_at(DAY);
    let mut started: Vec<OlmRatchet> = (0..4).map(|_| alice.begin(&bundle)).collect();
    let hellos: Vec<_> = started.iter_mut().map(|one| one.seal(b"hello").unwrap().body).collect();
    let accept = |bob: &mut Device, i: usize| drop(bob.accept(&alice, &started[i], &hellos[i]));
    accept(&mut bob, 0);
    accept(&mut bob, 1);
    assert_ne!(bob.fallback_at(8 * DAY), bundle);
    accept(&mut bob, 2);
    bob.fallback_at(15 * DAY);
    assert_eq!(refused(&mut bob, &alice, started[3].tag(), &hellos[3]), AcceptError::NoPrekey);
}

#[test]
fn a_fallback_key_of_a_clock_that_was_ahead_is_replaced() {
    let mut bob = Device::new(2);
    let first = bob.fallback_at(3_650 * DAY);
    // A clock that is set back by less than its age does not replace it.
    assert_eq!(bob.fallback_at(3_643 * DAY + 1), first);
    assert_ne!(bob.fallback_at(8 * DAY), first);
}

/// The age alone matters: not the number of calls, and not bundles that were never published.
#[test]
fn a_fallback_key_is_replaced_by_age_alone() {
    let mut bob = Device::new(2);
    let first = bob.fallback_at(DAY);
    for _ in 0..3 {
        assert_eq!(bob.fallback_at(8 * DAY - 1), first);
    }
    // A clock that is behind makes no new key.
    assert_eq!(bob.fallback_at(0), first);
    bob.account.refresh_fallback_key(8 * DAY).unwrap();
    let second = bob.account.fallback(&bob.certificate).unwrap().unwrap();
    assert_ne!(second, first);
    bob.account.refresh_fallback_key(100 * DAY).unwrap();
    assert_eq!(bob.account.fallback(&bob.certificate).unwrap().unwrap(), second);
}

#[test]
fn of_five_thousand_and_one_keys_the_oldest_is_dropped() {
    let mut bob = Device::new(2);
    let first = bob.one_time();
    bob.account.add_one_time_keys(4_999, 8).unwrap();
    assert_eq!(bob.account.one_time_keys_left(), 5_000);
    let alice = Device::new(1);
    let mut one = alice.begin(&first);
    let hello = one.seal(b"hello").unwrap().body;
    bob.account.add_one_time_keys(1, 9).unwrap();
    assert_eq!(bob.account.one_time_keys_left(), 5_000);
    assert_eq!(refused(&mut bob, &alice, one.tag(), &hello), AcceptError::NoPrekey);
}

#[test]
fn a_plaintext_that_the_caller_refuses_uses_no_prekey_up() {
    let (alice, mut bob) = (Device::new(1), Device::new(2));
    let mut one = alice.begin(&bob.one_time());
    let hello = one.seal(b"hello").unwrap().body;
    let (before, key) = (bob.account.save(), alice.certificate.keys().agreement);
    let verify = |text: &[u8]| text != b"hello";
    let refused = bob.account.accept(one.tag(), &key, &hello, verify).err();
    assert_eq!(refused, Some(AcceptError::Open(OpenError::Authentication)));
    assert!(*before == *bob.account.save());
    bob.accept(&alice, &one, &hello);
}

#[test]
fn a_damaged_message_does_not_use_up_the_prekey() {
    let (alice, mut bob) = (Device::new(1), Device::new(2));
    let mut one = alice.begin(&bob.one_time());
    let hello = one.seal(b"hello").unwrap().body;
    for at in 0..hello.len() {
        let mut bytes = hello.clone();
        bytes[at] ^= 1;
        let error = refused(&mut bob, &alice, one.tag(), &bytes);
        let possible =
            [AcceptError::Open(OpenError::Authentication), AcceptError::Open(OpenError::Malformed)];
        assert!(possible.contains(&error), "byte {at}: {error}");
    }
    bob.accept(&alice, &one, &hello);
}

#[test]
fn the_certificate_and_the_tag_must_be_those_of_the_message() {
    let (alice, mallory, mut bob) = (Device::new(1), Device::new(3), Device::new(2));
    let mut one = alice.begin(&bob.one_time());
    let hello = one.seal(b"hello").unwrap().body;
    let forged = AcceptError::Open(OpenError::Authentication);
    assert_eq!(refused(&mut bob, &mallory, one.tag(), &hello), forged);
    let tag = SessionTag::from_bytes(&[0; 8]);
    assert_eq!(refused(&mut bob, &alice, tag, &hello), forged);
    // Keys of one session around a message of another one: the MAC does not cover them.
    let mut two = alice.begin(&bob.one_time());
    let other = two.seal(b"hello").unwrap();
    let mut two = bob.accept(&alice, &two, &other.body);
    let mut one = bob.accept(&alice, &one, &hello);
    assert_eq!(one.open(other.as_body()), Err(OpenError::Authentication));
    assert_eq!(two.open(other.as_body()), Err(OpenError::KeyGone));
}

#[test]
fn too_many_lost_before_the_first_are_too_many() {
    let (alice, mut bob) = (Device::new(1), Device::new(2));
    let mut one = alice.begin(&bob.one_time());
    for _ in 0..2_001 {
        one.seal(b"lost").unwrap();
    }
    let late = one.seal(b"late").unwrap().body;
    let far = OpenError::TooFarAhead { gap: 2_001, limit: 2_000 };
    assert_eq!(refused(&mut bob, &alice, one.tag(), &late), AcceptError::Open(far));
}

#[test]
fn a_prekey_of_low_order_begins_nothing() {
    let (alice, bob) = (Device::new(1), Device::new(2));
    let zero = x25519::PublicKey::from_bytes(&[0; 32]).unwrap();
    let sign = |message: &[u8]| -> Signature { bob.account.sign(message) };
    let bundle = PrekeyBundle::issue(&bob.certificate, PrekeyKind::OneTime, zero, 0, sign);
    let bundle = PrekeyBundle::from_bytes(bundle.as_bytes()).unwrap();
    assert_eq!(alice.account.begin(&bundle).err(), Some(BeginError::LowOrder));
}

/// Both sides send before they receive: there are two sessions, and both can be used.
#[test]
fn both_sides_may_begin_at_once() {
    let (mut alice, mut bob) = (Device::new(1), Device::new(2));
    let mut there = alice.begin(&bob.one_time());
    let mut back = bob.begin(&alice.one_time());
    assert_ne!(there.tag(), back.tag());
    let (hello, moin) = (there.seal(b"hello").unwrap(), back.seal(b"moin").unwrap());
    let mut at_bob = bob.accept(&alice, &there, &hello.body);
    let mut at_alice = alice.accept(&bob, &back, &moin.body);
    for (one, other) in [(&mut there, &mut at_bob), (&mut back, &mut at_alice)] {
        assert_eq!(one.tag(), other.tag());
        for _ in 0..3 {
            let message = other.seal(b"to who began").unwrap();
            assert_eq!(*one.open(message.as_body()).unwrap(), b"to who began");
            let message = one.seal(b"to who accepted").unwrap();
            assert_eq!(*other.open(message.as_body()).unwrap(), b"to who accepted");
        }
    }
}

#[test]
fn a_forked_account_accepts_the_same_message_again() {
    let (alice, mut bob) = (Device::new(1), Device::new(2));
    let mut one = alice.begin(&bob.one_time());
    let hello = one.seal(b"hello").unwrap().body;
    let mut copy = bob.account.fork();
    let key = alice.certificate.keys().agreement;
    copy.accept(one.tag(), &key, &hello, |_| true).unwrap();
    assert_eq!(copy.one_time_keys_left(), 0);
    drop(copy);
    bob.accept(&alice, &one, &hello);
}
