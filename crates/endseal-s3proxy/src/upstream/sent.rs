//! A body on its way: how far it got, what became of it, and the way back for one that was not
//! begun.

use alloc::sync::Arc;
use core::pin::Pin;
use core::task::{Context, Poll};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use http_body::{Frame, SizeHint};

use super::body::{Body, SourceError};

/// The body that hyper sends. The source itself stays in a place that both sides see.
pub(super) struct SentBody {
    progress: Arc<Progress>,
    size: u64,
}

/// The place where the body is, and what was seen of it.
pub(super) struct Progress(Mutex<State>);

struct State {
    /// None when it was given back or ended.
    body: Option<Body>,
    begun: bool,
    phase: Phase,
    failure: Option<SourceError>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// The source has more, or was not asked yet.
    Flowing,
    /// The source has nothing yet.
    SourceWaits,
    /// All of it was taken.
    Done,
}

impl Progress {
    pub(super) fn new(body: Body) -> Arc<Self> {
        let phase = if body.is_empty() { Phase::Done } else { Phase::Flowing };
        Arc::new(Self(Mutex::new(State { body: Some(body), begun: false, phase, failure: None })))
    }

    pub(super) fn phase(&self) -> Phase {
        self.lock().phase
    }

    /// Gives the body back if nothing was taken from it.
    pub(super) fn take_unbegun(&self) -> Option<Body> {
        let state = &mut *self.lock();
        if state.begun { None } else { state.body.take() }
    }

    /// Drops what is left of the body: nothing more of it is sent.
    pub(super) fn end(&self) {
        // Dropped without the lock: a source may do something then.
        let body = self.lock().body.take();
        drop(body);
    }

    /// Why the source failed, if it did.
    pub(super) fn take_failure(&self) -> Option<SourceError> {
        self.lock().failure.take()
    }

    /// Something to send that body by, from its beginning.
    pub(super) fn sent(self: &Arc<Self>) -> SentBody {
        SentBody {
            progress: Arc::clone(self),
            size: self.lock().body.as_ref().map_or(0, Body::left),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // One task uses it, so that a poisoned lock was broken by a panic of the same request.
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
        // Of a body that was ended nothing more comes, and not its end either: the connection
        // closes when the response was read.
        let Some(body) = &mut state.body else { return Poll::Pending };
        let item = match Pin::new(&mut *body).poll_frame(cx) {
            Poll::Pending => {
                state.phase = Phase::SourceWaits;
                return Poll::Pending;
            }
            Poll::Ready(item) => item,
        };
        state.begun = true;
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

/// The failure that hyper is told; the reason stays in [`Progress`].
#[derive(Debug)]
pub(super) struct SourceFailed;

impl core::fmt::Display for SourceFailed {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("the source failed")
    }
}

impl core::error::Error for SourceFailed {}
