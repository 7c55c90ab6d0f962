//! Authenticated encryption of streams of any length, with random access:
//! [C2SP chunked-encryption](https://c2sp.org/chunked-encryption) v1 with HKDF-Expand-SHA-512 and
//! AES-256-GCM ("Cobblestone-256").
//!
//! ```text
//! sealed  = salt (24) || commitment (32) || chunk_0 || … || chunk_n
//! chunk_i = AES-256-GCM(key, base nonce xor i, 16 KiB of plaintext) || tag (16)
//! ```
//!
//! The last chunk is always shorter than the others and may be empty, so that a truncated stream
//! shows. `key`, `base nonce` and `commitment` come from the input key, the salt and a context.
//!
//! * whole: [`seal`], [`open`]
//! * streams: [`StreamSealer`]; [`SealWriter`], [`OpenReader`] (feature `std`)
//! * random access: [`OpenSeek`] (feature `std`)
//! * for formats that keep salt and commitment elsewhere: [`SealKeys`], [`ChunkKeys`],
//!   [`ChunkSealer`], [`SliceSealer`], [`SliceOpener`]
//! * for programs that have another AES-GCM: [`RawKeys`]
//!
//! Limits: 2^38 chunks, 4 PiB.

use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;

use zeroize::ZeroizeOnDrop;

use crate::mid::aes_gcm::AesGcm;
use crate::mid::hkdf_sha512::ExpandKey;
use crate::random::{Random, RandomError};
use crate::secret::{Zeroizing, constant_time_eq, declassify};

mod chunk;
mod raw;
#[cfg(feature = "std")]
mod reader;
#[cfg(feature = "std")]
mod seek;
mod slice;
mod stream;
#[cfg(all(test, feature = "std", any(feature = "aws-lc", feature = "getrandom")))]
mod tests;
#[cfg(feature = "std")]
mod writer;

pub use chunk::{ChunkSealer, StreamTooLong};
pub use raw::RawKeys;
#[cfg(feature = "std")]
pub use reader::{OpenReader, repeat_error};
#[cfg(feature = "std")]
pub use seek::OpenSeek;
pub use slice::{SliceOpener, SliceSealer};
pub use stream::{StreamError, StreamSealer};
#[cfg(feature = "std")]
pub use writer::SealWriter;

/// Plaintext bytes in every chunk but the last.
pub const CHUNK_LEN: usize = 16 * 1024;
/// Length in bytes of the authentication tag behind each chunk.
pub const TAG_LEN: usize = 16;
/// Length of a full sealed chunk.
pub const SEALED_CHUNK_LEN: usize = CHUNK_LEN + TAG_LEN;
/// Length in bytes of the random salt at the start of a stream.
pub const SALT_LEN: usize = 24;
/// Length in bytes of the key commitment that follows the salt.
pub const COMMITMENT_LEN: usize = 32;
/// Length in bytes of salt and commitment together, which begin a stream.
pub const PREFIX_LEN: usize = SALT_LEN + COMMITMENT_LEN;
/// Chunks in one stream at most: 2^38.
pub const MAX_CHUNKS: u64 = 1 << 38;

const INFO: &[u8] = b"c2sp.org/chunked-encryption@v1+AEAD_AES_256_GCM\0";

crate::secret_bytes! {
    /// Key that encrypts streams, together with a salt. Uniformly random.
    pub struct InputKey[32];
}

/// Keys that open the chunks of one stream.
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
pub struct ChunkKeys {
    aead: AesGcm,
    base_nonce: Zeroizing<[u8; 12]>,
}

impl ZeroizeOnDrop for ChunkKeys {}

impl ChunkKeys {
    /// `key || base nonce || commitment = HKDF-Expand-SHA-512(input key,
    /// "c2sp.org/chunked-encryption@v1+` `AEAD_AES_256_GCM" || 0x00 || salt || context)`, for the
    /// stream that carries this commitment.
    ///
    /// # Errors
    /// [`AuthenticationFailed`] if the input key, the salt or the context is another one.
    pub fn derive_committed(
        key: &InputKey,
        salt: &[u8; SALT_LEN],
        context: &[u8],
        commitment: &[u8; COMMITMENT_LEN],
    ) -> Result<Self, AuthenticationFailed> {
        KeySource::new(key).derive_committed(salt, context, commitment)
    }

