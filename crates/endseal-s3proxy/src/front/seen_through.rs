//! Work that goes on when the client is gone.

use alloc::sync::Arc;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Whether the work for the request at hand is seen through: brought to its end, though the client that asked for it
/// does not wait any more. Clones are the same.
///
/// What the backend is asked for ends with who asks. That is right for nearly everything, and harms what the backend
/// does in several steps that it does not take back.
///
/// All that sets it and looks at it happens in the task of the connection: no other memory depends on the order.
#[derive(Clone, Default)]
pub(crate) struct SeenThrough(Arc<AtomicBool>);

impl SeenThrough {
    /// From now on, until the work is done.
    pub(crate) fn begin(&self) {
        self.0.store(true, Relaxed);
    }

    /// Of the next request nobody has said so.
    pub(super) fn end(&self) {
        self.0.store(false, Relaxed);
    }

    pub(super) fn is_on(&self) -> bool {
        self.0.load(Relaxed)
    }
}
