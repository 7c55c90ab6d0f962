//! Sessions between two devices: interface of a ratchet implementation.

mod error;
pub mod olm;

use endseal_crypto::random::RandomError;
use endseal_crypto::{ed25519, x25519};
use endseal_keyring::device::{Certificate, PrekeyBundle};
use zeroize::Zeroizing;

use crate::message::{RatchetBody, SessionTag};

pub use error::{AcceptError, BeginError, OpenError, SealError, StateError, WrongCertificate};

/// A Double Ratchet session between two devices. [`open`](Self::open) and [`seal`](Self::seal)
/// change `self` only if they succeed.
pub trait Ratchet: Send + Sized {
    /// Number in the store that identifies the implementation of a saved state.
    const ENGINE: u8;

    /// Returns the limits of the implementation.
    fn limits() -> RatchetLimits;

    /// Returns the chain and number of a message as its header states them, unauthenticated. `None`
    /// if the message is malformed.
    fn place(body: RatchetBody<'_>) -> Option<ChainPlace>;

    /// Opens a message and deletes its key.
    ///
    /// The caller MUST store the state ([`save`](Self::save)) before it acknowledges the message.
    /// It MUST have checked the certificate of a pre-key message, unless the session came from
    /// [`PairwiseAccount::accept`] with it.
    ///
    /// # Errors
    /// [`OpenError`] if the message cannot be opened; the state is unchanged.
    fn open(&mut self, body: RatchetBody<'_>) -> Result<Zeroizing<Vec<u8>>, OpenError>;

    /// Encrypts a message with the next key.
    ///
    /// The caller MUST store the state before the message is sent, and MUST NOT seal with two
    /// copies of one state, because both would use the same key.
    ///
    /// # Errors
    /// [`SealError`] if the text is too long or the other side's key is invalid; the state is
    /// unchanged.
    fn seal(&mut self, plaintext: &[u8]) -> Result<Sealed, SealError>;

    /// Returns an independent copy, for example for a batch. Only one of the two may be kept.
    #[must_use]
    fn fork(&self) -> Self;

    /// Returns the tag that identifies the session.
    fn tag(&self) -> SessionTag;

    /// Returns true if a message of the other side was opened. Until then, this side sends pre-key
    /// messages.
    fn has_received(&self) -> bool;

    /// Encodes the state, which starts with a version. The same state gives the same bytes.
    fn save(&self) -> Zeroizing<Vec<u8>>;

    /// Decodes a state that [`save`](Self::save) has encoded. The caller MUST have authenticated
    /// it.
    ///
    /// # Errors
    /// [`StateError`] if the state is damaged or of an unknown version.
    fn load(state: &[u8]) -> Result<Self, StateError>;
}

/// Long-term keys and prekeys of one device.
///
/// After a change ([`add_one_time_keys`](Self::add_one_time_keys),
/// [`refresh_fallback_key`](Self::refresh_fallback_key), [`published`](Self::published),
/// [`drop_prekeys`](Self::drop_prekeys), [`accept`](Self::accept)) the account must be stored in
/// the same transaction as the result of the change.
pub trait PairwiseAccount: Send + Sized {
    /// Sessions that the account begins and accepts.
    type Ratchet: Ratchet;

    /// Generates new long-term keys, without prekeys. The randomness comes from the operating
    /// system, because the libraries behind this trait do not accept another source.
    fn generate() -> Self;

    /// Returns the public keys, for a certificate.
    fn keys(&self) -> AccountKeys;

    /// Signs with the device's Ed25519 key. The caller MUST begin `message` with a label.
    fn sign(&self, message: &[u8]) -> ed25519::Signature;

    /// Makes `count` one-time keys at `now`, in milliseconds since 1970. Above the limit (5,000 in
    /// Olm), the oldest keys are dropped.
    ///
    /// # Errors
    /// [`RandomError`] if the random source fails; no key was made then.
    fn add_one_time_keys(&mut self, count: usize, now: u64) -> Result<(), RandomError>;

    /// Makes a fallback key if there is none, or if the last one was published and is 7 days old at
    /// `now`, in milliseconds since 1970. The previous key stays valid, the one before it is
    /// dropped.
    ///
    /// # Errors
    /// [`RandomError`] if the random source fails; no key was made then.
    fn refresh_fallback_key(&mut self, now: u64) -> Result<(), RandomError>;

    /// Returns the number of one-time keys that were not used.
    fn one_time_keys_left(&self) -> usize;

    /// Returns the bundles of all prekeys that are not [`published`](Self::published), in the order
    /// of making, the fallback key last. The same account and certificate give the same bytes.
    ///
    /// # Errors
    /// [`WrongCertificate`] if the certificate is for other keys than this account's.
    fn pending(&self, certificate: &Certificate) -> Result<Vec<PrekeyBundle>, WrongCertificate>;

    /// Returns the bundle of the latest fallback key, published or not; `None` if there is none.
    ///
    /// # Errors
    /// [`WrongCertificate`] if the certificate is for other keys than this account's.
    fn fallback(&self, certificate: &Certificate)
    -> Result<Option<PrekeyBundle>, WrongCertificate>;

    /// Returns the time at which the oldest valid fallback key was made, in milliseconds since
    /// 1970; `None` if there is none.
    fn fallback_since(&self) -> Option<u64>;

    /// Records that the bundles of these prekeys have arrived in the directory.
    fn published(&mut self, prekeys: &[x25519::PublicKey]);

    /// Deletes all prekeys; messages that use them cannot be opened any more.
    fn drop_prekeys(&mut self);

    /// Begins a session with the device of a bundle. The caller MUST have checked the address in
    /// the bundle.
    ///
    /// # Errors
    /// [`BeginError`] if a key of the bundle is unusable.
    fn begin(&self, their: &PrekeyBundle) -> Result<Self::Ratchet, BeginError>;

    /// Accepts the session of a pre-key message and opens the message. A one-time key is used up if
    /// and only if the call succeeds.
    ///
    /// `tag` is the tag of the message. `their_agreement_key` is the key in its certificate, which
    /// the caller MUST have verified. `verify` checks the authenticated plaintext; if it returns
    /// false, the session is not accepted.
    ///
    /// # Errors
    /// [`AcceptError`] if the prekey is unknown or the message cannot be opened, with
    /// [`OpenError::Authentication`] if `verify` returned false. The account is unchanged then.
    fn accept(
        &mut self,
        tag: SessionTag,
        their_agreement_key: &x25519::PublicKey,
        body: &[u8],
        verify: impl FnOnce(&[u8]) -> bool,
    ) -> Result<(Self::Ratchet, Zeroizing<Vec<u8>>), AcceptError>;

    /// Returns an independent copy.
    #[must_use]
    fn fork(&self) -> Self;

    /// Encodes the state, which starts with a version.
    fn save(&self) -> Zeroizing<Vec<u8>>;

    /// Decodes a state that [`save`](Self::save) has encoded. The caller MUST have authenticated
    /// it.
    ///
    /// # Errors
    /// [`StateError`] if the state is damaged or of an unknown version.
    fn load(state: &[u8]) -> Result<Self, StateError>;
}

/// Public keys of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "a plain answer")]
pub struct AccountKeys {
    /// X25519 key for the key agreement of sessions.
    pub agreement: x25519::PublicKey,
    /// Ed25519 key that signs prekeys.
    pub signing: ed25519::PublicKey,
}

/// Position of a message in its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "a plain answer")]
pub struct ChainPlace {
    /// Identifier of the chain: the sender's ratchet key.
    pub chain: [u8; 32],
    /// Number of the message in the chain.
    pub index: u64,
}

/// Message that a ratchet has encrypted.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "a plain answer")]
pub struct Sealed {
    /// True if this is a pre-key message.
    pub prekey: bool,
    /// Encoded body of the message.
    pub body: Vec<u8>,
}

impl Sealed {
    /// Returns the body in the form that [`Ratchet::open`] accepts.
    #[must_use]
    pub fn as_body(&self) -> RatchetBody<'_> {
        if self.prekey { RatchetBody::Prekey(&self.body) } else { RatchetBody::Ratchet(&self.body) }
    }
}

/// Limits of a ratchet implementation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "a plain answer")]
pub struct RatchetLimits {
    /// Keys per chain that are kept for overtaken messages.
    pub kept_keys: usize,
    /// Receiving chains that are kept.
    pub chains: usize,
    /// Messages that may be missing before one.
    pub gap: u64,
}
