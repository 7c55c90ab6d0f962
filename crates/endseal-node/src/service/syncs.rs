//! Visits that are asked for.

use core::cell::RefCell;

use endseal_crypto::secret::Zeroizing;
use tokio::sync::Notify;

use super::call::Answering;
use crate::local::{LocalError, LocalReply};
use crate::messages::SyncReport;

/// A request that waits for a visit.
struct Waiting {
    reply: Answering,
    /// Failed attempts that are left.
    attempts: u32,
}

/// Requests that wait for a visit.
#[derive(Default)]
pub(super) struct Syncs {
    /// Those for the visit that goes on.
    present: RefCell<Vec<Waiting>>,
    /// Those for the next one: they came after it had begun.
    next: RefCell<Vec<Waiting>>,
    asked: Notify,
}

impl Syncs {
    pub(super) fn add(&self, reply: Answering, attempts: u32) {
        self.next.borrow_mut().push(Waiting { reply, attempts });
        self.asked.notify_one();
    }

    /// Waits until a visit is asked for that has not begun, and whose caller is there.
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

    /// Waits until another visit is asked for.
    pub(super) async fn added(&self) {
        self.asked.notified().await;
    }

    /// Notes that a visit begins.
    pub(super) fn begin(&self) {
        self.present.borrow_mut().append(&mut self.next.borrow_mut());
    }

    /// Notes that the visit succeeded.
    pub(super) fn succeeded(&self, report: &SyncReport) {
        for Waiting { reply, .. } in self.present.take() {
            // The caller may be gone.
            let _ = reply.send(Ok((LocalReply::Report(report.clone()), Zeroizing::default())));
        }
    }

    /// Notes that the hub takes nothing for a while: an attempt failed, and the visit goes on.
    pub(super) fn refused(&self, error: &LocalError) {
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

    /// Notes that an attempt failed.
    pub(super) fn failed(&self, error: &LocalError) {
        let is_transient = matches!(error, LocalError::Hub { is_transient: true, .. });
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
