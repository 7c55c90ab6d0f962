//! The transport as a subject, in each of its policies.

use std::net::SocketAddr;

use bytes::Bytes;
use endseal_crypto::ed25519::Seed;
use endseal_crypto::identity::Identity;
use endseal_crypto::mlkem768;
use endseal_transport::{
    Accept, Connection, Endpoint, Frame, FrameReceiver, FrameSender, Kind, Limits, PeerId, Policy,
    TransportKey,
};

use crate::clock::Elapsed;
use crate::duplex::carrier::{Carrier, Failure, PIECE, Stream, Who, Wire};
use crate::duplex::examine::ROUND_TRIP_NS;
use crate::duplex::idle;
use crate::duplex::relay::HERE;
use crate::duplex::work::{Duplex, Fault, Spent, Work};
use crate::ours::codec;
use crate::record::{Better, Params, SubjectInfo};
use crate::subject::{Checked, Extra, Prepared, Subject, SubjectError};

/// The transport under one policy, as a subject.
#[derive(Clone, Debug)]
pub struct Transport {
    policy: Policy,
    packets: Packets,
    info: SubjectInfo,
}

/// Limit on the length of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Packets {
    /// The longest packets that the interface accepts.
    Default,
    /// Packets as over Ethernet.
    Ethernet,
}

/// Bytes of UDP payload in a packet over Ethernet.
const ETHERNET: u16 = 1452;

impl Transport {
    /// Creates the subject of a policy.
    #[must_use]
    pub fn new(policy: Policy) -> Self {
        Self::with(policy, Packets::Default)
    }

    /// Creates the subject of the default policy with packets as over Ethernet, for cases in which
    /// all subjects have them.
    #[must_use]
    pub fn over_ethernet() -> Self {
        Self::with(Policy::Hybrid, Packets::Ethernet)
    }

    fn with(policy: Policy, packets: Packets) -> Self {
        let (subject, about) = match (policy, packets) {
            (_, Packets::Ethernet) => {
                ("endseal-ethernet", "QUIC, X25519MLKEM768 and ML-DSA-65, packets of 1,452 bytes")
            }
            (Policy::Classical, _) => ("endseal-classical", "QUIC, X25519 and Ed25519"),
            (Policy::MlKem768Only, _) => ("endseal-mlkem", "QUIC, MLKEM768 and ML-DSA-65"),
            _ => ("endseal", "QUIC, X25519MLKEM768 and ML-DSA-65"),
        };
        let mut properties = vec!["confidential", "authenticated", "sender"];
        if policy.is_post_quantum() {
            properties.push("post-quantum");
        }
        let settings = "docs/spec/transport.md";
        let info = super::described("transport", subject, about, settings, &properties);
        Self { policy, packets, info }
    }

    /// Returns all policies that are measured.
    #[must_use]
    pub fn all() -> Vec<Self> {
        vec![Self::new(Policy::Hybrid), Self::new(Policy::Classical), Self::over_ethernet()]
    }
}

/// Returns all policies as subjects of the suite.
pub(crate) fn subjects() -> Vec<Box<dyn Subject>> {
    Transport::all().into_iter().map(|own| Box::new(own) as Box<dyn Subject>).collect()
}

impl Subject for Transport {
    fn info(&self) -> &SubjectInfo {
        &self.info
    }

    fn prepare(
        &mut self,
        case: &str,
        params: &Params,
        inputs: u32,
    ) -> Result<Box<dyn Prepared + '_>, SubjectError> {
        let work = Work::new(case, params)?;
        let mut limits = Limits::default();
        // Dozens of idle connections of one peer are counted.
        limits.connections_per_peer = limits.connections;
        if self.packets == Packets::Ethernet || work.is_over_ethernet() {
            limits.mtu = ETHERNET;
        }
        let carrier = Endseal::new(self.policy, limits);
        let duplex = match work {
            Work::MessageSize { bytes } => {
                let messages = codec::encoded_letters(bytes, inputs)?;
                let contents = messages.into_iter().map(Bytes::from).collect();
                Duplex::with_contents(carrier, work, contents)?
            }
            _ => Duplex::prepare(carrier, work, inputs.into())?,
        };
        Ok(Box::new(Ready { work, duplex }))
    }
}

struct Ready {
    work: Work,
    duplex: Duplex<Endseal>,
}

impl Prepared for Ready {
    fn check(&mut self) -> Result<Checked, SubjectError> {
        let found = self.duplex.check()?;
        Ok(Checked {
            round_trip: found.round_trip,
            tamper_refused: Some(found.refused),
            sealed_bytes: found.size,
        })
    }

    #[allow(clippy::cast_precision_loss, reason = "a run takes less than 2^53 ns")]
    fn run(&mut self, iterations: u32) -> Result<Elapsed, SubjectError> {
        let Spent { wall_ns, cpu_ns } = self.duplex.run(iterations.into())?;
        Ok(Elapsed::new(wall_ns as f64, Some(cpu_ns as f64)))
    }

    fn is_in_process(&self) -> bool {
        true
    }

