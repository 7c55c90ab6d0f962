//! "Header": the content of the metadata entry `endseal`.

use endseal_crypto::hazmat;
use endseal_crypto::label::{S3_BODY, S3_MULTIPART};
use endseal_crypto::random::Random;
use endseal_crypto::segment::{COMMITMENT_LEN, ChunkKeys, KeySource, SALT_LEN, SealKeys};

use crate::chunks::context;
use crate::form::Form;
use crate::place::{Binding, Place};
use crate::size::MAX_CONTENT;
use crate::{AuthenticationFailed, ContentKey, HeaderError, KeyId, base64url};

const VERSION: u8 = 1;
/// Longest wrapped key in bytes.
pub(super) const MAX_WRAPPED_KEY: usize = 1_024;
/// Length up to the key id.
const FIXED_LEN: usize = 3 + 8 + SALT_LEN + COMMITMENT_LEN;
/// Length of the longest header in bytes.
pub(super) const MAX_HEADER: usize = FIXED_LEN + 1 + KeyId::MAX_LEN + 2 + MAX_WRAPPED_KEY;

/// The header of an object. Nothing in it is secret: the content key is wrapped.
///
/// A header that was parsed is well formed, not authentic: everything that opens compares the
/// commitment with the content key that the provider unwrapped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    form: Form,
    binding: Binding,
    plaintext_len: u64,
    salt: [u8; SALT_LEN],
    commitment: [u8; COMMITMENT_LEN],
    key_id: KeyId,
    wrapped_key: Vec<u8>,
}

impl Header {
    /// The header of a multipart object. The duties are those of [`Header::whole`].
    ///
    /// # Errors
    /// [`HeaderError`] for a key id or wrapped key beyond the limits, or if `random` fails.
    pub fn multipart(
        key: &ContentKey,
        binding: Binding,
        key_id: &str,
        wrapped: &[u8],
        random: &mut impl Random,
    ) -> Result<Self, HeaderError> {
        let mut own = Self::new(Form::Multipart, 0, binding, (key_id, wrapped), random)?;
        let (_, commitment) = hazmat::seal_keys(&KeySource::new(key), &own.salt, &own.context());
        own.commitment = commitment;
        Ok(own)
    }

    /// The header of a whole object, and the keys of its body.
    pub(crate) fn of_whole(
        source: &KeySource,
        plaintext_len: u64,
        binding: Binding,
        wrapped: (&str, &[u8]),
        random: &mut impl Random,
    ) -> Result<(Self, SealKeys), HeaderError> {
        if plaintext_len > MAX_CONTENT {
            return Err(HeaderError::ContentTooLong);
        }
        let mut own = Self::new(Form::Whole, plaintext_len, binding, wrapped, random)?;
        let (keys, commitment) = hazmat::seal_keys(source, &own.salt, &own.context());
        own.commitment = commitment;
        Ok((own, keys))
    }

    /// Makes a header whose commitment is still to be set.
    fn new(
        form: Form,
        plaintext_len: u64,
        binding: Binding,
        (key_id, wrapped_key): (&str, &[u8]),
        random: &mut impl Random,
    ) -> Result<Self, HeaderError> {
        let mut own = Self {
            form,
            binding,
            plaintext_len,
            salt: [0; SALT_LEN],
            commitment: [0; COMMITMENT_LEN],
            key_id: checked_key_id(key_id)?,
            wrapped_key: checked_wrapped_key(wrapped_key)?,
        };
        random.fill(&mut own.salt)?;
        Ok(own)
    }

    /// The same object's header after the provider has wrapped its content key again: for a copy to
    /// another place, or under another key. The object itself stays as it is.
    ///
    /// # Errors
    /// [`HeaderError`] for a key id or wrapped key beyond the limits.
    pub fn rewrapped(
        &self,
        binding: Binding,
        key_id: &str,
        wrapped: &[u8],
    ) -> Result<Self, HeaderError> {
        let (key_id, wrapped_key) = (checked_key_id(key_id)?, checked_wrapped_key(wrapped)?);
        Ok(Self { binding, key_id, wrapped_key, ..self.clone() })
    }

    /// The value of the metadata entry: `base64url(header)`.
    #[must_use]
    pub fn encode(&self) -> String {
        base64url::encode(&self.to_bytes())
    }

