//! "Folder markers" of the specification: objects without content that have no body either.

use crate::header::Header;
use crate::record::Record;
use crate::{AuthenticationFailed, ContentKey};

/// Returns true if `plaintext_len` bytes of content at this key, as clients call it, are stored
/// without a body.
///
/// Several servers refuse data at a key that ends in `/`.
#[must_use]
pub fn is_marker(key: &str, plaintext_len: u64) -> bool {
    plaintext_len == 0 && key.ends_with('/')
}

/// Opens an object of length 0 at `key`, as clients call it.
///
/// # Errors
/// [`AuthenticationFailed`] if the object cannot be without a body, or the commitment differs.
pub fn open(
    header: &Header,
    content_key: &ContentKey,
    key: &str,
) -> Result<Record, AuthenticationFailed> {
    if !header.plaintext_len().is_some_and(|len| is_marker(key, len)) {
        return Err(AuthenticationFailed);
    }
    header.verify(content_key)?;
    Record::whole(0, None).ok_or(AuthenticationFailed)
}
