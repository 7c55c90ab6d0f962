//! The front: sockets, TLS, bounds of connections, and an end that lets requests end.

use core::net::SocketAddr;
use core::pin::pin;
use core::time::Duration;
use std::io;
use std::sync::Arc;

use endseal_s3_protocol::Query;
use http::{Method, Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinError;
use tokio::time::{sleep, timeout};

use crate::config::TlsFiles;
use crate::context::Proxy;
use crate::server::generation::{Current, Generation};
use crate::server::metrics::MetricsServer;
use crate::server::slow_peer::Front;
use crate::server::workers::Workers;
use crate::transfer::Outgoing;

/// A proxy that listens.
#[derive(Clone)]
#[allow(missing_debug_implementations, reason = "the proxy holds secret access keys")]
pub struct Server {
    current: Current,
    workers: Option<Arc<Workers>>,
}

/// Longest time for a handshake of TLS.
const TLS_HANDSHAKE: Duration = Duration::from_secs(10);

/// Headers of a request. The limit of their bytes comes first: 2 KB of user metadata are up to 500
/// headers.
const MAX_HEADERS: usize = 2_048;

/// Bytes of a connection's read buffer at most.
const READ_BUFFER: usize = 256 * 1024;

impl Server {
    /// A server in front of a proxy.
    ///
    /// # Errors
    /// If the files of TLS cannot be read, or hold no chain and key that fit.
    pub fn new(proxy: Arc<Proxy>, tls: Option<&TlsFiles>) -> io::Result<Self> {
        let current = Current::new(Generation::new(proxy, tls)?);
        Ok(Self { current, workers: None })
    }

    /// The listener for its metrics.
    #[must_use]
    pub fn metrics(&self) -> MetricsServer {
        MetricsServer::new(self.current.clone())
    }

    pub(crate) const fn current(&self) -> &Current {
        &self.current
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
        let limits = self.current.proxy().limits().clone();
        let (connections, drain) = (limits.connections, limits.drain);
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
            tokio::spawn(server.connection(stream, peer, stop, permit));
            return Ok(());
        };
        // Its readiness is told by the runtime that serves it.
        let stream = stream.into_std()?;
        workers.give(async move {
            if let Ok(stream) = TcpStream::from_std(stream) {
                server.connection(stream, peer, stop, permit).await;
            }
        });
        Ok(())
    }

    async fn connection(
        self,
        stream: TcpStream,
        peer: SocketAddr,
        stop: watch::Receiver<bool>,
        permit: OwnedSemaphorePermit,
    ) {
        let permit = Arc::new(permit);
        // Cloned: an idle connection is not to keep keys of a configuration that was replaced.
        let tls = self.current.get().tls.clone();
        match tls {
            None => self.http(stream, peer, &permit, stop).await,
            Some(tls) => {
                if let Ok(Ok(stream)) = timeout(TLS_HANDSHAKE, tls.accept(stream)).await {
                    self.http(stream, peer, &permit, stop).await;
                }
            }
        }
    }

    async fn http(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        peer: SocketAddr,
        permit: &Arc<OwnedSemaphorePermit>,
        mut stop: watch::Receiver<bool>,
    ) {
        let limits = self.current.proxy().limits().clone();
        let front = Front::new(stream, limits.idle_timeout, limits.min_rate);
        let service =
            service_fn(|request| answer(self.current.proxy(), request, peer, Arc::clone(permit)));
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(limits.header_timeout)
            .max_headers(MAX_HEADERS)
            .max_buf_size((limits.header_bytes + 16 * 1024).max(READ_BUFFER))
            .half_close(true)
            .serve_connection(TokioIo::new(front), service);
        let mut connection = pin!(connection);
        // Clients that vanish, and bodies that were cut because they did not authenticate, end here
        // with an error that their request has counted already.
        tokio::select! {
            _ = connection.as_mut() => return,
            () = stopped(&mut stop) => {}
        }
        connection.as_mut().graceful_shutdown();
        let _ = connection.await;
    }
}

/// Answers a request. Dropped, the work on it ends, unless it completes an upload.
///
/// # Errors
/// If the runtime ends.
async fn answer(
    proxy: Arc<Proxy>,
    request: Request<Incoming>,
    peer: SocketAddr,
    permit: Arc<OwnedSemaphorePermit>,
) -> Result<Response<Outgoing>, JoinError> {
    if !completes_upload(&request) {
        return Ok(proxy.answer(request, peer).await);
    }
    // MinIO, whose client goes away while it completes, leaves an upload without parts behind.
    let work = async move {
        let answer = proxy.answer(request, peer).await;
        drop(permit);
        answer
    };
    tokio::spawn(work).await
}

/// True if a request asks for `CompleteMultipartUpload`.
fn completes_upload(request: &Request<Incoming>) -> bool {
    let query = || Query::parse(request.uri().query().unwrap_or(""));
    request.method() == Method::POST && query().is_ok_and(|query| query.has("uploadId"))
}

/// Returns when `stop` turns true, or its sender is gone.
async fn stopped(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|stop| *stop).await;
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use endseal_crypto::random::OsRandom;
    use endseal_kms::{Ring, RingProvider};
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::{TcpListener, TcpStream};
    use tokio::sync::watch;
    use tokio::time::{Duration, timeout};

    use super::Server;
    use crate::access::{Client, SecretAccessKey};
    use crate::config::{Backend, Config, Keys};
    use crate::context::Proxy;
    use crate::server::generation::Generation;
    use crate::upstream::{self, Limits, Target, Trust};

    fn proxy() -> Arc<Proxy> {
        let secret = || SecretAccessKey::new("secret".to_owned());
        let backend = Backend::new("http://127.0.0.1:9", "BACKEND", secret());
        let clients = vec![Client::new("CLIENT", secret())];
        let config = Config::new(backend, Keys::Rsa { files: Vec::new() }, clients);
        let ring = Ring::generate(1_700_000_000, &mut OsRandom).unwrap();
        let target = Target::parse("http://127.0.0.1:9").unwrap();
        let backend = upstream::Client::new(target, Trust::public(), Limits::default());
        Arc::new(Proxy::new(&config, Arc::new(RingProvider::new(ring)), backend))
    }

    async fn asks(stream: &mut TcpStream) {
        stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: h\r\n\r\n").await.unwrap();
        let mut answer = Vec::new();
        while !answer.ends_with(b"\r\n\r\nok") {
            assert_ne!(stream.read_buf(&mut answer).await.unwrap(), 0);
        }
    }

    #[tokio::test]
    async fn an_idle_connection_keeps_no_configuration_that_was_replaced() {
        let first = proxy();
        let replaced = Arc::downgrade(&first);
        let server = Server::new(first, None).unwrap();
        let current = server.current().clone();
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let (_stop, stopped) = watch::channel(false);
        tokio::spawn(server.serve(listener, stopped));
        let mut stream = TcpStream::connect(address).await.unwrap();
        asks(&mut stream).await;
        current.replace(Generation::new(proxy(), None).unwrap());
        let gone = async {
            while replaced.strong_count() > 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(Duration::from_secs(60), gone).await.expect("keys that were replaced are dropped");
        asks(&mut stream).await;
    }
}
