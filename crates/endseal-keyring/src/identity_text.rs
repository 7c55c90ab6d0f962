//! The text form of a public identity (docs/spec/identity.md, "Public identity").

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

use endseal_crypto::identity::PublicIdentity;
use endseal_crypto::{ed25519, mlkem768};

use crate::bech32m::{self, Case};

mod error;

pub use error::{ForeignKey, ParseIdentityError};

/// A public identity that reads and prints as text: `endseal1…` (the Ed25519 key) or `endsealpq1…`
/// (the ML-KEM-768 key too).
///
/// ```
/// # fn main() -> Result<(), endseal_keyring::ParseIdentityError> {
/// use endseal_keyring::IdentityText;
///
/// let text = "endseal132yw8ht5p8cetl2jmvknewjawt9xwzdlrk2pyxlnwjyqrdq0dawqvhng0c";
/// let bob: IdentityText = text.parse()?;
/// assert_eq!(bob.to_string(), text);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdentityText(PublicIdentity);

impl IdentityText {
    /// Characters of the short form.
    pub const SHORT_LEN: usize = Form::Short.text_len();
    /// Characters of the long form.
    pub const LONG_LEN: usize = Form::Long.text_len();

    /// The identity.
    #[must_use]
    pub fn identity(&self) -> &PublicIdentity {
        &self.0
    }

    /// The identity.
    #[must_use]
    pub fn into_identity(self) -> PublicIdentity {
        self.0
    }

    /// The short form, without the ML-KEM-768 key.
    #[must_use]
    pub fn short(&self) -> Self {
        Self(PublicIdentity::new(*self.0.ed25519(), None))
    }
}

impl From<PublicIdentity> for IdentityText {
    fn from(identity: PublicIdentity) -> Self {
        Self(identity)
    }
}

impl FromStr for IdentityText {
    type Err = ParseIdentityError;

    fn from_str(text: &str) -> Result<Self, ParseIdentityError> {
        Unchecked::decode(text)?.check().map(Self)
    }
}

impl fmt::Display for IdentityText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&encode(&self.0))
    }
}

/// The text of an identity.
pub(crate) fn encode(identity: &PublicIdentity) -> String {
    let key = identity.ed25519().as_bytes();
    identity.mlkem768().map_or_else(
        || Form::Short.encode(key),
        |kem| Form::Long.encode(&[&key[..], kem.as_bytes()].concat()),
    )
}

/// Characters of the text of an identity.
pub(crate) fn encoded_len(identity: &PublicIdentity) -> usize {
    if identity.mlkem768().is_some() { Form::Long.text_len() } else { Form::Short.text_len() }
}

/// Whether a text begins as an identity, a peer id or a secret does.
pub(crate) fn looks_like_one(text: &str) -> bool {
    [Form::Short, Form::Long].iter().any(|form| form.data(text).is_some())
        || text.starts_with("endseal-secret-")
        || text.starts_with("endsealpeer1")
}

/// The two forms.
#[derive(Clone, Copy)]
enum Form {
    Short,
    Long,
}

impl Form {
    const fn prefix(self) -> &'static str {
        match self {
            Self::Short => "endseal",
            Self::Long => "endsealpq",
        }
    }

    const fn payload_len(self) -> usize {
        match self {
            Self::Short => ed25519::PublicKey::LEN,
            Self::Long => ed25519::PublicKey::LEN + mlkem768::PUBLIC_LEN,
        }
    }

    const fn text_len(self) -> usize {
        self.prefix().len() + 1 + bech32m::data_len(self.payload_len())
    }

    fn data(self, text: &str) -> Option<&str> {
        text.strip_prefix(self.prefix())?.strip_prefix('1')
    }

    fn encode(self, payload: &[u8]) -> String {
        let mut text = String::with_capacity(self.text_len());
        text.push_str(self.prefix());
        text.push('1');
        bech32m::encode(self.prefix(), payload, Case::Lower, &mut text);
        text
    }
}

/// An identity whose checksum is right and whose keys have not been looked at.
pub(crate) struct Unchecked {
    ed25519: [u8; ed25519::PublicKey::LEN],
    mlkem768: Option<Box<[u8; mlkem768::PUBLIC_LEN]>>,
}

impl Unchecked {
    /// Decodes the text.
    pub(crate) fn decode(text: &str) -> Result<Self, ParseIdentityError> {
        let (form, data) = [Form::Short, Form::Long]
            .into_iter()
            .find_map(|form| Some((form, form.data(text)?)))
            .ok_or_else(|| ParseIdentityError::of_other_prefix(text))?;
        let mut payload = vec![0; form.payload_len()];
        bech32m::decode(form.prefix(), data, Case::Lower, &mut payload)
            .map_err(|error| ParseIdentityError::of_data(error, text, form.text_len()))?;
        let (ed25519, kem) = payload.split_at(ed25519::PublicKey::LEN);
        Ok(Self {
            ed25519: ed25519.try_into().unwrap_or_default(),
            mlkem768: kem.to_vec().into_boxed_slice().try_into().ok(),
        })
    }

    /// Whether it was the long form.
    pub(crate) fn is_long(&self) -> bool {
        self.mlkem768.is_some()
    }

    /// Checks the keys.
    pub(crate) fn check(self) -> Result<PublicIdentity, ParseIdentityError> {
        let key = ed25519::PublicKey::from_bytes(&self.ed25519)
            .map_err(ParseIdentityError::SigningKey)?;
        self.join(key)
    }

    /// Checks the keys of many, for a fraction of the cost of one by one. The error has the index.
    pub(crate) fn check_many(
        many: Vec<Self>,
    ) -> Result<Vec<PublicIdentity>, (usize, ParseIdentityError)> {
        let keys: Vec<_> = many.iter().map(|one| one.ed25519).collect();
        let keys = ed25519::PublicKey::from_bytes_many(&keys)
            .map_err(|(i, reason)| (i, ParseIdentityError::SigningKey(reason)))?;
        let joined = many.into_iter().zip(keys).enumerate();
        joined.map(|(i, (one, key))| one.join(key).map_err(|error| (i, error))).collect()
    }

    fn join(self, key: ed25519::PublicKey) -> Result<PublicIdentity, ParseIdentityError> {
        let kem = self.mlkem768.map(|bytes| mlkem768::PublicKey::from_bytes(&bytes));
        Ok(PublicIdentity::new(key, kem.transpose().map_err(ParseIdentityError::KemKey)?))
    }
}

/// What two keys have in common if whoever owns one can open what is sealed to the other: the
/// y-coordinate, without the sign of x.
pub(crate) fn without_sign(key: &ed25519::PublicKey) -> [u8; ed25519::PublicKey::LEN] {
    let mut y = *key.as_bytes();
    y[ed25519::PublicKey::LEN - 1] &= 0x7f;
    y
}
