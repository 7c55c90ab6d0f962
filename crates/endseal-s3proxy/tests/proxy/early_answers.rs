//! Tests of errors that a backend sends before it has received the whole upload.

use core::time::Duration;
use std::net::SocketAddr;

use endseal_s3_protocol::sigv4::PayloadHash;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use crate::client::{Answer, Client, parse};
use crate::fixture::{World, serve_with};
use crate::races::config_of;

/// Timeout after which a response counts as lost.
const LATE: Duration = Duration::from_secs(60);

const DOCUMENT: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
    <Error><Code>NoSuchBucket</Code><Message>There is none.</Message></Error>";

/// Time at which a backend responds, and its handling of the rest of the upload.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Refusal {
    /// After the head, and reads the rest.
    AtOnce,
    /// After the head, with the document some time later, and reads the rest.
    InTwo,
    /// After 200 KB, and reads the rest.
    Later,
    /// After the head. Announces to close, but neither closes nor reads.
    Deaf,
    /// After the head. Announces to close, and closes.
    Closing,
    /// After 200 KB, and closes without announcing it.
    Cut,
}

impl Refusal {
    /// Refuses one request after another. Returns `None` when the connection ends.
    async fn serve(self, mut stream: TcpStream) -> Option<()> {
        let mut received = Vec::new();
        loop {
            let end = loop {
                if let Some(end) = received.windows(4).position(|it| it == b"\r\n\r\n") {
                    break end + 4;
                }
                read_some(&mut stream, &mut received).await?;
            };
            let head = String::from_utf8(received.drain(..end).collect()).unwrap();
            let len = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            let len: usize = len.unwrap().parse().unwrap();
            while matches!(self, Self::Later | Self::Cut) && received.len() < 200_000 {
                read_some(&mut stream, &mut received).await?;
            }
            let close = match self {
                Self::Deaf | Self::Closing => "connection: close\r\n",
                _ => "",
            };
            let head = format!(
                "HTTP/1.1 404 Not Found\r\ncontent-type: application/xml\r\n{close}\
                 content-length: {}\r\n\r\n",
                DOCUMENT.len()
            );
            if self == Self::InTwo {
                stream.write_all(head.as_bytes()).await.ok()?;
                tokio::time::sleep(Duration::from_millis(100)).await;
                stream.write_all(DOCUMENT.as_bytes()).await.ok()?;
            } else {
                stream.write_all(format!("{head}{DOCUMENT}").as_bytes()).await.ok()?;
            }
            match self {
                Self::AtOnce | Self::InTwo | Self::Later => {}
                Self::Deaf => tokio::time::sleep(LATE).await,
                Self::Closing | Self::Cut => return None,
            }
            while received.len() < len {
                read_some(&mut stream, &mut received).await?;
            }
            received.drain(..len);
        }
    }

    async fn start(self) -> SocketAddr {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(self.serve(stream));
            }
        });
        address
    }
}

async fn read_some(stream: &mut TcpStream, received: &mut Vec<u8>) -> Option<usize> {
    received.reserve(64 * 1024);
    stream.read_buf(received).await.ok().filter(|len| *len > 0)
}

/// Uploads `len` bytes over a connection that stays open, and reads the response while writing.
async fn upload(client: &Client, len: usize) -> Answer {
    let (head, _) = client.lines("PUT", "/missing/key", &[], len, PayloadHash::Unsigned);
    let stream = TcpStream::connect(client.address).await.unwrap();
    let (mut read, mut write) = stream.into_split();
    let writing = tokio::spawn(async move {
        write.write_all(format!("{head}\r\n").as_bytes()).await?;
        let piece = vec![7; 64 * 1024];
        let mut left = len;
        while left > 0 {
            let now = left.min(piece.len());
            write.write_all(&piece[..now]).await?;
            left -= now;
        }
        std::io::Result::Ok(write)
    });
    let mut received = Vec::new();
    let answered = async {
        let is_whole = |received: &[u8]| {
            received.windows(4).any(|it| it == b"\r\n\r\n") && parse(received, false).whole
        };
        while !is_whole(&received) && matches!(read.read_buf(&mut received).await, Ok(1..)) {}
    };
    timeout(LATE, answered).await.expect("an answer in time");
    writing.abort();
    parse(&received, false)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backends_early_error_reaches_the_client() {
    let world = World::new();
    for refusal in [
        Refusal::AtOnce,
        Refusal::InTwo,
        Refusal::Later,
        Refusal::Deaf,
        Refusal::Closing,
        Refusal::Cut,
    ] {
        let config = config_of(&world, refusal.start().await);
        let front = serve_with(&config, |server| server.with_workers(2).unwrap()).await;
        for len in [300_000, 1_000_000, 5 << 20, 20 << 20] {
            for _ in 0..3 {
                let answer = upload(&front.client, len).await;
                assert!(answer.whole, "{refusal:?} {len}: no answer");
                let code = (answer.status, answer.code());
                assert_eq!(code, (404, "NoSuchBucket".to_owned()), "{refusal:?} {len}");
            }
        }
    }
}
