//! Names of wrapping keys, which headers contain.

use core::fmt;

/// Names a key that wraps: 1 to 64 bytes out of `a–z 0–9 . _ -`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyId(Box<str>);

impl KeyId {
    /// Length of the longest key id in bytes.
    pub const MAX_LEN: usize = 64;

    /// Checks and takes an id.
    ///
    /// # Errors
    /// [`InvalidKeyId`].
    pub fn new(text: &str) -> Result<Self, InvalidKeyId> {
        let own = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'.' | b'_' | b'-');
        if (1..=Self::MAX_LEN).contains(&text.len()) && text.bytes().all(own) {
            Ok(Self(text.into()))
        } else {
            Err(InvalidKeyId)
        }
    }

    /// The key id as text, exactly as it was checked.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Not 1 to 64 bytes out of `a–z 0–9 . _ -`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InvalidKeyId;

impl fmt::Display for InvalidKeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key id has 1 to 64 characters out of a-z, 0-9, '.', '_' and '-'")
    }
}

impl core::error::Error for InvalidKeyId {}

#[cfg(test)]
mod tests {
    use super::KeyId;

    #[test]
    fn key_ids_have_one_alphabet() {
        for good in ["a", "vector", "ring-0123456789ab", "vault.prod_1", &"x".repeat(64)] {
            assert_eq!(KeyId::new(good).unwrap().as_str(), good);
        }
        for bad in ["", "A", "a b", "a/b", "\u{e4}", "a\n", &"x".repeat(65)] {
            assert!(KeyId::new(bad).is_err(), "{bad:?}");
        }
    }
}
