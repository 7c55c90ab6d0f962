//! A secret identity at rest, under a passphrase (docs/spec/identity.md, "Identity file").

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;

use base64ct::{Base64, Encoding as _};
use endseal_crypto::identity::{Identity, PublicIdentity, RootSeed};
use endseal_crypto::label;
use endseal_crypto::random::Random;
use endseal_crypto::segment;

use crate::identity_text::{self, Unchecked};
use crate::lines::{LineProblem, Lines};
use crate::passphrase::Passphrase;
use crate::protection::{ParseProtectionError, Protection, seal_secret_with_salt};
use crate::secret_text::SecretPayload;
use endseal_crypto::argon2id::{self, KdfParams};

mod error;

pub use error::{OpenIdentityFileError, ParseIdentityFileError, SealIdentityFileError};

/// Longest identity file in bytes: half as much again as one has.
pub const MAX_LEN: usize = 4096;

/// An identity file whose form is right; only the passphrase can show that it is authentic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdentityFile {
    text: Box<str>,
    /// Length of the header, the lines before the last one.
    header_len: usize,
    public: PublicIdentity,
    protection: Protection,
    sealed: Box<[u8]>,
}

impl IdentityFile {
    /// Seals an identity under a passphrase.
    ///
    /// `key = BLAKE3-derive("endseal/identity-file@v1 file key", Argon2id(passphrase, salt) ||
    /// header)`. The root seed, or else the two seeds, is a message of C2SP chunked encryption
    /// under `key`. It takes as long as `params` say: about 0.16 s as recommended.
    ///
    /// The caller MUST write [`Self::as_bytes`] to a place that only the owner reads, and MUST NOT
    /// overwrite another identity with it.
    ///
    /// # Errors
    /// If the random source fails, or the memory cannot be had.
    pub fn seal(
        identity: &Identity,
        passphrase: &Passphrase,
        params: KdfParams,
        random: &mut impl Random,
    ) -> Result<Self, SealIdentityFileError> {
        let (mut salt, mut chunk_salt) = ([0; argon2id::SALT_LEN], [0; segment::SALT_LEN]);
        random.fill(&mut salt)?;
        random.fill(&mut chunk_salt)?;
        Self::seal_with(identity, identity.public(), passphrase, params, &salt, &chunk_salt)
    }

    /// Seals an identity under the public passphrase of docs/spec/identity.md, "Files without a
    /// passphrase". Permissions alone protect such a file.
    ///
    /// # Errors
    /// Those of [`Self::seal`].
    pub fn seal_without_passphrase(
        identity: &Identity,
        random: &mut impl Random,
    ) -> Result<Self, SealIdentityFileError> {
        Self::seal(identity, &no_passphrase(), KdfParams::MINIMUM, random)
    }

    /// [`Self::seal`] without randomness, and for any claim of a public identity.
    pub(crate) fn seal_with(
        identity: &Identity,
        public: &PublicIdentity,
        passphrase: &Passphrase,
        params: KdfParams,
        salt: &[u8; argon2id::SALT_LEN],
        chunk_salt: &[u8; segment::SALT_LEN],
    ) -> Result<Self, SealIdentityFileError> {
        let protection = Protection::with_salt(params, *salt);
        let public_text = identity_text::encode(public);
        let header = format!("{MAGIC} v{VERSION}\n{PUBLIC} {public_text}\n{KDF} {protection}\n");
        let key = protection.file_key(passphrase, label::IDENTITY_FILE, &header)?;
        let sealed = match identity.root_seed() {
            Some(seed) => seal_secret_with_salt(&key, chunk_salt, seed.expose_secret()),
            None => {
                let payload = SecretPayload::of(identity);
                seal_secret_with_salt(&key, chunk_salt, payload.expose_secret())
            }
        };
        Ok(Self {
            text: format!("{header}{SEALED} {}\n", Base64::encode_string(&sealed)).into(),
            header_len: header.len(),
            public: public.clone(),
            protection,
            sealed: sealed.into(),
        })
    }

    /// Reads a file. Nothing secret is touched and no work is done that the file asks for.
    ///
    /// # Errors
    /// [`ParseIdentityFileError`], which says what is wrong with its form.
    pub fn parse(bytes: &[u8]) -> Result<Self, ParseIdentityFileError> {
        if bytes.len() > MAX_LEN {
            return Err(ParseIdentityFileError::TooLong);
        }
        let mut lines = Lines::open(bytes, MAGIC, VERSION)?;

        let public = Unchecked::decode(lines.field(PUBLIC)?)?;
        if !public.is_long() {
            return Err(lines.malformed(LineProblem::Value(PUBLIC)).into());
        }
        let public = public.check()?;

        let protection = Protection::parse(lines.field(KDF)?);
        let protection = protection.map_err(|error| match error {
            ParseProtectionError::Form => lines.malformed(LineProblem::Value(KDF)).into(),
            ParseProtectionError::Kdf(error) => ParseIdentityFileError::Kdf(error),
        })?;
        let header_len = lines.before().len();

        let sealed = Base64::decode_vec(lines.field(SEALED)?).ok();
        let sealed = sealed.filter(|sealed| SEALED_LENS.contains(&sealed.len()));
        let sealed = sealed.ok_or(lines.malformed(LineProblem::Value(SEALED)))?;
        let text = String::from(lines.before()).into();
        lines.end()?;
        Ok(Self { text, header_len, public, protection, sealed: sealed.into() })
    }

