//! Work that is shared between threads.

use std::sync::{Mutex, PoisonError};
use std::thread::{self, Builder};

/// Calls `work` with each of `parts`, on this thread and on up to `threads - 1` others, which end
/// before it returns. If the system starts no more threads, those that run do all of the work.
///
/// # Panics
/// If `work` panics.
pub fn share<P>(threads: usize, parts: impl Iterator<Item = P> + Send, work: impl Fn(P) + Sync) {
    let parts = Mutex::new(parts);
    let next = || parts.lock().unwrap_or_else(PoisonError::into_inner).next();
    let worker = || {
        while let Some(part) = next() {
            work(part);
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads {
            if Builder::new().spawn_scoped(scope, worker).is_err() {
                break;
            }
        }
        worker();
    });
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;
    use std::vec;

    use super::share;

    #[test]
    fn every_part_is_worked_on_once() {
        for threads in [0, 1, 2, 5] {
            let mut numbers = vec![0; 100];
            share(threads, numbers.chunks_mut(7), |part| part.iter_mut().for_each(|n| *n += 1));
            assert_eq!(numbers, vec![1; 100]);
        }
    }

    #[test]
    fn parts_are_worked_on_at_the_same_time() {
        let started = AtomicUsize::new(0);
        share(2, 0..2, |_| {
            started.fetch_add(1, Ordering::SeqCst);
            // The first ends when the second has started, which needs another thread.
            while started.load(Ordering::SeqCst) < 2 {
                thread::yield_now();
            }
        });
        assert_eq!(started.into_inner(), 2);
    }
}
