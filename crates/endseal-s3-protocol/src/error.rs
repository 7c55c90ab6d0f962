//! Errors for clients: S3's codes.

use std::borrow::Cow;
use std::time::SystemTime;

use http::{HeaderMap, StatusCode};

use crate::sigv4::{SignatureError, Timestamp};

/// Greatest difference between the clocks of client and proxy, as error documents state it.
const MAX_SKEW_MILLISECONDS: &str = "900000";

/// A failed request: a code of S3's, its HTTP status, a message for people.
///
/// Nothing secret goes into a message: no keys, no signatures, no presigned queries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct S3Error {
    status: StatusCode,
    code: Cow<'static, str>,
    message: Cow<'static, str>,
    retry_after: Option<u32>,
    content_range: Option<u64>,
    extra: Option<Box<Extra>>,
    cause: Option<Box<str>>,
    kind: Option<&'static str>,
}

/// Parts of an error that most errors do not have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Extra {
    /// Headers of the backend's answer that are about the object.
    headers: HeaderMap,
    /// Elements of the document, such as `Region`, with their values.
    details: Vec<(&'static str, String)>,
}

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $status:ident $code:literal $message:literal;)*) => {
        impl S3Error {
            $($(#[$doc])* #[must_use] pub const fn $name() -> Self {
                Self::new(StatusCode::$status, $code, $message)
            })*
        }
    };
}

codes! {
    /// Neither signature nor permission to do without.
    access_denied = FORBIDDEN "AccessDenied" "Access Denied";
    /// The backend's answer makes no sense, or something here is broken.
    internal = INTERNAL_SERVER_ERROR "InternalError" "We encountered an internal error. Please try again.";
    /// The backend cannot be connected to, or it closed the connection too early.
    unavailable = SERVICE_UNAVAILABLE "ServiceUnavailable" "The storage behind the proxy is not available.";
    /// The backend refuses the signature or the account of the proxy. The client cannot change it.
    account_refused = SERVICE_UNAVAILABLE "ServiceUnavailable" "The storage behind the proxy does not accept the account of the proxy.";
    /// The key provider cannot be connected to.
    keys_unavailable = SERVICE_UNAVAILABLE "ServiceUnavailable" "The key provider is not available.";
    /// Too many requests at once.
    slow_down = SERVICE_UNAVAILABLE "SlowDown" "Please reduce your request rate.";
    /// The object in the bucket was changed, is another object's, or was sealed under another key.
    not_authentic = INTERNAL_SERVER_ERROR "ObjectNotAuthentic" "The object in the bucket does not authenticate: it was changed, moved, or sealed under another key.";
    /// The object in the bucket is plaintext, and the bucket's mode does not allow to read it.
    plaintext = FORBIDDEN "InvalidObjectState" "The object in the bucket is not sealed, and this bucket must hold sealed objects only.";
    /// The object in the bucket is sealed, has lost its header, and was written at another place.
    header_missing = FORBIDDEN "InvalidObjectState" "The object in the bucket is sealed, but its header is missing, and the copy in its body does not open here: the object was written at another place or under another key.";
    /// The proxy cannot do this with a sealed object.
    not_implemented = NOT_IMPLEMENTED "NotImplemented" "The proxy cannot do this with sealed objects.";
    /// A head beyond the limit.
    head_too_large = REQUEST_HEADER_FIELDS_TOO_LARGE "RequestHeaderSectionTooLarge" "Your request header exceeds the maximum allowed size.";
    /// A key that belongs to the proxy itself.
    reserved_key = FORBIDDEN "AccessDenied" "Keys that begin with .endseal/ belong to the proxy.";
    /// A method that the resource does not have.
    method_not_allowed = METHOD_NOT_ALLOWED "MethodNotAllowed" "The specified method is not allowed against this resource.";
    /// The request gives no length of its content.
    missing_length = LENGTH_REQUIRED "MissingContentLength" "You must provide the Content-Length HTTP header.";
    /// A body that is longer than one request may carry.
    too_large = BAD_REQUEST "EntityTooLarge" "Your proposed upload exceeds the maximum allowed object size.";
    /// A part below 5 MiB that is not the last.
    too_small = BAD_REQUEST "EntityTooSmall" "Your proposed upload is smaller than the minimum allowed object size.";
    /// The client's body ended early.
    incomplete_body = BAD_REQUEST "IncompleteBody" "You did not provide the number of bytes specified by the Content-Length HTTP header.";
    /// The client sent nothing for too long.
    request_timeout = BAD_REQUEST "RequestTimeout" "Your socket connection to the server was not read from or written to within the timeout period.";
    /// The checksum in the request is not that of the body.
    bad_digest = BAD_REQUEST "BadDigest" "The checksum you specified did not match what we received.";
    /// The hash in the signature is not that of the body.
    sha256_mismatch = BAD_REQUEST "XAmzContentSHA256Mismatch" "The provided 'x-amz-content-sha256' header does not match what was computed.";
    /// The body is not XML, or is another document than this operation needs.
    malformed_xml = BAD_REQUEST "MalformedXML" "The XML you provided was not well-formed or did not validate against our published schema.";
    /// The body is not a form.
    malformed_form = BAD_REQUEST "MalformedPOSTRequest" "The body of your POST request is not well-formed multipart/form-data.";
    /// A form with too much before its file.
    preamble_too_long = BAD_REQUEST "MaxPostPreDataLengthExceededError" "Your POST request fields preceding the upload file were too large.";
    /// A key that is longer than S3 allows once it is encrypted.
    key_too_long = BAD_REQUEST "KeyTooLongError" "Your key is too long: names in this bucket are encrypted, which makes n bytes between two slashes 4/3 (n + 16), and the key then has more than 1,024 bytes.";
    /// A path or query that cannot be read.
    invalid_uri = BAD_REQUEST "InvalidURI" "Couldn't parse the specified URI.";
    /// A name that no bucket can have.
    invalid_bucket = BAD_REQUEST "InvalidBucketName" "The specified bucket is not valid.";
    /// A key that belongs to the proxy itself.
    no_such_key = NOT_FOUND "NoSuchKey" "The specified key does not exist.";
    /// An upload id that this proxy did not give.
    no_such_upload = NOT_FOUND "NoSuchUpload" "The specified multipart upload does not exist. The upload ID might be invalid, or the multipart upload might have been aborted or completed.";
    /// A part that was not uploaded, or with another entity tag.
    invalid_part = BAD_REQUEST "InvalidPart" "One or more of the specified parts could not be found. The part might not have been uploaded, or the specified entity tag might not have matched the part's entity tag.";
    /// The parts of an upload are not in ascending order.
    invalid_part_order = BAD_REQUEST "InvalidPartOrder" "The list of parts was not in ascending order. Parts must be ordered by part number.";
    /// User metadata that do not fit beside the header of a sealed object.
    metadata_too_large = BAD_REQUEST "MetadataTooLarge" "Your metadata headers exceed the maximum allowed metadata size of 2,048 bytes, of which the header of a sealed object takes up to 550, and sealing a third of the rest.";
    /// A condition of a copy or a write that does not hold.
    precondition_failed = PRECONDITION_FAILED "PreconditionFailed" "At least one of the pre-conditions you specified did not hold.";
    /// Bytes beyond the object's end.
    invalid_range = RANGE_NOT_SATISFIABLE "InvalidRange" "The requested range is not satisfiable.";
    /// A part number beyond the object's last.
    invalid_part_number = RANGE_NOT_SATISFIABLE "InvalidPartNumber" "The requested partnumber is not satisfiable.";
    /// A copy of an object onto itself that changes nothing.
    illegal_copy = BAD_REQUEST "InvalidRequest" "This copy request is illegal because it is trying to copy an object to itself without changing the object's metadata, storage class, website redirect location or encryption attributes.";
}

