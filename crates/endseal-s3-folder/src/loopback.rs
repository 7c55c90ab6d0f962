//! A small HTTP/1.1 server for few clients that are known: the folder's proxy, and who reads
//! metrics.

use core::convert::Infallible;
use core::future::Future;
use core::time::Duration;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::sleep;

/// Connections at once: more than the proxy opens to its backend.
const CONNECTIONS: usize = 1_024;

/// Bytes of a connection's read buffer at most, so that pieces of bodies are long.
const READ_BUFFER: usize = 512 * 1024;

const HEADER_TIMEOUT: Duration = Duration::from_secs(60);

/// Answers what comes in, until it is dropped; then its connections are cut.
pub async fn serve<F, B>(
    listener: TcpListener,
    answer: impl Fn(Request<Incoming>) -> F + Clone + Send + 'static,
) where
    F: Future<Output = Response<B>> + Send + 'static,
    B: Body<Data = Bytes, Error: Into<Box<dyn core::error::Error + Send + Sync>>> + Send + 'static,
{
    let free = Arc::new(Semaphore::new(CONNECTIONS));
    let mut connections = JoinSet::new();
    loop {
        let Ok(permit) = Arc::clone(&free).acquire_owned().await else { return };
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            // Of one connection, or for want of file descriptors: others may still come.
            Err(_) => {
                sleep(Duration::from_millis(20)).await;
                continue;
            }
        };
        while connections.try_join_next().is_some() {}
        let _ = stream.set_nodelay(true);
        let answer = answer.clone();
        connections.spawn(async move {
            let service = service_fn(move |request| {
                let answer = answer(request);
                async move { Ok::<_, Infallible>(answer.await) }
            });
            let _ = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEADER_TIMEOUT)
                .max_buf_size(READ_BUFFER)
                .max_headers(2_048)
                .serve_connection(TokioIo::new(stream), service)
                .await;
            drop(permit);
        });
    }
}
