//! `/metrics` and `/healthz` over HTTP/1.1, on a listener of their own.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use http::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use http::{Method, Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::Reports;

/// Connections at once.
const CONNECTIONS: usize = 16;
/// Most bytes of the head of a request.
const REQUEST_LEN: usize = 8 << 10;
/// Media type of Prometheus' text format.
const PROMETHEUS: &str = "text/plain; version=0.0.4; charset=utf-8";
/// Longest time of a connection.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(10);

/// Answers one request a connection, until it is dropped; then its connections are cut.
pub(super) async fn serve(listener: TcpListener, reports: Reports) {
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
        let reports = reports.clone();
        connections.spawn(async move {
            let service = service_fn(|request| answer(request, &reports));
            let connection = http1::Builder::new()
                .keep_alive(false)
                .max_buf_size(REQUEST_LEN)
                .serve_connection(TokioIo::new(stream), service);
            // The client may be slow or gone.
            let _ = timeout(CONNECTION_TIMEOUT, connection).await;
            drop(permit);
        });
    }
}

async fn answer(
    request: Request<Incoming>,
    reports: &Reports,
) -> Result<Response<String>, Infallible> {
    let (mut status, mut body) = (StatusCode::OK, String::new());
    match (request.method(), request.uri().path()) {
        (&Method::GET | &Method::HEAD, "/metrics") => body = reports.text().await,
        (&Method::GET | &Method::HEAD, "/healthz") => body.push_str("ok\n"),
        (&Method::GET | &Method::HEAD, _) => status = StatusCode::NOT_FOUND,
        _ => status = StatusCode::METHOD_NOT_ALLOWED,
    }
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(PROMETHEUS));
    if status == StatusCode::METHOD_NOT_ALLOWED {
        headers.insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
    }
    Ok(response)
}
