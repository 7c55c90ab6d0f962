//! "Parts": each is sealed alone, in any order, by a holder of the content key.

use bytes::BytesMut;
use endseal_crypto::hazmat;
use endseal_crypto::label::S3_PART;
use endseal_crypto::random::Random;
use endseal_crypto::segment::{ChunkKeys, KeySource, SALT_LEN};

use crate::chunks::{ContentSealer, context};
use crate::size::{MAX_CONTENT, MAX_PARTS};
use crate::{ContentKey, SealError};

/// The number of a part: 1 to 10,000.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PartNumber(u16);

impl PartNumber {
    /// The greatest part number, 10,000.
    pub const MAX: Self = Self(MAX_PARTS);

    /// `None` if `number` is 0 or above 10,000.
    #[must_use]
    pub const fn new(number: u16) -> Option<Self> {
        if number >= 1 && number <= MAX_PARTS { Some(Self(number)) } else { None }
    }

    /// The number, from 1 to 10,000.
    #[must_use]
    pub const fn get(self) -> u16 {
        self.0
    }
}

/// The keys that open part `number` under `salt`. The caller has compared the header's commitment.
pub(super) fn keys(key: &ContentKey, salt: &[u8; SALT_LEN], number: PartNumber) -> ChunkKeys {
    hazmat::uncommitted_keys(&KeySource::new(key), salt, &part_context(number))
}

fn part_context(number: PartNumber) -> Vec<u8> {
    context(S3_PART, &number.get().to_be_bytes())
}

/// Seals one part: its salt, then its chunks.
///
/// A sealer that is dropped before [`finish`](Self::finish) leaves a truncated part.
#[allow(missing_debug_implementations, reason = "holds keys and plaintext")]
pub struct PartSealer {
    content: ContentSealer,
    salt: [u8; SALT_LEN],
    is_started: bool,
}

impl PartSealer {
    /// Draws the salt. Every upload of a part needs its own sealer, also one that replaces another.
    ///
    /// # Errors
    /// [`SealError::ContentTooLong`] beyond 5 TiB, [`SealError::Random`].
    pub fn new(
        key: &ContentKey,
        number: PartNumber,
        plaintext_len: u64,
        random: &mut impl Random,
    ) -> Result<Self, SealError> {
        if plaintext_len > MAX_CONTENT {
            return Err(SealError::ContentTooLong);
        }
        let mut salt = [0; SALT_LEN];
        random.fill(&mut salt)?;
        let keys =
            hazmat::uncommitted_seal_keys(&KeySource::new(key), &salt, &part_context(number));
        let content = ContentSealer::new(keys, plaintext_len);
        Ok(Self { content, salt, is_started: false })
    }

    /// The salt, which the part's entity tag and its entry in the record carry.
    #[must_use]
    pub fn salt(&self) -> [u8; SALT_LEN] {
        self.salt
    }

    /// Seals the next content to the end of `out`, at the first call behind the salt.
    ///
    /// # Errors
    /// [`SealError::Length`] if more comes than was announced; nothing of `data` is sealed then.
    pub fn push(&mut self, data: &[u8], out: &mut BytesMut) -> Result<(), SealError> {
        self.begin(out);
        self.content.push(data, out)
    }

    /// Seals the last chunk. The caller MUST finish all checks of the content before.
    ///
    /// # Errors
    /// [`SealError::Length`] if less came than was announced.
    pub fn finish(mut self, out: &mut BytesMut) -> Result<(), SealError> {
        self.begin(out);
        self.content.finish(out)
    }

    fn begin(&mut self, out: &mut BytesMut) {
        if !self.is_started {
            out.extend_from_slice(&self.salt);
            self.is_started = true;
        }
    }
}
