//! The body of a response.

use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};

use bytes::Bytes;
use http_body::{Body as _, Frame, SizeHint};
use hyper::body::Incoming;

use super::counters::count;
use super::error::ResponseError;
use super::exchange::Exchange;
use super::growth::Growth;

/// The body of a response, and the connection that it comes over.
///
/// At its end the connection serves the next request. Dropped before, it closes the connection: the
/// server stops sending.
pub struct ResponseBody {
    incoming: Incoming,
    /// None at the end.
    exchange: Option<Exchange>,
    growth: Growth,
}

impl ResponseBody {
    pub(super) fn new(incoming: Incoming, exchange: Exchange) -> Self {
        let growth = Growth::new(exchange.kept());
        let mut own = Self { incoming, exchange: Some(exchange), growth };
        if own.incoming.is_end_stream() {
            own.finish();
        }
        own
    }

    fn finish(&mut self) {
        self.growth.ended();
        if let Some(exchange) = self.exchange.take() {
            exchange.finish();
        }
    }

    /// The next frame, if it is there.
    fn next(&mut self) -> Poll<Option<Result<Frame<Bytes>, ResponseError>>> {
        // Only the work of the connection gives frames, and it is done here: nobody is to be woken.
        let quiet = &mut Context::from_waker(Waker::noop());
        Pin::new(&mut self.incoming)
            .poll_frame(quiet)
            .map(|item| item.map(|frame| frame.map_err(|_| ResponseError::Broken)))
    }

    fn ended(&mut self, item: &Option<Result<Frame<Bytes>, ResponseError>>) {
        match item {
            Some(Ok(frame)) if !self.incoming.is_end_stream() => {
                if let Some(piece) = frame.data_ref() {
                    self.growth.came(piece);
                }
                if let Some(exchange) = &mut self.exchange {
                    exchange.progress();
                }
            }
            Some(Ok(_)) | None => self.finish(),
            Some(Err(error)) => self.break_off(*error),
        }
    }

    fn break_off(&mut self, error: ResponseError) {
        if let Some(exchange) = self.exchange.take() {
            let counters = exchange.counters();
            count(match error {
                ResponseError::Broken => &counters.broken_bodies,
                ResponseError::Stalled => &counters.timeouts,
            });
        }
    }
}

impl http_body::Body for ResponseBody {
    type Data = Bytes;
    type Error = ResponseError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, ResponseError>>> {
        let mut item = self.next();
        if item.is_pending()
            && let Some(exchange) = &mut self.exchange
        {
            exchange.work(cx);
            item = self.next();
        }
        if let Poll::Ready(item) = item {
            self.ended(&item);
            return Poll::Ready(item);
        }
        let Some(exchange) = &mut self.exchange else {
            // Broken off before, and asked again.
            return Poll::Ready(None);
        };
        if exchange.poll_stalled(cx).is_pending() {
            return Poll::Pending;
        }
        self.break_off(ResponseError::Stalled);
        Poll::Ready(Some(Err(ResponseError::Stalled)))
    }

    fn is_end_stream(&self) -> bool {
        self.incoming.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.size_hint()
    }
}

impl Drop for ResponseBody {
    fn drop(&mut self) {
        if let Some(exchange) = &self.exchange {
            count(&exchange.counters().abandoned);
        }
    }
}

impl fmt::Debug for ResponseBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ResponseBody").field(&self.incoming.size_hint()).finish()
    }
}
