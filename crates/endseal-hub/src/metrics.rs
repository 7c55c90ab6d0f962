//! Counters of a hub, and their text for Prometheus. No label names a peer, a person or an address.

use core::fmt::Write as _;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use core::time::Duration;

use endseal_codec::hub::Code;
use endseal_delivery::hub::Action;

use crate::histogram::Histogram;
use crate::store::{DeviceState, StoreState};

/// Upper bounds of times, in microseconds.
const TIMES: [u64; 10] =
    [1_000, 2_000, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 1_000_000, 5_000_000];
/// Upper bounds of frames in a transaction.
const FRAMES: [u64; 10] = [0, 1, 2, 5, 10, 20, 50, 100, 200, 500];

/// Kinds of requests, as rows of the counters.
const REQUESTS: [&str; 9] =
    ["hello", "register", "put", "subscribe", "credit", "acknowledge", "find", "publish", "take"];

/// Codes of refusals, as rows of the counters.
const CODES: [(Code, &str); 14] = [
    (Code::REQUEST, "request"),
    (Code::REGISTERED, "registered"),
    (Code::REVOKED, "revoked"),
    (Code::TOKEN, "token"),
    (Code::CERTIFICATE, "certificate"),
    (Code::PERSON, "person"),
    (Code::FRAME, "frame"),
    (Code::OLD, "old"),
    (Code::TARGETS, "targets"),
    (Code::MAILBOX, "mailbox"),
    (Code::FULL, "full"),
    (Code::RATE, "rate"),
    (Code::STORAGE, "storage"),
    (Code::NONE, "none"),
];

/// Frames, and bytes of them and of their slots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Amount {
    pub(crate) frames: u64,
    pub(crate) bytes: u64,
}

/// Counters of frames and bytes.
#[derive(Debug, Default)]
struct Amounts {
    frames: AtomicU64,
    bytes: AtomicU64,
}

impl Amounts {
    fn add(&self, amount: Amount) {
        self.frames.fetch_add(amount.frames, Relaxed);
        self.bytes.fetch_add(amount.bytes, Relaxed);
    }
}

/// A connection that is counted until it ends.
pub(crate) struct Open<'m>(&'m AtomicU64);

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

/// Counters of a hub.
#[derive(Debug)]
pub(crate) struct Metrics {
    registered: AtomicU64,
    strangers: AtomicU64,
    /// Connections of strangers that were closed: too many, or no registration.
    pub(crate) strangers_refused: AtomicU64,
    requests: [AtomicU64; REQUESTS.len()],
    refusals: [AtomicU64; CODES.len()],
    put: Amounts,
    delivered: Amounts,
    waiting: Amounts,
    put_time: Histogram<{ TIMES.len() }>,
    commit_time: Histogram<{ TIMES.len() }>,
    commit_frames: Histogram<{ FRAMES.len() }>,
    /// Transactions that failed.
    pub(crate) write_errors: AtomicU64,
    /// Reads that failed.
    pub(crate) read_errors: AtomicU64,
}

impl Default for Metrics {
    fn default() -> Self {
        Self {
            registered: AtomicU64::default(),
            strangers: AtomicU64::default(),
            strangers_refused: AtomicU64::default(),
            requests: Default::default(),
            refusals: Default::default(),
            put: Amounts::default(),
            delivered: Amounts::default(),
            waiting: Amounts::default(),
            put_time: Histogram::new(TIMES, 1_000_000),
            commit_time: Histogram::new(TIMES, 1_000_000),
            commit_frames: Histogram::new(FRAMES, 1),
            write_errors: AtomicU64::default(),
            read_errors: AtomicU64::default(),
        }
    }
}

