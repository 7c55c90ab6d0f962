//! An instrumented ratchet: it panics at a certain text, on the caller's thread or another one, and
//! counts the messages that it is asked to open.

use core::cell::Cell;
use core::panic::AssertUnwindSafe;
use std::panic::catch_unwind;

use endseal_crypto::ed25519::{Seed, SigningKey};
use endseal_crypto::peer_id::PeerId;
use endseal_crypto::random::{OsRandom, RandomError};
use endseal_crypto::secret::Zeroizing;
use endseal_crypto::{ed25519, x25519};
use endseal_keyring::device::{Certificate, DeviceId, PrekeyBundle};
use endseal_session::olm::{OlmAccount, OlmRatchet};
use endseal_session::{
    AcceptError, AccountKeys, BatchOptions, BeginError, ChainPlace, Engine, Envelope, Failure,
    Message, NewDevice, OpenError, Outcome, PairwiseAccount, Ratchet, RatchetBody, RatchetLimits,
    SealError, Sealed, SessionTag, StateError, WrongCertificate,
};
use endseal_store::{OpenOptions, Protection, Store, Unlock};

use super::party::{Party, Place, blake};

const BREAKS: &[u8] = b"break";

thread_local! {
    /// Number of messages that ratchets of this thread were asked to open.
    static ATTEMPTS: Cell<usize> = const { Cell::new(0) };
}

/// Olm ratchet that panics after it has opened a message with a certain text.
struct Brittle(OlmRatchet);

impl Ratchet for Brittle {
    const ENGINE: u8 = OlmRatchet::ENGINE;

    fn limits() -> RatchetLimits {
        OlmRatchet::limits()
    }

    fn place(body: RatchetBody<'_>) -> Option<ChainPlace> {
        OlmRatchet::place(body)
    }

    fn open(&mut self, body: RatchetBody<'_>) -> Result<Zeroizing<Vec<u8>>, OpenError> {
        ATTEMPTS.set(ATTEMPTS.get() + 1);
        let text = self.0.open(body)?;
        assert!(!text.ends_with(BREAKS), "on purpose");
        Ok(text)
    }

    fn seal(&mut self, plaintext: &[u8]) -> Result<Sealed, SealError> {
        self.0.seal(plaintext)
    }

    fn fork(&self) -> Self {
        Self(self.0.fork())
    }

    fn tag(&self) -> SessionTag {
        self.0.tag()
    }

    fn has_received(&self) -> bool {
        self.0.has_received()
    }

    fn save(&self) -> Zeroizing<Vec<u8>> {
        self.0.save()
    }

    fn load(state: &[u8]) -> Result<Self, StateError> {
        OlmRatchet::load(state).map(Self)
    }
}

struct BrittleAccount(OlmAccount);

impl PairwiseAccount for BrittleAccount {
    type Ratchet = Brittle;

    fn generate() -> Self {
        Self(OlmAccount::generate())
    }

    fn keys(&self) -> AccountKeys {
        self.0.keys()
    }

    fn sign(&self, message: &[u8]) -> ed25519::Signature {
        self.0.sign(message)
    }

    fn add_one_time_keys(&mut self, count: usize, now: u64) -> Result<(), RandomError> {
        self.0.add_one_time_keys(count, now)
    }

    fn refresh_fallback_key(&mut self, now: u64) -> Result<(), RandomError> {
        self.0.refresh_fallback_key(now)
    }

    fn one_time_keys_left(&self) -> usize {
        self.0.one_time_keys_left()
    }

    fn pending(&self, certificate: &Certificate) -> Result<Vec<PrekeyBundle>, WrongCertificate> {
        self.0.pending(certificate)
    }

    fn fallback(
        &self,
        certificate: &Certificate,
    ) -> Result<Option<PrekeyBundle>, WrongCertificate> {
        self.0.fallback(certificate)
    }

    fn fallback_since(&self) -> Option<u64> {
        self.0.fallback_since()
    }

    fn published(&mut self, prekeys: &[x25519::PublicKey]) {
        self.0.published(prekeys);
    }

    fn drop_prekeys(&mut self) {
        self.0.drop_prekeys();
    }

    fn begin(&self, their: &PrekeyBundle) -> Result<Brittle, BeginError> {
        self.0.begin(their).map(Brittle)
    }