    /// Parses the value of the metadata entry that holds the header.
    ///
    /// # Errors
    /// [`AuthenticationFailed`] for everything that [`encode`](Self::encode) does not write.
    pub fn parse(text: &str) -> Result<Self, AuthenticationFailed> {
        Self::from_bytes(&base64url::decode(text, MAX_HEADER)?)
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let names = 1 + self.key_id.as_str().len() + 2 + self.wrapped_key.len();
        let mut out = Vec::with_capacity(FIXED_LEN + names);
        out.extend([VERSION, self.form.to_byte(), self.binding.to_byte()]);
        out.extend(self.plaintext_len.to_be_bytes());
        out.extend(self.salt);
        out.extend(self.commitment);
        // Both lengths fit: the fields were checked when they came in.
        let [.., k] = self.key_id.as_str().len().to_be_bytes();
        out.push(k);
        out.extend(self.key_id.as_str().as_bytes());
        let [.., high, low] = self.wrapped_key.len().to_be_bytes();
        out.extend([high, low]);
        out.extend(&self.wrapped_key);
        out
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Result<Self, AuthenticationFailed> {
        Self::read(bytes).ok_or(AuthenticationFailed)
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let ([version, form, binding], rest) = bytes.split_first_chunk()?;
        let (plaintext_len, rest) = rest.split_first_chunk()?;
        let (salt, rest) = rest.split_first_chunk()?;
        let (commitment, rest) = rest.split_first_chunk()?;
        let (k, rest) = rest.split_first()?;
        let (key_id, rest) = rest.split_at_checked(usize::from(*k))?;
        let (w, wrapped_key) = rest.split_first_chunk()?;
        let own = Self {
            form: Form::from_byte(*form)?,
            binding: Binding::from_byte(*binding)?,
            plaintext_len: u64::from_be_bytes(*plaintext_len),
            salt: *salt,
            commitment: *commitment,
            key_id: checked_key_id(str::from_utf8(key_id).ok()?).ok()?,
            wrapped_key: checked_wrapped_key(wrapped_key).ok()?,
        };
        let longest = match own.form {
            Form::Whole => MAX_CONTENT,
            Form::Multipart => 0,
        };
        let valid = *version == VERSION
            && own.plaintext_len <= longest
            && usize::from(u16::from_be_bytes(*w)) == wrapped_key.len();
        valid.then_some(own)
    }

    /// Returns the form in which the object was written.
    #[must_use]
    pub fn form(&self) -> Form {
        self.form
    }

    /// The place that the wrapped key is bound to.
    #[must_use]
    pub fn binding(&self) -> Binding {
        self.binding
    }

    /// The length of the content, if the object is whole.
    #[must_use]
    pub fn plaintext_len(&self) -> Option<u64> {
        (self.form == Form::Whole).then_some(self.plaintext_len)
    }

    /// Names the key that wraps.
    #[must_use]
    pub fn key_id(&self) -> &str {
        self.key_id.as_str()
    }

    /// The content key as the provider wrapped it.
    #[must_use]
    pub fn wrapped_key(&self) -> &[u8] {
        &self.wrapped_key
    }

    /// The additional data with which the provider unwraps the content key of an object that lies
    /// at `place`.
    ///
    /// # Errors
    /// [`AuthenticationFailed`] if the header's binding is lower than `demanded`, which is
    /// configured.
    pub fn unwrap_context(
        &self,
        place: &Place<'_>,
        demanded: Binding,
    ) -> Result<Vec<u8>, AuthenticationFailed> {
        if self.binding < demanded {
            return Err(AuthenticationFailed);
        }
        Ok(place.wrap_context(self.binding))
    }

    /// Checks with the commitment that `key` is the content key of this header.
    ///
    /// Every function that opens does the same. This one is for callers that must know it before.
    ///
    /// # Errors
    /// [`AuthenticationFailed`] if it is not, or a field that the key commits to was changed.
    pub fn verify(&self, key: &ContentKey) -> Result<(), AuthenticationFailed> {
        self.keys(&KeySource::new(key)).map(|_| ())
    }

    /// The keys that salt and commitment belong to: of the body of a whole object, of nothing for
    /// multipart.
    pub(super) fn keys(&self, source: &KeySource) -> Result<ChunkKeys, AuthenticationFailed> {
        let context = self.context();
        Ok(source.derive_committed(&self.salt, &context, &self.commitment)?)
    }

    fn context(&self) -> Vec<u8> {
        match self.form {
            Form::Whole => context(S3_BODY, &self.plaintext_len.to_be_bytes()),
            Form::Multipart => context(S3_MULTIPART, &[]),
        }
    }
}

fn checked_key_id(key_id: &str) -> Result<KeyId, HeaderError> {
    KeyId::new(key_id).map_err(|_| HeaderError::KeyId)
}

fn checked_wrapped_key(wrapped: &[u8]) -> Result<Vec<u8>, HeaderError> {
    if (1..=MAX_WRAPPED_KEY).contains(&wrapped.len()) {
        Ok(wrapped.to_vec())
    } else {
        Err(HeaderError::WrappedKey)
    }
}
