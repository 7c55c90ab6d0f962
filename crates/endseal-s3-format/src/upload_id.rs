//! The upload id: all of the state of a multipart upload, sealed, with the client.

use endseal_crypto::label::S3_UPLOAD;
use endseal_crypto::random::Random;
use endseal_crypto::segment::{KeySource, SALT_LEN};

use crate::checksum::ChecksumAlgorithm;
use crate::chunks::{context, open_message, seal_message};
use crate::form::Form;
use crate::header::{Header, MAX_HEADER};
use crate::place::{Binding, Place};
use crate::{AuthenticationFailed, ContentKey, UploadIdError, base64url};

const VERSION: u8 = 1;
/// Longest upload id of a backend in bytes.
const MAX_BACKEND_ID: usize = 1_024;
/// Salt, the tag of the one chunk, and the announced checksum.
const SEALED_OVERHEAD: usize = SALT_LEN + 16 + CHECKSUM_LEN;
const MAX_LEN: usize = 1 + 2 + MAX_HEADER + SEALED_OVERHEAD + MAX_BACKEND_ID;
/// Algorithm and type.
const CHECKSUM_LEN: usize = 2;
/// Number of the algorithm SHA-512, which no record can keep.
const SHA_512: u8 = 6;

/// Algorithm of the checksum that a client announced for an upload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(clippy::exhaustive_enums, reason = "the specification has no others")]
pub enum AnnouncedAlgorithm {
    /// An algorithm that records of objects keep.
    Kept(ChecksumAlgorithm),
    /// SHA-512 (FIPS 180-4), which is too long for a record.
    Sha512,
}

/// Checksum that a client announced for an object when it created the upload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(clippy::exhaustive_structs, reason = "these are all fields of the specification")]
pub struct AnnouncedChecksum {
    /// Algorithm of the checksum.
    pub algorithm: AnnouncedAlgorithm,
    /// True for the checksum of the whole content, false for that of the parts' checksums.
    pub is_full_object: bool,
}

impl AnnouncedChecksum {
    /// Returns true if S3 knows the type for the algorithm: hashes are always composite, and
    /// CRC-64/NVME is always of the full object.
    #[must_use]
    pub const fn is_valid(self) -> bool {
        match self.algorithm {
            AnnouncedAlgorithm::Kept(ChecksumAlgorithm::Crc32 | ChecksumAlgorithm::Crc32c) => true,
            AnnouncedAlgorithm::Kept(ChecksumAlgorithm::Crc64Nvme) => self.is_full_object,
            _ => !self.is_full_object,
        }
    }

    /// `checksum kind (1) || checksum type (1)`.
    fn encode(announced: Option<Self>) -> [u8; CHECKSUM_LEN] {
        let Some(announced) = announced else { return [0, 0] };
        let number = |algorithm| (1..).zip(ChecksumAlgorithm::ALL).find(|(_, it)| *it == algorithm);
        let number = match announced.algorithm {
            AnnouncedAlgorithm::Kept(algorithm) => number(algorithm).map(|(number, _)| number),
            AnnouncedAlgorithm::Sha512 => None,
        };
        [number.unwrap_or(SHA_512), if announced.is_full_object { 2 } else { 1 }]
    }

    fn decode(bytes: [u8; CHECKSUM_LEN]) -> Result<Option<Self>, AuthenticationFailed> {
        let [algorithm, kind] = bytes;
        if bytes == [0, 0] {
            return Ok(None);
        }
        let algorithm = match algorithm {
            SHA_512 => AnnouncedAlgorithm::Sha512,
            number => {
                let at = usize::from(number).checked_sub(1).ok_or(AuthenticationFailed)?;
                let algorithm = ChecksumAlgorithm::ALL.get(at).ok_or(AuthenticationFailed)?;
                AnnouncedAlgorithm::Kept(*algorithm)
            }
        };
        let own = Self { algorithm, is_full_object: kind == 2 };
        if matches!(kind, 1 | 2) && own.is_valid() {
            Ok(Some(own))
        } else {
            Err(AuthenticationFailed)
        }
    }
}

