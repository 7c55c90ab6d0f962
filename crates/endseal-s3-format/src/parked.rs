//! Places of parts that can only be the last ones of their uploads, and the names of these uploads.

use base16ct::lower::encode_string;
use endseal_crypto::hash;
use endseal_crypto::label::{Label, S3_PARKED};

use crate::part::PartNumber;
use crate::user_metadata::MAX_METADATA;
use crate::{AuthenticationFailed, base64url};

/// Prefix of keys that belong to the writer. Clients can neither see nor name them.
pub const RESERVED_PREFIX: &str = ".endseal/";

/// Name of the metadata entry with [`ParkedUpload`] that parked parts have, and what is recorded of
/// uploads: `x-amz-meta-endseal-upload`.
pub const PARKED_METADATA: &str = "endseal-upload";

/// Bytes of a key and of a backend's upload id at most.
const MAX_UPLOAD: usize = 2 + 1_024 + 1_024;

/// Returns the prefix of the keys of an upload's parked parts: `.endseal/parked/<id>/`, with the id
/// in hexadecimal of `BLAKE3-derive("endseal/s3-object@v1 parked", backend_upload_id)`, 16 bytes.
#[must_use]
pub fn parked_folder(backend_upload_id: &str) -> String {
    format!("{RESERVED_PREFIX}parked/{}/", folder_id(backend_upload_id))
}

/// The `<id>` that folders of an upload have in their names: 32 digits.
pub(super) fn folder_id(backend_upload_id: &str) -> String {
    short_digest(S3_PARKED, backend_upload_id)
}

/// 16 bytes of `BLAKE3-derive(label, text)` in hexadecimal.
pub(super) fn short_digest(label: Label, text: &str) -> String {
    let mut digest = [0; 16];
    hash::derive_into(label, &[text.as_bytes()], &mut digest);
    encode_string(&digest)
}

/// The key of the object, in the upload's bucket, that part `number` is parked as: the number in
/// five digits in the upload's [`parked_folder`].
#[must_use]
pub fn parked_key(backend_upload_id: &str, number: PartNumber) -> String {
    format!("{}{:05}", parked_folder(backend_upload_id), number.get())
}

/// The folder of a key that [`parked_key`] may have made; `None` for every other key.
#[must_use]
pub fn parked_folder_of(key: &str) -> Option<&str> {
    let name = key.strip_prefix(RESERVED_PREFIX)?.strip_prefix("parked/")?;
    let (id, number) = name.split_once('/')?;
    if !is_short_digest(id) || !is_number(number) {
        return None;
    }
    key.get(..key.len() - number.len())
}

/// Returns true if a text has the form of a [`short_digest`].
pub(super) fn is_short_digest(text: &str) -> bool {
    let is_hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    text.len() == 32 && text.bytes().all(is_hex)
}

/// Returns true if a text is a part's number in five digits.
pub(super) fn is_number(text: &str) -> bool {
    let digits = text.len() == 5 && text.bytes().all(|byte| byte.is_ascii_digit());
    digits && text.parse().ok().and_then(PartNumber::new).is_some()
}

/// Names the upload of a parked part or of a record. A program that cleans a bucket can ask with it
/// if the upload is still in progress.
///
/// It is not authentic: the caller MUST compare [`folder`](Self::folder), or
/// [`recorded_folder`](crate::recorded_folder) of its upload id, with where the object lies.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "what the format has")]
pub struct ParkedUpload {
    /// The key that the upload is to become.
    pub key: String,
    /// Id under which the backend knows the upload.
    pub backend_id: String,
}

impl ParkedUpload {
    /// The value of the metadata entry; `None` if it is longer than metadata may be.
    #[must_use]
    pub fn encode(&self) -> Option<String> {
        let len = u16::try_from(self.key.len()).ok()?;
        let bytes = [&len.to_be_bytes(), self.key.as_bytes(), self.backend_id.as_bytes()].concat();
        let text = base64url::encode(&bytes);
        (PARKED_METADATA.len() + text.len() <= MAX_METADATA).then_some(text)
    }

    /// Parses the value of the metadata entry that holds the parked key.
    ///
    /// # Errors
    /// [`AuthenticationFailed`] for everything that [`encode`](Self::encode) does not write.
    pub fn parse(text: &str) -> Result<Self, AuthenticationFailed> {
        let bytes = base64url::decode(text, MAX_UPLOAD)?;
        let (len, rest) = bytes.split_first_chunk().ok_or(AuthenticationFailed)?;
        let len = usize::from(u16::from_be_bytes(*len));
        let (key, backend_id) = rest.split_at_checked(len).ok_or(AuthenticationFailed)?;
        let text = |bytes: &[u8]| str::from_utf8(bytes).map(str::to_owned);
        let key = text(key).map_err(|_| AuthenticationFailed)?;
        let backend_id = text(backend_id).map_err(|_| AuthenticationFailed)?;
        if key.is_empty() || backend_id.is_empty() {
            return Err(AuthenticationFailed);
        }
        Ok(Self { key, backend_id })
    }

    /// The folder in which the parts of the upload are parked.
    #[must_use]
    pub fn folder(&self) -> String {
        parked_folder(&self.backend_id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_parts_and_uploads_differ() {
        let number = |n| PartNumber::new(n).unwrap();
        let key = parked_key("upload", number(7));
        assert!(key.starts_with(".endseal/parked/") && key.ends_with("/00007"), "{key}");
        assert_eq!(key.len(), 16 + 32 + 6);
        assert_ne!(key, parked_key("upload", number(8)));
        assert_ne!(key[..48], parked_key("other", number(7))[..48]);
        assert!(parked_key("upload", PartNumber::MAX).ends_with("/10000"));
    }

    #[test]
    fn keys_of_parked_parts_are_known_by_their_form() {
        let key = parked_key("upload", PartNumber::MAX);
        assert_eq!(parked_folder_of(&key), Some(parked_folder("upload").as_str()));
        let id = "0123456789abcdef0123456789abcdef";
        assert!(parked_folder_of(&format!(".endseal/parked/{id}/00001")).is_some());
        for other in [
            format!(".endseal/parked/{id}/0001"),
            format!(".endseal/parked/{id}/00000"),
            format!(".endseal/parked/{id}/10001"),
            format!(".endseal/parked/{id}/+0001"),
            format!(".endseal/parked/{id}/00001/x"),
            format!(".endseal/parked/{}/00001", id.to_uppercase()),
            format!(".endseal/parked/{}/00001", &id[1..]),
            format!(".endseal/other/{id}/00001"),
            format!("x.endseal/parked/{id}/00001"),
        ] {
            assert_eq!(parked_folder_of(&other), None, "{other}");
        }
    }

    #[test]
    fn uploads_come_back_from_metadata_where_there_is_room() {
        let upload = |key: usize, id: usize| ParkedUpload {
            key: "\u{e4}".repeat(key / 2),
            backend_id: "i".repeat(id),
        };
        for (key, id) in [(2, 1), (1_024, 128), (500, 1_000)] {
            let text = upload(key, id).encode().unwrap();
            assert_eq!(ParkedUpload::parse(&text), Ok(upload(key, id)));
            assert_eq!(upload(key, id).folder(), parked_folder(&"i".repeat(id)));
        }
        assert_eq!(upload(1_024, 1_024).encode(), None);
        for bytes in [&b""[..], b"\0", b"\0\x02k", b"\0\x01k", b"\0\0i", b"\0\x01\xffi"] {
            assert!(ParkedUpload::parse(&base64url::encode(bytes)).is_err(), "{bytes:?}");
        }
    }
}
