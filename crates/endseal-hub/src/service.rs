//! Serves the connections of nodes.

mod answer;
mod ask;
mod connections;
mod exchange;
mod finds;
mod puts;
mod subscription;

use std::borrow::Cow;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::panic::resume_unwind;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use endseal_crypto::peer_id::PeerId;
use endseal_delivery::hub::RegistrationState;
use endseal_delivery::limit::MAX_PAYLOAD;
use endseal_keyring::person;
use endseal_service::operator_page::{self, ServiceStatus};
use endseal_transport::{
    Accept, CloseCode, Connection, Endpoint, FirstWindow, Limits, Policy, Statistics, TransportKey,
};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, mpsc, oneshot, watch};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{MissedTickBehavior, interval, timeout};

use self::connections::{Connections, FIRST_WINDOW, Newcomers, PER_PEER, WHOLE_WINDOW};
use self::exchange::serve_exchange;
use crate::budget::Budgets;
use crate::command::Command;
use crate::current_address::CurrentAddress;
use crate::directory::Directory;
use crate::error::ServeError;
use crate::limits::HubLimits;
use crate::metrics::Metrics;
use crate::reader::{self, Read, Readers};
use crate::store::{HubStore, StorageError};
use crate::writer;

/// KiB of frames that may wait for their commit.
const WAITING_KIB: usize = 32 << 10;
/// KiB of pages of mailboxes that may be on their way.
const PAGES_KIB: usize = 64 << 10;
/// Time within which an unregistered peer must register.
const REGISTRATION: Duration = Duration::from_secs(10);
/// Maximum length of a request of an unregistered peer. It is enough for a registration.
const REGISTRATION_LEN: usize = person::MAX_LEN + 4_096;
/// Maximum number of simultaneous exchanges on a connection.
const EXCHANGES: u32 = 16;
/// Maximum number of connections.
const CONNECTIONS: usize = 16_384;
/// Bytes of a connection that may be sent and not acknowledged.
const SEND_WINDOW: u32 = 1 << 20;
/// Interval at which expired frames are deleted.
const EXPIRY: Duration = Duration::from_secs(600);

/// Interval at which changes of other processes are looked for.
const RELOAD: Duration = Duration::from_secs(1);
/// Longest wait for a transaction that shows whether the database can be written.
const PROBE: Duration = Duration::from_secs(3);

/// A hub that serves until it is dropped.
#[allow(missing_debug_implementations, reason = "its endpoint holds a key")]
pub struct Hub {
    endpoint: Endpoint,
    service: ServiceState,
    /// The task that accepts connections.
    accepting: AbortHandle,
    is_shared: bool,
}

/// The state that all exchanges share.
#[derive(Clone)]
pub(crate) struct ServiceState {
    /// The hub's own peer id.
    pub(crate) peer_id: PeerId,
    pub(crate) address: CurrentAddress,
    pub(crate) commands: mpsc::Sender<Command>,
    pub(crate) reads: Readers,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) budgets: Arc<Budgets>,
    pub(crate) directory: Directory,
    /// Memory that is left for frames that wait for their commit, in KiB.
    pub(crate) memory: Arc<Semaphore>,
    /// Memory that is left for pages of mailboxes which nodes have not received yet, in KiB.
    pub(crate) pages: Arc<Semaphore>,
    pub(crate) newcomers: Newcomers,
    pub(crate) connections: Connections,
    /// The number of the latest subscription of each peer. A subscription ends when a newer one
    /// begins.
    pub(crate) subscriptions: Arc<Mutex<HashMap<PeerId, watch::Sender<u64>>>>,
}

