//! Metrics of a proxy in Prometheus' text format.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use core::time::Duration;

use endseal_s3_protocol::{Operation, S3Error};
use endseal_service::MetricKind::{Counter, Gauge};
use endseal_service::{Histogram, MetricsText};
use http::StatusCode;

/// Upper bounds of the histogram of response times, in microseconds.
const ANSWER_TIMES: [u64; 10] =
    [1_000, 2_000, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 1_000_000, 5_000_000];
/// Classes of statuses, 1xx to 5xx.
const STATUSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];

/// Operations that are counted, one row each.
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

/// Counts a request as in flight until it is dropped: after the response, or when the client
/// disconnects.
pub(crate) struct InFlight<'a>(&'a Metrics);

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Relaxed);
    }
}

/// Histogram of the times until responses started.
#[derive(Debug)]
struct AnswerTimes(Histogram<{ ANSWER_TIMES.len() }>);

impl Default for AnswerTimes {
    fn default() -> Self {
        Self(Histogram::of_durations(ANSWER_TIMES))
    }
}

/// Number of answers of the backend that refuse an account, by its owner.
#[derive(Debug, Default)]
pub(crate) struct AccountRefusals {
    /// Refusals of the proxy's own account.
    pub(crate) proxy: AtomicU64,
    /// Refusals of accounts that clients have at the backend (`backend_access_key`).
    pub(crate) client: AtomicU64,
}

/// Metrics of a proxy.
#[derive(Debug, Default)]
pub struct Metrics {
    /// Number of responses by operation and class of status.
    answers: [[AtomicU64; STATUSES.len()]; OPERATIONS.len()],
    times: AnswerTimes,
    /// Number of requests that are not yet answered.
    in_flight: AtomicU64,
    /// Number of client connections, and the most that may be open at once.
    pub(crate) connections: AtomicU64,
    pub(crate) connection_limit: AtomicU64,
    /// Number of connections that were closed because their peer has too many.
    pub(crate) connections_refused: AtomicU64,
    /// Number of connections of balancers that were closed because of their PROXY header.
    pub(crate) proxy_headers_refused: AtomicU64,
    /// Number of bytes of content that were sealed.
    pub(crate) sealed: AtomicU64,
    /// Number of bytes of content that were opened.
    pub(crate) opened: AtomicU64,
    /// Number of objects, or chunks of them, that did not authenticate.
    pub(crate) authentication: AtomicU64,
    /// Number of times that an object was opened by the copy of its header.
    pub(crate) headers_missing: AtomicU64,
    /// Number of objects that were refused because they were plaintext.
    pub(crate) plaintext: AtomicU64,
    /// Number of list entries whose names could not be decrypted.
    pub(crate) foreign_names: AtomicU64,
    /// Number of refused signatures and permissions.
    pub(crate) refused: AtomicU64,
    pub(crate) account_refused: AccountRefusals,
    /// Number of upload ids and receipts that could not be written or removed.
    pub(crate) records_failed: AtomicU64,
    /// Number of upload ids and receipts that did not authenticate.
    pub(crate) records_refused: AtomicU64,
    /// Number of uploads of clients that were sent to the backend in parts.
    pub(crate) uploads_in_parts: AtomicU64,
    /// Number of uploads that found no memory for parts.
    pub(crate) part_memory_short: AtomicU64,
}

