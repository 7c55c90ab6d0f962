//! Tests of connections that serve several requests, with responses of different forms.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::mpsc;
use std::thread;

use super::server::{OK, serve};
use super::*;

const LONG: usize = 1 << 20;

/// Heads that are each followed by a body of [`LONG`] bytes.
fn heads() -> [(&'static str, String); 5] {
    let len = format!("content-length: {LONG}\r\n");
    [
        ("plain", format!("HTTP/1.1 200 OK\r\n{len}\r\n")),
        ("9 KB", format!("HTTP/1.1 200 OK\r\nx-pad: {}\r\n{len}\r\n", "a".repeat(9_000))),
        ("103", format!("HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\nHTTP/1.1 200 OK\r\n{len}\r\n")),
        (
            "100",
            format!("{}HTTP/1.1 200 OK\r\n{len}\r\n", "HTTP/1.1 100 Continue\r\n\r\n".repeat(40)),
        ),
        ("length twice", format!("HTTP/1.1 200 OK\r\n{len}{len}\r\n")),
    ]
}

/// The second request on a connection gets its response like the first one.
#[tokio::test]
async fn a_connection_serves_again_after_any_head() {
    for (name, head) in heads() {
        let server = serve(move |mut peer| {
            let head = head.clone();
            async move {
                while peer.head().await.is_some() {
                    peer.say(&head).await;
                    peer.say(vec![b'x'; LONG]).await;
                }
            }
        })
        .await;
        let client = client(server.port, limits());
        for turn in 0..4 {
            let response = timeout(LATE, get(&client, "/")).await;
            let response = response.unwrap_or_else(|_| panic!("{name} {turn}: no answer"));
            let mut body = response.unwrap().into_body();
            let (content, error) = buffers::read_into(&mut body, 100_000, usize::MAX).await;
            assert_eq!((content.len(), error), (LONG, None), "{name} {turn}");
        }
        assert_eq!(server.accepted(), 1, "{name}");
    }
}

/// Bytes that arrived since the last response are noticed even if the runtime has not polled its
/// sockets.
#[tokio::test]
async fn a_connection_that_can_be_read_is_not_used_again() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (ask, asked) = mpsc::channel::<&[u8]>();
    let (tell, told) = mpsc::channel();
    thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                stream.read_exact(&mut byte).unwrap();
                head.push(byte[0]);
            }
            stream.write_all(OK).unwrap();
            let Ok(more) = asked.recv() else { return };
            if !more.is_empty() {
                stream.write_all(more).unwrap();
                // Reads until the client has closed the connection.
                thread::spawn(move || stream.read(&mut [0]));
            }
            tell.send(()).unwrap();
        }
    });
    let client = client(port, limits());
    let fake = b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nfake";
    for (turn, more) in [&fake[..], b"\r\n", b"", fake].into_iter().enumerate() {
        let response = timeout(LATE, get(&client, "/")).await.expect("an answer").unwrap();
        assert_eq!(read(response.into_body()).await, (b"hi".to_vec(), None), "{turn}");
        // The thread blocks here, so no socket event is processed meanwhile.
        ask.send(more).unwrap();
        told.recv().unwrap();
        thread::sleep(SOON / 10);
    }
    let response = timeout(LATE, get(&client, "/")).await.expect("an answer").unwrap();
    assert_eq!(read(response.into_body()).await, (b"hi".to_vec(), None));
    assert_eq!((client.counters().opened(), client.counters().reused()), (5, 0));
}
