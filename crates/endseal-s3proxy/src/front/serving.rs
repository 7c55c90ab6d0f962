//! A connection that is served: by hyper, but for bodies that are read past it.

use core::convert::Infallible;
use core::future::poll_fn;
use core::pin::Pin;
use core::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use http::header::CONNECTION;
use http::{Request, Response, Version};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::Service;
use hyper_util::rt::TokioIo;

use super::answering::{Answer, Answering};
use super::loan::Returned;
use super::{ClientSocket, Gate, Intake, Loan};
use crate::body::Outgoing;

/// There always is an answer.
type Made = Result<Response<Outgoing>, Infallible>;

/// A connection of a client, and `A`, which answers its requests.
///
/// hyper is taken off the socket while an upload has it ([`Loan`]), with the answer in the making kept. It is put on
/// again by a request of ours that stands in for the one it had read, which gets that answer: so hyper writes it as
/// it would have, and takes the next request.
pub(crate) struct Serving<A, F>
where
    A: Fn(Request<Incoming>, Intake) -> F,
    F: Future<Output = Made>,
{
    builder: http1::Builder,
    phase: Phase<A, F>,
    answering: Answering<F>,
    gate: Gate,
    loan: Loan,
    /// No other request is taken.
    stops: bool,
}

enum Phase<A, F>
where
    A: Fn(Request<Incoming>, Intake) -> F,
    F: Future<Output = Made>,
{
    Hyper(Box<http1::Connection<TokioIo<ClientSocket>, Requests<A, F>>>),
    /// The upload has the socket.
    Lent(Requests<A, F>),
    /// The client is gone; what is to be seen through may not have come to its end.
    Alone,
    Ended,
}

/// What hyper hands requests to.
struct Requests<A, F>
where
    A: Fn(Request<Incoming>, Intake) -> F,
    F: Future<Output = Made>,
{
    answers: A,
    answering: Answering<F>,
    intake: Intake,
}

impl<A, F> Serving<A, F>
where
    A: Fn(Request<Incoming>, Intake) -> F,
    F: Future<Output = Made>,
{
    /// Serves what comes over `socket` with `answers`, which gets each request with the [`Intake`] for it. `read_len`
    /// is how many bytes are read at once past hyper.
    pub(crate) fn new(
        builder: http1::Builder,
        socket: ClientSocket,
        read_len: usize,
        answers: A,
    ) -> Self {
        let mut intake = socket.intake();
        let answering = Answering::new(intake.seen_through.clone());
        let loan = Loan::new(read_len);
        intake.loan = Some(loan.clone());
        let gate = intake.gate.clone();
        let requests = Requests { answers, answering: answering.clone(), intake };
        let hyper = builder.serve_connection(TokioIo::new(socket), requests);
        let phase = Phase::Hyper(Box::new(hyper));
        Self { builder, phase, answering, gate, loan, stops: false }
    }

    /// Serves until the connection ends. Dropped before, it goes on where it is called again.
    pub(crate) async fn serve(&mut self) {
        poll_fn(|cx| self.poll(cx)).await;
    }

    /// Takes no other request than the one that it is at.
    pub(crate) fn stop(&mut self) {
        self.stops = true;
        if let Phase::Hyper(hyper) = &mut self.phase {
            Pin::new(&mut **hyper).graceful_shutdown();
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            match &mut self.phase {
                Phase::Hyper(hyper) => {
                    // Perhaps nobody is at work: what is left of an upload can go on beside an early answer.
                    if self.gate.is_closed() && self.answering.works(cx) && self.gate.is_closed() {
                        return Poll::Pending;
                    }
                    // Clients that vanish, and bodies that were cut because they did not authenticate, end here
                    // with an error that their request has counted already.
                    if Pin::new(&mut **hyper).poll(cx).is_ready() {
                        self.phase = Phase::Alone;
                    } else if !self.lend() {
                        return Poll::Pending;
                    }
                }
                Phase::Lent(_) => {
                    let works = self.answering.works(cx);
                    if let Some(returned) = self.loan.returned() {
                        self.take_back(returned);
                    } else if works {
                        return Poll::Pending;
                    } else {
                        // It was lost with the client.
                        self.phase = Phase::Ended;
                    }
                }
                Phase::Alone if self.answering.works(cx) => return Poll::Pending,
                Phase::Alone | Phase::Ended => return Poll::Ready(()),
            }
        }
    }

    /// Takes hyper off the socket, if somebody wants that. Whether it did.
    fn lend(&mut self) -> bool {
        // What hyper has not written yet, to say that the body may come, it would not write any more.
        if !self.loan.is_wanted() || self.gate.is_writing() {
            return false;
        }
        let phase = core::mem::replace(&mut self.phase, Phase::Ended);
        let Phase::Hyper(hyper) = phase else { return false };
        self.answering.keep();
        let parts = hyper.into_parts();
        self.phase = Phase::Lent(parts.service);
        self.loan.lend(parts.io.into_inner(), parts.read_buf);
        true
    }

    /// Puts hyper on the socket again.
    fn take_back(&mut self, returned: Returned) {
        let phase = core::mem::replace(&mut self.phase, Phase::Ended);
        let Phase::Lent(requests) = phase else { return };
        let Returned { mut socket, behind, serves_again } = returned;
        let request = if serves_again && !self.stops { STAND_IN } else { LAST_STAND_IN };
        socket.put_before(if behind.is_empty() {
            Bytes::from_static(request)
        } else {
            let mut bytes = BytesMut::from(request);
            bytes.extend_from_slice(&behind);
            bytes.freeze()
        });
        let hyper = self.builder.serve_connection(TokioIo::new(socket), requests);
        self.phase = Phase::Hyper(Box::new(hyper));
    }
}

/// Stands in for a request whose answer is in the making.
const STAND_IN: &[u8] = b"PUT / HTTP/1.1\r\ncontent-length: 0\r\n\r\n";
/// The same, and no other follows.
const LAST_STAND_IN: &[u8] = b"PUT / HTTP/1.1\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";

impl<A, F> Service<Request<Incoming>> for Requests<A, F>
where
    A: Fn(Request<Incoming>, Intake) -> F,
    F: Future<Output = Made>,
{
    type Response = Response<Outgoing>;
    type Error = Infallible;
    type Future = Answer<F>;

    fn call(&self, request: Request<Incoming>) -> Answer<F> {
        if let Some(answer) = self.answering.resume() {
            return answer;
        }
        let mut intake = self.intake.clone();
        // Of others, hyper has to know how they ended.
        let stays =
            request.version() == Version::HTTP_11 && !request.headers().contains_key(CONNECTION);
        intake.loan = intake.loan.filter(|_| stays);
        self.answering.begin(|| (self.answers)(request, intake))
    }
}

#[cfg(test)]
mod tests;
