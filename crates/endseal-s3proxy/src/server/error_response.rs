//! Error responses with an XML document, as in S3.

use endseal_s3_protocol::xml::ErrorDocument;
use endseal_s3_protocol::{S3Error, Target};
use http::header::{CONTENT_RANGE, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use http::{Response, StatusCode};

use super::error_details::RequestFacts;
use crate::context::AccessLog;
use crate::transfer::Outgoing;

/// Number of digits of a request id that identify the process.
const PROCESS: usize = 16;

/// Builds the response for an error. Responses to `HEAD` and with status 304 have no body.
pub(super) fn of(
    error: &S3Error,
    facts: &RequestFacts,
    seen: &AccessLog,
    request_id: &str,
) -> Response<Outgoing> {
    let has_body = !facts.is_head() && error.status() != StatusCode::NOT_MODIFIED;
    let body = if has_body {
        let resource = seen.target.as_ref().map(Target::path);
        let details = facts.details(error, seen);
        let mut more: Vec<_> =
            details.iter().map(|(name, value)| (*name, value.as_str())).collect();
        more.extend(request_id.get(..PROCESS).map(|process| ("HostId", process)));
        let document = ErrorDocument {
            code: error.code(),
            message: error.message(),
            resource: resource.as_deref().unwrap_or("/"),
            request_id,
            more: &more,
        };
        Outgoing::full(document.to_xml())
    } else {
        Outgoing::empty()
    };
    let mut response = Response::new(body);
    *response.status_mut() = error.status();
    if let Some(own) = error.headers() {
        *response.headers_mut() = own.clone();
    }
    let headers = response.headers_mut();
    if has_body {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/xml"));
    }
    if let Some(seconds) = error.retry_after() {
        headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    if let Some(len) = error.content_len()
        && let Ok(value) = HeaderValue::from_str(&format!("bytes */{len}"))
    {
        headers.insert(CONTENT_RANGE, value);
    }
    response
}
