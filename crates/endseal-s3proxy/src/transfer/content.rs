//! Content to be sealed, from an upload or from another object.

use core::future::poll_fn;
use core::time::Duration;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use endseal_s3_protocol::S3Error;
use endseal_s3_protocol::checksum::Outcome;
use endseal_s3_protocol::content::{self, Pieces, Step};
use http_body::{Body as _, Frame};
use tokio::time;

use crate::transfer::{Converted, FormFile, Opened, RequestBody};
use crate::upstream::{ResponseBody, SourceError};

/// Content with its digests, from any source.
pub(crate) type Content = content::Content<ContentSource>;

/// Source of content.
pub(crate) enum ContentSource {
    /// Body of a client's request.
    RequestBody(Box<RequestBody>),
    /// Another sealed object, or a range of it, that is opened.
    Opened(Box<Opened>),
    /// Object of the backend that is not sealed.
    Backend(Box<ResponseBody>),
    /// Object of the backend that another system sealed.
    Converted(Converted),
    /// File of a form.
    Form(Box<FormFile>),
}

/// Reads a small content completely and checks the digests of the request. Returns the bytes and
/// the digests. `timeout` is the timeout for each chunk.
///
/// # Errors
/// The same errors as [`Content::poll_step`], and `RequestTimeout`.
pub(crate) async fn whole(
    mut content: Content,
    timeout: Duration,
) -> Result<(Bytes, Outcome), S3Error> {
    let len = content.len();
    let mut first = Bytes::new();
    let mut all = BytesMut::new();
    let outcome = loop {
        // Usually the content arrived together with the headers, so no timer is needed.
        let step = match poll_fn(|cx| Poll::Ready(content.poll_step(cx))).await {
            Poll::Ready(step) => step,
            Poll::Pending => {
                let step = poll_fn(|cx| content.poll_step(cx));
                Box::pin(time::timeout(timeout, step))
                    .await
                    .map_err(|_| S3Error::request_timeout())?
            }
        };
        match step? {
            // It need not be copied, because it does not keep a larger buffer alive.
            Step::Piece(piece) if piece.len() as u64 == len => first = piece,
            Step::Piece(piece) => {
                if all.is_empty() {
                    all.reserve(usize::try_from(len).map_err(|_| S3Error::too_large())?);
                }
                all.extend_from_slice(&piece);
            }
            Step::End(outcome) => break outcome,
        }
    };
    Ok((if all.is_empty() { first } else { all.freeze() }, outcome))
}

/// Converts a chunk into a frame of a request body.
pub(super) fn frame(
    piece: Option<Result<Bytes, S3Error>>,
) -> Option<Result<Frame<Bytes>, SourceError>> {
    Some(match piece? {
        Ok(data) => Ok(Frame::data(data)),
        Err(error) => Err(Box::new(error)),
    })
}

impl Pieces for ContentSource {
    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, S3Error>>> {
        match self {
            Self::RequestBody(incoming) => incoming.poll_piece(cx),
            Self::Opened(opened) => opened.poll_piece(cx),
            Self::Form(file) => file.poll_piece(cx),
            Self::Converted(converted) => converted.poll_piece(cx),
            Self::Backend(body) => loop {
                return Poll::Ready(match ready!(Pin::new(&mut *body).poll_frame(cx)) {
                    None => None,
                    Some(Err(_)) => Some(Err(S3Error::unavailable())),
                    Some(Ok(frame)) => match frame.into_data() {
                        Ok(data) if !data.is_empty() => Some(Ok(data)),
                        _ => continue,
                    },
                });
            },
        }
    }
}
