//! The body of a response.

use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll, Waker, ready};

use bytes::{Bytes, BytesMut};
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;

use super::counters::count;
use super::error::ResponseError;
use super::exchange::Exchange;
use super::growth::Growth;
use crate::fill::fill_from;

/// The body of a response, and the connection that it comes over.
///
/// At its end the connection serves the next request. Dropped before, it closes the connection: the
/// server stops sending.
pub struct ResponseBody {
    /// None if it is read past hyper from the beginning.
    incoming: Option<Incoming>,
    /// None at the end.
    exchange: Option<Exchange>,
    /// Of what hyper reads.
    growth: Option<Growth>,
    /// What of a frame was not taken by who reads bytes.
    rest: Bytes,
    /// Whether the connection can be used again, by what the response says.
    stays: bool,
    /// Bytes that are still to come past hyper, those in `rest` not counted.
    direct: Option<u64>,
}

/// Shorter bodies, or what is left of them, are not worth having hyper taken off the socket.
const LONG: u64 = 64 * 1024;

/// Bytes of a frame that was read past hyper.
const FRAME: usize = 64 * 1024;

impl ResponseBody {
    pub(super) fn new(incoming: Incoming, exchange: Exchange, stays: bool) -> Self {
        let growth = Some(Growth::new(exchange.kept()));
        let (exchange, rest) = (Some(exchange), Bytes::new());
        let is_end = incoming.is_end_stream();
        let incoming = Some(incoming);
        let mut own = Self { incoming, exchange, growth, rest, stays, direct: None };
        if is_end {
            own.finish();
        }
        own
    }

    /// A body of `len` bytes past hyper, of which `early` has come with the head.
    pub(super) fn past_hyper(len: u64, early: Bytes, exchange: Exchange) -> Self {
        let (exchange, rest) = (Some(exchange), Bytes::new());
        let (incoming, growth, direct) = (None, None, None);
        let mut own = Self { incoming, exchange, growth, rest, stays: true, direct };
        own.go_past(len, early);
        own
    }

    /// How many bytes are worth being read at once: what the connection reads at most.
    pub(crate) fn read_len(&self) -> usize {
        self.exchange.as_ref().map_or(0, Exchange::buffer)
    }

