//! "Body of a whole object": sealed in one request, read from its first byte to its last.

use bytes::BytesMut;
use endseal_crypto::hazmat;
use endseal_crypto::random::Random;
use endseal_crypto::segment::{KeySource, SALT_LEN, SealKeys, chunks_len};

use crate::checksum::ContentChecksum;
use crate::chunks::ContentSealer;
use crate::form::Form;
use crate::header::{Bound, Header};
use crate::record::Record;
use crate::size::HEADER_COPY_LEN;
use crate::tail::{TailKeys, record_context};
use crate::{ContentKey, HeaderError, SealError};

mod opener;

pub use opener::WholeOpener;

impl Header {
    /// Makes the header of a whole object of `plaintext_len` bytes, and the sealer of its content.
    /// There is no other way to a [`WholeSealer`]: two contents under one header would share their
    /// nonces.
    ///
    /// `key` MUST be uniformly random and drawn for this object; `wrapped` is what the provider's
    /// key `key_id` made of it with [`Header::wrap_context`]. The object opens at the place of
    /// `bound`, and wherever else the names of its binding are the same.
    ///
    /// # Errors
    /// [`HeaderError`] for a length, key id or wrapped key beyond the limits, or if `random` fails.
    pub fn whole(
        key: &ContentKey,
        plaintext_len: u64,
        bound: &Bound<'_>,
        (key_id, wrapped): (&str, &[u8]),
        random: &mut impl Random,
    ) -> Result<(Self, WholeSealer), HeaderError> {
        let source = KeySource::new(key);
        let wrapped = (key_id, wrapped);
        let (own, keys) = Self::of_whole(&source, plaintext_len, bound, wrapped, random)?;
        let mut salt = [0; SALT_LEN];
        random.fill(&mut salt)?;
        let record = record_context(Form::Whole, &own);
        let tail = TailKeys { salt, keys: hazmat::uncommitted_seal_keys(&source, &salt, &record) };
        let sealer = WholeSealer::new(own.to_copy(), keys, tail, plaintext_len);
        Ok((own, sealer))
    }
}

/// Seals the content of a whole object. [`Header::whole`](crate::Header::whole) makes it.
///
/// A sealer that is dropped before [`finish`](Self::finish) leaves a truncated object, which does
/// not open.
#[allow(missing_debug_implementations, reason = "holds keys and plaintext")]
pub struct WholeSealer {
    content: ContentSealer,
    /// Copy of the header, the end of the object.
    copy: Box<[u8; HEADER_COPY_LEN]>,
    tail: TailKeys,
    plaintext_len: u64,
}

impl WholeSealer {
    pub(super) fn new(
        copy: [u8; HEADER_COPY_LEN],
        keys: SealKeys,
        tail: TailKeys,
        plaintext_len: u64,
    ) -> Self {
        let content = ContentSealer::new(keys, plaintext_len);
        Self { content, copy: Box::new(copy), tail, plaintext_len }
    }

    /// Seals the next content to the end of `out`, in chunks of 16 KiB. Bytes that do not fill a
    /// chunk wait for the next call.
    ///
    /// # Errors
    /// [`SealError::Length`] if more comes than the header says; nothing of `data` is sealed then.
    pub fn push(&mut self, data: &[u8], out: &mut BytesMut) -> Result<(), SealError> {
        self.content.push(data, out)
    }

    /// Seals the last chunk and the tail. The caller MUST finish all checks of the content
    /// (checksums, signatures) before: without this call the object does not open.
    ///
    /// # Errors
    /// [`SealError::Length`] if less came than the header says.
    pub fn finish(
        self,
        checksum: Option<ContentChecksum>,
        out: &mut BytesMut,
    ) -> Result<(), SealError> {
        self.content.finish(out)?;
        whole(self.plaintext_len, checksum)?.seal_tail_by(self.tail, &self.copy, out)
    }

    /// Seals all of the object, content and tail, to `out`, which MUST have its length
    /// ([`sealed_len`](crate::size::sealed_len)). The duty is that of [`finish`](Self::finish).
    ///
    /// # Errors
    /// [`SealError::Length`] if content or `out` are not as long as the header says, or something
    /// was pushed before.
    pub fn seal(
        self,
        content: &[u8],
        checksum: Option<ContentChecksum>,
        out: &mut [u8],
    ) -> Result<(), SealError> {
        let chunks = chunks_len(content.len() as u64).and_then(|len| usize::try_from(len).ok());
        let (chunks, tail) =
            chunks.and_then(|len| out.split_at_mut_checked(len)).ok_or(SealError::Length)?;
        self.content.seal_whole(content, chunks)?;
        whole(self.plaintext_len, checksum)?.seal_tail_to(self.tail, &self.copy, tail)
    }
}

/// Returns the record in its tail.
fn whole(plaintext_len: u64, checksum: Option<ContentChecksum>) -> Result<Record, SealError> {
    Record::whole(plaintext_len, checksum).ok_or(SealError::ContentTooLong)
}
