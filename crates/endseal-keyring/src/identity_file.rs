//! A secret identity at rest, under a passphrase (docs/spec/identity.md, "Identity file").

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;

use base64ct::{Base64, Encoding as _};
use endseal_crypto::identity::{Identity, PublicIdentity};
use endseal_crypto::random::Random;
use endseal_crypto::secret::Zeroizing;
use endseal_crypto::segment::{self, ChunkKeys, InputKey, SliceSealer};
use endseal_crypto::{hash, label};

use crate::identity_text::{self, Unchecked};
use crate::lines::{LineProblem, Lines};
use crate::numerals::decimal;
use crate::passphrase::Passphrase;
use crate::secret_text::SecretPayload;
use endseal_crypto::argon2id::{self, KdfParams, Stretched};

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
    params: KdfParams,
    salt: [u8; argon2id::SALT_LEN],
    sealed: Box<[u8; SEALED_LEN]>,
}

impl IdentityFile {
    /// Seals an identity under a passphrase.
    ///
    /// `key = BLAKE3-derive("endseal/identity-file@v1 file key", Argon2id(passphrase, salt) || header)`,
    /// and the seeds are a message of C2SP chunked encryption under `key`. It takes as long as
    /// `params` say: about 0.16 s as recommended.
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

    /// [`Self::seal`] without randomness, and for any claim of a public identity.
    pub(crate) fn seal_with(
        identity: &Identity,
        public: &PublicIdentity,
        passphrase: &Passphrase,
        params: KdfParams,
        salt: &[u8; argon2id::SALT_LEN],
        chunk_salt: &[u8; segment::SALT_LEN],
    ) -> Result<Self, SealIdentityFileError> {
        let (m, t, p) = (params.memory_kib(), params.passes(), params.lanes());
        let header = format!(
            "{MAGIC} v{VERSION}\n{PUBLIC} {}\n{KDF} {ARGON2ID} {m} {t} {p} {}\n",
            identity_text::encode(public),
            Base64::encode_string(salt),
        );
        let stretched = params.stretch(passphrase.expose_secret(), salt)?;
        let payload = SecretPayload::of(identity);
        let (keys, commitment) = ChunkKeys::derive(&file_key(&stretched, &header), chunk_salt, &[]);
        let mut sealed = Box::new([0; SEALED_LEN]);
        sealed[..segment::SALT_LEN].copy_from_slice(chunk_salt);
        sealed[segment::SALT_LEN..segment::PREFIX_LEN].copy_from_slice(&commitment);
        let mut sealer = SliceSealer::new(keys, &mut sealed[segment::PREFIX_LEN..]);
        sealer.push(payload.expose_secret());
        sealer.finish();
        Ok(Self {
            text: format!("{header}{SEALED} {}\n", Base64::encode_string(&sealed[..])).into(),
            header_len: header.len(),
            public: public.clone(),
            params,
            salt: *salt,
            sealed,
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

        let (params, salt) =
            parse_kdf(lines.field(KDF)?).ok_or(lines.malformed(LineProblem::Value(KDF)))?;
        let params = KdfParams::new(params[0], params[1], params[2])?;
        let header_len = lines.before().len();

        let sealed = decode_base64(lines.field(SEALED)?)
            .ok_or(lines.malformed(LineProblem::Value(SEALED)))?;
        let text = String::from(lines.before()).into();
        lines.end()?;
        Ok(Self { text, header_len, public, params, salt, sealed: Box::new(sealed) })
    }

    /// The public identity that the file claims; [`Self::open`] proves it.
    #[must_use]
    pub fn public(&self) -> &PublicIdentity {
        &self.public
    }

    /// What one guess of the passphrase costs.
    #[must_use]
    pub fn params(&self) -> KdfParams {
        self.params
    }

    /// The file.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.text.as_bytes()
    }

    /// Opens the file. It takes as long as [`Self::params`] say.
    ///
    /// # Errors
    /// [`OpenIdentityFileError::Authentication`] for a wrong passphrase as for a damaged file: they
    /// cannot be told apart.
    pub fn open(&self, passphrase: &Passphrase) -> Result<Identity, OpenIdentityFileError> {
        let stretched = self.params.stretch(passphrase.expose_secret(), &self.salt)?;
        let key = file_key(&stretched, &self.text[..self.header_len]);
        let payload = Zeroizing::new(segment::open(&key, &[], &self.sealed[..])?);
        let payload = SecretPayload::from_bytes(
            payload.as_slice().try_into().map_err(|_| OpenIdentityFileError::Authentication)?,
        );
        let identity = payload.to_identity();
        if *identity.public() != self.public {
            return Err(OpenIdentityFileError::OtherIdentity);
        }
        Ok(identity)
    }
}

/// `BLAKE3-derive(label, stretched || header)`.
fn file_key(stretched: &Stretched, header: &str) -> InputKey {
    InputKey::init_with(|out| {
        let parts: [&[u8]; 2] = [stretched.expose_secret(), header.as_bytes()];
        hash::derive_into(label::IDENTITY_FILE, &parts, out);
    })
}

/// Parameters, not yet checked, and salt.
fn parse_kdf(value: &str) -> Option<([u32; 3], [u8; argon2id::SALT_LEN])> {
    let mut words = value.split(' ');
    if words.next() != Some(ARGON2ID) {
        return None;
    }
    let mut params = [0; 3];
    for param in &mut params {
        // What is beyond 32 bits is beyond every bound as well.
        *param = u32::try_from(decimal(words.next()?)?).unwrap_or(u32::MAX);
    }
    let salt = decode_base64(words.next()?)?;
    if words.next().is_some() { None } else { Some((params, salt)) }
}

/// Canonical base64 of exactly N bytes.
fn decode_base64<const N: usize>(text: &str) -> Option<[u8; N]> {
    let mut out = [0; N];
    let len = Base64::decode(text, &mut out).ok()?.len();
    if len == N { Some(out) } else { None }
}

const MAGIC: &str = "endseal identity";
const VERSION: &str = "1";
const PUBLIC: &str = "public";
const KDF: &str = "kdf";
const ARGON2ID: &str = "argon2id";
const SEALED: &str = "sealed";
/// Salt, commitment, seeds and tag.
const SEALED_LEN: usize = segment::PREFIX_LEN + SecretPayload::LEN + segment::TAG_LEN;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numerals::push_hex;

