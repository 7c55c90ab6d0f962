//! An HTTP/1.1 server for a small number of known clients: operators, their browsers, or a proxy on
//! the same machine. Every resource that a client can use up is bounded.

use core::convert::Infallible;
use core::future::Future;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use http::{Request, Response};
use http_body::Body;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{sleep, timeout};

/// Pause after a connection could not be accepted, for example because the process has no file
/// descriptors left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(20);
/// Time that each connection has for its first request before a newer one may replace it.
const REQUEST_GRACE: Duration = Duration::from_millis(100);

/// The limits of an HTTP server: connections, sizes and times.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::exhaustive_structs, reason = "each server names all of its bounds")]
pub struct HttpLimits {
    /// Maximum number of simultaneous connections. A further one replaces the oldest that has sent
    /// no request for 100 ms. If there is none, it waits.
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
    let mut connections = Connections::default();
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            sleep(ACCEPT_PAUSE).await;
            continue;
        };
        connections.make_room(limits.connections).await;
        let _ = stream.set_nodelay(true);
        let answer = answer.clone();
        let has_request = Arc::new(AtomicBool::new(false));
        let noted = Arc::clone(&has_request);
        let connection = async move {
            let service = service_fn(move |request| {
                noted.store(true, Ordering::Relaxed);
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
        };
        let task = connections.tasks.spawn(connection);
        connections.open.push_back(Open { since: Instant::now(), has_request, task });
    }
}

/// Open connections. Clients that open many and send nothing do not keep others out.
#[derive(Default)]
struct Connections {
    tasks: JoinSet<()>,
    /// Those that may not have ended, the oldest first.
    open: VecDeque<Open>,
}

struct Open {
    since: Instant,
    /// True after the first request.
    has_request: Arc<AtomicBool>,
    task: AbortHandle,
}

impl Connections {
    /// Waits until there are fewer than `max` connections. Ends the oldest one without a request if
    /// it had its time.
    async fn make_room(&mut self, max: usize) {
        loop {
            while self.tasks.try_join_next().is_some() {}
            self.open.retain(|it| !it.task.is_finished());
            if self.tasks.len() < max {
                return;
            }
            let oldest = self.open.iter().position(|it| !it.has_request.load(Ordering::Relaxed));
            let oldest = oldest.and_then(|at| Some((at, self.open.get(at)?.since.elapsed())));
            let wait = match oldest {
                Some((at, age)) if age >= REQUEST_GRACE => {
                    if let Some(idle) = self.open.remove(at) {
                        idle.task.abort();
                    }
                    REQUEST_GRACE
                }
                Some((_, age)) => REQUEST_GRACE.saturating_sub(age),
                None => REQUEST_GRACE,
            };
            // It may end sooner, and none may end.
            let _ = timeout(wait, self.tasks.join_next()).await;
        }
    }
}
