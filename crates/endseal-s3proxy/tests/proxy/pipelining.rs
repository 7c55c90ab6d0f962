//! Tests of requests that a client sends before it has the previous responses.

use core::time::Duration;
use std::net::SocketAddr;

use endseal_s3_protocol::sigv4::PayloadHash;
use socket2::SockRef;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::{sleep, timeout};

use crate::client::Client;
use crate::fixture::{World, serve_with};
use crate::races::config_of;

/// Number of bytes that the backend's socket accepts before they are read.
const WINDOW: usize = 4 * 1024;

/// Segment size in bytes. With that of a loopback interface, its buffers take whole objects.
const SEGMENT: u32 = 536;

/// Uploads that are longer than this are read slowly.
const LONG: usize = 70_000;

/// Starts a backend that receives uploads slowly, as over a network.
async fn slow_backend() -> SocketAddr {
    let socket = TcpSocket::new_v4().unwrap();
    let options = SockRef::from(&socket);
    options.set_tcp_mss(SEGMENT).unwrap();
    options.set_recv_buffer_size(WINDOW).unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(64).unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(store(stream));
        }
    });
    address
}

/// Responds to each request once it is complete.
async fn store(mut stream: TcpStream) -> Option<()> {
    let mut received = Vec::new();
    loop {
        let end = loop {
            if let Some(end) = received.windows(4).position(|it| it == b"\r\n\r\n") {
                break end + 4;
            }
            read_some(&mut stream, &mut received).await?;
        };
        let head = String::from_utf8(received[..end].to_vec()).unwrap();
        let len = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let len: usize = len.map_or(0, |len| len.parse().unwrap());
        received.drain(..end);
        if len > LONG {
            sleep(Duration::from_millis(50)).await;
        }
        let mut left = len;
        loop {
            let now = received.len().min(left);
            received.drain(..now);
            left -= now;
            if left == 0 {
                break;
            }
            if len > LONG {
                sleep(Duration::from_millis(1)).await;
            }
            read_some(&mut stream, &mut received).await?;
        }
        let answer = b"HTTP/1.1 200 OK\r\netag: \"abc\"\r\ncontent-length: 0\r\n\r\n";
        stream.write_all(answer).await.ok()?;
    }
}

async fn read_some(stream: &mut TcpStream, received: &mut Vec<u8>) -> Option<usize> {
    received.reserve(64 * 1024);
    stream.read_buf(received).await.ok().filter(|len| *len > 0)
}

fn put(client: &Client, number: usize, len: usize) -> Vec<u8> {
    let target = format!("/bucket/{number}");
    let (head, _) = client.lines("PUT", &target, &[], len, PayloadHash::Unsigned);
    format!("{head}\r\n").into_bytes()
}

/// Uploads whose last content looks like requests, while other uploads keep the backend busy.
///
/// Each upload has one response, and no content is parsed as a request.
#[tokio::test(flavor = "multi_thread")]
async fn content_is_no_request() {
    upload_beside_others(1).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "nightly: four rounds of uploads before a slow backend"]
async fn content_is_no_request_again_and_again() {
    upload_beside_others(4).await;
}

async fn upload_beside_others(rounds: usize) {
    const SMUGGLED: &[u8] = b"GET /healthz HTTP/1.1\r\nhost: smuggled\r\n\r\n";
    let world = World::new();
    let config = config_of(&world, slow_backend().await);
    let front = serve_with(&config, |server| server.with_workers(2).unwrap()).await;
    let client = &front.client;
    let mut contents = vec![vec![b's'; 60_000]; 25];
    contents.push(vec![b'A'; 700_000]);
    contents.push(vec![b'B'; 100_000]);
    contents.push([&b"\r\n".repeat(400_000)[..], SMUGGLED].concat());
    let mut requests = Vec::new();
    for (number, content) in contents.iter().enumerate() {
        requests.extend(put(client, number, content.len()));
        requests.extend_from_slice(content);
    }
    for _ in 0..rounds {
        let stream = TcpStream::connect(client.address).await.unwrap();
        sleep(Duration::from_millis(200)).await;
        let mut busy = Vec::new();
        for number in 0..16 {
            let mut stream = TcpStream::connect(client.address).await.unwrap();
            stream.write_all(&put(client, 100 + number, 20_000_000)).await.unwrap();
            stream.write_all(&[b'h'; 100_000]).await.unwrap();
            busy.push(stream);
        }
        sleep(Duration::from_millis(700)).await;
        let (mut read, mut write) = stream.into_split();
        let sent = requests.clone();
        let writing = tokio::spawn(async move {
            let _ = write.write_all(&sent).await;
            write
        });
        let mut received = Vec::new();
        let answers = |received: &[u8]| {
            String::from_utf8_lossy(received).matches("HTTP/1.1 200 OK\r\n").count()
        };
        let all = async {
            while answers(&received) < contents.len() {
                match read.read_buf(&mut received).await {
                    Ok(1..) => {}
                    _ => break,
                }
            }
        };
        let _ = timeout(Duration::from_secs(60), all).await;
        // Nothing may follow the last response.
        let more = timeout(Duration::from_millis(500), read.read_buf(&mut received)).await;
        writing.abort();
        let text = String::from_utf8_lossy(&received);
        assert_eq!(answers(&received), contents.len(), "{text}");
        assert!(!text.contains("\r\n\r\nok"), "content was served as a request");
        assert!(more.is_err(), "{text}");
    }
}
