//! A member, or several, that attack a hub: `attacker INVITATION KIND SECONDS [PEER]`. The kinds
//! are in [`main`]. `latency` is the honest member beside them: it prints the times of its puts in
//! microseconds. Used by tests/node/attack.py.

#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    clippy::std_instead_of_core,
    reason = "a program of tests"
)]

use std::env;
use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use endseal_codec::Codec as _;
use endseal_codec::frame::{Stamp, StoredFrame};
use endseal_codec::hub::{
    Acknowledge, Answer, By, Credit, Find, Hello, HubAnswer, HubRequest, Publish, Put, Register,
    Request, Subscribe, Take,
};
use endseal_codec::{Message, Scheme, Sealed, SealedMessage};
use endseal_crypto::identity::Identity;
use endseal_crypto::peer_id::PeerId;
use endseal_crypto::random::OsRandom;
use endseal_crypto::x25519;
use endseal_delivery::{payload_limits, stored_limits};
use endseal_keyring::device::{Certificate, DeviceId, DeviceKeys, PrekeyBundle, PrekeyKind};
use endseal_keyring::{Invitation, PersonRecord};
use endseal_transport::{
    Accept, Connection, Endpoint, Frame, FrameReceiver, FrameSender, Kind, Limits, Policy,
    TransportKey,
};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

type Failure = Box<dyn std::error::Error + Send + Sync>;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let args: Vec<String> = env::args().skip(1).collect();
    let [invitation, kind, seconds, rest @ ..] = &args[..] else {
        return Err("attacker INVITATION KIND SECONDS [PEER]".into());
    };
    let invitation = Invitation::parse(std::fs::read_to_string(invitation)?.trim())?;
    let time = Duration::from_secs(seconds.parse()?);
    let end = Instant::now() + time;
    if kind == "idle" {
        return idle(&invitation, time, rest.first().map_or(Ok(1_000), |it| it.parse())?).await;
    }
    if kind == "pairs" {
        let pairs = rest.first().map_or(Ok(1), |it| it.parse())?;
        return exchange_texts(&invitation, end, pairs).await;
    }
    let target = rest.first().map(|peer| peer.parse::<endseal_keyring::PeerIdText>());
    let target = target.transpose()?.map(|it| it.peer_id());
    if kind == "unregistered" {
        return unregistered(&invitation, end).await;
    }
    let member = Member::register(&invitation).await?;
    match kind.as_str() {
        "latency" => member.latency(end).await,
        "hold" => member.hold(time).await,
        "partial" => member.partial(time).await,
        "fill" => member.fill(target.ok_or("fill needs a PEER")?, end).await,
        "self" => member.fill(member.key.peer_id(), end).await,
        flood => member.flood(flood, end).await,
    }
}

/// Members with ten connections each, which are idle after a first request.
async fn idle(invitation: &Invitation, time: Duration, count: usize) -> Result<(), Failure> {
    // The endpoint of a member ends with it, and its connections with that.
    let (mut all, mut members) = (Vec::new(), Vec::new());
    for _ in 0..count / 10 {
        let member = Member::register(invitation).await?;
        for _ in 0..9 {
            let (hub, address) = hub_of(invitation)?;
            let address = address.parse()?;
            let connection = member.endpoint.connect(hub, address).await?;
            ask(&connection, Request::Hello(Hello { version: 1, ..Hello::default() })).await?;
            all.push(connection);
        }
        members.push(member);
    }
    println!("{} connections", all.len() + members.len());
    sleep(time).await;
    Ok(())
}

/// Pairs of members, one of whom sends texts of 200 bytes with at most [`OUTSTANDING`] that are not
/// confirmed, and the other of whom receives and acknowledges them. Prints how many were confirmed
/// and how many were received.
async fn exchange_texts(
    invitation: &Invitation,
    end: Instant,
    pairs: usize,
) -> Result<(), Failure> {
    let mut sending = JoinSet::new();
    let mut receiving = JoinSet::new();
    for _ in 0..pairs {
        let sender = Member::register(invitation).await?;
        let receiver = Member::register(invitation).await?;
        let target = receiver.key.peer_id();
        receiving.spawn(async move { receiver.receive(end).await.map_err(|it| it.to_string()) });
        let sent = async move { sender.send(target, end).await.map_err(|it| it.to_string()) };
        sending.spawn(sent);
    }
    let (mut confirmed, mut received) = (0, 0);
    for count in sending.join_all().await {
        confirmed += count?;
    }
    for count in receiving.join_all().await {
        received += count?;
    }
    println!("{confirmed} confirmed, {received} received");
    Ok(())
}

