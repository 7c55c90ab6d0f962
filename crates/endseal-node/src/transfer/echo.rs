//! Asking whether a peer answers.

use core::time::Duration;
use std::time::Instant;

use endseal_transport::{Connection, Frame, FrameReceiver, FrameSender, Kind};

use super::error::SendError;
use super::refusal::Refusal;

/// Longest payload that is sent back.
pub const MAX_ECHO: usize = 1024;

/// An exchange in which the peer sends everything back.
#[derive(Debug)]
pub struct Echo {
    stream: FrameSender,
    answers: FrameReceiver,
}

impl Echo {
    /// Opens the exchange; the peer learns of it by the first [`call`](Self::call).
    ///
    /// # Errors
    /// [`SendError`].
    pub async fn open(connection: &Connection) -> Result<Self, SendError> {
        let (stream, answers) = connection.open_exchange().await?;
        Ok(Self { stream, answers })
    }

    /// Sends bytes, at most [`MAX_ECHO`] of them, and waits for the same to come back. Gives the time
    /// that it took.
    ///
    /// # Errors
    /// [`SendError`]; [`Refusal::Order`] if something else comes back.
    pub async fn call(&mut self, payload: Vec<u8>) -> Result<Duration, SendError> {
        let frame = Frame::new(Kind::Control, payload);
        let started = Instant::now();
        self.stream.send(&frame).await?;
        match self.answers.receive().await? {
            Some(answer) if answer == frame => Ok(started.elapsed()),
            Some(_) => Err(Refusal::Order.into()),
            None => Err(Refusal::Truncated.into()),
        }
    }
}

/// Sends back what comes, one frame at a time.
pub(super) async fn echo(
    first: Frame,
    mut stream: FrameReceiver,
    mut answers: FrameSender,
) -> Result<(), SendError> {
    let mut next = Some(first);
    while let Some(frame) = next {
        if frame.kind() != Kind::Control || frame.payload.len() > MAX_ECHO {
            return Err(Refusal::Order.into());
        }
        answers.send(&Frame::new(Kind::Control, frame.payload)).await?;
        next = stream.receive().await?;
    }
    Ok(answers.finish().await?)
}
