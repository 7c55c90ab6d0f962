//! Readers and writers of the fields of a record, in the order in which the record stores them.

use endseal_crypto::secret::Zeroizing;
use endseal_nostr::key::PublicKey;

use crate::error::RecordError;
use crate::text::BoundedText;

/// First byte of each record that has a version.
const VERSION: u8 = 1;

/// Reads the fields of a record one after another. Numbers are little-endian.
pub(crate) struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Checks the version byte and returns a reader of the fields behind it.
    pub(crate) fn versioned(bytes: &'a [u8]) -> Result<Self, RecordError> {
        let mut fields = Self(bytes);
        if fields.byte()? == VERSION { Ok(fields) } else { Err(RecordError::Version) }
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<&'a [u8; N], RecordError> {
        let (field, rest) = self.0.split_first_chunk().ok_or(RecordError::Length)?;
        self.0 = rest;
        Ok(field)
    }

    pub(crate) fn byte(&mut self) -> Result<u8, RecordError> {
        self.array().map(|[byte]| *byte)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, RecordError> {
        self.array().map(|bytes| u32::from_le_bytes(*bytes))
    }

    pub(crate) fn u64(&mut self) -> Result<u64, RecordError> {
        self.array().map(|bytes| u64::from_le_bytes(*bytes))
    }

    /// Reads one byte and translates it with `of`. A byte without a meaning is
    /// [`RecordError::Value`].
    pub(crate) fn code<T>(&mut self, of: impl FnOnce(u8) -> Option<T>) -> Result<T, RecordError> {
        of(self.byte()?).ok_or(RecordError::Value)
    }

    pub(crate) fn public_key(&mut self) -> Result<PublicKey, RecordError> {
        PublicKey::from_bytes(self.array()?).map_err(|_| RecordError::Value)
    }

    /// Reads a text that follows its length in one byte.
    pub(crate) fn text<const MAX: usize>(&mut self) -> Result<BoundedText<MAX>, RecordError> {
        let len = usize::from(self.byte()?);
        let (text, rest) = self.0.split_at_checked(len).ok_or(RecordError::Length)?;
        self.0 = rest;
        let text = str::from_utf8(text).map_err(|_| RecordError::Value)?;
        BoundedText::new(text).map_err(|_| RecordError::Value)
    }

    /// Reads a count of at most `max`, and then as many texts. An empty text is an error.
    pub(crate) fn texts<const MAX: usize>(
        &mut self,
        max: usize,
    ) -> Result<Vec<BoundedText<MAX>>, RecordError> {
        let count = self.code(|count| Some(usize::from(count)).filter(|count| *count <= max))?;
        let text = |_| self.text().and_then(BoundedText::filled);
        (0..count).map(text).collect()
    }

    /// Returns true if there is no further field.
    /// Reads a text with a length of two bytes, of at most `max` bytes.
    pub(crate) fn long_text(&mut self, max: usize) -> Result<Box<str>, RecordError> {
        let len = usize::from(u16::from_le_bytes(*self.array()?));
        let (text, rest) = self.0.split_at_checked(len).ok_or(RecordError::Length)?;
        self.0 = rest;
        let text = str::from_utf8(text).map_err(|_| RecordError::Value)?;
        if text.len() > max { Err(RecordError::Value) } else { Ok(text.into()) }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Checks that the record has no bytes behind its last field.
    pub(crate) fn end(self) -> Result<(), RecordError> {
        if self.0.is_empty() { Ok(()) } else { Err(RecordError::Length) }
    }
}

/// Writes a record. Its fields can be secret, so the buffer is wiped when dropped.
pub(crate) struct RecordWriter(Zeroizing<Vec<u8>>);

impl RecordWriter {
    /// `capacity` is the greatest length of the record: a vector that grows would leave a copy.
    pub(crate) fn new(capacity: usize) -> Self {
        Self(Zeroizing::new(Vec::with_capacity(capacity)))
    }

    /// Starts a record whose first byte is its version.
    pub(crate) fn versioned(capacity: usize) -> Self {
        Self::new(capacity).bytes(&[VERSION])
    }

    pub(crate) fn bytes(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }

    pub(crate) fn u32(self, number: u32) -> Self {
        self.bytes(&number.to_le_bytes())
    }

    pub(crate) fn u64(self, number: u64) -> Self {
        self.bytes(&number.to_le_bytes())
    }

    pub(crate) fn text<const MAX: usize>(self, text: &BoundedText<MAX>) -> Self {
        // A text has at most 255 bytes.
        self.bytes(&[text.len_byte()]).bytes(text.as_str().as_bytes())
    }

    /// Writes the number of texts in one byte, then the texts. Callers pass at most 255, which the
    /// readers and setters of the lists check.
    pub(crate) fn texts<const MAX: usize>(self, texts: &[BoundedText<MAX>]) -> Self {
        let count = texts.len().to_le_bytes()[0];
        texts.iter().fold(self.bytes(&[count]), Self::text)
    }

    /// Writes a text with a length of two bytes.
    pub(crate) fn long_text(self, text: &str) -> Self {
        let [low, high, ..] = text.len().to_le_bytes();
        self.bytes(&[low, high]).bytes(text.as_bytes())
    }

    pub(crate) fn finish(self) -> Zeroizing<Vec<u8>> {
        self.0
    }
}

/// Defines an enum whose variants each have a one-byte code in records.
macro_rules! codes {
    ($(#[$meta:meta])* $vis:vis enum $name:ident {
        $($(#[$doc:meta])* $variant:ident = $code:literal,)*
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        $vis enum $name {
            $($(#[$doc])* $variant,)*
        }

        impl $name {
            /// Returns the code of this variant in records.
            #[must_use]
            $vis const fn code(self) -> u8 {
                match self {
                    $(Self::$variant => $code,)*
                }
            }

            /// Returns the variant with this code, or `None` for an unknown code.
            #[must_use]
            $vis const fn from_code(code: u8) -> Option<Self> {
                match code {
                    $($code => Some(Self::$variant),)*
                    _ => None,
                }
            }
        }
    };
}
pub(crate) use codes;
