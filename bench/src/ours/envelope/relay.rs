//! A message that is sealed, sent by QUIC over a delayed path, and opened.

use core::time::Duration;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use endseal_crypto::random::OsRandom;
use endseal_envelope::{Opener, Policy};
use endseal_transport::Limits;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::time::timeout;

use super::{CONTEXT, Material, failed};
use crate::clock::Elapsed;
use crate::duplex::carrier::{Carrier, Failure, Stream, Who, Wire};
use crate::duplex::relay::Relay;
use crate::ours::transport::Endseal;
use crate::record::Better;
use crate::subject::{Checked, Extra, Prepared, SubjectError};

/// Number of messages that are sent; the first one is not counted.
const MESSAGES: usize = 6;
/// Time after which a message counts as lost.
const TIMEOUT: Duration = Duration::from_secs(20);

/// The case as a subject has it. The harness times nothing; all figures are extra figures.
pub(super) struct OnTheWay {
    material: Arc<Material>,
    /// Delay of the path in one direction.
    delay: Duration,
}

/// A message that the receiver has opened.
struct Arrived {
    received: Instant,
    opened: Instant,
    content: Vec<u8>,
}

/// Durations of one message.
struct Trip {
    total: Duration,
    sealing: Duration,
    opening: Duration,
}

impl OnTheWay {
    pub(super) fn new(material: Material, milliseconds: usize) -> Self {
        let delay = Duration::from_millis(milliseconds as u64);
        Self { material: Arc::new(material), delay }
    }

    fn trips(&self) -> Result<Vec<Trip>, SubjectError> {
        let runtime = runtime().map_err(failed)?;
        // A timeout needs the clock of the runtime.
        let carried = async { timeout(TIMEOUT, self.carry()).await };
        runtime.block_on(carried).map_err(failed)?.map_err(failed)
    }

    async fn carry(&self) -> Result<Vec<Trip>, Failure> {
        let carrier = Endseal::new(endseal_transport::Policy::Hybrid, Limits::default());
        let (listener, server) = carrier.listen()?;
        let relay = Relay::start(Wire::Udp, server, self.delay).await?;
        let (told, mut arrived) = unbounded_channel();
        let receiver = tokio::spawn(receive(listener, self.material.clone(), told));
        let dialer = carrier.dialer(Who::Known)?;
        let (connection, mut stream) = Endseal::connect(&dialer, relay.address()).await?;
        let mut trips = Vec::new();
        let contents = self.material.contents.iter().cycle();
        for content in contents.take(MESSAGES) {
            let start = Instant::now();
            let envelope = Bytes::from(self.material.sealer().seal(content, &mut OsRandom)?);
            let sealing = start.elapsed();
            stream.send(&envelope).await?;
            let Arrived { received, opened, content: found } =
                arrived.recv().await.ok_or("nothing arrived")?;
            if found != *content {
                return Err("another content arrived".into());
            }
            trips.push(Trip { total: opened - start, sealing, opening: opened - received });
        }
        drop((connection, stream));
        receiver.abort();
        trips.remove(0);
        Ok(trips)
    }
}

/// Opens the messages that arrive on the first connection.
async fn receive(
    listener: <Endseal as Carrier>::Listener,
    material: Arc<Material>,
    told: UnboundedSender<Arrived>,
) -> Result<(), Failure> {
    let Some(incoming) = Endseal::accept(&listener).await? else { return Ok(()) };
    let (_connection, mut stream) = Endseal::welcome(incoming).await?;
    let opener = Opener::new(&material.reader, CONTEXT);
    while let Some(envelope) = stream.receive().await? {
        let received = Instant::now();
        let content = opener.open(&envelope, &mut Policy::new())?.content;
        told.send(Arrived { received, opened: Instant::now(), content })?;
    }
    Ok(())
}

fn runtime() -> std::io::Result<Runtime> {
    Builder::new_multi_thread().worker_threads(2).enable_all().build()
}

impl Prepared for OnTheWay {
    fn check(&mut self) -> Result<Checked, SubjectError> {
        self.material.check()
    }

    fn run(&mut self, _: u32) -> Result<Elapsed, SubjectError> {
        Err(SubjectError::Unsupported("its parts are reported, not timed together".into()))
    }

    fn extra(&mut self) -> Result<Vec<Extra>, SubjectError> {
        let trips = self.trips()?;
        let extra = |metric, of: fn(&Trip) -> Duration| {
            let samples = trips.iter().map(|trip| of(trip).as_secs_f64() * 1e9).collect();
            Extra { metric, unit: "ns", better: Better::Less, samples }
        };
        Ok(vec![
            extra("total_delay", |trip| trip.total),
            extra("sealing", |trip| trip.sealing),
            extra("carrying", |trip| trip.total - trip.sealing - trip.opening),
            extra("opening", |trip| trip.opening),
        ])
    }
}
