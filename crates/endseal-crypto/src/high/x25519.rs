//! X25519 (RFC 7748): with one party, or with a whole group at once.

use alloc::vec::Vec;
use core::fmt;
#[cfg(feature = "parallel")]
use core::num::NonZeroUsize;

use base16ct::HexDisplay;
use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::mid::{backend, x25519_batch};
use crate::random::{Random, RandomError};
use crate::secret::{constant_time_eq, declassify};

pub use crate::mid::x25519_batch::Platform;

crate::secret_bytes! {
    /// A secret key: any 32 bytes; they are clamped when used.
    pub struct SecretKey[32];
}

crate::secret_bytes! {
    /// The outcome of an agreement. It is a point, not a uniform key: hash it before use.
    pub struct SharedSecret[32];
}

impl SecretKey {
    /// Draws a new secret key of 32 bytes from `random`.
    ///
    /// # Errors
    /// [`RandomError`] if the source fails.
    pub fn generate(random: &mut impl Random) -> Result<Self, RandomError> {
        Self::try_init_with(|bytes| random.fill(bytes))
    }

    /// The public key of this secret: X25519(secret, 9), where 9 is the base point (RFC 7748).
    #[must_use]
    pub fn public_key(&self) -> PublicKey {
        PublicKey(backend::X25519Secret::new(self.expose_secret()).public())
    }

    /// Agrees on a secret with the owner of `public`: X25519(secret, public) of RFC 7748.
    ///
    /// # Errors
    /// [`LowOrder`] if the result is zero, which is no secret.
    pub fn agree(&self, public: &PublicKey) -> Result<SharedSecret, LowOrder> {
        agree(&backend::X25519Secret::new(self.expose_secret()), public)
    }

    /// X25519(secret, 9), and X25519(secret, public_i) for all keys. It is for a secret key that is
    /// used once. Cheaper than a [`PreparedKey`] where the kernel has a free lane for the base
    /// point.
    #[must_use]
    pub fn agree_once_on(
        &self,
        platform: Platform,
        publics: &[PublicKey],
    ) -> (PublicKey, SharedSecrets) {
        let us: Vec<_> = publics.iter().map(|public| public.0).collect();
        let (public, shared) = x25519_batch::agree_with_public(platform, self.expose_secret(), &us);
        (PublicKey(public), SharedSecrets(shared))
    }

    /// [`Self::agree_once_on`] on up to `threads` threads.
    #[cfg(feature = "parallel")]
    #[must_use]
    pub fn agree_once_on_threads(
        &self,
        threads: NonZeroUsize,
        platform: Platform,
        publics: &[PublicKey],
    ) -> (PublicKey, SharedSecrets) {
        if threads.get() == 1 {
            return self.agree_once_on(platform, publics);
        }
        let us: Vec<_> = publics.iter().map(|public| public.0).collect();
        let (secret, prepared) =
            (self.expose_secret(), backend::X25519Secret::new(self.expose_secret()));
        let shared =
            x25519_batch::agree_on_threads(threads.get(), platform, secret, &prepared, &us);
        (PublicKey(prepared.public()), SharedSecrets(shared))
    }
}

/// A secret key ready for use: the part that all agreements share is already computed.
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
pub struct PreparedKey {
    secret: SecretKey,
    prepared: backend::X25519Secret,
    public: PublicKey,
}

impl ZeroizeOnDrop for PreparedKey {}

impl PreparedKey {
    /// Computes what all agreements with this secret key share.
    #[must_use]
    pub fn new(secret: SecretKey) -> Self {
        let prepared = backend::X25519Secret::new(secret.expose_secret());
        let public = PublicKey(prepared.public());
        Self { secret, prepared, public }
    }

    /// The public key of this secret: X25519(secret, 9), where 9 is the base point (RFC 7748).
    #[must_use]
    pub fn public_key(&self) -> &PublicKey {
        &self.public
    }

