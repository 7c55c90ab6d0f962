//! The counters of a hub, and their text for Prometheus. No label identifies a peer, a person or an
//! address.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use core::time::Duration;

use endseal_codec::hub::Code;
use endseal_delivery::hub::Action;
use endseal_service::MetricKind::{Counter, Gauge};
use endseal_service::{Histogram, MetricsText};

use crate::store::StoreState;

/// Upper bounds of the buckets for times, in microseconds.
const TIMES: [u64; 10] =
    [1_000, 2_000, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 1_000_000, 5_000_000];
/// Upper bounds of the buckets for the number of frames in a transaction.
const FRAMES: [u64; 10] = [0, 1, 2, 5, 10, 20, 50, 100, 200, 500];

/// Kinds of requests, as rows of the counters.
const REQUESTS: [&str; 10] = [
    "hello",
    "register",
    "put",
    "subscribe",
    "credit",
    "acknowledge",
    "find",
    "publish",
    "take",
    "recover",
];

/// Codes of refusals, as rows of the counters.
const CODES: [(Code, &str); 19] = [
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
    (Code::USED, "used"),
    (Code::SPACE, "space"),
    (Code::CONVERSATION, "conversation"),
    (Code::EPOCH, "epoch"),
    (Code::MEMBERS, "members"),
];

/// A number of frames, and the bytes of these frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Amount {
    pub(crate) frames: u64,
    pub(crate) bytes: u64,
}

/// Counters of frames and of bytes.
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

/// Counts an open connection until it is dropped.
pub(crate) struct Open<'m>(&'m AtomicU64);

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

/// The counters of a hub.
#[derive(Debug)]
pub(crate) struct Metrics {
    registered: AtomicU64,
    unregistered: AtomicU64,
    /// Connections of unregistered peers that were closed, as there were too many or the peer did
    /// not register.
    pub(crate) unregistered_refused: AtomicU64,
    requests: [AtomicU64; REQUESTS.len()],
    refusals: [AtomicU64; CODES.len()],
    put: Amounts,
    delivered: Amounts,
    put_time: Histogram<{ TIMES.len() }>,
    commit_time: Histogram<{ TIMES.len() }>,
    commit_frames: Histogram<{ FRAMES.len() }>,
    /// Bytes that frames may still take up.
    pub(crate) room: AtomicU64,
    /// Transactions that failed.
    pub(crate) write_errors: AtomicU64,
    /// True after a transaction failed, until a probe has been written.
    pub(crate) last_write_failed: AtomicBool,
    /// Reads that failed.
    pub(crate) read_errors: AtomicU64,
}

