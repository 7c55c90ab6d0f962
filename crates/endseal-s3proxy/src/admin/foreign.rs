//! Objects that other systems sealed, to be read once and sealed anew (docs/s3-import.md).

mod error;
mod ini;
mod rclone;
mod rclone_content;
mod rclone_encodings;
mod rclone_names;
mod rclone_version;
mod s3ep;
mod s3ep_content;

use core::fmt;

use endseal_s3_protocol::S3Error;
use http::HeaderMap;

pub use error::ForeignKeyError;
pub use rclone::{RcloneCrypt, RcloneRemote};
pub use s3ep::S3epKeys;

use crate::transfer::Converter;

/// System that sealed the objects of an import, with its keys.
#[non_exhaustive]
pub enum ForeignFormat {
    /// A crypt remote of rclone.
    RcloneCrypt(RcloneCrypt),
    /// guided-traffic's s3-encryption-proxy.
    S3ep(S3epKeys),
}

/// Objects that another system sealed.
#[derive(Debug)]
#[allow(clippy::exhaustive_structs, reason = "nothing of it can be left out")]
pub struct ForeignSource {
    /// The system and its keys.
    pub format: ForeignFormat,
    /// Bucket of the objects. If it is the bucket of the import, they are replaced.
    pub bucket: String,
    /// Beginning of the keys of the objects, which is not part of what the system names.
    pub prefix: String,
    /// Beginning of the keys under which the objects are sealed.
    pub into: String,
    /// Leaves objects alone whose content nothing authenticates.
    pub authentic_only: bool,
}

/// Result of looking at an object of another system.
pub(super) struct ForeignObject {
    /// Length of the content in bytes.
    pub(super) content_len: u64,
    /// False if nothing authenticates the content: anyone who could write to the server may have
    /// chosen it.
    pub(super) is_authenticated: bool,
    pub(super) converter: Box<dyn Converter>,
}

/// Reason why an object is not read.
#[derive(Debug)]
pub(super) enum NotForeign {
    /// The object is none of this system.
    Other,
    /// The object is one of this system and is damaged.
    NotAuthentic,
    /// The key of the object is not there. The text is the id of the key.
    UnknownKey(String),
    /// The object is too long to be authenticated in memory.
    TooLong,
}

impl ForeignFormat {
    /// Returns the client's key of an object, which is below the prefix of the source. `None` if
    /// the system has no such key.
    pub(super) fn client_key(&self, key: &str, len: Option<u64>) -> Option<String> {
        match self {
            Self::RcloneCrypt(crypt) => crypt.open_key(key, len == Some(0)),
            Self::S3ep(_) => Some(key.to_owned()),
        }
    }

    /// Looks at an object by its headers. `key` is all of its key.
    pub(super) async fn look(
        &self,
        key: &str,
        head: &HeaderMap,
        len: u64,
    ) -> Result<ForeignObject, NotForeign> {
        match self {
            Self::RcloneCrypt(crypt) => crypt.look(key, len),
            Self::S3ep(keys) => keys.look(key, head, len).await,
        }
    }

    /// Returns true if user metadata of this name are of the system, and say nothing of the
    /// content. `name` is without `x-amz-meta-`.
    pub(super) fn is_own_metadata(&self, name: &str) -> bool {
        match self {
            // The MD5 of the sealed bytes, which rclone would compare with the content.
            Self::RcloneCrypt(_) => name == "md5chksum",
            Self::S3ep(keys) => keys.is_own_metadata(name),
        }
    }
}

impl fmt::Debug for ForeignFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::RcloneCrypt(_) => "RcloneCrypt(..)",
            Self::S3ep(_) => "S3ep(..)",
        })
    }
}

/// The error of content that does not authenticate.
fn not_authentic() -> S3Error {
    S3Error::not_authentic()
}
