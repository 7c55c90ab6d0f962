//! Connections of the local socket.

use alloc::sync::Arc;

use endseal_service::control::ControlLines;
use tokio::sync::{Semaphore, mpsc, oneshot, watch};

use super::call::{Answer, Call};
use super::hub_state::Failure;
use crate::api::{self, Error, Id, Reply, Request};

/// Limit on concurrent requests that wait for messages or for the hub.
pub(super) const LONG_CALLS: usize = 8;

/// Handles connections. Each runs in a task of its own with a clone of this handler.
#[derive(Clone)]
pub(super) struct Handler {
    calls: mpsc::Sender<Call>,
    arrivals: watch::Receiver<()>,
    failure: watch::Receiver<Option<Failure>>,
    stopped: watch::Receiver<bool>,
    long_calls: Arc<Semaphore>,
    /// Closes its channel when the last handler is dropped.
    _under_way: mpsc::Sender<()>,
}

impl Handler {
    pub(super) fn new(
        calls: mpsc::Sender<Call>,
        arrivals: watch::Receiver<()>,
        failure: watch::Receiver<Option<Failure>>,
        stopped: watch::Receiver<bool>,
        under_way: mpsc::Sender<()>,
    ) -> Self {
        let long_calls = Arc::new(Semaphore::new(LONG_CALLS));
        Self { calls, arrivals, failure, stopped, long_calls, _under_way: under_way }
    }

    /// Serves the requests of a connection until either side ends it.
    pub(super) async fn handle(mut self, mut caller: ControlLines) {
        loop {
            let line = tokio::select! {
                line = caller.next() => line,
                _ = self.stopped.wait_for(|it| *it) => None,
            };
            let Some(line) = line else { return };
            let (id, answer) = match Request::read(&line) {
                Ok((id, Request::Follow { after })) => {
                    return self.follow(&mut caller, &id, after).await;
                }
                Ok((id, request)) => match caller.until_closed(self.execute(request)).await {
                    Some(answer) => (Some(id), answer),
                    None => return,
                },
                Err((id, error)) => (id, Err(error)),
            };
            drop(line);
            if caller.send(&api::answer(id.as_ref(), &answer)).await.is_err() {
                return;
            }
        }
    }

    async fn execute(&self, request: Request) -> Answer {
        let is_long = matches!(request, Request::Sync { .. });
        let permit = is_long.then(|| self.long_calls.try_acquire()).transpose();
        let _permit = permit.map_err(|_| Error::busy())?;
        self.ask(request).await
    }

    /// Sends the unread texts, and later those that arrive, until the caller or the service stops,
    /// or the hub refuses this device.
    async fn follow(mut self, caller: &mut ControlLines, id: &Id, mut after: u64) {
        let long_calls = Arc::clone(&self.long_calls);
        let permit = long_calls.try_acquire().map_err(|_| Error::busy());
        let answer = permit.as_ref().map(|_| Reply::Done {}).map_err(Clone::clone);
        if caller.send(&api::answer(Some(id), &answer)).await.is_err() || permit.is_err() {
            return;
        }
        let error = loop {
            self.arrivals.mark_unchanged();
            let answer = caller.until_closed(self.ask(Request::Unread { after })).await;
            let mut page = match answer {
                Some(Ok(Reply::Texts(page))) => page,
                Some(Err(error)) => break error,
                _ => return,
            };
            let next = page.next;
            page.rows.retain(|row| !row.is_muted);
            if !page.rows.is_empty() {
                let line = api::notification(&Ok(Reply::Texts(page)));
                tokio::select! {
                    // The caller may be a pager that stops reading.
                    sent = caller.send_at_leisure(&line) => if sent.is_err() { return },
                    _ = self.stopped.wait_for(|it| *it) => return,
                }
            }
            if let Some(next) = next {
                after = next;
                continue;
            }
            tokio::select! {
                changed = self.arrivals.changed() => if changed.is_err() { break Error::stopping() },
                refusal = self.failure.wait_for(|it| it.as_ref().is_some_and(|it| it.is_final)) => {
                    let error = refusal.ok().and_then(|it| it.as_ref().map(|it| it.error.clone()));
                    break error.unwrap_or_else(Error::stopping);
                }
                _ = self.stopped.wait_for(|it| *it) => break Error::stopping(),
                () = caller.closed() => return,
            }
        };
        // The caller may be gone.
        let _ = caller.send(&api::notification(&Err(error))).await;
    }

    /// Sends a request to the task that owns the store, and waits for the answer.
    async fn ask(&self, request: Request) -> Answer {
        let (reply, answered) = oneshot::channel();
        self.calls.send(Call { request, reply }).await.map_err(|_| Error::stopping())?;
        answered.await.map_err(|_| Error::stopping())?
    }
}
