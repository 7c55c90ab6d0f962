//! Requests to the hub.

use core::time::Duration;

use bytes::Bytes;
use endseal_codec::Codec as _;
use endseal_codec::hub::{Answer, By, Code, Find, HubAnswer, HubRequest, Person, Request};
use endseal_delivery::limit::MAX_PAYLOAD;
use endseal_delivery::node::HubFault;
use endseal_delivery::payload_limits;
use endseal_transport::{Connection, Frame, FrameReceiver, FrameSender, Kind, Limits};
use tokio::time::timeout;

use super::error::HubError;

/// Limits of a connection to a hub.
#[must_use]
pub fn hub_limits() -> Limits {
    let mut limits = Limits::default();
    limits.frame = MAX_PAYLOAD;
    limits
}

/// A connection to the hub. It MUST have been made with [`hub_limits`], to the peer id of the hub.
#[derive(Debug)]
pub struct HubClient<'c> {
    connection: &'c Connection,
    patience: Duration,
}

impl<'c> HubClient<'c> {
    /// A hub that gives up after `patience` without an answer.
    #[must_use]
    pub const fn new(connection: &'c Connection, patience: Duration) -> Self {
        Self { connection, patience }
    }

    /// Asks something that has one answer.
    ///
    /// # Errors
    /// [`HubError`]; a refusal is one.
    pub(super) async fn ask(&self, request: Request) -> Result<Answer, HubError> {
        let mut exchange = self.open().await?;
        exchange.send(request).await?;
        exchange.end().await?.next().await
    }

    /// Asks for several persons, and returns them in their order: after one round trip. `None` of
    /// those that the hub does not know.
    pub(super) async fn find(
        &self,
        persons: impl IntoIterator<Item = By>,
    ) -> Result<Vec<Option<Person>>, HubError> {
        let mut persons = persons.into_iter().peekable();
        // An exchange begins with a request.
        if persons.peek().is_none() {
            return Ok(Vec::new());
        }
        let mut exchange = self.open().await?;
        let mut asked = 0_usize;
        for by in persons {
            exchange.feed(Request::Find(Find { by })).await?;
            asked += 1;
        }
        exchange.flush().await?;
        let mut answers = exchange.end().await?;
        let mut found = Vec::with_capacity(asked);
        while found.len() < asked {
            found.push(match answers.next().await {
                Ok(Answer::Person(person)) => Some(person),
                Ok(_) => return Err(HubFault::Unexpected.into()),
                Err(HubError::Refused(Code::NONE)) => None,
                Err(error) => return Err(error),
            });
        }
        Ok(found)
    }

    /// Opens an exchange.
    pub(super) async fn open(&self) -> Result<HubExchange, HubError> {
        let opened = timeout(self.patience, self.connection.open_exchange()).await;
        let (sender, receiver) = opened.map_err(|_| HubError::Stalled)??;
        Ok(HubExchange { sender, receiver, patience: self.patience })
    }
}

/// Answers of an exchange in which nothing more is asked.
pub(super) struct Answers {
    receiver: FrameReceiver,
    patience: Duration,
}

impl Answers {
    async fn next(&mut self) -> Result<Answer, HubError> {
        let frame = timeout(self.patience, self.receiver.receive()).await;
        let frame = frame.map_err(|_| HubError::Stalled)??.ok_or(HubError::Ended)?;
        let answer = HubAnswer::decode(&frame.payload, payload_limits());
        match answer.map_err(|_| HubFault::Answer)?.answer {
            Answer::Refused(refused) => Err(HubError::Refused(refused.code)),
            answer => Ok(answer),
        }
    }
}

/// An exchange with the hub.
pub(super) struct HubExchange {
    sender: FrameSender,
    receiver: FrameReceiver,
    patience: Duration,
}

impl HubExchange {
    /// Sends a request.
    pub(super) async fn send(&mut self, request: Request) -> Result<(), HubError> {
        self.feed(request).await?;
        self.flush().await
    }

    /// Adds a request to what is sent with the next [`Self::flush`].
    pub(super) async fn feed(&mut self, request: Request) -> Result<(), HubError> {
        let payload = HubRequest::from(request).to_vec(payload_limits());
        let frame = Frame::new(Kind::Control, payload.map_err(|_| HubError::TooLong)?);
        let fed = timeout(self.patience, self.sender.feed(&frame)).await;
        Ok(fed.map_err(|_| HubError::Stalled)??)
    }

    /// Sends what was fed.
    pub(super) async fn flush(&mut self) -> Result<(), HubError> {
        let flushed = timeout(self.patience, self.sender.flush()).await;
        Ok(flushed.map_err(|_| HubError::Stalled)??)
    }

    /// The payload of the next answer.
    pub(super) async fn next(&mut self) -> Result<Bytes, HubError> {
        timeout(self.patience, self.wait()).await.map_err(|_| HubError::Stalled)?
    }

    /// The payload of the next answer, however long it takes. May be dropped while it waits:
    /// nothing is lost.
    pub(super) async fn wait(&mut self) -> Result<Bytes, HubError> {
        Ok(self.receiver.receive().await?.ok_or(HubError::Ended)?.payload)
    }

    /// Says that no request follows.
    pub(super) async fn end(self) -> Result<Answers, HubError> {
        let Self { sender, receiver, patience } = self;
        sender.end().await?;
        Ok(Answers { receiver, patience })
    }

    /// Says that no request follows, and waits until the hub has read all of them. Answers that
    /// still come are dropped.
    pub(super) async fn finish(self) -> Result<(), HubError> {
        let Self { sender, mut receiver, patience } = self;
        sender.end().await?;
        let end = async {
            while receiver.receive().await?.is_some() {}
            Ok(())
        };
        timeout(patience, end).await.map_err(|_| HubError::Stalled)?
    }
}
