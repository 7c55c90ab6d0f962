//! Counters of a signer, and their text for Prometheus.

use core::fmt::Write as _;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use core::time::Duration;

/// Upper bounds of the classes of commit times, in milliseconds.
const BOUNDS: [u64; 9] = [1, 2, 5, 10, 25, 50, 100, 250, 1_000];

/// Methods, as rows of the counters.
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

/// Outcome of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The result was answered.
    Allowed,
    /// The policy refused, or a person did.
    Refused,
    /// The request was malformed, too old, or failed.
    Failed,
    /// A person was asked.
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

/// Cause why an event was ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ignored {
    /// It is no event for a transport key.
    Shape,
    /// The app has another client.
    Stranger,
    /// It arrived before.
    Repeated,
    /// Id, signature or encryption is wrong, or no request is in it.
    Invalid,
    /// More events without a request, or of strangers, than are verified in a second.
    Flood,
}

impl Ignored {
    const ALL: [(Self, &'static str); 5] = [
        (Self::Shape, "shape"),
        (Self::Stranger, "stranger"),
        (Self::Repeated, "repeated"),
        (Self::Invalid, "invalid"),
        (Self::Flood, "flood"),
    ];
}

/// Counters of a signer.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    requests: [[AtomicU64; Outcome::ALL.len()]; METHODS.len()],
    ignored: [AtomicU64; Ignored::ALL.len()],
    commits: [AtomicU64; BOUNDS.len() + 1],
    commit_sum_us: AtomicU64,
    /// Commits that failed.
    pub(crate) commits_failed: AtomicU64,
    /// Answers that a relay refused.
    pub(crate) answers_refused: AtomicU64,
    /// Requests that wait for a decision.
    pub(crate) waiting: AtomicU64,
    /// Apps that have not ended.
    pub(crate) apps: AtomicU64,
    /// Relays with a connection.
    pub(crate) relays_connected: AtomicU64,
    /// Relays.
    pub(crate) relays: AtomicU64,
    /// Connections to relays that ended.
    pub(crate) disconnects: AtomicU64,
    /// True while the users' keys are in memory.
    pub(crate) unlocked: AtomicBool,
}

impl Metrics {
    /// Counts a request, and logs it without names, ids and content.
    pub(crate) fn request(&self, method: &str, outcome: Outcome) {
        let row = METHODS.iter().position(|known| *known == method);
        let row = row.unwrap_or(METHODS.len() - 1);
        let outcomes = Outcome::ALL.iter().zip(&self.requests[row]);
        for ((_, outcome), counter) in outcomes.filter(|((known, _), _)| *known == outcome) {
            counter.fetch_add(1, Relaxed);
            tracing::info!(target: "signer", method = METHODS[row], outcome, "request");
        }
    }

    pub(crate) fn ignored(&self, cause: Ignored) {
        let at = Ignored::ALL.iter().position(|(known, _)| *known == cause);
        if let Some(counter) = at.and_then(|at| self.ignored.get(at)) {
            counter.fetch_add(1, Relaxed);
        }
    }

