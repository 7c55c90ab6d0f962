//! Between whatever wakes a connection and its task, which is another one after each move.

use alloc::sync::Arc;
use core::task::Waker;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Wake;

/// Wakes the task that a connection has at present.
pub(super) struct Relay(Mutex<Waker>);

impl Relay {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self(Mutex::new(Waker::noop().clone())))
    }

    /// From now on this one is to be woken.
    pub(super) fn set(&self, waker: &Waker) {
        self.lock().clone_from(waker);
    }

    fn lock(&self) -> MutexGuard<'_, Waker> {
        // Nothing that can panic is done meanwhile.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Wake for Relay {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.lock().wake_by_ref();
    }
}

#[cfg(test)]
mod tests {
    use core::sync::atomic::{AtomicUsize, Ordering::SeqCst};

    use super::*;

    #[derive(Default)]
    struct Woken(AtomicUsize);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, SeqCst);
        }
    }

    #[test]
    fn wakes_reach_the_task_of_now() {
        let tasks = [Arc::<Woken>::default(), Arc::default()];
        let woken = || [0, 1].map(|i| tasks[i].0.load(SeqCst));
        let relay = Relay::new();
        let waker = Waker::from(Arc::clone(&relay));
        waker.wake_by_ref();
        relay.set(&Waker::from(Arc::clone(&tasks[0])));
        waker.wake_by_ref();
        assert_eq!(woken(), [1, 0]);
        relay.set(&Waker::from(Arc::clone(&tasks[1])));
        Waker::from(relay).wake();
        assert_eq!(woken(), [1, 1]);
    }
}
