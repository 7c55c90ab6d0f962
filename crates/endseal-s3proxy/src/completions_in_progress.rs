//! Completions that are in progress. A client that got no answer sends its completion again, while
//! the first one goes on. The second one waits for it, and then finds the object.

use std::collections::HashMap;
use std::sync::{Arc, Mutex as StdMutex, PoisonError, Weak};

use tokio::sync::{Mutex, OwnedMutexGuard};

/// Locks of the uploads that are being completed, by upload id.
#[derive(Default)]
pub(crate) struct CompletionsInProgress(StdMutex<HashMap<String, Weak<Mutex<()>>>>);

impl CompletionsInProgress {
    /// Waits until no other completion of the upload is in progress, until the guard is dropped.
    pub(crate) async fn enter(&self, upload_id: &str) -> OwnedMutexGuard<()> {
        self.lock_of(upload_id).lock_owned().await
    }

    fn lock_of(&self, upload_id: &str) -> Arc<Mutex<()>> {
        // No code that holds the lock can panic.
        let mut locks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        locks.retain(|_, lock| lock.strong_count() > 0);
        if let Some(lock) = locks.get(upload_id).and_then(Weak::upgrade) {
            return lock;
        }
        let lock = Arc::new(Mutex::new(()));
        locks.insert(upload_id.to_owned(), Arc::downgrade(&lock));
        lock
    }
}
