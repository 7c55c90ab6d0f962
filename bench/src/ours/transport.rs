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

use crate::case::{Case, OURS};
use crate::clock::Elapsed;
use crate::duplex::carrier::{Carrier, PIECE, Stream, Who, Wire};
use crate::duplex::examine::ROUND_TRIP_NS;
use crate::duplex::idle;
use crate::duplex::relay::HERE;
use crate::duplex::work::{Duplex, Fault, Spent, Work};
use crate::ours::codec;
use crate::subject::{Checked, Extra, Failure, Prepared, Subject, unsupported};

/// Bytes of UDP payload in a packet over Ethernet.
const ETHERNET: u16 = 1452;

/// Returns the transport under both policies, and that with packets as over Ethernet, for cases in
/// which all other subjects have them.
pub(crate) fn subjects() -> Vec<Subject> {
    let subject = |(policy, over_ethernet, name, about): (Policy, bool, _, _)| {
        let mut properties = vec!["confidential", "authenticated", "sender"];
        properties.extend(policy.is_post_quantum().then_some("post-quantum"));
        let info =
            super::described("transport", name, about, "docs/spec/transport.md", &properties);
        Subject::new(info, move |case, inputs| prepare(policy, over_ethernet, case, inputs))
    };
    let ethernet = "QUIC, X25519MLKEM768 and ML-DSA-65, packets of 1,452 bytes";
    [
        (Policy::Hybrid, false, OURS, "QUIC, X25519MLKEM768 and ML-DSA-65"),
        (Policy::Classical, false, "endseal-classical", "QUIC, X25519 and Ed25519"),
        (Policy::Hybrid, true, "endseal-ethernet", ethernet),
    ]
    .map(subject)
    .into()
}

fn prepare(
    policy: Policy,
    over_ethernet: bool,
    case: &Case,
    inputs: u32,
) -> Result<Box<dyn Prepared>, Failure> {
    let work = Work::new(&case.case, &case.params).map_err(failure)?;
    let mut limits = Limits::default();
    // Dozens of idle connections of one peer are counted.
    limits.connections_per_peer = limits.connections;
    if over_ethernet || work.is_over_ethernet() {
        limits.mtu = ETHERNET;
    }
    let carrier = Endseal::new(policy, limits);
    let duplex = match work {
        Work::MessageSize { bytes } => {
            let messages = codec::encoded_letters(bytes, inputs)?;
            let contents = messages.into_iter().map(Bytes::from).collect();
            Duplex::with_contents(carrier, work, contents)
        }
        _ => Duplex::prepare(carrier, work, inputs.into()),
    };
    Ok(Box::new(Ready { work, duplex: duplex.map_err(failure)? }))
}

fn failure(fault: Fault) -> Failure {
    match fault {
        Fault::Unsupported(why) => unsupported(why),
        Fault::Failed(why) => why.into(),
    }
}

struct Ready {
    work: Work,
    duplex: Duplex<Endseal>,
}

impl Prepared for Ready {
    fn check(&mut self) -> Result<Checked, Failure> {
        let found = self.duplex.check().map_err(failure)?;
        Ok(Checked {
            round_trip: found.round_trip,
            tamper_refused: Some(found.refused),
            sealed_bytes: found.size,
        })
    }

    #[allow(clippy::cast_precision_loss, reason = "a run takes less than 2^53 ns")]
    fn run(&mut self, iterations: u32) -> Result<Elapsed, Failure> {
        let Spent { wall_ns, cpu_ns } = self.duplex.run(iterations.into()).map_err(failure)?;
        Ok(Elapsed::new(wall_ns as f64, Some(cpu_ns as f64)))
    }

    fn is_in_process(&self) -> bool {
        true
    }

    #[allow(clippy::cast_precision_loss, reason = "bytes and nanoseconds far below 2^53")]
    fn extra(&mut self) -> Result<Vec<Extra>, Failure> {
        if self.work != Work::Handshake {
            return Ok(Vec::new());
        }
        let delayed = self.duplex.delayed().map_err(failure)?;
        let figure = |metric, unit, samples: &[u64], one: u64| {
            let samples = samples.iter().map(|sample| *sample as f64 / one as f64).collect();
            Extra::less(metric, unit, samples)
        };
        let mut found = vec![
            figure("bytes_sent", "B", &delayed.bytes_sent, 1),
            figure("bytes_received", "B", &delayed.bytes_received, 1),
            figure("round_trips", "1", &delayed.ns, ROUND_TRIP_NS),
        ];
        if let Some(bytes) = idle::memory(&self.duplex).map_err(failure)? {
            found.push(figure("idle_memory", "B", &[bytes], 1));
        }
        Ok(found)
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
