//! Headers of a request about its chunks.

use http::header::CONTENT_ENCODING;
use http::{HeaderMap, HeaderName};

use super::{ChunkError, Decoder, Form, Limits};
use crate::headers::{AMZ_TRAILER, DECODED_LENGTH};
use crate::sigv4::Payload;

/// Trailers that a request may announce. S3 knows one.
const MAX_TRAILERS: usize = 8;

impl Decoder {
    /// The decoder of a request's content, or `None` if it does not come in chunks.
    ///
    /// # Errors
    /// [`ChunkError::MissingLength`], [`ChunkError::MalformedTrailer`].
    pub fn of_request(
        payload: &Payload,
        headers: &HeaderMap,
        limits: Limits,
    ) -> Result<Option<Self>, ChunkError> {
        let form = match payload {
            Payload::StreamingSigned { seed, trailer: false } => Form::Signed(seed.clone()),
            Payload::StreamingSigned { seed, trailer: true } => Form::SignedTrailer(seed.clone()),
            Payload::StreamingUnsignedTrailer => Form::Unsigned,
            Payload::Unsigned | Payload::Sha256(_) if is_encoded(headers) => Form::Unsigned,
            Payload::Unsigned | Payload::Sha256(_) => return Ok(None),
        };
        let mut lengths = headers.get_all(DECODED_LENGTH).iter();
        let length = match (lengths.next(), lengths.next()) {
            (Some(length), None) => length.to_str().ok().and_then(decimal),
            _ => None,
        };
        let length = length.ok_or(ChunkError::MissingLength)?;
        Ok(Some(Self::new(form, length, announced(headers)?, limits)))
    }
}

/// `content-encoding` without `aws-chunked`, which is no encoding of the object; `None` if nothing
/// remains.
#[must_use]
pub fn content_encoding(headers: &HeaderMap) -> Option<String> {
    let rest: Vec<&str> = encodings(headers).filter(|it| !is_chunked(it)).collect();
    (!rest.is_empty()).then(|| rest.join(","))
}

fn is_encoded(headers: &HeaderMap) -> bool {
    encodings(headers).any(is_chunked)
}

fn is_chunked(encoding: impl AsRef<str>) -> bool {
    encoding.as_ref().eq_ignore_ascii_case("aws-chunked")
}

fn encodings(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let values = headers.get_all(CONTENT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).map(str::trim).filter(|it| !it.is_empty())
}

fn announced(headers: &HeaderMap) -> Result<Vec<HeaderName>, ChunkError> {
    let mut names = Vec::new();
    for value in headers.get_all(AMZ_TRAILER) {
        let value = value.to_str().map_err(|_| ChunkError::MalformedTrailer)?;
        for name in value.split(',').map(str::trim).filter(|it| !it.is_empty()) {
            let name = HeaderName::from_bytes(name.as_bytes());
            let name = name.map_err(|_| ChunkError::MalformedTrailer)?;
            if names.len() == MAX_TRAILERS || names.contains(&name) {
                return Err(ChunkError::MalformedTrailer);
            }
            names.push(name);
        }
    }
    Ok(names)
}

fn decimal(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}
