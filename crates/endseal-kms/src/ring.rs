//! A local key ring: AES-256 keys in a file (docs/spec/s3-key-ring.md).
//!
//! A ring that is sealed under a passphrase is the provider "passphrase" as well: there is no key
//! made of a passphrase alone, because such a key could not be rotated.

use endseal_crypto::key_wrap::WrappingKey;
use endseal_crypto::random::{Random, RandomError};

mod file;
pub mod hazmat;
mod parsed;
mod seal;
mod service;
mod text;

pub use file::{
    ChangeRingError, CreateRingError, LoadRingError, Protection, ReadPassphraseError,
    RetireKeyError, RingFile, read_passphrase,
};
pub use parsed::ParsedRing;
pub use seal::{OpenRingError, SealRingError, SealedRing};
pub use service::RingProvider;
pub use text::ParseRingError;

use super::KeyId;

/// Greatest number of keys in a ring.
pub const MAX_KEYS: usize = 1024;
/// Greatest length of a ring's file in bytes.
pub const MAX_LEN: usize = 262_144;
/// Latest time of a key: the end of the year 9999.
pub const MAX_TIME: u64 = 253_402_300_799;

/// The keys of a ring, in the order in which they were added: the last one wraps, all open.
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
pub struct Ring {
    /// 1 to [`MAX_KEYS`], no two with the same id.
    keys: Vec<RingKey>,
}

struct RingKey {
    id: KeyId,
    created: u64,
    key: WrappingKey,
}

/// Facts about a key that may be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RingEntry {
    /// Id of the key, which is public.
    pub id: KeyId,
    /// Time of the making, in seconds since 1970.
    pub created: u64,
    /// True if it is the one that wraps.
    pub wraps: bool,
}

impl Ring {
    /// A ring of one new key, made at `now` (seconds since 1970).
    ///
    /// # Errors
    /// [`RandomError`] if the source fails.
    pub fn generate(now: u64, random: &mut impl Random) -> Result<Self, RandomError> {
        Ok(Self { keys: vec![RingKey::generate(now, random)?] })
    }

    /// Adds a new key, which wraps from now on. The caller MUST make the ring durable before it
    /// does.
    ///
    /// # Errors
    /// [`AddKeyError`].
    pub fn add(&mut self, now: u64, random: &mut impl Random) -> Result<&KeyId, AddKeyError> {
        if self.keys.len() >= MAX_KEYS {
            return Err(AddKeyError::Full);
        }
        let key = loop {
            let key = RingKey::generate(now, random)?;
            // 48 random bits.
            if !self.knows(&key.id) {
                break key;
            }
        };
        self.keys.push(key);
        Ok(&self.wrapping().id)
    }

    /// Removes a key. Data keys that it wrapped can no longer be unwrapped.
    ///
    /// # Errors
    /// [`RemoveKeyError`] if it is the wrapping key, which the last key always is.
    pub fn remove(&mut self, id: &KeyId) -> Result<(), RemoveKeyError> {
        let at = self.keys.iter().position(|key| key.id == *id).ok_or(RemoveKeyError::Unknown)?;
        if at + 1 == self.keys.len() {
            return Err(RemoveKeyError::Wraps);
        }
        self.keys.remove(at);
        Ok(())
    }

    /// Returns the facts about the keys that may be shown, in their order.
    pub fn entries(&self) -> impl Iterator<Item = RingEntry> + '_ {
        self.keys.iter().enumerate().map(|(at, key)| RingEntry {
            id: key.id.clone(),
            created: key.created,
            wraps: at + 1 == self.keys.len(),
        })
    }

    fn knows(&self, id: &KeyId) -> bool {
        self.find(id).is_some()
    }

    fn find(&self, id: &KeyId) -> Option<&RingKey> {
        // From the back: most objects are of the last keys.
        self.keys.iter().rev().find(|key| key.id == *id)
    }

    #[allow(clippy::expect_used)]
    fn wrapping(&self) -> &RingKey {
        self.keys.last().expect("a ring is made with a key, and the last one is never removed")
    }
}

impl RingKey {
    fn generate(now: u64, random: &mut impl Random) -> Result<Self, RandomError> {
        let mut name = [0; 6];
        random.fill(&mut name)?;
        let key = WrappingKey::try_init_with(|out| random.fill(out))?;
        Ok(Self { id: Self::random_id(name), created: now.min(MAX_TIME), key })
    }

    #[allow(clippy::expect_used)]
    fn random_id(name: [u8; 6]) -> KeyId {
        let number = name.iter().fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
        KeyId::new(&format!("ring-{number:012x}")).expect("17 characters of the alphabet")
    }
}

/// Reason why a ring got no new key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AddKeyError {
    /// The ring has [`MAX_KEYS`] keys already.
    #[error("the key ring has {MAX_KEYS} keys already")]
    Full,
    /// The source of randomness failed.
    #[error("the source of randomness failed")]
    Random,
}

impl From<RandomError> for AddKeyError {
    fn from(_: RandomError) -> Self {
        Self::Random
    }
}

/// Reason why a key was not removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RemoveKeyError {
    /// The ring has no key of that id.
    #[error("the key ring has no key of that id")]
    Unknown,
    /// The key is the wrapping key: add another one first.
    #[error("the key wraps; add another one first")]
    Wraps,
}