    fn hex(bytes: &[u8]) -> String {
        let mut out = String::new();
        push_hex(&mut out, bytes);
        out
    }

    /// The intermediate values of docs/spec/identity.md, "Test vectors", which were computed a second
    /// time with the reference implementations of Argon2 and BLAKE3.
    #[test]
    fn keys_are_those_of_the_specification() {
        let vector = include_str!("../../../vectors/identity/file-minimum.json");
        let (_, rest) = vector.split_once("\"input\": \"").unwrap();
        let text = rest.split_once('"').unwrap().0.replace("\\n", "\n");
        let file = IdentityFile::parse(text.as_bytes()).unwrap();
        let passphrase = Passphrase::new("correct horse battery staple").ok().unwrap();
        let stretched = file.params.stretch(passphrase.expose_secret(), &file.salt).ok().unwrap();
        let key = file_key(&stretched, &file.text[..file.header_len]);
        assert_eq!(hex(stretched.expose_secret()), STRETCHED);
        assert_eq!(hex(key.expose_secret()), FILE_KEY);
    }

    const STRETCHED: &str = "18b03c8630a65b3db32ece84c48cc25e11d33e7d301d0186f9753fc19dc26535";
    const FILE_KEY: &str = "6a55c224d28d23f39a84bb910446ed79f4e86d46fc20fea76c28b34cd6ef852c";
}
