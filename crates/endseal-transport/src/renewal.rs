//! The replacement of an old connection, which stays in use meanwhile.

use core::future::Future;
use std::time::Instant;

use endseal_crypto::random::OsRandom;
use tokio::task::JoinSet;

use crate::backoff::{Backoff, Failures};
use crate::connection::Connection;

/// Attempts to replace a connection: at most one at a time, in a task of its own that ends with
/// this.
#[derive(Default)]
pub(crate) struct Renewal {
    attempt: JoinSet<Option<(Connection, Instant)>>,
    failures: Failures,
}

impl Renewal {
    /// Begins an attempt, unless there is one or the last one failed too short a time ago.
    pub(crate) fn begin(
        &mut self,
        attempt: impl Future<Output = Option<Connection>> + Send + 'static,
    ) {
        if self.attempt.is_empty() && !self.failures.waits() {
            self.attempt.spawn(async { attempt.await.map(|new| (new, Instant::now())) });
        }
    }

    /// Returns the connection of an attempt that has succeeded, once, with the time of its success.
    pub(crate) fn succeeded(&mut self, backoff: &Backoff) -> Option<(Connection, Instant)> {
        // A task that panicked has failed.
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
