//! The body of a request, in pieces.

use core::pin::Pin;
use core::task::{Context, Poll, ready};

use bytes::Bytes;
use endseal_s3_protocol::S3Error;
use endseal_s3_protocol::content::Pieces;
use http_body::Body as _;
use hyper::body::Incoming;

/// The body of a request.
pub(crate) struct Upload(Incoming);

impl Upload {
    pub(crate) const fn new(body: Incoming) -> Self {
        Self(body)
    }
}

impl Pieces for Upload {
    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, S3Error>>> {
        loop {
            let Some(frame) = ready!(Pin::new(&mut self.0).poll_frame(cx)) else {
                return Poll::Ready(None);
            };
            match frame.map(|frame| frame.into_data()) {
                Ok(Ok(data)) if !data.is_empty() => return Poll::Ready(Some(Ok(data))),
                Ok(_) => {}
                Err(_) => return Poll::Ready(Some(Err(S3Error::incomplete_body()))),
            }
        }
    }
}
