//! Log of a serving process, as lines of JSON on standard error.
//!
//! A thread writes the lines, so that no request waits for a slow or blocked reader of standard
//! error.

use core::cell::Cell;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use core::time::Duration;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::{Layer as _, fmt, registry};

/// Limit on the waiting lines. Further lines are counted and dropped.
const WAITING: usize = 2_048;

/// Timeout for the waiting lines when the process ends.
pub(crate) const AT_THE_END: Duration = Duration::from_secs(1);

/// Least severe level that is logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Level {
    /// Log nothing
    Off,
    /// Log failures with their causes
    Warn,
    /// Log requests too
    Info,
}

std::thread_local! {
    /// True in the thread that writes lines. Its own lines bypass the queue, which may be full.
    static WRITES: Cell<bool> = const { Cell::new(false) };
}

enum Message {
    Line(Vec<u8>),
    /// The process ends. Answered after the last line.
    End(SyncSender<()>),
}

/// Sends lines to the thread that writes them.
#[derive(Clone)]
struct Lines {
    sender: SyncSender<Message>,
    dropped: Arc<AtomicU64>,
}

/// On drop, waits until the remaining lines are written.
#[derive(Debug)]
pub(crate) struct Log(Option<SyncSender<Message>>);

/// Starts the log of this process. Events of libraries are not logged, because they may contain any
/// data.
///
/// # Errors
/// Fails if a log was started before, or the system has no thread left.
pub(crate) fn start(level: Level) -> io::Result<Log> {
    let level = match level {
        Level::Off => return Ok(Log(None)),
        Level::Warn => LevelFilter::WARN,
        Level::Info => LevelFilter::INFO,
    };
    let (sender, receiver) = sync_channel(WAITING);
    let dropped = Arc::new(AtomicU64::new(0));
    let lines = Lines { sender: sender.clone(), dropped: Arc::clone(&dropped) };
    thread::Builder::new().name("log".to_owned()).spawn(move || write(&receiver, &dropped))?;
    let targets = ["access", "failure", "hub", "reload", "log", "node", "relay", "signer"];
    let ours = Targets::new().with_targets(targets.map(|target| (target, level)));
    let layer = fmt::layer().json().flatten_event(true).with_current_span(false);
    let layer = layer.with_span_list(false).with_writer(move || lines.clone()).with_filter(ours);
    tracing::subscriber::set_global_default(registry().with(layer)).map_err(io::Error::other)?;
    Ok(Log(Some(sender)))
}

/// Writes lines until the process ends.
fn write(receiver: &Receiver<Message>, dropped: &AtomicU64) {
    WRITES.set(true);
    while let Ok(message) = receiver.recv() {
        match message {
            // A failure of standard error cannot be reported there.
            Message::Line(line) => drop(io::stderr().write_all(&line)),
            Message::End(done) => drop(done.try_send(())),
        }
        let lines = dropped.swap(0, Relaxed);
        if lines > 0 {
            tracing::warn!(target: "log", dropped = lines, "standard error was not read in time");
        }
    }
}

impl Write for Lines {
    /// Queues one complete line.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if WRITES.get() {
            io::stderr().write_all(line)?;
        } else if self.sender.try_send(Message::Line(line.to_owned())).is_err() {
            self.dropped.fetch_add(1, Relaxed);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        let Some(sender) = &self.0 else { return };
        let (done, written) = sync_channel(1);
        // If the queue is full, standard error is not being read.
        if sender.try_send(Message::End(done)).is_ok() {
            let _ = written.recv_timeout(AT_THE_END);
        }
    }
}
