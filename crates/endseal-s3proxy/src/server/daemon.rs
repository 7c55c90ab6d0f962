//! Proxy as a process: threads, sockets and signals.

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

/// Addresses at which a proxy listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Listening {
    /// Address for clients.
    pub address: SocketAddr,
    /// True if clients connect with TLS.
    pub tls: bool,
    /// Address for metrics, if configured.
    pub metrics: Option<SocketAddr>,
}

/// Reason why a proxy could not start, or stopped by itself.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The configuration could not be applied.
    #[error("the proxy cannot start: {0}")]
    Start(StartError),
    /// The certificate or key file cannot be used.
    #[error("the TLS files cannot be used: {0}")]
    Tls(io::Error),
    /// The proxy cannot listen at this address.
    #[error("cannot listen at {0}: {1}")]
    Listen(SocketAddr, io::Error),
    /// The system has no free threads or sockets.
    #[error("cannot start to serve: {0}")]
    System(io::Error),
    /// The callback that gets the listening addresses returned false.
    #[error("the start was cancelled")]
    Unreported,
}

/// Serves until the process gets SIGINT or SIGTERM, with one thread per CPU. `started` is called
/// with the listening addresses once signals are handled; if it returns false, the proxy stops.
/// Returns the number of connections that were aborted at the end.
///
/// On SIGHUP the configuration is read again with `read`. New requests use it, and running requests
/// keep the previous one. Addresses, `limits.connections`, `limits.connections_per_peer`,
/// `limits.drain` and `backend.folder` can only be changed by a restart.
///
/// # Errors
/// [`RunError`] if the proxy cannot start, or stops by itself.
pub fn run(
    config: &Config,
    read: &dyn Fn() -> Result<Config, String>,
    started: &mut dyn FnMut(Listening) -> bool,
) -> Result<usize, RunError> {
    // Connections are served by the server's own threads.
    let threads = available_parallelism().map_or(1, usize::from);
    let runtime = Builder::new_current_thread().enable_all().build().map_err(RunError::System)?;
    runtime.block_on(serve(config, read, threads, started))
}

async fn serve(
    config: &Config,
    read: &dyn Fn() -> Result<Config, String>,
    threads: usize,
    started: &mut dyn FnMut(Listening) -> bool,
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
    if !started(listening) {
        return Err(RunError::Unreported);
    }
    tokio::spawn(async move { warn_of_backend(&proxy).await });
    if let Some((listener, _)) = metrics {
        tokio::spawn(server.metrics().serve(listener));
    }
    let (stop, stopped) = watch::channel(false);
    tokio::spawn(async move {
        stopping.await;
        // The receiver is gone if the server has stopped by itself.
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

/// Logs a warning if the backend cannot be used at the start. It may become available later.
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
