//! "User metadata": the entry `endseal-m`, which has all others in it, and the content headers.

use std::collections::BTreeMap;

use endseal_crypto::label::S3_METADATA;
use endseal_crypto::random::Random;
use endseal_crypto::segment::{KeySource, SALT_LEN};

use crate::chunks::{context, open_message, seal_message};
use crate::error::error;
use crate::header::Header;
use crate::{
    AuthenticationFailed, ContentKey, HEADER_METADATA, USER_METADATA, base64url, is_own_metadata,
};

/// Bytes of names and values of metadata that S3 allows an object.
pub const MAX_METADATA: usize = 2_048;

/// Headers of an object that are sealed with its user metadata.
pub const CONTENT_HEADERS: [&str; 6] = [
    "cache-control",
    "content-disposition",
    "content-encoding",
    "content-language",
    "content-type",
    "expires",
];

/// Begins the names of content headers. No user metadata have such a name.
const HEADER_MARK: char = ':';

/// Metadata of an object: names in lower case, each once, with their values. Content headers are
/// among them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserMetadata(BTreeMap<String, Vec<u8>>);

impl UserMetadata {
    /// Makes an empty set of metadata.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an entry: `name` without `x-amz-meta-`, in any case.
    ///
    /// # Errors
    /// [`MetadataError`] if it cannot be an entry, is one already, or exceeds the length of S3.
    pub fn insert(&mut self, name: &str, value: &[u8]) -> Result<(), MetadataError> {
        let name = name.to_ascii_lowercase();
        if is_own_metadata(&name) || !is_name(name.as_bytes()) {
            return Err(MetadataError::Name);
        }
        self.insert_named(name, value)
    }

    /// Adds a content header.
    ///
    /// # Errors
    /// [`MetadataError`] if it is none of [`CONTENT_HEADERS`], is there already, or exceeds the
    /// length of S3.
    pub fn insert_header(&mut self, name: &str, value: &[u8]) -> Result<(), MetadataError> {
        if !CONTENT_HEADERS.contains(&name) {
            return Err(MetadataError::Name);
        }
        self.insert_named(format!("{HEADER_MARK}{name}"), value)
    }

    fn insert_named(&mut self, name: String, value: &[u8]) -> Result<(), MetadataError> {
        if !is_value(value) {
            return Err(MetadataError::Value);
        }
        if self.0.contains_key(&name) {
            return Err(MetadataError::Twice);
        }
        if self.len() + name.len() + value.len() > MAX_METADATA {
            return Err(MetadataError::TooLong);
        }
        self.0.insert(name, value.to_vec());
        Ok(())
    }

    /// The user metadata in rising order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.all().filter(|(name, _)| !name.starts_with(HEADER_MARK))
    }

    /// The content headers in rising order of their names.
    pub fn headers(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.all().filter_map(|(name, value)| Some((name.strip_prefix(HEADER_MARK)?, value)))
    }

    fn all(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_slice()))
    }

    /// Returns true if there is no entry.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Bytes of names and values, as S3 counts those of user metadata.
    #[must_use]
    pub fn len(&self) -> usize {
        self.all().map(|(name, value)| name.len() + value.len()).sum()
    }

    fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.len() + 4 * self.0.len());
        for field in self.all().flat_map(|(name, value)| [name.as_bytes(), value]) {
            // At most 2,048 bytes.
            let [.., high, low] = field.len().to_be_bytes();
            out.extend([high, low]);
            out.extend(field);
        }
        out
    }

    /// `None` for everything that [`to_bytes`](Self::to_bytes) does not write.
    fn from_bytes(mut bytes: &[u8]) -> Option<Self> {
        let mut own = Self::new();
        while !bytes.is_empty() {
            let name = str::from_utf8(take_field(&mut bytes)?).ok()?;
            let value = take_field(&mut bytes)?;
            if own.0.last_key_value().is_some_and(|(last, _)| last.as_str() >= name)
                || name.bytes().any(|byte| byte.is_ascii_uppercase())
            {
                return None;
            }
            match name.strip_prefix(HEADER_MARK) {
                Some(header) => own.insert_header(header, value).ok()?,
                None => own.insert(name, value).ok()?,
            }
        }
        Some(own)
    }
}

/// Returns the number of bytes of names and values that S3 leaves beside the entry `endseal` with
/// that header.
#[must_use]
pub fn room(header: &Header) -> usize {
    let taken = HEADER_METADATA.len() + header.encode().len();
    MAX_METADATA.saturating_sub(taken)
}

/// The value of the entry `endseal-m`, in the place of `metadata`.
///
/// # Errors
/// [`MetadataError::TooLong`] if it does not fit into metadata beside the header; nothing is
/// dropped. [`MetadataError::Random`] if the source of randomness fails.
pub fn seal(
    header: &Header,
    key: &ContentKey,
    metadata: &UserMetadata,
    random: &mut impl Random,
) -> Result<String, MetadataError> {
    let mut salt = [0; SALT_LEN];
    random.fill(&mut salt).map_err(|_| MetadataError::Random)?;
    let sealed = seal_message(
        &KeySource::new(key),
        &context(S3_METADATA, header.place_tag()),
        &salt,
        &metadata.to_bytes(),
    );
    let text = base64url::encode(&sealed);
    if USER_METADATA.len() + text.len() > room(header) {
        return Err(MetadataError::TooLong);
    }
    Ok(text)
}

/// Opens the value of the entry `endseal-m`.
///
/// # Errors
/// [`AuthenticationFailed`] if `key` is not the key of `header`, or the value is not what [`seal`]
/// makes.
pub fn open(
    header: &Header,
    key: &ContentKey,
    text: &str,
) -> Result<UserMetadata, AuthenticationFailed> {
    let source = KeySource::new(key);
    header.keys(&source)?;
    let sealed = base64url::decode(text, MAX_METADATA)?;
    let bytes = open_message(&source, &context(S3_METADATA, header.place_tag()), &sealed)?;
    UserMetadata::from_bytes(&bytes).ok_or(AuthenticationFailed)
}

fn take_field<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, rest) = bytes.split_first_chunk()?;
    let (field, rest) = rest.split_at_checked(usize::from(u16::from_be_bytes(*length)))?;
    *bytes = rest;
    Some(field)
}

/// A token of RFC 9110, 5.6.2, in lower case.
fn is_name(name: &[u8]) -> bool {
    let known = |byte: &u8| {
        matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'!' | b'#'..=b'\'' | b'*' | b'+' | b'-' | b'.')
            || matches!(byte, b'^'..=b'`' | b'|' | b'~')
    };
    !name.is_empty() && name.iter().all(known)
}

/// Returns true if the bytes may stand in a field's value: no control character but the tabulator.
fn is_value(value: &[u8]) -> bool {
    value.iter().all(|byte| *byte == b'\t' || (*byte >= b' ' && *byte != 0x7f))
}

error! {
    /// User metadata that cannot be stored.
    MetadataError {
        /// The metadata are too long: S3 allows 2,048 bytes of names and values.
        TooLong = "the metadata are too long: S3 allows 2,048 bytes of names and values",
        /// A name is empty, has characters that no header's name has, or is one of the format.
        Name = "a name of metadata is empty, reserved, or has a character that no name has",
        /// A value has control characters.
        Value = "a value of metadata has a control character",
        /// Two entries have the same name.
        Twice = "a name of metadata comes twice",
        /// The source of randomness failed.
        Random = "the source of randomness failed",
    }
}
