//! SHA-256 (FIPS 180-4) and HMAC-SHA-256 (RFC 2104), as protocols of others ask for them.
//!
//! Formats of this project use BLAKE3 (`hash`). Works without an allocator.

use core::fmt;

use zeroize::ZeroizeOnDrop;

use crate::low::wipe::{WipeOnDrop, wipe};
use crate::mid::sha256::{BLOCK_LEN, Hasher, INITIAL, State, behind_block, compress};
use crate::secret::{constant_time_eq, declassify};

#[cfg(test)]
mod tests;

/// Length of a digest and of a MAC in bytes.
pub const LEN: usize = crate::mid::sha256::LEN;

/// Bytes that both states of HMAC have behind them: the block that the key fills.
const BEHIND_KEY: u64 = BLOCK_LEN as u64;

/// Computes `SHA-256(data)` in one call (FIPS 180-4).
#[must_use]
pub fn digest(data: &[u8]) -> [u8; LEN] {
    let mut digest = Digest::new();
    digest.update(data);
    digest.finish()
}

/// A digest of data that comes in pieces. Wiped when dropped.
#[derive(Clone)]
pub struct Digest(Hasher);

impl Digest {
    /// A digest of nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self(Hasher::new())
    }

    /// Adds data to the hashed input; may be called any number of times.
    pub fn update(&mut self, data: &[u8]) {
        self.0.update(data);
    }

    /// The digest of all that was added.
    #[must_use]
    pub fn finish(mut self) -> [u8; LEN] {
        self.0.finish()
    }
}

impl Default for Digest {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Digest")
    }
}

/// `HMAC-SHA-256(key, part_0 || part_1 || …)`.
///
/// The concatenation is not framed: the caller MUST make it unambiguous. MACs MUST be compared with
/// [`HmacKey::verify`] or [`constant_time_eq`].
#[must_use]
pub fn hmac(key: &[u8], parts: &[&[u8]]) -> [u8; LEN] {
    HmacKey::new(key).mac(parts)
}

/// A key of HMAC-SHA-256 that is prepared for many MACs: each costs two compressions less.
///
/// Holds the two states of SHA-256 behind the key's blocks, inline, and wipes them when dropped. A
/// move copies them: a caller that keeps a key on the heap must box it before the key is moved.
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
#[derive(Clone)]
pub struct HmacKey(WipeOnDrop<States>);

#[derive(Clone, Copy)]
struct States {
    inner: State,
    outer: State,
}

impl ZeroizeOnDrop for HmacKey {}

impl HmacKey {
    /// Prepares a key of any length, which the caller MUST wipe.
    #[must_use]
    pub fn new(key: &[u8]) -> Self {
        const INNER: u8 = 0x36;
        const OUTER: u8 = 0x5c;

        // RFC 2104, section 2. It calls itself once at most.
        if key.len() > BLOCK_LEN {
            let mut short = digest(key);
            let own = Self::new(&short);
            wipe(&mut short);
            return own;
        }
        let mut states = WipeOnDrop::new(States { inner: INITIAL, outer: INITIAL });
        let own = &mut *states;
        let mut block = [0; BLOCK_LEN];
        for (pad, state) in [(INNER, &mut own.inner), (OUTER, &mut own.outer)] {
            block.fill(pad);
            block.iter_mut().zip(key).for_each(|(byte, key)| *byte ^= key);
            compress(state, &block);
        }
        wipe(&mut block);
        Self(states)
    }

    /// `HMAC-SHA-256(key, part_0 || part_1 || …)`, with the duties of [`hmac()`].
    #[must_use]
    pub fn mac(&self, parts: &[&[u8]]) -> [u8; LEN] {
        let mut mac = self.start();
        for part in parts {
            mac.update(part);
        }
        mac.tag()
    }

    /// Returns true if `mac` is that of the concatenated parts, in time that depends on their
    /// lengths alone.
    #[must_use]
    pub fn verify(&self, parts: &[&[u8]], mac: &[u8; LEN]) -> bool {
        let mut own = self.start();
        for part in parts {
            own.update(part);
        }
        own.verify(mac)
    }

    /// A MAC of data that comes in pieces.
    #[must_use]
    pub fn start(&self) -> Mac {
        let States { inner, outer } = &*self.0;
        Mac { inner: Hasher::resume(inner, BEHIND_KEY), outer: WipeOnDrop::new(*outer) }
    }
}

/// A MAC under an [`HmacKey`] of data that comes in pieces. Wiped when dropped.
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
pub struct Mac {
    inner: Hasher,
    outer: WipeOnDrop<State>,
}

impl ZeroizeOnDrop for Mac {}

impl Mac {
    /// Adds data to the authenticated input; may be called any number of times.
    pub fn update(&mut self, data: &[u8]) {
        self.inner.update(data);
    }

    /// The MAC of all that was added, with the duties of [`hmac()`].
    #[must_use]
    pub fn finish(mut self) -> [u8; LEN] {
        self.tag()
    }

    /// As [`Self::finish`], without a move.
    pub(super) fn tag(&mut self) -> [u8; LEN] {
        let mut digest = self.inner.finish();
        let mac = behind_block(&self.outer, &digest);
        wipe(&mut digest);
        mac
    }

    /// Returns true if `mac` is that of all that was added, in time that depends on lengths alone.
    #[must_use]
    pub fn verify(mut self, mac: &[u8; LEN]) -> bool {
        let mut own = self.tag();
        let verdict = declassify(constant_time_eq(&own, mac));
        wipe(&mut own);
        verdict
    }
}
