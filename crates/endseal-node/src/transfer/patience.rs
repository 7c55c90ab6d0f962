//! How long a peer may stand still.

use core::time::Duration;
use std::pin::pin;

use endseal_transport::Connection;
use tokio::time;

use super::error::SendError;

/// How long a peer may stand still before it is given up. 60 s by default: a slow disk may need that to
/// bring the end of a file to stable storage.
///
/// A connection alone does not tell: QUIC answers for a program that does nothing any more. What counts
/// as moving is content, in either direction, so that a slow path is no reason to give up. Waiting for
/// what is to be sent is not limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience(Duration);

impl Default for Patience {
    fn default() -> Self {
        Self(Duration::from_secs(60))
    }
}

impl Patience {
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
