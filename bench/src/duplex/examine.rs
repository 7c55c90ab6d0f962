//! The check of a subject, and its figures other than time.

use core::time::Duration;
use std::sync::Arc;
use std::time::Instant;

use super::carrier::{Carrier, Failure, Stream, Who, Wire};
use super::relay::Relay;
use super::serve::{Received, Service};
use super::work::{Duplex, Fault, Work, failed, handshake, listen, nanoseconds, on, once};

/// Delay of the path in each direction, in cases that count round trips.
const DELAY: Duration = Duration::from_millis(25);
/// Round trip that follows from [`DELAY`], in ns.
pub(crate) const ROUND_TRIP_NS: u64 = 50_000_000;
/// Number of handshakes over the delayed path.
const DELAYED: usize = 3;
/// Pause before messages are counted. It is longer than late acknowledgements of earlier packets
/// take (RFC 9000, 18.2: 25 ms).
const SILENCE: Duration = Duration::from_millis(60);
/// Messages that are sent before the count, until the path MTU is known and the window is open.
const SETTLING: usize = 32;
/// Number of messages whose size is measured.
const SIZED: usize = 9;
/// Time limit of a refusal.
const REFUSAL: Duration = Duration::from_secs(10);
/// Bytes of the message of which a bit is changed on its way.
const CHANGED: usize = 8192;

/// Result of the check of a subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    /// True if the content that arrived is the content that was sent.
    pub(crate) round_trip: bool,
    /// True if no changed message was accepted as the one that was sent; in `handshake`, if neither
    /// side talks to a peer whose key it does not know.
    pub(crate) refused: bool,
    /// Bytes of one message on the wire, in the cases that measure it.
    pub(crate) size: Option<u64>,
}

/// Figures of handshakes over the delayed path: one value for each, or one value if all agree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Delayed {
    /// Payload bytes of UDP or TCP that the client sent until it had its answer.
    pub(crate) bytes_sent: Vec<u64>,
    pub(crate) bytes_received: Vec<u64>,
    /// Time until then in ns, with the round trip of TCP.
    pub(crate) ns: Vec<u64>,
}

impl<C: Carrier> Duplex<C> {
    /// Checks the subject in this case.
    pub(crate) fn check(&mut self) -> Result<Found, Fault> {
        if self.work == Work::Handshake {
            return self.check_handshake();
        }
        let (work, mut contents) = (self.work, self.contents.clone());
        let mut expected = Vec::new();
        let (mut upcoming, number) = (contents.clone(), messages(work));
        (0..number).for_each(|_| expected.extend_from_slice(upcoming.next()));
        self.received.keep();
        let (connection, mut stream) = self.connect(self.dialer.clone(), self.server)?;
        on(&self.here, async move {
            let outcome = once(&mut stream, work, &mut contents).await;
            drop(connection);
            outcome
        })?;
        let round_trip = self.received.take() == expected;
        let size = match work {
            Work::WireSize { .. } | Work::MessageSize { .. } => Some(self.size()?),
            _ => None,
        };
        Ok(Found { round_trip, refused: self.refuses_changes()?, size })
    }

    /// Measures the figures of the case `handshake`.
    pub(crate) fn delayed(&self) -> Result<Delayed, Fault> {
        let relay = self.relay(DELAY)?;
        let dialers = (0..DELAYED).map(|_| self.another(Who::Known));
        let dialers = dialers.collect::<Result<Vec<_>, _>>()?;
        let mut contents = self.contents.clone();
        on(&self.here, async move {
            let mut found = Delayed::default();
            for dialer in dialers {
                let before = relay.passed();
                let started = Instant::now();
                let fresh = handshake::<C>(&dialer, relay.address(), &mut contents).await?;
                let tcp = if C::WIRE == Wire::Tcp { ROUND_TRIP_NS } else { 0 };
                found.ns.push(nanoseconds(started) + tcp);
                let after = relay.passed();
                found.bytes_sent.push(after.0 - before.0);
                found.bytes_received.push(after.1 - before.1);
                drop(fresh);
                tokio::time::sleep(SILENCE).await;
            }
            // Values that are all equal are reduced to one.
            for bytes in [&mut found.bytes_sent, &mut found.bytes_received] {
                if bytes.iter().all(|one| bytes.first() == Some(one)) {
                    bytes.truncate(1);
                }
            }
            Ok(found)
        })
    }

