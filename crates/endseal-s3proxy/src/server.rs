//! The front: sockets, TLS, bounds of connections, and an end that lets requests end.

use core::net::SocketAddr;
use core::time::Duration;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use hyper::server::conn::http1;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

use crate::config::TlsFiles;
use crate::front::{Front, HeadTimer, Serving, Stream};
use crate::proxy::Proxy;
use crate::read_len;
use crate::workers::{Seat, SeatedStream, Workers};

/// A proxy that listens.
#[derive(Clone)]
#[allow(missing_debug_implementations, reason = "the proxy holds secret access keys")]
pub struct Server {
    proxy: Arc<Proxy>,
    tls: Option<TlsAcceptor>,
    workers: Option<Arc<Workers>>,
}

/// Longest time for a handshake of TLS.
const TLS_HANDSHAKE: Duration = Duration::from_secs(10);

/// Bytes that a connection reads at once, however many there are.
const LEAST_READ: usize = 128 * 1024;

impl Server {
    /// A server in front of a proxy.
    ///
    /// # Errors
    /// If the files of TLS cannot be read, or hold no chain and key that fit.
    pub fn new(proxy: Arc<Proxy>, tls: Option<&TlsFiles>) -> io::Result<Self> {
        let tls = tls.map(acceptor).transpose()?;
        Ok(Self { proxy, tls, workers: None })
    }

    /// Serves connections on so many threads of its own, instead of the runtime that it is called
    /// in.
    ///
    /// # Errors
    /// If the system has no threads left.
    pub fn with_workers(self, threads: usize) -> io::Result<Self> {
        Ok(Self { workers: Some(Arc::new(Workers::start(threads)?)), ..self })
    }

    /// Serves what comes in until `stop` turns true, then waits for requests on their way, at most
    /// as long as the limits say. Returns how many connections were cut.
    ///
    /// # Errors
    /// If the listener breaks for good.
    pub async fn serve(
        self,
        listener: TcpListener,
        stop: watch::Receiver<bool>,
    ) -> io::Result<usize> {
        let limits = self.proxy.limits();
        let connections = limits.connections;
        let drain = limits.drain;
        let free = Arc::new(Semaphore::new(connections));
        let mut stopping = stop.clone();
        loop {
            let permit = tokio::select! {
                permit = Arc::clone(&free).acquire_owned() => permit.map_err(io::Error::other)?,
                () = stopped(&mut stopping) => break,
            };
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = stopped(&mut stopping) => break,
            };
            match accepted {
                Ok((stream, peer)) => {
                    // Without it small answers wait for the client's acknowledgement.
                    let _ = stream.set_nodelay(true);
                    // If it cannot be handed over, it is closed.
                    let _ = self.begin(stream, peer, stop.clone(), permit);
                }
                // Of one connection, or for want of file descriptors: others may still come.
                Err(_) => sleep(Duration::from_millis(20)).await,
            }
        }
        drop(listener);
        let all = u32::try_from(connections).unwrap_or(u32::MAX);
        // Each connection holds one of the permits until it ends.
        match timeout(drain, free.acquire_many(all)).await {
            Ok(_) => Ok(0),
            Err(_) => Ok(connections.saturating_sub(free.available_permits())),
        }
    }

    /// Serves a connection: on the worker that has the fewest, or on this runtime.
    fn begin(
        &self,
        stream: TcpStream,
        peer: SocketAddr,
        stop: watch::Receiver<bool>,
        permit: OwnedSemaphorePermit,
    ) -> io::Result<()> {
        // The workers' end is not to wait for their own connections.
        let server = Self { workers: None, ..self.clone() };
        let Some(workers) = &self.workers else {
            let stream = SeatedStream::new(stream, None);
            tokio::spawn(server.connection(stream, peer, None, stop, permit));
            return Ok(());
        };
        // Its readiness is told by the runtime that serves it.
        let stream = stream.into_std()?;
        workers.give(|seat| async move {
            if let Ok(stream) = TcpStream::from_std(stream) {
                let stream = SeatedStream::new(stream, Some(seat.clone()));
                server.connection(stream, peer, Some(seat), stop, permit).await;
            }
        });
        Ok(())
    }

    async fn connection(
        self,
        stream: SeatedStream,
        peer: SocketAddr,
        seat: Option<Seat>,
        stop: watch::Receiver<bool>,
        permit: OwnedSemaphorePermit,
    ) {
        let all = self.proxy.limits().connections;
        let connections = all.saturating_sub(permit.semaphore().available_permits());
        let buffer = read_len::share(connections, LEAST_READ, read_len::MOST);
        match &self.tls {
            None => self.http(stream, peer, seat, buffer, stop).await,
            Some(tls) => {
                if let Ok(Ok(stream)) = timeout(TLS_HANDSHAKE, tls.accept(stream)).await {
                    self.http(stream, peer, seat, buffer, stop).await;
                }
            }
        }
        drop(permit);
    }

    async fn http(
        &self,
        stream: impl Stream + 'static,
        peer: SocketAddr,
        seat: Option<Seat>,
        buffer: usize,
        mut stop: watch::Receiver<bool>,
    ) {
        let limits = self.proxy.limits();
        // Fields: up to 100, hyper's default, for which it has room on its stack. More than are asked for, it takes from the
        // allocator for each request, twice 6.4 KB for 200.
        let mut builder = http1::Builder::new();
        builder
            .timer(HeadTimer::new(seat.clone()))
            .header_read_timeout(limits.header_timeout)
            .max_buf_size((limits.header_bytes + 16 * 1024).max(buffer))
            .half_close(true);
        let stream: Box<dyn Stream> = Box::new(stream);
        let front = Front::new(stream, limits.idle_timeout, limits.min_rate, seat.clone());
        let mut serving = Serving::new(builder, front, buffer, |request, intake| {
            let proxy = Arc::clone(&self.proxy);
            let busy = seat.as_ref().map(Seat::begin);
            async move {
                let response = proxy.answer_over(intake, request, peer).await;
                Ok(response.map(|body| body.with(busy)))
            }
        });
        tokio::select! {
            () = serving.serve() => return,
            () = stopped(&mut stop) => {}
        }
        serving.stop();
        serving.serve().await;
    }
}

/// Returns when `stop` turns true, or nobody is left who could say so.
async fn stopped(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|stop| *stop).await;
}

fn acceptor(files: &TlsFiles) -> io::Result<TlsAcceptor> {
    let chain = CertificateDer::pem_slice_iter(&read(&files.certificate)?)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| named(&files.certificate, error))?;
    let key = PrivateKeyDer::from_pem_slice(&read(&files.key)?)
        .map_err(|error| named(&files.key, error))?;
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key))
        .map_err(|error| named(&files.certificate, error))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    fs::read(path)
        .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))
}

fn named(path: &Path, error: impl core::fmt::Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("{}: {error}", path.display()))
}
