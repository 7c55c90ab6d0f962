//! "Header": the content of the metadata entry `endseal`, and of its copy in the body.

use endseal_crypto::hazmat;
use endseal_crypto::label::{S3_BODY, S3_MULTIPART, S3_PLACE, S3_WRAP};
use endseal_crypto::random::Random;
use endseal_crypto::segment::{COMMITMENT_LEN, ChunkKeys, KeySource, SALT_LEN, SealKeys};

use crate::chunks::context;
use crate::form::Form;
use crate::place::{Binding, Place};
use crate::size::MAX_CONTENT;
use crate::{AuthenticationFailed, ContentKey, HeaderError, KeyId, base64url};

mod copy;

const VERSION: u8 = 1;
/// Flag: the entry `endseal-m` belongs to the object.
const SEALED_METADATA: u8 = 1;
/// Longest wrapped key in bytes.
pub(super) const MAX_WRAPPED_KEY: usize = 512;
/// Length up to the key id.
const FIXED_LEN: usize = 4 + 8 + SALT_LEN + 2 * COMMITMENT_LEN;
/// Length of the longest header in bytes.
pub(super) const MAX_HEADER: usize = FIXED_LEN + 1 + KeyId::MAX_LEN + 2 + MAX_WRAPPED_KEY;

/// Names that an object is bound to, and what else its header authenticates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "the format has these")]
pub struct Bound<'a> {
    /// The place of the object.
    pub place: Place<'a>,
    /// The names of the place that count.
    pub binding: Binding,
    /// True if the object has the entry `endseal-m`.
    pub has_sealed_metadata: bool,
}

impl Bound<'_> {
    fn flags(&self) -> u8 {
        if self.has_sealed_metadata { SEALED_METADATA } else { 0 }
    }

    /// `context("place", flags || place(binding, bucket, key))`, of which the commitment is the
    /// place tag.
    fn context(&self) -> Vec<u8> {
        context(S3_PLACE, &[&[self.flags()], &self.place.to_bytes(self.binding)[..]].concat())
    }

    fn tag(&self, source: &KeySource, salt: &[u8; SALT_LEN]) -> [u8; COMMITMENT_LEN] {
        hazmat::seal_keys(source, salt, &self.context()).1
    }
}

