//! Counters of a proxy, and their text for Prometheus.

use core::fmt::Write as _;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use core::time::Duration;

use http::StatusCode;

use endseal_s3_protocol::Operation;
use endseal_s3_protocol::S3Error;

/// Upper bounds of the classes of times, in milliseconds.
const BOUNDS: [u64; 10] = [1, 2, 5, 10, 25, 50, 100, 250, 1_000, 5_000];

/// Operations, as rows of the counters.
const OPERATIONS: [Operation; 17] = [
    Operation::PutObject,
    Operation::CopyObject,
    Operation::GetObject,
    Operation::HeadObject,
    Operation::GetObjectAttributes,
    Operation::CreateMultipartUpload,
    Operation::UploadPart,
    Operation::UploadPartCopy,
    Operation::CompleteMultipartUpload,
    Operation::AbortMultipartUpload,
    Operation::ListParts,
    Operation::ListObjects,
    Operation::ListObjectVersions,
    Operation::DeleteObjects,
    Operation::PostObject,
    Operation::NotOnSealed,
    Operation::Other,
];

/// A request that was begun, until it is answered or its client is gone.
pub(crate) struct InFlight<'a>(&'a Metrics);

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Relaxed);
    }
}

/// Counters of a proxy.
#[derive(Debug, Default)]
pub struct Metrics {
    /// Answers by operation and class of status (1xx to 5xx).
    answers: [[AtomicU64; 5]; OPERATIONS.len()],
    /// Times until answers began, by class; the last has no bound.
    times: [AtomicU64; BOUNDS.len() + 1],
    time_sum_us: AtomicU64,
    /// Requests that were begun and not yet answered.
    in_flight: AtomicU64,
    /// Bytes of content that were sealed.
    pub(crate) sealed: AtomicU64,
    /// Bytes of content that were opened.
    pub(crate) opened: AtomicU64,
    /// Objects, or pieces of them, that did not authenticate.
    pub(crate) unauthentic: AtomicU64,
    /// Objects refused because they were plaintext.
    pub(crate) plaintext: AtomicU64,
    /// Entries of lists whose names do not open.
    pub(crate) foreign_names: AtomicU64,
    /// Signatures that were refused.
    pub(crate) refused: AtomicU64,
    /// Ids and receipts of uploads that could not be written or removed.
    pub(crate) records_failed: AtomicU64,
    /// Ids and receipts of uploads that do not open.
    pub(crate) records_refused: AtomicU64,
}

