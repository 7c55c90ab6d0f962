//! Why something was not done.

use core::fmt;

use http::{Response, StatusCode};

use crate::client::ResponseBody;
use crate::error::S3Error;
use crate::proxy::read;
use crate::xml::{Fields, XmlError};

/// A document with an error.
const MAX_ERROR: usize = 64 * 1024;

/// Why something was not done: a code of S3's, the backend's or the proxy's, and words.
#[derive(Clone, Debug, PartialEq, Eq)]
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

    /// What an answer says that is no success.
    pub(super) async fn of(response: Response<ResponseBody>) -> Self {
        let (head, body) = response.into_parts();
        let document = read(body, MAX_ERROR).await.unwrap_or_default();
        let fields = Fields::read(&document).unwrap_or_default();
        Self::of_fields(head.status, fields)
    }

    /// What a document says, which may come with a success.
    pub(super) fn of_fields(status: StatusCode, fields: Fields) -> Self {
        let code = fields.code.unwrap_or_else(|| status.as_u16().to_string());
        let known = || status.canonical_reason().unwrap_or("the server refused").to_owned();
        Self { status, code, message: fields.message.unwrap_or_else(known) }
    }

    /// S3's code, or the status where there is none: answers to `HEAD` have no document.
    #[must_use]
    pub fn code(&self) -> &str {
        &self.code
    }

    /// The backend's words, or ours.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    pub(super) const fn status(&self) -> StatusCode {
        self.status
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

impl core::error::Error for Fault {}

impl From<S3Error> for Fault {
    fn from(error: S3Error) -> Self {
        Self {
            status: error.status(),
            code: error.code().to_owned(),
            message: error.message().to_owned(),
        }
    }
}

/// A document of the backend's that cannot be read.
impl From<XmlError> for Fault {
    fn from(error: XmlError) -> Self {
        Self::new(format!("the server's answer cannot be read: {error}"))
    }
}
