//! Sessions between two devices: what the engine of a ratchet must be able to do.

mod error;
pub mod olm;

use endseal_crypto::{ed25519, x25519};
use zeroize::Zeroizing;

use crate::bundle::PrekeyBundle;
use crate::certificate::Certificate;
use crate::message::SessionTag;

pub use error::{AcceptError, BeginError, OpenError, SealError, StateError, WrongCertificate};

/// A Double Ratchet between two devices. [`open`](Self::open) and [`seal`](Self::seal) change `self`
/// only when they succeed.
pub trait Ratchet: Send + Sized {
    /// The number of the engine in the store, which tells whose state it is.
    const ENGINE: u8;

    /// What the engine tolerates.
    fn limits() -> RatchetLimits;

    /// Opens a message, and drops its key.
    ///
    /// The caller MUST store the state ([`save`](Self::save)) before it acknowledges the message, and
    /// MUST have checked the certificate beside a pre-key body if the session did not come from
    /// [`PairwiseAccount::accept`] with it.
    ///
    /// # Errors
    /// [`OpenError`]; the state is what it was.
    fn open(&mut self, body: RatchetBody<'_>) -> Result<Zeroizing<Vec<u8>>, OpenError>;

    /// Seals a message with the next key.
    ///
    /// The caller MUST store the state before a byte of it leaves, and MUST NOT seal with two copies of
    /// one state: both would use the same key.
    ///
    /// # Errors
    /// [`SealError`]; the state is what it was.
    fn seal(&mut self, plaintext: &[u8]) -> Result<Sealed, SealError>;

    /// An independent copy, on which a batch works. Only one of the two may be kept.
    #[must_use]
    fn fork(&self) -> Self;

    /// What finds the session.
    fn tag(&self) -> SessionTag;

    /// Whether a message of the other side was ever opened: until then, this side sends pre-key messages.
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
/// What changes it ([`one_time_keys`](Self::one_time_keys), [`fallback_key`](Self::fallback_key),
/// [`published`](Self::published), [`accept`](Self::accept)) must be stored together with what came of
/// it.
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

    /// Makes so many one-time keys. Where there is no room, the oldest are dropped: 5,000 in Olm.
    fn one_time_keys(&mut self, count: usize);

    /// Makes a new fallback key. The one before still serves, the one before that does no longer.
    fn fallback_key(&mut self);

    /// How many one-time keys were made and not used yet.
    fn one_time_keys_left(&self) -> usize;

    /// Bundles of all prekeys that are not [`published`](Self::published), the fallback key last.
    ///
    /// # Errors
    /// [`WrongCertificate`] if the certificate is not one of this account's keys.
    fn bundles(
        &self,
        certificate: &Certificate,
        made_at: u64,
    ) -> Result<Vec<PrekeyBundle>, WrongCertificate>;

    /// Notes that the bundles have arrived where others can ask for them.
    fn published(&mut self);

    /// Begins a session with the device of a bundle. The caller MUST know that the address in it is the
    /// one it means.
    ///
    /// # Errors
    /// [`BeginError`].
    fn begin(&self, their: &PrekeyBundle) -> Result<Self::Ratchet, BeginError>;

    /// Accepts the session of a pre-key message and opens the message. A one-time key is used up, if and
    /// only if this succeeds.
    ///
    /// `tag` is the one before the message, `their_agreement_key` that of the certificate beside it,
    /// which the caller MUST have verified.
    ///
    /// # Errors
    /// [`AcceptError`]; the account is what it was.
    fn accept(
        &mut self,
        tag: SessionTag,
        their_agreement_key: &x25519::PublicKey,
        body: &[u8],
    ) -> Result<(Self::Ratchet, Zeroizing<Vec<u8>>), AcceptError>;

    /// An independent copy. It costs a multiplication on the curve a stored prekey, in Olm, as
    /// [`load`](Self::load) does: a batch rather keeps what [`save`](Self::save) gave before it, which
    /// costs next to nothing, and loads that if it fails.
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

/// What a ratchet takes from a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_enums, reason = "the kinds of the format")]
pub enum RatchetBody<'a> {
    /// Of a pre-key message: the message and what its session began with.
    Prekey(&'a [u8]),
    /// The message alone.
    Ratchet(&'a [u8]),
}

/// What a ratchet gives for a message.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "a plain answer")]
pub struct Sealed {
    /// Whether it is a pre-key message.
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

/// What a ratchet tolerates.
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
