//! HTTP server: sockets, TLS, connection limits, and graceful shutdown.

use core::net::SocketAddr;
use core::pin::pin;
use core::time::Duration;
use std::io;
use std::sync::Arc;

use endseal_s3_protocol::S3Error;
use http::{HeaderValue, Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinError;
use tokio::time::{sleep, timeout};

use crate::config::{Balancers, ClientAddressSource, TlsFiles};
use crate::context::Proxy;
use crate::server::client_address::ClientAddress;
use crate::server::client_connections::{Admitted, ClientConnections};
use crate::server::forwarded_for;
use crate::server::generation::{Current, Generation};
use crate::server::long_answer;
use crate::server::metrics::MetricsServer;
use crate::server::proxy_header::{ProxyHeaderError, read_client};
use crate::server::service::FORWARDED;
use crate::server::slow_peer::Front;
use crate::server::workers::Workers;
use crate::transfer::Outgoing;

/// Server that accepts connections for a proxy.
#[derive(Clone)]
#[allow(missing_debug_implementations, reason = "the proxy holds secret access keys")]
pub struct Server {
    current: Current,
    workers: Option<Arc<Workers>>,
}

/// Accepted connection of a client.
struct ClientConnection {
    peer: SocketAddr,
    /// Balancers of the configuration, if the peer is one of them.
    balancers: Option<Arc<Balancers>>,
    /// Address of the client, if it is the same for all requests.
    client: ClientAddress,
    header_timeout: Duration,
    admitted: Arc<Admitted>,
}

/// Timeout for the header of the PROXY protocol.
const PROXY_HEADER: Duration = Duration::from_secs(10);

/// Timeout for the TLS handshake.
const TLS_HANDSHAKE: Duration = Duration::from_secs(10);

/// Maximum number of headers of a request. The limit on their bytes usually applies first: 2 KB of
/// user metadata can be up to 500 headers.
const MAX_HEADERS: usize = 2_048;

/// Maximum size of a connection's read buffer in bytes.
const READ_BUFFER: usize = 256 * 1024;

impl Server {
    /// Creates a server for a proxy, with TLS if files are given.
    ///
    /// # Errors
    /// If the TLS files cannot be read, or the key does not fit the certificate.
    pub fn new(proxy: Arc<Proxy>, tls: Option<&TlsFiles>) -> io::Result<Self> {
        let current = Current::new(Generation::new(proxy, tls)?);
        Ok(Self { current, workers: None })
    }

    /// Returns the server for the metrics of this proxy.
    #[must_use]
    pub fn metrics(&self) -> MetricsServer {
        MetricsServer::new(self.current.clone())
    }

    pub(crate) const fn current(&self) -> &Current {
        &self.current
    }

    /// Serves connections on `threads` threads of its own, instead of the runtime in which `serve`
    /// is called.
    ///
    /// # Errors
    /// If the system cannot create the threads.
    pub fn with_workers(self, threads: usize) -> io::Result<Self> {
        Ok(Self { workers: Some(Arc::new(Workers::start(threads)?)), ..self })
    }

    /// Serves connections until `stop` becomes true. Then waits for running requests, at most as
    /// long as `limits.drain`. Returns the number of connections that were aborted.
    ///
    /// # Errors
    /// If the listener fails permanently.
    pub async fn serve(
        self,
        listener: TcpListener,
        stop: watch::Receiver<bool>,
    ) -> io::Result<usize> {
        let limits = self.current.proxy().limits().clone();
        let metrics = Arc::clone(&self.current.proxy().metrics);
        let connections = ClientConnections::new(&limits, metrics);
        let mut stopping = stop.clone();
        loop {
            let permit = tokio::select! {
                permit = connections.free() => permit?,
                () = stopped(&mut stopping) => break,
            };
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = stopped(&mut stopping) => break,
            };
            match accepted {
                Ok((stream, peer)) => {
                    let admitted = connections.admit(permit);
                    let balancers = self.current.proxy().balancers.clone();
                    let balancers = balancers.filter(|known| known.contain(peer.ip()));
                    let client = ClientAddress::from(peer);
                    // A balancer states its clients later.
                    if balancers.is_none() && !admitted.count_for(client) {
                        continue;
                    }
                    // Without this, small responses wait for an acknowledgement of the client.
                    let _ = stream.set_nodelay(true);
                    let client = ClientConnection {
                        peer,
                        balancers,
                        client,
                        header_timeout: connections.header_timeout(limits.header_timeout),
                        admitted: Arc::new(admitted),
                    };
                    // If it cannot be handed over, it is closed.
                    let _ = self.begin(stream, client, stop.clone());
                }
                // The error concerns one connection, or the system has no free file descriptors.
                // Others may follow.
                Err(_) => sleep(Duration::from_millis(20)).await,
            }
        }
        drop(listener);
        Ok(connections.drain(limits.drain).await)
    }

    /// Serves a connection on the worker with the fewest connections, or on this runtime.
    fn begin(
        &self,
        stream: TcpStream,
        client: ClientConnection,
        stop: watch::Receiver<bool>,
    ) -> io::Result<()> {
        // The clone has no workers, so that the workers' shutdown does not wait for their own
        // connections.
        let server = Self { workers: None, ..self.clone() };
        let Some(workers) = &self.workers else {
            tokio::spawn(server.connection(stream, client, stop));
            return Ok(());
        };
        // The stream is registered with the runtime that serves it.
        let stream = stream.into_std()?;
        workers.give(async move {
            if let Ok(stream) = TcpStream::from_std(stream) {
                server.connection(stream, client, stop).await;
            }
        });
        Ok(())
    }

    async fn connection(
        self,
        mut stream: TcpStream,
        mut client: ClientConnection,
        stop: watch::Receiver<bool>,
    ) {
        if !client.learn_address(&mut stream).await {
            return;
        }
        // Cloned, so that an idle connection does not keep the keys of a replaced configuration.
        let tls = self.current.get().tls.clone();
        match tls {
            None => self.http(stream, &client, stop).await,
            Some(tls) => {
                let limit = TLS_HANDSHAKE.min(client.header_timeout);
                if let Ok(Ok(stream)) = timeout(limit, tls.accept(stream)).await {
                    self.http(stream, &client, stop).await;
                }
            }
        }
    }

    async fn http(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        client: &ClientConnection,
        mut stop: watch::Receiver<bool>,
    ) {
        let limits = self.current.proxy().limits().clone();
        let front = Front::new(stream, limits.idle_timeout, limits.min_rate);
        let service = service_fn(|request| {
            let address = client.of_request(&request);
            answer(self.current.proxy(), request, address, Arc::clone(&client.admitted))
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(client.header_timeout)
            .max_headers(MAX_HEADERS)
            .max_buf_size((limits.header_bytes + 16 * 1024).max(READ_BUFFER))
            .half_close(true)
            .serve_connection(TokioIo::new(front), service);
        let mut connection = pin!(connection);
        // Clients that disconnect, and bodies that are aborted because they do not authenticate,
        // end in an error here. The request has already counted it.
        tokio::select! {
            _ = connection.as_mut() => return,
            () = stopped(&mut stop) => {}
        }
        connection.as_mut().graceful_shutdown();
        let _ = connection.await;
    }
}

impl ClientConnection {
    /// Reads the header of the PROXY protocol if a balancer sends it. Returns false if the
    /// connection must be closed.
    async fn learn_address(&mut self, stream: &mut TcpStream) -> bool {
        let source = self.balancers.as_ref().map(|balancers| balancers.client_address);
        if source != Some(ClientAddressSource::ProxyProtocol) {
            return true;
        }
        let limit = PROXY_HEADER.min(self.header_timeout);
        let cause = match timeout(limit, read_client(stream)).await {
            Ok(Ok(client)) => {
                if let Some(client) = client {
                    self.client = ClientAddress::stated(client, self.peer);
                }
                return self.admitted.count_for(self.client);
            }
            Ok(Err(ProxyHeaderError::Silent)) => return false,
            Ok(Err(error)) => error.to_string(),
            Err(_) => "the header did not come in time".to_owned(),
        };
        self.admitted.refuse_header(self.peer, &cause);
        false
    }

    /// Returns the address of the client of a request.
    ///
    /// # Errors
    /// If a header in which a balancer states the address is malformed, or the client has too many
    /// connections.
    fn of_request<B>(&self, request: &Request<B>) -> (ClientAddress, Result<(), S3Error>) {
        let Some(balancers) = &self.balancers else { return (self.client, Ok(())) };
        let ClientAddressSource::Header(header) = balancers.client_address else {
            return (self.client, Ok(()));
        };
        let (headers, peer) = (request.headers(), self.peer.ip());
        let is_balancer = |address| balancers.contain(address);
        let client = match forwarded_for::client(headers, header, peer, is_balancer) {
            // The balancer's own request.
            Ok(client) if client == peer.to_canonical() => self.client,
            Ok(client) => ClientAddress::forwarded(client, self.peer),
            Err(error) => {
                let text = error.to_string();
                let error = S3Error::invalid_request("The address of the client is malformed.");
                return (self.client, Err(error.because(FORWARDED, text)));
            }
        };
        match self.admitted.count_for(client) {
            true => (client, Ok(())),
            false => (client, Err(S3Error::slow_down().with_retry_after(1))),
        }
    }
}

/// Answers a request. If the future is dropped, the work ends, except for the completion of an
/// upload, for copies, and for uploads in parts.
///
/// # Errors
/// If the runtime shuts down.
async fn answer(
    proxy: Arc<Proxy>,
    request: Request<Incoming>,
    (client, admission): (ClientAddress, Result<(), S3Error>),
    admitted: Arc<Admitted>,
) -> Result<Response<Outgoing>, JoinError> {
    let id = proxy.request_id();
    if !long_answer::is_long(&request) {
        if !long_answer::is_in_parts(&request, &proxy) {
            return Ok(proxy.answer_as(request, client, admission, id).await);
        }
        // If the client disconnects, the upload at the backend is aborted in here.
        let work = async move {
            let answer = proxy.answer_as(request, client, admission, id).await;
            drop(admitted);
            answer
        };
        return tokio::spawn(work).await;
    }
    let shown = HeaderValue::from_str(id.as_str());
    // If the client disconnects during a completion and it is aborted, MinIO keeps an upload
    // without parts.
    let work = async move {
        let answer = proxy.answer_as(request, client, admission, id).await;
        drop(admitted);
        answer
    };
    let shown = shown.unwrap_or(HeaderValue::from_static(""));
    long_answer::of(tokio::spawn(work), shown).await
}

/// Returns once `stop` is true, or its sender is gone.
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
