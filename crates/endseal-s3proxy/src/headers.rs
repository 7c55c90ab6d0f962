//! Headers that pass between clients and the backend, and headers that the proxy handles itself.

use endseal_s3_format as object;
use endseal_s3_protocol::S3Error;
use http::header::{CONNECTION, VARY};
use http::{HeaderMap, HeaderName, HeaderValue};

pub(crate) use endseal_s3_protocol::headers::{
    AMZ_TRAILER, COPY_SOURCE, DECODED_LENGTH, OBJECT_SIZE, SDK_CHECKSUM, USER_METADATA,
    copied_path, is_checksum, strip_aws_chunked, text,
};

/// Metadata entry with an object's header.
pub(crate) const OBJECT_HEADER: HeaderName = HeaderName::from_static("x-amz-meta-endseal");

/// Metadata entry with the sealed user metadata.
pub(crate) const SEALED_METADATA: HeaderName = HeaderName::from_static("x-amz-meta-endseal-m");

/// Header with the algorithm of an upload's checksum.
pub(crate) const CHECKSUM_ALGORITHM: &str = "x-amz-checksum-algorithm";

/// Maximum size in bytes of names and values of user metadata in S3.
const MAX_USER_METADATA: usize = 2_048;

/// Number of headers that a request to the backend gets in addition to those of the client.
const ADDED: usize = 8;

/// Returns true for a request header that S3 defines, or that describes an object or a condition.
/// No other header is sent to the backend. `Referer` and `Cookie` may contain a credential for the
/// proxy, and headers that override the method or target at some servers were not authorised here.
fn is_passed_on(name: &HeaderName) -> bool {
    let name = name.as_str();
    if let Some(rest) = name.strip_prefix("x-amz-") {
        // The proxy sets these itself for the backend.
        return !matches!(
            rest,
            "content-sha256" | "date" | "decoded-content-length" | "security-token" | "trailer"
        );
    }
    name.starts_with("if-")
        || name.starts_with("access-control-request-")
        || matches!(
            name,
            // `accept-encoding` is not passed on: the proxy parses lists and relies on lengths, and
            // MinIO would compress both.
            "accept"
                | "cache-control"
                | "content-disposition"
                | "content-encoding"
                | "content-language"
                | "content-md5"
                | "content-type"
                | "expires"
                | "origin"
                | "range"
                | "user-agent"
                | "x-minio-force-delete"
        )
}

/// Returns true if a header describes the bytes of the content, so that it would be wrong for the
/// sealed bytes.
fn describes_content(name: &HeaderName) -> bool {
    let name = name.as_str();
    name == "content-md5"
        || name == "x-amz-sdk-checksum-algorithm"
        || name == "range"
        || is_checksum(name)
}

/// Returns the headers that `Connection` names. They concern one connection only (RFC 9110, 7.6.1).
fn hop_by_hop(headers: &HeaderMap) -> Vec<HeaderName> {
    let lines = headers.get_all(CONNECTION).iter().filter_map(|line| line.to_str().ok());
    let names = lines.flat_map(|line| line.split(',')).map(str::trim);
    let options = ["", "close", "keep-alive"];
    let names =
        names.filter(|name| !options.iter().any(|option| option.eq_ignore_ascii_case(name)));
    names.filter_map(|name| name.parse().ok()).collect()
}

/// Returns the headers of a request that are sent to the backend.
pub(crate) fn forwarded(headers: &HeaderMap) -> HeaderMap {
    chosen(headers, is_passed_on)
}

/// Returns the headers of [`forwarded`] without those that describe the content.
pub(crate) fn about_sealed(headers: &HeaderMap) -> HeaderMap {
    chosen(headers, |name| is_passed_on(name) && !describes_content(name))
}

