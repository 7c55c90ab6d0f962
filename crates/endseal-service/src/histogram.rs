//! A histogram in the text format of Prometheus.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use core::time::Duration;

/// Counts values in classes that have upper bounds. Several threads may add values at the same
/// time.
#[derive(Debug)]
pub struct Histogram<const N: usize> {
    bounds: [u64; N],
    /// Number of counted units in one displayed unit.
    unit: u64,
    classes: [AtomicU64; N],
    beyond: AtomicU64,
    sum: AtomicU64,
}

impl<const N: usize> Histogram<N> {
    /// Creates a histogram of numbers with these upper bounds, which MUST ascend.
    #[must_use]
    pub const fn of_numbers(bounds: [u64; N]) -> Self {
        Self::new(bounds, 1)
    }

    /// Creates a histogram of durations with upper bounds in microseconds, which MUST ascend. The
    /// text shows them in seconds.
    #[must_use]
    pub const fn of_durations(bounds: [u64; N]) -> Self {
        Self::new(bounds, 1_000_000)
    }

    const fn new(bounds: [u64; N], unit: u64) -> Self {
        Self {
            bounds,
            unit,
            classes: [const { AtomicU64::new(0) }; N],
            beyond: AtomicU64::new(0),
            sum: AtomicU64::new(0),
        }
    }

    /// Counts one value in its class, and adds it to the sum.
    pub fn add(&self, value: u64) {
        let class = self.bounds.iter().position(|bound| value <= *bound);
        class.and_then(|at| self.classes.get(at)).unwrap_or(&self.beyond).fetch_add(1, Relaxed);
        self.sum.fetch_add(value, Relaxed);
    }

    /// Counts a duration in a histogram of durations.
    pub fn add_duration(&self, elapsed: Duration) {
        self.add(u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX));
    }

    /// Returns the displayed upper bound of each class with the number of values in this class
    /// only, and the sum of all values in displayed units.
    pub(crate) fn snapshot(&self) -> (Vec<(String, u64)>, f64) {
        let shown = |value: u64| value as f64 / self.unit as f64;
        let bounds = self.bounds.iter().map(|bound| shown(*bound).to_string());
        let bounds = bounds.chain(["+Inf".to_owned()]);
        let counts = self.classes.iter().chain([&self.beyond]).map(|class| class.load(Relaxed));
        (bounds.zip(counts).collect(), shown(self.sum.load(Relaxed)))
    }
}

#[cfg(test)]
mod tests {
    use super::Histogram;
    use crate::MetricsText;

    #[test]
    fn a_value_is_in_each_class_that_is_not_below_it() {
        let histogram = Histogram::of_durations([1_000, 250_000]);
        [1_000, 1_001, 3_000_000].into_iter().for_each(|it| histogram.add(it));
        let mut text = MetricsText::new("it", "1.2.3");
        text.histogram("seconds", "Times.", &histogram);
        let expected = "# HELP it_build_info The version that runs.\n# TYPE it_build_info gauge\n\
            it_build_info{version=\"1.2.3\"} 1\n\
            # HELP it_seconds Times.\n# TYPE it_seconds histogram\n\
            it_seconds_bucket{le=\"0.001\"} 1\nit_seconds_bucket{le=\"0.25\"} 2\n\
            it_seconds_bucket{le=\"+Inf\"} 3\nit_seconds_sum 3.002001\nit_seconds_count 3\n";
        assert_eq!(text.finish(), expected);
    }
}
