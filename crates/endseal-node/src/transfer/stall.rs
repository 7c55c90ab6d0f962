//! Timeout for a peer that makes no progress.

use core::time::Duration;
use std::pin::pin;

use endseal_transport::{Connection, SendError as TransportError};
use tokio::time;

use super::error::SendError;

/// Content that a peer takes within the limit, at least.
const SHARE: u64 = 64 * 1024;
/// Content that QUIC has and the peer may not:
/// [`Limits::send_window`](endseal_transport::Limits::send_window) by default.
const BUFFERED: u64 = 2 * 1024 * 1024;

/// Timeout for a peer that makes no progress. Default 60 s: a slow disk may need that to write the
/// end of a file to stable storage.
///
/// Progress is that of one transfer: an answer, a receipt, or 64 KiB of its content that the peer
/// takes. Nothing else on the connection is. The wait for input that is to be sent is not limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StallTimeout(Duration);

impl Default for StallTimeout {
    fn default() -> Self {
        Self(Duration::from_secs(60))
    }
}

impl StallTimeout {
    /// Gives up when a transfer makes no progress within `limit`. Content that QUIC has buffered,
    /// at most 2 MiB, has one more `limit` for each 64 KiB while content moves to the peer.
    #[must_use]
    pub fn new(limit: Duration) -> Self {
        Self(limit)
    }

    /// Waits for something that the peer does after it has taken so many bytes of `content`.
    ///
    /// QUIC reports no acknowledged bytes of a stream. The limit therefore holds once for the peer,
    /// and once for each [`SHARE`] of content while content of the connection moves to the peer.
    ///
    /// # Errors
    /// [`SendError::Stalled`].
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

/// Waits until the peer takes an answer, for no longer than `limit`.
///
/// # Errors
/// [`SendError::Send`], [`SendError::Stalled`].
pub(super) async fn taken(
    limit: Duration,
    answering: impl Future<Output = Result<(), TransportError>>,
) -> Result<(), SendError> {
    time::timeout(limit, answering).await.map_err(|_| SendError::Stalled)?.map_err(SendError::Send)
}

/// Content that has moved from this side on a connection so far.
struct Movement {
    sent: u64,
    acknowledged: u64,
}

impl Movement {
    fn of(connection: &Connection) -> Self {
        let path = connection.path();
        Self { sent: path.stream_frames_sent, acknowledged: path.acks_received }
    }

    /// Content without an acknowledgement is sent again and again, and signs of life have
    /// acknowledgements: neither alone is a move.
    fn is_later_than(&self, before: &Self) -> bool {
        self.sent != before.sent && self.acknowledged != before.acknowledged
    }
}
