//! A server of HTTP/1.1 for few clients that are known: operators, their browsers, a proxy on the
//! same machine. Everything that a client can use up is bounded.

use core::convert::Infallible;
use core::future::Future;
use core::time::Duration;
use std::sync::Arc;

use http::{Request, Response};
use http_body::Body;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// Wait before the next attempt when a connection could not be accepted, as for want of file
/// descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(20);

/// Bounds of an HTTP server: connections, sizes and times.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::exhaustive_structs, reason = "each server names all of its bounds")]
pub struct HttpLimits {
    /// Connections at once. Further ones wait in the system's queue.
    pub connections: usize,
    /// Longest head of a request, and most bytes of a body in memory.
    pub read_buffer: usize,
    /// Most header lines of a request.
    pub headers: usize,
    /// Longest time until the head of a request has arrived.
    pub header_timeout: Duration,
    /// Longest time of a connection. `None` does not end it.
    pub connection_timeout: Option<Duration>,
    /// True if a connection may carry several requests, one after the other.
    pub keep_alive: bool,
}

/// Answers requests until it is dropped; then all connections are cut.
pub async fn serve<F, B>(
    listener: TcpListener,
    limits: HttpLimits,
    answer: impl Fn(Request<Incoming>) -> F + Clone + Send + 'static,
) where
    F: Future<Output = Response<B>> + Send + 'static,
    B: Body<Data: Send, Error: Into<Box<dyn core::error::Error + Send + Sync>>> + Send + 'static,
{
    let free = Arc::new(Semaphore::new(limits.connections));
    let mut connections = JoinSet::new();
    loop {
        let Ok(permit) = Arc::clone(&free).acquire_owned().await else { return };
        let Ok((stream, _)) = listener.accept().await else {
            sleep(ACCEPT_PAUSE).await;
            continue;
        };
        while connections.try_join_next().is_some() {}
        let _ = stream.set_nodelay(true);
        let answer = answer.clone();
        connections.spawn(async move {
            let service = service_fn(move |request| {
                let answer = answer(request);
                async move { Ok::<_, Infallible>(answer.await) }
            });
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(limits.header_timeout)
                .max_buf_size(limits.read_buffer)
                .max_headers(limits.headers)
                .keep_alive(limits.keep_alive)
                .serve_connection(TokioIo::new(stream), service);
            // The client may be slow or gone.
            match limits.connection_timeout {
                Some(longest) => drop(timeout(longest, connection).await),
                None => drop(connection.await),
            }
            drop(permit);
        });
    }
}