impl Hub {
    /// Opens the socket and starts to serve.
    ///
    /// # Errors
    /// [`ServeError`] if the database cannot be read, the socket cannot be opened, or a thread
    /// cannot be started.
    ///
    /// # Panics
    /// Panics outside a tokio runtime with I/O and time enabled.
    pub fn serve(
        address: SocketAddr,
        key: &TransportKey,
        policy: Policy,
        mut store: Box<dyn HubStore>,
        limits: HubLimits,
    ) -> Result<Self, ServeError> {
        let is_shared = store.is_shared();
        let directory = Directory::default();
        let metrics = Arc::new(Metrics::default());
        let budgets = Arc::new(Budgets::new(&limits));
        let hub = key.peer_id();
        let note = CurrentAddress::new(hub);
        let adopting = note.clone();
        let start = || {
            if store.is_retired() {
                return Err(StorageError::Retired.into());
            }
            store.transact(&mut |transaction| transaction.claim(&hub))?;
            let reads = Readers {
                mailboxes: reader::start(store.reader()?, directory.clone())?,
                surveys: reader::start(store.reader()?, directory.clone())?,
            };
            let (known, reading) = (directory.clone(), reads.clone());
            let (of_all, counted) = (Arc::clone(&budgets), Arc::clone(&metrics));
            let commands = writer::start(store, limits, known, counted, of_all, reading, adopting)?;
            Ok::<_, ServeError>((reads, commands))
        };
        // A store may wait for a runtime of its own, which needs a thread without one.
        let started = thread::scope(|scope| scope.spawn(start).join());
        let (reads, commands) = match started {
            Ok(started) => started?,
            Err(panic) => resume_unwind(panic),
        };
        let service = ServiceState {
            peer_id: key.peer_id(),
            address: note,
            commands,
            reads,
            metrics,
            budgets,
            directory,
            memory: Arc::new(Semaphore::new(WAITING_KIB)),
            pages: Arc::new(Semaphore::new(PAGES_KIB)),
            newcomers: Newcomers::default(),
            connections: Connections::default(),
            subscriptions: Arc::default(),
        };
        let mut transport = Limits::default();
        transport.frame = MAX_PAYLOAD;
        transport.exchanges = EXCHANGES;
        // Nodes send exchanges alone.
        transport.messages = 1;
        // Those that are one too many take a moment to end.
        transport.connections_per_peer = 2 * PER_PEER;
        transport.connections = CONNECTIONS;
        transport.send_window = SEND_WINDOW;
        transport.connection_window = WHOLE_WINDOW;
        // An unregistered peer uses one exchange. The next one is there when it is registered.
        transport.first = Some(FirstWindow { bytes: FIRST_WINDOW, exchanges: 2 });
        transport.resets = match is_shared {
            false => Some(Box::default()),
            // Each of the processes with the key has a name of its own.
            true => process_name(address),
        };
        let everybody = Accept::when(|_| true);
        let endpoint = Endpoint::bind_with(address, key, policy, everybody, transport)?;
        let accepting = tokio::spawn(accept(endpoint.clone(), service.clone())).abort_handle();
        tokio::spawn(repeat(service.commands.downgrade(), EXPIRY, || Command::Expire));
        tokio::spawn(repeat(service.commands.downgrade(), RELOAD, || Command::Reload));
        Ok(Self { endpoint, service, accepting, is_shared })
    }

    /// Returns the address of the socket.
    ///
    /// # Errors
    /// Returns the error of the operating system if it does not report the address.
    pub fn local_address(&self) -> std::io::Result<SocketAddr> {
        self.endpoint.local_address()
    }

    /// Returns the hub's peer id.
    #[must_use]
    pub fn peer_id(&self) -> PeerId {
        self.endpoint.peer_id()
    }

    /// Returns the totals of the transport.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        self.endpoint.statistics()
    }

    /// Returns the counters of the hub and of the transport in Prometheus' text format. They
    /// identify no peer.
    pub async fn metrics_text(&self) -> String {
        self.reports().text().await
    }

    /// Serves `/metrics`, `/healthz` and `/readyz` over HTTP without a password, until the returned
    /// future is dropped. `/readyz` answers 503 while the database cannot be written, and after the
    /// hub has stopped accepting connections.
    pub async fn serve_metrics(&self, listener: TcpListener) {
        operator_page::serve(listener, self.reports()).await;
    }

    fn reports(&self) -> Reports {
        let ServiceState { reads, metrics, commands, .. } = self.service.clone();
        let (endpoint, accepting) = (self.endpoint.clone(), self.accepting.clone());
        let is_shared = self.is_shared;
        Reports { reads, commands, metrics, endpoint, accepting, is_shared }
    }

    /// Closes all connections and waits until their peers have been told. Everything that was
    /// answered is durable.
    pub async fn close(self) {
        self.endpoint.close(CloseCode::Done).await;
    }
}

/// The sources of the metrics and of the answer to `/readyz`.
#[derive(Clone)]
struct Reports {
    reads: Readers,
    commands: mpsc::Sender<Command>,
    metrics: Arc<Metrics>,
    endpoint: Endpoint,
    accepting: AbortHandle,
    /// True if the database is on a server.
    is_shared: bool,
}

impl Reports {
    async fn text(&self) -> String {
        let (answer, answered) = oneshot::channel();
        let state = match self.reads.surveys.send(Read::State(answer)).await {
            Ok(()) => answered.await.ok(),
            Err(_) => None,
        };
        if let Some(Err(cause)) = &state {
            self.metrics.read_errors.fetch_add(1, Relaxed);
            tracing::error!(target: "hub", %cause, "the database cannot be read");
        }
        let mut text = self.metrics.text(state.and_then(Result::ok), writer::now());
        text.push_str(&self.endpoint.statistics().to_prometheus());
        text
    }
}

