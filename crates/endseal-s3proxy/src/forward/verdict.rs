//! Statuses of the backend that count, by operation.
//!
//! The backend is trusted with availability alone. Every answer passes here on its way to a
//! handler, and what passes is a list: successes that the operation defines, 304 and 412 if a
//! condition was asked, other errors of 400 to 599. Handlers see the successes. Errors become an
//! [`S3Error`], of whose document the proxy takes code and message. Any other status is an error of
//! the backend: a redirect could have the client send plaintext elsewhere, and a success without a
//! meaning could have it take foreign bytes for an object.

use core::time::Duration;

use endseal_s3_format::entity_tag;
use endseal_s3_protocol::Operation;
use endseal_s3_protocol::S3Error;
use endseal_s3_protocol::Target;
use endseal_s3_protocol::xml::Fields;
use http::header::{CONTENT_LENGTH, ETAG, RANGE, RETRY_AFTER};
use http::response::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode};
use tokio::time::timeout;

use super::read;
use crate::headers;
use crate::transfer::Outgoing;
use crate::upstream::ResponseBody;

/// Longest document with an error that is read.
const MAX_ERROR: usize = 64 * 1024;

/// Longest body that is read and dropped to keep its connection.
const MAX_DROPPED: usize = 64 * 1024;

/// Longest time for either.
const PATIENCE: Duration = Duration::from_secs(10);

/// Longest code and message of the backend's that clients see, in characters.
const MAX_CODE: usize = 64;
const MAX_MESSAGE: usize = 1_024;

/// Headers of an error or of status 304 that are about the object, or about what may be asked.
const TOLD: [&str; 11] = [
    "access-control-allow-credentials",
    "access-control-allow-origin",
    "access-control-expose-headers",
    "allow",
    "cache-control",
    "etag",
    "expires",
    "last-modified",
    "vary",
    "x-amz-delete-marker",
    "x-amz-version-id",
];

/// The statuses that a request to the backend may be answered with.
pub(crate) struct Verdict {
    operation: Operation,
    successes: &'static [u16],
    is_conditional: bool,
    is_read: bool,
    /// Code of status 404 without a document.
    not_found: &'static str,
}

impl Verdict {
    /// The statuses for a request to the backend.
    pub(crate) fn of(method: &Method, target: &Target, headers: &HeaderMap) -> Self {
        let operation = Operation::of(method, target, headers);
        let is_range = headers.contains_key(RANGE) || target.query().has("partNumber");
        let not_found = match target.key() {
            Some(_) if target.query().has("uploadId") => "NoSuchUpload",
            Some(_) => "NoSuchKey",
            None => "NoSuchBucket",
        };
        Self {
            operation,
            successes: successes(operation, method, target, is_range),
            is_conditional: headers.keys().any(is_condition),
            is_read: matches!(*method, Method::GET | Method::HEAD),
            not_found,
        }
    }

    /// Gives an answer that is a success of the operation.
    ///
    /// # Errors
    /// The error that the backend answered with, or `BadGateway` for a status that the operation
    /// does not have.
    pub(crate) async fn on(
        self,
        response: Response<ResponseBody>,
    ) -> Result<Response<ResponseBody>, S3Error> {
        let status = response.status().as_u16();
        let is_error = match status {
            304 => self.is_conditional && self.is_read,
            412 => self.is_conditional,
            _ => matches!(status, 400..=599),
        };
        match self.successes.contains(&status) {
            true => Ok(response),
            false if is_error => Err(self.error(response).await),
            false => {
                let name = self.operation.name();
                Err(S3Error::bad_gateway(format!("the backend answered {name} with {status}")))
            }
        }
    }

    /// The error of an answer, with a document written anew.
    async fn error(&self, response: Response<ResponseBody>) -> S3Error {
        let (head, body) = response.into_parts();
        let document = match timeout(PATIENCE, read(body, MAX_ERROR)).await {
            Ok(Ok(document)) => document,
            // The status says enough.
            _ => bytes::Bytes::new(),
        };
        let fields = Fields::read(&document).ok().filter(|fields| fields.root == "Error");
        let mut error = self.named(head.status, fields.unwrap_or_default());
        let mut told = HeaderMap::new();
        for name in TOLD {
            if let Some(value) = head.headers.get(name) {
                told.insert(HeaderName::from_static(name), value.clone());
            }
        }
        let tag = headers::text(&told, ETAG).map(entity_tag::to_client);
        if let Some(Ok(tag)) = tag.map(HeaderValue::try_from) {
            told.insert(ETAG, tag);
        }
        if let Some(seconds) = headers::text(&head.headers, RETRY_AFTER)
            && let Ok(seconds) = seconds.parse()
        {
            error = error.with_retry_after(seconds);
        }
        error.with_headers(told)
    }

    fn named(&self, status: StatusCode, fields: Fields) -> S3Error {
        let code = fields.code.filter(|code| is_code(code));
        let code = code.unwrap_or_else(|| self.code_of(status).to_owned());
        let message = fields.message.map(|text| text.chars().take(MAX_MESSAGE).collect());
        let message = message.unwrap_or_else(|| {
            status.canonical_reason().unwrap_or("The backend refused the request.").to_owned()
        });
        // What the backend says in words may repeat what it was asked, with a signature in it.
        let cause = format!("the backend answered {} with {status} {code}", self.operation.name());
        let error = S3Error::of_backend(status, code, message);
        match status.as_u16() {
            401 | 403 | 429 | 500..=599 => error.because("backend_status", cause),
            _ => error,
        }
    }

