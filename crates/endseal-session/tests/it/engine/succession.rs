//! A later certificate of a device: sessions with its former agreement key receive for a while,
//! send nothing, and end.

use endseal_crypto::peer_id::PeerId;
use endseal_keyring::device::{Address, Certificate, DeviceId, DeviceKeys};
use endseal_session::olm::{OlmAccount, OlmRatchet};
use endseal_session::{
    BeginSessionError, Binding, Envelope, Failure, Message, Outcome, PairwiseAccount,
    PlaintextHead, Ratchet, SendError,
};

use super::party::{Party, blake};
use crate::device::identity;

const DAY: u64 = 24 * 60 * 60 * 1_000;
const BOB: u8 = 2;

fn receive(party: &mut Party, from: Address, body: &[u8]) -> Outcome {
    party.receive(&[Envelope::from_device(&blake(body), from, body)])[0]
}

#[track_caller]
fn delivers(party: &mut Party, from: Address, body: &[u8]) {
    let outcome = receive(party, from, body);
    assert!(matches!(outcome, Outcome::Delivered(_)), "{outcome:?}");
}

/// The old device writes on the old session. Its messages are delivered until the session ends, but
/// answers are sent to the new device only.
#[test]
fn a_replaced_device_never_gets_the_answers() {
    for restart in [false, true] {
        let (mut alice, mut stolen) = (Party::new(1), Party::new(BOB));
        alice.meet(&mut stolen);
        let bob_address = stolen.address;
        let mut bob = Party::made_at(BOB, 1, 1_790_000_000_001);
        assert_eq!(bob.address, bob_address);
        bob.begin(&mut alice);
        let hello = bob.send(alice.address, b"my new phone");
        delivers(&mut alice, bob_address, &hello);
        let now = 1_790_000_000_000;
        assert_eq!(alice.engine().expire(now).unwrap(), 0);
        for day in [0, 6] {
            if restart {
                alice.restart();
            }
            assert_eq!(alice.engine().expire(now + day * DAY).unwrap(), 0);
            let old = stolen.send(alice.address, &[0xff, u8::try_from(day).unwrap()]);
            delivers(&mut alice, bob_address, &old);
            let answer = alice.send(bob_address, b"for the new one");
            let lost = receive(&mut stolen, alice.address, &answer);
            assert_eq!(lost, Outcome::Failed(Failure::NoSession));
            delivers(&mut bob, alice.address, &answer);
        }
        let late = stolen.send(alice.address, b"too late");
        if restart {
            alice.kill();
        }
        assert_eq!(alice.engine().expire(now + 7 * DAY).unwrap(), 1);
        if restart {
            alice.kill();
        }
        let ended = Outcome::Failed(Failure::NoSession);
        assert_eq!(receive(&mut alice, bob_address, &late), ended);
        let sessions = alice.engine().transaction(|t| t.sessions(bob_address)).unwrap();
        assert_eq!(sessions.len(), 1);
        assert_eq!(alice.engine().expire(now + 100 * DAY).unwrap(), 0);
        let answer = alice.send(bob_address, b"and on");
        delivers(&mut bob, alice.address, &answer);
    }
}

/// The certificate is seen in a bundle, and the new session is lost: nothing is sent on the old
/// one.
#[test]
fn without_a_session_with_the_new_key_nothing_is_sent() {
    let (mut alice, mut stolen) = (Party::new(1), Party::new(BOB));
    alice.meet(&mut stolen);
    let old_bundle = stolen.bundles(1).remove(0);
    let mut bob = Party::made_at(BOB, 1, 1_790_000_000_001);
    let bundle = bob.bundles(1).remove(0);
    alice.begin_with(&bundle);
    let to = bob.address;
    assert_eq!(alice.engine().transaction(|t| t.reset_session(to)).unwrap(), 1);
    let old = stolen.send(alice.address, b"write to me");
    delivers(&mut alice, to, &old);
    assert!(matches!(alice.engine().encrypt(to, b"no"), Err(SendError::NoSession)));
    alice.restart();
    assert!(matches!(alice.engine().encrypt(to, b"no"), Err(SendError::NoSession)));
    let started = alice.engine().transaction(|t| t.begin_session(to, &old_bundle));
    assert!(matches!(started, Err(BeginSessionError::Superseded)));
    // The old device cannot begin a new session either.
    stolen.begin(&mut alice);
    let hello = stolen.send(alice.address, b"hello again");
    assert_eq!(receive(&mut alice, to, &hello), Outcome::Failed(Failure::Authentication));
}

#[test]
fn a_bundle_of_another_device_than_was_meant_is_refused() {
    let (mut alice, mut bob) = (Party::new(1), Party::new(BOB));
    let bundle = bob.bundles(1).remove(0);
    let own = alice.bundles(1).remove(0);
    let carol = Party::new(3).address;
    let started = alice.engine().transaction(|t| t.begin_session(carol, &bundle));
    assert!(matches!(started, Err(BeginSessionError::OtherAddress(it)) if it == bob.address));
    let to = alice.address;
    let started = alice.engine().transaction(|t| t.begin_session(to, &own));
    assert!(matches!(started, Err(BeginSessionError::Own)));
    assert!(matches!(alice.engine().encrypt(bob.address, b"no"), Err(SendError::NoSession)));
}

/// Bob's device, with messages that are made by hand.
struct Writer {
    account: OlmAccount,
    ratchet: OlmRatchet,
}

