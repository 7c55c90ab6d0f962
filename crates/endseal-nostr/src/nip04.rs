//! Encrypted messages of NIP-04, for clients that do not support NIP-44.
//!
//! ```text
//! content = Base64(AES-256-CBC(x of own · peer, iv, plaintext)) || "?iv=" || Base64(iv)
//! ```
//!
//! **Nothing is authenticated here.** The signature of an event authenticates the sender of a
//! content, and the caller MUST verify it before it decrypts. An attacker who can have chosen
//! contents decrypted, and sees which of them fail, can read the messages of others (a padding
//! oracle). So the caller MUST answer every failure alike, including failures in the decrypted
//! text. Use [`nip44`](crate::nip44) for everything new.

use core::fmt;

use endseal_crypto::aes_cbc::{Aes256, Software};
use endseal_crypto::secp256k1::{PublicKey, SecretKey, SharedX};
use endseal_crypto::secret::wipe;
use endseal_crypto::{aes_cbc, base64};

use crate::output::OutputTooSmall;

/// Text between the ciphertext and its IV.
const MARK: &[u8] = b"?iv=";
/// Length of a block and of the IV.
const BLOCK: usize = 16;
/// Length of the Base64 of the IV.
const IV_TEXT_LEN: usize = 24;
/// Length of mark and IV, at the end.
const TAIL_LEN: usize = MARK.len() + IV_TEXT_LEN;
/// Shortest content in characters: one block.
pub const MIN_CONTENT: usize = 24 + TAIL_LEN;

/// Bytes that are encoded at once: whole groups.
const STEP: usize = 192;

/// Key of all contents between two keys. Wiped when dropped.
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
pub struct Key(SharedX);

impl Key {
    /// The x coordinate of `own · peer`, unhashed. One scalar multiplication: keep it.
    #[must_use]
    pub fn new(own: &SecretKey, peer: &PublicKey) -> Self {
        Self(own.ecdh_x(peer))
    }

    /// Writes the content of `plaintext` to the start of `out` and returns it.
    ///
    /// `iv` MUST be 16 bytes of a cryptographically secure source, fresh for each message. `out`
    /// needs [`content_len`] bytes; those behind the content are left as they are.
    ///
    /// # Errors
    /// [`OutputTooSmall`]; `out` is left as it is.
    pub fn encrypt<'o>(
        &self,
        plaintext: &[u8],
        iv: &[u8; 16],
        out: &'o mut [u8],
    ) -> Result<&'o str, OutputTooSmall> {
        self.encrypt_with(&mut Software, plaintext, iv, out)
    }

    /// Does the same as [`encrypt`](Self::encrypt) by another implementation of AES, such as a
    /// chip's peripheral.
    ///
    /// # Errors
    /// Those of [`encrypt`](Self::encrypt).
    #[allow(clippy::expect_used, clippy::missing_panics_doc)]
    pub fn encrypt_with<'o>(
        &self,
        aes: &mut impl Aes256,
        plaintext: &[u8],
        iv: &[u8; 16],
        out: &'o mut [u8],
    ) -> Result<&'o str, OutputTooSmall> {
        let needed = content_len(plaintext.len());
        let out = out.get_mut(..needed).ok_or(OutputTooSmall { needed })?;
        let (text, tail) = out.split_at_mut(needed - TAIL_LEN);
        // The ciphertext lies at the end, from where it is encoded to the start.
        let start = text.len() - aes_cbc::ciphertext_len(plaintext.len());
        text[start..start + plaintext.len()].copy_from_slice(plaintext);
        let (key, text_end) = (self.0.expose_secret(), &mut text[start..]);
        aes_cbc::encrypt_with(aes, key, iv, text_end, plaintext.len())
            .expect("the ciphertext's length");
        encode_from(text, start);
        tail[..MARK.len()].copy_from_slice(MARK);
        base64::encode(iv, &mut tail[MARK.len()..]).expect("16 bytes are 24 characters");
        Ok(str::from_utf8(out).expect("Base64 and the mark are ASCII"))
    }

    /// Decrypts `content` where it lies and returns the plaintext, a part of it. Neither its author
    /// nor its integrity is known.
    ///
    /// # Errors
    /// [`DecryptError`]. `content` is as it was after [`DecryptError::Format`], otherwise wiped.
    pub fn decrypt<'c>(&self, content: &'c mut [u8]) -> Result<&'c mut [u8], DecryptError> {
        self.decrypt_with(&mut Software, content)
    }

    /// Does the same as [`decrypt`](Self::decrypt) by another implementation of AES, such as a
    /// chip's peripheral.
    ///
    /// # Errors
    /// Those of [`decrypt`](Self::decrypt).
    pub fn decrypt_with<'c>(
        &self,
        aes: &mut impl Aes256,
        content: &'c mut [u8],
    ) -> Result<&'c mut [u8], DecryptError> {
        let text_len = content.len().checked_sub(TAIL_LEN).ok_or(DecryptError::Format)?;
        let (text, tail) = content.split_at_mut(text_len);
        let iv = read_tail(tail).ok_or(DecryptError::Format)?;
        if text.is_empty() {
            return Err(DecryptError::Format);
        }
        match self.decrypt_text(aes, text, &iv) {
            Ok(len) => Ok(&mut content[..len]),
            Err(error) => {
                wipe(content);
                Err(error)
            }
        }
    }

    /// Length of the plaintext at the start of `text`.
    fn decrypt_text(
        &self,
        aes: &mut impl Aes256,
        text: &mut [u8],
        iv: &[u8; BLOCK],
    ) -> Result<usize, DecryptError> {
        let len = base64::decode_in_place(text).map_err(|_| DecryptError::Ciphertext)?;
        aes_cbc::decrypt_with(aes, self.0.expose_secret(), iv, &mut text[..len])
            .map_err(|_| DecryptError::Ciphertext)
    }
}

