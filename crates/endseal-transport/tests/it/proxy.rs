//! UDP proxy between a client and a server, with delay, loss, reordering and a change of address.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use endseal_testing::SplitMix64;
use tokio::net::UdpSocket;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::pair::HERE;

/// Treatment of datagrams by the path, in both directions.
#[derive(Clone, Copy, Default)]
pub(crate) struct Weather {
    /// Delay in one direction.
    pub(crate) delay: Duration,
    /// Lost datagrams per 1,000.
    pub(crate) loss: u64,
    /// Datagrams per 1,000 that are delayed by another 5 ms, so that others overtake them.
    pub(crate) late: u64,
    /// Length in bytes above which datagrams are lost.
    pub(crate) longest: Option<usize>,
}

/// A datagram and its time of arrival.
type Timed = (Instant, Vec<u8>);

/// A recorded datagram: true if it comes from the client, and its bytes.
pub(crate) type Seen = (bool, Vec<u8>);

pub(crate) struct Proxy {
    address: SocketAddr,
    state: Arc<State>,
    task: JoinHandle<()>,
}

struct State {
    server: SocketAddr,
    weather: Weather,
    /// Socket that sends to the server. A new socket means a new client address.
    outside: Mutex<Arc<UdpSocket>>,
    inside: Arc<UdpSocket>,
    client: Mutex<Option<SocketAddr>>,
    seen: Mutex<Vec<Seen>>,
    keep: AtomicBool,
    random: Mutex<SplitMix64>,
    lost: AtomicU32,
    silent: AtomicBool,
    deaf: AtomicBool,
    mute: AtomicBool,
    retries_only: AtomicBool,
    /// Queues to the server and to the client, in order except for late datagrams.
    lines: (UnboundedSender<Timed>, UnboundedSender<Timed>),
}

impl Proxy {
    pub(crate) async fn new(server: SocketAddr, weather: Weather, seed: u64) -> Self {
        Self::from(HERE, server, weather, seed).await
    }

    /// Starts a proxy that the server sees at the given address.
    pub(crate) async fn from(
        source: &str,
        server: SocketAddr,
        weather: Weather,
        seed: u64,
    ) -> Self {
        let inside = Arc::new(UdpSocket::bind(HERE).await.unwrap());
        let outside = Arc::new(UdpSocket::bind(source).await.unwrap());
        let address = inside.local_addr().unwrap();
        let (to_server, line_to_server) = unbounded_channel();
        let (to_client, line_to_client) = unbounded_channel();
        let state = Arc::new(State {
            lines: (to_server, to_client),
            server,
            weather,
            outside: Mutex::new(outside.clone()),
            inside,
            client: Mutex::new(None),
            seen: Mutex::default(),
            keep: AtomicBool::new(true),
            random: Mutex::new(SplitMix64::new(seed)),
            lost: AtomicU32::new(0),
            silent: AtomicBool::new(false),
            deaf: AtomicBool::new(false),
            mute: AtomicBool::new(false),
            retries_only: AtomicBool::new(false),
        });
        tokio::spawn(from_server(state.clone(), outside));
        tokio::spawn(state.clone().deliver(true, line_to_server));
        tokio::spawn(state.clone().deliver(false, line_to_client));
        let task = tokio::spawn(from_client(state.clone()));
        Self { address, state, task }
    }

    /// Returns the address to which the client connects.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// From now on, datagrams reach the server from another address.
    pub(crate) async fn change_address(&self) {
        let outside = Arc::new(UdpSocket::bind(HERE).await.unwrap());
        tokio::spawn(from_server(self.state.clone(), outside.clone()));
        *self.state.outside.lock().unwrap() = outside;
    }

    /// From now on, no datagram passes.
    pub(crate) fn cut(&self) {
        self.state.silent.store(true, Ordering::Relaxed);
    }

    /// From now on, no datagram reaches the server.
    pub(crate) fn mute(&self) {
        self.state.mute.store(true, Ordering::Relaxed);
    }

    /// From now on, no datagram reaches the client.
    pub(crate) fn deafen(&self) {
        self.state.deaf.store(true, Ordering::Relaxed);
    }

    /// From now on, only Retry packets reach the client: it proves its address and gets no further.
    pub(crate) fn pass_retries_only(&self) {
        self.state.retries_only.store(true, Ordering::Relaxed);
    }

    /// Returns all datagrams that entered so far, in order, and stops recording.
    pub(crate) fn take_seen(&self) -> Vec<Seen> {
        self.state.keep.store(false, Ordering::Relaxed);
        std::mem::take(&mut self.state.seen.lock().unwrap())
    }

    pub(crate) fn lost(&self) -> u32 {
        self.state.lost.load(Ordering::Relaxed)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.cut();
        self.task.abort();
    }
}

async fn from_client(state: Arc<State>) {
    let mut buffer = vec![0; 65_536];
    while let Ok((len, from)) = state.inside.recv_from(&mut buffer).await {
        *state.client.lock().unwrap() = Some(from);
        state.pass(true, buffer[..len].to_vec());
    }
}

async fn from_server(state: Arc<State>, outside: Arc<UdpSocket>) {
    let mut buffer = vec![0; 65_536];
    while let Ok((len, _)) = outside.recv_from(&mut buffer).await {
        state.pass(false, buffer[..len].to_vec());
    }
}

impl State {
    fn pass(&self, from_client: bool, datagram: Vec<u8>) {
        let deaf = !from_client && self.deaf.load(Ordering::Relaxed);
        let mute = from_client && self.mute.load(Ordering::Relaxed);
        // A long header of type Retry (RFC 9000, 17.2.5).
        let is_retry = datagram.first().is_some_and(|first| first & 0xf0 == 0xf0);
        let kept = !from_client && self.retries_only.load(Ordering::Relaxed) && !is_retry;
        if kept || deaf || mute || self.silent.load(Ordering::Relaxed) {
            return;
        }
        if self.keep.load(Ordering::Relaxed) {
            self.seen.lock().unwrap().push((from_client, datagram.clone()));
        }
        let (lost, late) = {
            let mut random = self.random.lock().unwrap();
            (random.below(1000) < self.weather.loss, random.below(1000) < self.weather.late)
        };
        if lost || self.weather.longest.is_some_and(|longest| datagram.len() > longest) {
            self.lost.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let on_its_way = (Instant::now() + self.weather.delay, datagram);
        let line = if from_client { &self.lines.0 } else { &self.lines.1 };
        if late {
            let line = line.clone();
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_millis(5)).await;
                // The receiving side of the proxy may be gone.
                let _sent = line.send(on_its_way);
            });
        } else {
            let _sent = line.send(on_its_way);
        }
    }

    async fn deliver(self: Arc<Self>, from_client: bool, mut line: UnboundedReceiver<Timed>) {
        while let Some((due, datagram)) = line.recv().await {
            tokio::time::sleep_until(due).await;
            let outside = self.outside.lock().unwrap().clone();
            let client = *self.client.lock().unwrap();
            // A full buffer loses the datagram, as on any path.
            let _sent = match (from_client, client) {
                (true, _) => outside.send_to(&datagram, self.server).await,
                (false, Some(client)) => self.inside.send_to(&datagram, client).await,
                (false, None) => Ok(0),
            };
        }
    }
}