    /// Derives the keys of the AEAD that `info` names, with a key of `len` bytes, and as much of
    /// the commitment as `commitment` holds. `None` if AES-GCM has no keys of `len` bytes.
    fn expand(
        source: &ExpandKey,
        info: &[u8],
        len: usize,
        salt: &[u8; SALT_LEN],
        context: &[u8],
        commitment: &mut [u8],
    ) -> Option<Self> {
        let mut okm = Zeroizing::new([0; 32 + 12 + COMMITMENT_LEN]);
        let okm = okm.get_mut(..len + 12 + commitment.len())?;
        source.expand(&[info, salt, context], okm);
        let (aead_key, rest) = okm.split_at_checked(len)?;
        let (nonce, rest) = rest.split_first_chunk()?;
        commitment.copy_from_slice(rest);
        Some(Self { aead: AesGcm::new(aead_key)?, base_nonce: Zeroizing::new(*nonce) })
    }

    fn nonce(&self, index: u64) -> [u8; 12] {
        raw::nonce(&self.base_nonce, index)
    }

    /// Seals `plaintext` as chunk `index` into `out`.
    ///
    /// # Panics
    /// If `out` is not [`TAG_LEN`] longer than `plaintext`.
    #[allow(clippy::expect_used)]
    fn seal_chunk(&self, index: u64, plaintext: &[u8], out: &mut [u8]) {
        let (ciphertext, tag) = out
            .split_last_chunk_mut()
            .filter(|(ciphertext, _)| ciphertext.len() == plaintext.len())
            .expect("callers measure the room of a sealed chunk by its plaintext");
        self.aead.seal(&self.nonce(index), plaintext, ciphertext, tag);
    }

    /// Seals as chunk `index` the last `len` bytes of `place`, to its beginning. `place` is at
    /// least [`TAG_LEN`] longer than that.
    fn seal_chunk_within(&self, index: u64, place: &mut [u8], len: usize) {
        // The sealed bytes and their tag end where the plaintext ends or before it. So the tag
        // overwrites plaintext that has already been read.
        let from = place.len() - len;
        let tag = self.aead.seal_within(&self.nonce(index), &[], place, from);
        place[len..][..TAG_LEN].copy_from_slice(&tag);
    }

    /// Opens chunk `index`; `sealed` is [`TAG_LEN`] longer than `out`.
    ///
    /// The caller MUST have compared the commitment. It MUST also know the number of chunks from a
    /// source that it trusts, or see the last chunk, which is shorter than [`CHUNK_LEN`]: a chunk
    /// does not say whether another follows.
    ///
    /// # Errors
    /// [`AuthenticationFailed`] if it is another chunk or was changed, or the lengths are wrong;
    /// `out` is zeroed.
    pub fn open_chunk(
        &self,
        index: u64,
        sealed: &[u8],
        out: &mut [u8],
    ) -> Result<(), AuthenticationFailed> {
        let Some((ciphertext, tag)) = sealed
            .split_last_chunk()
            .filter(|(ciphertext, _)| ciphertext.len() == out.len() && index < MAX_CHUNKS)
        else {
            out.fill(0);
            return Err(AuthenticationFailed);
        };
        self.aead.open(&self.nonce(index), ciphertext, tag, out).map_err(|()| AuthenticationFailed)
    }