impl Metrics {
    /// Counts a connection of a registered peer.
    pub(crate) fn registered(&self) -> Open<'_> {
        self.registered.fetch_add(1, Relaxed);
        Open(&self.registered)
    }

    /// Counts a connection of another peer.
    pub(crate) fn stranger(&self) -> Open<'_> {
        self.strangers.fetch_add(1, Relaxed);
        Open(&self.strangers)
    }

    /// Counts a request by what it asks for. Those that are refused at once are refusals alone.
    pub(crate) fn request(&self, action: &Action<'_>) {
        let row = match action {
            Action::Hello => 0,
            Action::Register(_) => 1,
            Action::Put(..) | Action::RefuseFrame(..) => 2,
            Action::Subscribe(..) => 3,
            Action::Credit(_) => 4,
            Action::Acknowledge(_) => 5,
            Action::Find(_) => 6,
            Action::Publish(_) => 7,
            Action::Take(_) => 8,
            Action::Refuse(_) => return,
        };
        self.requests[row].fetch_add(1, Relaxed);
    }

    /// Counts the refusal of a request or a frame.
    pub(crate) fn refusal(&self, code: Code) {
        let row = CODES.iter().position(|(known, _)| *known == code);
        if let Some(counter) = row.and_then(|row| self.refusals.get(row)) {
            counter.fetch_add(1, Relaxed);
        }
    }

    /// Counts a frame that went to a node.
    pub(crate) fn delivered(&self, bytes: usize) {
        self.delivered.add(Amount { frames: 1, bytes: bytes as u64 });
    }

    /// Counts a frame that is durable, with the time since it came.
    pub(crate) fn stored(&self, elapsed: Duration) {
        self.put_time.add(micros(elapsed));
    }

    /// Counts a commit, and the frames that it made durable.
    pub(crate) fn commit(&self, elapsed: Duration, put: Amount) {
        self.commit_time.add(micros(elapsed));
        self.commit_frames.add(put.frames);
        self.put.add(put);
    }

    /// Notes that a mailbox has changed.
    pub(crate) fn mailbox(&self, before: Option<&DeviceState>, now: &DeviceState) {
        let (frames, bytes) = before.map_or((0, 0), |it| (it.frames, it.bytes));
        // Counters wrap, so that a difference below 0 is one as well.
        self.waiting.add(Amount {
            frames: now.frames.wrapping_sub(frames),
            bytes: now.bytes.wrapping_sub(bytes),
        });
    }

    /// All counters in Prometheus' text format. Figures of the store are left out if it failed.
    /// `now` is in microseconds since 1970.
    pub(crate) fn text(&self, state: Option<StoreState>, now: u64) -> String {
        let mut out = String::new();
        head(&mut out, "build_info", "gauge", "The version that runs.");
        let version = concat!("{version=\"", env!("CARGO_PKG_VERSION"), "\"}");
        series(&mut out, "build_info", version, 1);
        head(&mut out, "connections", "gauge", "Connections, by the standing of their peers.");
        for (peer, counter) in [("registered", &self.registered), ("stranger", &self.strangers)] {
            let labels = format!("{{peer=\"{peer}\"}}");
            series(&mut out, "connections", &labels, counter.load(Relaxed));
        }
        head(&mut out, "requests_total", "counter", "Requests that were taken, by kind.");
        for (kind, counter) in REQUESTS.iter().zip(&self.requests) {
            let labels = format!("{{kind=\"{kind}\"}}");
            series(&mut out, "requests_total", &labels, counter.load(Relaxed));
        }
        head(&mut out, "refusals_total", "counter", "Requests and frames refused, by code.");
        for ((_, code), counter) in CODES.iter().zip(&self.refusals) {
            let labels = format!("{{code=\"{code}\"}}");
            series(&mut out, "refusals_total", &labels, counter.load(Relaxed));
        }
        head(&mut out, "storage_errors_total", "counter", "Failures of the database.");
        for (operation, counter) in [("write", &self.write_errors), ("read", &self.read_errors)] {
            let labels = format!("{{operation=\"{operation}\"}}");
            series(&mut out, "storage_errors_total", &labels, counter.load(Relaxed));
        }
        self.single(&mut out, state, now);
        for (name, help, histogram) in [
            ("put_seconds", "Time from the receipt of a frame to its commit.", &self.put_time),
            ("commit_seconds", "Time of a commit with its fsync.", &self.commit_time),
            ("commit_frames", "Frames that a commit made durable.", &self.commit_frames),
        ] {
            head(&mut out, name, "histogram", help);
            histogram.text(&mut out, &format!("endseal_hub_{name}"));
        }
        out
    }

    /// Series of one value.
    fn single(&self, out: &mut String, state: Option<StoreState>, now: u64) {
        let closed = "Connections of strangers that were too many, or did not register.";
        for (name, kind, help, counter) in [
            ("strangers_refused_total", "counter", closed, &self.strangers_refused),
            ("put_frames_total", "counter", "Frames made durable.", &self.put.frames),
            ("put_bytes_total", "counter", "Bytes of those frames.", &self.put.bytes),
            ("delivered_frames_total", "counter", "Frames sent.", &self.delivered.frames),
            ("delivered_bytes_total", "counter", "Bytes of those frames.", &self.delivered.bytes),
            ("waiting_frames", "gauge", "Frames in mailboxes.", &self.waiting.frames),
            ("waiting_bytes", "gauge", "Bytes in mailboxes.", &self.waiting.bytes),
        ] {
            head(out, name, kind, help);
            series(out, name, "", counter.load(Relaxed));
        }
        let Some(StoreState { oldest, bytes }) = state else { return };
        head(out, "oldest_seconds", "gauge", "Age of the oldest frame in a mailbox; 0 if none.");
        let age = oldest.map_or(0, |at| now.saturating_sub(at) / 1_000_000);
        series(out, "oldest_seconds", "", age);
        head(out, "database_bytes", "gauge", "Length of the database without its log.");
        series(out, "database_bytes", "", bytes);
    }
}

fn micros(elapsed: Duration) -> u64 {
    u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX)
}

fn head(out: &mut String, name: &str, kind: &str, help: &str) {
    // Writing into a string cannot fail.
    let _ = writeln!(out, "# HELP endseal_hub_{name} {help}\n# TYPE endseal_hub_{name} {kind}");
}

fn series(out: &mut String, name: &str, labels: &str, value: u64) {
    // As above.
    let _ = writeln!(out, "endseal_hub_{name}{labels} {value}");
}
