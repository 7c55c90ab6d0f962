//! Passphrases of identity files.

use endseal_keyring as keyring;

use crate::error::Error;

/// A passphrase, or none. Wiped when dropped.
#[allow(missing_debug_implementations, reason = "a secret")]
pub struct Passphrase(pub(crate) Option<keyring::Passphrase>);

impl Passphrase {
    /// For files that were made without one.
    pub const NONE: Self = Self(None);

    /// Copies a passphrase, which the caller MUST wipe. The empty one is [`Self::NONE`].
    ///
    /// # Errors
    /// `argument` if it is too long or holds control characters.
    pub fn new(text: &str) -> Result<Self, Error> {
        match text {
            "" => Ok(Self::NONE),
            _ => keyring::Passphrase::new(text).map(Self::of).map_err(Error::argument),
        }
    }

    /// [`Self::new`] for a platform that normalises: `normalised` MUST be the form NFKC of `text`.
    ///
    /// # Errors
    /// Those of [`Self::new`].
    pub fn with_normal_form(text: &str, normalised: &str) -> Result<Self, Error> {
        let made = match text {
            "" => return Ok(Self::NONE),
            _ => keyring::Passphrase::with_normal_form(text, normalised),
        };
        made.map(Self::of).map_err(Error::argument)
    }

    fn of(passphrase: keyring::Passphrase) -> Self {
        Self(Some(passphrase))
    }
}
