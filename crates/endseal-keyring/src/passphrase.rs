//! Passphrases: bounded in length, and wiped when dropped.

use alloc::boxed::Box;
use core::fmt;

use endseal_crypto::secret::Zeroizing;

/// Passphrase of a person, under which an identity file is encrypted. Wiped when dropped.
///
/// The bytes are those of the text in UTF-8 and are not normalised: where a keyboard gives `ö` as
/// one character and another one as two, the passphrase differs. Strength is not judged here.
///
/// ```compile_fail,E0277
/// println!("{:?}", endseal_keyring::Passphrase::new("correct horse").unwrap());
/// ```
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
pub struct Passphrase(Zeroizing<Box<[u8]>>);

impl Passphrase {
    /// Greatest length of a passphrase in bytes.
    pub const MAX_LEN: usize = 1024;

    /// Copies the passphrase from `text`, which the caller MUST wipe.
    ///
    /// # Errors
    /// [`InvalidPassphrase`] if it is empty, too long or holds control characters.
    pub fn new(text: &str) -> Result<Self, InvalidPassphrase> {
        if text.is_empty() {
            return Err(InvalidPassphrase::Empty);
        }
        if text.len() > Self::MAX_LEN {
            return Err(InvalidPassphrase::TooLong);
        }
        if text.bytes().any(|byte| byte.is_ascii_control()) {
            return Err(InvalidPassphrase::ControlCharacter);
        }
        Ok(Self(Zeroizing::new(text.as_bytes().into())))
    }

    /// The bytes. The caller MUST NOT print, log or compare them with `==`.
    #[must_use]
    pub fn expose_secret(&self) -> &[u8] {
        &self.0
    }
}

/// Reason why a text is not a passphrase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InvalidPassphrase {
    /// A control character, usually the line feed at the end of a file: trim it.
    ControlCharacter,
    /// The passphrase is empty; it has at least one character.
    Empty,
    /// The passphrase has more than [`Passphrase::MAX_LEN`] bytes.
    TooLong,
}

impl fmt::Display for InvalidPassphrase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ControlCharacter => {
                f.write_str("the passphrase holds a line break or another control character")
            }
            Self::Empty => f.write_str("the passphrase is empty"),
            Self::TooLong => {
                write!(f, "the passphrase is longer than {} bytes", Passphrase::MAX_LEN)
            }
        }
    }
}

impl core::error::Error for InvalidPassphrase {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passphrases_that_nobody_means_are_refused() {
        let why = |text: &str| Passphrase::new(text).err();
        assert_eq!(why(""), Some(InvalidPassphrase::Empty));
        assert_eq!(why("secret\n"), Some(InvalidPassphrase::ControlCharacter));
        assert_eq!(why("se\0cret"), Some(InvalidPassphrase::ControlCharacter));
        assert_eq!(why(&"x".repeat(1025)), Some(InvalidPassphrase::TooLong));
        assert_eq!(why(&"x".repeat(1024)), None);
        assert_eq!(why("b\u{e4}r \u{1f43b}"), None);
    }
}
