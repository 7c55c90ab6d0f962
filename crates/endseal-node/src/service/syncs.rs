//! Requests for a sync with the hub.

use core::cell::RefCell;

use tokio::sync::Notify;

use super::call::Answering;
use crate::api::{Error, ErrorKind, Reply};
use crate::messages::SyncReport;

/// A request that waits for a sync.
struct Waiting {
    reply: Answering,
    /// Number of failed attempts after which the request fails.
    attempts: u32,
}

/// Requests that wait for a sync.
#[derive(Default)]
pub(super) struct Syncs {
    /// Requests that the current sync answers.
    present: RefCell<Vec<Waiting>>,
    /// Requests that arrived after the current sync had started, and wait for the next one.
    next: RefCell<Vec<Waiting>>,
    asked: Notify,
}

impl Syncs {
    pub(super) fn add(&self, reply: Answering, attempts: u32) {
        self.next.borrow_mut().push(Waiting { reply, attempts });
        self.asked.notify_one();
    }

    /// Waits until a request is there that no current sync answers, and whose caller still waits.
    pub(super) async fn asked(&self) {
        while !self.is_asked() {
            self.added().await;
        }
    }

    fn is_asked(&self) -> bool {
        let mut next = self.next.borrow_mut();
        next.retain(|it| !it.reply.is_closed());
        !next.is_empty()
    }

    /// Waits until another request is added.
    pub(super) async fn added(&self) {
        self.asked.notified().await;
    }

    /// Records that a sync starts.
    pub(super) fn begin(&self) {
        self.present.borrow_mut().append(&mut self.next.borrow_mut());
    }

    /// Replies to the requests of the current sync, which succeeded.
    pub(super) fn succeeded(&self, report: &SyncReport) {
        for Waiting { reply, .. } in self.present.take() {
            // The caller may be gone.
            let _ = reply.send(Ok(Reply::Report(Box::new(report.clone()))));
        }
    }

    /// Records that the hub temporarily accepts nothing. This counts as a failed attempt, but the
    /// sync continues.
    pub(super) fn refused(&self, error: &Error) {
        let mut present = self.present.borrow_mut();
        for mut waiting in present.split_off(0) {
            waiting.attempts = waiting.attempts.saturating_sub(1);
            if waiting.attempts > 0 {
                present.push(waiting);
            } else {
                let _ = waiting.reply.send(Err(error.clone()));
            }
        }
    }

    /// Records that an attempt failed.
    pub(super) fn failed(&self, error: &Error) {
        let is_transient = error.kind == (ErrorKind::Hub { is_transient: true });
        let mut waiting = self.present.take();
        waiting.append(&mut self.next.borrow_mut());
        for Waiting { reply, attempts } in waiting {
            let attempts = attempts.saturating_sub(1);
            // The caller may be gone.
            if reply.is_closed() {
                continue;
            }
            if attempts == 0 || !is_transient {
                let _ = reply.send(Err(error.clone()));
            } else {
                self.next.borrow_mut().push(Waiting { reply, attempts });
            }
        }
    }
}