    /// [`Self::open_chunk`] within one buffer: chunk `index`, sealed at `buffer[sealed]`, is opened
    /// to `buffer[to..]`, and its length returned. `to` is at most `sealed.start`; both places may
    /// overlap, so that chunks one behind another become content without gaps. Only the place of
    /// the content is written.
    ///
    /// # Errors
    /// [`AuthenticationFailed`] if it is another chunk or was changed: then the place of the
    /// content is zeroed, including sealed bytes that lay there. Also if `sealed` is not in
    /// `buffer`, is shorter than a tag or begins before `to`, or no chunk has that index: then
    /// `buffer` is as it was.
    pub fn open_chunk_within(
        &self,
        index: u64,
        buffer: &mut [u8],
        sealed: Range<usize>,
        to: usize,
    ) -> Result<usize, AuthenticationFailed> {
        let len = sealed.len().checked_sub(TAG_LEN).ok_or(AuthenticationFailed)?;
        let from = sealed.start.checked_sub(to).ok_or(AuthenticationFailed)?;
        // Content ends where the tag begins or before it: the tag is whole until it has been
        // compared.
        let (text, tag) = buffer
            .get_mut(to..sealed.end)
            .and_then(|place| place.split_last_chunk_mut())
            .filter(|_| index < MAX_CHUNKS)
            .ok_or(AuthenticationFailed)?;
        self.aead
            .open_within(&self.nonce(index), &[], text, from, tag)
            .map(|()| len)
            .map_err(|()| AuthenticationFailed)
    }
}

/// Keys that seal one stream, once. Opening keys do not seal, so a salt that came with a stream is
/// never sealed under again.
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
pub struct SealKeys(ChunkKeys);

impl ZeroizeOnDrop for SealKeys {}

impl SealKeys {
    /// Draws a salt and derives the keys of a stream and its prefix, `salt || commitment`.
    ///
    /// # Errors
    /// [`RandomError`] if the source fails.
    pub fn generate(
        key: &InputKey,
        context: &[u8],
        random: &mut impl Random,
    ) -> Result<(Self, [u8; PREFIX_LEN]), RandomError> {
        KeySource::new(key).generate(context, random)
    }
}

/// A prepared input key: deriving the keys of several streams costs less than from the input key
/// itself.
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
pub struct KeySource(ExpandKey);

impl ZeroizeOnDrop for KeySource {}

impl KeySource {
    /// Prepares an input key, so that keys of many streams can be derived from it.
    #[must_use]
    pub fn new(key: &InputKey) -> Self {
        Self(ExpandKey::new(key.expose_secret()))
    }

    /// Derives the keys of a new stream with a random salt, as [`SealKeys::generate`] does.
    ///
    /// # Errors
    /// [`RandomError`] if the source fails.
    pub fn generate(
        &self,
        context: &[u8],
        random: &mut impl Random,
    ) -> Result<(SealKeys, [u8; PREFIX_LEN]), RandomError> {
        let mut salt = [0; SALT_LEN];
        random.fill(&mut salt)?;
        let (keys, commitment) = self.seal_keys(&salt, context);
        let mut prefix = [0; PREFIX_LEN];
        prefix[..SALT_LEN].copy_from_slice(&salt);
        prefix[SALT_LEN..].copy_from_slice(&commitment);
        Ok((keys, prefix))
    }

    /// Derives the keys of a stream and checks its commitment, as [`ChunkKeys::derive_committed`]
    /// does.
    ///
    /// # Errors
    /// [`AuthenticationFailed`] if the input key, the salt or the context is another one.
    pub fn derive_committed(
        &self,
        salt: &[u8; SALT_LEN],
        context: &[u8],
        commitment: &[u8; COMMITMENT_LEN],
    ) -> Result<ChunkKeys, AuthenticationFailed> {
        let mut own = [0; COMMITMENT_LEN];
        let keys = self.expand(salt, context, &mut own);
        if declassify(constant_time_eq(&own, commitment)) {
            Ok(keys)
        } else {
            Err(AuthenticationFailed)
        }
    }

    /// Derives keys for sealing with a given salt; exported as
    /// [`hazmat::seal_keys`](crate::hazmat::seal_keys).
    pub(crate) fn seal_keys(
        &self,
        salt: &[u8; SALT_LEN],
        context: &[u8],
    ) -> (SealKeys, [u8; COMMITMENT_LEN]) {
        let mut commitment = [0; COMMITMENT_LEN];
        let keys = self.expand(salt, context, &mut commitment);
        (SealKeys(keys), commitment)
    }

    /// Derives keys for sealing without a commitment; exported as
    /// [`hazmat::uncommitted_seal_keys`](crate::hazmat::uncommitted_seal_keys).
    pub(crate) fn uncommitted_seal_keys(&self, salt: &[u8; SALT_LEN], context: &[u8]) -> SealKeys {
        SealKeys(self.expand(salt, context, &mut []))
    }

