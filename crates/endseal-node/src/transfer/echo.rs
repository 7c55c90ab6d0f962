//! Measures the round trip to a peer.

use core::time::Duration;
use std::time::Instant;

use endseal_transport::{Connection, Frame, FrameReceiver, FrameSender, Kind};

use super::error::SendError;
use super::refusal::Refusal;
use super::request::Request;
use super::stall::{StallTimeout, taken};

/// Limit on the payload of an echo in bytes.
pub const MAX_ECHO: usize = 1024;

/// An exchange in which the peer returns each frame.
#[derive(Debug)]
pub struct Echo {
    connection: Connection,
    stall: StallTimeout,
    stream: FrameSender,
    answers: FrameReceiver,
}

impl Echo {
    /// Opens the exchange. The peer learns of it with the first [`call`](Self::call).
    ///
    /// # Errors
    /// Returns [`SendError`] if the exchange cannot be opened within the stall timeout.
    pub async fn open(connection: &Connection, stall: StallTimeout) -> Result<Self, SendError> {
        let streams = stall.wait(connection, 0, connection.open_exchange()).await?;
        let (stream, answers) = streams?;
        Ok(Self { connection: connection.clone(), stall, stream, answers })
    }

    /// Sends at most [`MAX_ECHO`] bytes and waits until the peer returns them. Returns the
    /// round-trip time.
    ///
    /// # Errors
    /// Returns [`SendError`] if the connection fails or the peer does not answer in time. An answer
    /// with other content is [`Refusal::Order`].
    pub async fn call(&mut self, payload: Vec<u8>) -> Result<Duration, SendError> {
        let frame = Frame::new(Kind::Control, payload);
        let started = Instant::now();
        let called = async {
            self.stream.send(&frame).await?;
            Ok::<_, SendError>(self.answers.receive().await?)
        };
        match self.stall.wait(&self.connection, 0, called).await?? {
            Some(answer) if answer == frame => Ok(started.elapsed()),
            Some(_) => Err(Refusal::Order.into()),
            None => Err(Refusal::Truncated.into()),
        }
    }
}

/// Returns each frame to the peer, one at a time. The peer must accept each answer within `stall`.
pub(super) async fn echo(
    (first, mut stream, mut answers): Request,
    stall: Duration,
) -> Result<(), SendError> {
    let mut next = Some(first);
    while let Some(frame) = next {
        if frame.kind() != Kind::Control || frame.payload.len() > MAX_ECHO {
            return Err(Refusal::Order.into());
        }
        let answer = Frame::new(Kind::Control, frame.payload);
        taken(stall, answers.send(&answer)).await?;
        next = stream.receive().await?;
    }
    taken(stall, answers.finish()).await
}