    fn check_handshake(&self) -> Result<Found, Fault> {
        let round_trip = self.answers(self.dialer.clone())?;
        let mut refused = true;
        for who in [Who::Outsider, Who::Misled] {
            refused &= !self.answers(self.another(who)?)?;
        }
        Ok(Found { round_trip, refused, size: None })
    }

    /// Returns true if the server accepts a connection of `dialer` and echoes its message.
    fn answers(&self, dialer: Arc<C::Dialer>) -> Result<bool, Fault> {
        let (server, mut contents) = (self.server, self.contents.clone());
        on(&self.here, async move {
            let talk = async {
                let (connection, mut stream) = C::connect(&dialer, server).await?;
                let sent = contents.next();
                stream.send(sent).await?;
                let answer = stream.receive().await?;
                drop(connection);
                Ok::<_, Failure>(answer.as_ref() == Some(sent))
            };
            // A refusal may show as an error at any point, or as silence.
            Ok(matches!(tokio::time::timeout(REFUSAL, talk).await, Ok(Ok(true))))
        })
    }

    /// Measures the payload bytes of UDP or TCP from the client for one message on a settled
    /// connection.
    fn size(&self) -> Result<u64, Fault> {
        let relay = self.relay(Duration::ZERO)?;
        let (work, mut contents) = (self.work, self.contents.clone());
        let dialer = self.another(Who::Known)?;
        let (connection, mut stream) = self.connect(dialer.clone(), relay.address())?;
        let mut sizes = on(&self.here, async move {
            for _ in 0..SETTLING {
                once(&mut stream, work, &mut contents).await?;
            }
            let mut sizes = Vec::new();
            for _ in 0..SIZED {
                tokio::time::sleep(SILENCE).await;
                let before = relay.passed().0;
                once(&mut stream, work, &mut contents).await?;
                sizes.push(relay.passed().0 - before);
            }
            drop(connection);
            Ok(sizes)
        })?;
        sizes.sort_unstable();
        Ok(sizes[SIZED / 2])
    }

    /// Changes a bit of a message on its way to a server that echoes. Returns true if nothing is
    /// received, or exactly what was sent, perhaps after a retransmission.
    fn refuses_changes(&self) -> Result<bool, Fault> {
        let received = Arc::new(Received::default());
        let server = listen(&self.carrier, &self.there, Service::Echo, received.clone())?;
        let relay =
            on(
                &self.there,
                async move { Ok(Relay::start(C::WIRE, server, Duration::ZERO).await?) },
            )?;
        let dialer = self.another(Who::Known)?;
        let (connection, mut stream) = self.connect(dialer.clone(), relay.address())?;
        let sent = bytes::Bytes::from(vec![0x55; CHANGED]);
        let expected = sent.clone();
        received.keep();
        let changed = on(&self.here, async move {
            // The first message is let through: the handshake ends with it.
            stream.send(&sent).await?;
            stream.receive().await?;
            relay.change_a_bit();
            let talk = async {
                stream.send(&sent).await?;
                stream.receive().await
            };
            let _error_or_silence = tokio::time::timeout(REFUSAL, talk).await;
            drop(connection);
            Ok(relay.has_changed())
        })?;
        if !changed {
            return Err(Fault::Failed("no bit could be changed on the way".into()));
        }
        let all = [expected.clone(), expected].concat();
        Ok(all.starts_with(&received.take()))
    }

    /// Creates another client, which must be kept as long as its connections. Each connection
    /// through a relay has a client of its own, because a library that knows the direct path would
    /// take that.
    fn another(&self, who: Who) -> Result<Arc<C::Dialer>, Fault> {
        let _within = self.here.enter();
        Ok(Arc::new(self.carrier.dialer(who).map_err(failed)?))
    }

    fn relay(&self, delay: Duration) -> Result<Relay, Fault> {
        let server = self.server;
        // The relay runs on the server's thread, which is idle while it waits for the network.
        on(&self.there, async move { Ok(Relay::start(C::WIRE, server, delay).await?) })
    }
}

fn messages(work: Work) -> usize {
    match work {
        Work::Messages { count, .. } => count,
        _ => 1,
    }
}
