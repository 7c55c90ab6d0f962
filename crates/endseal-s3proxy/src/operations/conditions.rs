//! Conditions on entity tags, translated between the tags of clients and those of the backend.

use endseal_s3_format::entity_tag;
use endseal_s3_protocol::S3Error;
use http::header::{ETAG, HeaderValue, IF_RANGE, LAST_MODIFIED};
use http::{HeaderMap, HeaderName};

use crate::headers;

const CONDITIONS: [&str; 5] = [
    "if-match",
    "if-none-match",
    "if-range",
    "x-amz-copy-source-if-match",
    "x-amz-copy-source-if-none-match",
];

/// Returns true if a request has any condition. Most have none.
pub(super) fn are_any(headers: &HeaderMap) -> bool {
    let starts = |name: &str| name.starts_with("if-") || name.starts_with("x-amz-copy-source-if-");
    headers.keys().any(|name| starts(name.as_str()))
}

/// Returns true for the header of a condition on the object that is written.
pub(super) fn is_condition(name: &HeaderName) -> bool {
    name.as_str().starts_with("if-")
}

/// Joins several lines of a condition into one. A list of tags may be spread over lines (RFC 9110,
/// 5.3), and a server that only evaluates the first line could allow an unwanted write.
///
/// `If-Range` is not a list, but several of them do not hold either.
///
/// # Errors
/// `InvalidArgument` for a header with characters that no entity tag contains.
pub(super) fn join(headers: &mut HeaderMap) -> Result<(), S3Error> {
    if !are_any(headers) {
        return Ok(());
    }
    for name in CONDITIONS {
        let lines = headers.get_all(name).iter().map(HeaderValue::to_str);
        let lines: Result<Vec<_>, _> = lines.collect();
        let lines = lines.map_err(|_| {
            S3Error::invalid_argument(format!("The header {name} is not a list of entity tags."))
        })?;
        if lines.len() > 1 {
            let line = lines.join(", ");
            headers::insert(headers, name, &line)?;
        }
    }
    Ok(())
}

/// Translates the conditions of a request for the backend. Each must be [one line](join).
pub(super) fn to_backend(headers: &mut HeaderMap) {
    if !are_any(headers) {
        return;
    }
    for name in CONDITIONS {
        let Some(value) = headers.get(name).and_then(|value| value.to_str().ok()) else { continue };
        // `If-Range` may contain a date instead of a tag.
        if name == "if-range" && !value.contains('"') {
            continue;
        }
        if let Ok(value) = HeaderValue::from_str(&entity_tag::list_to_backend(value)) {
            headers.insert(name, value);
        }
    }
}

/// Returns true if the requested range applies to the object in the backend's response. `If-Range`
/// must contain the tag that clients see, compared strongly, or the date of the object (RFC 9110,
/// 13.1.5).
pub(super) fn range_applies(request: &HeaderMap, answer: &HeaderMap) -> bool {
    let Some(wanted) = request.get(IF_RANGE) else { return true };
    let text = |value: &HeaderValue| value.to_str().ok().map(str::trim).map(str::to_owned);
    let Some(wanted) = text(wanted) else { return false };
    let told = |name| answer.get(name).and_then(text);
    if wanted.contains('"') {
        let tag = told(ETAG).map(|tag| entity_tag::to_client(&tag));
        !wanted.starts_with("W/") && tag.is_some_and(|tag| tag == wanted)
    } else {
        told(LAST_MODIFIED).is_some_and(|date| date == wanted)
    }
}

/// Translates the conditions of a copy on its source into those of a request that reads the source.
pub(super) fn of_source(headers: &HeaderMap) -> HeaderMap {
    let mut conditions = HeaderMap::new();
    for (name, plain) in [
        ("x-amz-copy-source-if-match", "if-match"),
        ("x-amz-copy-source-if-none-match", "if-none-match"),
        ("x-amz-copy-source-if-modified-since", "if-modified-since"),
        ("x-amz-copy-source-if-unmodified-since", "if-unmodified-since"),
    ] {
        if let Some(value) = headers.get(name) {
            conditions.insert(plain, value.clone());
        }
    }
    to_backend(&mut conditions);
    conditions
}

/// Translates the entity tag of a response for the client.
pub(super) fn to_client(headers: &mut HeaderMap) {
    let Some(tag) = headers.get(ETAG).and_then(|value| value.to_str().ok()) else { return };
    if let Ok(value) = HeaderValue::try_from(entity_tag::to_client(tag)) {
        headers.insert(ETAG, value);
    }
}