/// Peers without an invitation, each with two requests that are as long as its windows, renewed as
/// soon as the hub closes them.
async fn unregistered(invitation: &Invitation, end: Instant) -> Result<(), Failure> {
    let mut all = JoinSet::new();
    for _ in 0..64 {
        let (hub, address) = hub_of(invitation)?;
        all.spawn(async move {
            while Instant::now() < end {
                let key = TransportKey::new(&identity());
                let Ok((_endpoint, connection)) = connect(&key, hub, &address).await else {
                    sleep(Duration::from_millis(50)).await;
                    continue;
                };
                let mut open = Vec::new();
                for _ in 0..3 {
                    let Ok(Ok((sender, receiver))) =
                        timeout(Duration::from_secs(1), connection.open_exchange()).await
                    else {
                        break;
                    };
                    open.push((stall(sender, 1_100_000).await, receiver));
                }
                let _closed = timeout(Duration::from_secs(30), connection.closed()).await;
            }
        });
    }
    all.join_all().await;
    Ok(())
}

/// Sends as much of a long frame as the hub's windows take.
async fn stall(mut sender: FrameSender, length: usize) -> FrameSender {
    let frame = Frame::new(Kind::Control, vec![0x1a; length]);
    let _stalled = timeout(Duration::from_millis(500), sender.send(&frame)).await;
    sender
}

fn hub_of(invitation: &Invitation) -> Result<(PeerId, String), Failure> {
    let address = invitation.addresses().next().ok_or("no address")?;
    Ok((invitation.hub(), address.to_owned()))
}

async fn connect(
    key: &TransportKey,
    hub: PeerId,
    address: &str,
) -> Result<(Endpoint, Connection), Failure> {
    let mut limits = Limits::default();
    limits.frame = endseal_delivery::limit::MAX_PAYLOAD;
    // As nodes do.
    limits.keep_alive = Duration::from_millis(2_500);
    let here = "127.0.0.1:0".parse()?;
    let endpoint = Endpoint::bind_with(here, key, Policy::default(), Accept::none(), limits)?;
    let connection = endpoint.connect(hub, address.parse()?).await?;
    Ok((endpoint, connection))
}

fn identity() -> Identity {
    Identity::generate(&mut OsRandom).expect("randomness")
}

/// A registered device.
struct Member {
    key: TransportKey,
    hub: PeerId,
    address: String,
    signing: Identity,
    certificate: Certificate,
    person: PersonRecord,
    connection: Connection,
    endpoint: Endpoint,
}

struct Exchange {
    sender: FrameSender,
    receiver: FrameReceiver,
}

/// Frames of a sender that may wait for their confirmation.
const OUTSTANDING: u64 = 64;

impl Exchange {
    async fn ask(&mut self, request: Request) -> Result<Answer, Failure> {
        self.send(request).await?;
        self.answer().await
    }

    async fn send(&mut self, request: Request) -> Result<(), Failure> {
        let payload = HubRequest::from(request).to_vec(payload_limits())?;
        Ok(self.sender.send(&Frame::new(Kind::Control, payload)).await?)
    }

    async fn answer(&mut self) -> Result<Answer, Failure> {
        let frame = self.receiver.receive().await?.ok_or("the exchange ended")?;
        Ok(HubAnswer::decode(&frame.payload, payload_limits())?.answer)
    }
}

async fn ask(connection: &Connection, request: Request) -> Result<Answer, Failure> {
    let (sender, receiver) = connection.open_exchange().await?;
    Exchange { sender, receiver }.ask(request).await
}