impl ServiceStatus for Reports {
    async fn metrics(&self) -> String {
        self.text().await
    }

    async fn unready(&self) -> Option<Cow<'static, str>> {
        if self.accepting.is_finished() {
            return Some("the hub accepts no connections".into());
        }
        let has_room = self.metrics.room.load(Relaxed) > 0;
        // A server may be away while no one writes.
        if has_room && !self.metrics.last_write_failed.load(Relaxed) && !self.is_shared {
            return None;
        }
        // The writer determines the room before each transaction.
        let probe = async {
            let (answer, answered) = oneshot::channel();
            let sent = self.commands.send(Command::Probe(answer)).await.is_ok();
            sent && answered.await.is_ok()
        };
        let probed = timeout(PROBE, probe).await.unwrap_or(false);
        self.metrics.last_write_failed.store(!probed, Relaxed);
        if !probed {
            return Some("the database cannot be written".into());
        }
        let has_room = self.metrics.room.load(Relaxed) > 0;
        (!has_room).then_some("there is no space for frames".into())
    }
}

async fn accept(endpoint: Endpoint, service: ServiceState) {
    let mut connections = JoinSet::new();
    while let Some(connection) = endpoint.accept().await {
        while connections.try_join_next().is_some() {}
        connections.spawn(serve_connection(connection, service.clone()));
    }
}

/// Sends a command at once and then at an interval.
async fn repeat(commands: mpsc::WeakSender<Command>, every: Duration, command: fn() -> Command) {
    let mut clock = interval(every);
    clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        clock.tick().await;
        let Some(commands) = commands.upgrade() else { return };
        if commands.send(command()).await.is_err() {
            return;
        }
    }
}

async fn serve_connection(connection: Connection, service: ServiceState) {
    let peer = connection.peer();
    let _connected = service.directory.enter(peer);
    if let Err(code) = look_up(peer, &service).await {
        connection.close(code).await;
        return;
    }
    if service.directory.state(&peer) == RegistrationState::Unknown {
        let _newcomer = service.newcomers.enter(&connection);
        let _open = service.metrics.unregistered();
        // The peer may open one exchange for its registration, and no other one.
        let registered = async {
            let (sender, receiver) = connection.accept_exchange().await.ok()?;
            serve_exchange(peer, sender, receiver, service.clone()).await;
            (service.directory.state(&peer) == RegistrationState::Registered).then_some(())
        };
        let is_registered = timeout(REGISTRATION, registered).await.ok().flatten().is_some();
        if !is_registered {
            service.metrics.unregistered_refused.fetch_add(1, Relaxed);
            connection.close(CloseCode::Refused).await;
            return;
        }
    }
    let _open = service.metrics.registered();
    let place = service.connections.enter(&connection);
    let mut exchanges = JoinSet::new();
    let mut wide = None;
    while let Ok((sender, mut receiver)) = connection.accept_exchange().await {
        // A node makes several connections and uses one of them.
        wide.get_or_insert_with(|| place.widen(&connection, EXCHANGES));
        receiver.share_memory(Arc::clone(&place.memory.partial));
        while exchanges.try_join_next().is_some() {}
        exchanges.spawn(serve_exchange(peer, sender, receiver, service.clone()));
    }
}

/// Reads the registration of a peer that has connected.
async fn look_up(peer: PeerId, service: &ServiceState) -> Result<(), CloseCode> {
    let (answer, answered) = oneshot::channel();
    let sent = service.reads.mailboxes.send(Read::Device(peer, answer)).await;
    let found = sent.is_ok().then_some(answered);
    match found.ok_or(CloseCode::Busy)?.await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(cause)) => {
            service.metrics.read_errors.fetch_add(1, Relaxed);
            tracing::error!(target: "hub", %cause, "a device cannot be read");
            Err(CloseCode::Busy)
        }
        Err(_) => Err(CloseCode::Done),
    }
}

/// Returns a name that no other process before the same database has. `None` if the machine has
/// none of its own, or the port is not known.
fn process_name(address: SocketAddr) -> Option<Box<[u8]>> {
    if address.port() == 0 {
        return None;
    }
    let machine = rustix::system::uname();
    let machine = machine.nodename().to_str().ok().filter(|it| !it.starts_with("localhost"))?;
    Some(format!("{machine} {address}").into_bytes().into())
}