    /// Derives keys for opening without a commitment; exported as
    /// [`hazmat::uncommitted_keys`](crate::hazmat::uncommitted_keys).
    pub(crate) fn uncommitted_keys(&self, salt: &[u8; SALT_LEN], context: &[u8]) -> ChunkKeys {
        self.expand(salt, context, &mut [])
    }

    #[allow(clippy::expect_used)]
    fn expand(&self, salt: &[u8; SALT_LEN], context: &[u8], commitment: &mut [u8]) -> ChunkKeys {
        ChunkKeys::expand(&self.0, INFO, InputKey::LEN, salt, context, commitment)
            .expect("AES-256-GCM takes keys of 32 bytes")
    }
}

/// Length of the chunks that hold `plaintext_len` bytes, without the prefix. `None` beyond the
/// limit.
#[must_use]
pub const fn chunks_len(plaintext_len: u64) -> Option<u64> {
    let chunks = plaintext_len / CHUNK_LEN as u64 + 1;
    if chunks > MAX_CHUNKS { None } else { Some(plaintext_len + chunks * TAG_LEN as u64) }
}

/// Returns the number of plaintext bytes in chunks of that length, without the prefix. `None` if no
/// stream has that length.
#[must_use]
pub const fn plaintext_len(chunks_len: u64) -> Option<u64> {
    let full = chunks_len / SEALED_CHUNK_LEN as u64;
    let last = chunks_len % SEALED_CHUNK_LEN as u64;
    if last < TAG_LEN as u64 || full >= MAX_CHUNKS {
        return None;
    }
    Some(full * CHUNK_LEN as u64 + last - TAG_LEN as u64)
}

/// Seals `plaintext` under `key`, with a random salt. `context` is bound, not sent.
///
/// # Errors
/// [`RandomError`] if the source fails.
pub fn seal(
    key: &InputKey,
    context: &[u8],
    plaintext: &[u8],
    random: &mut impl Random,
) -> Result<Vec<u8>, RandomError> {
    let (keys, prefix) = SealKeys::generate(key, context, random)?;
    Ok(seal_with(keys, &prefix, plaintext))
}

fn seal_with(keys: SealKeys, prefix: &[u8; PREFIX_LEN], plaintext: &[u8]) -> Vec<u8> {
    let chunks = plaintext.len() / CHUNK_LEN + 1;
    let mut out = vec![0; PREFIX_LEN + plaintext.len() + chunks * TAG_LEN];
    out[..PREFIX_LEN].copy_from_slice(prefix);
    let mut sealer = SliceSealer::new(keys, &mut out[PREFIX_LEN..]);
    sealer.push(plaintext);
    sealer.finish();
    out
}

/// Opens bytes that [`seal`] made under the same key and context, and returns the plaintext.
///
/// # Errors
/// [`AuthenticationFailed`] if the key or context is another one, or anything was changed.
pub fn open(
    key: &InputKey,
    context: &[u8],
    sealed: &[u8],
) -> Result<Vec<u8>, AuthenticationFailed> {
    let (salt, rest) = sealed.split_first_chunk().ok_or(AuthenticationFailed)?;
    let (commitment, chunks) = rest.split_first_chunk().ok_or(AuthenticationFailed)?;
    let keys = ChunkKeys::derive_committed(key, salt, context, commitment)?;
    let mut opener = SliceOpener::new(keys, chunks)?;
    let mut out = vec![0; opener.remaining()];
    opener.pull(&mut out)?;
    Ok(out)
}

/// The key or context is another one, or the sealed bytes were changed, cut or extended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AuthenticationFailed;

impl fmt::Display for AuthenticationFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("authentication failed")
    }
}

impl core::error::Error for AuthenticationFailed {}

#[cfg(feature = "std")]
impl From<AuthenticationFailed> for std::io::Error {
    fn from(error: AuthenticationFailed) -> Self {
        Self::new(std::io::ErrorKind::InvalidData, error)
    }
}