impl S3Error {
    /// An error with a code of one's own.
    #[must_use]
    pub const fn new(status: StatusCode, code: &'static str, message: &'static str) -> Self {
        Self {
            status,
            code: Cow::Borrowed(code),
            message: Cow::Borrowed(message),
            retry_after: None,
            content_range: None,
            extra: None,
            cause: None,
            kind: None,
        }
    }

    /// An error that the backend answered with.
    #[must_use]
    pub fn of_backend(status: StatusCode, code: String, message: String) -> Self {
        let mut own = Self::new(status, "", "").with_message(message);
        own.code = Cow::Owned(code);
        own
    }

    /// The backend's answer could not be understood. The cause is for the log.
    #[must_use]
    pub fn bad_gateway(cause: impl Into<Box<str>>) -> Self {
        let message = "The storage behind the proxy gave an answer that is not one of S3.";
        Self::new(StatusCode::BAD_GATEWAY, "BadGateway", message).because("backend_status", cause)
    }

    /// The backend's document could not be read. What is wrong with it is for the log.
    #[must_use]
    pub fn unreadable(error: &crate::xml::XmlError) -> Self {
        let cause = format!("the backend's document cannot be read: {}", error.reason());
        Self::bad_gateway("").because("invalid_response", cause)
    }

    fn told(status: u16, code: &'static str, error: &dyn core::fmt::Display) -> Self {
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_REQUEST);
        Self::new(status, code, "").with_message(error.to_string())
    }

    /// A request that makes no sense, and why.
    #[must_use]
    pub fn invalid_argument(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "InvalidArgument", "").with_message(message)
    }

    /// An upload whose parts have another length together than its client says.
    #[must_use]
    pub fn other_object_size() -> Self {
        Self::invalid_request("The value of x-amz-mp-object-size does not match the parts.")
    }

    /// A request that cannot be served as it is, and why.
    #[must_use]
    pub fn invalid_request(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "InvalidRequest", "").with_message(message)
    }

    /// The same error with another message.
    #[must_use]
    pub fn with_message(mut self, message: impl Into<Cow<'static, str>>) -> Self {
        self.message = message.into();
        self
    }

    /// The same error, with kind and text of its cause for the log.
    #[must_use]
    pub fn because(mut self, kind: &'static str, cause: impl Into<Box<str>>) -> Self {
        self.kind = Some(kind);
        self.cause = Some(cause.into());
        self
    }

    /// The same error, with headers for the client.
    #[must_use]
    pub fn with_headers(mut self, headers: HeaderMap) -> Self {
        if !headers.is_empty() {
            self.extra.get_or_insert_default().headers = headers;
        }
        self
    }

    /// The same error, with an element for its document that S3 defines for this code. The value
    /// MUST be known to the client: no name or secret of the backend.
    #[must_use]
    pub fn with_detail(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.extra.get_or_insert_default().details.push((name, value.into()));
        self
    }

    /// The same error, with the name and value of the header or parameter that was refused.
    #[must_use]
    pub fn about_argument(self, name: &str, value: &str) -> Self {
        self.with_detail("ArgumentName", name).with_detail("ArgumentValue", value)
    }

    /// The same error, with the seconds after which to try again.
    #[must_use]
    pub const fn with_retry_after(mut self, seconds: u32) -> Self {
        self.retry_after = Some(seconds);
        self
    }

    /// The same error, with the length of the content in `Content-Range`.
    #[must_use]
    pub const fn with_content_len(mut self, len: u64) -> Self {
        self.content_range = Some(len);
        self
    }

    /// The HTTP status of the response.
    #[must_use]
    pub const fn status(&self) -> StatusCode {
        self.status
    }

    /// The error code of S3, such as `NoSuchKey`.
    #[must_use]
    pub fn code(&self) -> &str {
        &self.code
    }

    /// The message for people, which clients print.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The cause, for the log alone.
    #[must_use]
    pub fn cause(&self) -> Option<&str> {
        self.cause.as_deref()
    }

    /// The kind of the cause, for the log alone.
    #[must_use]
    pub const fn kind(&self) -> Option<&'static str> {
        self.kind
    }

    /// Further headers of the response, if there are any.
    #[must_use]
    pub fn headers(&self) -> Option<&HeaderMap> {
        self.extra.as_ref().map(|extra| &extra.headers).filter(|headers| !headers.is_empty())
    }

    /// Further elements of the document, with their values.
    #[must_use]
    pub fn details(&self) -> &[(&'static str, String)] {
        self.extra.as_ref().map_or(&[], |extra| &extra.details)
    }

    /// After how many seconds to try again, if that is known.
    #[must_use]
    pub const fn retry_after(&self) -> Option<u32> {
        self.retry_after
    }

    /// The length of the content, for an unsatisfiable range.
    #[must_use]
    pub const fn content_len(&self) -> Option<u64> {
        self.content_range
    }
}