    /// Reads on to the end of `room`, at most `most` bytes and as many as it has capacity for: the caller MUST let both be
    /// above 0. `None` after the last byte. Long bodies are read past hyper: into `room` at once, without a copy.
    ///
    /// Frames (`poll_frame`) go on where this stopped.
    ///
    /// # Errors
    /// [`ResponseError`], once; the connection is closed then.
    pub fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        room: &mut BytesMut,
        most: usize,
    ) -> Poll<Option<Result<(), ResponseError>>> {
        loop {
            if !self.rest.is_empty() {
                fill_from(&mut self.rest, room, most);
                return Poll::Ready(Some(Ok(())));
            }
            if self.direct.is_some() {
                return self.poll_direct(cx, room, most);
            }
            let mut item = self.next();
            if item.is_pending() {
                if self.take_over() {
                    continue;
                }
                item = self.poll_hyper(cx);
            } else if let Poll::Ready(item) = &item {
                self.ended(item);
            }
            match ready!(item) {
                Some(Ok(frame)) => self.rest = frame.into_data().unwrap_or_default(),
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => return Poll::Ready(None),
            }
        }
    }

    /// Has what is left read past hyper from now on, if that is worth it. All frames that were there are taken.
    fn take_over(&mut self) -> bool {
        let left = self.incoming.as_ref().and_then(|it| it.size_hint().exact());
        let left = left.filter(|left| self.stays && *left >= LONG);
        let (Some(left), Some(exchange)) = (left, &mut self.exchange) else { return false };
        let Some(early) = exchange.take_over() else { return false };
        self.let_go();
        self.go_past(left, early);
        true
    }

    /// The last `left` bytes come past hyper; `early` has come of them.
    fn go_past(&mut self, left: u64, mut early: Bytes) {
        let behind = left.checked_sub(early.len() as u64);
        self.direct = Some(behind.unwrap_or(0));
        match behind {
            Some(0) => self.finish(),
            Some(_) => {}
            // More than was announced: the body is all there, and the connection of no use any more.
            None => {
                early.truncate(usize::try_from(left).unwrap_or(usize::MAX));
                self.exchange = None;
            }
        }
        self.rest = early;
    }

    fn poll_direct(
        &mut self,
        cx: &mut Context<'_>,
        room: &mut BytesMut,
        most: usize,
    ) -> Poll<Option<Result<(), ResponseError>>> {
        let (Some(left), Some(exchange)) = (&mut self.direct, &mut self.exchange) else {
            // At its end, or broken off before, and asked again.
            return Poll::Ready(None);
        };
        let most = usize::try_from(*left).map_or(most, |left| left.min(most));
        let error = match exchange.poll_read(cx, room, most) {
            Poll::Ready(Ok(n)) if n > 0 => {
                exchange.progress();
                *left = left.saturating_sub(n as u64);
                if *left == 0 {
                    self.finish();
                }
                return Poll::Ready(Some(Ok(())));
            }
            Poll::Ready(_) => ResponseError::Broken,
            Poll::Pending => {
                ready!(exchange.poll_stalled(cx));
                ResponseError::Stalled
            }
        };
        self.break_off(error);
        Poll::Ready(Some(Err(error)))
    }

    /// Lets go what is kept while reads grow.
    fn let_go(&mut self) {
        if let Some(growth) = &mut self.growth {
            growth.ended();
        }
    }

    fn finish(&mut self) {
        self.let_go();
        if let Some(exchange) = self.exchange.take() {
            exchange.finish();
        }
    }

    /// The next frame, if it is there.
    fn next(&mut self) -> Poll<Option<Result<Frame<Bytes>, ResponseError>>> {
        // Only the work of the connection gives frames, and it is done here: nobody is to be woken.
        let quiet = &mut Context::from_waker(Waker::noop());
        let Some(incoming) = &mut self.incoming else { return Poll::Ready(None) };
        Pin::new(incoming)
            .poll_frame(quiet)
            .map(|item| item.map(|frame| frame.map_err(|_| ResponseError::Broken)))
    }

    /// Whether hyper has nothing more.
    fn is_last(&self) -> bool {
        self.incoming.as_ref().is_none_or(Body::is_end_stream)
    }

    fn ended(&mut self, item: &Option<Result<Frame<Bytes>, ResponseError>>) {
        match item {
            Some(Ok(frame)) if !self.is_last() => {
                if let (Some(growth), Some(piece)) = (&mut self.growth, frame.data_ref()) {
                    growth.came(piece);
                }
                if let Some(exchange) = &mut self.exchange {
                    exchange.progress();
                }
            }
            Some(Ok(_)) | None => self.finish(),
            Some(Err(error)) => self.break_off(*error),
        }
    }

    /// The next frame, when it is there.
    fn poll_hyper(
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
            // Broken off before, and asked again.
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
        if self.direct.is_none() {
            return self.poll_hyper(cx);
        }
        let left = self.direct.and_then(|left| usize::try_from(left).ok());
        let most = left.unwrap_or(FRAME).clamp(1, FRAME);
        let mut room = BytesMut::with_capacity(most);
        let read = ready!(self.poll_direct(cx, &mut room, most));
        Poll::Ready(read.map(|read| read.map(|()| Frame::data(room.freeze()))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.direct.map_or_else(|| self.is_last(), |left| left == 0)
    }

    fn size_hint(&self) -> SizeHint {
        let of_hyper = || self.incoming.as_ref().map_or_else(SizeHint::default, Body::size_hint);
        let hint = self.direct.map_or_else(of_hyper, SizeHint::with_exact);
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
