//! Sessions between two devices: what the engine of a ratchet must be able to do.

mod error;
pub mod olm;

use endseal_crypto::random::RandomError;
use endseal_crypto::{ed25519, x25519};
use endseal_keyring::device::{Certificate, PrekeyBundle};
use zeroize::Zeroizing;

use crate::message::{RatchetBody, SessionTag};

pub use error::{AcceptError, BeginError, OpenError, SealError, StateError, WrongCertificate};

/// A Double Ratchet between two devices. [`open`](Self::open) and [`seal`](Self::seal) change
/// `self` only when they succeed.
pub trait Ratchet: Send + Sized {
    /// The number of the engine in the store, which tells whose state it is.
    const ENGINE: u8;

    /// Returns the limits of the engine.
    fn limits() -> RatchetLimits;

    /// The place of a message as its header states it, which nothing has authenticated. `None` if
    /// it is malformed.
    fn place(body: RatchetBody<'_>) -> Option<ChainPlace>;

    /// Opens a message, and drops its key.
    ///
    /// The caller MUST store the state ([`save`](Self::save)) before it acknowledges the message,
    /// and MUST have checked the certificate beside a pre-key body if the session did not come from
    /// [`PairwiseAccount::accept`] with it.
    ///
    /// # Errors
    /// [`OpenError`]; the state is what it was.
    fn open(&mut self, body: RatchetBody<'_>) -> Result<Zeroizing<Vec<u8>>, OpenError>;

    /// Seals a message with the next key.
    ///
    /// The caller MUST store the state before a byte of it leaves, and MUST NOT seal with two
    /// copies of one state: both would use the same key.
    ///
    /// # Errors
    /// [`SealError`]; the state is what it was.
    fn seal(&mut self, plaintext: &[u8]) -> Result<Sealed, SealError>;

    /// An independent copy, on which a batch works. Only one of the two may be kept.
    #[must_use]
    fn fork(&self) -> Self;

    /// Returns the tag by which messages find the session.
    fn tag(&self) -> SessionTag;

    /// Returns true if a message of the other side was ever opened: until then, this side sends
    /// pre-key messages.
    fn has_received(&self) -> bool;

    /// The state, a version first. The same state gives the same bytes.
    fn save(&self) -> Zeroizing<Vec<u8>>;

    /// Takes what [`save`](Self::save) gave. The caller MUST have authenticated it.
    ///
    /// # Errors
    /// [`StateError`].
    fn load(state: &[u8]) -> Result<Self, StateError>;
}

/// The long-term keys and the prekeys of one device.
///
/// Changes ([`add_one_time_keys`](Self::add_one_time_keys),
/// [`refresh_fallback_key`](Self::refresh_fallback_key), [`published`](Self::published),
/// [`drop_prekeys`](Self::drop_prekeys), [`accept`](Self::accept)) must be stored together with
/// what came of them.
pub trait PairwiseAccount: Send + Sized {
    /// The sessions it begins and accepts.
    type Ratchet: Ratchet;

    /// New long-term keys, and no prekey yet. Randomness comes from the operating system, since the
    /// libraries behind this trait do not take it as an argument.
    fn generate() -> Self;

    /// The public keys, for a certificate.
    fn keys(&self) -> AccountKeys;

    /// A signature of the device's Ed25519 key. The caller MUST begin `message` with a label.
    fn sign(&self, message: &[u8]) -> ed25519::Signature;

    /// Makes `count` one-time keys at `now`, in milliseconds since 1970. Where there is no room,
    /// the oldest are dropped: 5,000 in Olm.
    ///
    /// # Errors
    /// [`RandomError`]; none was made.
    fn add_one_time_keys(&mut self, count: usize, now: u64) -> Result<(), RandomError>;

    /// Makes a fallback key if there is none, or if the last one was published and is 7 days old.
    /// The one before still serves, the one before that does no longer.
    ///
    /// # Errors
    /// [`RandomError`]; none was made.
    fn refresh_fallback_key(&mut self, now: u64) -> Result<(), RandomError>;

    /// Number of one-time keys that were made and not used yet.
    fn one_time_keys_left(&self) -> usize;

    /// Bundles of all prekeys that are not [`published`](Self::published), in the order of making,
    /// the fallback key last. The same account and certificate give the same bytes.
    ///
    /// # Errors
    /// [`WrongCertificate`] if the certificate is not one of this account's keys.
    fn pending(&self, certificate: &Certificate) -> Result<Vec<PrekeyBundle>, WrongCertificate>;

    /// The bundle of the last fallback key, published or not.
    ///
    /// # Errors
    /// [`WrongCertificate`].
    fn fallback(&self, certificate: &Certificate)
    -> Result<Option<PrekeyBundle>, WrongCertificate>;

    /// Time at which the oldest fallback key that still serves was made, in milliseconds since
    /// 1970; `None` if there is none.
    fn fallback_since(&self) -> Option<u64>;

    /// Notes that the bundles of these prekeys have arrived where others can ask for them.
    fn published(&mut self, prekeys: &[x25519::PublicKey]);

    /// Forgets all prekeys.
    fn drop_prekeys(&mut self);

    /// Begins a session with the device of a bundle. The caller MUST know that the address in it is
    /// the one it means.
    ///
    /// # Errors
    /// [`BeginError`].
    fn begin(&self, their: &PrekeyBundle) -> Result<Self::Ratchet, BeginError>;

    /// Accepts the session of a pre-key message and opens the message. A one-time key is used up,
    /// if and only if this succeeds.
    ///
    /// `tag` is the one before the message, `their_agreement_key` that of the certificate beside
    /// it, which the caller MUST have verified. `verify` is given the authenticated plaintext; if
    /// it returns false, nothing is accepted.
    ///
    /// # Errors
    /// [`AcceptError`]; the account is what it was. [`OpenError::Authentication`] if `verify`
    /// refused.
    fn accept(
        &mut self,
        tag: SessionTag,
        their_agreement_key: &x25519::PublicKey,
        body: &[u8],
        verify: impl FnOnce(&[u8]) -> bool,
    ) -> Result<(Self::Ratchet, Zeroizing<Vec<u8>>), AcceptError>;

    /// An independent copy.
    #[must_use]
    fn fork(&self) -> Self;

    /// The state, a version first.
    fn save(&self) -> Zeroizing<Vec<u8>>;

    /// Takes what [`save`](Self::save) gave. The caller MUST have authenticated it.
    ///
    /// # Errors
    /// [`StateError`].
    fn load(state: &[u8]) -> Result<Self, StateError>;
}

/// The public keys of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "a plain answer")]
pub struct AccountKeys {
    /// Agrees on the secrets of sessions.
    pub agreement: x25519::PublicKey,
    /// Signs prekeys.
    pub signing: ed25519::PublicKey,
}

/// The place of a message in its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "a plain answer")]
pub struct ChainPlace {
    /// The chain: the ratchet key of the sender.
    pub chain: [u8; 32],
    /// The number of the message in it.
    pub index: u64,
}

/// Message that a ratchet has encrypted.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "a plain answer")]
pub struct Sealed {
    /// True for a pre-key message.
    pub prekey: bool,
    /// The body.
    pub body: Vec<u8>,
}

impl Sealed {
    /// The body as the other side takes it.
    #[must_use]
    pub fn as_body(&self) -> RatchetBody<'_> {
        if self.prekey { RatchetBody::Prekey(&self.body) } else { RatchetBody::Ratchet(&self.body) }
    }
}

/// Limits of a ratchet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "a plain answer")]
pub struct RatchetLimits {
    /// Keys that a chain keeps for messages that were overtaken.
    pub kept_keys: usize,
    /// Chains of the other side that are kept.
    pub chains: usize,
    /// Messages that may be missing before one.
    pub gap: u64,
}
