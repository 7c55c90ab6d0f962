//! Medians with their intervals, quantiles and fitted growth.

/// A deterministic generator of indices for resampling and shuffling. Not for secrets.
#[derive(Clone, Debug)]
pub struct Shuffler(u64);

impl Shuffler {
    /// Creates a generator. The same seed gives the same sequence.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns the next value of SplitMix64.
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns an index below `n`, which must not be zero.
    #[allow(clippy::cast_possible_truncation, reason = "the high half of a product is below n")]
    pub fn index(&mut self, n: usize) -> usize {
        ((u128::from(self.next()) * n as u128) >> 64) as usize
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

/// Number of resamples of a bootstrap.
const RESAMPLES: usize = 1000;

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

/// A line `y = fixed + per_unit · x`, fitted by Theil and Sen: the slope is the median of the
/// slopes of all pairs, which a few disturbed points do not move.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Line {
    /// Value at x = 0.
    pub fixed: f64,
    /// Growth for each unit of x.
    pub per_unit: f64,
}

/// Fits a line. `None` for fewer than two different x.
#[must_use]
pub fn theil_sen(points: &[(f64, f64)]) -> Option<Line> {
    let mut slopes = Vec::new();
    for (i, (x1, y1)) in points.iter().enumerate() {
        for (x2, y2) in &points[i + 1..] {
            if x1 != x2 {
                slopes.push((y2 - y1) / (x2 - x1));
            }
        }
    }
    let per_unit = median(&slopes)?;
    let rests: Vec<_> = points.iter().map(|(x, y)| y - per_unit * x).collect();
    Some(Line { fixed: median(&rests)?, per_unit })
}

/// Exponent of a power law with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Exponent {
    /// Exponent fitted to all points.
    pub fitted: f64,
    /// Bootstrap interval of the exponent.
    pub ci95: [f64; 2],
}

/// Fits the exponent e of `y ~ x^e` on logarithms, with an interval from resampled points. `None`
/// for fewer than three usable points.
#[must_use]
pub fn exponent(points: &[(f64, f64)], shuffler: &mut Shuffler) -> Option<Exponent> {
    let logs: Vec<_> = points
        .iter()
        .filter(|(x, y)| *x > 0.0 && *y > 0.0)
        .map(|(x, y)| (x.ln(), y.ln()))
        .collect();
    if logs.len() < 3 {
        return None;
    }
    let fitted = theil_sen(&logs)?.per_unit;
    let mut exponents = Vec::new();
    for _ in 0..RESAMPLES {
        let resample: Vec<_> = logs.iter().map(|_| logs[shuffler.index(logs.len())]).collect();
        exponents.extend(theil_sen(&resample).map(|line| line.per_unit));
    }
    let ci95 = [quantile(&exponents, 0.025)?, quantile(&exponents, 0.975)?];
    Some(Exponent { fitted, ci95 })
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
        let mut noise = Shuffler::new(7);
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
    fn a_line_survives_an_outlier() {
        let mut points: Vec<_> =
            (1..20).map(|x| (f64::from(x), 2.0 + 3.0 * f64::from(x))).collect();
        points[7].1 = 1000.0;
        let line = theil_sen(&points).unwrap();
        assert!((line.per_unit - 3.0).abs() < 0.01 && (line.fixed - 2.0).abs() < 0.1, "{line:?}");
        assert_eq!(theil_sen(&[(1.0, 1.0), (1.0, 2.0)]), None);
    }

    #[test]
    fn exponents_are_those_of_the_law() {
        let mut shuffler = Shuffler::new(3);
        for law in [0.5, 1.0, 2.0] {
            let points: Vec<_> =
                (1..12).map(|x| (f64::from(x), 7.0 * f64::from(x).powf(law))).collect();
            let fitted = exponent(&points, &mut shuffler).unwrap();
            assert!((fitted.fitted - law).abs() < 1e-9, "{fitted:?}");
        }
        assert_eq!(exponent(&[(1.0, 1.0), (2.0, 2.0)], &mut shuffler), None);
    }

    #[test]
    fn shuffling_keeps_everything() {
        let mut items: Vec<_> = (0..100).collect();
        Shuffler::new(9).shuffle(&mut items);
        assert_ne!(items, (0..100).collect::<Vec<_>>());
        items.sort_unstable();
        assert_eq!(items, (0..100).collect::<Vec<_>>());
    }
}
