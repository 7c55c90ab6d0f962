//! Names of headers, and what several operations read of them.

use http::header::{AsHeaderName, CONTENT_ENCODING};
use http::{HeaderMap, HeaderName, HeaderValue};

/// Before the names of user metadata.
pub const USER_METADATA: &str = "x-amz-meta-";

/// The time of the signature.
pub const AMZ_DATE: HeaderName = HeaderName::from_static("x-amz-date");
/// The trailers that are announced.
pub const AMZ_TRAILER: HeaderName = HeaderName::from_static("x-amz-trailer");
/// The MD5 of the content.
pub const CONTENT_MD5: HeaderName = HeaderName::from_static("content-md5");
/// The SHA-256 of the content, or how it is signed.
pub const CONTENT_SHA256: HeaderName = HeaderName::from_static("x-amz-content-sha256");
/// The object that is copied.
pub const COPY_SOURCE: HeaderName = HeaderName::from_static("x-amz-copy-source");
/// The length of content that comes in chunks.
pub const DECODED_LENGTH: HeaderName = HeaderName::from_static("x-amz-decoded-content-length");
/// The size of an object, beside the length of a range.
pub const OBJECT_SIZE: HeaderName = HeaderName::from_static("x-amz-object-size");
/// The algorithm of the checksum.
pub const SDK_CHECKSUM: HeaderName = HeaderName::from_static("x-amz-sdk-checksum-algorithm");
/// The token of temporary credentials.
pub const SECURITY_TOKEN: HeaderName = HeaderName::from_static("x-amz-security-token");

/// Removes `aws-chunked` from `Content-Encoding`: it is the encoding of the request, not the
/// object's.
pub fn strip_aws_chunked(headers: &mut HeaderMap) {
    let Some(value) = headers.get(CONTENT_ENCODING).and_then(|value| value.to_str().ok()) else {
        return;
    };
    let rest: Vec<&str> = value
        .split(',')
        .map(str::trim)
        .filter(|coding| !coding.is_empty() && !coding.eq_ignore_ascii_case("aws-chunked"))
        .collect();
    match HeaderValue::from_str(&rest.join(",")) {
        Ok(value) if !rest.is_empty() => drop(headers.insert(CONTENT_ENCODING, value)),
        _ => drop(headers.remove(CONTENT_ENCODING)),
    }
}

/// The value of a header as text.
#[must_use]
pub fn text(headers: &HeaderMap, name: impl AsHeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok()
}

/// Compares the size of the object that a client names when it completes an upload, if it names
/// one: a part that its list lacks would be missing in the object.
#[must_use]
pub fn is_object_size(headers: &HeaderMap, len: u64) -> bool {
    let named = headers.get("x-amz-mp-object-size");
    named.is_none_or(|it| it.to_str().is_ok_and(|it| it.parse() == Ok(len)))
}

/// Splits a value of `x-amz-copy-source` into path and query. It is decoded as a form is: `+` is a
/// space, and `%2B` a plus. Slashes may be percent-encoded, including the one between bucket and
/// key, because some clients encode both as one name.
#[must_use]
pub fn copied_path(value: &str) -> (String, &str) {
    let (path, query) = value.split_once('?').unwrap_or((value, ""));
    let path = path.replace("%2F", "/").replace("%2f", "/").replace('+', "%20");
    let path = if path.starts_with('/') { path } else { format!("/{path}") };
    (path, query)
}

/// Returns true for a header that tells a checksum of the content, or how to make or tell one.
#[must_use]
pub fn is_checksum(name: &str) -> bool {
    name.starts_with("x-amz-checksum-")
}
