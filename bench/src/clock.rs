//! Two clocks at once: the wall and this thread's CPU.

use std::time::Instant;

use rustix::time::{ClockId, clock_gettime};

/// Elapsed time of a piece of work by both clocks, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Elapsed {
    /// Wall-clock time in nanoseconds.
    pub wall_ns: f64,
    /// CPU time. `None` where the system has no clock for it.
    pub cpu_ns: Option<f64>,
}

impl Elapsed {
    /// Creates a time from the readings of both clocks, in nanoseconds.
    #[must_use]
    pub fn new(wall_ns: f64, cpu_ns: Option<f64>) -> Self {
        Self { wall_ns, cpu_ns }
    }

    /// Adds up the times of several iterations. CPU time is unknown if it is unknown of one.
    ///
    /// # Errors
    /// Fails if an iteration fails.
    pub fn sum<E>(iterations: u32, mut once: impl FnMut() -> Result<Self, E>) -> Result<Self, E> {
        (0..iterations).try_fold(Self::new(0.0, Some(0.0)), |sum, _| {
            let one = once()?;
            let cpu_ns = sum.cpu_ns.zip(one.cpu_ns).map(|(sum, one)| sum + one);
            Ok(Self { wall_ns: sum.wall_ns + one.wall_ns, cpu_ns })
        })
    }

    /// Divides the time by `n`: the time of one of `n` equal parts.
    #[must_use]
    pub fn per(self, n: u32) -> Self {
        let n = f64::from(n);
        Self { wall_ns: self.wall_ns / n, cpu_ns: self.cpu_ns.map(|cpu| cpu / n) }
    }
}

/// Runs `work` and times it: the wall clock, and the CPU time of this thread.
pub fn time(work: impl FnOnce()) -> Elapsed {
    time_by(ClockId::ThreadCPUTime, work)
}

/// Runs `work` on several threads and times it. CPU time is that of the whole process.
pub fn time_threads(work: impl FnOnce()) -> Elapsed {
    time_by(ClockId::ProcessCPUTime, work)
}

fn time_by(clock: ClockId, work: impl FnOnce()) -> Elapsed {
    let (wall, cpu) = (Instant::now(), cpu_ns(clock));
    work();
    let cpu_ns = cpu_ns(clock) - cpu;
    Elapsed { wall_ns: wall.elapsed().as_secs_f64() * 1e9, cpu_ns: Some(cpu_ns) }
}

#[allow(clippy::cast_precision_loss, reason = "a process lives less than 2^53 ns")]
fn cpu_ns(clock: ClockId) -> f64 {
    let now = clock_gettime(clock);
    now.tv_sec as f64 * 1e9 + now.tv_nsec as f64
}

#[cfg(test)]
mod tests {
    use super::{time, time_threads};

    #[test]
    fn work_takes_cpu_time_and_sleep_does_not() {
        let mut sum = 0_u64;
        let work = time(|| {
            for i in 0..5_000_000_u64 {
                sum = core::hint::black_box(sum.wrapping_mul(31).wrapping_add(i));
            }
        });
        assert!(work.cpu_ns.unwrap() > 1e5, "{work:?}");
        let sleep = time(|| std::thread::sleep(core::time::Duration::from_millis(20)));
        assert!(sleep.wall_ns >= 2e7 && sleep.cpu_ns.unwrap() < 1e7, "{sleep:?}");
    }

    #[test]
    fn work_of_another_thread_counts_for_the_process() {
        let spin = || (0..5_000_000_u64).fold(0, |sum, i| core::hint::black_box(sum ^ i));
        let mut sum = None;
        let both = time_threads(|| {
            sum = std::thread::scope(|scope| scope.spawn(spin).join().ok());
        });
        assert!(sum.is_some() && both.cpu_ns.unwrap() > 1e5, "{both:?}");
    }
}