impl Metrics {
    pub(crate) fn begun(&self) -> InFlight<'_> {
        self.in_flight.fetch_add(1, Relaxed);
        InFlight(self)
    }

    pub(crate) fn answered(&self, operation: Operation, status: StatusCode, elapsed: Duration) {
        let row = OPERATIONS.iter().position(|known| *known == operation);
        let class = usize::from(status.as_u16() / 100).saturating_sub(1);
        if let Some(counter) = row.and_then(|row| self.answers[row].get(class)) {
            counter.fetch_add(1, Relaxed);
        }
        let micros = u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX);
        self.time_sum_us.fetch_add(micros, Relaxed);
        let class = BOUNDS.iter().position(|bound| micros <= bound * 1_000);
        self.times[class.unwrap_or(BOUNDS.len())].fetch_add(1, Relaxed);
    }

    /// Counts content that was opened.
    pub(crate) fn opened(&self, bytes: usize) {
        self.opened.fetch_add(bytes as u64, Relaxed);
    }

    /// Counts an object that does not authenticate, and says so.
    pub(crate) fn not_authentic(&self) -> S3Error {
        self.unauthentic.fetch_add(1, Relaxed);
        S3Error::not_authentic()
    }

    /// The counters in Prometheus' text format.
    #[must_use]
    pub fn text(&self) -> String {
        let mut out = String::new();
        head(&mut out, "requests_total", "counter", "Answers, by operation and class of status.");
        for (operation, classes) in OPERATIONS.iter().zip(&self.answers) {
            for (class, counter) in classes.iter().enumerate() {
                let count = counter.load(Relaxed);
                if count > 0 {
                    let (name, class) = (operation.name(), class + 1);
                    let _ = writeln!(
                        out,
                        "endseal_s3_requests_total{{operation=\"{name}\",status=\"{class}xx\"}} {count}"
                    );
                }
            }
        }
        head(&mut out, "answer_seconds", "histogram", "Time until an answer began.");
        let mut below = 0;
        for (bound, counter) in BOUNDS.iter().zip(&self.times) {
            below += counter.load(Relaxed);
            let seconds = Duration::from_millis(*bound).as_secs_f64();
            let _ = writeln!(out, "endseal_s3_answer_seconds_bucket{{le=\"{seconds}\"}} {below}");
        }
        below += self.times[BOUNDS.len()].load(Relaxed);
        let sum = Duration::from_micros(self.time_sum_us.load(Relaxed)).as_secs_f64();
        let _ = writeln!(out, "endseal_s3_answer_seconds_bucket{{le=\"+Inf\"}} {below}");
        let _ = writeln!(out, "endseal_s3_answer_seconds_sum {sum}");
        let _ = writeln!(out, "endseal_s3_answer_seconds_count {below}");
        let sealed = "Bytes of content that were sealed.";
        let opened = "Bytes of content that were opened.";
        let unauthentic = "Objects, or pieces of them, that did not authenticate.";
        let plaintext = "Objects refused because they were not sealed.";
        let foreign = "Entries of lists whose names do not open.";
        let refused = "Requests refused for their signature or their rights.";
        let failed = "Ids and receipts of uploads that could not be written or removed.";
        let strange = "Ids and receipts of uploads that do not open.";
        for (name, kind, help, counter) in [
            ("in_flight", "gauge", "Requests not yet answered.", &self.in_flight),
            ("sealed_bytes_total", "counter", sealed, &self.sealed),
            ("opened_bytes_total", "counter", opened, &self.opened),
            ("unauthentic_total", "counter", unauthentic, &self.unauthentic),
            ("plaintext_refused_total", "counter", plaintext, &self.plaintext),
            ("foreign_names_total", "counter", foreign, &self.foreign_names),
            ("signatures_refused_total", "counter", refused, &self.refused),
            ("records_failed_total", "counter", failed, &self.records_failed),
            ("records_refused_total", "counter", strange, &self.records_refused),
        ] {
            series(&mut out, name, kind, help, counter.load(Relaxed));
        }
        out
    }
}

/// The head of a series.
pub(crate) fn head(out: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(out, "# HELP endseal_s3_{name} {help}\n# TYPE endseal_s3_{name} {kind}");
}

/// A series of one value.
pub(crate) fn series(out: &mut String, name: &str, kind: &str, help: &str, count: u64) {
    head(out, name, kind, help);
    let _ = writeln!(out, "endseal_s3_{name} {count}");
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use endseal_s3_protocol::Operation;
    use http::StatusCode;

    use super::Metrics;

    #[test]
    fn answers_are_counted_by_operation_and_class() {
        let metrics = Metrics::default();
        metrics.answered(Operation::GetObject, StatusCode::OK, Duration::from_micros(1_500));
        metrics.answered(Operation::GetObject, StatusCode::NOT_FOUND, Duration::from_secs(9));
        let text = metrics.text();
        for line in [
            "endseal_s3_requests_total{operation=\"GetObject\",status=\"2xx\"} 1",
            "endseal_s3_requests_total{operation=\"GetObject\",status=\"4xx\"} 1",
            "endseal_s3_answer_seconds_bucket{le=\"0.001\"} 0",
            "endseal_s3_answer_seconds_bucket{le=\"0.002\"} 1",
            "endseal_s3_answer_seconds_bucket{le=\"5\"} 1",
            "endseal_s3_answer_seconds_bucket{le=\"+Inf\"} 2",
            "endseal_s3_answer_seconds_count 2",
        ] {
            assert!(text.lines().any(|known| known == line), "{line} in\n{text}");
        }
    }
}
