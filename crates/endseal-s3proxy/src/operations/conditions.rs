//! Conditions on entity tags, between what clients and what the backend call an object.

use endseal_s3_format::entity_tag;
use endseal_s3_protocol::S3Error;
use http::HeaderMap;
use http::header::{ETAG, HeaderValue, IF_RANGE, LAST_MODIFIED};

use crate::headers;

const CONDITIONS: [&str; 5] = [
    "if-match",
    "if-none-match",
    "if-range",
    "x-amz-copy-source-if-match",
    "x-amz-copy-source-if-none-match",
];

/// Returns true if there is any condition: most requests have none.
pub(super) fn are_any(headers: &HeaderMap) -> bool {
    let starts = |name: &str| name.starts_with("if-") || name.starts_with("x-amz-copy-source-if-");
    headers.keys().any(|name| starts(name.as_str()))
}

/// Makes one line of what comes as several: a list of tags may be spread over lines (RFC 9110,
/// 5.3), and a condition of which only the first is heeded lets a write pass that was not meant to.
///
/// `If-Range` is no list, but several of them are none that holds either.
///
/// # Errors
/// `InvalidArgument` for what cannot stand in an entity tag that a client was given.
pub(super) fn join(headers: &mut HeaderMap) -> Result<(), S3Error> {
    if !are_any(headers) {
        return Ok(());
    }
    for name in CONDITIONS {
        let lines = headers.get_all(name).iter().map(HeaderValue::to_str);
        let lines: Result<Vec<_>, _> = lines.collect();
        let lines = lines.map_err(|_| {
            S3Error::invalid_argument(format!("{name} has what no entity tag has."))
        })?;
        if lines.len() > 1 {
            let line = lines.join(", ");
            headers::insert(headers, name, &line)?;
        }
    }
    Ok(())
}

/// Translates the conditions of a request for the backend: each is [one line](join).
pub(super) fn to_backend(headers: &mut HeaderMap) {
    if !are_any(headers) {
        return;
    }
    for name in CONDITIONS {
        let Some(value) = headers.get(name).and_then(|value| value.to_str().ok()) else { continue };
        // A date, in `If-Range`.
        if name == "if-range" && !value.contains('"') {
            continue;
        }
        if let Ok(value) = HeaderValue::from_str(&entity_tag::list_to_backend(value)) {
            headers.insert(name, value);
        }
    }
}

/// Returns true if a request wants its range of the object that an answer of the backend is about:
/// `If-Range` has the tag that clients know, strongly compared, or the date that they were told
/// (RFC 9110, 13.1.5).
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

/// Conditions of a copy on its source, as those of a request that reads the source.
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

/// Translates the entity tag of an answer for the client.
pub(super) fn to_client(headers: &mut HeaderMap) {
    let Some(tag) = headers.get(ETAG).and_then(|value| value.to_str().ok()) else { return };
    if let Ok(value) = HeaderValue::try_from(entity_tag::to_client(tag)) {
        headers.insert(ETAG, value);
    }
}