/// The header of an object. Nothing in it is secret: the content key is wrapped.
///
/// A header that was parsed is well formed, not authentic: everything that opens compares the
/// commitment with the content key that the provider unwrapped. [`verify`](Self::verify) also
/// compares the place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    form: Form,
    binding: Binding,
    has_sealed_metadata: bool,
    plaintext_len: u64,
    salt: [u8; SALT_LEN],
    commitment: [u8; COMMITMENT_LEN],
    place_tag: [u8; COMMITMENT_LEN],
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
        bound: &Bound<'_>,
        (key_id, wrapped): (&str, &[u8]),
        random: &mut impl Random,
    ) -> Result<Self, HeaderError> {
        let source = KeySource::new(key);
        let (own, _) = Self::new(Form::Multipart, 0, &source, bound, (key_id, wrapped), random)?;
        Ok(own)
    }

    /// The header of a whole object, and the keys of its body.
    pub(crate) fn of_whole(
        source: &KeySource,
        plaintext_len: u64,
        bound: &Bound<'_>,
        wrapped: (&str, &[u8]),
        random: &mut impl Random,
    ) -> Result<(Self, SealKeys), HeaderError> {
        if plaintext_len > MAX_CONTENT {
            return Err(HeaderError::ContentTooLong);
        }
        Self::new(Form::Whole, plaintext_len, source, bound, wrapped, random)
    }

    /// Makes a header, and the keys that its commitment belongs to.
    fn new(
        form: Form,
        plaintext_len: u64,
        source: &KeySource,
        bound: &Bound<'_>,
        (key_id, wrapped_key): (&str, &[u8]),
        random: &mut impl Random,
    ) -> Result<(Self, SealKeys), HeaderError> {
        let mut own = Self {
            form,
            binding: bound.binding,
            has_sealed_metadata: bound.has_sealed_metadata,
            plaintext_len,
            salt: [0; SALT_LEN],
            commitment: [0; COMMITMENT_LEN],
            place_tag: [0; COMMITMENT_LEN],
            key_id: checked_key_id(key_id)?,
            wrapped_key: checked_wrapped_key(wrapped_key)?,
        };
        random.fill(&mut own.salt)?;
        let (keys, commitment) = hazmat::seal_keys(source, &own.salt, &own.context());
        own.commitment = commitment;
        own.place_tag = bound.tag(source, &own.salt);
        Ok((own, keys))
    }

    /// The same object's header for another place or with other metadata, under the same wrapped
    /// key. The object itself stays as it is. The caller has [verified](Self::verify) the header
    /// with `key`.
    #[must_use]
    pub fn bound_to(&self, key: &ContentKey, bound: &Bound<'_>) -> Self {
        let &Bound { binding, has_sealed_metadata, .. } = bound;
        let place_tag = bound.tag(&KeySource::new(key), &self.salt);
        Self { binding, has_sealed_metadata, place_tag, ..self.clone() }
    }

    /// The same object's header after the provider has wrapped its content key again.
    ///
    /// # Errors
    /// [`HeaderError`] for a key id or wrapped key beyond the limits.
    pub fn rewrapped(&self, key_id: &str, wrapped: &[u8]) -> Result<Self, HeaderError> {
        let (key_id, wrapped_key) = (checked_key_id(key_id)?, checked_wrapped_key(wrapped)?);
        Ok(Self { key_id, wrapped_key, ..self.clone() })
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
        let flags = if self.has_sealed_metadata { SEALED_METADATA } else { 0 };
        out.extend([VERSION, self.form.to_byte(), self.binding.to_byte(), flags]);
        out.extend(self.plaintext_len.to_be_bytes());
        out.extend(self.salt);
        out.extend(self.commitment);
        out.extend(self.place_tag);
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
        let ([version, form, binding, flags], rest) = bytes.split_first_chunk()?;
        let (plaintext_len, rest) = rest.split_first_chunk()?;
        let (salt, rest) = rest.split_first_chunk()?;
        let (commitment, rest) = rest.split_first_chunk()?;
        let (place_tag, rest) = rest.split_first_chunk()?;
        let (k, rest) = rest.split_first()?;
        let (key_id, rest) = rest.split_at_checked(usize::from(*k))?;
        let (w, wrapped_key) = rest.split_first_chunk()?;
        let own = Self {
            form: Form::from_byte(*form)?,
            binding: Binding::from_byte(*binding)?,
            has_sealed_metadata: *flags == SEALED_METADATA,
            plaintext_len: u64::from_be_bytes(*plaintext_len),
            salt: *salt,
            commitment: *commitment,
            place_tag: *place_tag,
            key_id: checked_key_id(str::from_utf8(key_id).ok()?).ok()?,
            wrapped_key: checked_wrapped_key(wrapped_key).ok()?,
        };
        let longest = match own.form {
            Form::Whole => MAX_CONTENT,
            Form::Multipart => 0,
        };
        let valid = *version == VERSION
            && *flags & !SEALED_METADATA == 0
            && own.plaintext_len <= longest
            && usize::from(u16::from_be_bytes(*w)) == wrapped_key.len();
        valid.then_some(own)
    }

    /// Returns the form in which the object was written.
    #[must_use]
    pub fn form(&self) -> Form {
        self.form
    }

    /// The names that the object is bound to.
    #[must_use]
    pub fn binding(&self) -> Binding {
        self.binding
    }

    /// The commitment to place and flags.
    pub(super) fn place_tag(&self) -> &[u8] {
        &self.place_tag
    }

    /// Returns true if the object has the entry `endseal-m`: one without it is not the object that
    /// was written.
    #[must_use]
    pub fn has_sealed_metadata(&self) -> bool {
        self.has_sealed_metadata
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

    /// `"endseal/s3-object@v1 wrap"`: the additional data with which a provider wraps and unwraps
    /// content keys.
    #[must_use]
    pub fn wrap_context() -> &'static [u8] {
        S3_WRAP.as_str().as_bytes()
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

    /// Checks with the place tag that the object of this header was written for `place`, or copied
    /// there by a holder of the content key. No function that opens content does this: every
    /// caller MUST.
    ///
    /// # Errors
    /// [`AuthenticationFailed`] if it was not, if `key` is not the content key, or if the header's
    /// binding is lower than `demanded`, which is configured.
    pub fn verify_place(
        &self,
        key: &ContentKey,
        place: &Place<'_>,
        demanded: Binding,
    ) -> Result<(), AuthenticationFailed> {
        if self.binding < demanded {
            return Err(AuthenticationFailed);
        }
        let &Self { binding, has_sealed_metadata, .. } = self;
        let bound = Bound { place: *place, binding, has_sealed_metadata };
        KeySource::new(key).derive_committed(&self.salt, &bound.context(), &self.place_tag)?;
        Ok(())
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
