//! Body of a client's request.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use endseal_s3_protocol::S3Error;
use http_body::Body as _;
use hyper::body::Incoming;

use super::leftover::{Left, Leftover};
use crate::transfer::Rate;

/// Body of a request. If it is dropped before its end, the rest is passed to its [`Leftover`].
pub(crate) struct RequestBody {
    incoming: Option<Incoming>,
    /// True while the client waits for "100 Continue" before it sends the body.
    waits: bool,
    leftover: Leftover,
    rate: Rate,
    /// Minimum rate in bytes per second.
    least: u64,
}

impl RequestBody {
    /// Creates a body that must arrive with at least `least` bytes per second.
    pub(crate) fn new(
        incoming: Incoming,
        expects_continue: bool,
        leftover: Leftover,
        least: u64,
    ) -> Box<Self> {
        Box::new(Self {
            // An empty body is complete, so no "100 Continue" is sent.
            waits: expects_continue && !incoming.is_end_stream(),
            incoming: Some(incoming),
            leftover,
            rate: Rate::default(),
            least,
        })
    }

    /// Returns the next chunk, or `None` after the last one.
    ///
    /// # Errors
    /// If the client disconnects, is too slow, or violates the framing.
    pub(crate) fn poll_piece(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, S3Error>>> {
        self.waits = false;
        while let Some(incoming) = &mut self.incoming {
            let Poll::Ready(frame) = Pin::new(incoming).poll_frame(cx) else {
                self.rate.waits();
                return Poll::Pending;
            };
            match frame {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) if !data.is_empty() => {
                        if self.rate.moved(data.len(), self.least) {
                            return Poll::Ready(Some(Ok(data)));
                        }
                        return Poll::Ready(Some(Err(S3Error::request_timeout())));
                    }
                    _ => {}
                },
                Some(Err(_)) => {
                    self.incoming = None;
                    return Poll::Ready(Some(Err(S3Error::incomplete_body())));
                }
                None => self.incoming = None,
            }
        }
        Poll::Ready(None)
    }
}

impl Drop for RequestBody {
    fn drop(&mut self) {
        if let Some(incoming) = self.incoming.take()
            && !incoming.is_end_stream()
        {
            self.leftover.put(if self.waits { Left::Unsent } else { Left::Body(incoming) });
        }
    }
}
