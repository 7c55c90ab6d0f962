//! Opening, in the buffer in which the payload lies.

use core::ops::Range;

use endseal_crypto::base64;
use endseal_crypto::secret::wipe;

use super::conversation::Conversation;
use super::padding::unpad;
use super::payload::{self, HEAD_LEN, MAC_LEN, MIN_LEN, OpenError, Version};

impl Conversation {
    /// Opens `payload` where it lies and returns the plaintext, a part of it.
    ///
    /// Decodes, compares the MAC, and only then decrypts. The plaintext should be UTF-8, which is
    /// not checked here. The caller wipes `payload` after use, if the plaintext is secret.
    ///
    /// The caller MUST have verified the event around the payload, and limits the size of what it
    /// takes from the network: the work is linear in the length of the payload.
    ///
    /// # Errors
    /// [`OpenError`]. `payload` is as it was after [`OpenError::UnsupportedVersion`], otherwise as
    /// it was or wiped.
    pub fn open<'p>(&self, payload: &'p mut [u8]) -> Result<&'p mut [u8], OpenError> {
        self.open_located(payload).map(|place| &mut payload[place])
    }

    /// As [`Conversation::open`]; returns the place of the plaintext in `payload`.
    pub(crate) fn open_located(&self, payload: &mut [u8]) -> Result<Range<usize>, OpenError> {
        let opened = match payload::version(payload)? {
            Version::Two => self.open_two(payload),
        };
        opened.inspect_err(|_| wipe(payload))
    }

    /// Place of the plaintext. After an error the payload is neither whole nor wiped.
    fn open_two(&self, payload: &mut [u8]) -> Result<Range<usize>, OpenError> {
        let len = base64::decode_in_place(payload).map_err(|_| OpenError::Encoding)?;
        if len < MIN_LEN {
            return Err(OpenError::Length);
        }
        let (head, rest) = payload[..len].split_at_mut(HEAD_LEN);
        let (ciphertext, tag) = rest.split_last_chunk_mut::<MAC_LEN>().ok_or(OpenError::Length)?;
        let nonce = head.last_chunk().ok_or(OpenError::Length)?;

        let keys = self.message_keys(nonce);
        if !keys.mac().verify(&[nonce, ciphertext], tag) {
            return Err(OpenError::Authentication);
        }
        keys.apply_keystream(0, ciphertext);
        let place = unpad(ciphertext).ok_or(OpenError::Authentication)?;
        Ok(HEAD_LEN + place.start..HEAD_LEN + place.end)
    }
}
