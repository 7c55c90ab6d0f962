//! Sending side of a stream of frames.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};
use endseal_codec::Limits;
use endseal_codec::frame::LiveHeader;
use quinn::{SendStream, WriteError};
use tokio::sync::watch;

use crate::close::{CloseCode, Closed};
use crate::conn_handle::ConnHandle;
use crate::error::SendError;
use crate::frame::Frame;
use crate::limits::{FRAME_INITIAL, frame_limits};
use crate::prefix::Prefix;
use crate::statistics::Counters;
use crate::window::SendWindow;

/// Payloads up to this length are copied behind their header, and behind other waiting frames, into
/// one chunk. quinn searches its chunks for each packet, so fewer are faster.
const COPY: usize = 2048;
/// Bytes that may wait for further frames before they are passed to QUIC.
const BATCH: usize = 64 * 1024;
/// Bytes allocated at once for frames that are copied behind each other.
const CHUNK: usize = 16 * 1024;

/// The sending side of a stream. It numbers the frames.
///
/// Dropping it without [`Self::finish`] or [`Self::end`] resets the stream: the peer gets
/// [`ReceiveError::Reset`](crate::ReceiveError::Reset), never a shorter stream that looks complete.
#[derive(Debug)]
pub struct FrameSender {
    stream: SendStream,
    handle: ConnHandle,
    /// Largest payload that the peer accepts, in bytes; 0 until it has announced it.
    peer_max: watch::Receiver<u32>,
    /// Encoded chunks that QUIC has not taken: frames that wait for others, or the rest of a frame
    /// whose `send` call was dropped.
    pending: VecDeque<Bytes>,
    /// Chunk behind `pending`, to which frames are appended.
    last: BytesMut,
    /// Bytes in `pending` and `last`.
    waiting: usize,
    window: SendWindow,
    /// Number of the next frame.
    sequence: u64,
    finished: bool,
}

impl FrameSender {
    pub(crate) fn new(
        stream: SendStream,
        handle: ConnHandle,
        prefix: Option<Prefix>,
        peer_max: watch::Receiver<u32>,
    ) -> Self {
        let window = SendWindow::new(handle.send_window);
        let mut own = Self {
            stream,
            handle,
            peer_max,
            pending: VecDeque::new(),
            last: BytesMut::new(),
            waiting: 0,
            window,
            sequence: 0,
            finished: false,
        };
        if let Some(prefix) = prefix {
            let mut bytes = BytesMut::with_capacity(Prefix::MAX_LEN);
            prefix.encode(&mut bytes);
            own.append(&[&bytes]);
        }
        own
    }

    /// Sends a frame. Returns when QUIC has taken it; waits while the peer's windows are full.
    ///
    /// The call may be dropped while it waits. The frame is then sent completely by the next call,
    /// or not at all.
    ///
    /// # Errors
    /// [`SendError`] if the stream or connection has ended, or the frame is too long for the peer.
    pub async fn send(&mut self, frame: &Frame) -> Result<(), SendError> {
        self.feed(frame).await?;
        self.flush().await
    }

    /// Adds one of many frames like [`Self::send`], but may hold it back: QUIC is then woken once
    /// per 64 KiB and not once per frame. The caller MUST call [`Self::flush`], [`Self::send`],
    /// [`Self::end`] or [`Self::finish`] after the last frame.
    ///
    /// # Errors
    /// [`SendError`] if the stream or connection has ended, or the frame is too long for the peer.
    pub async fn feed(&mut self, frame: &Frame) -> Result<(), SendError> {
        let limits = self.limits_for(frame.payload.len()).await?;
        if self.waiting >= BATCH {
            self.flush().await?;
        }
        // There is no await below: a number is used only if the whole frame is pending.
        let header = frame.header(self.sequence, limits).map_err(SendError::Frame)?;
        let mut encoded = [0; LiveHeader::MAX_LEN];
        let len = header.write(&mut encoded);
        let header = &encoded[..len];
        if frame.payload.len() <= COPY {
            self.append(&[header, &frame.payload]);
        } else {
            self.append(&[header]);
            self.end_piece();
            self.waiting += frame.payload.len();
            self.pending.push_back(frame.payload.clone());
        }
        self.sequence += 1;
        Counters::add(&self.handle.counters.frames_sent, 1);
        Counters::add(&self.handle.counters.payload_sent, frame.payload.len() as u64);
        Ok(())
    }

