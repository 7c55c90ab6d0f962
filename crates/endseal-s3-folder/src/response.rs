//! Responses without a body, with a document, and those that tell an error.

use endseal_s3_protocol::S3Error;
use endseal_s3_protocol::xml::{self, ErrorDocument};
use http::{HeaderValue, Response, StatusCode};

use crate::reading::Reply;

/// The answer that tells an error.
pub(crate) fn refusal(error: &S3Error, resource: &str, is_head: bool) -> Response<Reply> {
    let has_body = !is_head && error.status() != StatusCode::NOT_MODIFIED;
    let mut response = Response::new(Reply::empty());
    *response.status_mut() = error.status();
    if has_body {
        let document = ErrorDocument {
            code: error.code(),
            message: error.message(),
            resource,
            request_id: "folder",
            more: &[],
        };
        *response.body_mut() = Reply::Full(document.to_xml().into());
        set(&mut response, "content-type", "application/xml");
    }
    if let Some(len) = error.content_len() {
        set(&mut response, "content-range", &format!("bytes */{len}"));
    }
    response
}

/// Sets a header; what cannot stand in one is left out.
pub(crate) fn set(response: &mut Response<Reply>, name: &'static str, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        response.headers_mut().insert(name, value);
    }
}

/// An answer without a body.
pub(crate) fn empty(status: StatusCode) -> Response<Reply> {
    let mut response = Response::new(Reply::empty());
    *response.status_mut() = status;
    response
}

/// An answer with a document.
pub(crate) fn document(document: xml::Builder) -> Response<Reply> {
    let mut response = Response::new(Reply::Full(document.finish().into()));
    set(&mut response, "content-type", "application/xml");
    response
}