    /// Agrees on a secret with the owner of `public`: X25519(secret, public) of RFC 7748.
    ///
    /// # Errors
    /// [`LowOrder`] if the result is zero, which is no secret.
    pub fn agree(&self, public: &PublicKey) -> Result<SharedSecret, LowOrder> {
        agree(&self.prepared, public)
    }

    /// X25519(secret, public_i) for all keys: 8 at a time where the CPU has AVX-512 IFMA, 4 where
    /// it has AVX2 and FMA, one by one elsewhere.
    #[must_use]
    pub fn agree_many(&self, publics: &[PublicKey]) -> SharedSecrets {
        self.agree_many_on(Platform::detect(), publics)
    }

    /// [`Self::agree_many`] on a chosen platform, to compare platforms.
    #[must_use]
    pub fn agree_many_on(&self, platform: Platform, publics: &[PublicKey]) -> SharedSecrets {
        let us: Vec<_> = publics.iter().map(|public| public.0).collect();
        let secret = self.secret.expose_secret();
        SharedSecrets(x25519_batch::agree(platform, secret, &self.prepared, &us))
    }
}

fn agree(secret: &backend::X25519Secret, public: &PublicKey) -> Result<SharedSecret, LowOrder> {
    let mut shared = secret.agree(&public.0);
    let secret = SharedSecret::from_bytes(&shared);
    shared.zeroize();
    refuse_zero(secret.expose_secret())?;
    Ok(secret)
}

/// A public key: a u-coordinate below p. Points of low order are found at agreement.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct PublicKey([u8; 32]);

impl PublicKey {
    /// Length of a public key in bytes.
    pub const LEN: usize = 32;

    /// Makes a public key of a canonical u-coordinate, little-endian (RFC 7748).
    ///
    /// # Errors
    /// [`NotCanonical`] if it is not below 2^255 - 19.
    pub fn from_bytes(bytes: &[u8; 32]) -> Result<Self, NotCanonical> {
        let below_p = bytes[31] < 0x7f
            || bytes[31] == 0x7f && (bytes[1..31].iter().any(|&b| b != 0xff) || bytes[0] < 0xed);
        if below_p { Ok(Self(*bytes)) } else { Err(NotCanonical) }
    }

    pub(crate) fn from_canonical(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The u-coordinate in 32 bytes, little-endian (RFC 7748).
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "x25519::PublicKey({:x})", HexDisplay(&self.0))
    }
}

/// The outcomes of [`PreparedKey::agree_many`], in the order of the keys. Wiped when dropped.
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
pub struct SharedSecrets(Vec<[u8; 32]>);

impl SharedSecrets {
    /// Returns the number of secrets.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns true if there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The outcomes; `Err` where the key was of low order. The caller MUST hash them before use and
    /// not copy them.
    pub fn expose_secrets(&self) -> impl ExactSizeIterator<Item = Result<&[u8; 32], LowOrder>> {
        self.0.iter().map(refuse_zero)
    }

    /// The outcome at `index`, with the same duties; `None` beyond the last.
    #[must_use]
    pub fn expose_secret(&self, index: usize) -> Option<Result<&[u8; 32], LowOrder>> {
        self.0.get(index).map(refuse_zero)
    }
}

fn refuse_zero(secret: &[u8; 32]) -> Result<&[u8; 32], LowOrder> {
    let is_zero = declassify(constant_time_eq(secret, &[0; 32]));
    if is_zero { Err(LowOrder) } else { Ok(secret) }
}

impl ZeroizeOnDrop for SharedSecrets {}

impl Drop for SharedSecrets {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

/// The other key is of low order: the result is zero for every secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LowOrder;

impl fmt::Display for LowOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the public key is a point of low order")
    }
}

impl core::error::Error for LowOrder {}

/// The bytes are not below 2^255 - 19.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NotCanonical;

impl fmt::Display for NotCanonical {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the public key is not canonically encoded")
    }
}

impl core::error::Error for NotCanonical {}
