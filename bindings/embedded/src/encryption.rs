//! NIP-44 and NIP-04: the caller's texts to the caller's buffers.

use endseal_crypto::secret::wipe;
use endseal_nostr::nip04;
use endseal_nostr::nip44::{Conversation, Lengths, payload_len};

use crate::aes::PlatformAes;
use crate::arena::{Arena, SMALL};
use crate::keys;
use crate::platform::{Platform, draw};
use crate::status::{Failure, WriteFailure};

/// Keys of a NIP-44 payload.
#[derive(Clone, Copy)]
pub(crate) enum Keys<'k> {
    /// The secret key of one side, and the public key of the other.
    Pair { own: &'k [u8; 32], peer: &'k [u8; 32] },
    /// The conversation key that both derive.
    Conversation(&'k [u8; 32]),
}

impl Keys<'_> {
    fn conversation(&self, platform: &mut impl Platform) -> Result<Conversation, Failure> {
        platform.between_steps();
        let conversation = match self {
            Self::Pair { own, peer } => Conversation::with_bytes(&keys::secret(own)?, peer)
                .map_err(|_| Failure::PublicKey)?,
            Self::Conversation(key) => Conversation::from_key(key),
        };
        platform.between_steps();
        Ok(conversation)
    }
}

/// Length of the NIP-44 payload of a plaintext.
pub(crate) fn nip44_len(plaintext_len: usize) -> Result<usize, Failure> {
    let len = Some(plaintext_len).filter(|len| *len <= SMALL).ok_or(Failure::Length)?;
    payload_len(len, Lengths::UpTo65535).map_err(|_| Failure::Length)
}

/// Length of the NIP-04 content of a plaintext.
pub(crate) fn nip04_len(plaintext_len: usize) -> Result<usize, Failure> {
    let len = Some(plaintext_len).filter(|len| *len <= SMALL).ok_or(Failure::Length)?;
    Ok(nip04::content_len(len))
}

/// Checks a text that is to be encrypted.
fn check_text(plaintext: &[u8]) -> Result<(), Failure> {
    str::from_utf8(plaintext).map(drop).map_err(|_| Failure::Text)
}

/// Copies a plaintext to the front of `out` and returns its length.
fn copied(plaintext: &[u8], out: &mut [u8]) -> Result<usize, WriteFailure> {
    // A text that is not UTF-8 is refused like one that does not decrypt.
    str::from_utf8(plaintext).map_err(|_| Failure::Decryption)?;
    let needed = plaintext.len();
    out.get_mut(..needed).ok_or(WriteFailure::TooSmall(needed))?.copy_from_slice(plaintext);
    Ok(needed)
}

/// Writes the NIP-44 payload of `plaintext` to the front of `out`. Returns its length.
pub(crate) fn nip44_encrypt(
    platform: &mut impl Platform,
    keys: Keys<'_>,
    plaintext: &[u8],
    out: &mut [u8],
) -> Result<usize, WriteFailure> {
    let needed = nip44_len(plaintext.len())?;
    check_text(plaintext)?;
    let out = out.get_mut(..needed).ok_or(WriteFailure::TooSmall(needed))?;
    let nonce = draw(platform)?;
    let conversation = keys.conversation(platform)?;
    let sealed = conversation.seal(plaintext, &nonce, Lengths::UpTo65535, out);
    sealed.map_err(|_| Failure::Length)?;
    platform.between_steps();
    Ok(needed)
}

/// Writes the plaintext of a NIP-44 payload to the front of `out`. Returns its length.
pub(crate) fn nip44_decrypt(
    arena: &mut Arena,
    platform: &mut impl Platform,
    keys: Keys<'_>,
    payload: &[u8],
    out: &mut [u8],
) -> Result<usize, WriteFailure> {
    let payload = arena.copy(payload)?;
    let conversation = keys.conversation(platform)?;
    let plaintext = conversation.open(payload).map_err(|_| Failure::Decryption)?;
    let len = copied(plaintext, out)?;
    platform.between_steps();
    Ok(len)
}

/// The key of NIP-04 between two keys.
fn nip04_key(
    platform: &mut impl Platform,
    own: &[u8; 32],
    peer: &[u8; 32],
) -> Result<nip04::Key, Failure> {
    platform.between_steps();
    let (own, peer) = (keys::secret(own)?, keys::public(peer)?);
    let key = nip04::Key::new(&own, &peer);
    platform.between_steps();
    Ok(key)
}

/// Writes the NIP-04 content of `plaintext` to the front of `out`. Returns its length.
pub(crate) fn nip04_encrypt(
    platform: &mut impl Platform,
    own: &[u8; 32],
    peer: &[u8; 32],
    plaintext: &[u8],
    out: &mut [u8],
) -> Result<usize, WriteFailure> {
    let needed = nip04_len(plaintext.len())?;
    check_text(plaintext)?;
    let out = out.get_mut(..needed).ok_or(WriteFailure::TooSmall(needed))?;
    let iv = draw(platform)?;
    let key = nip04_key(platform, own, peer)?;
    let mut aes = PlatformAes::new(platform);
    let written = key.encrypt_with(&mut aes, plaintext, &iv, out).map(drop);
    if let Err(failure) = aes.finish() {
        // A peripheral that failed may have left plaintext in the buffer.
        wipe(out);
        return Err(failure.into());
    }
    written.map_err(|error| WriteFailure::TooSmall(error.needed))?;
    platform.between_steps();
    Ok(needed)
}

/// Writes the plaintext of a NIP-04 content to the front of `out`. Returns its length.
pub(crate) fn nip04_decrypt(
    arena: &mut Arena,
    platform: &mut impl Platform,
    own: &[u8; 32],
    peer: &[u8; 32],
    content: &[u8],
    out: &mut [u8],
) -> Result<usize, WriteFailure> {
    let content = arena.copy(content)?;
    let key = nip04_key(platform, own, peer)?;
    let mut aes = PlatformAes::new(platform);
    let opened = key.decrypt_with(&mut aes, content);
    aes.finish()?;
    let len = copied(opened.map_err(|_| Failure::Decryption)?, out)?;
    platform.between_steps();
    Ok(len)
}
