//! Which headers go through to the backend and back, and which are the proxy's own business.

use endseal_s3_format as object;
use endseal_s3_protocol::S3Error;
use http::header::{CONNECTION, VARY};
use http::{HeaderMap, HeaderName, HeaderValue};

pub(crate) use endseal_s3_protocol::headers::{
    AMZ_TRAILER, COPY_SOURCE, DECODED_LENGTH, OBJECT_SIZE, SDK_CHECKSUM, USER_METADATA,
    is_checksum, strip_aws_chunked, text,
};

/// The metadata that carries an object's header.
pub(crate) const OBJECT_HEADER: HeaderName = HeaderName::from_static("x-amz-meta-endseal");

/// The metadata that carries the MD5 of the content.
pub(crate) const OBJECT_MD5: HeaderName = HeaderName::from_static("x-amz-meta-endseal-md5");

/// The metadata that carries sealed user metadata.
pub(crate) const SEALED_METADATA: HeaderName = HeaderName::from_static("x-amz-meta-endseal-m");

/// Bytes of names and values of user metadata at most, as S3 has it.
const MAX_USER_METADATA: usize = 2_048;

/// Fields that a request to the backend gets besides those of the client's.
const ADDED: usize = 8;

/// Path and query of a value of `x-amz-copy-source`. Slashes may be escaped, also the one between
/// bucket and key: clients escape both as one name.
pub(crate) fn copied_path(value: &str) -> (String, &str) {
    let (path, query) = value.split_once('?').unwrap_or((value, ""));
    let path = path.replace("%2F", "/").replace("%2f", "/");
    let path = if path.starts_with('/') { path } else { format!("/{path}") };
    (path, query)
}

/// Returns true for a header of a request that S3 gives a meaning, or that describes an object or a
/// condition. No other goes to the backend: `Referer` or `Cookie` may hold a credential for the
/// proxy, and what overrides the method or the target at some servers was not authorized here.
fn is_passed_on(name: &HeaderName) -> bool {
    let name = name.as_str();
    if let Some(rest) = name.strip_prefix("x-amz-") {
        // Made anew for the backend.
        return !matches!(
            rest,
            "content-sha256" | "date" | "decoded-content-length" | "security-token" | "trailer"
        );
    }
    name.starts_with("if-")
        || name.starts_with("access-control-request-")
        || matches!(
            name,
            // Not `accept-encoding`: the proxy reads lists, and takes lengths at their word. MinIO
            // would compress both.
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

/// Returns true if a header describes the bytes of the content: it would be wrong for those of the
/// sealed object.
fn describes_content(name: &HeaderName) -> bool {
    let name = name.as_str();
    name == "content-md5"
        || name == "x-amz-sdk-checksum-algorithm"
        || name == "range"
        || is_checksum(name)
}

/// Headers that `Connection` names: they concern one connection and end here (RFC 9110, 7.6.1).
fn hop_by_hop(headers: &HeaderMap) -> Vec<HeaderName> {
    let lines = headers.get_all(CONNECTION).iter().filter_map(|line| line.to_str().ok());
    let names = lines.flat_map(|line| line.split(',')).map(str::trim);
    let options = ["", "close", "keep-alive"];
    let names =
        names.filter(|name| !options.iter().any(|option| option.eq_ignore_ascii_case(name)));
    names.filter_map(|name| name.parse().ok()).collect()
}

/// Headers of a request that goes through as it is.
pub(crate) fn forwarded(headers: &HeaderMap) -> HeaderMap {
    chosen(headers, is_passed_on)
}

/// Headers of a request about content: [`forwarded`], but for what describes the content.
pub(crate) fn about_sealed(headers: &HeaderMap) -> HeaderMap {
    chosen(headers, |name| is_passed_on(name) && !describes_content(name))
}

/// The headers that are wanted, without an encoding of the request, and room for those that a
/// request to the backend gets besides.
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

/// Removes the headers that `unwanted` names.
pub(crate) fn remove(headers: &mut HeaderMap, unwanted: impl Fn(&HeaderName) -> bool) {
    let names: Vec<HeaderName> = headers.keys().filter(|name| unwanted(name)).cloned().collect();
    for name in names {
        headers.remove(name);
    }
}

/// Refuses metadata entries that are the proxy's, and returns how many bytes the others take.
///
/// # Errors
/// `InvalidArgument`.
pub(crate) fn check_user_metadata(headers: &HeaderMap) -> Result<usize, S3Error> {
    let mut len = 0;
    for (name, value) in headers {
        let Some(entry) = name.as_str().strip_prefix(USER_METADATA) else { continue };
        if object::is_own_metadata(entry) {
            return Err(S3Error::invalid_argument(
                "User metadata 'endseal', 'endseal-m' and 'endseal-md5' belong to the proxy.",
            ));
        }
        len += entry.len() + value.len();
    }
    Ok(len)
}

/// Refuses a key with which the backend would encrypt (SSE-C): it would get the key, and is trusted
/// with availability alone.
///
/// # Errors
/// `NotImplemented`.
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

/// Sets the metadata entry of the object's header.
///
/// # Errors
/// `MetadataTooLarge` if `user_metadata` bytes leave no room for it.
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

/// Sets a header.
///
/// # Errors
/// `InternalError` if name or value cannot stand in a header.
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

/// Headers of the backend's answer that the client sees as they are. Some servers keep the encoding
/// of an upload with the object.
pub(crate) fn returned(headers: &HeaderMap) -> HeaderMap {
    chosen(headers, is_returned)
}

/// Leaves no others than those of [`returned`] in an answer that is taken over.
pub(crate) fn keep_returned(headers: &mut HeaderMap) {
    let hop_by_hop = hop_by_hop(headers);
    remove(headers, |name| !is_returned(name) || hop_by_hop.contains(name));
    strip_aws_chunked(headers);
}

/// The same for an answer about a sealed object: without what describes the sealed bytes, and
/// without the proxy's metadata.
pub(crate) fn returned_unsealed(headers: &HeaderMap) -> HeaderMap {
    chosen(headers, |name| is_returned(name) && !describes_sealed(name))
}

/// Returns true for a header of an answer that describes an object, or that S3 gives a meaning.
/// Others could lead a client past the proxy (`Location`), or have a browser report presigned URLs
/// to the backend (`NEL`).
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

/// Returns true for a header about pages of other origins, or about the caches between.
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
        for name in ["x-amz-meta-endseal", "x-amz-meta-endseal-m", "x-amz-meta-endseal-md5"] {
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