/// An upload id that came from a client: well formed, not yet authentic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UploadId {
    header: Header,
    sealed: Vec<u8>,
}

impl UploadId {
    /// Number of characters of the longest upload id.
    pub const MAX_TEXT: usize = (4 * MAX_LEN).div_ceil(3);

    /// The upload id that the client gets, for the upload that the backend began with `header` in
    /// its metadata. It opens for `place` alone.
    ///
    /// # Errors
    /// [`UploadIdError`] if the header is that of a whole object, the announced checksum is not
    /// [valid](AnnouncedChecksum::is_valid), the backend's id is empty or longer than 1,024 bytes,
    /// or `random` fails.
    pub fn seal(
        header: &Header,
        key: &ContentKey,
        place: &Place<'_>,
        checksum: Option<AnnouncedChecksum>,
        backend_id: &str,
        random: &mut impl Random,
    ) -> Result<String, UploadIdError> {
        if header.form() != Form::Multipart {
            return Err(UploadIdError::Form);
        }
        if checksum.is_some_and(|checksum| !checksum.is_valid()) {
            return Err(UploadIdError::Checksum);
        }
        if !(1..=MAX_BACKEND_ID).contains(&backend_id.len()) {
            return Err(UploadIdError::BackendId);
        }
        let mut salt = [0; SALT_LEN];
        random.fill(&mut salt)?;
        let header = header.to_bytes();
        // At most 679 bytes.
        let [.., high, low] = header.len().to_be_bytes();
        let sealed = seal_message(
            &KeySource::new(key),
            &upload_context(&header, place),
            &salt,
            &[&AnnouncedChecksum::encode(checksum), backend_id.as_bytes()].concat(),
        );
        Ok(base64url::encode(&[&[VERSION, high, low], &header[..], &sealed].concat()))
    }

    /// Parses an upload id. Its header names the key to unwrap. No part of it is authentic before
    /// [`open`](Self::open).
    ///
    /// # Errors
    /// [`AuthenticationFailed`] for everything that [`seal`](Self::seal) does not write.
    pub fn parse(text: &str) -> Result<Self, AuthenticationFailed> {
        let bytes = base64url::decode(text, MAX_LEN)?;
        let ([version, length @ ..], rest) =
            bytes.split_first_chunk::<3>().ok_or(AuthenticationFailed)?;
        let length = usize::from(u16::from_be_bytes(*length));
        let (header, sealed) = rest.split_at_checked(length).ok_or(AuthenticationFailed)?;
        let own = Self { header: Header::from_bytes(header)?, sealed: sealed.to_vec() };
        let backend_id = sealed.len().checked_sub(SEALED_OVERHEAD).ok_or(AuthenticationFailed)?;
        let valid = *version == VERSION
            && own.header.form() == Form::Multipart
            && (1..=MAX_BACKEND_ID).contains(&backend_id);
        if valid { Ok(own) } else { Err(AuthenticationFailed) }
    }

    /// The header of the object that is being uploaded.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The announced checksum and the backend's upload id, for a request that names `place`.
    ///
    /// # Errors
    /// [`AuthenticationFailed`] if `key` is not the key of the header, or the upload id was changed
    /// or made for another place.
    pub fn open(
        &self,
        key: &ContentKey,
        place: &Place<'_>,
    ) -> Result<(Option<AnnouncedChecksum>, String), AuthenticationFailed> {
        let source = KeySource::new(key);
        self.header.keys(&source)?;
        let context = upload_context(&self.header.to_bytes(), place);
        let sealed = open_message(&source, &context, &self.sealed)?;
        let (checksum, id) = sealed.split_first_chunk().ok_or(AuthenticationFailed)?;
        let checksum = AnnouncedChecksum::decode(*checksum)?;
        let id = str::from_utf8(id).map_err(|_| AuthenticationFailed)?;
        Ok((checksum, id.to_owned()))
    }
}

/// `context("upload", header || place(2, bucket, key))`.
fn upload_context(header: &[u8], place: &Place<'_>) -> Vec<u8> {
    context(S3_UPLOAD, &[header, &place.to_bytes(Binding::Key)].concat())
}
