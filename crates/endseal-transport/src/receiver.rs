//! Receiving side of a stream of frames.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::{Buf, Bytes, BytesMut};
use endseal_codec::Limits;
use endseal_codec::frame::{FrameError, LiveHeader};
use quinn::{ReadError, RecvStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::close::CloseCode;
use crate::conn_handle::ConnHandle;
use crate::error::ReceiveError;
use crate::frame::Frame;
use crate::prefix::{Prefix, PrefixError, StreamType};
use crate::statistics::Counters;

/// Chunks that are taken from QUIC in one call.
const PIECES: usize = 32;
/// Bytes that are allocated for a frame before its data has arrived.
const AHEAD: usize = 64 * 1024;
/// Length in bytes up to which a frame needs no share of [`FrameReceiver::share_memory`].
const UNSHARED: usize = 16 * 1024;

/// The receiving side of a stream. Frames are returned in the order in which they were sent. Their
/// numbers are checked; a gap closes the connection, as a malformed frame does.
#[derive(Debug)]
pub struct FrameReceiver {
    stream: RecvStream,
    handle: ConnHandle,
    /// Type with which the stream must start; `None` once the prefix is read.
    expected: Option<StreamType>,
    limits: Limits,
    /// Number that the next header must have.
    sequence: u64,
    /// True if the stream started as early data, which an attacker may have recorded and replayed.
    idempotent_only: bool,
    /// Received chunks that are not decoded yet.
    pieces: VecDeque<Bytes>,
    /// Header and received part of a frame whose payload is not complete.
    partial: Option<(LiveHeader, BytesMut)>,
    /// Memory for long frames that streams share, and the share of the frame in `partial`.
    memory: Option<Arc<Semaphore>>,
    permit: Option<OwnedSemaphorePermit>,
    ended: bool,
    /// The first error, returned by all later calls. QUIC reports a reset once, and then an end of
    /// stream.
    failed: Option<ReceiveError>,
}

impl FrameReceiver {
    pub(crate) fn new(
        stream: RecvStream,
        handle: ConnHandle,
        expected: Option<StreamType>,
        limits: Limits,
    ) -> Self {
        // Control frames are held back until the handshake is complete, which never happens for a
        // replayed flight. Therefore a stream that is accepted after completion does not count as
        // early. QUIC does not count one as early either if it is accepted after the handshake has
        // failed.
        let is_early = stream.is_0rtt() || handle.handshake_failed();
        let idempotent_only = is_early && expected != Some(StreamType::Control);
        Self {
            stream,
            handle,
            expected,
            limits,
            sequence: 0,
            idempotent_only,
            pieces: VecDeque::new(),
            partial: None,
            memory: None,
            permit: None,
            ended: false,
            failed: None,
        }
    }

    /// Returns the next frame, or `None` when the peer has finished the stream and all of it was
    /// received.
    ///
    /// The call may be dropped while it waits: no data is lost.
    ///
    /// # Errors
    /// [`ReceiveError`] if the stream or connection failed; later calls return the same error. The
    /// frames received before are then not everything that the peer meant to send.
    pub async fn receive(&mut self) -> Result<Option<Frame>, ReceiveError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        if self.partial.is_none() {
            self.permit = None;
        }
        let received = self.next_frame().await;
        self.failed = received.as_ref().err().cloned();
        received
    }

    async fn next_frame(&mut self) -> Result<Option<Frame>, ReceiveError> {
        self.read_prefix().await?;
        loop {
            if let Some(frame) = self.take_frame()? {
                Counters::add(&self.handle.counters.frames_received, 1);
                let bytes = frame.payload.len() as u64;
                Counters::add(&self.handle.counters.payload_received, bytes);
                return Ok(Some(frame));
            }
            self.reserve().await;
            if !self.fill().await? {
                let within = self.partial.is_some() || !self.pieces.is_empty();
                return if within { Err(self.bad_frame(FrameError::Truncated)) } else { Ok(None) };
            }
        }
    }

    /// Makes frames of more than 16 KiB wait for memory before they are received. `memory` has one
    /// permit for each KiB, and at least as many as the longest frame needs. A frame gives back its
    /// permits when the next one is asked for.
    pub fn share_memory(&mut self, memory: Arc<Semaphore>) {
        self.memory = Some(memory);
    }

    /// Waits for the memory of the frame in `partial`, if it is long.
    async fn reserve(&mut self) {
        let Some((header, _)) = &self.partial else { return };
        if header.length() <= UNSHARED || self.permit.is_some() {
            return;
        }
        if let Some(memory) = &self.memory {
            let kib = u32::try_from(header.length().div_ceil(1_024)).unwrap_or(u32::MAX);
            // Semaphores of callers are not closed.
            self.permit = Arc::clone(memory).acquire_many_owned(kib).await.ok();
        }
    }

    /// Tells the peer to stop sending on this stream.
    pub fn stop(mut self) {
        // The stream may have ended meanwhile, which has the same result.
        let _ended = self.stream.stop(CloseCode::Cancelled.to_varint());
    }

    /// Reads the prefix of the stream. Returns `None` if it has none or was read before.
    pub(crate) async fn read_prefix(&mut self) -> Result<Option<Prefix>, ReceiveError> {
        let Some(expected) = self.expected else { return Ok(None) };
        loop {
            let mut peeked = [0; LiveHeader::MAX_LEN];
            let len = self.peek(&mut peeked);
            match Prefix::decode(&peeked[..len], expected) {
                Ok(Some((prefix, len))) => {
                    self.skip(len);
                    self.expected = None;
                    return Ok(Some(prefix));
                }
                Ok(None) => {
                    if !self.fill().await? {
                        return Err(self.bad_frame(FrameError::Truncated));
                    }
                }
                Err(PrefixError::Type(kind)) => {
                    return Err(self.handle.blame(CloseCode::Stream, ReceiveError::Stream(kind)));
                }
                Err(PrefixError::Varint) => return Err(self.bad_frame(FrameError::Varint)),
                Err(PrefixError::Maximum(_)) => return Err(self.bad_frame(FrameError::Limit)),
            }
        }
    }

    fn bad_frame(&self, error: FrameError) -> ReceiveError {
        let code = match error {
            FrameError::Limit => CloseCode::TooLarge,
            _ => CloseCode::Frame,
        };
        self.handle.blame(code, ReceiveError::Frame(error))
    }

    /// Returns the next frame if all of it has arrived.
    fn take_frame(&mut self) -> Result<Option<Frame>, ReceiveError> {
        if self.partial.is_none() {
            let mut peeked = [0; LiveHeader::MAX_LEN];
            let len = self.peek(&mut peeked);
            let parsed = LiveHeader::parse(&peeked[..len], self.sequence, self.limits);
            let Some((header, start)) = parsed.map_err(|error| self.bad_frame(error))? else {
                return Ok(None);
            };
            if self.idempotent_only && !header.is_idempotent() {
                return Err(self.handle.blame(CloseCode::Early, ReceiveError::Early));
            }
            self.skip(start);
            // The codec accepts numbers below 2^62 only.
            self.sequence += 1;
            let length = header.length();
            // Copied even if it lies in one chunk: a chunk keeps the buffer of a whole batch of
            // datagrams alive, and the application may keep the frame.
            self.partial = Some((header, BytesMut::with_capacity(length.min(AHEAD))));
        }
        let Some((header, mut payload)) = self.partial.take() else { return Ok(None) };
        let length = header.length();
        while payload.len() < length {
            let Some(piece) = self.pieces.front_mut() else {
                self.partial = Some((header, payload));
                return Ok(None);
            };
            let part = piece.split_to(piece.len().min(length - payload.len()));
            payload.extend_from_slice(&part);
            self.skip(0);
        }
        Ok(Some(Frame::received(header, payload.freeze())))
    }

    /// Copies the next bytes without consuming them, and returns how many.
    fn peek(&self, out: &mut [u8; LiveHeader::MAX_LEN]) -> usize {
        let mut len = 0;
        for piece in &self.pieces {
            let part = piece.len().min(out.len() - len);
            out[len..len + part].copy_from_slice(&piece[..part]);
            len += part;
            if len == out.len() {
                break;
            }
        }
        len
    }

    /// Consumes `count` bytes, and removes empty chunks.
    fn skip(&mut self, mut count: usize) {
        while let Some(piece) = self.pieces.front_mut() {
            let part = count.min(piece.len());
            piece.advance(part);
            count -= part;
            if !piece.is_empty() {
                break;
            }
            self.pieces.pop_front();
        }
    }

    /// Waits for more bytes. Returns false at the end of the stream.
    async fn fill(&mut self) -> Result<bool, ReceiveError> {
        if self.ended {
            return Ok(false);
        }
        let mut pieces = [const { Bytes::new() }; PIECES];
        match self.stream.read_chunks(&mut pieces).await {
            Ok(Some(count)) => {
                self.pieces.extend(pieces.into_iter().take(count));
                Ok(true)
            }
            Ok(None) => {
                self.ended = true;
                Ok(false)
            }
            Err(ReadError::Reset(code)) => {
                Err(ReceiveError::Reset(CloseCode::of_number(code.into_inner())))
            }
            Err(ReadError::ConnectionLost(error)) => Err(ReceiveError::Closed(error.into())),
            Err(_) => Err(ReceiveError::Closed(self.handle.closed())),
        }
    }
}
