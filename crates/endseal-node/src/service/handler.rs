//! Connections of the local socket: each has one request and its replies.

use alloc::sync::Arc;

use endseal_crypto::secret::Zeroizing;
use endseal_service::control::{ControlCall, ControlFrameError};
use tokio::sync::{Semaphore, mpsc, oneshot, watch};

use super::call::{Answer, Call};
use crate::local::{LocalError, LocalReply, LocalRequest, Secret};

/// Limit on concurrent requests that wait for messages or for the hub.
pub(super) const LONG_CALLS: usize = 8;

/// Handles connections. Each runs in a task of its own with a clone of this handler.
#[derive(Clone)]
pub(super) struct Handler {
    calls: mpsc::Sender<Call>,
    arrivals: watch::Receiver<()>,
    stopped: watch::Receiver<bool>,
    long_calls: Arc<Semaphore>,
    /// Closes its channel when the last handler is dropped.
    _under_way: mpsc::Sender<()>,
}

impl Handler {
    pub(super) fn new(
        calls: mpsc::Sender<Call>,
        arrivals: watch::Receiver<()>,
        stopped: watch::Receiver<bool>,
        under_way: mpsc::Sender<()>,
    ) -> Self {
        let long_calls = Arc::new(Semaphore::new(LONG_CALLS));
        Self { calls, arrivals, stopped, long_calls, _under_way: under_way }
    }

    pub(super) async fn handle(self, mut call: ControlCall) {
        let request = match call.parse::<LocalRequest>() {
            Ok(request) => request,
            Err(error) => {
                return reply(&mut call, Err(LocalError::Invalid(error.to_string()))).await;
            }
        };
        let secret = core::mem::take(&mut call.secret);
        match request {
            LocalRequest::Follow { after } => self.follow(&mut call, after).await,
            request @ LocalRequest::Sync { .. } => {
                let Ok(_permit) = self.long_calls.try_acquire() else {
                    return reply(&mut call, Err(LocalError::Busy)).await;
                };
                self.reply_to(&mut call, request, secret).await;
            }
            request => self.reply_to(&mut call, request, secret).await,
        }
    }

    /// Executes a request and replies, unless the caller closes the connection first.
    async fn reply_to(&self, call: &mut ControlCall, request: LocalRequest, secret: Secret) {
        if let Some(answer) = call.until_closed(self.ask(request, secret)).await {
            reply(call, answer).await;
        }
    }

    /// Sends the unread texts, and later those that arrive, until the caller or the service stops.
    async fn follow(mut self, call: &mut ControlCall, mut after: u64) {
        let long_calls = Arc::clone(&self.long_calls);
        let Ok(_permit) = long_calls.try_acquire() else {
            return reply(call, Err(LocalError::Busy)).await;
        };
        loop {
            self.arrivals.mark_unchanged();
            loop {
                let asked = self.ask(LocalRequest::Unread { after }, Zeroizing::default());
                let Some(answer) = call.until_closed(asked).await else { return };
                let Ok((LocalReply::Unread { rows, next }, _)) = &answer else {
                    return reply(call, answer).await;
                };
                let (is_empty, next) = (rows.is_empty(), *next);
                if !is_empty {
                    tokio::select! {
                        // The caller may be a pager that stops reading.
                        sent = reply_at_leisure(call, answer) => if sent.is_err() { return },
                        _ = self.stopped.wait_for(|it| *it) => return,
                    }
                }
                let Some(next) = next else { break };
                after = next;
            }
            tokio::select! {
                changed = self.arrivals.changed() => if changed.is_err() { break },
                _ = self.stopped.wait_for(|it| *it) => break,
                () = call.closed() => return,
            }
        }
        reply(call, Err(LocalError::Stopping)).await;
    }

    /// Sends a request to the task that owns the store, and waits for the answer.
    async fn ask(&self, request: LocalRequest, secret: Secret) -> Answer {
        let (reply, answered) = oneshot::channel();
        let stopping = |_| LocalError::Stopping;
        self.calls.send(Call { request, secret, reply }).await.map_err(|_| LocalError::Stopping)?;
        answered.await.map_err(stopping)?
    }
}

/// Sends a reply. The caller may be gone, so that a failure is ignored.
async fn reply(call: &mut ControlCall, answer: Answer) {
    let (json, secret) = parts(answer);
    let _ = call.reply(&json, &secret).await;
}

async fn reply_at_leisure(call: &mut ControlCall, answer: Answer) -> Result<(), ControlFrameError> {
    let (json, secret) = parts(answer);
    call.reply_at_leisure(&json, &secret).await
}

fn parts(answer: Answer) -> (Result<LocalReply, LocalError>, Secret) {
    match answer {
        Ok((reply, secret)) => (Ok(reply), secret),
        Err(error) => (Err(error), Zeroizing::default()),
    }
}
