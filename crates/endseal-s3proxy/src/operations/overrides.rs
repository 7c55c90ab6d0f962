//! Response header overrides: `response-content-type` and the like in the query of a read.

use endseal_s3_protocol::{Query, S3Error};
use http::header::{
    CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_ENCODING, CONTENT_LANGUAGE, CONTENT_TYPE, EXPIRES,
};
use http::{HeaderMap, HeaderName, HeaderValue};

/// Parameters and the headers that they set.
const PARAMETERS: [(&str, HeaderName); 6] = [
    ("response-cache-control", CACHE_CONTROL),
    ("response-content-disposition", CONTENT_DISPOSITION),
    ("response-content-encoding", CONTENT_ENCODING),
    ("response-content-language", CONTENT_LANGUAGE),
    ("response-content-type", CONTENT_TYPE),
    ("response-expires", EXPIRES),
];

/// Headers that a client has asked for in the place of those of the object.
///
/// The backend sets them, too, but what it returns is not authentic where the headers of the object
/// are sealed.
#[derive(Clone, Default)]
pub(super) struct Overrides(Vec<(HeaderName, HeaderValue)>);

impl Overrides {
    /// Reads the parameters of a query.
    ///
    /// # Errors
    /// `InvalidArgument` for a value that no header can have.
    pub(super) fn of(query: &Query) -> Result<Self, S3Error> {
        let mut headers = Vec::new();
        for (parameter, name) in PARAMETERS {
            if let Some(value) = query.get(parameter) {
                let value = HeaderValue::from_str(value).map_err(|_| {
                    S3Error::invalid_argument("A response header override is no header value.")
                })?;
                headers.push((name, value));
            }
        }
        Ok(Self(headers))
    }

    /// Sets the headers.
    pub(super) fn set(&self, headers: &mut HeaderMap) {
        for (name, value) in &self.0 {
            headers.insert(name.clone(), value.clone());
        }
    }
}
