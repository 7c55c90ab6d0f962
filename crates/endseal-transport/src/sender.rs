//! Frames onto one stream.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};
use quinn::{SendStream, WriteError};
use tokio::sync::watch;

use crate::close::{CloseCode, Closed};
use crate::error::SendError;
use crate::frame::{Frame, HEADER_MAX};
use crate::limits::FRAME_INITIAL;
use crate::prefix::Prefix;
use crate::receiver::Link;
use crate::statistics::Counters;

/// Payloads up to this length are copied behind their header: one piece instead of two.
const COPY: usize = 2048;

/// The sending side of a stream.
///
/// Dropping it without [`Self::finish`] gives the stream up: the peer sees
/// [`ReceiveError::Reset`](crate::ReceiveError::Reset), never a shorter stream.
#[derive(Debug)]
pub struct FrameSender {
    stream: SendStream,
    link: Link,
    /// The largest payload that the peer accepts; 0 until it has said so.
    peer_max: watch::Receiver<u32>,
    /// Encoded and not taken by QUIC: the rest of a frame whose sending was dropped.
    pending: VecDeque<Bytes>,
    finished: bool,
}

impl FrameSender {
    pub(crate) fn new(
        stream: SendStream,
        link: Link,
        prefix: Option<Prefix>,
        peer_max: watch::Receiver<u32>,
    ) -> Self {
        let mut pending = VecDeque::new();
        if let Some(prefix) = prefix {
            let mut bytes = BytesMut::with_capacity(HEADER_MAX);
            prefix.encode(&mut bytes);
            pending.push_back(bytes.freeze());
        }
        Self { stream, link, peer_max, pending, finished: false }
    }

    /// Sends a frame: returns when QUIC has taken it, which is when the peer has room.
    ///
    /// May be dropped while it waits. The frame is then sent by the next call or not at all, but
    /// never in part.
    ///
    /// # Errors
    /// [`SendError`].
    pub async fn send(&mut self, frame: &Frame) -> Result<(), SendError> {
        self.check_size(frame.payload.len()).await?;
        self.flush().await?;
        let copied = if frame.payload.len() <= COPY { frame.payload.len() } else { 0 };
        let mut head = BytesMut::with_capacity(HEADER_MAX + copied);
        if copied > 0 {
            frame.encode(&mut head);
            self.pending.push_back(head.freeze());
        } else {
            frame.encode_header(&mut head);
            self.pending.push_back(head.freeze());
            if !frame.payload.is_empty() {
                self.pending.push_back(frame.payload.clone());
            }
        }
        Counters::add(&self.link.counters.frames_sent, 1);
        Counters::add(&self.link.counters.payload_sent, frame.payload.len() as u64);
        self.flush().await
    }

    /// Ends the stream and waits until the peer's QUIC has all of it.
    ///
    /// That is no proof that the peer's application has read or kept it: applications that need one
    /// answer, in an exchange.
    ///
    /// # Errors
    /// [`SendError`].
    pub async fn finish(mut self) -> Result<(), SendError> {
        self.flush().await?;
        self.end()?;
        match self.stream.stopped().await {
            Ok(None) => Ok(()),
            Ok(Some(code)) => Err(SendError::Stopped(CloseCode::of_number(code.into_inner()))),
            Err(_) => Err(SendError::Closed(self.link.closed())),
        }
    }

    /// Gives the stream up, for the reason given.
    pub fn reset(mut self, code: CloseCode) {
        self.give_up(code);
    }

    /// Ends the stream without waiting.
    pub(crate) fn end(&mut self) -> Result<(), SendError> {
        self.finished = true;
        self.stream.finish().map_err(|_| SendError::Closed(self.link.closed()))
    }

    /// The stream itself.
    pub(crate) fn stream(&mut self) -> &mut SendStream {
        &mut self.stream
    }

    /// Waits until the peer's QUIC has all of a stream that was ended, or wants no more.
    pub(crate) async fn arrived(&mut self) {
        let _either = self.stream.stopped().await;
    }

    /// Gives QUIC what it has not taken yet.
    pub(crate) async fn flush(&mut self) -> Result<(), SendError> {
        while !self.pending.is_empty() {
            let written = self.stream.write_chunks(self.pending.make_contiguous()).await;
            let written = written.map_err(|error| match error {
                WriteError::Stopped(code) => {
                    SendError::Stopped(CloseCode::of_number(code.into_inner()))
                }
                WriteError::ConnectionLost(error) => SendError::Closed(Closed::from(error)),
                _ => SendError::Closed(self.link.closed()),
            })?;
            self.pending.drain(..written.chunks);
        }
        Ok(())
    }

    /// The stream's place among others: higher ones are sent first. 0 by default.
    pub fn set_priority(&self, priority: i32) {
        // It may have ended meanwhile, which is as good.
        let _ended = self.stream.set_priority(priority);
    }

    async fn check_size(&mut self, length: usize) -> Result<(), SendError> {
        if length <= FRAME_INITIAL as usize {
            return Ok(());
        }
        let known = self.peer_max.wait_for(|max| *max != 0).await;
        let max = *known.map_err(|_| SendError::Closed(self.link.closed()))?;
        if length <= max as usize {
            return Ok(());
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
