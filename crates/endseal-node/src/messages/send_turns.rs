//! Rounds of sending while a mailbox is received.

use core::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

use super::error::SyncError;
use super::report::SyncReport;

/// Rounds of sending during a sync. There is one after each batch that was opened, so that a
/// mailbox that fills again and again delays no text, and one after the last batch.
pub(super) struct SendTurns {
    opened: Notify,
    has_ended: AtomicBool,
}

impl SendTurns {
    pub(super) fn new() -> Self {
        Self { opened: Notify::new(), has_ended: AtomicBool::new(false) }
    }

    /// Returns the notification to trigger after each batch.
    pub(super) fn opened(&self) -> &Notify {
        &self.opened
    }

    /// Records that everything was received, so that the next round is the last.
    pub(super) fn end(&self) {
        self.has_ended.store(true, Ordering::Release);
        self.opened.notify_one();
    }

    /// Calls `send` for each round, and returns the result of the last one. A temporary refusal of
    /// the hub ends the sync only in the last round.
    pub(super) async fn send<T>(
        &self,
        report: &mut SyncReport,
        send: impl AsyncFn(&mut SyncReport) -> Result<T, SyncError>,
    ) -> Result<T, SyncError> {
        loop {
            self.opened.notified().await;
            let is_last = self.has_ended.load(Ordering::Acquire);
            match send(report).await {
                Ok(_) if !is_last => {}
                Err(error) if !is_last && error.is_refusal_for_now() => {}
                result => return result,
            }
        }
    }
}
