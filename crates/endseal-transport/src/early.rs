//! Early data: frames that travel with the first packet of a resumed handshake (0-RTT).
//!
//! An observer who records such a packet can send it again. So it carries nothing but frames for
//! which that does no harm, and the type sees to it.

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

/// A frame for which it does no harm to be acted on twice: its flag says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdempotentFrame(Frame);

impl IdempotentFrame {
    /// A frame with the flag. The caller MUST be sure that acting on it twice does what acting on
    /// it once does: "I have read up to 17" is such, "pay 17" is not.
    #[must_use]
    pub fn new(kind: Kind, payload: impl Into<Bytes>) -> Self {
        Self(Frame::new(kind, payload).idempotent())
    }

    /// The same with the flag that the payload is a `SealedMessage`; `None` on another kind than
    /// [`Kind::Message`]. The two flags are independent: sealing hides what a frame says from
    /// relays, and does not keep a recorded one from coming again.
    #[must_use]
    pub fn sealed(self) -> Option<Self> {
        self.0.sealed().map(Self)
    }

    /// The frame.
    #[must_use]
    pub fn as_frame(&self) -> &Frame {
        &self.0
    }
}

/// A connection that is being made, and takes early frames meanwhile.
///
/// Nothing but an [`IdempotentFrame`] can be written:
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
    /// Bytes that may still be sent.
    room: usize,
}

enum State {
    /// Nothing to resume: frames wait for the handshake.
    Full(Connecting),
    /// The first packet carries the frames.
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
                // If the peer rejected early data meanwhile, streams opened before are void, and
                // numbers start anew. The control stream must be the first of those that count.
                if is_void(&mut control).await {
                    control = if is_void(&mut stream).await {
                        quinn.open_uni().await.map_err(failed)?
                    } else {
                        stream
                    };
                    stream = quinn.open_uni().await.map_err(failed)?;
                }
                // It fails if the stream is void now, which is seen when the handshake is done.
                let _begun = begin_control(&mut control, attempt.limits().frames()).await;
                // Early frames are shorter than what may always be sent.
                let (_, unknown) = watch::channel(0);
                let handle = attempt.handle(quinn.clone());
                let messages = FrameSender::new(stream, handle, Some(Prefix::Message), unknown);
                State::Resumed(Box::new(Resumed { quinn, accepted, control, messages }))
            }
        };
        Ok(Self { attempt, started, state, frames: Vec::new(), room })
    }

    /// Returns true if frames travel with the first packet. Otherwise there was nothing to resume,
    /// and they follow the handshake.
    #[must_use]
    pub fn is_early(&self) -> bool {
        matches!(self.state, State::Resumed(_))
    }

    /// Sends a frame as early as possible. A copy is kept until the peer has taken early data.
    ///
    /// # Errors
    /// [`SendError::EarlyFull`] beyond [`Limits::early`](crate::Limits::early) bytes.
    pub async fn send(&mut self, frame: IdempotentFrame) -> Result<(), SendError> {
        let length = frame.0.payload.len().saturating_add(LiveHeader::MAX_LEN);
        let max = crate::limits::FRAME_INITIAL;
        self.room = match self.room.checked_sub(length) {
            Some(room) if frame.0.payload.len() <= max as usize => room,
            _ => return Err(SendError::EarlyFull),
        };
        if let State::Resumed(resumed) = &mut self.state {
            let sent = resumed.messages.send(&frame.0).await;
            // On a void stream it is sent again, after the handshake.
            if sent.is_err() && !is_void(resumed.messages.stream()).await {
                return sent;
            }
        }
        self.frames.push(frame);
        Ok(())
    }

    /// Waits for the handshake. Frames that the peer did not take early are sent again; they arrive
    /// by one message stream, which is finished.
    ///
    /// # Errors
    /// [`ConnectError`], as of [`Endpoint::connect`](crate::Endpoint::connect).
    pub async fn established(self) -> Result<Connection, ConnectError> {
        let Self { attempt, started, state, frames, .. } = self;
        let patience = attempt.limits().handshake_timeout;
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
                        // It can fail only with the connection, which then tells why.
                        let _sent = messages.flush().await;
                        let _ended = messages.end_stream();
                    }
                    Ok(connection)
                }
            }
        };
        time::timeout(patience, finished).await.unwrap_or_else(|_| Err(attempt.timed_out()))
    }
}

/// Returns true if a stream was opened as early data, and the peer has rejected that.
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