impl Member {
    async fn register(invitation: &Invitation) -> Result<Self, Failure> {
        let (root, device, signing) = (identity(), identity(), identity());
        let key = TransportKey::new(&device);
        let number = NonZeroU32::MIN;
        let person = PersonRecord::create(&root, number, device.public(), &mut OsRandom)?;
        let keys = DeviceKeys {
            device: DeviceId::new(1).ok_or("1")?,
            peer_id: key.peer_id(),
            agreement: x25519::SecretKey::generate(&mut OsRandom)?.public_key(),
            signing: *signing.public().ed25519(),
            group: *identity().public().ed25519(),
        };
        let certificate = Certificate::issue(root.signing(), &keys, 1_790_000_000_000);
        let (hub, address) = hub_of(invitation)?;
        let (endpoint, connection) = connect(&key, hub, &address).await?;
        let register = Register {
            token: Some(*invitation.token().expose_secret()),
            certificate: certificate.as_bytes()[..].into(),
            person: person.as_bytes().into(),
        };
        match ask(&connection, Request::Register(register)).await? {
            Answer::Welcome(_) => {}
            answer => return Err(format!("{answer:?}").into()),
        }
        Ok(Self { key, hub, address, signing, certificate, person, connection, endpoint })
    }

    fn put(&self, sequence: u64, target: PeerId, length: usize) -> Result<Request, Failure> {
        let message = SealedMessage {
            scheme: Scheme::PAIRWISE,
            ciphertext: vec![7; length].into(),
            ..SealedMessage::default()
        };
        let stamp = Stamp { sequence, timestamp: 0, sender: *self.key.peer_id().as_bytes() };
        let sealed = Sealed::<Message>::from_message(message);
        let frame = StoredFrame::vouched(&sealed, stamp, stored_limits())?;
        let targets = target.as_bytes()[..].into();
        Ok(Request::Put(Put { targets, frame: frame.into(), conversation: None }))
    }

    /// Puts a text of 200 bytes to itself every 50 ms, and fetches nothing. Prints median, P99 and
    /// number.
    async fn latency(&self, end: Instant) -> Result<(), Failure> {
        let mut times = Vec::new();
        let mut sequence = 0;
        while Instant::now() < end {
            sequence += 1;
            let request = self.put(sequence, self.key.peer_id(), 200)?;
            let started = Instant::now();
            match ask(&self.connection, request).await? {
                Answer::Stored(_) => times.push(started.elapsed().as_micros()),
                answer => println!("{answer:?}"),
            }
            sleep(Duration::from_millis(50)).await;
        }
        times.sort_unstable();
        let at = |part: usize| times.get(times.len() * part / 100).copied().unwrap_or_default();
        println!("{} {} {}", at(50), at(99), times.len());
        Ok(())
    }

    /// Sends texts until the end. Returns how many the hub confirmed.
    async fn send(self, target: PeerId, end: Instant) -> Result<u64, Failure> {
        let (sender, receiver) = self.connection.open_exchange().await?;
        let mut exchange = Exchange { sender, receiver };
        let (mut sent, mut confirmed) = (0, 0);
        while Instant::now() < end {
            while sent - confirmed < OUTSTANDING {
                sent += 1;
                exchange.send(self.put(sent, target, 200)?).await?;
            }
            match exchange.answer().await? {
                Answer::Stored(stored) => confirmed = stored.sequence,
                answer => return Err(format!("{answer:?}").into()),
            }
        }
        Ok(confirmed)
    }

