//! Error responses with an XML document, as in S3.

use endseal_s3_protocol::S3Error;
use endseal_s3_protocol::xml::ErrorDocument;
use http::header::{CONTENT_RANGE, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use http::{Response, StatusCode};

use crate::transfer::Outgoing;

/// Builds the response for an error. Responses to `HEAD` and with status 304 have no body.
pub(crate) fn of(
    error: &S3Error,
    resource: Option<&str>,
    request_id: &str,
    is_head: bool,
) -> Response<Outgoing> {
    let has_body = !is_head && error.status() != StatusCode::NOT_MODIFIED;
    let body = if has_body {
        let document = ErrorDocument {
            code: error.code(),
            message: error.message(),
            resource: resource.unwrap_or("/"),
            request_id,
            more: &[],
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
