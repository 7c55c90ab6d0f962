//! Content that goes to the backend as it is.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::Frame;

use crate::body::Content;
use crate::client::SourceError;
use crate::error::S3Error;

/// Content as the body of a request. Its last piece leaves when all that the client said of it was
/// found true.
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
            match ready!(content.poll_piece(cx)) {
                Some(Ok(piece)) => {
                    if let Some(held) = self.held.replace(piece) {
                        return Poll::Ready(Some(Ok(held)));
                    }
                }
                Some(Err(error)) => {
                    self.content = None;
                    self.held = None;
                    return Poll::Ready(Some(Err(error)));
                }
                None => {
                    let finished = content.finish();
                    self.content = None;
                    if let Err(error) = finished {
                        self.held = None;
                        return Poll::Ready(Some(Err(error)));
                    }
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
        Poll::Ready(match ready!(self.next(cx)) {
            Some(Ok(data)) => Some(Ok(Frame::data(data))),
            Some(Err(error)) => Some(Err(Box::new(error))),
            None => None,
        })
    }
}
