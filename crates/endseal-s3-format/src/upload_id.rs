//! The upload id: all of the state of a multipart upload, sealed, with the client.

use endseal_crypto::label::S3_UPLOAD;
use endseal_crypto::random::Random;
use endseal_crypto::segment::{KeySource, SALT_LEN};

use crate::chunks::{context, open_message, seal_message};
use crate::form::Form;
use crate::header::{Header, MAX_HEADER};
use crate::place::{Binding, Place};
use crate::{AuthenticationFailed, ContentKey, UploadIdError, base64url};

const VERSION: u8 = 1;
/// Longest upload id of a backend in bytes.
const MAX_BACKEND_ID: usize = 1_024;
/// Salt, and the tag of the one chunk.
const SEALED_OVERHEAD: usize = SALT_LEN + 16;
const MAX_LEN: usize = 1 + 2 + MAX_HEADER + SEALED_OVERHEAD + MAX_BACKEND_ID;

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
    /// [`UploadIdError`] if the header is that of a whole object, the backend's id is empty or
    /// longer than 1,024 bytes, or `random` fails.
    pub fn seal(
        header: &Header,
        key: &ContentKey,
        place: &Place<'_>,
        backend_id: &str,
        random: &mut impl Random,
    ) -> Result<String, UploadIdError> {
        if header.form() != Form::Multipart {
            return Err(UploadIdError::Form);
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
            backend_id.as_bytes(),
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

    /// The backend's upload id, for a request that names `place`.
    ///
    /// # Errors
    /// [`AuthenticationFailed`] if `key` is not the key of the header, or the upload id was changed
    /// or made for another place.
    pub fn open(
        &self,
        key: &ContentKey,
        place: &Place<'_>,
    ) -> Result<String, AuthenticationFailed> {
        let source = KeySource::new(key);
        self.header.keys(&source)?;
        let id =
            open_message(&source, &upload_context(&self.header.to_bytes(), place), &self.sealed)?;
        str::from_utf8(&id).map(str::to_owned).map_err(|_| AuthenticationFailed)
    }
}

/// `context("upload", header || place(2, bucket, key))`.
fn upload_context(header: &[u8], place: &Place<'_>) -> Vec<u8> {
    context(S3_UPLOAD, &[header, &place.to_bytes(Binding::Key)].concat())
}