impl Writer {
    fn new(to: &mut Party) -> Self {
        let account = OlmAccount::generate();
        let ratchet = account.begin(&to.bundles(1)[0]).unwrap();
        Self { account, ratchet }
    }

    fn certificate(&self, made_at: u64) -> Certificate {
        let keys = self.account.keys();
        let keys = DeviceKeys {
            device: DeviceId::new(1).unwrap(),
            peer_id: PeerId::from_bytes(&[0; 32]),
            agreement: keys.agreement,
            signing: keys.signing,
            group: *identity(9).public_key(),
        };
        Certificate::issue(&identity(BOB), &keys, made_at)
    }

    /// Makes a message of kind 1 with one certificate, whose head names another.
    fn write(&mut self, to: &mut Party, beside: &Certificate, bound: &Certificate) -> Vec<u8> {
        let own = to.engine().certificate();
        let binding = Binding::of(bound.as_bytes(), &own.address(), &own.keys().agreement);
        let plaintext = PlaintextHead::Bound(binding).before(b"text");
        let sealed = self.ratchet.seal(&plaintext).unwrap();
        assert!(sealed.prekey);
        let (tag, certificate) = (self.ratchet.tag(), beside.as_bytes());
        Message::Prekey { tag, certificate, body: &sealed.body }.to_bytes().unwrap()
    }
}

#[test]
fn a_session_takes_later_certificates_for_its_key_and_no_others() {
    let mut alice = Party::new(1);
    let (mut bob, mut other) = (Writer::new(&mut alice), Writer::new(&mut alice));
    let [first, later] = [5, 6].map(|time| bob.certificate(time));
    let foreign = other.certificate(7);
    let from = first.address();
    let body = bob.write(&mut alice, &first, &first);
    delivers(&mut alice, from, &body);
    // A certificate of another key, in the head and in the message.
    let body = bob.write(&mut alice, &foreign, &foreign);
    let refused = Outcome::Failed(Failure::Authentication);
    assert_eq!(receive(&mut alice, from, &body), refused);
    // Exchanged in transit: refused, and no key is used up.
    let body = bob.write(&mut alice, &later, &later);
    let Ok(Message::Prekey { tag, body: inner, .. }) = Message::parse(&body) else { panic!() };
    let exchanged = Message::Prekey { tag, certificate: first.as_bytes(), body: inner };
    assert_eq!(receive(&mut alice, from, &exchanged.to_bytes().unwrap()), refused);
    delivers(&mut alice, from, &body);
    // The later certificate was stored. No session begins with one between the two that has another
    // key, but messages sent under the earlier one still arrive.
    alice.restart();
    let between = other.certificate(5);
    let body = other.write(&mut alice, &between, &between);
    assert_eq!(receive(&mut alice, from, &body), refused);
    let body = bob.write(&mut alice, &first, &first);
    delivers(&mut alice, from, &body);
    // A session begins under the latest certificate; the previous session keeps the previous key.
    let body = other.write(&mut alice, &foreign, &foreign);
    delivers(&mut alice, from, &body);
    let body = bob.write(&mut alice, &later, &later);
    delivers(&mut alice, from, &body);
    assert_eq!(alice.engine().expire(1).unwrap(), 0);
    assert_eq!(alice.engine().expire(1 + 7 * DAY).unwrap(), 1);
    let body = bob.write(&mut alice, &later, &later);
    assert_eq!(receive(&mut alice, from, &body), Outcome::Failed(Failure::NoSession));
}

/// Each message of kind 1 is checked, not only the first.
#[test]
fn a_message_that_names_no_one_is_refused() {
    let mut alice = Party::new(1);
    let mut bob = Writer::new(&mut alice);
    let certificate = bob.certificate(5);
    let from = certificate.address();
    for _ in 0..2 {
        for text in [&b""[..], b"a text without a digest, and longer than one"] {
            let sealed = bob.ratchet.seal(text).unwrap();
            let (tag, certificate) = (bob.ratchet.tag(), certificate.as_bytes());
            let body = Message::Prekey { tag, certificate, body: &sealed.body };
            let outcome = receive(&mut alice, from, &body.to_bytes().unwrap());
            assert_eq!(outcome, Outcome::Failed(Failure::Authentication));
        }
        let body = bob.write(&mut alice, &certificate, &certificate);
        delivers(&mut alice, from, &body);
    }
    assert_eq!(alice.texts(), [b"text", b"text"]);
}

/// A clock that is ahead once gives the old device no more time after it is corrected.
#[test]
fn a_clock_that_was_ahead_once_does_not_lengthen_the_end() {
    const T: u64 = 1_790_000_000_000;
    for restart in [false, true] {
        let (mut alice, mut stolen) = (Party::new(1), Party::new(BOB));
        alice.meet(&mut stolen);
        let mut bob = Party::made_at(BOB, 1, T + 1);
        bob.begin(&mut alice);
        let hello = bob.send(alice.address, b"my new phone");
        delivers(&mut alice, bob.address, &hello);
        for day in [3_650, 0, 6] {
            assert_eq!(alice.engine().expire(T + day * DAY).unwrap(), 0);
            if restart {
                alice.kill();
            }
        }
        let old = stolen.send(alice.address, b"in time");
        delivers(&mut alice, bob.address, &old);
        assert_eq!(alice.engine().expire(T + 7 * DAY).unwrap(), 1);
        let late = stolen.send(alice.address, b"too late");
        let outcome = receive(&mut alice, bob.address, &late);
        assert_eq!(outcome, Outcome::Failed(Failure::NoSession));
    }
}
