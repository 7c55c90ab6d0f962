//! Connections to a hub, and exchanges in which a case sends its own requests.

use core::net::SocketAddr;

use bytes::Bytes;
use endseal_codec::Codec as _;
use endseal_codec::frame::StoredFrame;
use endseal_codec::hub::{Answer, Hello, HubAnswer, HubRequest, Request, Subscribe};
use endseal_delivery::node::{Arrival, Subscription};
use endseal_delivery::{Credit, MessageId, payload_limits};
use endseal_node::messages::hub_limits;
use endseal_transport::{
    Accept, Connection, Endpoint, Frame, FrameReceiver, FrameSender, Kind, Policy, TransportKey,
};

use super::server;
use crate::duplex::relay::HERE;
use crate::subject::Failure;

/// Credit that no case uses up.
const UNBOUNDED: Credit = Credit { frames: 1 << 40, bytes: 1 << 60 };

/// A connection with its endpoint, which is closed when this is dropped.
pub(super) struct Link {
    pub(super) endpoint: Endpoint,
    pub(super) connection: Connection,
}

/// Connects to the hub, or to a relay in front of it.
pub(super) async fn connect(key: &TransportKey, hub: SocketAddr) -> Result<Link, Failure> {
    let policy = Policy::default();
    let endpoint = Endpoint::bind_with(HERE, key, policy, Accept::none(), hub_limits())?;
    let connection = endpoint.connect(server::peer(), hub).await?;
    Ok(Link { endpoint, connection })
}

/// An exchange with the hub, in which a case sends requests itself.
pub(super) struct Exchange {
    pub(super) sender: FrameSender,
    pub(super) receiver: FrameReceiver,
}

/// Encodes a request as a frame.
pub(super) fn encoded(request: Request) -> Result<Frame, Failure> {
    let payload = HubRequest::from(request).to_vec(payload_limits());
    let payload = payload.map_err(|_| "a request is too long")?;
    Ok(Frame::new(Kind::Control, payload))
}

impl Exchange {
    pub(super) async fn open(link: &Link) -> Result<Self, Failure> {
        let (sender, receiver) = link.connection.open_exchange().await?;
        Ok(Self { sender, receiver })
    }

    /// Opens an exchange and subscribes to the whole mailbox.
    pub(super) async fn subscribed(
        link: &Link,
        credit: Credit,
    ) -> Result<(Self, Subscription), Failure> {
        let mut own = Self::open(link).await?;
        let Credit { frames, bytes } = credit;
        own.feed(Request::Subscribe(Subscribe { after: 0, frames, bytes })).await?;
        own.flush().await?;
        Ok((own, Subscription::new(0, credit)))
    }

    /// Adds a request to the output. [`Self::flush`] sends it.
    pub(super) async fn feed(&mut self, request: Request) -> Result<(), Failure> {
        Ok(self.sender.feed(&encoded(request)?).await?)
    }

    pub(super) async fn flush(&mut self) -> Result<(), Failure> {
        Ok(self.sender.flush().await?)
    }

    /// Receives the payload of the next answer.
    pub(super) async fn next(&mut self) -> Result<Bytes, Failure> {
        next(&mut self.receiver).await
    }

    /// Closes the sending side, and waits until the hub has read everything.
    pub(super) async fn finish(self) -> Result<(), Failure> {
        let Self { sender, mut receiver } = self;
        sender.end().await?;
        while receiver.receive().await?.is_some() {}
        Ok(())
    }
}

/// Fetches a whole mailbox without acknowledging it. `read` gets the payload of each answer, and
/// the frame in it with its id.
pub(super) async fn fetch<T>(
    link: &Link,
    read: impl Fn(&Bytes, MessageId, &StoredFrame<'_>) -> Result<T, Failure>,
) -> Result<Vec<T>, Failure> {
    let (mut exchange, mut subscription) = Exchange::subscribed(link, UNBOUNDED).await?;
    let mut found = Vec::new();
    loop {
        let payload = exchange.next().await?;
        match subscription.answer(&payload)? {
            Arrival::Frame { id, frame, .. } => found.push(read(&payload, id, &frame)?),
            Arrival::CaughtUp => break,
            other => return Err(format!("the hub answered {other:?}").into()),
        }
    }
    exchange.finish().await?;
    Ok(found)
}

/// Asks the hub for the number of frames in this node's mailbox.
pub(super) async fn waiting(link: &Link) -> Result<u64, Failure> {
    let mut exchange = Exchange::open(link).await?;
    exchange.feed(Request::Hello(Hello { version: 1, ..Hello::default() })).await?;
    exchange.flush().await?;
    let payload = exchange.next().await?;
    let answer = HubAnswer::decode(&payload, payload_limits());
    match answer.map_err(|_| "an answer cannot be read")?.answer {
        Answer::Welcome(welcome) => Ok(welcome.waiting),
        other => Err(format!("the hub answered {other:?}").into()),
    }
}

/// Receives the payload of the next answer.
pub(super) async fn next(receiver: &mut FrameReceiver) -> Result<Bytes, Failure> {
    Ok(receiver.receive().await?.ok_or("the hub has ended the exchange")?.payload)
}
