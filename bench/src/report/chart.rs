//! Charts, and the position of a value on a logarithmic axis.

/// One of the kinds of charts, with its data.
#[derive(Debug)]
pub(crate) enum Chart {
    Curves(Curves),
    Bars(Bars),
}

impl Chart {
    pub(crate) fn title(&self) -> &str {
        match self {
            Self::Curves(curves) => &curves.title,
            Self::Bars(bars) => &bars.title,
        }
    }

    /// Returns the note that explains the chart.
    pub(crate) fn note(&self) -> &str {
        match self {
            Self::Curves(curves) => &curves.note,
            Self::Bars(bars) => &bars.note,
        }
    }
}

/// Quantity that an axis shows, which decides the units of its labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quantity {
    Count,
    Nanoseconds,
    Bytes,
}

/// Lines over a parameter, both axes logarithmic.
#[derive(Debug)]
pub(crate) struct Curves {
    pub(crate) title: String,
    pub(crate) note: String,
    /// Description of the chart for readers who cannot see it.
    pub(crate) description: String,
    pub(crate) x: String,
    pub(crate) x_quantity: Quantity,
    pub(crate) y: String,
    pub(crate) quantity: Quantity,
    /// Series in the order of their colours. At most [`MOST_SERIES`] are drawn.
    pub(crate) series: Vec<Series>,
}

/// Largest number of series, whose colours and marks can be distinguished.
pub(crate) const MOST_SERIES: usize = 8;

/// One line of a chart.
#[derive(Debug)]
pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) points: Vec<(f64, f64)>,
    /// Coefficients of the fitted line `fixed + per_unit · x`.
    pub(crate) fit: Option<(f64, f64)>,
}

/// Values with their intervals in groups, on a logarithmic axis.
#[derive(Debug)]
pub(crate) struct Bars {
    pub(crate) scale: Scale,
    pub(crate) title: String,
    pub(crate) note: String,
    pub(crate) description: String,
    pub(crate) groups: Vec<BarGroup>,
}

/// The kind of values that bars show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scale {
    /// Ratios: bars start at 1 and extend to either side.
    Ratio,
    /// Amounts: bars start at the left edge.
    Amount(Quantity),
}

/// Bars of one case.
#[derive(Debug)]
pub(crate) struct BarGroup {
    pub(crate) title: String,
    pub(crate) bars: Vec<Bar>,
}

/// One bar: a value with its interval.
#[derive(Debug)]
pub(crate) struct Bar {
    pub(crate) name: String,
    pub(crate) median: f64,
    pub(crate) ci95: [f64; 2],
    pub(crate) text: String,
    /// True for a bar in the main colour: a measured column, a subject of ours, or a peer with the
    /// same properties as ours.
    pub(crate) alike: bool,
}

/// Maps positive values to pixels on a logarithmic scale.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LogAxis {
    low: f64,
    high: f64,
    start: f64,
    end: f64,
}

impl LogAxis {
    /// Creates an axis from pixel `start` to `end` that shows all positive `values`, with a margin
    /// of `room`.
    pub(crate) fn new(values: impl Iterator<Item = f64>, room: f64, start: f64, end: f64) -> Self {
        let logs = values.filter(|v| v.is_finite() && *v > 0.0).map(f64::log10);
        let (low, high) = logs.fold((f64::MAX, f64::MIN), |(l, h), v| (l.min(v), h.max(v)));
        // Without values, or with a single one, the axis has one decade.
        let (low, high) = if low > high { (0.0, 1.0) } else { (low - room, high + room) };
        let high = high.max(low + 0.5);
        Self { low, high, start, end }
    }

    /// Returns the pixel of a positive value.
    pub(crate) fn at(&self, value: f64) -> f64 {
        let share = (value.max(f64::MIN_POSITIVE).log10() - self.low) / (self.high - self.low);
        self.start + share.clamp(-0.1, 1.1) * (self.end - self.start)
    }

    /// Returns the values of the grid lines: powers of ten, with 2 and 5 between them if there are
    /// few.
    pub(crate) fn ticks(&self) -> Vec<f64> {
        #[allow(clippy::cast_possible_truncation, reason = "a logarithm of a number is small")]
        let (first, last) = (self.low.floor() as i32, self.high.ceil() as i32);
        let decades = self.high - self.low;
        let steps: &[f64] = if decades > 2.2 { &[1.0] } else { &[1.0, 2.0, 5.0] };
        // On an axis of very many decades only every second or third one gets a line.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most 100")]
        let stride = (decades / 7.0).ceil().clamp(1.0, 100.0) as usize;
        (first..=last)
            .step_by(stride)
            .flat_map(|power| steps.iter().map(move |step| step * 10f64.powi(power)))
            .filter(|tick| (self.low..=self.high).contains(&tick.log10()))
            .collect()
    }

    pub(crate) fn bounds(&self) -> (f64, f64) {
        (10f64.powf(self.low), 10f64.powf(self.high))
    }
}

/// Moves labels apart, so that each is at least `gap` below the one above it and all are between
/// `top` and `bottom`.
pub(crate) fn spread(wanted: &[f64], gap: f64, top: f64, bottom: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by(|a, b| wanted[*a].total_cmp(&wanted[*b]));
    let mut placed = wanted.to_vec();
    let mut least = top;
    for i in &order {
        placed[*i] = placed[*i].max(least);
        least = placed[*i] + gap;
    }
    let mut most = bottom;
    for i in order.iter().rev() {
        placed[*i] = placed[*i].min(most);
        most = placed[*i] - gap;
    }
    placed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_shows_what_it_was_given() {
        let axis = LogAxis::new([10.0, 1000.0].into_iter(), 0.0, 0.0, 100.0);
        assert_eq!([10.0, 100.0, 1000.0].map(|v| axis.at(v).round()), [0.0, 50.0, 100.0]);
        assert_eq!(axis.ticks(), [10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0]);
        for strange in [vec![], vec![5.0], vec![0.0, -1.0, f64::NAN], vec![1e-300, 1e300]] {
            let axis = LogAxis::new(strange.into_iter(), 0.1, 0.0, 100.0);
            assert!(axis.ticks().len() < 30 && axis.at(1.0).is_finite());
        }
    }

    #[test]
    fn labels_do_not_overlap() {
        let placed = spread(&[50.0, 51.0, 52.0, 99.0], 10.0, 0.0, 100.0);
        let mut sorted = placed.clone();
        sorted.sort_by(f64::total_cmp);
        assert!(sorted.windows(2).all(|pair| pair[1] - pair[0] >= 10.0), "{placed:?}");
        assert!(sorted[3] <= 100.0);
    }
}
