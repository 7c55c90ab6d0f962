//! A processor for each side.

/// Keeps the thread that calls to the `side`-th of the processors that this process may use,
/// counted from 0, if there are as many.
///
/// Left to itself the system puts two threads that wait for each other on one processor at times,
/// and at others wakes an idle one for each message, which is several times as long: another choice
/// for each subject. Peers of a real connection share no processor.
#[cfg(target_os = "linux")]
pub(super) fn keep(side: usize) {
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

    let Ok(allowed) = sched_getaffinity(None) else { return };
    let Some(own) = (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu)).nth(side) else {
        return;
    };
    let mut set = CpuSet::new();
    set.set(own);
    // Where it is not allowed, the system goes on to choose.
    let _kept = sched_setaffinity(None, &set);
}

/// Other systems choose themselves.
#[cfg(not(target_os = "linux"))]
pub(super) fn keep(_side: usize) {}
