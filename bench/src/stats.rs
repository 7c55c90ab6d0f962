//! Medians with their intervals, and quantiles.

/// Pseudorandom generator of Steele, Lea and Flood, "Fast Splittable Pseudorandom Number
/// Generators", 2014. Not for secrets.
#[derive(Clone, Debug)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// Creates a generator. The same seed gives the same sequence.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns the next number.
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns an index below `n`, which must not be zero.
    #[allow(clippy::cast_possible_truncation, reason = "the high half of a product is below n")]
    pub fn index(&mut self, n: usize) -> usize {
        ((u128::from(self.draw()) * n as u128) >> 64) as usize
    }

    /// Puts `items` in random order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.index(i + 1));
        }
    }
}

/// A value with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Estimate {
    /// Median of the samples.
    pub median: f64,
    /// 95 % confidence interval of the distribution's median; `None` for fewer than six samples.
    pub ci95: Option<[f64; 2]>,
    /// Number of samples that the estimate is based on.
    pub n: usize,
}

impl Estimate {
    /// Creates an estimate of an exact value, whose interval is the value itself.
    #[must_use]
    pub fn exact(value: f64) -> Self {
        Self { median: value, ci95: Some([value, value]), n: 1 }
    }

    /// Widens the interval by an error that the rounds of one run do not show, such as the position
    /// of data in memory. `share` is its size relative to the median; it is independent of the
    /// other errors, so the squares are added.
    #[must_use]
    pub fn widened(self, share: f64) -> Self {
        let more = share * self.median;
        let wider = |[low, high]: [f64; 2]| {
            // A value that cannot be negative must have no negative bound.
            let low = (self.median - (self.median - low).hypot(more)).max(0.0);
            [low, self.median + (high - self.median).hypot(more)]
        };
        Self { ci95: self.ci95.map(wider), ..self }
    }
}

/// Returns the median with the interval of the sign test: the closest pair of order statistics
/// x(k), x(n+1-k) with P(k <= B <= n - k) >= 0.95 for B binomial(n, 1/2). `None` without samples.
#[must_use]
pub fn estimate(samples: &[f64]) -> Option<Estimate> {
    let median = median(samples)?;
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    // Probability that fewer than k of n samples are below the median: sum of C(n, i) / 2^n.
    let mut term = 0.5_f64.powf(real(n));
    let mut below = 0.0;
    let mut rank = 0;
    while rank < n / 2 && below + term <= 0.025 {
        below += term;
        term *= real(n - rank) / real(rank + 1);
        rank += 1;
    }
    let ci95 = rank.checked_sub(1).map(|k| [sorted[k], sorted[n - 1 - k]]);
    Some(Estimate { median, ci95, n })
}

#[allow(clippy::cast_precision_loss, reason = "a number of samples")]
fn real(number: usize) -> f64 {
    number as f64
}

/// Returns the middle value, or the mean of the two middle values. `None` without samples.
#[must_use]
pub fn median(samples: &[f64]) -> Option<f64> {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let upper = *sorted.get(sorted.len() / 2)?;
    let lower = sorted[(sorted.len() - 1) / 2];
    Some(f64::midpoint(lower, upper))
}

/// Returns the value below which that share of the samples lies, 0 to 1. `None` without samples.
#[must_use]
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "an index below the number of samples"
)]
pub fn quantile(samples: &[f64], share: f64) -> Option<f64> {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().checked_sub(1)?;
    sorted.get((share.clamp(0.0, 1.0) * last as f64).round() as usize).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_and_quantiles() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0]), Some(3.0));
        assert_eq!(median(&[4.0, 1.0, 3.0]), Some(3.0));
        assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), Some(2.5));
        assert_eq!(quantile(&[1.0, 2.0, 3.0, 4.0, 5.0], 0.0), Some(1.0));
        assert_eq!(quantile(&[1.0, 2.0, 3.0, 4.0, 5.0], 1.0), Some(5.0));
        assert_eq!(quantile(&[], 0.5), None);
    }

    #[test]
    fn an_interval_needs_six_samples_and_narrows_with_more() {
        let up_to = |n: u32| -> Vec<f64> { (1..=n).map(f64::from).collect() };
        assert_eq!(estimate(&[]), None);
        assert_eq!(estimate(&up_to(5)).unwrap().ci95, None);
        // P(all six on one side) = 2/64; binomial tables: n = 15 gives ranks 4 and 12, n = 41 14
        // and 28.
        assert_eq!(estimate(&up_to(6)).unwrap().ci95, Some([1.0, 6.0]));
        assert_eq!(estimate(&up_to(15)).unwrap().ci95, Some([4.0, 12.0]));
        assert_eq!(estimate(&up_to(41)).unwrap().ci95, Some([14.0, 28.0]));
        let same = estimate(&[5.0; 9]).unwrap();
        assert_eq!((same.median, same.ci95, same.n), (5.0, Some([5.0, 5.0]), 9));
    }

    #[test]
    fn an_interval_covers_the_median_as_often_as_it_says() {
        let mut noise = SplitMix64::new(7);
        for n in [6, 9, 15, 41] {
            let mut covered = 0;
            for _ in 0..2000 {
                let samples: Vec<f64> = (0..n)
                    .map(|_| f64::from(u32::try_from(noise.index(1_000_001)).unwrap()))
                    .collect();
                let [low, high] = estimate(&samples).unwrap().ci95.unwrap();
                covered += u32::from(low <= 500_000.0 && 500_000.0 <= high);
            }
            assert!(covered >= 1880, "{covered} of 2000 with {n} samples");
        }
    }

    #[test]
    fn a_wider_interval_adds_squares() {
        let narrow = Estimate { median: 100.0, ci95: Some([97.0, 104.0]), n: 15 };
        assert_eq!(narrow.widened(0.0), narrow);
        let wide = narrow.widened(0.04).ci95.unwrap();
        assert!((wide[0] - 95.0).abs() < 1e-9 && (wide[1] - 105.656_854).abs() < 1e-6, "{wide:?}");
        assert_eq!(narrow.widened(3.0).ci95.unwrap()[0], 0.0);
    }

    #[test]
    fn shuffling_keeps_everything() {
        let mut items: Vec<_> = (0..100).collect();
        SplitMix64::new(9).shuffle(&mut items);
        assert_ne!(items, (0..100).collect::<Vec<_>>());
        items.sort_unstable();
        assert_eq!(items, (0..100).collect::<Vec<_>>());
    }
}
