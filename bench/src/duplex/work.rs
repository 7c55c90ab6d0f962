//! A case of the suite `transport`, ready to be run.

use core::time::Duration;
use std::collections::BTreeMap;
use std::hint::black_box;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use rustix::time::{ClockId, clock_gettime};
use tokio::runtime::{Builder, Runtime};

use super::carrier::{Carrier, Failure, PIECE, Stream, Who};
use super::processor;
use super::serve::{Received, Service, serve};

/// Time limit of a task; one that takes longer has hung.
const TIMEOUT: Duration = Duration::from_secs(60);
/// Most bytes of content that are prepared.
const MEMORY_LIMIT: u64 = 1 << 30;
/// Bytes of the largest message. A subject may refuse a larger one.
const MESSAGE_MAX: u64 = 1 << 20;
const COUNT_MAX: u64 = 100_000;

/// Reason why there is no figure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// There is no such case, or not with these parameters.
    Unsupported(String),
    /// The subject failed.
    Failed(String),
}

/// Wall and CPU time of a run, in ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spent {
    pub(crate) wall_ns: u64,
    /// CPU time of all threads.
    pub(crate) cpu_ns: u64,
}

/// A case with its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// Opens a connection and waits for an answer of one byte.
    Handshake,
    /// A message and its echo.
    Echo { bytes: usize },
    /// `count` messages, of which the last one is acknowledged. If `collected`, a message may wait
    /// until several can be sent together.
    Messages { bytes: usize, count: usize, collected: bool },
    /// A bulk transfer, as of a file.
    Bulk { bytes: usize },
    /// One acknowledged message, whose bytes on the wire are counted.
    WireSize { bytes: usize },
    /// As [`Self::WireSize`], with the sample message of the suite `codec` in the subject's
    /// encoding. Its text has `bytes` bytes.
    MessageSize { bytes: usize },
}

impl Work {
    /// Returns the case of that name.
    pub(crate) fn new(case: &str, params: &BTreeMap<String, u64>) -> Result<Self, Fault> {
        let names: &[&str] = match case {
            "handshake" => &[],
            "echo" | "bulk" | "wire_size" | "message_size" => &["bytes"],
            "messages" => &["bytes", "count", "collect"],
            _ => return Err(Fault::Unsupported(format!("there is no case {case}"))),
        };
        if let Some(other) = params.keys().find(|name| !names.contains(&name.as_str())) {
            return Err(Fault::Unsupported(format!("this case has no parameter {other}")));
        }
        let within = |name: &str, most: u64| {
            let value = params.get(name).copied().unwrap_or_default();
            let fits = usize::try_from(value).ok().filter(|_| (1..=most).contains(&value));
            fits.ok_or_else(|| Fault::Unsupported(format!("{name}: from 1 to {most}")))
        };
        let collected = || match params.get("collect") {
            Some(0) => Ok(false),
            Some(&bytes) if bytes == PIECE as u64 => Ok(true),
            _ => Err(Fault::Unsupported(format!("collect: 0 or {PIECE}"))),
        };
        Ok(match case {
            "handshake" => Self::Handshake,
            "echo" => Self::Echo { bytes: within("bytes", MESSAGE_MAX)? },
            "messages" => Self::Messages {
                bytes: within("bytes", MESSAGE_MAX)?,
                count: within("count", COUNT_MAX)?,
                collected: collected()?,
            },
            "bulk" => Self::Bulk { bytes: within("bytes", MEMORY_LIMIT)? },
            "message_size" => Self::MessageSize { bytes: within("bytes", MESSAGE_MAX)? },
            _ => Self::WireSize { bytes: within("bytes", MESSAGE_MAX)? },
        })
    }

    /// Returns true for cases that count bytes. Their packets must be no longer than over Ethernet.
    #[allow(dead_code, reason = "the subjects of peers have no longer ones")]
    pub(crate) fn is_over_ethernet(self) -> bool {
        matches!(self, Self::Handshake | Self::WireSize { .. } | Self::MessageSize { .. })
    }

