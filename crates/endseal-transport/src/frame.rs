//! Frames of streams: live frames (docs/spec/frame.md), which each stream numbers and checks.

use bytes::Bytes;
use endseal_codec::Limits;
use endseal_codec::frame::{FrameError, Kind, LiveHeader};

/// One frame: kind, flags and payload. Its number is not part of it: [`FrameSender`] counts the
/// frames of a stream, and [`FrameReceiver`] checks the numbers.
///
/// [`FrameSender`]: crate::FrameSender
/// [`FrameReceiver`]: crate::FrameReceiver
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    kind: Kind,
    idempotent: bool,
    sealed: bool,
    /// Content of the frame.
    pub payload: Bytes,
}

impl Frame {
    /// Makes a frame without flags.
    #[must_use]
    pub fn new(kind: Kind, payload: impl Into<Bytes>) -> Self {
        Self { kind, idempotent: false, sealed: false, payload: payload.into() }
    }

    /// Sets the flag which says that the frame may be processed twice without harm. The caller MUST
    /// ensure that this is true.
    #[must_use]
    pub fn idempotent(self) -> Self {
        Self { idempotent: true, ..self }
    }

    /// Sets the flag which says that the payload is a `SealedMessage`; returns `None` for kinds
    /// other than [`Kind::Message`].
    #[must_use]
    pub fn sealed(self) -> Option<Self> {
        (self.kind == Kind::Message).then_some(Self { sealed: true, ..self })
    }

    /// Returns the kind of the payload.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Returns true if the sender has marked the frame as idempotent: processing it twice does no
    /// harm.
    #[must_use]
    pub fn is_idempotent(&self) -> bool {
        self.idempotent
    }

    /// Returns true if the sender has marked the payload as a `SealedMessage`.
    #[must_use]
    pub fn is_sealed(&self) -> bool {
        self.sealed
    }

    /// Returns the header of this frame as number `sequence` of a stream whose receiver has
    /// `limits`.
    pub(crate) fn header(&self, sequence: u64, limits: Limits) -> Result<LiveHeader, FrameError> {
        let plain = LiveHeader::new(self.kind, self.payload.len(), sequence, limits)?;
        let header = if self.idempotent { plain.idempotent() } else { plain };
        if self.sealed { header.sealed().ok_or(FrameError::Flags) } else { Ok(header) }
    }

    /// Makes the frame for a received header and payload.
    pub(crate) fn received(header: LiveHeader, payload: Bytes) -> Self {
        let (idempotent, sealed) = (header.is_idempotent(), header.is_sealed());
        Self { kind: header.kind(), idempotent, sealed, payload }
    }
}
