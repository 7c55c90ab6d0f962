//! The record: checksum, length and parts of an object, sealed at its end.

use endseal_crypto::segment::SALT_LEN;

use crate::RecordError;
use crate::checksum::{self, ContentChecksum, FIELD_LEN};
use crate::form::Form;
use crate::part::PartNumber;
use crate::size::{MAX_CONTENT, MAX_PARTS, MIN_PART, part_len};

const VERSION: u8 = 1;
const COMPOSITE: u8 = 1;
/// Length in bytes of a record without entries.
pub(super) const FIXED_LEN: usize = 48;
/// Length in bytes of one entry.
pub(super) const ENTRY_LEN: usize = 32;

/// Record of an object. One that exists obeys all rules of the specification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    checksum: Option<ContentChecksum>,
    composite: bool,
    plaintext_len: u64,
    /// None for a whole object.
    entries: Vec<Entry>,
}

/// A part in the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "the format has these")]
pub struct Entry {
    /// Number of the part, from 1 to 10,000.
    pub number: PartNumber,
    /// Length of the part's content in bytes.
    pub plaintext_len: u64,
    /// The salt of the upload that the client completed; `None` if the client did not say which,
    /// then the part's own counts. A salt of zeros is none.
    pub salt: Option<[u8; SALT_LEN]>,
}

impl Record {
    /// The record of a whole object. `None` beyond 5 TiB.
    #[must_use]
    pub fn whole(plaintext_len: u64, checksum: Option<ContentChecksum>) -> Option<Self> {
        let own = Self { checksum, composite: false, plaintext_len, entries: Vec::new() };
        (plaintext_len <= MAX_CONTENT).then_some(own)
    }

    /// The record of a multipart object with these parts. `composite` says that the client named
    /// `checksum` as one of the parts' checksums.
    ///
    /// # Errors
    /// [`RecordError`] if no object has these parts.
    pub fn multipart(
        mut entries: Vec<Entry>,
        checksum: Option<ContentChecksum>,
        composite: bool,
    ) -> Result<Self, RecordError> {
        if entries.is_empty() || entries.len() > usize::from(MAX_PARTS) {
            return Err(RecordError::Count);
        }
        if composite && checksum.is_none() {
            return Err(RecordError::Composite);
        }
        let mut plaintext_len = 0_u64;
        let mut previous: Option<Entry> = None;
        for entry in &mut entries {
            if previous.is_some_and(|previous| previous.number >= entry.number) {
                return Err(RecordError::Order);
            }
            if previous.is_some_and(|previous| previous.plaintext_len < MIN_PART) {
                return Err(RecordError::PartTooSmall);
            }
            plaintext_len = plaintext_len
                .checked_add(entry.plaintext_len)
                .filter(|sum| *sum <= MAX_CONTENT)
                .ok_or(RecordError::ContentTooLong)?;
            entry.salt = entry.salt.filter(|salt| *salt != [0; SALT_LEN]);
            previous = Some(*entry);
        }
        Ok(Self { checksum, composite, plaintext_len, entries })
    }

    /// Returns the form in which the object was written.
    #[must_use]
    pub fn form(&self) -> Form {
        if self.entries.is_empty() { Form::Whole } else { Form::Multipart }
    }

    /// The checksum that the client gave of the content.
    #[must_use]
    pub fn checksum(&self) -> Option<&ContentChecksum> {
        self.checksum.as_ref()
    }

    /// Returns true if the checksum is one of the parts' checksums.
    #[must_use]
    pub fn is_composite(&self) -> bool {
        self.composite
    }

    /// Length of the object's whole content in bytes.
    #[must_use]
    pub fn plaintext_len(&self) -> u64 {
        self.plaintext_len
    }

    /// The parts in the order of the content; none for a whole object.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Range of the part with that number in the content, as [`core::ops::Range`] of bytes, which a
    /// request with `partNumber` reads. `None` if there is no such part.
    #[must_use]
    pub fn part_range(&self, number: PartNumber) -> Option<core::ops::Range<u64>> {
        let at = self.entries.binary_search_by_key(&number, |entry| entry.number).ok()?;
        let (before, from) = self.entries.split_at(at);
        let start = before.iter().map(|entry| entry.plaintext_len).sum();
        from.first().map(|entry| start..start + entry.plaintext_len)
    }

    /// Length of the parts as they lie in the object, or of the body of a whole one.
    #[must_use]
    pub fn body_len(&self) -> u64 {
        // Every length was bounded when the record was made.
        let part = |plaintext_len| part_len(plaintext_len).unwrap_or(0);
        match self.form() {
            Form::Whole => part(self.plaintext_len) - SALT_LEN as u64,
            Form::Multipart => self.entries.iter().map(|entry| part(entry.plaintext_len)).sum(),
        }
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let (kind, checksum) = checksum::encode(self.checksum.as_ref());
        let mut out = Vec::with_capacity(FIXED_LEN + ENTRY_LEN * self.entries.len());
        out.extend([VERSION, self.form().to_byte(), kind]);
        out.extend(checksum);
        out.push(if self.composite { COMPOSITE } else { 0 });
        // 10,000 at most.
        let [.., a, b, c, d] = self.entries.len().to_be_bytes();
        out.extend([a, b, c, d]);
        out.extend(self.plaintext_len.to_be_bytes());
        for entry in &self.entries {
            out.extend(entry.number.get().to_be_bytes());
            // 5 TiB at most, which is below 2^48.
            let [_, _, len @ ..] = entry.plaintext_len.to_be_bytes();
            out.extend(len);
            out.extend(entry.salt.unwrap_or([0; SALT_LEN]));
        }
        out
    }

    /// `None` for everything that [`to_bytes`](Self::to_bytes) does not write.
    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let ([version, form, kind], rest) = bytes.split_first_chunk()?;
        let (checksum, rest) = rest.split_first_chunk::<FIELD_LEN>()?;
        let (flags, rest) = rest.split_first()?;
        let (parts, rest) = rest.split_first_chunk()?;
        let (plaintext_len, rest) = rest.split_first_chunk()?;
        let (entries, []) = rest.as_chunks::<ENTRY_LEN>() else { return None };
        let checksum = checksum::decode(*kind, checksum)?;
        let plaintext_len = u64::from_be_bytes(*plaintext_len);
        if *version != VERSION
            || *flags & !COMPOSITE != 0
            || usize::try_from(u32::from_be_bytes(*parts)) != Ok(entries.len())
        {
            return None;
        }
        let own = match Form::from_byte(*form)? {
            Form::Whole if entries.is_empty() && *flags == 0 => {
                Self::whole(plaintext_len, checksum)?
            }
            Form::Whole => return None,
            Form::Multipart => {
                let entries = entries.iter().map(Entry::from_bytes).collect::<Option<_>>()?;
                Self::multipart(entries, checksum, *flags == COMPOSITE).ok()?
            }
        };
        (own.plaintext_len == plaintext_len).then_some(own)
    }
}

impl Entry {
    fn from_bytes(bytes: &[u8; ENTRY_LEN]) -> Option<Self> {
        let ([high, low, len @ .., _, _], _) = bytes.split_first_chunk::<10>()?;
        let mut plaintext_len = [0; 8];
        plaintext_len[2..].copy_from_slice(len);
        let salt = bytes.last_chunk().filter(|salt| **salt != [0; SALT_LEN]);
        Some(Self {
            number: PartNumber::new(u16::from_be_bytes([*high, *low]))?,
            plaintext_len: u64::from_be_bytes(plaintext_len),
            salt: salt.copied(),
        })
    }
}