    /// The public identity that the file claims; [`Self::open`] proves it.
    #[must_use]
    pub fn public(&self) -> &PublicIdentity {
        &self.public
    }

    /// Returns the cost of one guess of the passphrase.
    #[must_use]
    pub fn params(&self) -> KdfParams {
        self.protection.params()
    }

    /// The bytes of the file, to be stored.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.text.as_bytes()
    }

    /// Opens the file with its passphrase. The time and the memory that it takes follow from
    /// [`Self::params`], twice if the passphrase was not entered in its normal form and the file
    /// does not open under that.
    ///
    /// # Errors
    /// [`OpenIdentityFileError::Authentication`] for a wrong passphrase as for a damaged file: the
    /// two cannot be distinguished.
    pub fn open(&self, passphrase: &Passphrase) -> Result<Identity, OpenIdentityFileError> {
        let header = &self.text[..self.header_len];
        let label = label::IDENTITY_FILE;
        let payload = self.protection.open_secret(passphrase, label, header, &self.sealed)?;
        let payload = payload.as_slice();
        let identity = if let Ok(seed) = payload.try_into() {
            Identity::from_root_seed(RootSeed::from_bytes(seed))
        } else {
            let seeds = payload.try_into().map_err(|_| OpenIdentityFileError::Authentication)?;
            SecretPayload::from_bytes(seeds).to_identity()
        };
        if *identity.public() != self.public {
            return Err(OpenIdentityFileError::OtherIdentity);
        }
        Ok(identity)
    }

    /// Opens a file that was sealed without a passphrase. `None` if it has one.
    ///
    /// # Errors
    /// Those of [`Self::open`], but for a wrong passphrase.
    pub fn open_without_passphrase(&self) -> Result<Option<Identity>, OpenIdentityFileError> {
        if self.params() != KdfParams::MINIMUM {
            return Ok(None);
        }
        match self.open(&no_passphrase()) {
            Err(OpenIdentityFileError::Authentication) => Ok(None),
            other => other.map(Some),
        }
    }
}

#[allow(clippy::expect_used)]
fn no_passphrase() -> Passphrase {
    Passphrase::with_normal_form(NO_PASSPHRASE, NO_PASSPHRASE)
        .expect("a constant that is not empty, short and printable")
}

/// Stands where a person wants no passphrase. It is public.
const NO_PASSPHRASE: &str = "endseal without passphrase";
const MAGIC: &str = "endseal identity";
const VERSION: &str = "1";
const PUBLIC: &str = "public";
const KDF: &str = "kdf";
const SEALED: &str = "sealed";
/// Salt, commitment, root seed or the two seeds, and tag.
const SEALED_LENS: [usize; 2] = [sealed_len(RootSeed::LEN), sealed_len(SecretPayload::LEN)];

const fn sealed_len(secret_len: usize) -> usize {
    segment::PREFIX_LEN + secret_len + segment::TAG_LEN
}

#[cfg(test)]
mod tests {
    use base16ct::lower::encode_string as hex;

    use super::*;

    /// The intermediate values of docs/spec/identity.md, "Test vectors", which were computed a
    /// second time with the reference implementations of Argon2 and BLAKE3.
    #[test]
    fn keys_are_those_of_the_specification() {
        let vector = include_str!("../../../vectors/identity/file-minimum.json");
        let (_, rest) = vector.split_once("\"input\": \"").unwrap();
        let text = rest.split_once('"').unwrap().0.replace("\\n", "\n");
        let file = IdentityFile::parse(text.as_bytes()).unwrap();
        let passphrase = Passphrase::new("correct horse battery staple").ok().unwrap();
        let stretched = file.protection.stretch(passphrase.expose_secret()).ok().unwrap();
        let header = &file.text[..file.header_len];
        let key = file.protection.file_key(&passphrase, label::IDENTITY_FILE, header).ok().unwrap();
        assert_eq!(hex(stretched.expose_secret()), STRETCHED);
        assert_eq!(hex(key.expose_secret()), FILE_KEY);
    }

    const STRETCHED: &str = "18b03c8630a65b3db32ece84c48cc25e11d33e7d301d0186f9753fc19dc26535";
    const FILE_KEY: &str = "ec8a3d0fbc047f7b521d9572d5ef4aa5d0bb313beaa525328360fda34e0decbb";
}
