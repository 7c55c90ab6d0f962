//! Whether a connection is to be read.

use alloc::sync::Arc;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Closed from when an upload has a piece until it is asked for the next: what would be read then takes memory
/// beside the piece.
///
/// All that opens and closes it happens in the task of the connection, which looks at it right after: nobody has to
/// be woken, and no other memory depends on the order.
#[derive(Clone, Default)]
pub(crate) struct Gate(Arc<State>);

#[derive(Default)]
struct State {
    closed: AtomicBool,
    /// Something is to be written, and the client does not take it yet.
    writes: AtomicBool,
}

impl Gate {
    /// A piece came, and somebody has it.
    pub(crate) fn close(&self) {
        self.0.closed.store(true, Relaxed);
    }

    /// The next piece is asked for, or there will be none.
    pub(crate) fn open(&self) {
        self.0.closed.store(false, Relaxed);
    }

    /// Whether something waits to be written: until it is, the connection is served as if this was open.
    pub(super) fn writes(&self, waits: bool) {
        // A load costs nothing, a store for each write might.
        if self.0.writes.load(Relaxed) != waits {
            self.0.writes.store(waits, Relaxed);
        }
    }

    /// Whether something waits to be written.
    pub(super) fn is_writing(&self) -> bool {
        self.0.writes.load(Relaxed)
    }

    pub(super) fn is_closed(&self) -> bool {
        self.0.closed.load(Relaxed) && !self.is_writing()
    }
}

#[cfg(test)]
mod tests {
    use super::Gate;

    #[test]
    fn it_is_closed_for_an_upload_unless_something_is_to_be_written() {
        let gate = Gate::default();
        assert!(!gate.is_closed());
        gate.clone().close();
        assert!(gate.is_closed());
        gate.writes(true);
        assert!(!gate.is_closed());
        gate.writes(false);
        assert!(gate.is_closed());
        gate.open();
        assert!(!gate.is_closed());
    }
}