    const fn code_of(&self, status: StatusCode) -> &'static str {
        match status.as_u16() {
            304 => "NotModified",
            400 => "InvalidRequest",
            401 | 403 => "AccessDenied",
            404 => self.not_found,
            405 => "MethodNotAllowed",
            408 => "RequestTimeout",
            409 => "OperationAborted",
            411 => "MissingContentLength",
            412 => "PreconditionFailed",
            413 => "EntityTooLarge",
            416 => "InvalidRange",
            429 => "SlowDown",
            501 => "NotImplemented",
            503 => "ServiceUnavailable",
            500..=599 => "InternalError",
            _ => "InvalidRequest",
        }
    }
}

/// Successes that S3 defines for an operation.
fn successes(
    operation: Operation,
    method: &Method,
    target: &Target,
    is_range: bool,
) -> &'static [u16] {
    let sets = target.query().names().any(|name| name != "x-id");
    match operation {
        Operation::GetObject | Operation::HeadObject if is_range => &[200, 206],
        Operation::GetObject
        | Operation::HeadObject
        | Operation::GetObjectAttributes
        | Operation::PutObject
        | Operation::CopyObject
        | Operation::CreateMultipartUpload
        | Operation::UploadPart
        | Operation::UploadPartCopy
        | Operation::CompleteMultipartUpload
        | Operation::ListParts
        | Operation::ListObjects
        | Operation::ListObjectVersions
        | Operation::DeleteObjects => &[200],
        // S3 answers with 204; a server that answers with 200 says the same.
        Operation::AbortMultipartUpload => &[200, 204],
        Operation::Other => match *method {
            Method::DELETE | Method::OPTIONS => &[200, 204],
            // Of settings of a bucket, some with the one and some with the other.
            Method::PUT if target.key().is_none() && sets => &[200, 204],
            // Of a restoration that begins.
            Method::POST if target.key().is_some() => &[200, 202],
            _ => &[200],
        },
        // The proxy sends none of these.
        Operation::PostObject | Operation::NotOnSealed => &[],
    }
}

/// Returns true for a header that may be why the backend answers with 304 or 412.
fn is_condition(name: &HeaderName) -> bool {
    let name = name.as_str();
    name != "if-range"
        && ["if-", "x-amz-if-match", "x-amz-copy-source-if-"]
            .iter()
            .any(|prefix| name.starts_with(prefix))
}

/// Returns true for what can be a code of S3's.
fn is_code(code: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    (1..=MAX_CODE).contains(&code.len()) && code.bytes().all(is_allowed)
}

/// The error of a document that came with status 200: S3 may find out that it cannot do what takes
/// long after it has begun to answer.
pub(crate) fn late_error(fields: Fields) -> S3Error {
    let status = match fields.code.as_deref() {
        Some("PreconditionFailed") => StatusCode::PRECONDITION_FAILED,
        Some("ConditionalRequestConflict" | "OperationAborted") => StatusCode::CONFLICT,
        Some("NoSuchUpload" | "NoSuchKey" | "NoSuchBucket") => StatusCode::NOT_FOUND,
        Some("AccessDenied") => StatusCode::FORBIDDEN,
        Some("InvalidPart" | "InvalidPartOrder" | "EntityTooSmall" | "InvalidRequest") => {
            StatusCode::BAD_REQUEST
        }
        Some("SlowDown" | "ServiceUnavailable") => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    };
    let code = fields.code.filter(|code| is_code(code)).unwrap_or_else(|| "InternalError".into());
    let message = fields.message.unwrap_or_default().chars().take(MAX_MESSAGE).collect();
    S3Error::of_backend(status, code, message)
}

/// An answer with the backend's body: plaintext where the bucket's rule allows it, and settings,
/// which are the backend's word. The caller MUST have found that it is one of these.
pub(crate) fn relay(response: Response<ResponseBody>) -> Response<Outgoing> {
    let (mut head, body) = response.into_parts();
    headers::keep_returned(&mut head.headers);
    Response::from_parts(head, Outgoing::backend(body))
}

/// An answer without a body, of an operation that has none.
pub(crate) async fn without_body(response: Response<ResponseBody>) -> Response<Outgoing> {
    let (mut head, body) = response.into_parts();
    // To its end, so that the connection serves again. If that takes too much, it ends.
    let _ = timeout(PATIENCE, read(body, MAX_DROPPED)).await;
    headers::keep_returned(&mut head.headers);
    head.headers.remove(CONTENT_LENGTH);
    Response::from_parts(head, Outgoing::empty())
}

/// An answer with a document that the proxy has read and written.
pub(crate) fn with_document(mut head: Parts, document: Vec<u8>) -> Response<Outgoing> {
    headers::keep_returned(&mut head.headers);
    head.headers.remove(CONTENT_LENGTH);
    Response::from_parts(head, Outgoing::full(document))
}
