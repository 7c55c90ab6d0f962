//! Devices with pairwise sessions, for the tests.

use endseal_crypto::ed25519::{Seed, SigningKey};
use endseal_crypto::peer_id::PeerId;
use endseal_keyring::device::{Certificate, DeviceId, DeviceKeys, PrekeyBundle, PrekeyKind};
use endseal_session::olm::{OlmAccount, OlmRatchet};
use endseal_session::{PairwiseAccount, Ratchet, RatchetBody, Sealed};

pub(crate) struct Device {
    pub(crate) account: OlmAccount,
    pub(crate) certificate: Certificate,
}

impl Device {
    pub(crate) fn new(identity: u8) -> Self {
        let account = OlmAccount::generate();
        let certificate = signing(identity, &account);
        Self { account, certificate }
    }

    /// Makes a bundle of a new one-time key.
    pub(crate) fn one_time(&mut self) -> PrekeyBundle {
        self.account.add_one_time_keys(1, 7).unwrap();
        let bundles = self.account.pending(&self.certificate).unwrap();
        let of_kind = |bundle: &PrekeyBundle| bundle.kind() == PrekeyKind::OneTime;
        bundles.into_iter().rfind(of_kind).unwrap()
    }

    /// Returns the bundle of the fallback key, which is replaced if it is old enough at `now`.
    pub(crate) fn fallback_at(&mut self, now: u64) -> PrekeyBundle {
        self.account.refresh_fallback_key(now).unwrap();
        let bundle = self.account.fallback(&self.certificate).unwrap().unwrap();
        assert_eq!(bundle.kind(), PrekeyKind::Fallback);
        self.account.published(&[*bundle.key()]);
        bundle
    }

    pub(crate) fn begin(&self, bundle: &PrekeyBundle) -> OlmRatchet {
        self.account.begin(bundle).unwrap()
    }

    /// Accepts the session that `from` began.
    pub(crate) fn accept(&mut self, from: &Self, tag: &OlmRatchet, body: &[u8]) -> OlmRatchet {
        let key = from.certificate.keys().agreement;
        self.account.accept(tag.tag(), &key, body, |_| true).unwrap().0
    }
}

pub(crate) fn identity(n: u8) -> SigningKey {
    SigningKey::from_seed(Seed::from_bytes(&[n; 32]))
}

pub(crate) fn signing(n: u8, account: &OlmAccount) -> Certificate {
    let keys = account.keys();
    let keys = DeviceKeys {
        device: DeviceId::new(1).unwrap(),
        peer_id: PeerId::from_bytes(&[n; 32]),
        agreement: keys.agreement,
        signing: keys.signing,
        group: *identity(n ^ 0x80).public_key(),
    };
    Certificate::issue(&identity(n), &keys, 5)
}

/// Returns both sides of a session. The first one began it, and neither sends pre-key messages any
/// more.
pub(crate) fn pair() -> (OlmRatchet, OlmRatchet) {
    let (alice, mut bob) = (Device::new(1), Device::new(2));
    let mut one = alice.begin(&bob.one_time());
    let hello = one.seal(b"hello").unwrap();
    let mut other = bob.accept(&alice, &one, &hello.body);
    let hello = other.seal(b"hello yourself").unwrap();
    assert_eq!(*one.open(hello.as_body()).unwrap(), b"hello yourself");
    let hello = one.seal(b"").unwrap();
    assert!(!hello.prekey);
    assert!(other.open(hello.as_body()).unwrap().is_empty());
    (one, other)
}

pub(crate) fn seal_many(ratchet: &mut OlmRatchet, count: u32) -> Vec<Sealed> {
    (0..count).map(|i| ratchet.seal(&i.to_le_bytes()).unwrap()).collect()
}

/// Returns a body of the same kind with other bytes.
pub(crate) fn with_bytes<'a>(sealed: &Sealed, bytes: &'a [u8]) -> RatchetBody<'a> {
    if sealed.prekey { RatchetBody::Prekey(bytes) } else { RatchetBody::Ratchet(bytes) }
}
