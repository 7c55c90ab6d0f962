//! Metrics of a signer in Prometheus' text format.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use core::time::Duration;

use endseal_service::MetricKind::{Counter, Gauge};
use endseal_service::{Histogram, MetricsText};

/// Upper bounds of the histogram of commit times, in microseconds.
const COMMIT_TIMES: [u64; 9] =
    [1_000, 2_000, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 1_000_000];

/// Names of the methods that are counted; unknown methods are counted as `other`.
const METHODS: [&str; 12] = [
    "connect",
    "sign_event",
    "ping",
    "get_public_key",
    "nip04_encrypt",
    "nip04_decrypt",
    "nip44_encrypt",
    "nip44_decrypt",
    "switch_relays",
    "logout",
    "nip17_unwrap_batch",
    "other",
];

/// Result of a request, as it is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The request was executed.
    Allowed,
    /// A rule or a person refused the request.
    Refused,
    /// The request was malformed or too old, or its execution failed.
    Failed,
    /// A person was asked for a decision.
    Asked,
}

impl Outcome {
    const ALL: [(Self, &'static str); 4] = [
        (Self::Allowed, "allowed"),
        (Self::Refused, "refused"),
        (Self::Failed, "failed"),
        (Self::Asked, "asked"),
    ];
}

/// Reason why an event was ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ignored {
    /// The event is malformed, or is not for a transport key of this signer.
    Shape,
    /// The event, or the message that contains it, is above the limit.
    Size,
    /// The author is not the client of the app.
    UnknownSender,
    /// The app has no client, and its invitation is over.
    NoInvitation,
    /// The event arrived before.
    Repeated,
    /// The id or the signature is wrong.
    Signature,
    /// The content cannot be decrypted.
    Encryption,
    /// The content of a client that is not paired is encrypted with NIP-04, which is refused.
    Nip04,
    /// The app is reached by the user's key, and the signer is locked.
    Locked,
    /// The content has no request with an id.
    NoRequest,
    /// A client that is not paired does not present the secret of the invitation.
    Secret,
    /// A client that is not paired presents the secret with a time that differs by more than five
    /// minutes.
    Stale,
    /// The budget of verifications per second is used up.
    Flood,
}

impl Ignored {
    /// Number of causes.
    pub(crate) const COUNT: usize = Self::ALL.len();
    const ALL: [(Self, &'static str); 13] = [
        (Self::Shape, "shape"),
        (Self::Size, "size"),
        (Self::UnknownSender, "unknown-sender"),
        (Self::NoInvitation, "no-invitation"),
        (Self::Repeated, "repeated"),
        (Self::Signature, "signature"),
        (Self::Encryption, "encryption"),
        (Self::Nip04, "nip04"),
        (Self::Locked, "locked"),
        (Self::NoRequest, "no-request"),
        (Self::Secret, "secret"),
        (Self::Stale, "stale"),
        (Self::Flood, "flood"),
    ];

    /// Returns all causes in the order of their indexes.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().map(|(cause, _)| cause)
    }

    pub(crate) fn index(self) -> usize {
        Self::all().position(|known| known == self).unwrap_or_default()
    }

    pub(crate) fn name(self) -> &'static str {
        Self::ALL.get(self.index()).map_or("", |(_, name)| name)
    }
}

/// Histogram of commit times.
#[derive(Debug)]
struct CommitTimes(Histogram<{ COMMIT_TIMES.len() }>);

impl Default for CommitTimes {
    fn default() -> Self {
        Self(Histogram::of_durations(COMMIT_TIMES))
    }
}

/// Counters and gauges of a signer.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    requests: [[AtomicU64; Outcome::ALL.len()]; METHODS.len()],
    ignored: [AtomicU64; Ignored::ALL.len()],
    commits: CommitTimes,
    /// Number of commits that failed.
    pub(crate) commits_failed: AtomicU64,
    /// Number of responses that a relay refused.
    pub(crate) answers_refused: AtomicU64,
    /// Number of responses that were not sent to a relay in time.
    pub(crate) answers_unsent: AtomicU64,
    /// Number of requests that wait for a decision.
    pub(crate) waiting: AtomicU64,
    /// Number of apps that have not ended.
    pub(crate) apps: AtomicU64,
    /// Number of relays that are connected.
    pub(crate) relays_connected: AtomicU64,
    /// Number of relays that the apps use.
    pub(crate) relays: AtomicU64,
    /// Number of connections to relays that ended.
    pub(crate) disconnects: AtomicU64,
    /// True while the users' keys are in memory.
    pub(crate) unlocked: AtomicBool,
}

