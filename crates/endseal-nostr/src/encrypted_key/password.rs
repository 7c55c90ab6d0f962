//! A password as scrypt gets it: in the form NFKC, so that it is the same however it was typed.

use core::fmt::Write;

use endseal_crypto::secret::wipe;
#[cfg(feature = "std")]
use icu_normalizer::ComposingNormalizerBorrowed;

/// Longest password in bytes of UTF-8, before and after it is normalised: bounds the work of
/// normalising.
pub const MAX_PASSWORD: usize = 4_096;

/// A password in NFKC. Wiped when dropped.
pub(super) struct Password {
    bytes: [u8; MAX_PASSWORD],
    len: usize,
}

impl Password {
    /// A place for a password: it is filled where it stays, as a move would leave a copy behind.
    pub(super) const EMPTY: Self = Self { bytes: [0; MAX_PASSWORD], len: 0 };

    /// Appends a password in NFKC, in which it is already without `std`. `None` if it is too long.
    pub(super) fn fill(&mut self, password: &str) -> Option<()> {
        if password.len() > MAX_PASSWORD {
            return None;
        }
        #[cfg(feature = "std")]
        return ComposingNormalizerBorrowed::new_nfkc().normalize_to(password, self).ok();
        #[cfg(not(feature = "std"))]
        self.write_str(password).ok()
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

impl Write for Password {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        let end = self.len + text.len();
        let free = self.bytes.get_mut(self.len..end).ok_or(core::fmt::Error)?;
        free.copy_from_slice(text.as_bytes());
        self.len = end;
        Ok(())
    }
}

impl Drop for Password {
    fn drop(&mut self) {
        wipe(&mut self.bytes);
    }
}

#[cfg(test)]
#[cfg(feature = "std")]
mod tests {
    use super::*;

    fn normalised(password: &str) -> String {
        let mut own = Password::EMPTY;
        own.fill(password).unwrap();
        str::from_utf8(own.as_bytes()).unwrap().to_owned()
    }

    #[test]
    fn equal_texts_are_equal_passwords() {
        for (typed, form) in [
            ("", ""),
            ("nostr", "nostr"),
            ("\u{ff4e}\u{ff4f}\u{ff53}\u{ff54}\u{ff52}", "nostr"),
            ("e\u{301}", "\u{e9}"),
            ("\u{fb01}", "fi"),
            ("\u{1100}\u{1161}", "\u{ac00}"),
            // Marks are ordered by their class.
            ("a\u{301}\u{316}", "\u{e1}\u{316}"),
        ] {
            assert_eq!(normalised(typed), form, "{typed}");
        }
    }

    fn filled(password: &str) -> Option<()> {
        let mut own = Password::EMPTY;
        own.fill(password)
    }

    #[test]
    fn passwords_are_bounded_before_and_after() {
        assert!(filled(&"x".repeat(MAX_PASSWORD)).is_some());
        assert!(filled(&"x".repeat(MAX_PASSWORD + 1)).is_none());
        // Three bytes, which NFKC makes 33 of.
        let long = "\u{fdfa}";
        assert!(filled(&long.repeat(MAX_PASSWORD / 33)).is_some());
        assert!(filled(&long.repeat(MAX_PASSWORD / 33 + 1)).is_none());
        assert!(filled(&"\u{301}".repeat(MAX_PASSWORD / 2)).is_some());
    }
}
