//! Prekeys of an account.
//!
//! They are not kept in the library's account, because it uses up a one-time key before the
//! plaintext can be checked, marks either all keys as published or none, and recomputes each public
//! key when it is loaded.

use alloc::vec::Vec;

use endseal_crypto::random::{OsRandom, RandomError};
use endseal_crypto::x25519::{PublicKey, SecretKey};
use endseal_keyring::device::PrekeyKind;
use zeroize::Zeroizing;

use crate::fields::Fields;

/// Limit of one-time keys; above it the oldest are dropped.
const MAX_ONE_TIME: usize = 5_000;

/// Age from which a published fallback key is replaced: 7 days, in milliseconds. Afterwards it
/// stays valid until the next replacement.
const FALLBACK_AGE: u64 = 7 * 24 * 60 * 60 * 1_000;

/// One-time and fallback keys of an account, each list in the order of making.
#[derive(Clone, Default)]
pub(super) struct Prekeys {
    one_time: Vec<Prekey>,
    /// At most two: the previous key, and the one that is published now.
    fallback: Vec<Prekey>,
}

pub(super) struct Prekey {
    secret: SecretKey,
    public: PublicKey,
    made_at: u64,
    published: bool,
}

impl Prekeys {
    /// Makes `count` one-time keys; drops the oldest above the limit.
    pub(super) fn add_one_time(&mut self, count: usize, now: u64) -> Result<(), RandomError> {
        let count = count.min(MAX_ONE_TIME);
        let mut new = Vec::with_capacity(count);
        for _ in 0..count {
            new.push(Prekey::generate(now)?);
        }
        self.one_time.append(&mut new);
        let excess = self.one_time.len().saturating_sub(MAX_ONE_TIME);
        self.one_time.drain(..excess);
        Ok(())
    }

    /// Makes a fallback key if there is none, or if the last one was published and is too old. A
    /// key with a time that far in the future was made by a clock that was ahead, and is replaced
    /// too.
    pub(super) fn refresh_fallback(&mut self, now: u64) -> Result<(), RandomError> {
        let is_due = self
            .fallback
            .last()
            .is_none_or(|last| last.published && now.abs_diff(last.made_at) >= FALLBACK_AGE);
        if is_due {
            self.fallback.push(Prekey::generate(now)?);
            let excess = self.fallback.len().saturating_sub(2);
            self.fallback.drain(..excess);
        }
        Ok(())
    }

    /// Records that these keys were published.
    pub(super) fn publish(&mut self, keys: &[PublicKey]) {
        for prekey in self.one_time.iter_mut().chain(&mut self.fallback) {
            prekey.published |= keys.contains(&prekey.public);
        }
    }

    /// Returns the one-time keys that were not published.
    pub(super) fn pending(&self) -> impl Iterator<Item = (PrekeyKind, &Prekey)> {
        let pending = self.one_time.iter().filter(|it| !it.published);
        pending.map(|it| (PrekeyKind::OneTime, it))
    }

    /// Returns the current fallback key.
    pub(super) fn fallback(&self) -> Option<&Prekey> {
        self.fallback.last()
    }

    /// Returns the time at which the oldest fallback key was made.
    pub(super) fn fallback_since(&self) -> Option<u64> {
        self.fallback.iter().map(|it| it.made_at).min()
    }

    pub(super) fn one_time_left(&self) -> usize {
        self.one_time.len()
    }

    /// Returns the prekey with this public key.
    pub(super) fn find(&self, public: &[u8; 32]) -> Option<&Prekey> {
        self.one_time.iter().chain(&self.fallback).find(|it| it.public.as_bytes() == public)
    }

    /// Deletes a one-time key that was used; a fallback key stays.
    pub(super) fn use_up(&mut self, public: &[u8; 32]) {
        self.one_time.retain(|it| it.public.as_bytes() != public);
    }

    /// Appends the encoding: the number of one-time keys (4 bytes), these keys, the number of
    /// fallback keys (1), these keys.
    pub(super) fn write_to(&self, out: &mut Zeroizing<Vec<u8>>) {
        // Never more than MAX_ONE_TIME.
        let count = u32::try_from(self.one_time.len()).unwrap_or(u32::MAX);
        out.extend_from_slice(&count.to_le_bytes());
        self.one_time.iter().for_each(|it| it.write_to(out));
        out.push(u8::try_from(self.fallback.len()).unwrap_or(u8::MAX));
        self.fallback.iter().for_each(|it| it.write_to(out));
    }

    /// Returns the length of the encoding, in bytes.
    pub(super) fn encoded_len(&self) -> usize {
        5 + (self.one_time.len() + self.fallback.len()) * Prekey::LEN
    }

    /// Decodes the prekeys from the start of `fields`.
    pub(super) fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let count = usize::try_from(u32::from_le_bytes(*fields.array()?)).ok()?;
        if count > MAX_ONE_TIME {
            return None;
        }
        let one_time = (0..count).map(|_| Prekey::read(fields)).collect::<Option<_>>()?;
        let count = fields.byte()?;
        if count > 2 {
            return None;
        }
        let fallback = (0..count).map(|_| Prekey::read(fields)).collect::<Option<_>>()?;
        Some(Self { one_time, fallback })
    }
}

impl Clone for Prekey {
    fn clone(&self) -> Self {
        let secret = SecretKey::from_bytes(self.secret.expose_secret());
        Self { secret, public: self.public, made_at: self.made_at, published: self.published }
    }
}

impl Prekey {
    const LEN: usize = 32 + 32 + 8 + 1;

    fn generate(now: u64) -> Result<Self, RandomError> {
        let secret = SecretKey::generate(&mut OsRandom)?;
        let public = secret.public_key();
        Ok(Self { secret, public, made_at: now, published: false })
    }

    pub(super) fn secret(&self) -> &SecretKey {
        &self.secret
    }

    pub(super) fn public(&self) -> PublicKey {
        self.public
    }

    pub(super) fn made_at(&self) -> u64 {
        self.made_at
    }

    pub(super) fn is_published(&self) -> bool {
        self.published
    }

    fn write_to(&self, out: &mut Zeroizing<Vec<u8>>) {
        out.extend_from_slice(self.secret.expose_secret());
        out.extend_from_slice(self.public.as_bytes());
        out.extend_from_slice(&self.made_at.to_le_bytes());
        out.push(u8::from(self.published));
    }

    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let secret = SecretKey::from_bytes(fields.array()?);
        let public = PublicKey::from_bytes(fields.array()?).ok()?;
        let made_at = u64::from_le_bytes(*fields.array()?);
        let published = match fields.byte()? {
            0 => false,
            1 => true,
            _ => return None,
        };
        Some(Self { secret, public, made_at, published })
    }
}
