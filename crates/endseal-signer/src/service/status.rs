//! Status of a running signer for operators.

use alloc::borrow::Cow;
use alloc::sync::Arc;
use core::sync::atomic::Ordering::Relaxed;

use endseal_service::operator_page::ServiceStatus;

use crate::metrics::Metrics;

/// Status that is read from the metrics of a running signer.
#[derive(Clone)]
pub(super) struct SignerStatus(pub(super) Arc<Metrics>);

impl ServiceStatus for SignerStatus {
    async fn metrics(&self) -> String {
        self.0.text()
    }

    /// A signer is ready if its keys are unlocked and a relay is connected. Otherwise apps get no
    /// results.
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
