//! An HTTP/1.1 server for a small number of known clients: operators, their browsers, or a proxy on
//! the same machine. Every resource that a client can use up is bounded.

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

/// Pause after a connection could not be accepted, for example because the process has no file
/// descriptors left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(20);

/// The limits of an HTTP server: connections, sizes and times.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::exhaustive_structs, reason = "each server names all of its bounds")]
pub struct HttpLimits {
    /// Maximum number of simultaneous connections. Further ones wait in the system's queue.
    pub connections: usize,
    /// Maximum length of the head of a request, and of the part of a body that is in memory.
    pub read_buffer: usize,
    /// Maximum number of header lines of a request.
    pub headers: usize,
    /// Maximum time until the head of a request has arrived.
    pub header_timeout: Duration,
    /// Maximum duration of a connection. `None` sets no limit.
    pub connection_timeout: Option<Duration>,
    /// True if a connection may carry several requests, one after the other.
    pub keep_alive: bool,
}

/// Answers requests until the returned future is dropped. All connections are cut then.
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
            // The client may be slow, or may have disconnected.
            match limits.connection_timeout {
                Some(longest) => drop(timeout(longest, connection).await),
                None => drop(connection.await),
            }
            drop(permit);
        });
    }
}
