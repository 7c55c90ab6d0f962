//! Content that is sent to the backend unsealed.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use endseal_s3_protocol::S3Error;
use endseal_s3_protocol::content::Step;
use http_body::Frame;

use crate::transfer::content::{Content, frame};
use crate::upstream::SourceError;

/// Content as the body of a request. The last chunk is sent only after all digests of the client
/// were checked.
pub(crate) struct Plain {
    content: Option<Content>,
    held: Option<Bytes>,
}

impl Plain {
    pub(crate) const fn new(content: Content) -> Self {
        Self { content: Some(content), held: None }
    }

    fn next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, S3Error>>> {
        while let Some(content) = &mut self.content {
            match ready!(content.poll_step(cx)) {
                Ok(Step::Piece(piece)) if content.len() > 0 => return Poll::Ready(Some(Ok(piece))),
                Ok(Step::Piece(piece)) if piece.is_empty() => {}
                Ok(Step::Piece(piece)) => self.held = Some(piece),
                Ok(Step::End(_)) => self.content = None,
                Err(error) => {
                    self.content = None;
                    self.held = None;
                    return Poll::Ready(Some(Err(error)));
                }
            }
        }
        Poll::Ready(self.held.take().map(Ok))
    }
}

impl http_body::Body for Plain {
    type Data = Bytes;
    type Error = SourceError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, SourceError>>> {
        Poll::Ready(frame(ready!(self.next(cx))))
    }
}
