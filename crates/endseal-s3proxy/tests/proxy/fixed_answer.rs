//! Backend that answers every request with one status and one document.

use std::sync::{Arc, Mutex};

use endseal_s3proxy::access::SecretAccessKey;
use endseal_s3proxy::config::{Backend, Config};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::fixture::{SECRET, World, config};

pub(crate) struct FixedAnswer {
    url: String,
    answer: Arc<Mutex<(u16, String)>>,
}

impl FixedAnswer {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let answer = Arc::new(Mutex::new((200, String::new())));
        let shared = Arc::clone(&answer);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (status, document) = shared.lock().unwrap().clone();
                tokio::spawn(one(stream, status, document));
            }
        });
        Self { url, answer }
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    pub(crate) fn set(&self, status: u16, document: &str) {
        *self.answer.lock().unwrap() = (status, document.to_owned());
    }

    /// Returns the configuration of a proxy before this backend, with the key ring of `world`.
    pub(crate) fn config(&self, world: &World) -> Config {
        let secret = SecretAccessKey::new(SECRET.to_owned());
        config(Backend::new(&self.url, "BACKEND", secret), &world.ring())
    }
}

/// Serves one request and closes the connection.
async fn one(mut stream: TcpStream, status: u16, document: String) {
    let mut received = Vec::new();
    let end = loop {
        if let Some(end) = received.windows(4).position(|it| it == b"\r\n\r\n") {
            break end + 4;
        }
        if !matches!(stream.read_buf(&mut received).await, Ok(1..)) {
            return;
        }
    };
    let head = String::from_utf8_lossy(&received[..end]).to_ascii_lowercase();
    let len = head.split("content-length: ").nth(1).and_then(|rest| rest.lines().next());
    let len = len.map_or(0, |len| len.parse::<usize>().unwrap());
    while received.len() < end + len {
        if !matches!(stream.read_buf(&mut received).await, Ok(1..)) {
            return;
        }
    }
    let body = if head.starts_with("head ") { "" } else { &document };
    let len = document.len();
    let answer =
        format!("HTTP/1.1 {status} x\r\nconnection: close\r\ncontent-length: {len}\r\n\r\n");
    let _ = stream.write_all(format!("{answer}{body}").as_bytes()).await;
}
