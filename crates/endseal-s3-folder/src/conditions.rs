//! Conditions of requests (RFC 9110, 13), evaluated as S3 does.

use endseal_s3_protocol::S3Error;
use endseal_s3_protocol::headers::text;
use endseal_s3_protocol::sigv4::Timestamp;
use http::{HeaderMap, StatusCode};

use crate::entry::Entry;
use crate::fault::not_here;

/// Names of the headers that hold conditions.
struct Names {
    matches: &'static str,
    none_matches: &'static str,
    modified: &'static str,
    unmodified: &'static str,
}

const READ: Names = Names {
    matches: "if-match",
    none_matches: "if-none-match",
    modified: "if-modified-since",
    unmodified: "if-unmodified-since",
};

const COPY: Names = Names {
    matches: "x-amz-copy-source-if-match",
    none_matches: "x-amz-copy-source-if-none-match",
    modified: "x-amz-copy-source-if-modified-since",
    unmodified: "x-amz-copy-source-if-unmodified-since",
};

/// Checks the conditions of a request that reads.
///
/// # Errors
/// `PreconditionFailed`, or status 304.
pub(crate) fn check_read(headers: &HeaderMap, entry: &Entry) -> Result<(), S3Error> {
    check(headers, entry, &READ)
}

/// Checks the conditions of a copy on its source.
///
/// # Errors
/// `PreconditionFailed`.
pub(crate) fn check_copy(headers: &HeaderMap, entry: &Entry) -> Result<(), S3Error> {
    check(headers, entry, &COPY).map_err(|_| S3Error::precondition_failed())
}

fn check(headers: &HeaderMap, entry: &Entry, names: &Names) -> Result<(), S3Error> {
    let date = |name| text(headers, name).and_then(Timestamp::from_http);
    let etag = entry.etag();
    match text(headers, names.matches) {
        Some(tags) if !lists(tags, &etag) => return Err(S3Error::precondition_failed()),
        Some(_) => {}
        None if date(names.unmodified).is_some_and(|date| entry.time() > date) => {
            return Err(S3Error::precondition_failed());
        }
        None => {}
    }
    let is_unchanged = match text(headers, names.none_matches) {
        Some(tags) => lists(tags, &etag),
        None => date(names.modified).is_some_and(|date| entry.time() <= date),
    };
    if is_unchanged {
        return Err(S3Error::new(StatusCode::NOT_MODIFIED, "NotModified", "Not Modified"));
    }
    Ok(())
}

/// Returns true if the requested range applies to this object (`If-Range`).
pub(crate) fn range_applies(headers: &HeaderMap, entry: &Entry) -> bool {
    match text(headers, "if-range") {
        None => true,
        Some(tag) if tag.contains('"') => lists(tag, &entry.etag()),
        Some(date) => Timestamp::from_http(date) == Some(entry.time()),
    }
}

/// Checks the conditions of a request that writes or deletes.
///
/// # Errors
/// `PreconditionFailed`, `NoSuchKey`; `NotImplemented` for what S3 does not know.
pub(crate) fn check_write(headers: &HeaderMap, old: Option<&Entry>) -> Result<(), S3Error> {
    match text(headers, READ.none_matches).map(str::trim) {
        None => {}
        Some("*") if old.is_some() => return Err(S3Error::precondition_failed()),
        Some("*") => {}
        Some(_) => return Err(not_here()),
    }
    match (text(headers, READ.matches), old) {
        (None, _) => Ok(()),
        (Some(_), None) => Err(S3Error::no_such_key()),
        (Some(tags), Some(old)) if lists(tags, &old.etag()) => Ok(()),
        (Some(_), Some(_)) => Err(S3Error::precondition_failed()),
    }
}

/// Returns true if a list of entity tags has this one; quotes are not needed.
fn lists(tags: &str, etag: &str) -> bool {
    tags.split(',').map(str::trim).any(|tag| tag == "*" || is_tag(tag, etag))
}

/// Returns true if both are the same tag, with quotes or without.
pub(crate) fn is_tag(tag: &str, etag: &str) -> bool {
    let tag = tag.trim();
    tag.strip_prefix("W/").unwrap_or(tag).trim_matches('"') == etag.trim_matches('"')
}
