//! The receipt: which content a part had when it was uploaded, sealed beside the upload.

use core::fmt;

use endseal_crypto::label::S3_RECEIPT;
use endseal_crypto::random::Random;
use endseal_crypto::secret::constant_time_eq;
use endseal_crypto::segment::{KeySource, SALT_LEN};

use crate::checksum::{self, ContentChecksum, FIELD_LEN};
use crate::chunks::{context, open_message, seal_message};
use crate::part::PartNumber;
use crate::size::MAX_CONTENT;
use crate::{AuthenticationFailed, ContentKey, ReceiptError};

const VERSION: u8 = 2;
/// Bytes of an entity tag at most.
const MAX_TAG: usize = 1_024;
/// Version, salt, length, digest, checksum.
const FIXED_LEN: usize = 1 + SALT_LEN + 8 + 32 + 1 + FIELD_LEN;
/// In the place of a digest that is not known.
const NO_DIGEST: [u8; 32] = [0; 32];

/// Proof that something happened once: an upload of a part, with this salt and content, which the
/// backend answered to with this tag. It is sealed under the upload's content key, for one part
/// number.
#[derive(Clone, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "what the format has")]
pub struct Receipt {
    /// The salt of the part; not zero.
    pub salt: [u8; SALT_LEN],
    /// Length of the part's content in bytes.
    pub plaintext_len: u64,
    /// SHA-256 of its content, if it is known; not zero. The caller MUST have compared it with the
    /// content.
    pub sha256: Option<[u8; 32]>,
    /// The checksum that the client gave, if it did. The caller MUST have compared it
    /// with the content.
    pub checksum: Option<ContentChecksum>,
    /// The backend's, without its quotes.
    pub entity_tag: String,
}

/// Digest and checksum are not printed: they would confirm a guess of the content.
impl fmt::Debug for Receipt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receipt")
            .field("salt", &self.salt)
            .field("plaintext_len", &self.plaintext_len)
            .field("entity_tag", &self.entity_tag)
            .finish_non_exhaustive()
    }
}

impl Receipt {
    /// Longest receipt in bytes, as [`seal`](Self::seal) makes it.
    pub const MAX_LEN: usize = SALT_LEN + FIXED_LEN + MAX_TAG + 16;

    /// `salt (24) || chunks`, for part `number` of the upload that `key` was drawn for.
    ///
    /// # Errors
    /// [`ReceiptError`] for a salt of zeros, a length beyond 5 TiB, an entity tag that is empty or
    /// longer than 1,024 bytes, or if `random` fails.
    pub fn seal(
        &self,
        key: &ContentKey,
        number: PartNumber,
        random: &mut impl Random,
    ) -> Result<Vec<u8>, ReceiptError> {
        if self.salt == [0; SALT_LEN] {
            return Err(ReceiptError::Salt);
        }
        if self.plaintext_len > MAX_CONTENT {
            return Err(ReceiptError::ContentTooLong);
        }
        if !(1..=MAX_TAG).contains(&self.entity_tag.len()) {
            return Err(ReceiptError::EntityTag);
        }
        let mut salt = [0; SALT_LEN];
        random.fill(&mut salt)?;
        let length = self.plaintext_len.to_be_bytes();
        let tag = self.entity_tag.as_bytes();
        let digest = self.sha256.unwrap_or(NO_DIGEST);
        let (kind, checksum) = checksum::encode(self.checksum.as_ref());
        let fields: [&[u8]; 7] =
            [&[VERSION], &self.salt, &length, &digest, &[kind], &checksum, tag];
        let message = fields.concat();
        Ok(seal_message(&KeySource::new(key), &receipt_context(number), &salt, &message))
    }

    /// Opens the receipt of an uploaded part with this number.
    ///
    /// # Errors
    /// [`AuthenticationFailed`] if it is not what [`seal`](Self::seal) makes under this key for
    /// this number.
    pub fn open(
        key: &ContentKey,
        number: PartNumber,
        sealed: &[u8],
    ) -> Result<Self, AuthenticationFailed> {
        if sealed.len() > Self::MAX_LEN {
            return Err(AuthenticationFailed);
        }
        let message = open_message(&KeySource::new(key), &receipt_context(number), sealed)?;
        Self::read(&message).ok_or(AuthenticationFailed)
    }

    fn read(message: &[u8]) -> Option<Self> {
        let (version, rest) = message.split_first()?;
        let (salt, rest) = rest.split_first_chunk()?;
        let (length, rest) = rest.split_first_chunk()?;
        let (digest, rest) = rest.split_first_chunk()?;
        let (kind, rest) = rest.split_first()?;
        let (checksum, tag) = rest.split_first_chunk()?;
        let own = Self {
            salt: *salt,
            plaintext_len: u64::from_be_bytes(*length),
            sha256: Some(*digest).filter(|digest| *digest != NO_DIGEST),
            checksum: checksum::decode(*kind, checksum)?,
            entity_tag: str::from_utf8(tag).ok()?.to_owned(),
        };
        let valid = *version == VERSION
            && own.salt != [0; SALT_LEN]
            && own.plaintext_len <= MAX_CONTENT
            && (1..=MAX_TAG).contains(&tag.len());
        valid.then_some(own)
    }

    /// Returns true if both uploads are known to have had the same content.
    #[must_use]
    pub fn is_same_content(&self, other: &Self) -> bool {
        let digests = self.sha256.zip(other.sha256);
        self.plaintext_len == other.plaintext_len
            && digests.is_some_and(|(own, other)| constant_time_eq(&own, &other))
    }
}

fn receipt_context(number: PartNumber) -> Vec<u8> {
    context(S3_RECEIPT, &number.get().to_be_bytes())
}
