//! Demands of a request that a folder cannot meet. They are refused: a client that is told of
//! success relies on a lock, a key or a class that does not exist.

use endseal_s3_protocol::S3Error;
use http::{HeaderMap, HeaderName, HeaderValue};

/// Checks the headers of a request that writes.
///
/// # Errors
/// `NotImplemented` with the name of a header that the folder would have to ignore.
pub(crate) fn check(headers: &HeaderMap) -> Result<(), S3Error> {
    match headers.iter().find(|(name, value)| is_unmet(name, value)) {
        Some((name, _)) => Err(S3Error::not_implemented()
            .with_message(format!("A folder as the backend does not do what {name} asks for."))),
        None => Ok(()),
    }
}

fn is_unmet(name: &HeaderName, value: &HeaderValue) -> bool {
    let is = |known: &str| value.as_bytes().eq_ignore_ascii_case(known.as_bytes());
    match name.as_str() {
        "x-amz-bucket-object-lock-enabled" => !is("false"),
        "x-amz-storage-class" => !is("STANDARD"),
        // The only account owns the bucket and all objects.
        "x-amz-acl" => !is("private") && !is("bucket-owner-full-control"),
        // The proxy seals every object anyway.
        "x-amz-server-side-encryption" => !is("AES256"),
        "x-amz-tagging" | "x-amz-write-offset-bytes" => true,
        name => ["x-amz-grant-", "x-amz-object-lock-", "x-amz-server-side-encryption-"]
            .iter()
            .any(|start| name.starts_with(start)),
    }
}
