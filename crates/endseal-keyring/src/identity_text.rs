//! The text form of a public identity (docs/spec/identity.md, "Public identity").

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

use endseal_crypto::identity::{PublicIdentity, SignedKemKey};
use endseal_crypto::{ed25519, mlkem768};

use crate::bech32m::{self, Case};

mod error;

pub use error::{ForeignKey, ParseIdentityError};

/// A public identity that reads and prints as text: `endseal1…` (the Ed25519 key) or `endsealpq1…`
/// (the ML-KEM-768 key too, signed by the Ed25519 key).
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
    /// Number of characters of the short form.
    pub const SHORT_LEN: usize = Form::Short.text_len();
    /// Number of characters of the long form.
    pub const LONG_LEN: usize = Form::Long.text_len();

    /// The identity that the text encodes.
    #[must_use]
    pub fn identity(&self) -> &PublicIdentity {
        &self.0
    }

    /// Takes the identity out of the text.
    #[must_use]
    pub fn into_identity(self) -> PublicIdentity {
        self.0
    }

    /// The short form, without the ML-KEM-768 key.
    #[must_use]
    pub fn short(&self) -> Self {
        Self(PublicIdentity::short(*self.0.ed25519()))
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
    let Some(kem) = identity.signed_kem_key() else { return Form::Short.encode(key) };
    Form::Long.encode(&[&key[..], kem.key().as_bytes(), kem.signature().as_bytes()].concat())
}

/// Characters of the text of an identity.
pub(crate) fn encoded_len(identity: &PublicIdentity) -> usize {
    if identity.mlkem768().is_some() { Form::Long.text_len() } else { Form::Short.text_len() }
}

/// Returns true if a text begins as an identity, a peer id or a secret does.
pub(crate) fn looks_like_one(text: &str) -> bool {
    [Form::Short, Form::Long].iter().any(|form| form.data(text).is_some())
        || text.starts_with("endseal-secret-")
        || text.starts_with("endsealpeer1")
}

/// The two forms of an identity text: short, and long with the ML-KEM-768 key.
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
            Self::Long => ed25519::PublicKey::LEN + mlkem768::PUBLIC_LEN + ed25519::Signature::LEN,
        }
    }

    const fn text_len(self) -> usize {
        self.prefix().len() + 1 + bech32m::data_len(self.payload_len())
    }

    fn data(self, text: &str) -> Option<&str> {
        text.strip_prefix(self.prefix())?.strip_prefix('1')
    }

    fn encode(self, payload: &[u8]) -> String {
        bech32m::encode(self.prefix(), payload, Case::Lower)
    }
}

/// An identity whose checksum is right and whose keys and signature have not been looked at.
pub(crate) struct Unchecked {
    ed25519: [u8; ed25519::PublicKey::LEN],
    kem: Option<UncheckedKem>,
}

struct UncheckedKem {
    key: Box<[u8; mlkem768::PUBLIC_LEN]>,
    signature: ed25519::Signature,
}

impl Unchecked {
    /// Decodes the text and checks its checksum. Keys and signature are not checked yet.
    pub(crate) fn decode(text: &str) -> Result<Self, ParseIdentityError> {
        let (form, data) = [Form::Short, Form::Long]
            .into_iter()
            .find_map(|form| Some((form, form.data(text)?)))
            .ok_or_else(|| ParseIdentityError::of_other_prefix(text))?;
        let mut payload = vec![0; form.payload_len()];
        bech32m::decode(form.prefix(), data, Case::Lower, &mut payload)
            .map_err(|error| ParseIdentityError::of_data(error, text, form.text_len()))?;
        Ok(Self::from_payload(&payload))
    }

    #[allow(clippy::expect_used)]
    fn from_payload(payload: &[u8]) -> Self {
        const LONGER: &str =
            "a form has at least an Ed25519 key, the long one a key and a signature more";
        let (ed25519, rest) = payload.split_first_chunk().expect(LONGER);
        if rest.is_empty() {
            return Self { ed25519: *ed25519, kem: None };
        }
        let (key, signature) = rest.split_first_chunk().expect(LONGER);
        let signature = signature.first_chunk().expect(LONGER);
        let signature = ed25519::Signature::from_bytes(signature);
        Self { ed25519: *ed25519, kem: Some(UncheckedKem { key: Box::new(*key), signature }) }
    }

    /// Returns true if it was the long form.
    pub(crate) fn is_long(&self) -> bool {
        self.kem.is_some()
    }

    /// Checks the Ed25519 key alone.
    pub(crate) fn signing_key(&self) -> Result<ed25519::PublicKey, ParseIdentityError> {
        let short = Self { ed25519: self.ed25519, kem: None };
        Ok(*short.check()?.ed25519())
    }

