//! Body of a response.

use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll, Waker, ready};

use bytes::{Bytes, BytesMut};
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;

use super::counters::count;
use super::error::ResponseError;
use super::exchange::Exchange;

/// Body of a response, with the connection on which it arrives.
///
/// After the end, the connection is kept for another request. If the body is dropped earlier, the
/// connection is closed, so that the server stops sending.
pub struct ResponseBody {
    incoming: Incoming,
    /// Exchange of the response; `None` after its end.
    exchange: Option<Exchange>,
    /// Bytes of a frame for which the last `poll_read` had no capacity.
    rest: Bytes,
}

impl ResponseBody {
    pub(super) fn new(incoming: Incoming, exchange: Exchange) -> Self {
        let is_end = incoming.is_end_stream();
        let mut own = Self { incoming, exchange: Some(exchange), rest: Bytes::new() };
        if is_end {
            own.finish();
        }
        own
    }

    /// Appends bytes to `room`: at most `most`, and at most as many as it has capacity for. The
    /// caller MUST make sure that both are above 0. Returns `None` after the last byte.
    ///
    /// Can be mixed with `poll_frame`, which returns the rest.
    ///
    /// # Errors
    /// [`ResponseError`], once. The connection is closed then.
    pub fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        room: &mut BytesMut,
        most: usize,
    ) -> Poll<Option<Result<(), ResponseError>>> {
        while self.rest.is_empty() {
            match ready!(self.poll_next(cx)) {
                Some(Ok(frame)) => self.rest = frame.into_data().unwrap_or_default(),
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => return Poll::Ready(None),
            }
        }
        let free = room.capacity() - room.len();
        let piece = self.rest.split_to(self.rest.len().min(most).min(free));
        room.extend_from_slice(&piece);
        Poll::Ready(Some(Ok(())))
    }

    fn finish(&mut self) {
        if let Some(exchange) = self.exchange.take() {
            exchange.finish();
        }
    }

    /// Returns the next frame if it was already received.
    fn next(&mut self) -> Poll<Option<Result<Frame<Bytes>, ResponseError>>> {
        // Only the connection's own work produces frames, and it is done by this task. No waker is
        // needed.
        let quiet = &mut Context::from_waker(Waker::noop());
        Pin::new(&mut self.incoming)
            .poll_frame(quiet)
            .map(|item| item.map(|frame| frame.map_err(|_| ResponseError::Broken)))
    }

    fn ended(&mut self, item: &Option<Result<Frame<Bytes>, ResponseError>>) {
        match item {
            Some(Ok(_)) if !self.incoming.is_end_stream() => {
                if let Some(exchange) = &mut self.exchange {
                    exchange.progress();
                }
            }
            Some(Ok(_)) | None => self.finish(),
            Some(Err(error)) => self.break_off(*error),
        }
    }

    /// Waits for the next frame.
    fn poll_next(
        &mut self,
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
            // The body has failed before and is polled again.
            return Poll::Ready(None);
        };
        if exchange.poll_stalled(cx).is_pending() {
            return Poll::Pending;
        }
        self.break_off(ResponseError::Stalled);
        Poll::Ready(Some(Err(ResponseError::Stalled)))
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

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = ResponseError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, ResponseError>>> {
        if !self.rest.is_empty() {
            return Poll::Ready(Some(Ok(Frame::data(core::mem::take(&mut self.rest)))));
        }
        self.poll_next(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.incoming.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let hint = self.incoming.size_hint();
        match hint.exact() {
            Some(left) => SizeHint::with_exact(left + self.rest.len() as u64),
            None => hint,
        }
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
        f.debug_tuple("ResponseBody").field(&self.size_hint()).finish()
    }
}