impl Default for Metrics {
    fn default() -> Self {
        Self {
            registered: AtomicU64::default(),
            unregistered: AtomicU64::default(),
            unregistered_refused: AtomicU64::default(),
            requests: Default::default(),
            refusals: Default::default(),
            put: Amounts::default(),
            delivered: Amounts::default(),
            put_time: Histogram::of_durations(TIMES),
            commit_time: Histogram::of_durations(TIMES),
            commit_frames: Histogram::of_numbers(FRAMES),
            room: AtomicU64::default(),
            write_errors: AtomicU64::default(),
            last_write_failed: AtomicBool::default(),
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

    /// Counts a connection of an unregistered peer.
    pub(crate) fn unregistered(&self) -> Open<'_> {
        self.unregistered.fetch_add(1, Relaxed);
        Open(&self.unregistered)
    }

    /// Counts a request by its kind. A request that is refused at once is counted only as a
    /// refusal.
    pub(crate) fn request(&self, action: &Action<'_>) {
        let row = match action {
            Action::Hello(_) => 0,
            Action::Register(_) => 1,
            Action::Put(..) | Action::PutGroup(_) | Action::RefuseFrame(..) => 2,
            Action::Subscribe(..) => 3,
            Action::Credit(_) => 4,
            Action::Acknowledge(_) => 5,
            Action::Find(_) => 6,
            Action::Publish(_) => 7,
            Action::Take(_) => 8,
            Action::Recover(..) => 9,
            Action::Refuse(_) => return,
        };
        self.requests[row].fetch_add(1, Relaxed);
    }

    /// Counts the refusal of a request or of a frame.
    pub(crate) fn refusal(&self, code: Code) {
        let row = CODES.iter().position(|(known, _)| *known == code);
        if let Some(counter) = row.and_then(|row| self.refusals.get(row)) {
            counter.fetch_add(1, Relaxed);
        }
    }

    /// Counts a frame that was sent to a node.
    pub(crate) fn delivered(&self, bytes: usize) {
        self.delivered.add(Amount { frames: 1, bytes: bytes as u64 });
    }

    /// Counts a frame that is durable now, with the time since it arrived.
    pub(crate) fn stored(&self, elapsed: Duration) {
        self.put_time.add_duration(elapsed);
    }

    /// Counts a commit, and the frames that it made durable.
    pub(crate) fn commit(&self, elapsed: Duration, put: Amount) {
        self.commit_time.add_duration(elapsed);
        self.commit_frames.add(put.frames);
        self.put.add(put);
    }

    /// Returns all counters in Prometheus' text format. `state` is `None` if reading the store
    /// failed; its gauges are then left out. `now` is in microseconds since 1970.
    pub(crate) fn text(&self, state: Option<StoreState>, now: u64) -> String {
        let mut text = MetricsText::new("endseal_hub", env!("CARGO_PKG_VERSION"));
        text.head("connections", Gauge, "Connections, by the registration state of their peers.");
        for (peer, counter) in
            [("registered", &self.registered), ("unregistered", &self.unregistered)]
        {
            text.sample("connections", &[("peer", peer)], counter.load(Relaxed));
        }
        text.head("requests_total", Counter, "Requests accepted, by kind.");
        for (kind, counter) in REQUESTS.iter().zip(&self.requests) {
            text.sample("requests_total", &[("kind", kind)], counter.load(Relaxed));
        }
        text.head("refusals_total", Counter, "Requests and frames refused, by code.");
        for ((_, code), counter) in CODES.iter().zip(&self.refusals) {
            text.sample("refusals_total", &[("code", code)], counter.load(Relaxed));
        }
        text.head("storage_errors_total", Counter, "Failures of the database.");
        for (operation, counter) in [("write", &self.write_errors), ("read", &self.read_errors)] {
            let labels = [("operation", operation)];
            text.sample("storage_errors_total", &labels, counter.load(Relaxed));
        }
        self.single(&mut text, state, now);
        for (name, help, histogram) in [
            ("put_seconds", "Time from the receipt of a frame to its commit.", &self.put_time),
            ("commit_seconds", "Time of a commit with its fsync.", &self.commit_time),
            ("commit_frames", "Frames that a commit made durable.", &self.commit_frames),
        ] {
            text.histogram(name, help, histogram);
        }
        text.finish()
    }

    /// Writes the metrics that have a single value.
    fn single(&self, text: &mut MetricsText, state: Option<StoreState>, now: u64) {
        let closed = "Refused connections of unregistered peers.";
        for (name, kind, help, counter) in [
            ("unregistered_refused_total", Counter, closed, &self.unregistered_refused),
            ("put_frames_total", Counter, "Frames made durable.", &self.put.frames),
            ("put_bytes_total", Counter, "Bytes of those frames.", &self.put.bytes),
            ("delivered_frames_total", Counter, "Frames sent.", &self.delivered.frames),
            ("delivered_bytes_total", Counter, "Bytes of those frames.", &self.delivered.bytes),
            ("room_bytes", Gauge, "Bytes that frames may still take up.", &self.room),
        ] {
            text.single(name, kind, help, counter.load(Relaxed));
        }
        let Some(StoreState { oldest, frames, waiting, bytes }) = state else { return };
        text.single("waiting_frames", Gauge, "Frames in mailboxes.", frames);
        text.single("waiting_bytes", Gauge, "Bytes in mailboxes.", waiting);
        let age = oldest.map_or(0, |at| now.saturating_sub(at) / 1_000_000);
        let help = "Age of the oldest frame in a mailbox; 0 if none.";
        text.single("oldest_seconds", Gauge, help, age);
        text.single("database_bytes", Gauge, "Length of the database without its log.", bytes);
    }
}