    fn service(self) -> Service {
        match self {
            Self::Handshake | Self::Echo { .. } => Service::Echo,
            Self::Messages { count, .. } => Service::Count(count),
            Self::Bulk { bytes } => Service::Bulk(bytes),
            Self::WireSize { .. } | Self::MessageSize { .. } => Service::Count(1),
        }
    }

    /// Returns the length and the number of the contents, which are used one after the other.
    fn contents(self, inputs: usize) -> (usize, usize) {
        match self {
            Self::Handshake => (1, 1),
            Self::Bulk { bytes } => (bytes, 1),
            Self::Echo { bytes }
            | Self::Messages { bytes, .. }
            | Self::WireSize { bytes }
            | Self::MessageSize { bytes } => (bytes, inputs),
        }
    }
}

/// A case of one subject: the client's side and the server's side, each with a runtime of its own
/// whose one thread runs on a processor of its own.
pub(crate) struct Duplex<C: Carrier> {
    pub(super) carrier: C,
    pub(super) work: Work,
    pub(super) here: Runtime,
    pub(super) there: Runtime,
    pub(super) server: SocketAddr,
    pub(super) dialer: Arc<C::Dialer>,
    pub(super) received: Arc<Received>,
    pub(super) contents: Contents,
    open: Option<(C::Connection, C::Stream)>,
}

/// Contents that are sent one after the other.
#[derive(Clone)]
pub(super) struct Contents {
    all: Arc<[Bytes]>,
    next: usize,
}

impl Contents {
    pub(super) fn next(&mut self) -> &Bytes {
        let next = self.next;
        self.next = (next + 1) % self.all.len();
        &self.all[next]
    }
}

impl<C: Carrier> Duplex<C> {
    /// Starts both sides and connects them.
    pub(crate) fn prepare(carrier: C, work: Work, inputs: u64) -> Result<Self, Fault> {
        if let Work::MessageSize { .. } = work {
            return Err(Fault::Unsupported("it carries bytes, and encodes no messages".into()));
        }
        let inputs = usize::try_from(inputs).unwrap_or(usize::MAX);
        let (bytes, number) = work.contents(inputs);
        if number == 0 || bytes.saturating_mul(number) as u64 > MEMORY_LIMIT {
            return Err(Fault::Unsupported("inputs: at least 1, and at most 1 GiB of them".into()));
        }
        let all = (0..number).map(|index| content(index, bytes)).collect();
        Self::with_contents(carrier, work, all)
    }

    /// Starts both sides and connects them, with the given contents, at least one.
    pub(crate) fn with_contents(carrier: C, work: Work, all: Vec<Bytes>) -> Result<Self, Fault> {
        let contents = Contents { all: all.into(), next: 0 };
        let (here, there) = (side("here", 0).map_err(failed)?, side("there", 1).map_err(failed)?);
        let received = Arc::new(Received::default());
        let server = listen(&carrier, &there, work.service(), received.clone())?;
        let dialer = {
            let _within = here.enter();
            Arc::new(carrier.dialer(Who::Known).map_err(failed)?)
        };
        let mut own =
            Self { carrier, work, here, there, server, dialer, received, contents, open: None };
        if work != Work::Handshake {
            own.open = Some(own.connect(own.dialer.clone(), own.server)?);
        }
        Ok(own)
    }

    /// Does the work `iterations` times.
    pub(crate) fn run(&mut self, iterations: u64) -> Result<Spent, Fault> {
        let (work, server, dialer) = (self.work, self.server, self.dialer.clone());
        let mut contents = self.contents.clone();
        let mut open = self.open.take();
        let (open, next, spent) = on(&self.here, async move {
            let mut wall_ns = 0;
            let cpu = process_cpu_ns();
            let wall = Instant::now();
            if let Some((_, stream)) = &mut open {
                for _ in 0..iterations {
                    once(stream, work, &mut contents).await?;
                }
                wall_ns = nanoseconds(wall);
            } else {
                // Closing is not timed, because connections live long.
                for _ in 0..iterations {
                    let wall = Instant::now();
                    let fresh = handshake::<C>(&dialer, server, &mut contents).await?;
                    wall_ns += nanoseconds(wall);
                    drop(fresh);
                }
            }
            let cpu_ns = process_cpu_ns().saturating_sub(cpu);
            Ok((open, contents.next, Spent { wall_ns, cpu_ns }))
        })?;
        self.open = open;
        self.contents.next = next;
        Ok(spent)
    }