impl Metrics {
    pub(crate) fn started(&self) -> InFlight<'_> {
        self.in_flight.fetch_add(1, Relaxed);
        InFlight(self)
    }

    pub(crate) fn answered(&self, operation: Operation, status: StatusCode, elapsed: Duration) {
        let row = OPERATIONS.iter().position(|known| *known == operation);
        let class = usize::from(status.as_u16() / 100).saturating_sub(1);
        if let Some(counter) = row.and_then(|row| self.answers[row].get(class)) {
            counter.fetch_add(1, Relaxed);
        }
        self.times.0.add_duration(elapsed);
    }

    /// Counts bytes of content that were opened.
    pub(crate) fn opened(&self, bytes: usize) {
        self.opened.fetch_add(bytes as u64, Relaxed);
    }

    /// Counts an object that does not authenticate, and returns the error for it.
    pub(crate) fn not_authentic(&self) -> S3Error {
        self.authentication.fetch_add(1, Relaxed);
        S3Error::not_authentic()
    }

    /// Writes all metrics.
    pub(crate) fn write_to(&self, text: &mut MetricsText) {
        text.head("requests_total", Counter, "Answers, by operation and class of status.");
        for (operation, classes) in OPERATIONS.iter().zip(&self.answers) {
            for (status, counter) in STATUSES.iter().zip(classes) {
                let count = counter.load(Relaxed);
                if count > 0 {
                    let labels = [("operation", operation.name()), ("status", *status)];
                    text.sample("requests_total", &labels, count);
                }
            }
        }
        text.histogram("answer_seconds", "Time until an answer began.", &self.times.0);
        let name = "backend_account_refused_total";
        text.head(name, Counter, "Answers of the backend that refuse an account.");
        let counts = &self.account_refused;
        for (account, counter) in [("proxy", &counts.proxy), ("client", &counts.client)] {
            text.sample(name, &[("account", account)], counter.load(Relaxed));
        }
        let sealed = "Bytes of content that were sealed.";
        let opened = "Bytes of content that were opened.";
        let authentication = "Objects, or pieces of them, that did not authenticate.";
        let missing = "Times that an object was opened by the copy of its header.";
        let plaintext = "Objects refused because they were not sealed.";
        let foreign = "List entries whose names cannot be decrypted.";
        let refused = "Requests refused for their signature or their rights.";
        let failed = "Ids and receipts of uploads that could not be written or removed.";
        let strange = "Ids and receipts of uploads that do not authenticate.";
        let in_parts = "Uploads that were sent to the backend in parallel parts.";
        let short = "Uploads that found no memory for parts (limits.part_memory).";
        let connections = "Connections of clients.";
        let limit = "Connections that clients may have at once (limits.connections).";
        let closed = "Connections refused because their client has limits.connections_per_peer.";
        let no_header = "Connections of balancers closed because of their PROXY header.";
        for (name, kind, help, counter) in [
            ("client_connections", Gauge, connections, &self.connections),
            ("client_connections_limit", Gauge, limit, &self.connection_limit),
            ("client_connections_refused_total", Counter, closed, &self.connections_refused),
            ("proxy_headers_refused_total", Counter, no_header, &self.proxy_headers_refused),
            ("in_flight", Gauge, "Requests not yet answered.", &self.in_flight),
            ("sealed_bytes_total", Counter, sealed, &self.sealed),
            ("opened_bytes_total", Counter, opened, &self.opened),
            ("authentication_failures_total", Counter, authentication, &self.authentication),
            ("headers_missing_total", Counter, missing, &self.headers_missing),
            ("plaintext_refused_total", Counter, plaintext, &self.plaintext),
            ("foreign_names_total", Counter, foreign, &self.foreign_names),
            ("signatures_refused_total", Counter, refused, &self.refused),
            ("records_failed_total", Counter, failed, &self.records_failed),
            ("records_refused_total", Counter, strange, &self.records_refused),
            ("uploads_in_parts_total", Counter, in_parts, &self.uploads_in_parts),
            ("part_memory_short_total", Counter, short, &self.part_memory_short),
        ] {
            text.single(name, kind, help, counter.load(Relaxed));
        }
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use endseal_s3_protocol::Operation;
    use http::StatusCode;

    use super::{Metrics, MetricsText};

    #[test]
    fn answers_are_counted_by_operation_and_class() {
        let metrics = Metrics::default();
        metrics.answered(Operation::GetObject, StatusCode::OK, Duration::from_micros(1_500));
        metrics.answered(Operation::GetObject, StatusCode::NOT_FOUND, Duration::from_secs(9));
        let mut text = MetricsText::new("endseal_s3", "1.2.3");
        metrics.write_to(&mut text);
        let text = text.finish();
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
