//! The connection handle that each stream keeps.

use std::sync::Arc;

use crate::close::{CloseCode, Closed};
use crate::error::ReceiveError;
use crate::handshake::is_complete;
use crate::statistics::Counters;

/// QUIC connection, counters and limits, shared by all streams of a connection.
#[derive(Clone, Debug)]
pub(crate) struct ConnHandle {
    pub(crate) quinn: quinn::Connection,
    pub(crate) counters: Arc<Counters>,
    /// Limit of unacknowledged bytes, [`Limits::send_window`](crate::Limits::send_window).
    pub(crate) send_window: u32,
}

impl ConnHandle {
    /// Closes the connection with `code` because the peer violated the protocol. Returns `error`.
    pub(crate) fn blame(&self, code: CloseCode, error: ReceiveError) -> ReceiveError {
        Counters::add(&self.counters.protocol_errors, 1);
        self.quinn.close(code.to_varint(), b"");
        error
    }

    /// Returns true if the connection has ended and its handshake was never complete.
    pub(crate) fn handshake_failed(&self) -> bool {
        self.quinn.close_reason().is_some() && !is_complete(&self.quinn)
    }

    /// Returns the reason for the end of the connection; [`Closed::Here`] if it is still open.
    pub(crate) fn closed(&self) -> Closed {
        self.quinn.close_reason().map_or(Closed::Here, Closed::from)
    }
}
