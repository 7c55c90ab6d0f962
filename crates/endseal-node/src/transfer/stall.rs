//! Timeout for a peer that makes no progress.

use core::time::Duration;
use std::pin::pin;

use endseal_transport::Connection;
use tokio::time;

use super::error::SendError;

/// Timeout for a peer that makes no progress. Default 60 s: a slow disk may need that to write the end
/// of a file to stable storage.
///
/// Progress is content that moves on the connection, in either direction. QUIC's own signs of life do
/// not count: QUIC answers for a program that has stopped. A slow path is progress. The wait for input
/// that is to be sent is not limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StallTimeout(Duration);

impl Default for StallTimeout {
    fn default() -> Self {
        Self(Duration::from_secs(60))
    }
}

impl StallTimeout {
    /// Gives up between `limit` and twice that after the last move.
    #[must_use]
    pub fn new(limit: Duration) -> Self {
        Self(limit)
    }

    /// Waits for something that the peer has to do.
    ///
    /// # Errors
    /// [`SendError::Stalled`].
    pub(super) async fn wait<T>(
        self,
        connection: &Connection,
        work: impl Future<Output = T>,
    ) -> Result<T, SendError> {
        let mut work = pin!(work);
        let mut before = Movement::of(connection);
        loop {
            if let Ok(done) = time::timeout(self.0, &mut work).await {
                return Ok(done);
            }
            let now = Movement::of(connection);
            if !now.is_later_than(&before) {
                return Err(SendError::Stalled);
            }
            before = now;
        }
    }
}

/// What has moved on a connection so far.
struct Movement {
    sent: u64,
    acknowledged: u64,
    received: u64,
}

impl Movement {
    fn of(connection: &Connection) -> Self {
        let path = connection.path();
        Self {
            sent: path.stream_frames_sent,
            acknowledged: path.acks_received,
            received: path.stream_frames_received,
        }
    }

    /// Content without an acknowledgement is sent again and again, and signs of life have
    /// acknowledgements: neither alone is a move.
    fn is_later_than(&self, before: &Self) -> bool {
        let answered = self.sent != before.sent && self.acknowledged != before.acknowledged;
        answered || self.received != before.received
    }
}
