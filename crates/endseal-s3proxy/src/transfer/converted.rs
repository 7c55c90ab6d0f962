//! Content of another system's object, which is opened while it is read.

use core::pin::Pin;
use core::task::{Context, Poll, ready};

use bytes::Bytes;
use endseal_s3_protocol::S3Error;
use endseal_s3_protocol::content::Pieces;
use http_body::Body as _;

use crate::upstream::ResponseBody;

/// Opens the sealed bytes of another system piece by piece, in bounded memory.
pub(crate) trait Converter: Send + Sync {
    /// Takes the next sealed bytes and returns the content that they complete, which may be empty.
    /// With the last sealed bytes it returns the rest, after everything is verified.
    ///
    /// # Errors
    /// `ObjectNotAuthentic`.
    fn convert(&mut self, sealed: Bytes) -> Result<Bytes, S3Error>;
}

/// Body of a response of the backend, whose content another system sealed.
pub(crate) struct Converted {
    body: Box<ResponseBody>,
    converter: Box<dyn Converter>,
}

impl Converted {
    pub(crate) fn new(body: ResponseBody, converter: Box<dyn Converter>) -> Self {
        Self { body: Box::new(body), converter }
    }
}

impl Pieces for Converted {
    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, S3Error>>> {
        loop {
            let frame = match ready!(Pin::new(&mut *self.body).poll_frame(cx)) {
                None => return Poll::Ready(None),
                Some(Err(_)) => return Poll::Ready(Some(Err(S3Error::unavailable()))),
                Some(Ok(frame)) => frame,
            };
            let Ok(sealed) = frame.into_data() else { continue };
            match self.converter.convert(sealed) {
                Ok(content) if content.is_empty() => {}
                result => return Poll::Ready(Some(result)),
            }
        }
    }
}
