//! Content of a request: its length, its encoding and its digests.

use core::future::poll_fn;
use core::time::Duration;

use bytes::{Bytes, BytesMut};
use endseal_s3_protocol::S3Error;
use endseal_s3_protocol::aws_chunked::{Decoder, Limits};
use endseal_s3_protocol::checksum::Digests;
use endseal_s3_protocol::content::Step;
use endseal_s3_protocol::sigv4::Payload;
use http::header::CONTENT_LENGTH;
use http::{HeaderMap, HeaderName};
use tokio::time::timeout;

use crate::headers::{self, DECODED_LENGTH};
use crate::transfer::{Content, ContentSource, RequestBody};

/// Timeout for receiving a document of a request.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Returns the content of an upload with the length that the client announced.
///
/// # Errors
/// If the client announced no length, or its headers contradict each other.
pub(super) fn of(
    headers: &HeaderMap,
    payload: &Payload,
    body: Box<RequestBody>,
    digests: Digests,
) -> Result<Content, S3Error> {
    match Decoder::of_request(payload, headers, Limits::default())? {
        Some(decoder) => {
            let len = number(headers, &DECODED_LENGTH)?;
            let len = len.ok_or_else(S3Error::missing_length)?;
            Ok(Content::chunked(ContentSource::RequestBody(body), decoder, len, digests))
        }
        None => {
            let len = number(headers, &CONTENT_LENGTH)?;
            Ok(Content::plain(
                ContentSource::RequestBody(body),
                len.ok_or_else(S3Error::missing_length)?,
                digests,
            ))
        }
    }
}

/// Returns the digests of the content that the headers state.
///
/// # Errors
/// If a checksum is malformed.
pub(super) fn digests(headers: &HeaderMap, payload: &Payload) -> Result<Digests, S3Error> {
    Ok(Digests::of_request(headers, payload.sha256())?)
}

/// Reads a small content completely and checks its digests.
///
/// # Errors
/// If it is longer than `limit`, is received too slowly, or does not match its digests.
pub(super) async fn collect(content: Content, limit: u64) -> Result<Bytes, S3Error> {
    timeout(TIMEOUT, all(content, limit)).await.map_err(|_| S3Error::request_timeout())?
}

async fn all(mut content: Content, limit: u64) -> Result<Bytes, S3Error> {
    if content.len() > limit {
        return Err(S3Error::malformed_xml());
    }
    let mut all = BytesMut::new();
    loop {
        match poll_fn(|cx| content.poll_step(cx)).await? {
            Step::Piece(piece) => all.extend_from_slice(&piece),
            Step::End(_) => return Ok(all.freeze()),
        }
    }
}

fn number(headers: &HeaderMap, name: &HeaderName) -> Result<Option<u64>, S3Error> {
    match headers::text(headers, name) {
        None => Ok(None),
        Some(text) => text.parse().map(Some).map_err(|_| {
            S3Error::invalid_argument(format!("The header {name} is not a number."))
                .about_argument(name.as_str(), text)
        }),
    }
}
