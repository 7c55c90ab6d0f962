//! Tests of queued events and of commands that take long.

use endseal_crypto::random::OsRandom;
use endseal_store::KdfParams;
use endseal_testing::Scratch;

use super::*;
use crate::log::PAGE;
use crate::records::line::{LogEntry, Matter};
use crate::signer_store::SignerStore;

/// Creates a worker without apps, with `lines` lines in its log.
fn worker(scratch: &Scratch, lines: usize, events: mpsc::Sender<(usize, Notification)>) -> Worker {
    let path = scratch.path("signer");
    let store = SignerStore::create(&path, "correct horse", KdfParams::MINIMUM, &mut OsRandom);
    let mut store = store.unwrap();
    let mut transaction = store.begin().unwrap();
    for _ in 0..lines {
        transaction.append(LogEntry::new(Matter::Unlocked, 1)).unwrap();
    }
    transaction.commit().unwrap();
    let metrics = Arc::new(Metrics::default());
    let engine = Engine::new(path, store, Arc::clone(&metrics));
    let reaching = Reaching { proxy: None, allow_private: false };
    let devices = DevicePorts::start(&[], &mpsc::unbounded_channel().0).unwrap();
    Worker::new(engine, metrics, reaching, events, oneshot::channel().0, devices)
}

#[test]
fn events_that_wait_are_bounded_in_number_and_bytes() {
    let scratch = Scratch::new();
    let (sender, mut events) = mpsc::channel(2 * BATCH);
    let mut worker = worker(&scratch, 0, sender.clone());
    for (len, taken) in [(MAX_EVENT, BATCH_BYTES / MAX_EVENT), (MAX_EVENT + 1, 0), (1, BATCH)] {
        for _ in 0..taken + 100 {
            let event = Notification::Event(vec![b' '; len].into());
            sender.try_send((0, event)).unwrap();
        }
        let first = events.try_recv().unwrap();
        worker.receive(first, &mut events);
        // An event that is too long is removed from the queue and dropped.
        let left = if len > MAX_EVENT { 0 } else { 100 };
        assert_eq!(events.len(), left, "{len}");
        while events.try_recv().is_ok() {}
    }
    // Events that are not read are counted, and so are messages that the connection skipped.
    sender.try_send((0, Notification::Skipped { count: 3, bytes: 2_000_000 })).unwrap();
    let first = events.try_recv().unwrap();
    worker.receive(first, &mut events);
    let text = worker.metrics.text();
    let count = format!("ignored_total{{cause=\"size\"}} {}", 100 + 3);
    assert!(text.contains(&count), "{text}");
}

#[test]
fn the_log_is_verified_between_answers() {
    let scratch = Scratch::new();
    let (sender, _events) = mpsc::channel(1);
    let mut worker = worker(&scratch, 3 * PAGE + 5, sender);
    let call = |command| {
        let request = crate::control::Request { command, secret: Default::default() };
        let (reply, replied) = oneshot::channel();
        (Call { request, reply }, replied)
    };
    let runtime = Builder::new_current_thread().build().unwrap();
    let sockets = runtime.handle();
    let (verify, mut verified) = call(Command::Verify);
    worker.command(verify, sockets);
    // A command whose caller has disconnected costs at most one page.
    worker.command(call(Command::Verify).0, sockets);
    for page in 0..4 {
        assert!(verified.try_recv().is_err(), "{page}");
        // Verification does not delay another command, which may add a line.
        let (status, mut replied) = call(Command::Status);
        worker.command(status, sockets);
        assert!(replied.try_recv().unwrap().is_ok());
        worker.verify_page();
    }
    let lines = u64::try_from(3 * PAGE + 5).unwrap();
    let reply = verified.try_recv().unwrap();
    assert!(matches!(reply, Ok(Reply::Verified { lines: all, .. }) if all == lines));
    worker.verify_page();
    assert!(worker.verifying.is_empty());
}
