//! Passphrases: normalised, bounded in length, and wiped when dropped.

use alloc::boxed::Box;
use alloc::string::String;
use core::fmt;

use endseal_crypto::secret::Zeroizing;
use icu_normalizer::ComposingNormalizerBorrowed;

/// Passphrase of a person, under which an identity file is encrypted. Wiped when dropped.
///
/// Secrets are sealed under the text in Unicode's form NFKC: one keyboard gives `ö` as one
/// character and another one as two, and both are the same passphrase. The text as it was entered
/// is kept beside, for secrets that a program has sealed without normalising. Strength is not
/// judged here, but [`Self::chars`] helps to judge it.
///
/// ```compile_fail,E0277
/// println!("{:?}", endseal_keyring::Passphrase::new("correct horse").unwrap());
/// ```
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
pub struct Passphrase {
    normalised: Zeroizing<Box<[u8]>>,
    /// Text as it was entered, if it differs.
    entered: Option<Zeroizing<Box<[u8]>>>,
}

impl Passphrase {
    /// Greatest length of a passphrase in bytes, as it was entered and in its normal form.
    pub const MAX_LEN: usize = 1024;

    /// Copies the passphrase from `text`, which the caller MUST wipe, and normalises it.
    ///
    /// # Errors
    /// [`InvalidPassphrase`] if it is empty, too long or holds control characters.
    pub fn new(text: &str) -> Result<Self, InvalidPassphrase> {
        check(text)?;
        // Never reallocated, so that no copy stays in memory.
        let normalised = Zeroizing::new(String::with_capacity(Self::MAX_LEN));
        let mut normalised = Bounded(normalised);
        ComposingNormalizerBorrowed::new_nfkc()
            .normalize_to(text, &mut normalised)
            .map_err(|_| InvalidPassphrase::TooLong)?;
        Ok(Self::of(text, &normalised.0))
    }

    /// [`Self::new`] without the tables of Unicode, for programs whose platform has them. The
    /// caller MUST give the form NFKC of `text`: secrets that are sealed under another one do not
    /// open elsewhere. It MUST wipe both texts.
    ///
    /// # Errors
    /// Those of [`Self::new`].
    pub fn with_normal_form(text: &str, normalised: &str) -> Result<Self, InvalidPassphrase> {
        check(text)?;
        check(normalised)?;
        Ok(Self::of(text, normalised))
    }

    fn of(text: &str, normalised: &str) -> Self {
        let bytes = |text: &str| Zeroizing::new(text.as_bytes().into());
        let entered = (normalised != text).then(|| bytes(text));
        Self { normalised: bytes(normalised), entered }
    }

    /// [`Self::new`] without the normal form, exported under `hazmat`.
    pub(crate) fn as_entered(text: &str) -> Result<Self, InvalidPassphrase> {
        let Self { normalised, entered } = Self::new(text)?;
        Ok(Self { normalised: entered.unwrap_or(normalised), entered: None })
    }

    /// The bytes of the normal form, in UTF-8. The caller MUST NOT print, log or compare them with
    /// `==`.
    #[must_use]
    pub fn expose_secret(&self) -> &[u8] {
        &self.normalised
    }

    /// The bytes to try when a secret is opened: those of the normal form, and then those that were
    /// entered if they differ. [`Self::expose_secret`] says what the caller MUST NOT do with them.
    pub fn expose_forms(&self) -> impl Iterator<Item = &[u8]> {
        core::iter::once(&**self.normalised).chain(self.entered.iter().map(|entered| &***entered))
    }

    /// Number of characters of the normal form.
    #[must_use]
    pub fn chars(&self) -> usize {
        core::str::from_utf8(&self.normalised).map_or(0, |text| text.chars().count())
    }
}

fn check(text: &str) -> Result<(), InvalidPassphrase> {
    if text.is_empty() {
        return Err(InvalidPassphrase::Empty);
    }
    if text.len() > Passphrase::MAX_LEN {
        return Err(InvalidPassphrase::TooLong);
    }
    if text.bytes().any(|byte| byte.is_ascii_control()) {
        return Err(InvalidPassphrase::ControlCharacter);
    }
    Ok(())
}

/// Text of at most [`Passphrase::MAX_LEN`] bytes.
struct Bounded(Zeroizing<String>);

impl fmt::Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.0.len() + text.len() > Passphrase::MAX_LEN {
            return Err(fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
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
    /// The passphrase has more than [`Passphrase::MAX_LEN`] bytes, or its normal form has.
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
    fn passphrases_that_no_one_means_are_refused() {
        let why = |text: &str| Passphrase::new(text).err();
        assert_eq!(why(""), Some(InvalidPassphrase::Empty));
        assert_eq!(why("secret\n"), Some(InvalidPassphrase::ControlCharacter));
        assert_eq!(why("se\0cret"), Some(InvalidPassphrase::ControlCharacter));
        assert_eq!(why(&"x".repeat(1025)), Some(InvalidPassphrase::TooLong));
        assert_eq!(why(&"x".repeat(1024)), None);
        assert_eq!(why("b\u{e4}r \u{1f43b}"), None);
    }

    fn forms(text: &str) -> alloc::vec::Vec<String> {
        let passphrase = Passphrase::new(text).ok().unwrap();
        let text = |form: &[u8]| core::str::from_utf8(form).unwrap().into();
        passphrase.expose_forms().map(text).collect()
    }

    #[test]
    fn the_normal_form_is_tried_first() {
        assert_eq!(forms("caf\u{e9} 1"), ["caf\u{e9} 1"]);
        assert_eq!(forms("cafe\u{301} 1"), ["caf\u{e9} 1", "cafe\u{301} 1"]);
        assert_eq!(forms("\u{ff41}\u{fb01}"), ["afi", "\u{ff41}\u{fb01}"]);
        assert_eq!(Passphrase::new("e\u{301}\u{1f43b}").ok().unwrap().chars(), 2);
        // Three bytes, which NFKC makes 33 of.
        let long = |count| Passphrase::new(&"\u{fdfa}".repeat(count)).err();
        assert_eq!((long(31), long(32)), (None, Some(InvalidPassphrase::TooLong)));
    }

    #[test]
    fn a_platform_that_normalises_makes_the_same_passphrase() {
        let given = |text, normalised| {
            let passphrase = Passphrase::with_normal_form(text, normalised)?;
            Ok(passphrase.expose_forms().map(<[u8]>::to_vec).collect())
        };
        for (text, normalised) in [("caf\u{e9} 1", "caf\u{e9} 1"), ("cafe\u{301}", "caf\u{e9}")] {
            let forms: alloc::vec::Vec<_> =
                forms(text).into_iter().map(String::into_bytes).collect();
            assert_eq!(given(text, normalised), Ok(forms));
        }
        assert_eq!(given("", ""), Err(InvalidPassphrase::Empty));
        assert_eq!(given("a", "\n"), Err(InvalidPassphrase::ControlCharacter));
        assert_eq!(given("a", &"x".repeat(1025)), Err(InvalidPassphrase::TooLong));
    }
}
