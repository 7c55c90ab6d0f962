//! What a client sends.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};

use bytes::{Bytes, BytesMut};
use http_body::Body as _;
use hyper::body::Incoming;

use super::leftover::{Left, Leftover};
use crate::client::Growth;
use crate::error::S3Error;
use crate::fill::fill_from;
use crate::front::{Gate, Intake, LentBody, Loan, Rate, SeenThrough};
use crate::workers::hold_wakes;

/// The body of a request. Dropped before its end, it goes to its [`Leftover`].
pub(crate) struct Upload {
    incoming: Option<Incoming>,
    /// Whether the client waits for a word before it sends anything (`Expect: 100-continue`).
    waits: bool,
    leftover: Leftover,
    rate: Rate,
    /// Bytes a second.
    least: u64,
    growth: Growth,
    gate: Gate,
    loan: Option<Loan>,
    seen_through: SeenThrough,
    lending: Lending,
    /// What of a piece was not taken by who reads bytes.
    rest: Bytes,
}

/// Whether the body is read past hyper.
enum Lending {
    /// hyper may still have to tell the client to send it.
    Early,
    /// It may be.
    Possible,
    /// The socket was asked for.
    Asked,
    /// It is here.
    Here(Box<LentBody>),
    /// It went back behind the last byte, or was lost with the client.
    Over,
}

/// Where the next bytes are.
enum Came {
    InRoom,
    Piece(Bytes),
}

/// Shorter bodies, or what is left of them, are not worth having hyper taken off the socket.
const LONG: u64 = 64 * 1024;

/// What is worth being read at once of a body that comes in frames.
const FRAME: usize = 128 * 1024;

impl Upload {
    /// A body, of which at least `least` bytes a second have to come. `intake` is that of its connection.
    pub(crate) fn new(
        incoming: Incoming,
        expects_continue: bool,
        leftover: Leftover,
        least: u64,
        intake: Intake,
    ) -> Box<Self> {
        if expects_continue && incoming.is_end_stream() {
            // Nothing to be waited for, so that no word will be given.
            leftover.put(Left::Unsent);
        }
        // Boxed, as it goes through a dozen hands before it is read.
        Box::new(Self {
            incoming: Some(incoming),
            waits: expects_continue,
            leftover,
            rate: Rate::default(),
            least,
            growth: Growth::new(intake.kept),
            gate: intake.gate,
            loan: intake.loan,
            seen_through: intake.seen_through,
            lending: if expects_continue { Lending::Early } else { Lending::Possible },
            rest: Bytes::new(),
        })
    }

    /// Lets what is done for this request go on to its end, even if the client goes away.
    pub(crate) fn see_through(&self) {
        self.seen_through.begin();
    }

    /// How many bytes are worth being read at once.
    pub(crate) fn read_len(&self) -> usize {
        self.loan.as_ref().map_or(FRAME, Loan::read_len)
    }

