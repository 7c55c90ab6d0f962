//! State of a signer for its operators.

use alloc::borrow::Cow;
use alloc::sync::Arc;
use core::sync::atomic::Ordering::Relaxed;

use endseal_service::operator_page::ServiceStatus;

use crate::metrics::Metrics;

/// The counters of a signer that serves.
#[derive(Clone)]
pub(super) struct SignerStatus(pub(super) Arc<Metrics>);

impl ServiceStatus for SignerStatus {
    async fn metrics(&self) -> String {
        self.0.text()
    }

    /// Requests of apps have no result while the keys are locked or no relay is connected.
    async fn unready(&self) -> Option<Cow<'static, str>> {
        if !self.0.unlocked.load(Relaxed) {
            Some("locked".into())
        } else if self.0.relays_connected.load(Relaxed) == 0 {
            Some("no relay is connected".into())
        } else {
            None
        }
    }
}
