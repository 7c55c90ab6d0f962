//! Client of the hub protocol.

use core::time::Duration;

use bytes::Bytes;
use endseal_codec::Codec as _;
use endseal_codec::hub::{Answer, By, Code, Find, HubAnswer, HubRequest, Person, Request, Take};
use endseal_crypto::peer_id::PeerId;
use endseal_delivery::limit::MAX_PAYLOAD;
use endseal_delivery::node::HubFault;
use endseal_delivery::payload_limits;
use endseal_transport::{Connection, Frame, FrameReceiver, FrameSender, Kind, Limits};
use tokio::time;

use super::error::HubError;

/// Limit on the repetitions of a request that the hub refuses for a time.
const REPETITIONS: u32 = 8;
/// Limit on the wait that a hub may ask for.
pub(super) const MAX_WAIT: Duration = Duration::from_secs(60);
/// Prekeys for which the hub is asked at the same time.
const TAKEN_AT_ONCE: usize = 16;
/// Interval of keep-alive packets, and so the time within which a node notices that its hub was
/// killed and started again.
const KEEP_ALIVE: Duration = Duration::from_millis(2_500);
/// Time after which a node makes a new connection to a hub that it does not hear: four keep-alive
/// packets, which a hub answers.
const IDLE: Duration = Duration::from_secs(10);

fn take(device: &PeerId) -> Request {
    Request::Take(Take { peer: *device.as_bytes() })
}

/// Code of a refusal, and the mailboxes that it names.
pub(super) type Refusal = (Code, Vec<PeerId>);

/// Returns the limits that a connection to a hub must have.
#[must_use]
pub fn hub_limits() -> Limits {
    let mut limits = Limits::default();
    limits.frame = MAX_PAYLOAD;
    (limits.keep_alive, limits.idle_timeout) = (KEEP_ALIVE, IDLE);
    limits
}

/// A client on a connection to the hub. The connection MUST have been made with [`hub_limits`] to
/// the peer id of the hub.
#[derive(Debug)]
pub struct HubClient<'c> {
    connection: &'c Connection,
    /// Addresses under which the connection was made.
    addresses: &'c str,
    timeout: Duration,
}

impl<'c> HubClient<'c> {
    /// Makes a client with a timeout: a request fails if the hub does not answer within `timeout`.
    #[must_use]
    pub const fn new(connection: &'c Connection, timeout: Duration) -> Self {
        Self { connection, addresses: "", timeout }
    }

    /// Names the addresses under which the connection was made, each `host:port`, with a space
    /// between two. A visit needs them to notice that the hub has moved.
    #[must_use]
    pub const fn at(self, addresses: &'c str) -> Self {
        Self { addresses, ..self }
    }

    pub(super) const fn addresses(&self) -> &str {
        self.addresses
    }

    /// The peer id of the hub, as the connection has proved it.
    pub(super) fn peer(&self) -> PeerId {
        self.connection.peer()
    }

    /// Asks something that has one answer. Waits if the hub asks for that.
    ///
    /// # Errors
    /// Returns [`HubError`] if the request fails. A refusal is an error too.
    pub(super) async fn ask(&self, request: Request) -> Result<Answer, HubError> {
        let mut repetitions = 0;
        loop {
            let mut exchange = self.open().await?;
            exchange.send(request.clone()).await?;
            match exchange.end().await?.next().await {
                Err(HubError::Wait(wait)) if repetitions < REPETITIONS => {
                    repetitions += 1;
                    time::sleep(wait.min(MAX_WAIT)).await;
                }
                answer => return answer,
            }
        }
    }

    /// [`Self::ask`] for a frame: a refusal is returned with the mailboxes that it names.
    pub(super) async fn ask_with_mailboxes(
        &self,
        request: Request,
    ) -> Result<Result<Answer, Refusal>, HubError> {
        let mut repetitions = 0;
        loop {
            let mut exchange = self.open().await?;
            exchange.send(request.clone()).await?;
            let refused = match exchange.end().await?.next_answer().await? {
                Answer::Refused(refused) => refused,
                answer => return Ok(Ok(answer)),
            };
            match refused.code {
                Code::RATE if repetitions < REPETITIONS => {
                    repetitions += 1;
                    time::sleep(Duration::from_millis(refused.wait).min(MAX_WAIT)).await;
                }
                Code::RATE => return Err(HubError::Wait(Duration::from_millis(refused.wait))),
                code => {
                    let mailboxes = refused.mailboxes.iter().map(PeerId::from_bytes).collect();
                    return Ok(Err((code, mailboxes)));
                }
            }
        }
    }

    /// Takes a prekey of each device, in one round trip. The results are in their order; `None` for
    /// devices of which the hub has none.
    pub(super) async fn take_many(
        &self,
        devices: &[PeerId],
    ) -> Result<Vec<Option<Box<[u8]>>>, HubError> {
        let mut taken = Vec::with_capacity(devices.len());
        for devices in devices.chunks(TAKEN_AT_ONCE) {
            let mut waiting = Vec::with_capacity(devices.len());
            for device in devices {
                let mut exchange = self.open().await?;
                exchange.send(take(device)).await?;
                waiting.push((device, exchange.end().await?));
            }
            for (device, mut answers) in waiting {
                let answer = match answers.next().await {
                    Err(HubError::Wait(wait)) => {
                        time::sleep(wait.min(MAX_WAIT)).await;
                        self.ask(take(device)).await
                    }
                    answer => answer,
                };
                taken.push(match answer {
                    Ok(Answer::Prekey(prekey)) => Some(prekey.prekey),
                    Ok(_) => return Err(HubFault::Unexpected.into()),
                    Err(HubError::Refused(Code::NONE)) => None,
                    Err(error) => return Err(error),
                });
            }
        }
        Ok(taken)
    }

