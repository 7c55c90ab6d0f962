//! Body that is being sent: its progress, its failure, and the way to get it back if sending has
//! not started.

use alloc::sync::Arc;
use core::pin::Pin;
use core::task::{Context, Poll};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use http_body::{Frame, SizeHint};

use super::body::{Body, SourceError};

/// Body that hyper sends. Its source is shared with the code that waits for the response.
pub(super) struct SentBody {
    progress: Arc<Progress>,
    size: u64,
}

/// Shared state of a body that is being sent.
pub(super) struct Progress(Mutex<State>);

struct State {
    /// The body; `None` when it was given back or ended.
    body: Option<Body>,
    started: bool,
    phase: Phase,
    failure: Option<SourceError>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// The source has more bytes, or was not polled yet.
    Flowing,
    /// The source has no bytes at the moment.
    SourceWaits,
    /// All bytes were taken from the source.
    Done,
}

impl Progress {
    pub(super) fn new(body: Body) -> Arc<Self> {
        let phase = if body.is_empty() { Phase::Done } else { Phase::Flowing };
        Arc::new(Self(Mutex::new(State { body: Some(body), started: false, phase, failure: None })))
    }

    pub(super) fn phase(&self) -> Phase {
        self.lock().phase
    }

    /// Returns the body if nothing was taken from it.
    pub(super) fn take_unsent(&self) -> Option<Body> {
        let state = &mut *self.lock();
        if state.started { None } else { state.body.take() }
    }

    /// Drops the rest of the body. No more bytes of it are sent.
    pub(super) fn end(&self) {
        // It is dropped without the lock, because the source's drop may take time.
        let body = self.lock().body.take();
        drop(body);
    }

    /// Returns the error of the source, if it failed.
    pub(super) fn take_failure(&self) -> Option<SourceError> {
        self.lock().failure.take()
    }

    /// Returns a body for hyper that sends from the start.
    pub(super) fn sent(self: &Arc<Self>) -> SentBody {
        SentBody {
            progress: Arc::clone(self),
            size: self.lock().body.as_ref().map_or(0, Body::left),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Only one task uses it, so a poisoned lock means that the same request has panicked.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl http_body::Body for SentBody {
    type Data = Bytes;
    type Error = SourceFailed;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, SourceFailed>>> {
        let state = &mut *self.progress.lock();
        // A body that was ended yields neither bytes nor an end, so the connection is closed after
        // the response.
        let Some(body) = &mut state.body else { return Poll::Pending };
        let item = match Pin::new(&mut *body).poll_frame(cx) {
            Poll::Pending => {
                state.phase = Phase::SourceWaits;
                return Poll::Pending;
            }
            Poll::Ready(item) => item,
        };
        state.started = true;
        state.phase = if body.is_end_stream() { Phase::Done } else { Phase::Flowing };
        Poll::Ready(match item {
            Some(Ok(frame)) => Some(Ok(frame)),
            Some(Err(error)) => {
                state.failure = Some(error);
                Some(Err(SourceFailed))
            }
            None => None,
        })
    }

    fn is_end_stream(&self) -> bool {
        self.progress.lock().body.as_ref().is_some_and(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.size)
    }
}

/// Failure that hyper gets. The reason is kept in [`Progress`].
#[derive(Debug, thiserror::Error)]
#[error("the source failed")]
pub(super) struct SourceFailed;