    pub(crate) fn commit(&self, elapsed: Duration) {
        let micros = u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX);
        self.commit_sum_us.fetch_add(micros, Relaxed);
        let class = BOUNDS.iter().position(|bound| micros <= bound * 1_000);
        self.commits[class.unwrap_or(BOUNDS.len())].fetch_add(1, Relaxed);
    }

    /// All counters in Prometheus' text format.
    pub(crate) fn text(&self) -> String {
        let mut out = String::new();
        head(&mut out, "build_info", "gauge", "The version that runs.");
        series(
            &mut out,
            "build_info",
            &format!("{{version=\"{}\"}}", env!("CARGO_PKG_VERSION")),
            1,
        );
        head(&mut out, "requests_total", "counter", "Requests of apps, by method and outcome.");
        for (method, row) in METHODS.iter().zip(&self.requests) {
            for ((_, outcome), counter) in Outcome::ALL.iter().zip(row) {
                let labels = format!("{{method=\"{method}\",outcome=\"{outcome}\"}}");
                series(&mut out, "requests_total", &labels, counter.load(Relaxed));
            }
        }
        head(&mut out, "ignored_total", "counter", "Events that had no answer, by cause.");
        for ((_, cause), counter) in Ignored::ALL.iter().zip(&self.ignored) {
            let labels = format!("{{cause=\"{cause}\"}}");
            series(&mut out, "ignored_total", &labels, counter.load(Relaxed));
        }
        self.commit_text(&mut out);
        let unlocked = u64::from(self.unlocked.load(Relaxed));
        for (name, kind, help, value) in [
            (
                "commits_failed_total",
                "counter",
                "Commits that failed.",
                self.commits_failed.load(Relaxed),
            ),
            (
                "answers_refused_total",
                "counter",
                "Answers that a relay refused.",
                self.answers_refused.load(Relaxed),
            ),
            (
                "relay_disconnects_total",
                "counter",
                "Connections to relays that ended.",
                self.disconnects.load(Relaxed),
            ),
            ("relays", "gauge", "Relays.", self.relays.load(Relaxed)),
            (
                "relays_connected",
                "gauge",
                "Relays with a connection.",
                self.relays_connected.load(Relaxed),
            ),
            ("apps", "gauge", "Apps that have not ended.", self.apps.load(Relaxed)),
            ("waiting", "gauge", "Requests that wait for a decision.", self.waiting.load(Relaxed)),
            ("unlocked", "gauge", "1 while the users' keys are in memory.", unlocked),
        ] {
            head(&mut out, name, kind, help);
            series(&mut out, name, "", value);
        }
        out
    }

    fn commit_text(&self, out: &mut String) {
        head(out, "commit_seconds", "histogram", "Time of a commit with its fsync.");
        let mut count = 0;
        for (class, counter) in self.commits.iter().enumerate() {
            count += counter.load(Relaxed);
            let labels = match BOUNDS.get(class) {
                Some(bound) => format!("{{le=\"{}.{:03}\"}}", bound / 1_000, bound % 1_000),
                None => "{le=\"+Inf\"}".to_owned(),
            };
            series(out, "commit_seconds_bucket", &labels, count);
        }
        let micros = self.commit_sum_us.load(Relaxed);
        let sum = format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000);
        // Writing into a string cannot fail.
        let _ = writeln!(out, "endseal_signer_commit_seconds_sum {sum}");
        series(out, "commit_seconds_count", "", count);
    }
}

fn head(out: &mut String, name: &str, kind: &str, help: &str) {
    // As above.
    let _ = writeln!(out, "# HELP endseal_signer_{name} {help}");
    let _ = writeln!(out, "# TYPE endseal_signer_{name} {kind}");
}

fn series(out: &mut String, name: &str, labels: &str, value: u64) {
    // As above.
    let _ = writeln!(out, "endseal_signer_{name}{labels} {value}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_has_each_counter_once() {
        let metrics = Metrics::default();
        metrics.request("sign_event", Outcome::Allowed);
        metrics.request("nip99_bake", Outcome::Failed);
        metrics.ignored(Ignored::Stranger);
        metrics.commit(Duration::from_millis(3));
        metrics.commit(Duration::from_secs(9));
        let text = metrics.text();
        for line in [
            "endseal_signer_requests_total{method=\"sign_event\",outcome=\"allowed\"} 1",
            "endseal_signer_requests_total{method=\"other\",outcome=\"failed\"} 1",
            "endseal_signer_ignored_total{cause=\"stranger\"} 1",
            "endseal_signer_commit_seconds_bucket{le=\"0.005\"} 1",
            "endseal_signer_commit_seconds_bucket{le=\"+Inf\"} 2",
            "endseal_signer_commit_seconds_sum 9.003000",
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
