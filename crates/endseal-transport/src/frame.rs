//! Frames of streams: live frames (docs/spec/frame.md), numbered and checked by their stream.

use bytes::Bytes;
use endseal_codec::Limits;
use endseal_codec::frame::{FrameError, Kind, LiveHeader};

/// One frame. It has no number: that is its place in the stream, which [`FrameSender`] counts and
/// [`FrameReceiver`] checks.
///
/// [`FrameSender`]: crate::FrameSender
/// [`FrameReceiver`]: crate::FrameReceiver
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    kind: Kind,
    idempotent: bool,
    sealed: bool,
    /// The content.
    pub payload: Bytes,
}

impl Frame {
    /// A frame without flags.
    #[must_use]
    pub fn new(kind: Kind, payload: impl Into<Bytes>) -> Self {
        Self { kind, idempotent: false, sealed: false, payload: payload.into() }
    }

    /// The same with the flag that acting on it twice does no harm. The caller MUST be sure of it.
    #[must_use]
    pub fn idempotent(self) -> Self {
        Self { idempotent: true, ..self }
    }

    /// The same with the flag that the payload is a `SealedMessage`; `None` on another kind than
    /// [`Kind::Message`].
    #[must_use]
    pub fn sealed(self) -> Option<Self> {
        (self.kind == Kind::Message).then_some(Self { sealed: true, ..self })
    }

    /// Returns the kind of the payload.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Returns true if acting on it twice does no harm.
    #[must_use]
    pub fn is_idempotent(&self) -> bool {
        self.idempotent
    }

    /// Returns true if the payload is a `SealedMessage`.
    #[must_use]
    pub fn is_sealed(&self) -> bool {
        self.sealed
    }

    /// The header as frame `sequence` of a stream whose reader has these limits.
    pub(crate) fn header(&self, sequence: u64, limits: Limits) -> Result<LiveHeader, FrameError> {
        let plain = LiveHeader::new(self.kind, self.payload.len(), sequence, limits)?;
        let header = if self.idempotent { plain.idempotent() } else { plain };
        if self.sealed { header.sealed().ok_or(FrameError::Flags) } else { Ok(header) }
    }

    /// The frame that has arrived.
    pub(crate) fn received(header: LiveHeader, payload: Bytes) -> Self {
        let (idempotent, sealed) = (header.is_idempotent(), header.is_sealed());
        Self { kind: header.kind(), idempotent, sealed, payload }
    }
}
