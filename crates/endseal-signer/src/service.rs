//! Signer process: relay connections, control socket, pages and signals.
//!
//! Sockets are served on the thread that calls [`run`]. The engine has a thread of its own, because
//! its commits and key derivations block. Events and commands are sent to it through channels.

mod devices;
mod greetings;
mod handle;
mod page;
mod relay_lines;
mod relays;
mod socket;
mod status;
mod worker;

use alloc::sync::Arc;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use core::time::Duration;
use std::io;
use std::thread;

use endseal_service::browser_page::{InvalidOrigin, Origin, Sessions, Site, listen_on_loopback};
use endseal_service::operator_page;
use tokio::net::TcpListener;
use tokio::runtime::Builder;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use self::devices::DevicePorts;
use self::handle::Handle;
use self::relays::Reaching;
use self::status::SignerStatus;
use self::worker::Worker;
use crate::control::CommandError;
use crate::engine::Engine;
use crate::error::UnlockError;
use crate::metrics::Metrics;
use crate::options::{Listening, Options};

/// Capacity of the queue of relay events to the engine: 40 MiB at most.
const EVENTS: usize = 64;
const _: () = assert!(EVENTS * relays::MAX_MESSAGE <= 40 << 20, "as above");
/// Longest wait for the first relay before the signer reports that it serves.
const FIRST_RELAY: Duration = Duration::from_secs(10);
/// Time that responses have to be sent when the signer stops.
pub(crate) const GRACE: Duration = Duration::from_secs(5);

/// Reason why a signer could not start to serve, or stopped by itself.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The signer has no relays, or one is malformed.
    #[error("{0}")]
    Relays(CommandError),
    /// The users' keys could not be decrypted.
    #[error("{0}")]
    Keys(UnlockError),
    /// The signer cannot listen at this address.
    #[error("cannot listen at {0}: {1}")]
    Listen(SocketAddr, io::Error),
    /// The URL of the page is malformed.
    #[error("{0}")]
    Page(InvalidOrigin),
    /// The page listens elsewhere than at 127.0.0.1 or ::1, and no URL says how browsers reach it.
    #[error("a page at {0} needs the URL at which browsers reach it")]
    PageUrl(SocketAddr),
    /// The control socket cannot be created.
    #[error("the control socket cannot be created: {0}")]
    Socket(io::Error),
    /// The system has no free threads or sockets.
    #[error("cannot start to serve: {0}")]
    System(io::Error),
    /// The callback that gets the listening addresses returned false.
    #[error("the start was cancelled")]
    Unreported,
    /// The engine's thread ended because of a bug.
    #[error("the engine stopped unexpectedly: this is a bug")]
    Engine,
}

/// Serves until the future that `stop` returns on the runtime completes. `started` is called once a
/// relay is connected, at once if there is no app, or after ten seconds. The signer stops if it
/// returns false.
pub(crate) fn run<S: Future<Output = ()>>(
    engine: Engine,
    metrics: Arc<Metrics>,
    options: &Options,
    started: &mut dyn FnMut(Listening) -> bool,
    stop: impl FnOnce() -> Result<S, RunError>,
) -> Result<(), RunError> {
    let runtime = Builder::new_current_thread().enable_all().build().map_err(RunError::System)?;
    runtime.block_on(async { serve(engine, metrics, options, started, stop()?).await })
}

async fn serve(
    mut engine: Engine,
    metrics: Arc<Metrics>,
    options: &Options,
    started: &mut dyn FnMut(Listening) -> bool,
    until: impl Future<Output = ()>,
) -> Result<(), RunError> {
    let directory = engine.directory().to_owned();
    let control = socket::listen(&directory).map_err(RunError::Socket)?;
    let metrics_listener = listen(options.metrics).await?;
    let page = listen_for_page(options).await?;
    let origin = page.as_ref().map(|(_, origin)| origin.clone());
    let listening = Listening {
        metrics: metrics_listener.as_ref().map(|(_, address)| *address),
        page: origin.as_ref().map(|it| format!("{it}/")),
    };

    let (calls, received_calls) = mpsc::channel(16);
    let (events, received_events) = mpsc::channel(EVENTS);
    let sessions = Arc::new(Sessions::default());
    engine.set_page(origin.as_ref().map(Origin::to_string));
    let handle = Handle::new(calls, Arc::clone(&sessions), origin);
    let reaching = Reaching { proxy: options.proxy, allow_private: options.allow_private };
    let (first, first_connected) = oneshot::channel();
    let (stop, stopped) = oneshot::channel();
    let (notices, received_notices) = mpsc::unbounded_channel();
    let devices = DevicePorts::start(&options.devices, &notices).map_err(RunError::System)?;
    let worker = Worker::new(engine, Arc::clone(&metrics), reaching, events, first, devices);
    let here = tokio::runtime::Handle::current();
    let (ended, mut has_ended) = oneshot::channel();
    let thread = thread::Builder::new().name("engine".to_owned()).spawn(move || {
        worker.run(&here, received_events, received_calls, received_notices, stopped);
        // The receiver may have been dropped.
        let _ = ended.send(());
    });
    let thread = thread.map_err(RunError::System)?;

    let commands = handle.clone();
    let commands = tokio::spawn(async move { socket::serve(&control, commands).await });
    if let Some((listener, _)) = metrics_listener {
        tokio::spawn(operator_page::serve(listener, SignerStatus(metrics)));
    }
    if let Some((listeners, origin)) = page {
        let (name, cookie) = ("endseal signer", page::COOKIE);
        let site = Site { name, cookie, sign_in: "endseal signer sign-in", origin, sessions };
        tokio::spawn(page::serve(site, handle, listeners));
    }
    // Commands are served even if no relay is connected.
    let _ = timeout(FIRST_RELAY, first_connected).await;
    let outcome = if started(listening) {
        tokio::select! {
            () = until => Ok(()),
            _ = &mut has_ended => return Err(RunError::Engine),
        }
    } else {
        Err(RunError::Unreported)
    };
    // This task owns the socket, so aborting it closes the socket.
    commands.abort();
    // The engine publishes its remaining responses, and the relay connections send them.
    let _ = stop.send(());
    let _ = timeout(GRACE * 2, has_ended).await;
    if thread.is_finished() && thread.join().is_err() {
        return Err(RunError::Engine);
    }
    outcome
}

/// Listens for the page, if there is one. Returns the listeners and the origin at which browsers
/// reach it.
async fn listen_for_page(
    options: &Options,
) -> Result<Option<(Vec<TcpListener>, Origin)>, RunError> {
    let Some(address) = options.page else { return Ok(None) };
    if let Some(url) = &options.page_url {
        let origin = url.parse().map_err(RunError::Page)?;
        let listener = listen(Some(address)).await?;
        return Ok(listener.map(|(listener, _)| (vec![listener], origin)));
    }
    let is_local = [Ipv4Addr::LOCALHOST.into(), IpAddr::from(Ipv6Addr::LOCALHOST)];
    if !is_local.contains(&address.ip()) {
        return Err(RunError::PageUrl(address));
    }
    listen_on_loopback(address).await.map(Some).map_err(|it| RunError::Listen(address, it))
}

async fn listen(
    address: Option<SocketAddr>,
) -> Result<Option<(TcpListener, SocketAddr)>, RunError> {
    let Some(address) = address else { return Ok(None) };
    let failed = |error| RunError::Listen(address, error);
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    Ok(Some((listener, bound)))
}
