//! Counts of the allocations of a piece of work.
//!
//! A program that wants to know makes [`CountingAllocator`] its global allocator. It counts only
//! while [`measure`] runs; otherwise it costs one relaxed load a call.

use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::alloc::{GlobalAlloc, Layout, System};

/// The system's allocator, with counters.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct CountingAllocator;

impl CountingAllocator {
    /// Creates the allocator. Use it as the initial value of a `#[global_allocator]` static.
    #[must_use]
    pub const fn new() -> Self {
        Self
    }
}

static COUNTING: AtomicBool = AtomicBool::new(false);
static CALLS: AtomicUsize = AtomicUsize::new(0);
static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

fn count(added: usize) {
    if COUNTING.load(Relaxed) {
        CALLS.fetch_add(1, Relaxed);
        let live = LIVE.fetch_add(added, Relaxed).wrapping_add(added);
        PEAK.fetch_max(live, Relaxed);
    }
}

fn discount(removed: usize) {
    if COUNTING.load(Relaxed) {
        // Memory that was allocated before counting started may be freed now: the counter stops at
        // zero.
        let _previous =
            LIVE.try_update(Relaxed, Relaxed, |live| Some(live.saturating_sub(removed)));
    }
}

// SAFETY: every call is passed on to the system's allocator with the caller's arguments, whose
// contract is the same; the counters neither allocate nor unwind.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        discount(layout.size());
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller keeps the contract of `alloc_zeroed`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        discount(layout.size());
        count(size);
        // SAFETY: the caller keeps the contract of `realloc`.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

/// Allocations of a piece of work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Allocations {
    /// Number of calls that allocate memory.
    pub calls: usize,
    /// Largest number of bytes that were allocated at the same time.
    pub peak: usize,
    /// Bytes that are still allocated at the end.
    pub live: usize,
}

/// Runs `work` and counts what it allocates on any thread. All counts are zero if the program has
/// another allocator. Two calls at the same time disturb each other.
pub fn measure(work: impl FnOnce()) -> Allocations {
    for counter in [&CALLS, &LIVE, &PEAK] {
        counter.store(0, Relaxed);
    }
    COUNTING.store(true, Relaxed);
    work();
    COUNTING.store(false, Relaxed);
    Allocations { calls: CALLS.load(Relaxed), peak: PEAK.load(Relaxed), live: LIVE.load(Relaxed) }
}

/// Returns true if [`CountingAllocator`] is the allocator of this program, so that it counts at
/// all.
pub(crate) fn is_counted() -> bool {
    measure(|| drop(core::hint::black_box(Box::new(0_u8)))).calls > 0
}