    /// Checks the keys, and the signature of the ML-KEM-768 key.
    #[allow(clippy::expect_used)]
    pub(crate) fn check(self) -> Result<PublicIdentity, ParseIdentityError> {
        let mut checked = Self::check_many(vec![self]).map_err(|(_, error)| error)?;
        Ok(checked.pop().expect("one gives one"))
    }

    /// Checks keys and signatures of many, for a fraction of the cost of one by one. The error has
    /// the index.
    pub(crate) fn check_many(
        many: Vec<Self>,
    ) -> Result<Vec<PublicIdentity>, (usize, ParseIdentityError)> {
        let keys: Vec<_> = many.iter().map(|one| one.ed25519).collect();
        let signing_key = |(i, reason)| (i, ParseIdentityError::SigningKey(reason));
        let keys = ed25519::PublicKey::from_bytes_many(&keys).map_err(signing_key)?;
        ed25519::PublicKey::check_prime_order(&keys).map_err(signing_key)?;
        let claims = many.into_iter().zip(keys).enumerate().map(|(i, (one, key))| {
            let kem = one.kem.map(UncheckedKem::decode).transpose();
            Ok((key, kem.map_err(|reason| (i, ParseIdentityError::KemKey(reason)))?))
        });
        PublicIdentity::verify_many(claims.collect::<Result<_, _>>()?)
            .map_err(|i| (i, ParseIdentityError::Signature))
    }
}

impl UncheckedKem {
    fn decode(self) -> Result<SignedKemKey, mlkem768::InvalidPublicKey> {
        Ok(SignedKemKey::new(mlkem768::PublicKey::from_bytes(&self.key)?, self.signature))
    }
}

/// Returns the part that two keys have in common if the owner of one can open envelopes to the
/// other: the y-coordinate, without the sign of x.
pub(crate) fn without_sign(key: &ed25519::PublicKey) -> [u8; ed25519::PublicKey::LEN] {
    let mut y = *key.as_bytes();
    y[ed25519::PublicKey::LEN - 1] &= 0x7f;
    y
}

#[cfg(test)]
mod tests {
    use endseal_crypto::identity::Identity;

    use super::*;

    fn identity(n: u8) -> Identity {
        let seeds = (ed25519::Seed::from_bytes(&[n; 32]), mlkem768::Seed::from_bytes(&[n; 64]));
        Identity::from_seeds(seeds.0, seeds.1)
    }

    fn parse(key: &PublicIdentity, kem: &[u8], signature: &[u8]) -> Result<(), ParseIdentityError> {
        let payload = [&key.ed25519().as_bytes()[..], kem, signature].concat();
        let text = bech32m::encode("endsealpq", &payload, Case::Lower);
        text.parse::<IdentityText>().map(drop)
    }

    /// People compare the Ed25519 key, so that it must vouch for the other one.
    #[test]
    fn the_kem_key_of_another_person_is_refused() {
        let (alice, mallory) = (identity(1), identity(2));
        let (alice, mallory) = (alice.public(), mallory.public());
        let [by_alice, by_mallory] = [alice, mallory].map(|of| of.signed_kem_key().unwrap());
        let kem = by_mallory.key().as_bytes();
        let refused = Err(ParseIdentityError::Signature);
        assert_eq!(parse(alice, kem, by_mallory.signature().as_bytes()), refused);
        assert_eq!(parse(alice, kem, by_alice.signature().as_bytes()), refused);
        assert_eq!(parse(mallory, kem, by_alice.signature().as_bytes()), refused);
        let without = Err(ParseIdentityError::Length { expected: 2064, actual: 1962 });
        assert_eq!(parse(alice, kem, &[]), without);
        assert_eq!(parse(mallory, kem, by_mallory.signature().as_bytes()), Ok(()));
    }

    #[test]
    fn the_wrong_one_of_many_is_found() {
        let good = |n: u8| encode(identity(n).public());
        let mut bad = Unchecked::decode(&good(9)).unwrap();
        bad.kem.as_mut().unwrap().signature = ed25519::Signature::from_bytes(&[1; 64]);
        let short = encode(&PublicIdentity::short(*identity(8).public().ed25519()));
        let mut many: Vec<_> = [short, good(1), good(2), good(3)]
            .iter()
            .map(|text| Unchecked::decode(text).unwrap())
            .collect();
        many.insert(3, bad);
        let refused = Unchecked::check_many(many).unwrap_err();
        assert_eq!(refused, (3, ParseIdentityError::Signature));
    }
}
