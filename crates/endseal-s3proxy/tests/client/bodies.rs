//! Tests of response bodies that are read completely, are large, or are dropped.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::server::{OK, serve};
use super::*;

const LARGE: usize = 64 << 20;

fn pattern(at: usize, len: usize) -> Vec<u8> {
    (at..at + len).map(|i| (i % 251).to_le_bytes()[0]).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_large_body_comes_in_large_frames() {
    let server = serve(|mut peer| async move {
        peer.head().await.unwrap();
        peer.say(format!("HTTP/1.1 200 OK\r\ncontent-length: {LARGE}\r\n\r\n")).await;
        let piece = pattern(0, 251 * 4096);
        let mut left = LARGE;
        while left > 0 {
            let n = left.min(piece.len());
            peer.say(&piece[..n]).await;
            left -= n;
        }
        peer.always(OK).await;
    })
    .await;
    let client = client(server.port, limits());
    let mut body = get(&client, "/").await.unwrap().into_body();
    let (mut len, mut frames, mut largest) = (0, 0, 0);
    while let Some(frame) = frame(&mut body).await {
        let frame = frame.unwrap();
        if frames % 16 == 0 {
            assert_eq!(frame[..], pattern(len, frame.len()));
        }
        len += frame.len();
        frames += 1;
        largest = largest.max(frame.len());
    }
    assert_eq!(len, LARGE);
    // Reads grow until the socket has no more bytes available.
    assert!(LARGE / frames > 32 * 1024 && largest <= 2 * limits().buffer, "{frames} {largest}");
    assert_eq!(client.kept_connections(), 1);
    assert!(client.counters().bytes_received() > LARGE as u64);
}

#[tokio::test]
async fn a_dropped_body_closes_the_connection() {
    let (ended, sent) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (ended_there, sent_there) = (Arc::clone(&ended), Arc::clone(&sent));
    let server = serve(move |mut peer| {
        let (ended, sent) = (Arc::clone(&ended_there), Arc::clone(&sent_there));
        async move {
            use tokio::io::AsyncWriteExt as _;
            peer.head().await.unwrap();
            peer.say(format!("HTTP/1.1 200 OK\r\ncontent-length: {LARGE}\r\n\r\n")).await;
            let piece = vec![7; 1 << 16];
            while peer.stream.write_all(&piece).await.is_ok() {
                sent.fetch_add(piece.len(), Ordering::SeqCst);
            }
            ended.fetch_add(1, Ordering::SeqCst);
        }
    })
    .await;
    let client = client(server.port, limits());
    let mut body = get(&client, "/").await.unwrap().into_body();
    frame(&mut body).await.unwrap().unwrap();
    drop(body);
    until("the server sees it", || ended.load(Ordering::SeqCst) == 1).await;
    assert!(sent.load(Ordering::SeqCst) < LARGE);
    assert_eq!((client.kept_connections(), client.used_connections()), (0, 0));
    assert_eq!(client.counters().abandoned(), 1);
}

#[tokio::test]
async fn a_dropped_request_closes_the_connection() {
    let ended = Arc::new(AtomicUsize::new(0));
    let there = Arc::clone(&ended);
    let server = serve(move |mut peer| {
        let ended = Arc::clone(&there);
        async move {
            peer.head().await.unwrap();
            peer.rest().await;
            ended.fetch_add(1, Ordering::SeqCst);
        }
    })
    .await;
    let client = client(server.port, limits());
    let dropped = timeout(SOON, get(&client, "/")).await;
    assert!(dropped.is_err());
    until("the server sees it", || ended.load(Ordering::SeqCst) == 1).await;
    assert_eq!((client.used_connections(), client.counters().abandoned()), (0, 1));
    assert_eq!(client.counters().failed(), 0);
}

#[tokio::test]
async fn a_reader_that_takes_its_time_is_no_stall() {
    let server = serve(|mut peer| async move {
        peer.head().await.unwrap();
        peer.say(b"HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n").await;
        peer.say(vec![1; 1_000_000]).await;
        peer.rest().await;
    })
    .await;
    let client = client(server.port, Limits { idle: SOON, buffer: 64 * 1024, ..limits() });
    let mut body = get(&client, "/").await.unwrap().into_body();
    let mut len = frame(&mut body).await.unwrap().unwrap().len();
    for _ in 0..3 {
        tokio::time::sleep(SOON * 2).await;
        len += frame(&mut body).await.unwrap().unwrap().len();
    }
    let (rest, error) = read(body).await;
    assert_eq!((len + rest.len(), error), (1_000_000, None));
}
