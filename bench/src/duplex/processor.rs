//! Pins each side of a connection to a processor of its own.

/// Pins the calling thread to the processor number `side` of those that this process may use,
/// counted from 0. Does nothing if there are too few.
///
/// Without this the system sometimes puts two threads that wait for each other on one processor,
/// and sometimes wakes an idle processor for each message, which takes several times as long. The
/// choice would differ between subjects. Peers of a real connection share no processor.
#[cfg(target_os = "linux")]
pub(super) fn keep(side: usize) {
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

    let Ok(allowed) = sched_getaffinity(None) else { return };
    let Some(own) = (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu)).nth(side) else {
        return;
    };
    let mut set = CpuSet::new();
    set.set(own);
    // If this is not permitted, the system keeps choosing the processor.
    let _kept = sched_setaffinity(None, &set);
}

/// Does nothing: other systems choose the processor.
#[cfg(not(target_os = "linux"))]
pub(super) fn keep(_side: usize) {}