    #[allow(clippy::cast_precision_loss, reason = "bytes and nanoseconds far below 2^53")]
    fn extra(&mut self) -> Result<Vec<Extra>, SubjectError> {
        if self.work != Work::Handshake {
            return Ok(Vec::new());
        }
        let delayed = self.duplex.delayed()?;
        let figure = |metric, unit, samples: &[u64], one: u64| {
            let samples = samples.iter().map(|sample| *sample as f64 / one as f64).collect();
            Extra { metric, unit, better: Better::Less, samples }
        };
        let mut found = vec![
            figure("bytes_sent", "B", &delayed.bytes_sent, 1),
            figure("bytes_received", "B", &delayed.bytes_received, 1),
            figure("round_trips", "1", &delayed.ns, ROUND_TRIP_NS),
        ];
        if let Some(bytes) = idle::memory(&self.duplex)? {
            found.push(figure("idle_memory", "B", &[bytes], 1));
        }
        Ok(found)
    }
}

impl From<Fault> for SubjectError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Unsupported(why) => Self::Unsupported(why),
            Fault::Failed(why) => Self::Failed(why),
        }
    }
}

/// Keys of the two ends, and of a third party that neither end knows.
pub(crate) struct Endseal {
    policy: Policy,
    limits: Limits,
    client: TransportKey,
    server: TransportKey,
    outsider: TransportKey,
}

pub(crate) struct Dialer {
    endpoint: Endpoint,
    server: PeerId,
}

pub(crate) struct Exchange {
    sender: FrameSender,
    receiver: FrameReceiver,
}

impl Endseal {
    pub(crate) fn new(policy: Policy, limits: Limits) -> Self {
        let key = |n: u8| {
            let seeds = (Seed::from_bytes(&[n; 32]), mlkem768::Seed::from_bytes(&[!n; 64]));
            let identity = Identity::from_seeds(seeds.0, seeds.1);
            match policy.is_post_quantum() {
                true => TransportKey::new(&identity),
                false => TransportKey::classical(&identity),
            }
        };
        Self { policy, limits, client: key(1), server: key(2), outsider: key(3) }
    }
}

impl Carrier for Endseal {
    type Listener = Endpoint;
    type Dialer = Dialer;
    type Incoming = Connection;
    type Connection = Connection;
    type Stream = Exchange;

    const WIRE: Wire = Wire::Udp;

    fn listen(&self) -> Result<(Endpoint, SocketAddr), Failure> {
        let accept = Accept::pinned([self.client.peer_id()]);
        let endpoint =
            Endpoint::bind_with(HERE, &self.server, self.policy, accept, self.limits.clone())?;
        let address = endpoint.local_address()?;
        Ok((endpoint, address))
    }

    fn dialer(&self, who: Who) -> Result<Dialer, Failure> {
        let own = if who == Who::Outsider { &self.outsider } else { &self.client };
        let meant = if who == Who::Misled { &self.outsider } else { &self.server };
        let endpoint =
            Endpoint::bind_with(HERE, own, self.policy, Accept::none(), self.limits.clone())?;
        Ok(Dialer { endpoint, server: meant.peer_id() })
    }

    async fn accept(listener: &Endpoint) -> Result<Option<Connection>, Failure> {
        Ok(listener.accept().await)
    }

    async fn welcome(connection: Connection) -> Result<(Connection, Exchange), Failure> {
        let (sender, receiver) = connection.accept_exchange().await?;
        Ok((connection, Exchange { sender, receiver }))
    }

    async fn connect(
        dialer: &Dialer,
        server: SocketAddr,
    ) -> Result<(Connection, Exchange), Failure> {
        let connection = dialer.endpoint.connect(dialer.server, server).await?;
        let (sender, receiver) = connection.open_exchange().await?;
        Ok((connection, Exchange { sender, receiver }))
    }
}

impl Stream for Exchange {
    async fn send(&mut self, message: &Bytes) -> Result<(), Failure> {
        Ok(self.sender.send(&Frame::new(Kind::Data, message.clone())).await?)
    }

    async fn feed(&mut self, message: &Bytes) -> Result<(), Failure> {
        Ok(self.sender.feed(&Frame::new(Kind::Data, message.clone())).await?)
    }

    async fn flush(&mut self) -> Result<(), Failure> {
        Ok(self.sender.flush().await?)
    }

    async fn receive(&mut self) -> Result<Option<Bytes>, Failure> {
        Ok(self.receiver.receive().await?.map(|frame| frame.payload))
    }

    async fn send_bulk(&mut self, content: &Bytes) -> Result<(), Failure> {
        for start in (0..content.len()).step_by(PIECE) {
            self.feed(&content.slice(start..content.len().min(start + PIECE))).await?;
        }
        self.flush().await
    }

    async fn receive_bulk(
        &mut self,
        bytes: usize,
        taker: &mut (impl FnMut(&[u8]) + Send),
    ) -> Result<bool, Failure> {
        let mut left = bytes;
        while left > 0 {
            match self.receive().await? {
                None if left == bytes => return Ok(false),
                None => return Err("the stream ended in the middle".into()),
                Some(piece) => {
                    taker(&piece);
                    left = left.checked_sub(piece.len()).ok_or("more came than was sent")?;
                }
            }
        }
        Ok(true)
    }
}
