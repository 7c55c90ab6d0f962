//! A server that a test writes as it goes.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// One connection.
pub(crate) struct Peer {
    pub(crate) stream: TcpStream,
    buffer: Vec<u8>,
    /// Which one it is, from 0.
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

/// Serves each connection by `talk`, and closes it when that ends.
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
    /// The head of the next request; `None` when the client has closed.
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

    /// The next `len` bytes of a body; `None` when the client closed before.
    pub(crate) async fn body(&mut self, len: usize) -> Option<Vec<u8>> {
        while self.buffer.len() < len {
            if !self.more().await {
                return None;
            }
        }
        Some(self.buffer.drain(..len).collect())
    }

    /// Returns the number of bytes that come until the client closes.
    pub(crate) async fn rest(&mut self) -> usize {
        let mut len = core::mem::take(&mut self.buffer).len();
        while self.more().await {
            len += core::mem::take(&mut self.buffer).len();
        }
        len
    }

    async fn more(&mut self) -> bool {
        // A reset is an end, too.
        self.stream.read_buf(&mut self.buffer).await.unwrap_or(0) > 0
    }

    /// Says something, if the client still listens.
    pub(crate) async fn say(&mut self, bytes: impl AsRef<[u8]>) {
        let _gone = self.stream.write_all(bytes.as_ref()).await;
    }

    /// Says it to every request, without looking at it.
    pub(crate) async fn always(mut self, answer: &[u8]) {
        while self.head().await.is_some() {
            self.say(answer).await;
        }
    }
}

/// A response whose body does not come all with its head: it holds its connection until it is read.
pub(crate) fn long() -> &'static [u8] {
    const LEN: usize = 100_000;
    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {LEN}\r\n\r\n");
    [head.as_bytes(), &[b'l'; LEN]].concat().leak()
}

pub(crate) const OK: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi";