    fn accept(
        &mut self,
        tag: SessionTag,
        their_agreement_key: &x25519::PublicKey,
        body: &[u8],
        verify: impl FnOnce(&[u8]) -> bool,
    ) -> Result<(Brittle, Zeroizing<Vec<u8>>), AcceptError> {
        let (ratchet, text) = self.0.accept(tag, their_agreement_key, body, verify)?;
        Ok((Brittle(ratchet), text))
    }

    fn fork(&self) -> Self {
        Self(self.0.fork())
    }

    fn save(&self) -> Zeroizing<Vec<u8>> {
        self.0.save()
    }

    fn load(state: &[u8]) -> Result<Self, StateError> {
        OlmAccount::load(state).map(Self)
    }
}

fn create(place: &Place) -> Engine<BrittleAccount> {
    let store = Store::create(&place.store(), Protection::None, &mut OsRandom).unwrap();
    let identity = SigningKey::from_seed(Seed::from_bytes(&[1; 32]));
    let new = NewDevice {
        identity: &identity,
        device: DeviceId::new(1).unwrap(),
        peer_id: PeerId::from_bytes(&[1; 32]),
        now: 1_790_000_000_000,
    };
    Engine::create(store, new, &mut OsRandom).unwrap()
}

#[test]
fn a_panic_while_a_message_is_opened_ends_the_batch_and_nothing_else() {
    for threads in [1, 2, 4] {
        let place = Place::new();
        let mut reader = create(&place);
        let to = reader.address();
        let bundles = reader.transaction(|t| t.one_time_bundles(4, 7)).unwrap();
        let mut mails = Vec::new();
        for (number, bundle) in (2..6).zip(&bundles) {
            let mut sender = Party::new(number);
            sender.begin_with(bundle);
            let mut texts: Vec<_> = (0..10_u8).map(|n| vec![number, n]).collect();
            if number == 3 {
                texts[7] = BREAKS.to_vec();
            }
            let bodies = sender.send_all(to, &texts.iter().collect::<Vec<_>>());
            mails.extend(bodies.into_iter().map(|body| (sender.address, blake(&body), body)));
        }
        let envelopes: Vec<_> =
            mails.iter().map(|(from, id, body)| Envelope::from_device(id, *from, body)).collect();
        let options = BatchOptions::whole().threads(threads);
        let unwound = catch_unwind(AssertUnwindSafe(|| reader.decrypt_batch(&envelopes, &options)));
        assert!(unwound.is_err());
        assert!(reader.inbox().is_empty().unwrap());
        // The same engine continues, as does the next one, which opens that message, too.
        let good: Vec<_> =
            (0..).zip(&envelopes).filter(|(at, _)| *at != 17).map(|(_, it)| *it).collect();
        let report = reader.decrypt_batch(&good, &options).unwrap();
        assert!(report.outcomes.iter().all(|it| matches!(it, Outcome::Delivered(_))));
        reader.into_store().close().unwrap();
        let wait = OpenOptions::new().wait(core::time::Duration::from_secs(10));
        let store = Store::open(&place.store(), Unlock::None, wait).unwrap();
        let mut reader: Engine = Engine::open(store).unwrap();
        let report = reader.decrypt_batch(&envelopes, &options).unwrap();
        for (at, outcome) in report.outcomes.iter().enumerate() {
            assert_eq!(matches!(outcome, Outcome::Delivered(40)), at == 17, "{at}: {outcome:?}");
            assert!(outcome.is_kept());
        }
    }
}

