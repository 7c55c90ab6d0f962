//! Timeout for a peer that makes no progress.

use core::time::Duration;
use std::pin::pin;

use endseal_transport::{Connection, SendError as TransportError};
use tokio::time;

use super::error::SendError;

/// Bytes of content that a peer must accept within the limit.
const SHARE: u64 = 64 * 1024;
/// Bytes of content that QUIC may have buffered before the peer has them, which is the default of
/// [`Limits::send_window`](endseal_transport::Limits::send_window).
const BUFFERED: u64 = 2 * 1024 * 1024;

/// Timeout for a peer that makes no progress. The default is 60 s, which a slow disk may need to
/// write the end of a file to stable storage.
///
/// Progress is measured for one transfer: an answer, a receipt, or 64 KiB of its content that the
/// peer accepts. Other traffic on the connection does not count. The wait for local input is not
/// limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StallTimeout(Duration);

impl Default for StallTimeout {
    fn default() -> Self {
        Self(Duration::from_secs(60))
    }
}

impl StallTimeout {
    /// Makes a timeout of `limit`. Content that QUIC has buffered, at most 2 MiB, extends it by one
    /// more `limit` for each 64 KiB while content moves to the peer.
    #[must_use]
    pub fn new(limit: Duration) -> Self {
        Self(limit)
    }

    /// Waits for an action that the peer does after it has received `content` more bytes.
    ///
    /// QUIC does not report the acknowledged bytes of a stream. The limit therefore applies once
    /// for the peer, and once for each [`SHARE`] of content while content of the connection moves
    /// to the peer.
    ///
    /// # Errors
    /// Returns [`SendError::Stalled`] if the timeout has passed without progress.
    pub(super) async fn wait<T>(
        self,
        connection: &Connection,
        content: u64,
        work: impl Future<Output = T>,
    ) -> Result<T, SendError> {
        let mut work = pin!(work);
        let mut before = Movement::of(connection);
        for _ in 0..=content.min(BUFFERED).div_ceil(SHARE) {
            if let Ok(done) = time::timeout(self.0, &mut work).await {
                return Ok(done);
            }
            let now = Movement::of(connection);
            if !now.is_later_than(&before) {
                break;
            }
            before = now;
        }
        Err(SendError::Stalled)
    }
}

/// Waits until the peer accepts an answer, for at most `limit`.
///
/// # Errors
/// Returns [`SendError::Send`] if the connection fails, and [`SendError::Stalled`] after the limit.
pub(super) async fn taken(
    limit: Duration,
    answering: impl Future<Output = Result<(), TransportError>>,
) -> Result<(), SendError> {
    time::timeout(limit, answering).await.map_err(|_| SendError::Stalled)?.map_err(SendError::Send)
}

/// Amount of content that this side has moved over a connection so far.
struct Movement {
    sent: u64,
    acknowledged: u64,
}

impl Movement {
    fn of(connection: &Connection) -> Self {
        let path = connection.path();
        Self { sent: path.stream_frames_sent, acknowledged: path.acks_received }
    }

    /// Returns true if content was sent and acknowledged since `before`. One of them alone proves
    /// nothing: lost content is sent again and again, and keep-alive packets are acknowledged.
    fn is_later_than(&self, before: &Self) -> bool {
        self.sent != before.sent && self.acknowledged != before.acknowledged
    }
}
