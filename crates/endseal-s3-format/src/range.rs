//! "Reading" of a range: the bytes to request from the backend, and the opener for them.

use core::ops::Range;

use endseal_crypto::segment::{CHUNK_LEN, SALT_LEN, SEALED_CHUNK_LEN, chunks_len};

use crate::record::{Entry, Record};
use crate::size::{MAX_CONTENT, part_len};

mod opener;

pub use opener::RangeOpener;

const CHUNK: u64 = CHUNK_LEN as u64;
const SEALED_CHUNK: u64 = SEALED_CHUNK_LEN as u64;
const SALT: u64 = SALT_LEN as u64;

/// Bytes of the object that a range of the content needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RangePlan {
    sealed: Range<u64>,
    salt: Option<Range<u64>>,
    content: Content,
    /// Offset of the range in the first of the parts.
    start: u64,
    /// Length of the range in bytes of content.
    len: u64,
    /// True if chunks without content, behind the range, are opened too.
    is_all: bool,
}

/// Position of the range: in one body, or in several parts.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Content {
    /// In the body of a whole object.
    Body {
        /// Length of all of the content.
        plaintext_len: u64,
    },
    /// In these parts, one behind the other.
    Parts(Vec<Entry>),
}

impl RangePlan {
    /// For a whole object with `plaintext_len` bytes of content. `None` if `range` does not lie
    /// within the content (status 416).
    #[must_use]
    pub fn whole(plaintext_len: u64, range: Range<u64>) -> Option<Self> {
        if plaintext_len > MAX_CONTENT || !is_within(&range, plaintext_len) {
            return None;
        }
        let end = chunks_end(plaintext_len, range.end)?;
        let sealed = chunks_start(range.start)..end;
        Some(Self {
            sealed: if range.is_empty() { 0..0 } else { sealed },
            salt: None,
            content: Content::Body { plaintext_len },
            start: range.start,
            len: range.end - range.start,
            is_all: false,
        })
    }

    /// For a multipart object. All of the object is the range from 0 to the record's
    /// [`plaintext_len`](Record::plaintext_len): then every salt and chunk is read, also what has
    /// no content. `None` if the record is that of a whole object, or `range` does not lie within
    /// the content (status 416).
    #[must_use]
    pub fn multipart(record: &Record, range: Range<u64>) -> Option<Self> {
        if record.entries().is_empty() || !is_within(&range, record.plaintext_len()) {
            return None;
        }
        if range == (0..record.plaintext_len()) {
            return Some(Self {
                sealed: 0..record.body_len(),
                salt: None,
                content: Content::Parts(record.entries().to_vec()),
                start: 0,
                len: range.end,
                is_all: true,
            });
        }
        let mut plan = Self {
            sealed: 0..0,
            salt: None,
            content: Content::Parts(Vec::new()),
            start: 0,
            len: range.end - range.start,
            is_all: false,
        };
        // Offsets at which the content of the current part and the part itself begin.
        let (mut content_at, mut sealed_at) = (0, 0);
        let mut touched = Vec::new();
        for entry in record.entries() {
            let content_end = content_at + entry.plaintext_len;
            if !range.is_empty() && range.start < content_end && content_at < range.end {
                let chunks_at = sealed_at + SALT;
                if touched.is_empty() {
                    plan.start = range.start - content_at;
                    let chunks = chunks_start(plan.start);
                    (plan.sealed.start, plan.salt) = match (entry.salt, chunks) {
                        (Some(_), _) => (chunks_at + chunks, None),
                        (None, 0) => (sealed_at, None),
                        (None, _) => (chunks_at + chunks, Some(sealed_at..chunks_at)),
                    };
                }
                let end = range.end.min(content_end) - content_at;
                plan.sealed.end = chunks_at + chunks_end(entry.plaintext_len, end)?;
                touched.push(*entry);
            }
            content_at = content_end;
            sealed_at += part_len(entry.plaintext_len)?;
        }
        plan.content = Content::Parts(touched);
        Some(plan)
    }

    /// The bytes of the object to ask the backend for, and to push into the opener. Empty if the
    /// range is, unless it is all of a multipart object.
    #[must_use]
    pub fn sealed(&self) -> Range<u64> {
        self.sealed.clone()
    }

    /// The bytes of the object, if any, that must be fetched before: the salt of the part that the
    /// range begins in, which the record does not bind and the range does not begin with.
    #[must_use]
    pub fn salt(&self) -> Option<Range<u64>> {
        self.salt.clone()
    }

    /// Length of the range of the content.
    #[must_use]
    #[allow(clippy::len_without_is_empty, reason = "a plan, not a collection")]
    pub fn len(&self) -> u64 {
        self.len
    }
}

fn is_within(range: &Range<u64>, content: u64) -> bool {
    range.start <= range.end && range.end <= content
}

/// Sealed offset of the chunk that holds this byte of the content.
fn chunks_start(at: u64) -> u64 {
    at / CHUNK * SEALED_CHUNK
}

/// Sealed end of the last chunk of a range that ends at `end`, which is above 0.
fn chunks_end(content: u64, end: u64) -> Option<u64> {
    Some(chunks_len(content)?.min(end.div_ceil(CHUNK) * SEALED_CHUNK))
}
