//! Frames onto one stream.

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

/// Payloads up to this length are copied behind their header, and behind other frames that wait:
/// one piece instead of many. quinn searches its pieces for each packet.
const COPY: usize = 2048;
/// Bytes that may wait for others before QUIC gets them.
const BATCH: usize = 64 * 1024;
/// Bytes that are allocated at once for frames that are copied behind each other.
const CHUNK: usize = 16 * 1024;

/// The sending side of a stream. It numbers the frames.
///
/// Dropping it without [`Self::finish`] or [`Self::end`] gives the stream up: the peer sees
/// [`ReceiveError::Reset`](crate::ReceiveError::Reset), never a shorter stream.
#[derive(Debug)]
pub struct FrameSender {
    stream: SendStream,
    handle: ConnHandle,
    /// The largest payload that the peer accepts; 0 until it has said so.
    peer_max: watch::Receiver<u32>,
    /// Encoded and not taken by QUIC: frames that wait for others, or the rest of one whose sending
    /// was dropped.
    pending: VecDeque<Bytes>,
    /// The piece behind them, to which frames are added.
    last: BytesMut,
    /// Bytes in both.
    waiting: usize,
    window: SendWindow,
    /// The number of the next frame.
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

    /// Sends a frame: returns when QUIC has taken it, which is when the peer has room.
    ///
    /// May be dropped while it waits. The frame is then sent by the next call or not at all, but
    /// never in part.
    ///
    /// # Errors
    /// [`SendError`].
    pub async fn send(&mut self, frame: &Frame) -> Result<(), SendError> {
        self.feed(frame).await?;
        self.flush().await
    }

    /// [`Self::send`] for the next of many frames: it may wait for others, so that QUIC is woken
    /// once for 64 KiB and not for each. The caller MUST end with [`Self::flush`], [`Self::send`]
    /// or [`Self::finish`].
    ///
    /// # Errors
    /// [`SendError`].
    pub async fn feed(&mut self, frame: &Frame) -> Result<(), SendError> {
        let limits = self.limits_for(frame.payload.len()).await?;
        if self.waiting >= BATCH {
            self.flush().await?;
        }
        // Nothing waits from here on: a number is used when all of its frame is pending.
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

    /// Gives QUIC what it has not taken yet; returns when it has taken all.
    ///
    /// # Errors
    /// [`SendError`].
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

    /// Ends the stream, without waiting: QUIC goes on sending it for as long as the connection
    /// lives.
    ///
    /// # Errors
    /// [`SendError`].
    pub async fn end(mut self) -> Result<(), SendError> {
        self.flush().await?;
        self.end_stream()
    }

    /// Ends the stream and waits until the peer's QUIC has all of it. The last acknowledgement may
    /// be 25 ms late by design (RFC 9000, 13.2.1); [`Self::end`] does not wait.
    ///
    /// That is no proof that the peer's application has read or kept it: applications that need one
    /// answer, in an exchange.
    ///
    /// # Errors
    /// [`SendError`].
    pub async fn finish(mut self) -> Result<(), SendError> {
        self.flush().await?;
        self.end_stream()?;
        match self.stream.stopped().await {
            Ok(None) => Ok(()),
            Ok(Some(code)) => Err(SendError::Stopped(CloseCode::of_number(code.into_inner()))),
            Err(_) => Err(SendError::Closed(self.handle.closed())),
        }
    }

    /// Gives the stream up, for the reason given.
    pub fn reset(mut self, code: CloseCode) {
        self.give_up(code);
    }

    /// Ends the stream.
    pub(crate) fn end_stream(&mut self) -> Result<(), SendError> {
        self.finished = true;
        self.stream.finish().map_err(|_| SendError::Closed(self.handle.closed()))
    }

    /// The stream itself.
    pub(crate) fn stream(&mut self) -> &mut SendStream {
        &mut self.stream
    }

    /// Waits until the peer's QUIC has all of a stream that was ended, or wants no more.
    pub(crate) async fn arrived(&mut self) {
        let _either = self.stream.stopped().await;
    }

    /// The stream's place among others: higher ones are sent first. 0 by default.
    pub fn set_priority(&self, priority: i32) {
        // It may have ended meanwhile, which is as good.
        let _ended = self.stream.set_priority(priority);
    }

    /// Adds bytes to the last piece.
    fn append(&mut self, parts: &[&[u8]]) {
        let length = parts.iter().map(|part| part.len()).sum();
        if self.last.capacity() - self.last.len() < length {
            self.end_piece();
            // What is sent alone needs no room for others.
            let room = if self.waiting == 0 { length } else { length.max(CHUNK) };
            self.last = BytesMut::with_capacity(room);
        }
        parts.iter().for_each(|part| self.last.extend_from_slice(part));
        self.waiting += length;
    }

    /// Nothing is added to the last piece any more.
    fn end_piece(&mut self) {
        if !self.last.is_empty() {
            self.pending.push_back(core::mem::take(&mut self.last).freeze());
        }
    }

    /// Returns the limits that the peer is known to accept: no more than is needed for a payload of
    /// `length` bytes.
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
            // It may have been stopped meanwhile, which is as good.
            let _stopped = self.stream.reset(code.to_varint());
        }
    }
}

impl Drop for FrameSender {
    fn drop(&mut self) {
        self.give_up(CloseCode::Cancelled);
    }
}
