//! Statuses of the backend that are accepted, by operation.
//!
//! The backend is only trusted with availability. Every response is checked here against an allow
//! list before a handler sees it: successes that the operation defines, 304 and 412 if the request
//! has a condition, and other errors from 400 to 599. Handlers get successes. Errors become an
//! [`S3Error`] with the code and message of the backend's document. Any other status is an error of
//! the backend: a redirect could make the client send plaintext elsewhere, and an undefined success
//! could make it accept unauthenticated bytes as an object.

use core::time::Duration;

use endseal_s3_format::entity_tag;
use endseal_s3_protocol::Operation;
use endseal_s3_protocol::S3Error;
use endseal_s3_protocol::Target;
use endseal_s3_protocol::xml::{Fields, XmlError};
use http::header::{CONTENT_LENGTH, ETAG, RANGE, RETRY_AFTER};
use http::response::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode};
use tokio::time::timeout;

use super::{account_refusal, read};
use crate::headers;
use crate::transfer::Outgoing;
use crate::upstream::ResponseBody;

/// Maximum size in bytes of an error document that is read.
const MAX_ERROR: usize = 64 * 1024;

/// Maximum size in bytes of a body that is read and discarded to keep its connection.
const MAX_DROPPED: usize = 64 * 1024;

/// Timeout for reading either of them.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum length of a backend's error code and message that clients see, in characters.
const MAX_CODE: usize = 64;
const MAX_MESSAGE: usize = 1_024;

/// Headers of an error or of status 304 that are passed on: those about the object and about
/// allowed requests.
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

/// Statuses with which the backend may respond to a request.
pub(crate) struct Verdict {
    operation: Operation,
    successes: &'static [u16],
    is_conditional: bool,
    is_read: bool,
    /// Error code for status 404 without an error document.
    not_found: &'static str,
}

impl Verdict {
    /// Returns the accepted statuses for a request to the backend.
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

    /// Returns a response that is a success of the operation.
    ///
    /// # Errors
    /// The error that the backend responded with, or `BadGateway` for a status that the operation
    /// does not define.
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

    /// Converts an error response into an error whose document the proxy writes.
    async fn error(&self, response: Response<ResponseBody>) -> S3Error {
        let (head, body) = response.into_parts();
        let document = match timeout(TIMEOUT, read(body, MAX_ERROR)).await {
            Ok(Ok(document)) => document,
            // The status is sufficient.
            _ => bytes::Bytes::new(),
        };
        let mut error = self.named(head.status, Fields::read(&document).unwrap_or_default());
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
        // The backend's message may repeat the request with its signature, so it is not logged.
        let cause = format!("the backend answered {} with {status} {code}", self.operation.name());
        if let Some(error) = account_refusal::refusal(&code, &cause) {
            return error;
        }
        let mut error = S3Error::of_backend(status, code, message);
        if let Some(name) = fields.argument_name {
            error = error.with_detail("ArgumentName", name);
        }
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

/// Returns the success statuses that S3 defines for an operation.
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
        // S3 responds with 204; some servers respond with 200.
        Operation::AbortMultipartUpload => &[200, 204],
        Operation::Other => match *method {
            Method::DELETE | Method::OPTIONS => &[200, 204],
            // Bucket settings are answered with either of them, depending on the setting.
            Method::PUT if target.key().is_none() && sets => &[200, 204],
            // 202 is the status of a restoration that has started.
            Method::POST if target.key().is_some() => &[200, 202],
            _ => &[200],
        },
        // The proxy sends none of these to the backend.
        Operation::PostObject | Operation::NotOnSealed => &[],
    }
}

/// Returns true for a condition header that can lead to status 304 or 412.
fn is_condition(name: &HeaderName) -> bool {
    let name = name.as_str();
    name != "if-range"
        && ["if-", "x-amz-if-match", "x-amz-copy-source-if-"]
            .iter()
            .any(|prefix| name.starts_with(prefix))
}

/// Returns true if a text has the form of an S3 error code.
fn is_code(code: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    (1..=MAX_CODE).contains(&code.len()) && code.bytes().all(is_allowed)
}

/// Converts an error document that arrived with status 200. S3 can send it if a long operation
/// fails after the response has started.
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

/// Checks that the document about a new object or part has its entity tag. The root element is not
/// compared, because servers name it differently.
///
/// # Errors
/// `BadGateway` if the document has no entity tag, so that it is another one.
pub(crate) fn expect_etag(fields: &Fields) -> Result<(), S3Error> {
    match fields.etag {
        Some(_) => Ok(()),
        None => Err(S3Error::unreadable(&XmlError::Missing("ETag"))),
    }
}

/// Returns the backend's response with its body unchanged. The caller MUST have checked that this
/// is allowed: for plaintext by the bucket's rule, and for bucket settings.
pub(crate) fn relay(response: Response<ResponseBody>) -> Response<Outgoing> {
    let (mut head, body) = response.into_parts();
    headers::keep_returned(&mut head.headers);
    Response::from_parts(head, Outgoing::backend(body))
}

/// Returns the backend's response without its body, for operations that have none.
pub(crate) async fn without_body(response: Response<ResponseBody>) -> Response<Outgoing> {
    let (mut head, body) = response.into_parts();
    // The body is read to its end so that the connection can be reused. If that takes too long, the
    // connection is closed.
    let _ = timeout(TIMEOUT, read(body, MAX_DROPPED)).await;
    headers::keep_returned(&mut head.headers);
    head.headers.remove(CONTENT_LENGTH);
    Response::from_parts(head, Outgoing::empty())
}

/// Returns a response with a document that the proxy has rewritten.
pub(crate) fn with_document(mut head: Parts, document: Vec<u8>) -> Response<Outgoing> {
    headers::keep_returned(&mut head.headers);
    head.headers.remove(CONTENT_LENGTH);
    Response::from_parts(head, Outgoing::full(document))
}
