//! Fault of a maintenance operation.

use endseal_s3_protocol::S3Error;
use endseal_s3_protocol::xml::XmlError;
use http::StatusCode;

/// Reason why an operation failed: an S3 error code of the backend or the proxy, and a message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{code}: {message}")]
pub struct Fault {
    status: StatusCode,
    code: String,
    message: String,
}

impl Fault {
    pub(super) fn new(message: impl Into<String>) -> Self {
        let code = S3Error::internal().code().to_owned();
        Self { status: StatusCode::INTERNAL_SERVER_ERROR, code, message: message.into() }
    }

    /// Returns the S3 error code. If the backend sent none, it is derived from the status.
    #[must_use]
    pub fn code(&self) -> &str {
        &self.code
    }

    /// Returns the message of the backend, or of the proxy.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    pub(super) const fn status(&self) -> StatusCode {
        self.status
    }
}

impl From<S3Error> for Fault {
    fn from(error: S3Error) -> Self {
        Self {
            status: error.status(),
            code: error.code().to_owned(),
            message: error.cause().unwrap_or(error.message()).to_owned(),
        }
    }
}

/// Converts the error of a backend document that cannot be parsed.
impl From<XmlError> for Fault {
    fn from(error: XmlError) -> Self {
        Self::new(format!("the server's answer cannot be read: {}", error.reason()))
    }
}
