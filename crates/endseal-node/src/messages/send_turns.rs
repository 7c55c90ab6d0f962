//! Turns of sending while a mailbox is received.

use core::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

use super::error::SyncError;
use super::report::SyncReport;

/// Turns of sending during a visit: one after each batch that was opened, so that a mailbox that
/// fills again and again keeps no text here, and one after the last.
pub(super) struct SendTurns {
    opened: Notify,
    has_ended: AtomicBool,
}

impl SendTurns {
    pub(super) fn new() -> Self {
        Self { opened: Notify::new(), has_ended: AtomicBool::new(false) }
    }

    /// Notified of each batch.
    pub(super) fn opened(&self) -> &Notify {
        &self.opened
    }

    /// Notes that all was received: the next turn is the last.
    pub(super) fn end(&self) {
        self.has_ended.store(true, Ordering::Release);
        self.opened.notify_one();
    }

    /// Calls `send` for each turn. Returns the result of the last one. A hub that takes no more for
    /// a while ends no turn but that.
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
