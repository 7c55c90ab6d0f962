//! Replacement of an old connection, which stays in use meanwhile.

use core::future::Future;
use std::time::Instant;

use endseal_crypto::random::OsRandom;
use tokio::task::JoinSet;

use crate::backoff::{Backoff, Failures};
use crate::connection::Connection;

/// Attempts to replace a connection. At most one runs at a time, in its own task, which is aborted
/// when this value is dropped.
#[derive(Default)]
pub(crate) struct Renewal {
    attempt: JoinSet<Option<(Connection, Instant)>>,
    failures: Failures,
}

impl Renewal {
    /// Starts an attempt, unless one is running or the back-off time after the last failure has not
    /// passed.
    pub(crate) fn begin(
        &mut self,
        attempt: impl Future<Output = Option<Connection>> + Send + 'static,
    ) {
        if self.attempt.is_empty() && !self.failures.waits() {
            self.attempt.spawn(async { attempt.await.map(|new| (new, Instant::now())) });
        }
    }

    /// Returns the new connection of a successful attempt, once, with the time of its success.
    pub(crate) fn succeeded(&mut self, backoff: &Backoff) -> Option<(Connection, Instant)> {
        // A task that panicked counts as failed.
        let done = self.attempt.try_join_next()?.ok().flatten();
        let renewed = done.filter(|(new, _)| new.close_reason().is_none());
        if renewed.is_some() {
            self.failures = Failures::default();
        } else {
            self.failures.add(backoff, &mut OsRandom);
        }
        renewed
    }
}
