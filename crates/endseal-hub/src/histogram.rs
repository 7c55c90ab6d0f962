//! A histogram of Prometheus.

use core::fmt::Write as _;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Counts of values by their upper bounds.
#[derive(Debug)]
pub(crate) struct Histogram<const N: usize> {
    bounds: [u64; N],
    /// Values for one of the unit that is shown.
    unit: u64,
    classes: [AtomicU64; N],
    beyond: AtomicU64,
    sum: AtomicU64,
}

impl<const N: usize> Histogram<N> {
    /// A histogram of values of which `unit` are one of the unit that is shown.
    pub(crate) const fn new(bounds: [u64; N], unit: u64) -> Self {
        Self {
            bounds,
            unit,
            classes: [const { AtomicU64::new(0) }; N],
            beyond: AtomicU64::new(0),
            sum: AtomicU64::new(0),
        }
    }

    pub(crate) fn add(&self, value: u64) {
        let class = self.bounds.iter().position(|bound| value <= *bound);
        class.and_then(|at| self.classes.get(at)).unwrap_or(&self.beyond).fetch_add(1, Relaxed);
        self.sum.fetch_add(value, Relaxed);
    }

    /// Writes its series under a name.
    pub(crate) fn text(&self, out: &mut String, name: &str) {
        let shown = |value: u64| value as f64 / self.unit as f64;
        let mut count = 0;
        for (bound, class) in self.bounds.iter().zip(&self.classes) {
            count += class.load(Relaxed);
            // Writing into a string cannot fail.
            let _ = writeln!(out, "{name}_bucket{{le=\"{}\"}} {count}", shown(*bound));
        }
        count += self.beyond.load(Relaxed);
        let sum = shown(self.sum.load(Relaxed));
        let _ = writeln!(out, "{name}_bucket{{le=\"+Inf\"}} {count}");
        let _ = writeln!(out, "{name}_sum {sum}\n{name}_count {count}");
    }
}

#[cfg(test)]
mod tests {
    use super::Histogram;

    #[test]
    fn a_value_is_in_each_class_that_is_not_below_it() {
        let histogram = Histogram::new([1_000, 250_000], 1_000_000);
        [1_000, 1_001, 3_000_000].into_iter().for_each(|it| histogram.add(it));
        let mut text = String::new();
        histogram.text(&mut text, "it");
        let expected = "it_bucket{le=\"0.001\"} 1\nit_bucket{le=\"0.25\"} 2\n\
            it_bucket{le=\"+Inf\"} 3\nit_sum 3.002001\nit_count 3\n";
        assert_eq!(text, expected);
    }
}
