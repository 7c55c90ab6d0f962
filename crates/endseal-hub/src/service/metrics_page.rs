//! `/metrics` and `/healthz` over HTTP/1.1, on a listener of their own.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::Reports;

/// Connections at once.
const CONNECTIONS: usize = 16;
/// Most bytes of a request.
const REQUEST_LEN: usize = 8 << 10;
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
            // The client may be slow or gone.
            let _ = timeout(CONNECTION_TIMEOUT, answer(stream, &reports)).await;
            drop(permit);
        });
    }
}

async fn answer(mut stream: TcpStream, reports: &Reports) -> std::io::Result<()> {
    let mut request = Vec::new();
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        let left = (REQUEST_LEN - request.len()) as u64;
        // At its end, or longer than a request may be.
        if (&mut stream).take(left).read_buf(&mut request).await? == 0 {
            return Ok(());
        }
    }
    let line = request.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let mut words = line.split(|byte| *byte == b' ');
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let (status, body) = match (method, path) {
        (b"GET" | b"HEAD", b"/metrics") => ("200 OK", reports.text().await),
        (b"GET" | b"HEAD", b"/healthz") => ("200 OK", "ok\n".to_owned()),
        (b"GET" | b"HEAD", _) => ("404 Not Found", String::new()),
        _ => ("405 Method Not Allowed\r\nAllow: GET, HEAD", String::new()),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await?;
    if method != b"HEAD" {
        stream.write_all(body.as_bytes()).await?;
    }
    stream.shutdown().await
}