    pub(super) fn connect(
        &self,
        dialer: Arc<C::Dialer>,
        server: SocketAddr,
    ) -> Result<(C::Connection, C::Stream), Fault> {
        on(&self.here, async move { C::connect(&dialer, server).await })
    }
}

impl<C: Carrier> Drop for Duplex<C> {
    fn drop(&mut self) {
        // A subject may leave things to drop that belong to the runtime of its side.
        let _within = self.here.enter();
        self.open = None;
    }
}

/// Connects and waits until the server has answered.
pub(super) async fn handshake<C: Carrier>(
    dialer: &C::Dialer,
    server: SocketAddr,
    contents: &mut Contents,
) -> Result<(C::Connection, C::Stream), Failure> {
    let (connection, mut stream) = C::connect(dialer, server).await?;
    once(&mut stream, Work::Handshake, contents).await?;
    Ok((connection, stream))
}

/// One iteration on an open stream.
pub(super) async fn once(
    stream: &mut impl Stream,
    work: Work,
    contents: &mut Contents,
) -> Result<(), Failure> {
    match work {
        Work::Handshake | Work::Echo { .. } => {
            let sent = contents.next();
            stream.send(sent).await?;
            let echo = stream.receive().await?.ok_or(ENDED)?;
            if black_box(&echo).len() != sent.len() {
                return Err("the echo has another length".into());
            }
            return Ok(());
        }
        Work::Messages { count, collected: true, .. } => {
            for _ in 0..count {
                stream.feed(contents.next()).await?;
            }
            stream.flush().await?;
        }
        Work::Messages { count, .. } => {
            for _ in 0..count {
                stream.send(contents.next()).await?;
            }
        }
        Work::Bulk { .. } => stream.send_bulk(contents.next()).await?,
        Work::WireSize { .. } | Work::MessageSize { .. } => stream.send(contents.next()).await?,
    }
    let acknowledgement = stream.receive().await?.ok_or(ENDED)?;
    if acknowledgement.len() == 1 { Ok(()) } else { Err("this is no acknowledgement".into()) }
}

pub(super) const ENDED: &str = "the stream ended";

/// Starts another server on that side.
pub(super) fn listen<C: Carrier>(
    carrier: &C,
    there: &Runtime,
    service: Service,
    received: Arc<Received>,
) -> Result<SocketAddr, Fault> {
    let _within = there.enter();
    let (listener, server) = carrier.listen().map_err(failed)?;
    there.spawn(serve::<C>(listener, service, received));
    Ok(server)
}

/// Runs a future on the thread of a side.
pub(super) fn on<T: Send + 'static>(
    side: &Runtime,
    work: impl Future<Output = Result<T, Failure>> + Send + 'static,
) -> Result<T, Fault> {
    let work = side.spawn(async { tokio::time::timeout(TIMEOUT, work).await });
    match side.block_on(work) {
        Ok(Ok(done)) => done.map_err(failed),
        Ok(Err(_)) => Err(Fault::Failed("it hung".into())),
        Err(_) => Err(Fault::Failed("it panicked".into())),
    }
}

fn side(name: &str, number: usize) -> std::io::Result<Runtime> {
    Builder::new_multi_thread()
        .worker_threads(1)
        .thread_name(name)
        .on_thread_start(move || processor::keep(number))
        .enable_all()
        .build()
}

/// Bytes that compress no better than random ones, different for each index.
fn content(index: usize, bytes: usize) -> Bytes {
    // SplitMix64, as for the sample messages of the suite `codec`.
    let mut state = index as u64;
    let mut draw = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ z >> 31).to_le_bytes()
    };
    let mut content: Vec<u8> = (0..bytes.div_ceil(8)).flat_map(|_| draw()).collect();
    content.truncate(bytes);
    content.into()
}

pub(super) fn nanoseconds(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

fn process_cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

pub(crate) fn failed(error: impl ToString) -> Fault {
    Fault::Failed(error.to_string())
}
