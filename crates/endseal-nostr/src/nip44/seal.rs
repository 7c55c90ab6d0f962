//! Sealing, in one pass through a small buffer: each piece is padded, encrypted, authenticated and
//! encoded while it is in the first cache.

use core::fmt;

use endseal_crypto::base64;

use super::conversation::Conversation;
use super::padding::{MAX_PLAINTEXT, MAX_PLAINTEXT_SHORT, Prefix, padded_len};
use super::payload::{HEAD_LEN, MAC_LEN, NONCE_LEN, VERSION, encoded};
use crate::output::OutputTooSmall;

/// Bytes that go through the buffer at once: whole blocks of ChaCha20 (64) and whole groups of
/// Base64 (3).
///
/// 3 KiB is a whole number of the widest kernel's steps; a small target has little stack.
const PIECE: usize = if cfg!(target_pointer_width = "64") { 3072 } else { SMALL_PIECE };
/// The same for short messages: the larger buffer takes longer to clear than they take to seal.
const SMALL_PIECE: usize = 192;
/// Blocks of ChaCha20 have this many bytes.
const BLOCK: usize = 64;

const _: () = assert!(PIECE.is_multiple_of(3 * BLOCK) && SMALL_PIECE.is_multiple_of(3 * BLOCK));
const _: () = assert!(HEAD_LEN.is_multiple_of(3));

/// Lengths of plaintexts that a caller permits to be sealed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(clippy::exhaustive_enums, reason = "there is no third length")]
pub enum Lengths {
    /// 1 to 2^32 - 1 bytes. Readers from before June 2026 refuse 65,536 bytes and more.
    #[default]
    Extended,
    /// 1 to 65,535 bytes, which every reader of version 2 opens.
    UpTo65535,
}

/// Length in characters of the payload of `plaintext_len` bytes.
///
/// # Errors
/// [`SealError::Length`] if `lengths` does not allow that length, or if memory cannot hold the
/// payload.
pub fn payload_len(plaintext_len: usize, lengths: Lengths) -> Result<usize, SealError> {
    let sizes = Sizes::new(plaintext_len, lengths)?;
    usize::try_from(sizes.encoded).map_err(|_| SealError::Length)
}

/// Lengths of the parts of one payload.
struct Sizes {
    prefix: Prefix,
    padding: u64,
    encoded: u64,
}

impl Sizes {
    fn new(plaintext_len: usize, lengths: Lengths) -> Result<Self, SealError> {
        let max = match lengths {
            Lengths::Extended => MAX_PLAINTEXT,
            Lengths::UpTo65535 => MAX_PLAINTEXT_SHORT,
        };
        let len = u32::try_from(plaintext_len).map_err(|_| SealError::Length)?;
        if !(1..=max).contains(&u64::from(len)) {
            return Err(SealError::Length);
        }
        let (prefix, padded) = (Prefix::new(len), padded_len(u64::from(len)));
        let ciphertext = prefix.as_bytes().len() as u64 + padded;
        let encoded = encoded((HEAD_LEN + MAC_LEN) as u64 + ciphertext);
        Ok(Self { prefix, padding: padded - u64::from(len), encoded })
    }
}

impl Conversation {
    /// Writes the payload of `plaintext`, UTF-8 text, to the start of `out` and returns it.
    ///
    /// `nonce` MUST be 32 bytes of a cryptographically secure source, fresh for each message: two
    /// plaintexts with one nonce in one conversation are read by any observer. `out` needs
    /// [`payload_len`] bytes; those behind the payload are left as they are.
    ///
    /// # Errors
    /// [`SealError`]; `out` is left as it is.
    #[allow(clippy::expect_used, clippy::missing_panics_doc)]
    pub fn seal<'o>(
        &self,
        plaintext: &[u8],
        nonce: &[u8; 32],
        lengths: Lengths,
        out: &'o mut [u8],
    ) -> Result<&'o str, SealError> {
        let sizes = Sizes::new(plaintext.len(), lengths)?;
        let len = usize::try_from(sizes.encoded).map_err(|_| SealError::Length)?;
        let out = out.get_mut(..len).ok_or(SealError::Output(OutputTooSmall { needed: len }))?;
        if len <= SMALL_PIECE {
            self.seal_by::<SMALL_PIECE, { SMALL_PIECE + MAC_LEN }>(plaintext, nonce, &sizes, out);
        } else {
            self.seal_by::<PIECE, { PIECE + MAC_LEN }>(plaintext, nonce, &sizes, out);
        }
        Ok(str::from_utf8(out).expect("Base64 is ASCII"))
    }

    /// Writes the payload to `out`, which has exactly its length. `ROOM` is `STEP + MAC_LEN`.
    fn seal_by<const STEP: usize, const ROOM: usize>(
        &self,
        plaintext: &[u8],
        nonce: &[u8; NONCE_LEN],
        sizes: &Sizes,
        mut out: &mut [u8],
    ) {
        let keys = self.message_keys(nonce);
        let mac_key = keys.mac();
        let mut mac = mac_key.start();
        mac.update(nonce);

        let mut head = [VERSION; HEAD_LEN];
        head[1..].copy_from_slice(nonce);
        encode(&head, &mut out);

        let mut rest = Rest { parts: [sizes.prefix.as_bytes(), plaintext], zeros: sizes.padding };
        let mut piece = [0; ROOM];
        for counter in (0..).step_by(STEP / BLOCK) {
            let filled = rest.fill(&mut piece[..STEP]);
            keys.apply_keystream(counter, &mut piece[..filled]);
            mac.update(&piece[..filled]);
            if rest.is_empty() {
                piece[filled..filled + MAC_LEN].copy_from_slice(&mac.finish());
                encode(&piece[..filled + MAC_LEN], &mut out);
                return;
            }
            encode(&piece[..filled], &mut out);
        }
    }
}

/// Writes the Base64 of `data` to the start of `out`, which becomes what is behind it.
#[allow(clippy::expect_used)]
fn encode(data: &[u8], out: &mut &mut [u8]) {
    let (own, behind) = core::mem::take(out).split_at_mut(base64::encoded_len(data.len()));
    base64::encode(data, own).expect("a piece of the encoded length");
    *out = behind;
}

/// Padded plaintext that has not been read yet.
struct Rest<'a> {
    /// The length prefix and the plaintext, as far as they have not been read.
    parts: [&'a [u8]; 2],
    zeros: u64,
}

impl Rest<'_> {
    /// Fills `piece` from its start; returns the number of bytes.
    fn fill(&mut self, piece: &mut [u8]) -> usize {
        let mut filled = 0;
        for part in &mut self.parts {
            let (now, later) = part.split_at(part.len().min(piece.len() - filled));
            piece[filled..filled + now.len()].copy_from_slice(now);
            filled += now.len();
            *part = later;
        }
        let free = (piece.len() - filled) as u64;
        let zeros = self.zeros.min(free);
        self.zeros -= zeros;
        // At most the length of the piece.
        #[allow(clippy::cast_possible_truncation)]
        let end = filled + zeros as usize;
        piece[filled..end].fill(0);
        end
    }

    fn is_empty(&self) -> bool {
        self.zeros == 0 && self.parts.iter().all(|part| part.is_empty())
    }
}

/// Nothing was sealed; the output is untouched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SealError {
    /// The plaintext is empty, or longer than is allowed.
    Length,
    /// The output is shorter than the payload.
    Output(OutputTooSmall),
}

impl fmt::Display for SealError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length => f.write_str("the plaintext is empty or too long"),
            Self::Output(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for SealError {}