/// Returns the selected headers without hop-by-hop headers and without `aws-chunked`, with capacity
/// for those that the proxy adds.
fn chosen(headers: &HeaderMap, wanted: impl Fn(&HeaderName) -> bool) -> HeaderMap {
    let mut out = HeaderMap::with_capacity(headers.len() + ADDED);
    let hop_by_hop = hop_by_hop(headers);
    for (name, value) in headers {
        if wanted(name) && !hop_by_hop.contains(name) {
            out.append(name.clone(), value.clone());
        }
    }
    strip_aws_chunked(&mut out);
    out
}

/// Removes the headers that `unwanted` selects.
pub(crate) fn remove(headers: &mut HeaderMap, unwanted: impl Fn(&HeaderName) -> bool) {
    let names: Vec<HeaderName> = headers.keys().filter(|name| unwanted(name)).cloned().collect();
    for name in names {
        headers.remove(name);
    }
}

/// Checks that no metadata entry is reserved for the proxy, and returns the size of the entries in
/// bytes.
///
/// # Errors
/// `InvalidArgument` if an entry is reserved.
pub(crate) fn check_user_metadata(headers: &HeaderMap) -> Result<usize, S3Error> {
    let mut len = 0;
    for (name, value) in headers {
        let Some(entry) = name.as_str().strip_prefix(USER_METADATA) else { continue };
        if object::is_own_metadata(entry) {
            return Err(S3Error::invalid_argument(
                "User metadata 'endseal' and 'endseal-m' belong to the proxy.",
            ));
        }
        len += entry.len() + value.len();
    }
    Ok(len)
}

/// Refuses encryption keys of clients (SSE-C). The backend would get the key, although it is only
/// trusted with availability.
///
/// # Errors
/// `NotImplemented` if a header with such a key is present.
pub(crate) fn check_no_customer_key<'a>(
    mut names: impl Iterator<Item = &'a str>,
) -> Result<(), S3Error> {
    let is_key = |name: &str| {
        let name = name.to_ascii_lowercase();
        let name =
            name.strip_prefix("x-amz-copy-source-").map(|it| format!("x-amz-{it}")).unwrap_or(name);
        name.starts_with("x-amz-server-side-encryption-customer-")
    };
    if names.any(is_key) {
        return Err(S3Error::not_implemented().with_message(
            "The proxy takes no encryption keys from clients (SSE-C): it encrypts by its own.",
        ));
    }
    Ok(())
}

/// Sets the metadata entry with the object's header.
///
/// # Errors
/// `MetadataTooLarge` if `user_metadata` bytes of other entries leave no room for it.
pub(crate) fn set_header(
    headers: &mut HeaderMap,
    header: String,
    user_metadata: usize,
) -> Result<(), S3Error> {
    if user_metadata + object::HEADER_METADATA.len() + header.len() > MAX_USER_METADATA {
        return Err(S3Error::metadata_too_large());
    }
    let value = HeaderValue::try_from(header).map_err(|_| S3Error::internal())?;
    headers.insert(OBJECT_HEADER, value);
    Ok(())
}

/// Sets a header to a text.
///
/// # Errors
/// `InternalError` if the name or value is not valid in a header.
pub(crate) fn insert(
    headers: &mut HeaderMap,
    name: impl TryInto<HeaderName>,
    value: &str,
) -> Result<(), S3Error> {
    let name = name.try_into().map_err(|_| S3Error::internal())?;
    let value = HeaderValue::from_str(value).map_err(|_| S3Error::internal())?;
    headers.insert(name, value);
    Ok(())
}

/// Returns the headers of the backend's response that clients see unchanged. `aws-chunked` is
/// removed, because some servers store it with the object.
pub(crate) fn returned(headers: &HeaderMap) -> HeaderMap {
    chosen(headers, is_returned)
}

/// Removes all headers of a response except those of [`returned`].
pub(crate) fn keep_returned(headers: &mut HeaderMap) {
    let hop_by_hop = hop_by_hop(headers);
    remove(headers, |name| !is_returned(name) || hop_by_hop.contains(name));
    strip_aws_chunked(headers);
}

