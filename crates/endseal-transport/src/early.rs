//! Early data (0-RTT): frames that travel with the first packet of a resumed handshake.
//!
//! An observer who records such a packet can send it again. Therefore early data carries only
//! frames for which a replay does no harm; the type [`IdempotentFrame`] enforces this.

use std::time::Instant;

use bytes::Bytes;
use endseal_codec::frame::{Kind, LiveHeader};
use quinn::{Connecting, SendStream, StoppedError, ZeroRttAccepted};
use tokio::sync::watch;
use tokio::time;

use crate::connect_attempt::ConnectAttempt;
use crate::connection::{Connection, begin_control};
use crate::error::{ConnectError, SendError};
use crate::frame::Frame;
use crate::handshake::EarlyData;
use crate::prefix::Prefix;
use crate::sender::FrameSender;

/// A frame that may be processed twice without harm. Its idempotent flag is set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdempotentFrame(Frame);

impl IdempotentFrame {
    /// Makes a frame with the idempotent flag. The caller MUST ensure that processing it twice has
    /// the same effect as processing it once: this holds for "I have read up to 17", but not for
    /// "pay 17".
    #[must_use]
    pub fn new(kind: Kind, payload: impl Into<Bytes>) -> Self {
        Self(Frame::new(kind, payload).idempotent())
    }

    /// Sets the flag which says that the payload is a `SealedMessage`; returns `None` for kinds
    /// other than [`Kind::Message`]. The flag does not replace the idempotent one: sealing hides
    /// the content from relays, but a recorded frame can still be replayed.
    #[must_use]
    pub fn sealed(self) -> Option<Self> {
        self.0.sealed().map(Self)
    }

    /// Returns the frame without the guarantee of the type.
    #[must_use]
    pub fn as_frame(&self) -> &Frame {
        &self.0
    }
}

/// A connection attempt that accepts early frames before its handshake is complete.
///
/// Only an [`IdempotentFrame`] can be written:
///
/// ```compile_fail
/// # async fn f(mut early: endseal_transport::EarlyConnection, pay: endseal_transport::Frame) {
/// early.send(pay).await;
/// # }
/// ```
#[allow(missing_debug_implementations, reason = "a handshake in progress has nothing to show")]
pub struct EarlyConnection {
    attempt: ConnectAttempt,
    started: Instant,
    state: State,
    frames: Vec<IdempotentFrame>,
    /// Bytes of early data that may still be sent, headers included.
    room: usize,
}

enum State {
    /// There is no session to resume: frames wait for the handshake.
    Full(Connecting),
    /// A session is resumed: the first packet carries the frames.
    Resumed(Box<Resumed>),
}

struct Resumed {
    quinn: quinn::Connection,
    accepted: ZeroRttAccepted,
    control: SendStream,
    messages: FrameSender,
}

impl EarlyConnection {
    pub(crate) async fn new(
        attempt: ConnectAttempt,
        connecting: Connecting,
    ) -> Result<Self, ConnectError> {
        let started = Instant::now();
        let room = attempt.limits().early as usize;
        let state = match connecting.into_0rtt() {
            Err(connecting) => State::Full(connecting),
            Ok((quinn, accepted)) => {
                let failed = |error| attempt.failed(error);
                let mut control = quinn.open_uni().await.map_err(failed)?;
                let mut stream = quinn.open_uni().await.map_err(failed)?;
                // If the peer has already rejected the early data, streams opened before are void
                // and stream numbers start again. The control stream must be the first valid one.
                if is_void(&mut control).await {
                    control = if is_void(&mut stream).await {
                        quinn.open_uni().await.map_err(failed)?
                    } else {
                        stream
                    };
                    stream = quinn.open_uni().await.map_err(failed)?;
                }
                // It fails if the stream is void now; `established` finds that out after the
                // handshake.
                let _started = begin_control(&mut control, attempt.limits().frames()).await;
                // Early frames are at most `FRAME_INITIAL` long, so the peer's limit is not needed.
                let (_, unknown) = watch::channel(0);
                let handle = attempt.handle(quinn.clone());
                let messages = FrameSender::new(stream, handle, Some(Prefix::Message), unknown);
                State::Resumed(Box::new(Resumed { quinn, accepted, control, messages }))
            }
        };
        Ok(Self { attempt, started, state, frames: Vec::new(), room })
    }

