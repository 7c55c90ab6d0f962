//! Between whatever wakes a connection and its task: wakes can be held back.
//!
//! hyper hands pieces of a request's body from one half of a connection to the other, and wakes the one half when the
//! other takes a piece, to have the next one read. Both are polled by the same task. Behind the last piece there is
//! nothing to be read, and the task would come round for nothing: a third time for each short upload.

use alloc::sync::Arc;
use core::cell::Cell;
use core::task::Waker;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Wake;

thread_local! {
    static HELD: Cell<Held> = const { Cell::new(Held::No) };
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Held {
    No,
    Yes,
    /// Something wanted to wake somebody.
    Wanted,
}

/// Does something, in whose time nothing on this thread wakes a connection. Whether anything wanted to: the caller MUST
/// make up for it, unless it knows that nobody waits for that.
///
/// Other threads wake whom they want.
pub(crate) fn hold_wakes<T>(act: impl FnOnce() -> T) -> (T, bool) {
    /// Ends it, even if `act` panics.
    struct Holding(Held);
    impl Drop for Holding {
        fn drop(&mut self) {
            HELD.set(self.0);
        }
    }
    let _holding = Holding(HELD.replace(Held::Yes));
    let done = act();
    (done, HELD.get() == Held::Wanted)
}

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
        if HELD.get() == Held::No {
            self.lock().wake_by_ref();
        } else {
            HELD.set(Held::Wanted);
        }
    }
}

#[cfg(test)]
mod tests {
    use core::sync::atomic::{AtomicUsize, Ordering::SeqCst};
    use std::thread;

    use super::*;

    #[derive(Default)]
    struct Woken(AtomicUsize);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, SeqCst);
        }
    }

    #[test]
    fn wakes_reach_the_task_of_now_unless_they_are_held_back_on_this_thread() {
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

        assert_eq!(hold_wakes(|| 5), (5, false));
        assert_eq!(hold_wakes(|| waker.wake_by_ref()), ((), true));
        assert_eq!(woken(), [1, 1]);
        hold_wakes(|| thread::scope(|scope| drop(scope.spawn(|| waker.wake_by_ref()).join())));
        assert_eq!(woken(), [1, 2]);
        waker.wake_by_ref();
        assert_eq!(woken(), [1, 3]);
    }
}