    /// Reads on to the end of `room`, at most `most` bytes and as many as it has capacity for: the caller MUST let both be
    /// above 0. `None` after the last byte. Long bodies are read past hyper: into `room` at once, without a copy.
    ///
    /// The caller MUST NOT ask for pieces besides.
    ///
    /// # Errors
    /// If the client went away or is too slow, or its framing broke.
    pub(crate) fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        room: &mut BytesMut,
        most: usize,
    ) -> Poll<Option<Result<(), S3Error>>> {
        loop {
            if !self.rest.is_empty() {
                fill_from(&mut self.rest, room, most);
                return Poll::Ready(Some(Ok(())));
            }
            match ready!(self.poll_next(cx, room, most)) {
                Some(Ok(Came::InRoom)) => return Poll::Ready(Some(Ok(()))),
                Some(Ok(Came::Piece(piece))) => self.rest = piece,
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => return Poll::Ready(None),
            }
        }
    }

    /// The next bytes; `None` after the last. Of a long body, which is read past hyper, they lie in memory of `room`, at
    /// most `most` of them, and are let go best before the next are asked for: the caller MUST let `room` be empty and
    /// `most` above 0, and MUST NOT ask for pieces besides.
    ///
    /// # Errors
    /// As [`poll_read`](Self::poll_read).
    pub(crate) fn poll_bytes(
        &mut self,
        cx: &mut Context<'_>,
        room: &mut BytesMut,
        most: usize,
    ) -> Poll<Option<Result<Bytes, S3Error>>> {
        if matches!(self.lending, Lending::Asked | Lending::Here(_)) {
            room.reserve(most);
        }
        Poll::Ready(ready!(self.poll_next(cx, room, most)).map(|came| {
            came.map(|came| match came {
                Came::InRoom => room.split().freeze(),
                Came::Piece(piece) => piece,
            })
        }))
    }

    /// What comes next: in `room` if it is read past hyper, or else a piece of hyper's.
    fn poll_next(
        &mut self,
        cx: &mut Context<'_>,
        room: &mut BytesMut,
        most: usize,
    ) -> Poll<Option<Result<Came, S3Error>>> {
        if matches!(self.lending, Lending::Asked) && !self.take_over() {
            return Poll::Pending;
        }
        if let Lending::Here(body) = &mut self.lending {
            let Poll::Ready(read) = body.poll_read(cx, room, most) else {
                self.rate.waits();
                return Poll::Pending;
            };
            if read.is_err() || body.left() == 0 {
                self.lending = Lending::Over;
            }
            return Poll::Ready(Some(self.lent_read(read).map(|()| Came::InRoom)));
        }
        let piece = self.poll_piece(cx);
        if piece.is_pending() {
            self.ask(cx);
        }
        piece.map(|piece| piece.map(|piece| piece.map(Came::Piece)))
    }

    /// Whether it is read past hyper.
    #[cfg(test)]
    pub(crate) fn is_lent(&self) -> bool {
        matches!(self.lending, Lending::Here(_) | Lending::Over)
    }

    /// Asks for the socket, if that is worth it. All pieces that were there are taken.
    fn ask(&mut self, cx: &Context<'_>) {
        let left = self.incoming.as_ref().and_then(|incoming| incoming.size_hint().exact());
        if let (Lending::Possible, Some(loan)) = (&self.lending, &self.loan)
            && left.is_some_and(|left| left >= LONG)
        {
            loan.want();
            self.lending = Lending::Asked;
            // So that whoever is between this and the connection polls this again.
            cx.waker().wake_by_ref();
        }
    }

    /// Takes the socket, if it was lent, with what hyper had read. Whether it was.
    fn take_over(&mut self) -> bool {
        let Some(socket) = self.loan.as_ref().and_then(Loan::take) else { return false };
        let mut left = 0;
        let mut given = Vec::new();
        if let Some(mut incoming) = self.incoming.take() {
            left = incoming.size_hint().exact().unwrap_or(0);
            let mut cx = Context::from_waker(Waker::noop());
            while let Poll::Ready(Some(Ok(frame))) = Pin::new(&mut incoming).poll_frame(&mut cx) {
                given.extend(frame.into_data());
            }
        }
        self.growth.ended();
        self.lending = Lending::Here(Box::new(socket.body(left, given)));
        true
    }

    /// What was read past hyper.
    fn lent_read(&mut self, read: io::Result<usize>) -> Result<(), S3Error> {
        match read {
            Ok(came) if self.rate.moved(came, self.least) => Ok(()),
            Ok(_) => Err(S3Error::request_timeout()),
            Err(_) => Err(S3Error::incomplete_body()),
        }
    }

    /// The next piece; `None` after the last.
    ///
    /// # Errors
    /// If the client went away, or its framing broke.
    pub(crate) fn poll_piece(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, S3Error>>> {
        self.waits = false;
        // Who asks has nothing of the last piece any more, or little.
        self.gate.open();
        while let Some(incoming) = &mut self.incoming {
            let (polled, wakes) = hold_wakes(|| Pin::new(&mut *incoming).poll_frame(cx));
            // To have the next piece read, if there is one.
            if wakes && !incoming.is_end_stream() {
                cx.waker().wake_by_ref();
            }
            let Poll::Ready(frame) = polled else {
                self.rate.waits();
                return Poll::Pending;
            };
            match frame {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) if !data.is_empty() => {
                        if matches!(self.lending, Lending::Early) {
                            self.lending = Lending::Possible;
                        }
                        if incoming.is_end_stream() {
                            self.growth.ended();
                        } else {
                            self.growth.came(&data);
                            self.gate.close();
                        }
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

impl Drop for Upload {
    fn drop(&mut self) {
        self.gate.open();
        if matches!(self.lending, Lending::Asked) && !self.loan.as_ref().is_none_or(Loan::forgo) {
            self.take_over();
        }
        if let Lending::Here(body) = core::mem::replace(&mut self.lending, Lending::Over) {
            if body.left() > 0 {
                self.leftover.put(Left::Lent(body));
            }
        } else if let Some(incoming) = self.incoming.take()
            && !incoming.is_end_stream()
        {
            self.leftover.put(if self.waits { Left::Unsent } else { Left::Body(incoming) });
        }
    }
}
