//! The answer that is being made to a connection's request, and who polls it.
//!
//! hyper reads a body one piece ahead: it takes memory for the next piece as soon as somebody has the last
//! one, and reads into it. Where a backend takes less than a client sends, that is a second piece for the
//! whole of an upload. It cannot be kept from that as long as it is polled, but it can be left alone: while
//! the [`Gate`] is closed, the answer is polled past it. When the piece is asked for, nobody has the last one
//! any more, and hyper reads into the same memory.
//!
//! A client that vanishes meanwhile is found out when the gate opens, as it would be by hyper when its piece is
//! taken. Something always opens it: an upload that goes on or is dropped, for want of progress of the
//! backend if for nothing else, or the answer.

use alloc::sync::Arc;
use core::future::poll_fn;
use core::pin::Pin;
use core::task::{Context, Poll};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::Gate;

/// The answer to the request that a connection is at.
pub(crate) struct Answering<F: Future>(Arc<Mutex<State<F>>>);

struct State<F: Future> {
    /// Its place is the same for all requests.
    work: Pin<Box<Option<F>>>,
    /// What came of it.
    answer: Option<F::Output>,
}

/// The answer, as hyper waits for it. Dropped before its end, the work on it ends too.
pub(crate) struct Answer<F: Future>(Answering<F>);

impl<F: Future> Answering<F> {
    /// Of a connection, which begins one after the other.
    pub(crate) fn new() -> Self {
        Self(Arc::new(Mutex::new(State { work: Box::pin(None), answer: None })))
    }

    /// Begins the next one.
    pub(crate) fn begin(&self, work: F) -> Answer<F> {
        self.lock().work.set(Some(work));
        Answer(Self(Arc::clone(&self.0)))
    }

    /// Does the work of the connection, or only that on its answer while the gate is closed.
    pub(crate) async fn serve<C: Future>(
        &self,
        gate: &Gate,
        mut connection: Pin<&mut C>,
    ) -> C::Output {
        poll_fn(|cx| {
            // Perhaps nobody is at work: what is left of an upload can go on beside an early answer.
            if gate.is_closed() && self.lock().works(cx) && gate.is_closed() {
                return Poll::Pending;
            }
            connection.as_mut().poll(cx)
        })
        .await
    }

    fn lock(&self) -> MutexGuard<'_, State<F>> {
        // Who panicked took the connection along: all that is left to do is to drop it.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<F: Future> State<F> {
    /// Does what can be done. Whether there is more to do.
    fn works(&mut self, cx: &mut Context<'_>) -> bool {
        let Some(work) = self.work.as_mut().as_pin_mut() else { return false };
        let Poll::Ready(answer) = work.poll(cx) else { return true };
        self.answer = Some(answer);
        self.work.set(None);
        false
    }
}

impl<F: Future> Future for Answer<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let mut state = self.0.lock();
        state.works(cx);
        state.answer.take().map_or(Poll::Pending, Poll::Ready)
    }
}

impl<F: Future> Drop for Answer<F> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.work.set(None);
        state.answer = None;
    }
}

#[cfg(test)]
mod tests {
    use core::future::{pending, poll_fn, ready};
    use core::pin::pin;
    use core::sync::atomic::{AtomicUsize, Ordering::SeqCst};
    use core::task::Waker;
    use core::time::Duration;
    use std::convert::Infallible;