impl Metrics {
    /// Counts a request and logs its method and outcome, without names, ids or content.
    pub(crate) fn request(&self, method: &str, outcome: Outcome) {
        let row = METHODS.iter().position(|known| *known == method);
        let row = row.unwrap_or(METHODS.len() - 1);
        let outcomes = Outcome::ALL.iter().zip(&self.requests[row]);
        for ((_, outcome), counter) in outcomes.filter(|((known, _), _)| *known == outcome) {
            counter.fetch_add(1, Relaxed);
            tracing::info!(target: "signer", method = METHODS[row], outcome, "request");
        }
    }

    /// Counts ignored events.
    pub(crate) fn ignored(&self, cause: Ignored, count: u64) {
        if let Some(counter) = self.ignored.get(cause.index()) {
            counter.fetch_add(count, Relaxed);
        }
    }

    /// Returns the names of the causes for which events were ignored, with their numbers.
    pub(crate) fn ignored_counts(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let counts = Ignored::ALL.iter().zip(&self.ignored);
        let counts = counts.map(|((_, name), counter)| (*name, counter.load(Relaxed)));
        counts.filter(|(_, count)| *count > 0)
    }

    pub(crate) fn commit(&self, elapsed: Duration) {
        self.commits.0.add_duration(elapsed);
    }

    /// Returns all metrics in Prometheus' text format.
    pub(crate) fn text(&self) -> String {
        let mut text = MetricsText::new("endseal_signer", env!("CARGO_PKG_VERSION"));
        text.head("requests_total", Counter, "Requests of apps, by method and outcome.");
        for (method, row) in METHODS.iter().zip(&self.requests) {
            for ((_, outcome), counter) in Outcome::ALL.iter().zip(row) {
                let labels = [("method", *method), ("outcome", *outcome)];
                text.sample("requests_total", &labels, counter.load(Relaxed));
            }
        }
        text.head("ignored_total", Counter, "Events that had no answer, by cause.");
        for ((_, cause), counter) in Ignored::ALL.iter().zip(&self.ignored) {
            text.sample("ignored_total", &[("cause", cause)], counter.load(Relaxed));
        }
        text.histogram("commit_seconds", "Time of a commit with its fsync.", &self.commits.0);
        let unlocked = u64::from(self.unlocked.load(Relaxed));
        for (name, kind, help, value) in [
            (
                "commits_failed_total",
                Counter,
                "Commits that failed.",
                self.commits_failed.load(Relaxed),
            ),
            (
                "answers_refused_total",
                Counter,
                "Answers that a relay refused.",
                self.answers_refused.load(Relaxed),
            ),
            (
                "answers_unsent_total",
                Counter,
                "Answers that were not sent to a relay in time.",
                self.answers_unsent.load(Relaxed),
            ),
            (
                "relay_disconnects_total",
                Counter,
                "Connections to relays that ended.",
                self.disconnects.load(Relaxed),
            ),
            ("relays", Gauge, "Relays.", self.relays.load(Relaxed)),
            (
                "relays_connected",
                Gauge,
                "Relays with a connection.",
                self.relays_connected.load(Relaxed),
            ),
            ("apps", Gauge, "Apps that have not ended.", self.apps.load(Relaxed)),
            ("waiting", Gauge, "Requests that wait for a decision.", self.waiting.load(Relaxed)),
            ("unlocked", Gauge, "1 while the users' keys are in memory.", unlocked),
        ] {
            text.single(name, kind, help, value);
        }
        text.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_has_each_counter_once() {
        let metrics = Metrics::default();
        metrics.request("sign_event", Outcome::Allowed);
        metrics.request("nip99_bake", Outcome::Failed);
        metrics.ignored(Ignored::UnknownSender, 1);
        metrics.commit(Duration::from_millis(3));
        metrics.commit(Duration::from_secs(9));
        let text = metrics.text();
        for line in [
            "endseal_signer_requests_total{method=\"sign_event\",outcome=\"allowed\"} 1",
            "endseal_signer_requests_total{method=\"other\",outcome=\"failed\"} 1",
            "endseal_signer_ignored_total{cause=\"unknown-sender\"} 1",
            "endseal_signer_commit_seconds_bucket{le=\"0.005\"} 1",
            "endseal_signer_commit_seconds_bucket{le=\"+Inf\"} 2",
            "endseal_signer_commit_seconds_sum 9.003",
            "endseal_signer_unlocked 0",
        ] {
            assert!(text.lines().any(|it| it == line), "{line}\n{text}");
        }
        let mut names: Vec<_> = text.lines().filter_map(|it| it.split_once(' ')).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }
}