/// Returns the headers of a response about a sealed object that clients see: [`returned`] without
/// the proxy's metadata and without those that describe the sealed bytes.
pub(crate) fn returned_unsealed(headers: &HeaderMap) -> HeaderMap {
    chosen(headers, |name| is_returned(name) && !describes_sealed(name))
}

/// Returns true for a response header that S3 defines or that describes an object. Other headers
/// could lead a client past the proxy (`Location`), or make a browser report presigned URLs to the
/// backend (`NEL`).
fn is_returned(name: &HeaderName) -> bool {
    is_of_origins(name)
        || ["x-amz-", "x-minio-", "x-rgw-"].iter().any(|prefix| name.as_str().starts_with(prefix))
        || matches!(
            name.as_str(),
            "accept-ranges"
                | "allow"
                | "cache-control"
                | "content-disposition"
                | "content-encoding"
                | "content-language"
                | "content-length"
                | "content-md5"
                | "content-range"
                | "content-type"
                | "date"
                | "etag"
                | "expires"
                | "last-modified"
                | "retry-after"
                | "server"
        )
}

/// Returns true for a header about cross-origin requests or caching of them.
pub(crate) fn is_of_origins(name: &HeaderName) -> bool {
    *name == VARY || name.as_str().starts_with("access-control-")
}

/// Returns true if a header describes the sealed bytes, or is the proxy's own metadata.
fn describes_sealed(name: &HeaderName) -> bool {
    let name = name.as_str();
    let own = name.strip_prefix(USER_METADATA).is_some_and(object::is_own_metadata);
    own || is_checksum(name)
        || matches!(
            name,
            "content-length"
                | "content-range"
                | "content-md5"
                | "x-amz-mp-parts-count"
                | "x-amz-object-size"
        )
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;

    use super::{about_sealed, check_user_metadata, forwarded, set_header};

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(n, v)| (n.parse().unwrap(), v.parse().unwrap())).collect()
    }

    #[test]
    fn encodings_of_the_request_do_not_stay() {
        for (given, expected) in [
            ("aws-chunked", None),
            ("aws-chunked,gzip", Some("gzip")),
            ("gzip, AWS-chunked", Some("gzip")),
            ("gzip", Some("gzip")),
        ] {
            let out = forwarded(&headers(&[("content-encoding", given)]));
            assert_eq!(out.get("content-encoding").map(|v| v.to_str().unwrap()), expected);
        }
    }

    #[test]
    fn what_describes_the_content_stays_here() {
        let out = about_sealed(&headers(&[
            ("content-type", "text/plain"),
            ("content-md5", "x"),
            ("x-amz-checksum-crc32c", "x"),
            ("x-amz-meta-a", "b"),
            ("range", "bytes=0-1"),
            ("accept-encoding", "gzip"),
            ("authorization", "secret"),
            ("x-amz-decoded-content-length", "3"),
        ]));
        let mut names: Vec<&str> = out.keys().map(|name| name.as_str()).collect();
        names.sort_unstable();
        assert_eq!(names, ["content-type", "x-amz-meta-a"]);
    }

    #[test]
    fn metadata_that_leave_no_room_are_an_error() {
        for name in ["x-amz-meta-endseal", "x-amz-meta-endseal-m"] {
            let own = headers(&[(name, "x")]);
            assert_eq!(check_user_metadata(&own).unwrap_err().code(), "InvalidArgument", "{name}");
        }
        let user = headers(&[("x-amz-meta-name", "value")]);
        assert_eq!(check_user_metadata(&user).unwrap(), 9);
        let mut out = HeaderMap::new();
        assert!(set_header(&mut out, "h".repeat(200), 1_841).is_ok());
        let error = set_header(&mut out, "h".repeat(200), 1_842).unwrap_err();
        assert_eq!(error.code(), "MetadataTooLarge");
    }
}