    use http::{Request, Response};
    use hyper::body::Incoming;
    use hyper::server::conn::http1;
    use hyper::service::service_fn;
    use hyper_util::rt::TokioIo;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};
    use tokio::sync::{Semaphore, mpsc};
    use tokio::time::sleep;

    use super::*;
    use crate::body::{Leftover, Upload};
    use crate::front::Front;

    /// What a stream holds that was written and not read.
    const UNDERWAY: usize = 4_096;

    async fn piece(upload: &mut Upload) -> Option<usize> {
        poll_fn(|cx| upload.poll_piece(cx)).await.map(|piece| piece.unwrap().len())
    }

    /// Serves a connection; `work` is done for each request, of which it gets the path.
    async fn serve<W>(stream: DuplexStream, work: impl Fn(String, Upload, Leftover) -> W)
    where
        W: Future<Output = ()>,
    {
        let front = Front::new(stream, Duration::from_secs(60), 0);
        let intake = front.intake();
        let answering = Answering::new();
        let service = service_fn(|request: Request<Incoming>| {
            let path = request.uri().path().to_owned();
            let expects = request.headers().contains_key("expect");
            let (leftover, body) = (Leftover::default(), request.into_body());
            let upload = Upload::new(body, expects, leftover.clone(), 0, intake.clone());
            let work = work(path, upload, leftover);
            answering.begin(async move {
                work.await;
                Ok::<_, Infallible>(Response::new(String::new()))
            })
        });
        let connection = http1::Builder::new()
            .max_buf_size(64 * 1024)
            .half_close(false)
            .serve_connection(TokioIo::new(front), service);
        let _ = answering.serve(&intake.gate, pin!(connection)).await;
    }

    #[tokio::test(start_paused = true)]
    async fn no_more_is_read_than_the_piece_that_somebody_has() {
        const LEN: usize = 100_000;
        let (near, far) = tokio::io::duplex(UNDERWAY);
        let (tell, mut pieces) = mpsc::unbounded_channel();
        let turns = Arc::new(Semaphore::new(1));
        let may_ask = Arc::clone(&turns);
        tokio::spawn(serve(far, move |_, mut upload, _| {
            let (tell, may_ask) = (tell.clone(), Arc::clone(&may_ask));
            async move {
                loop {
                    may_ask.acquire().await.unwrap().forget();
                    let Some(len) = piece(&mut upload).await else { break };
                    tell.send(len).unwrap();
                }
            }
        }));
        let (mut read, mut write) = tokio::io::split(near);
        let written = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&written);
        tokio::spawn(async move {
            let head = format!("PUT / HTTP/1.1\r\ncontent-length: {LEN}\r\n\r\n");
            write.write_all(head.as_bytes()).await.unwrap();
            while count.load(SeqCst) < LEN {
                let rest = LEN - count.load(SeqCst);
                count.fetch_add(write.write(&[7; 512][..rest.min(512)]).await.unwrap(), SeqCst);
            }
            pending::<()>().await;
        });
        let mut given = 0;
        while given < LEN {
            given += pieces.recv().await.unwrap();
            // The clock stands still until nothing can go on.
            sleep(Duration::from_millis(1)).await;
            assert!(written.load(SeqCst) <= given + UNDERWAY, "{} {given}", written.load(SeqCst));
            turns.add_permits(1);
        }
        let mut answer = [0; 15];
        read.read_exact(&mut answer).await.unwrap();
        assert_eq!(&answer, b"HTTP/1.1 200 OK");
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_serves_again_whatever_became_of_an_upload() {
        let (mut near, far) = tokio::io::duplex(UNDERWAY);
        // Takes as many pieces as the path says.
        tokio::spawn(serve(far, |path, mut upload, leftover| async move {
            for _ in 0..path[1..].parse().unwrap() {
                if piece(&mut upload).await.is_none() {
                    break;
                }
                sleep(Duration::from_millis(1)).await;
            }
            drop(upload);
            assert!(leftover.drain().await);
        }));
        for len in [0, 1, 1_000, 50_000] {
            for pieces in [0, 1, 2, 5, 100] {
                for expects in [false, true] {
                    // Its connection could not serve again.
                    if expects && (pieces == 0 || len == 0) {
                        continue;
                    }
                    let expect = if expects { "expect: 100-continue\r\n" } else { "" };
                    let head =
                        format!("PUT /{pieces} HTTP/1.1\r\n{expect}content-length: {len}\r\n\r\n");
                    near.write_all(head.as_bytes()).await.unwrap();
                    let mut answer = String::new();
                    if expects {
                        answer = read_head(&mut near).await;
                        assert!(answer.starts_with("HTTP/1.1 100 "), "{answer}");
                    }
                    near.write_all(&vec![7; len]).await.unwrap();
                    answer.clear();
                    answer += &read_head(&mut near).await;
                    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
                }
            }
        }
    }

    async fn read_head(stream: &mut DuplexStream) -> String {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            head.push(char::from(stream.read_u8().await.unwrap()));
        }
        head
    }

    #[test]
    fn a_closed_gate_holds_a_connection_while_somebody_works() {
        let gate = Gate::default();
        let answering = Answering::new();
        let mut cx = Context::from_waker(Waker::noop());
        let mut serves = |answering: &Answering<_>| {
            pin!(answering.serve(&gate, pin!(ready(())))).poll(&mut cx).is_ready()
        };
        gate.close();
        assert!(serves(&answering), "nobody works");
        let (tell, told) = tokio::sync::oneshot::channel::<u8>();
        let mut answer = pin!(answering.begin(told));
        assert!(!serves(&answering));
        gate.open();
        assert!(serves(&answering));
        gate.close();
        tell.send(1).unwrap();
        assert!(serves(&answering), "the work is done");
        let mut cx = Context::from_waker(Waker::noop());
        assert_eq!(answer.as_mut().poll(&mut cx), Poll::Ready(Ok(1)));
    }

    #[test]
    fn work_ends_with_whoever_waits_for_it() {
        let answering = Answering::new();
        let held = Arc::new(());
        let of_work = Arc::clone(&held);
        let answer = answering.begin(async move {
            pending::<()>().await;
            drop(of_work);
        });
        assert_eq!(Arc::strong_count(&held), 2);
        drop(answer);
        assert_eq!(Arc::strong_count(&held), 1);
    }
}