    /// Passes all waiting data to QUIC. Returns when QUIC has taken it.
    ///
    /// # Errors
    /// [`SendError`] if the stream or connection has ended.
    pub async fn flush(&mut self) -> Result<(), SendError> {
        self.end_piece();
        while !self.pending.is_empty() {
            let written = self.stream.write_chunks(self.pending.make_contiguous()).await;
            let written = written.map_err(|error| match error {
                WriteError::Stopped(code) => {
                    SendError::Stopped(CloseCode::of_number(code.into_inner()))
                }
                WriteError::ConnectionLost(error) => SendError::Closed(Closed::from(error)),
                _ => SendError::Closed(self.handle.closed()),
            })?;
            self.pending.drain(..written.chunks);
            self.waiting = self.waiting.saturating_sub(written.bytes);
            self.window.written(written.bytes, &self.handle.quinn);
        }
        Ok(())
    }

    /// Ends the stream without waiting for its arrival: QUIC goes on sending while the connection
    /// is open.
    ///
    /// # Errors
    /// [`SendError`] if the stream or connection has ended.
    pub async fn end(mut self) -> Result<(), SendError> {
        self.flush().await?;
        self.end_stream()
    }

    /// Ends the stream and waits until the peer's QUIC has received all of it. The last
    /// acknowledgement may be 25 ms late by design (RFC 9000, 13.2.1); [`Self::end`] does not wait.
    ///
    /// This does not prove that the peer's application has read or stored the data. An application
    /// that needs a proof should use an exchange and answer.
    ///
    /// # Errors
    /// [`SendError`] if the stream or connection has ended before all data was acknowledged.
    pub async fn finish(mut self) -> Result<(), SendError> {
        self.flush().await?;
        self.end_stream()?;
        match self.stream.stopped().await {
            Ok(None) => Ok(()),
            Ok(Some(code)) => Err(SendError::Stopped(CloseCode::of_number(code.into_inner()))),
            Err(_) => Err(SendError::Closed(self.handle.closed())),
        }
    }

    /// Resets the stream with `code`. Data that the peer has not read is lost.
    pub fn reset(mut self, code: CloseCode) {
        self.give_up(code);
    }

    /// Marks the end of the stream in QUIC, without waiting.
    pub(crate) fn end_stream(&mut self) -> Result<(), SendError> {
        self.finished = true;
        self.stream.finish().map_err(|_| SendError::Closed(self.handle.closed()))
    }

    /// Returns the QUIC stream.
    pub(crate) fn stream(&mut self) -> &mut SendStream {
        &mut self.stream
    }

    /// Waits until the peer's QUIC has received all of an ended stream, or has stopped reading it.
    pub(crate) async fn arrived(&mut self) {
        let _either = self.stream.stopped().await;
    }

    /// Sets the stream's priority: streams with a higher value are sent first. The default is 0.
    pub fn set_priority(&self, priority: i32) {
        // The stream may have ended meanwhile, which has the same result.
        let _ended = self.stream.set_priority(priority);
    }

    /// Appends bytes to the last chunk, or to a new one if they do not fit.
    fn append(&mut self, parts: &[&[u8]]) {
        let length = parts.iter().map(|part| part.len()).sum();
        if self.last.capacity() - self.last.len() < length {
            self.end_piece();
            // Data that is sent alone needs no space for further frames.
            let room = if self.waiting == 0 { length } else { length.max(CHUNK) };
            self.last = BytesMut::with_capacity(room);
        }
        parts.iter().for_each(|part| self.last.extend_from_slice(part));
        self.waiting += length;
    }

    /// Moves the last chunk to `pending`, so that nothing is appended to it any more.
    fn end_piece(&mut self) {
        if !self.last.is_empty() {
            self.pending.push_back(core::mem::take(&mut self.last).freeze());
        }
    }

    /// Returns frame limits that the peer is known to accept for a payload of `length` bytes. Waits
    /// for the peer's announcement only if the payload exceeds [`FRAME_INITIAL`].
    async fn limits_for(&mut self, length: usize) -> Result<Limits, SendError> {
        if length <= FRAME_INITIAL as usize {
            return Ok(frame_limits(FRAME_INITIAL));
        }
        let known = self.peer_max.wait_for(|max| *max != 0).await;
        let max = *known.map_err(|_| SendError::Closed(self.handle.closed()))?;
        if length <= max as usize {
            return Ok(frame_limits(max));
        }
        Err(SendError::TooLarge { length: length as u64, max })
    }

    fn give_up(&mut self, code: CloseCode) {
        if !self.finished {
            self.finished = true;
            // The stream may have been stopped meanwhile, which has the same result.
            let _stopped = self.stream.reset(code.to_varint());
        }
    }
}

impl Drop for FrameSender {
    fn drop(&mut self) {
        self.give_up(CloseCode::Cancelled);
    }
}