    /// Asks for several persons in one round trip. The results are in their order; `None` for
    /// persons that the hub does not know.
    pub(super) async fn find(
        &self,
        persons: impl IntoIterator<Item = By>,
    ) -> Result<Vec<Option<Person>>, HubError> {
        let persons: Vec<By> = persons.into_iter().collect();
        let mut found = Vec::with_capacity(persons.len());
        let mut repetitions = 0;
        // An exchange without a request is not allowed.
        while found.len() < persons.len() {
            let before = found.len();
            match self.find_some(&persons[before..], &mut found).await {
                Ok(()) => {}
                Err(HubError::Wait(wait)) if found.len() > before || repetitions < REPETITIONS => {
                    repetitions = if found.len() > before { 0 } else { repetitions + 1 };
                    time::sleep(wait.min(MAX_WAIT)).await;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(found)
    }

    /// Asks for persons, and adds each answer to `found` until one is an error.
    async fn find_some(
        &self,
        persons: &[By],
        found: &mut Vec<Option<Person>>,
    ) -> Result<(), HubError> {
        let mut exchange = self.open().await?;
        for by in persons {
            exchange.feed(Request::Find(Find { by: by.clone() })).await?;
        }
        exchange.flush().await?;
        let mut answers = exchange.end().await?;
        for _ in persons {
            found.push(match answers.next().await {
                Ok(Answer::Person(person)) => Some(person),
                Ok(_) => return Err(HubFault::Unexpected.into()),
                Err(HubError::Refused(Code::NONE)) => None,
                Err(error) => return Err(error),
            });
        }
        Ok(())
    }

    /// Opens an exchange on the connection.
    pub(super) async fn open(&self) -> Result<HubExchange, HubError> {
        let opened = time::timeout(self.timeout, self.connection.open_exchange()).await;
        let (sender, receiver) = opened.map_err(|_| HubError::Stalled)??;
        Ok(HubExchange { sender, receiver, timeout: self.timeout })
    }
}

/// Receiving half of an exchange, after the last request was sent.
pub(super) struct Answers {
    receiver: FrameReceiver,
    timeout: Duration,
}

impl Answers {
    async fn next_answer(&mut self) -> Result<Answer, HubError> {
        let frame = time::timeout(self.timeout, self.receiver.receive()).await;
        let frame = frame.map_err(|_| HubError::Stalled)??.ok_or(HubError::Ended)?;
        let answer = HubAnswer::decode(&frame.payload, payload_limits());
        Ok(answer.map_err(|_| HubFault::Answer)?.answer)
    }

    async fn next(&mut self) -> Result<Answer, HubError> {
        match self.next_answer().await? {
            Answer::Refused(refused) if refused.code == Code::RATE => {
                Err(HubError::Wait(Duration::from_millis(refused.wait)))
            }
            Answer::Refused(refused) => Err(HubError::Refused(refused.code)),
            answer => Ok(answer),
        }
    }
}

/// An open exchange with the hub.
pub(super) struct HubExchange {
    sender: FrameSender,
    receiver: FrameReceiver,
    timeout: Duration,
}

impl HubExchange {
    /// Sends a request without waiting for the answer.
    pub(super) async fn send(&mut self, request: Request) -> Result<(), HubError> {
        self.feed(request).await?;
        self.flush().await
    }

    /// Queues a request, which is sent with the next [`Self::flush`].
    pub(super) async fn feed(&mut self, request: Request) -> Result<(), HubError> {
        let payload = HubRequest::from(request).to_vec(payload_limits());
        let frame = Frame::new(Kind::Control, payload.map_err(|_| HubError::TooLong)?);
        let fed = time::timeout(self.timeout, self.sender.feed(&frame)).await;
        Ok(fed.map_err(|_| HubError::Stalled)??)
    }

    /// Sends the queued requests.
    pub(super) async fn flush(&mut self) -> Result<(), HubError> {
        let flushed = time::timeout(self.timeout, self.sender.flush()).await;
        Ok(flushed.map_err(|_| HubError::Stalled)??)
    }

    /// Returns the payload of the next answer, or fails after the timeout.
    pub(super) async fn next(&mut self) -> Result<Bytes, HubError> {
        time::timeout(self.timeout, self.wait()).await.map_err(|_| HubError::Stalled)?
    }

    /// Returns the payload of the next answer, without a timeout. This is cancel-safe: a dropped
    /// future loses nothing.
    pub(super) async fn wait(&mut self) -> Result<Bytes, HubError> {
        Ok(self.receiver.receive().await?.ok_or(HubError::Ended)?.payload)
    }

    /// Ends the sending direction. The answers can still be received.
    pub(super) async fn end(self) -> Result<Answers, HubError> {
        let Self { sender, receiver, timeout } = self;
        sender.end().await?;
        Ok(Answers { receiver, timeout })
    }

    /// Ends the sending direction, and waits until the hub has read all requests. Remaining answers
    /// are dropped.
    pub(super) async fn finish(self) -> Result<(), HubError> {
        let Self { sender, mut receiver, timeout } = self;
        sender.end().await?;
        let end = async {
            while receiver.receive().await?.is_some() {}
            Ok(())
        };
        time::timeout(timeout, end).await.map_err(|_| HubError::Stalled)?
    }
}
