//! A small HTTP/1.1 server for operators and their browsers, bounded in everything.

use alloc::sync::Arc;
use core::convert::Infallible;
use core::future::{Future, poll_fn};
use core::pin::Pin;
use core::time::Duration;

use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Request, Response, StatusCode};
use http_body::Body as _;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

const CONNECTIONS: usize = 64;
const READ_BUFFER: usize = 16 * 1024;
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// Longest time of a connection.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(120);
const BODY_TIMEOUT: Duration = Duration::from_secs(10);
/// Most bytes of a form.
const BODY_LIMIT: usize = 4 * 1024;

/// Answers what comes in, until it is dropped; then its connections are cut.
pub(super) async fn serve<F>(
    listener: TcpListener,
    answer: impl Fn(Request<Incoming>) -> F + Clone + Send + 'static,
) where
    F: Future<Output = Response<String>> + Send + 'static,
{
    let free = Arc::new(Semaphore::new(CONNECTIONS));
    let mut connections = JoinSet::new();
    loop {
        let Ok(permit) = Arc::clone(&free).acquire_owned().await else { return };
        let Ok((stream, _)) = listener.accept().await else {
            // For want of file descriptors, or of one connection alone.
            sleep(Duration::from_millis(20)).await;
            continue;
        };
        while connections.try_join_next().is_some() {}
        let answer = answer.clone();
        connections.spawn(async move {
            let service = service_fn(move |request| {
                let answer = answer(request);
                async move { Ok::<_, Infallible>(answer.await) }
            });
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEADER_TIMEOUT)
                .max_buf_size(READ_BUFFER)
                .serve_connection(TokioIo::new(stream), service);
            let _ = timeout(CONNECTION_TIMEOUT, connection).await;
            drop(permit);
        });
    }
}

/// The body of a request: a form of at most 4 KiB, within 10 s.
pub(super) async fn form(mut body: Incoming) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let reading = async {
        loop {
            match poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
                None => return Some(bytes),
                Some(Err(_)) => return None,
                Some(Ok(frame)) => bytes.extend(frame.into_data().unwrap_or_default()),
            }
            if bytes.len() > BODY_LIMIT {
                return None;
            }
        }
    };
    timeout(BODY_TIMEOUT, reading).await.ok().flatten()
}

/// A response with a text.
pub(super) fn text(
    status: StatusCode,
    content_type: &'static str,
    body: String,
) -> Response<String> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}