/// An attacker can make a message claim to be too far ahead on a chain, because the header is not
/// authenticated at that time.
#[test]
fn forged_messages_too_far_ahead_are_not_tried_with_each_delivery() {
    let place = Place::new();
    let mut reader = create(&place);
    let bundle = reader.transaction(|t| t.one_time_bundles(1, 7)).unwrap().remove(0);
    let mut sender = Party::new(2);
    sender.begin_with(&bundle);
    let from = sender.address;
    let receive = |reader: &mut Engine<BrittleAccount>, bodies: &[Vec<u8>]| -> Vec<Outcome> {
        let ids: Vec<_> = bodies.iter().map(|body| blake(body)).collect();
        let one = |(id, body): (&[u8; 32], &Vec<u8>)| {
            let envelope = [Envelope::from_device(id, from, body)];
            reader.decrypt_batch(&envelope, &BatchOptions::whole()).unwrap().outcomes[0]
        };
        ids.iter().zip(bodies).map(one).collect()
    };
    let hello = sender.send(reader.address(), b"hello");
    receive(&mut reader, core::slice::from_ref(&hello));
    let answer = reader.encrypt(from, b"answer").unwrap().body;
    sender.receive_one(reader.address(), b"answer", &answer);

    let texts: Vec<_> = (0..2_102_u32).map(|n| n.to_le_bytes().to_vec()).collect();
    let bodies = sender.send_all(reader.address(), &texts.iter().collect::<Vec<_>>());
    receive(&mut reader, &bodies[..1]);
    let Ok(Message::Ratchet { tag, body }) = Message::parse(&bodies[1]) else { panic!() };
    // With ratchet keys of the attacker's own, and with the sender's.
    let genuine: [u8; 32] = body[3..35].try_into().unwrap();
    let forged: Vec<_> = (0..1_000_u32)
        .map(|n| {
            let mut key = if n % 2 == 0 { [0x42; 32] } else { genuine };
            if n % 2 == 0 {
                key[..4].copy_from_slice(&n.to_le_bytes());
            }
            let index = [0xff, 0x7f];
            let mac = [&n.to_le_bytes()[..], &[1; 20]].concat();
            let body = [&[3, 0x0a, 32][..], &key, &[0x10], &index, &[0x22, 16], &mac].concat();
            Message::Ratchet { tag, body: &body }.to_bytes().unwrap()
        })
        .collect();
    let outcomes = receive(&mut reader, &forged);
    assert!(outcomes[..256].iter().all(|it| *it == Outcome::Parked(Failure::TooFarAhead)));
    assert!(outcomes[256..].iter().all(|it| *it == Outcome::Failed(Failure::BufferFull)));

    let before = ATTEMPTS.get();
    let outcomes = receive(&mut reader, &bodies[1..101]);
    assert!(outcomes.iter().all(|it| matches!(it, Outcome::Delivered(_))));
    assert_eq!(ATTEMPTS.get() - before, 100);
    // The same after they were loaded again.
    let store = reader.into_store();
    let mut reader = Engine::<BrittleAccount>::open(store).unwrap();
    let before = ATTEMPTS.get();
    let outcomes = receive(&mut reader, &bodies[101..102]);
    assert!(matches!(outcomes[0], Outcome::Delivered(_)));
    assert_eq!(ATTEMPTS.get() - before, 1);
}

/// Copies of a message that is too far ahead, under many ids. Each is tried once, after its chain
/// has advanced far enough.
#[test]
fn a_message_too_far_ahead_is_tried_when_its_chain_has_come_near() {
    let place = Place::new();
    let mut reader = create(&place);
    let bundle = reader.transaction(|t| t.one_time_bundles(1, 7)).unwrap().remove(0);
    let mut sender = Party::new(2);
    sender.begin_with(&bundle);
    let from = sender.address;
    let texts: Vec<_> = (0..2_203_u32).map(|n| n.to_le_bytes().to_vec()).collect();
    let bodies = sender.send_all(reader.address(), &texts.iter().collect::<Vec<_>>());
    let mut receive = |id: &[u8], at: usize| {
        let envelope = [Envelope::from_device(id, from, &bodies[at])];
        reader.decrypt_batch(&envelope, &BatchOptions::whole()).unwrap()
    };
    receive(b"0", 0);
    for id in 0..50_u8 {
        let outcomes = receive(&[1, id], 2_202).outcomes;
        assert_eq!(outcomes, [Outcome::Parked(Failure::TooFarAhead)]);
    }
    let before = ATTEMPTS.get();
    assert_eq!(receive(b"1", 1).released, []);
    assert_eq!(receive(b"200", 200).released, []);
    assert_eq!(ATTEMPTS.get() - before, 2);
    // Now 2,000 messages are missing before it.
    let released = receive(b"201", 201).released;
    let opened = released.iter().filter(|it| matches!(it.outcome, Outcome::Delivered(_))).count();
    assert_eq!((released.len(), opened), (50, 1));
    assert_eq!(ATTEMPTS.get() - before, 53);
}
