//! Body of an answer whose document is not known yet: blanks until it is.

use core::pin::Pin;
use core::task::{Context, Poll, ready};
use core::time::Duration;

use bytes::Bytes;
use endseal_s3_protocol::S3Error;
use http::Response;
use http_body::{Body, Frame};
use tokio::task::JoinHandle;
use tokio::time::{Instant, Interval, interval_at};

/// Time between two blanks.
const INTERVAL: Duration = Duration::from_secs(5);

/// Declaration of the document. Nothing may stand before it, so it is sent before the blanks.
const DECLARATION: &[u8] = b"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";

/// Document of an answer that is being worked on. `B` is the body of the answer.
pub(crate) struct Awaited<B> {
    is_declared: bool,
    /// The work; `None` when it is done.
    work: Option<JoinHandle<Response<B>>>,
    /// The document of the result, if there is one.
    document: Option<B>,
    blanks: Interval,
}

impl<B: Body<Data = Bytes, Error = S3Error> + Unpin> Awaited<B> {
    pub(crate) fn new(work: JoinHandle<Response<B>>) -> Box<Self> {
        Box::new(Self {
            is_declared: false,
            work: Some(work),
            document: None,
            blanks: interval_at(Instant::now() + INTERVAL, INTERVAL),
        })
    }

    pub(super) fn poll_frame(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, S3Error>>> {
        if !self.is_declared {
            self.is_declared = true;
            return Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(DECLARATION)))));
        }
        if let Some(work) = &mut self.work {
            match Pin::new(work).poll(cx) {
                Poll::Pending => {
                    ready!(self.blanks.poll_tick(cx));
                    return Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(b" ")))));
                }
                Poll::Ready(done) => {
                    self.work = None;
                    match done {
                        Ok(response) => self.document = Some(response.into_body()),
                        // The runtime shuts down. The connection is cut.
                        Err(_) => return Poll::Ready(Some(Err(S3Error::internal()))),
                    }
                }
            }
        }
        let Some(document) = &mut self.document else { return Poll::Ready(None) };
        let frame = ready!(Pin::new(document).poll_frame(cx));
        Poll::Ready(frame.map(|frame| frame.map(|frame| frame.map_data(undeclared))))
    }
}

/// Returns a document without its declaration.
fn undeclared(document: Bytes) -> Bytes {
    let end = document.windows(2).position(|pair| pair == b"?>");
    match end.filter(|_| document.starts_with(b"<?xml")) {
        Some(end) => document.slice(end + 2..),
        None => document,
    }
}