impl From<crate::aws_chunked::ChunkError> for S3Error {
    fn from(error: crate::aws_chunked::ChunkError) -> Self {
        Self::told(error.status(), error.code(), &error)
    }
}

impl From<crate::checksum::ChecksumError> for S3Error {
    fn from(error: crate::checksum::ChecksumError) -> Self {
        Self::told(error.status(), error.code(), &error)
    }
}

impl From<SignatureError> for S3Error {
    fn from(error: SignatureError) -> Self {
        let own = Self::told(error.status(), error.code(), &error);
        let now = || Timestamp::of(SystemTime::now()).to_iso();
        match error {
            SignatureError::WrongRegion { expected, .. } => own.with_detail("Region", expected),
            SignatureError::Skewed => own
                .with_detail("ServerTime", now())
                .with_detail("MaxAllowedSkewMilliseconds", MAX_SKEW_MILLISECONDS),
            SignatureError::Expired | SignatureError::NotYetValid => {
                own.with_detail("ServerTime", now())
            }
            _ => own,
        }
    }
}

impl From<crate::xml::XmlError> for S3Error {
    fn from(error: crate::xml::XmlError) -> Self {
        Self::told(error.status(), error.code(), &error)
    }
}

impl core::fmt::Display for S3Error {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

impl core::error::Error for S3Error {}