    /// Receives texts until the end, and acknowledges each hundred. Returns how many.
    async fn receive(self, end: Instant) -> Result<u64, Failure> {
        let (sender, receiver) = self.connection.open_exchange().await?;
        let mut exchange = Exchange { sender, receiver };
        let subscribe = Subscribe { after: 0, frames: 1_000, bytes: 1 << 20 };
        exchange.send(Request::Subscribe(subscribe)).await?;
        let (mut count, mut bytes) = (0, 0);
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let Ok(answer) = timeout(left, exchange.answer()).await else { return Ok(count) };
            let Answer::Deliver(delivered) = answer? else { continue };
            count += 1;
            bytes += delivered.frame.len() as u64;
            if count % 100 == 0 {
                let position = delivered.position;
                exchange.send(Request::Acknowledge(Acknowledge { position })).await?;
                exchange.send(Request::Credit(Credit { frames: 100, bytes })).await?;
                bytes = 0;
            }
        }
    }

    async fn connections(&self, count: usize) -> Result<Vec<(Endpoint, Connection)>, Failure> {
        let mut all = Vec::new();
        for _ in 0..count {
            all.push(connect(&self.key, self.hub, &self.address).await?);
        }
        Ok(all)
    }

    /// Fills its own mailbox, and subscribes to it 16 times on each of 10 connections, without
    /// receiving anything.
    async fn hold(&self, time: Duration) -> Result<(), Failure> {
        for sequence in 1..=16 {
            let request = self.put(sequence, self.key.peer_id(), 1_000_000)?;
            let _answer = ask(&self.connection, request).await?;
        }
        let connections = self.connections(9).await?;
        let mut open = Vec::new();
        for (_, connection) in &connections {
            for _ in 0..16 {
                let opened = timeout(Duration::from_secs(1), connection.open_exchange()).await;
                let Ok(Ok((mut sender, receiver))) = opened else { break };
                let subscribe = Subscribe { after: 0, frames: 1_000, bytes: 1 << 30 };
                let request = HubRequest::from(Request::Subscribe(subscribe));
                let frame = Frame::new(Kind::Control, request.to_vec(payload_limits())?);
                let _sent = sender.send(&frame).await;
                open.push((sender, receiver));
            }
        }
        sleep(time).await;
        Ok(())
    }

    /// Sends all but the end of a long frame in 16 exchanges on each of 10 connections.
    async fn partial(&self, time: Duration) -> Result<(), Failure> {
        let connections = self.connections(9).await?;
        let mut open = JoinSet::new();
        for (_, connection) in &connections {
            for _ in 0..16 {
                let opened = timeout(Duration::from_secs(1), connection.open_exchange()).await;
                let Ok(Ok((sender, receiver))) = opened else { break };
                open.spawn(async move {
                    let sender = stall(sender, 1_179_000).await;
                    sleep(time).await;
                    drop((sender, receiver));
                });
            }
        }
        open.join_all().await;
        Ok(())
    }

    /// Puts the longest frames into a mailbox until the end, also if they are refused.
    async fn fill(&self, target: PeerId, end: Instant) -> Result<(), Failure> {
        let (mut sequence, mut refused) = (0, 0_u64);
        while Instant::now() < end {
            sequence += 1;
            match ask(&self.connection, self.put(sequence, target, 900_000)?).await? {
                Answer::Stored(_) => {}
                _ => {
                    refused += 1;
                    sleep(Duration::from_millis(20)).await;
                }
            }
        }
        println!("{} stored, {refused} refused", sequence - refused);
        Ok(())
    }

    /// One kind of request without a pause, on eight connections.
    async fn flood(self, kind: &str, end: Instant) -> Result<(), Failure> {
        let bundles = |kind| -> Vec<_> {
            let bundle = |_| {
                let key = x25519::SecretKey::generate(&mut OsRandom).expect("randomness");
                PrekeyBundle::issue(&self.certificate, kind, key.public_key(), 1, |message| {
                    self.signing.signing().sign(message)
                })
            };
            (0..128).map(bundle).map(|it| it.as_bytes()[..].into()).collect()
        };
        let own = *self.key.peer_id().as_bytes();
        let request = match kind {
            "hello" => Request::Hello(Hello { version: 1, ..Hello::default() }),
            "find" => Request::Find(Find { by: By::Peer(own) }),
            "take" => Request::Take(Take { peer: own }),
            "record" => Request::Publish(Publish {
                person: self.person.as_bytes().into(),
                ..Publish::default()
            }),
            "publish" => Request::Publish(Publish {
                prekeys: bundles(PrekeyKind::OneTime),
                replace: true,
                ..Publish::default()
            }),
            "fallback" => Request::Publish(Publish {
                prekeys: bundles(PrekeyKind::Fallback),
                ..Publish::default()
            }),
            _ => return Err(format!("no kind {kind}").into()),
        };
        let mut all = JoinSet::new();
        for (endpoint, connection) in self.connections(8).await? {
            let request = request.clone();
            all.spawn(async move {
                let _endpoint = endpoint;
                let mut count = 0_u64;
                while Instant::now() < end {
                    if ask(&connection, request.clone()).await.is_err() {
                        break;
                    }
                    count += 1;
                }
                count
            });
        }
        let count: u64 = all.join_all().await.into_iter().sum();
        println!("{count} requests");
        Ok(())
    }
}