/// Length in characters of the content of `plaintext_len` bytes.
#[must_use]
pub const fn content_len(plaintext_len: usize) -> usize {
    // It saturates where no slice is as long.
    base64::encoded_len(aes_cbc::ciphertext_len(plaintext_len)).saturating_add(TAIL_LEN)
}

/// Returns true if a text has the form of a content: it ends in `?iv=` and as many characters as an
/// IV has.
#[must_use]
pub fn is_content(text: &[u8]) -> bool {
    let tail = text.last_chunk::<TAIL_LEN>();
    tail.is_some_and(|tail| text.len() >= MIN_CONTENT && tail.starts_with(MARK))
}

/// Encodes the bytes from `start` to the end of `text`, over which the Base64 goes.
///
/// `text` is as long as the Base64. With g groups, the last one of 3 - d bytes, `start` is g + d.
/// After k groups 4·k characters are written and the bytes before `start` + 3·k are read. No unread
/// byte is overwritten, as 4·k ≤ g + d + 3·k.
#[allow(clippy::expect_used)]
fn encode_from(text: &mut [u8], start: usize) {
    let (mut read, mut written) = (start, 0);
    let mut piece = [0; STEP];
    while read < text.len() {
        let len = STEP.min(text.len() - read);
        piece[..len].copy_from_slice(&text[read..read + len]);
        let encoded = base64::encode(&piece[..len], &mut text[written..]).expect("g + d >= 4·k");
        written += encoded.len();
        read += len;
    }
}

/// The IV, if `tail` is mark and IV.
fn read_tail(tail: &[u8]) -> Option<[u8; BLOCK]> {
    let mut iv_text = [0; IV_TEXT_LEN];
    iv_text.copy_from_slice(tail.strip_prefix(MARK)?);
    let len = base64::decode_in_place(&mut iv_text).ok()?;
    iv_text[..len].try_into().ok()
}

/// Error of decryption: the reason why a content was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecryptError {
    /// The content does not end with `?iv=` and an IV of 16 bytes: it is something other than
    /// NIP-04.
    Format,
    /// The ciphertext is no canonical Base64, has no whole blocks, or ends in no padding: sealed
    /// with other keys, or changed.
    Ciphertext,
}

impl fmt::Display for DecryptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Format => "the text is not an encrypted message of NIP-04",
            Self::Ciphertext => "the message cannot be decrypted",
        })
    }
}

impl core::error::Error for DecryptError {}