    /// Returns true if frames travel with the first packet. False means that there was no session
    /// to resume, and the frames are sent after the handshake.
    #[must_use]
    pub fn is_early(&self) -> bool {
        matches!(self.state, State::Resumed(_))
    }

    /// Sends a frame as early as possible. A copy is kept until the peer has accepted the early
    /// data.
    ///
    /// # Errors
    /// [`SendError::EarlyFull`] if the frames exceed [`Limits::early`](crate::Limits::early) bytes
    /// in total, or the payload exceeds 64 KiB; otherwise that of
    /// [`FrameSender::send`](crate::FrameSender::send).
    pub async fn send(&mut self, frame: IdempotentFrame) -> Result<(), SendError> {
        let length = frame.0.payload.len().saturating_add(LiveHeader::MAX_LEN);
        let max = crate::limits::FRAME_INITIAL;
        self.room = match self.room.checked_sub(length) {
            Some(room) if frame.0.payload.len() <= max as usize => room,
            _ => return Err(SendError::EarlyFull),
        };
        if let State::Resumed(resumed) = &mut self.state {
            let sent = resumed.messages.send(&frame.0).await;
            // A frame on a void stream is sent again after the handshake.
            if sent.is_err() && !is_void(resumed.messages.stream()).await {
                return sent;
            }
        }
        self.frames.push(frame);
        Ok(())
    }

    /// Waits for the handshake and returns the connection. Frames that the peer did not accept as
    /// early data are sent again, on one message stream, which is then finished.
    ///
    /// # Errors
    /// [`ConnectError`] if the connection fails, as for
    /// [`Endpoint::connect`](crate::Endpoint::connect).
    pub async fn established(self) -> Result<Connection, ConnectError> {
        let Self { attempt, started, state, frames, .. } = self;
        let timeout = attempt.limits().handshake_timeout;
        let finished = async {
            match state {
                State::Full(connecting) => {
                    let quinn = connecting.await.map_err(|error| attempt.failed(error))?;
                    let connection =
                        attempt.start(quinn, started, EarlyData::NotUsed, None).await?;
                    send_again(&connection, &frames).await?;
                    Ok(connection)
                }
                State::Resumed(resumed) => {
                    let Resumed { quinn, accepted, mut control, mut messages } = *resumed;
                    let taken = accepted.await;
                    if let Some(error) = quinn.close_reason() {
                        return Err(attempt.failed(error));
                    }
                    attempt.count_early(taken);
                    let early = if taken { EarlyData::Accepted } else { EarlyData::Rejected };
                    let control = (!is_void(&mut control).await).then_some(control);
                    let connection = attempt.start(quinn, started, early, control).await?;
                    if is_void(messages.stream()).await {
                        send_again(&connection, &frames).await?;
                    } else {
                        // It can fail only with the connection, whose later calls return the
                        // reason.
                        let _sent = messages.flush().await;
                        let _ended = messages.end_stream();
                    }
                    Ok(connection)
                }
            }
        };
        time::timeout(timeout, finished).await.unwrap_or_else(|_| Err(attempt.timed_out()))
    }
}

/// Returns true if the stream was opened as early data and the peer has rejected it.
async fn is_void(stream: &mut SendStream) -> bool {
    tokio::select! {
        biased;
        stopped = stream.stopped() => matches!(stopped, Err(StoppedError::ZeroRttRejected)),
        () = core::future::ready(()) => false,
    }
}

async fn send_again(
    connection: &Connection,
    frames: &[IdempotentFrame],
) -> Result<(), ConnectError> {
    if frames.is_empty() {
        return Ok(());
    }
    let sent = async {
        let mut messages = connection.open_messages().await?;
        for frame in frames {
            messages.send(&frame.0).await?;
        }
        messages.end().await
    };
    sent.await.map_err(|error: SendError| ConnectError::Protocol(error.to_string()))
}
