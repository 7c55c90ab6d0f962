//! Server whose behaviour each test implements.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// Connection of a client.
pub(crate) struct Peer {
    pub(crate) stream: TcpStream,
    buffer: Vec<u8>,
    /// Number of the connection, from 0.
    pub(crate) number: usize,
}

pub(crate) struct Server {
    pub(crate) port: u16,
    accepted: Arc<AtomicUsize>,
}

impl Server {
    pub(crate) fn accepted(&self) -> usize {
        self.accepted.load(Ordering::SeqCst)
    }
}

/// Serves each connection with `talk` and closes it when `talk` returns.
pub(crate) async fn serve<F>(talk: impl Fn(Peer) -> F + Send + 'static) -> Server
where
    F: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let accepted = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&accepted);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let number = count.fetch_add(1, Ordering::SeqCst);
            tokio::spawn(talk(Peer { stream, buffer: Vec::new(), number }));
        }
    });
    Server { port, accepted }
}

impl Peer {
    /// Reads the head of the next request. Returns `None` if the client has closed.
    pub(crate) async fn head(&mut self) -> Option<String> {
        loop {
            if let Some(at) = self.buffer.windows(4).position(|end| end == b"\r\n\r\n") {
                let head = self.buffer.drain(..at + 4).collect();
                return Some(String::from_utf8(head).unwrap());
            }
            if !self.more().await {
                return None;
            }
        }
    }

    /// Reads the next `len` bytes of a body. Returns `None` if the client closes before.
    pub(crate) async fn body(&mut self, len: usize) -> Option<Vec<u8>> {
        while self.buffer.len() < len {
            if !self.more().await {
                return None;
            }
        }
        Some(self.buffer.drain(..len).collect())
    }

    /// Returns the number of bytes that arrive until the client closes.
    pub(crate) async fn rest(&mut self) -> usize {
        let mut len = core::mem::take(&mut self.buffer).len();
        while self.more().await {
            len += core::mem::take(&mut self.buffer).len();
        }
        len
    }

    async fn more(&mut self) -> bool {
        // A reset counts as the end, too.
        self.stream.read_buf(&mut self.buffer).await.unwrap_or(0) > 0
    }

    /// Sends bytes, if the client is still connected.
    pub(crate) async fn say(&mut self, bytes: impl AsRef<[u8]>) {
        let _gone = self.stream.write_all(bytes.as_ref()).await;
    }

    /// Sends the same response to every request.
    pub(crate) async fn always(mut self, answer: &[u8]) {
        while self.head().await.is_some() {
            self.say(answer).await;
        }
    }
}

/// Returns a response whose body is longer than its first read, so it occupies its connection until
/// it is read.
pub(crate) fn long() -> &'static [u8] {
    const LEN: usize = 100_000;
    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {LEN}\r\n\r\n");
    [head.as_bytes(), &[b'l'; LEN]].concat().leak()
}

pub(crate) const OK: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi";
