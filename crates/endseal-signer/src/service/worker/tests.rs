//! Events that wait for the engine.

use endseal_crypto::random::OsRandom;
use endseal_store::KdfParams;
use endseal_testing::Scratch;

use super::*;
use crate::signer_store::SignerStore;

/// A worker without apps.
fn worker(scratch: &Scratch, events: mpsc::Sender<(usize, Notification)>) -> Worker {
    let path = scratch.path("signer");
    let store = SignerStore::create(&path, "correct horse", KdfParams::MINIMUM, &mut OsRandom);
    let metrics = Arc::new(Metrics::default());
    let engine = Engine::new(path, store.unwrap(), Arc::clone(&metrics));
    let reaching = Reaching { proxy: None, allow_private: false };
    Worker::new(engine, metrics, reaching, events, oneshot::channel().0)
}

#[test]
fn events_that_wait_are_bounded_in_number_and_bytes() {
    let scratch = Scratch::new();
    let (sender, mut events) = mpsc::channel(2 * BATCH);
    let mut worker = worker(&scratch, sender.clone());
    for (len, taken) in [(MAX_EVENT, BATCH_BYTES / MAX_EVENT), (MAX_EVENT + 1, 0), (1, BATCH)] {
        for _ in 0..taken + 100 {
            let event = Notification::Event(vec![b' '; len].into());
            sender.try_send((0, event)).unwrap();
        }
        let first = events.try_recv().unwrap();
        worker.receive(first, &mut events);
        // One that is too long is read past, and not kept.
        let left = if len > MAX_EVENT { 0 } else { 100 };
        assert_eq!(events.len(), left, "{len}");
        while events.try_recv().is_ok() {}
    }
}
