//! The secret that proves that a connection was meant.

use core::fmt;

use endseal_crypto::secret::{Zeroizing, constant_time_eq};

/// A connection secret: 1 to 256 bytes of text. Held inline and wiped when dropped; compared in
/// constant time.
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
pub struct ConnectSecret {
    /// The text of the secret, followed by zeros.
    bytes: Zeroizing<[u8; Self::MAX_LEN]>,
    len: usize,
}

impl ConnectSecret {
    /// Greatest length of a secret in bytes.
    pub const MAX_LEN: usize = 256;

    /// Copies a secret, whose text the caller MUST wipe.
    ///
    /// # Errors
    /// [`InvalidConnectSecret`].
    pub fn new(text: &str) -> Result<Self, InvalidConnectSecret> {
        let mut secret = Self { bytes: Zeroizing::new([0; Self::MAX_LEN]), len: text.len() };
        let space = secret.bytes.get_mut(..text.len()).filter(|space| !space.is_empty());
        space.ok_or(InvalidConnectSecret)?.copy_from_slice(text.as_bytes());
        Ok(secret)
    }

    /// The text. The caller MUST NOT print, log or compare it with `==`.
    #[must_use]
    #[allow(clippy::missing_panics_doc, clippy::expect_used)]
    pub fn expose_secret(&self) -> &str {
        str::from_utf8(&self.bytes[..self.len]).expect("it was copied from a text")
    }
}

impl PartialEq for ConnectSecret {
    fn eq(&self, other: &Self) -> bool {
        constant_time_eq(&self.bytes[..], &other.bytes[..])
            & constant_time_eq(&self.len.to_le_bytes(), &other.len.to_le_bytes())
    }
}

impl Eq for ConnectSecret {}

/// A text is empty or too long to be a connection secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InvalidConnectSecret;

impl fmt::Display for InvalidConnectSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the connection secret is empty or longer than 256 bytes")
    }
}

impl core::error::Error for InvalidConnectSecret {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_equal_if_their_texts_are() {
        let secret = |text: &str| ConnectSecret::new(text).unwrap();
        assert!(secret("0s8j2djs") == secret("0s8j2djs"));
        assert_eq!(secret("0s8j2djs").expose_secret(), "0s8j2djs");
        for other in ["0s8j2djt", "0s8j2dj", "0s8j2djs\0", "0", "\0"] {
            assert!(secret("0s8j2djs") != secret(other));
        }
        assert!(secret("\0") != secret("\0\0"));
    }

    #[test]
    fn length_is_bounded() {
        let longest = "é".repeat(128);
        assert!(ConnectSecret::new(&longest).is_ok_and(|it| it.expose_secret() == longest));
        for text in ["", &format!("{longest}a")] {
            assert_eq!(ConnectSecret::new(text).err(), Some(InvalidConnectSecret));
        }
    }
}
