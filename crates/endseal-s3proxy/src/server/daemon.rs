//! A whole server in a process of its own: threads, sockets, signals.

use core::fmt;
use core::net::SocketAddr;
use core::pin::pin;
use std::io;
use std::sync::Arc;
use std::thread::available_parallelism;

use endseal_service::stop_signal;
use tokio::net::TcpListener;
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use crate::admin::check_backend;
use crate::config::Config;
use crate::context::Proxy;
use crate::server::Server;
use crate::server::reload::reload;
use crate::start::StartError;

/// Where a server listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Listening {
    /// For clients.
    pub address: SocketAddr,
    /// True if it uses TLS.
    pub tls: bool,
    /// For who asks for metrics, if that is configured.
    pub metrics: Option<SocketAddr>,
}

/// Why a server did not begin, or ended without having been told to.
#[derive(Debug)]
#[non_exhaustive]
pub enum RunError {
    /// The proxy could not be made of its configuration.
    Start(StartError),
    /// The files of TLS cannot be used.
    Tls(io::Error),
    /// An address cannot be listened at.
    Listen(SocketAddr, io::Error),
    /// The system has no threads or sockets left.
    System(io::Error),
    /// The receiver of the listening address did not take it.
    Untold,
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start(error) => write!(f, "the proxy cannot start: {error}"),
            Self::Tls(error) => write!(f, "the proxy has no TLS: {error}"),
            Self::Listen(address, error) => write!(f, "cannot listen at {address}: {error}"),
            Self::System(error) => write!(f, "cannot begin to serve: {error}"),
            Self::Untold => f.write_str("nobody took note of where the proxy listens"),
        }
    }
}

impl core::error::Error for RunError {}

/// Serves until the process gets SIGINT or SIGTERM, with a thread for each CPU. `begun` is told
/// where it listens when signals are handled, and says whether it goes on. Returns how many
/// connections were cut at the end.
///
/// With SIGHUP, requests that begin are served by what `read` gives, and those that have begun end
/// as they began. Addresses, `limits.connections`, `limits.drain` and `backend.folder` stay as they
/// are until the process ends.
///
/// # Errors
/// [`RunError`].
pub fn run(
    config: &Config,
    read: &dyn Fn() -> Result<Config, String>,
    begun: &mut dyn FnMut(Listening) -> bool,
) -> Result<usize, RunError> {
    // Connections are served by threads of the server's own.
    let threads = available_parallelism().map_or(1, usize::from);
    let runtime = Builder::new_current_thread().enable_all().build().map_err(RunError::System)?;
    runtime.block_on(serve(config, read, threads, begun))
}

async fn serve(
    config: &Config,
    read: &dyn Fn() -> Result<Config, String>,
    threads: usize,
    begun: &mut dyn FnMut(Listening) -> bool,
) -> Result<usize, RunError> {
    let proxy = Arc::new(Proxy::start(config).map_err(RunError::Start)?);
    let server = Server::new(Arc::clone(&proxy), config.tls.as_ref()).map_err(RunError::Tls)?;
    let server = server.with_workers(threads).map_err(RunError::System)?;
    let (listener, address) = listen(config.listen).await?;
    let metrics = match config.metrics {
        Some(metrics) => Some(listen(metrics).await?),
        None => None,
    };
    let mut hangup = signal(SignalKind::hangup()).map_err(RunError::System)?;
    let stopping = stop_signal().map_err(RunError::System)?;
    let listening = Listening {
        address,
        tls: config.tls.is_some(),
        metrics: metrics.as_ref().map(|(_, address)| *address),
    };
    if !begun(listening) {
        return Err(RunError::Untold);
    }
    tokio::spawn(async move { warn_of_backend(&proxy).await });
    if let Some((listener, _)) = metrics {
        tokio::spawn(server.metrics().serve(listener));
    }
    let (stop, stopped) = watch::channel(false);
    tokio::spawn(async move {
        stopping.await;
        // Nobody listens if the server has ended by itself.
        let _ = stop.send(true);
    });
    let current = server.current().clone();
    let mut served = pin!(server.serve(listener, stopped));
    loop {
        tokio::select! {
            cut = &mut served => return cut.map_err(RunError::System),
            _ = hangup.recv() => reload(&current, config, read),
        }
    }
}

/// Warns once if the backend cannot be used when the server starts. It may answer later.
async fn warn_of_backend(proxy: &Proxy) {
    if let Err(fault) = check_backend(proxy).await {
        let cause = fault.to_string();
        tracing::warn!(target: "failure", kind = "backend", cause, "the backend cannot be used");
    }
}

async fn listen(address: SocketAddr) -> Result<(TcpListener, SocketAddr), RunError> {
    let failed = |error| RunError::Listen(address, error);
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    Ok((listener, bound))
}
