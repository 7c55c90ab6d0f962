//! The answer that is being made to a connection's request, and who polls it.
//!
//! hyper reads a body one piece ahead: it takes memory for the next piece as soon as somebody has the last
//! one, and reads into it. Where a backend takes less than a client sends, that is a second piece for the
//! whole of an upload. It cannot be kept from that as long as it is polled, but it can be left alone: while
//! the [`Gate`](super::Gate) is closed, the answer is polled past it. When the piece is asked for, nobody has the last one
//! any more, and hyper reads into the same memory.
//!
//! A client that vanishes meanwhile is found out when the gate opens, as it would be by hyper when its piece is
//! taken. Something always opens it: an upload that goes on or is dropped, for want of progress of the
//! backend if for nothing else, or the answer.

use alloc::sync::Arc;
use core::pin::Pin;
use core::task::{Context, Poll};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::SeenThrough;

/// The answer to the request that a connection is at. Clones are the same.
pub(super) struct Answering<F: Future>(Arc<Mutex<State<F>>>);

impl<F: Future> Clone for Answering<F> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

struct State<F: Future> {
    /// Its place is the same for all requests.
    work: Pin<Box<Option<F>>>,
    /// What came of it.
    answer: Option<F::Output>,
    /// Whether it is for somebody who is not there yet.
    kept: bool,
    seen_through: SeenThrough,
}

/// The answer, as hyper waits for it. Dropped before its end, the work on it ends too, unless it is to be
/// [`SeenThrough`].
pub(super) struct Answer<F: Future>(Answering<F>);

impl<F: Future> Answering<F> {
    /// Of a connection, which begins one after the other.
    pub(super) fn new(seen_through: SeenThrough) -> Self {
        let work = Box::pin(None);
        Self(Arc::new(Mutex::new(State { work, answer: None, kept: false, seen_through })))
    }

    /// Begins the next one. The work is made where it stays: it has some kilobytes, most of which mean nothing
    /// yet, and would be copied all the same.
    pub(super) fn begin(&self, work: impl FnOnce() -> F) -> Answer<F> {
        let mut state = self.lock();
        state.work.set(None);
        state.seen_through.end();
        state.work.set(Some(work()));
        drop(state);
        Answer(self.clone())
    }

    /// Does what can be done of the work. Whether there is more to do.
    pub(super) fn works(&self, cx: &mut Context<'_>) -> bool {
        self.lock().works(cx)
    }

    /// Keeps the work, and what comes of it, when the one who waits for it is dropped now: somebody else will.
    pub(super) fn keep(&self) {
        self.lock().kept = true;
    }

    /// The answer that was kept, if there is one, with the duties of the one that was dropped.
    pub(super) fn resume(&self) -> Option<Answer<F>> {
        core::mem::take(&mut self.lock().kept).then(|| Answer(self.clone()))
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
        if state.kept || state.seen_through.is_on() {
            return;
        }
        state.work.set(None);
        state.answer = None;
    }
}

#[cfg(test)]
mod tests {
    use core::future::{pending, ready};
    use core::pin::pin;
    use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
    use core::task::Waker;

    use tokio::task::yield_now;

    use super::*;

    #[test]
    fn an_answer_is_kept_for_another_who_waits() {
        let answering = Answering::new(SeenThrough::default());
        let mut cx = Context::from_waker(Waker::noop());
        let first = answering.begin(|| ready(1));
        assert!(answering.resume().is_none(), "nobody kept it");
        answering.keep();
        drop(first);
        assert!(!answering.works(&mut cx), "it is made");
        let mut second = answering.resume().unwrap();
        assert!(answering.resume().is_none(), "once");
        assert_eq!(pin!(&mut second).poll(&mut cx), Poll::Ready(1));
    }

    #[test]
    fn work_ends_with_whoever_waits_for_it() {
        let answering = Answering::new(SeenThrough::default());
        let held = Arc::new(());
        let of_work = Arc::clone(&held);
        let answer = answering.begin(|| async move {
            pending::<()>().await;
            drop(of_work);
        });
        assert_eq!(Arc::strong_count(&held), 2);
        drop(answer);
        assert_eq!(Arc::strong_count(&held), 1);
    }

    #[test]
    fn work_that_is_seen_through_outlasts_who_waits_and_no_later_work_does() {
        let seen_through = SeenThrough::default();
        let answering = Answering::new(seen_through.clone());
        let mut cx = Context::from_waker(Waker::noop());
        let done = Arc::new(AtomicBool::new(false));
        let work = || {
            let done = Arc::clone(&done);
            async move {
                yield_now().await;
                done.store(true, Relaxed);
            }
        };
        let answer = answering.begin(work);
        seen_through.begin();
        drop(answer);
        assert!(answering.works(&mut cx) && !done.load(Relaxed));
        assert!(!answering.works(&mut cx) && done.load(Relaxed));
        done.store(false, Relaxed);
        drop(answering.begin(work));
        assert!(!answering.works(&mut cx) && !done.load(Relaxed), "nobody said so of this one");
    }
}
