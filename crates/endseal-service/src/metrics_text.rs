//! Prometheus' text format, version 0.0.4.

use core::fmt::{self, Write as _};

use crate::Histogram;

/// The type of a metric that has one value for each set of labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_enums, reason = "histograms have a method of their own")]
pub enum MetricKind {
    /// A counter, which grows until the process ends. Its name ends in `_total`.
    Counter,
    /// A gauge: a value that can rise and fall.
    Gauge,
}

/// The metrics of one service as a text that Prometheus reads. Every name gets the service's
/// prefix.
#[derive(Debug)]
pub struct MetricsText {
    prefix: &'static str,
    text: String,
}

impl MetricsText {
    /// Begins a text with the metric `build_info`, which has the service's version as a label.
    #[must_use]
    pub fn new(prefix: &'static str, version: &str) -> Self {
        let mut text = Self { prefix, text: String::new() };
        text.head("build_info", MetricKind::Gauge, "The version that runs.");
        text.sample("build_info", &[("version", version)], 1);
        text
    }

    /// Writes the help text and the type of a metric. Its samples MUST follow before the next head.
    pub fn head(&mut self, name: &str, kind: MetricKind, help: &str) {
        let kind = match kind {
            MetricKind::Counter => "counter",
            MetricKind::Gauge => "gauge",
        };
        self.write_head(name, kind, help);
    }

    /// Writes one value of a metric. Label values MUST NOT contain quotes, backslashes or line
    /// breaks, as they are written unescaped.
    pub fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: u64) {
        let prefix = self.prefix;
        self.write(format_args!("{prefix}_{name}"));
        for (at, (label, content)) in labels.iter().enumerate() {
            let separator = if at == 0 { '{' } else { ',' };
            self.write(format_args!("{separator}{label}=\"{content}\""));
        }
        let end = if labels.is_empty() { "" } else { "}" };
        self.write(format_args!("{end} {value}\n"));
    }

    /// Writes a metric that has one value and no labels.
    pub fn single(&mut self, name: &str, kind: MetricKind, help: &str, value: u64) {
        self.head(name, kind, help);
        self.sample(name, &[], value);
    }

    /// Writes a histogram with its buckets, sum and count.
    pub fn histogram<const N: usize>(&mut self, name: &str, help: &str, of: &Histogram<N>) {
        self.write_head(name, "histogram", help);
        let prefix = self.prefix;
        let (buckets, sum) = of.snapshot();
        let mut count = 0;
        for (bound, values) in buckets {
            count += values;
            self.write(format_args!("{prefix}_{name}_bucket{{le=\"{bound}\"}} {count}\n"));
        }
        self.write(format_args!("{prefix}_{name}_sum {sum}\n{prefix}_{name}_count {count}\n"));
    }

    /// Returns the metrics in the text format of Prometheus.
    #[must_use]
    pub fn finish(self) -> String {
        self.text
    }

    fn write_head(&mut self, name: &str, kind: &str, help: &str) {
        let prefix = self.prefix;
        self.write(format_args!("# HELP {prefix}_{name} {help}\n# TYPE {prefix}_{name} {kind}\n"));
    }

    fn write(&mut self, content: fmt::Arguments<'_>) {
        // Writing into a string cannot fail.
        let _ = self.text.write_fmt(content);
    }
}
