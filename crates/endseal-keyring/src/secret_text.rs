//! The text form of a secret identity, for moving it by hand (docs/spec/identity.md, "Secret
//! text").

use alloc::string::String;
use core::fmt;

use endseal_crypto::identity::Identity;
use endseal_crypto::secret::Zeroizing;
use endseal_crypto::{ed25519, mlkem768};

use crate::bech32m::{self, Case, DecodeError};

const PREFIX: &str = "endseal-secret-";
const MARK: &str = "ENDSEAL-SECRET-1";
const TEXT_LEN: usize = MARK.len() + bech32m::data_len(SecretPayload::LEN);

endseal_crypto::secret_bytes! {
    /// Ed25519 seed (32) || ML-KEM-768 seed d || z (64).
    pub(crate) struct SecretPayload[96];
}

impl SecretPayload {
    pub(crate) fn of(identity: &Identity) -> Self {
        Self::init_with(|out| {
            let (signing, kem) = out.split_at_mut(ed25519::Seed::LEN);
            signing.copy_from_slice(identity.signing().seed().expose_secret());
            kem.copy_from_slice(identity.kem().seed().expose_secret());
        })
    }

    pub(crate) fn to_identity(&self) -> Identity {
        let (signing, kem) = self.expose_secret().split_at(ed25519::Seed::LEN);
        Identity::from_seeds(
            ed25519::Seed::init_with(|out| out.copy_from_slice(signing)),
            mlkem768::Seed::init_with(|out| out.copy_from_slice(kem)),
        )
    }
}

/// A secret identity as text, `ENDSEAL-SECRET-1…`: all of it, protected by nothing.
///
/// The caller MUST NOT log it, pass it as an argument of a process or keep it; the place of a
/// secret identity at rest is an [`IdentityFile`](crate::IdentityFile). It cannot be printed by
/// mistake:
///
/// ```compile_fail,E0277
/// # let (a, b) = ([1; 32], [2; 64]);
/// # use endseal_crypto::{ed25519, mlkem768};
/// # let seeds = (ed25519::Seed::from_bytes(&a), mlkem768::Seed::from_bytes(&b));
/// let identity = endseal_crypto::identity::Identity::from_seeds(seeds.0, seeds.1);
/// println!("{:?}", endseal_keyring::SecretText::encode(&identity));
/// ```
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
pub struct SecretText(Zeroizing<String>);

impl SecretText {
    /// The text of an identity.
    #[must_use]
    pub fn encode(identity: &Identity) -> Self {
        let payload = SecretPayload::of(identity);
        Self(Zeroizing::new(bech32m::encode(PREFIX, payload.expose_secret(), Case::Upper)))
    }

    /// The identity of a text, which the caller MUST wipe.
    ///
    /// # Errors
    /// [`ParseSecretError`], which says what is wrong with it and nothing of what it holds.
    pub fn decode(text: &str) -> Result<Identity, ParseSecretError> {
        let data = text.strip_prefix(MARK).ok_or_else(|| {
            let other_case =
                text.get(..MARK.len()).is_some_and(|head| head.eq_ignore_ascii_case(MARK));
            if other_case { ParseSecretError::Character } else { ParseSecretError::Prefix }
        })?;
        let payload =
            SecretPayload::try_init_with(|out| bech32m::decode(PREFIX, data, Case::Upper, out))?;
        Ok(payload.to_identity())
    }

    /// The secret text. Its reader can act as the identity.
    #[must_use]
    pub fn expose_secret(&self) -> &str {
        &self.0
    }
}

/// Reason why a text is not a secret identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParseSecretError {
    /// A character that the form does not have: a space, a line break, a small letter.
    Character,
    /// The checksum is wrong: a typing error.
    Checksum,
    /// The text is cut or extended: it has another number of characters.
    Length,
    /// Bits after the last seed are set.
    Padding,
    /// The text does not begin with `ENDSEAL-SECRET-1`.
    Prefix,
}

impl From<DecodeError> for ParseSecretError {
    fn from(error: DecodeError) -> Self {
        match error {
            DecodeError::Case | DecodeError::Character(_) => Self::Character,
            DecodeError::Checksum => Self::Checksum,
            DecodeError::Length => Self::Length,
            DecodeError::Padding => Self::Padding,
        }
    }
}

impl fmt::Display for ParseSecretError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Character => f.write_str("the secret has a character that does not belong there"),
            Self::Checksum => f.write_str("the secret's checksum is wrong: a typing error?"),
            Self::Length => write!(f, "a secret has {TEXT_LEN} characters: copied in part?"),
            Self::Padding => f.write_str("the secret's last character is not canonical"),
            Self::Prefix => write!(f, "a secret begins with \"{MARK}\""),
        }
    }
}

impl core::error::Error for ParseSecretError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_never_grows_out_of_its_allocation() {
        let seeds = (ed25519::Seed::from_bytes(&[1; 32]), mlkem768::Seed::from_bytes(&[2; 64]));
        let text = SecretText::encode(&Identity::from_seeds(seeds.0, seeds.1));
        assert_eq!(text.expose_secret().len(), TEXT_LEN);
    }
}
