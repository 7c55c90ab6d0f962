//! Conditions on entity tags, between what clients and what the backend call an object.

use http::HeaderMap;
use http::header::{ETAG, HeaderValue};

use crate::object::entity_tag;

const CONDITIONS: [&str; 5] = [
    "if-match",
    "if-none-match",
    "if-range",
    "x-amz-copy-source-if-match",
    "x-amz-copy-source-if-none-match",
];

/// Translates the conditions of a request for the backend.
pub(super) fn to_backend(headers: &mut HeaderMap) {
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
    if let Ok(value) = HeaderValue::from_str(&entity_tag::to_client(tag)) {
        headers.insert(ETAG, value);
    }
}
