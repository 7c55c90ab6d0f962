//! Tests of response bodies that are read into a buffer of the caller.

use bytes::BytesMut;

use super::server::{OK, serve};
use super::*;

pub(crate) const LONG: usize = 3 << 20;
/// Size of a single read of a connection in bytes.
const SHORT: usize = 40_000;
const HEADS: [&str; 3] = ["", "connection: close\r\n", "x-amz-meta-a: b\r\n"];

pub(crate) fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i % 251).to_le_bytes()[0]).collect()
}

/// Reads at most `most` bytes at once into a buffer with capacity `room`, until the end or an
/// error.
pub(crate) async fn read_into(
    body: &mut ResponseBody,
    room: usize,
    most: usize,
) -> (Vec<u8>, Option<ResponseError>) {
    let mut all = Vec::new();
    loop {
        let mut bytes = BytesMut::with_capacity(room);
        match poll_fn(|cx| body.poll_read(cx, &mut bytes, most)).await {
            Some(Ok(())) => {
                assert!((1..=most.min(bytes.capacity())).contains(&bytes.len()));
                all.extend_from_slice(&bytes);
            }
            Some(Err(error)) => return (all, Some(error)),
            None => return (all, None),
        }
    }
}

/// Answers each request with a body of `len` bytes, in pieces of `piece`.
async fn serve_long(head: &'static str, len: usize, piece: usize) -> server::Server {
    serve(move |mut peer| async move {
        while peer.head().await.is_some() {
            let body = pattern(len);
            let (first, rest) = body.split_at(len.min(piece));
            let head = format!("HTTP/1.1 200 OK\r\n{head}content-length: {len}\r\n\r\n");
            peer.say([head.as_bytes(), first].concat()).await;
            for piece in rest.chunks(piece) {
                peer.say(piece).await;
            }
        }
    })
    .await
}

#[tokio::test]
async fn what_is_read_is_what_was_sent_and_the_connection_serves_again() {
    for (len, piece) in [(LONG, 1 << 20), (LONG + 1, 5_000), (LONG, LONG), (SHORT, 1_000), (1, 1)] {
        for head in HEADS {
            let server = serve_long(head, len, piece).await;
            let client = client(server.port, limits());
            for (room, most) in [(1 << 20, usize::MAX), (100_000, 70_000), (1_000, 999)] {
                let mut body = get(&client, "/").await.unwrap().into_body();
                assert_eq!(body.size_hint().exact(), Some(len as u64));
                let (read, error) = read_into(&mut body, room, most).await;
                assert!(read == pattern(len) && error.is_none(), "{len} {head} {room}");
                assert!(body.is_end_stream() && body.size_hint().exact() == Some(0));
                assert!(frame(&mut body).await.is_none());
            }
            let closes = head.starts_with("connection");
            assert_eq!(server.accepted(), if closes { 3 } else { 1 });
            assert_eq!(client.kept_connections(), usize::from(!closes));
            assert_eq!(client.used_connections(), 0);
        }
    }
}

#[tokio::test]
async fn frames_go_on_where_reading_stopped() {
    let server = serve_long("", LONG, 100_000).await;
    let client = client(server.port, limits());
    for stop in [1, 10_000, 200_000, LONG - 1] {
        let mut body = get(&client, "/").await.unwrap().into_body();
        let mut all = Vec::new();
        while all.len() < stop {
            let mut bytes = BytesMut::with_capacity(100_000);
            let most = stop - all.len();
            poll_fn(|cx| body.poll_read(cx, &mut bytes, most)).await.unwrap().unwrap();
            all.extend_from_slice(&bytes);
        }
        assert_eq!(all.len(), stop);
        assert_eq!(body.size_hint().exact(), Some((LONG - stop) as u64));
        let (rest, error) = read(body).await;
        all.extend_from_slice(&rest);
        assert!(all == pattern(LONG) && error.is_none(), "stopped at {stop}");
    }
    assert_eq!(server.accepted(), 1);
}

#[tokio::test]
async fn a_body_that_breaks_off_is_broken() {
    for cut in [10, SHORT, LONG / 2, LONG - 1] {
        let server = serve(move |mut peer| async move {
            peer.head().await.unwrap();
            peer.say(format!("HTTP/1.1 200 OK\r\ncontent-length: {LONG}\r\n\r\n")).await;
            peer.say(&pattern(LONG)[..cut]).await;
        })
        .await;
        let client = client(server.port, limits());
        let mut body = get(&client, "/").await.unwrap().into_body();
        let (read, error) = read_into(&mut body, 1 << 20, usize::MAX).await;
        assert!(read == pattern(LONG)[..cut], "cut after {cut}");
        assert_eq!(error, Some(ResponseError::Broken));
        assert_eq!(client.kept_connections(), 0);
        assert_eq!(client.counters().broken_bodies(), 1);
        let (again, error) = read_into(&mut body, 1 << 20, usize::MAX).await;
        assert!(again.is_empty() && error.is_none(), "it is told once");
    }
}

#[tokio::test]
async fn a_body_that_stalls_is_given_up() {
    let server = serve(|mut peer| async move {
        peer.head().await.unwrap();
        peer.say(format!("HTTP/1.1 200 OK\r\ncontent-length: {LONG}\r\n\r\n")).await;
        peer.say(&pattern(LONG)[..LONG / 2]).await;
        peer.rest().await;
    })
    .await;
    let client = client(server.port, Limits { idle: SOON, ..limits() });
    let mut body = get(&client, "/").await.unwrap().into_body();
    let (read, error) = read_into(&mut body, 1 << 20, usize::MAX).await;
    assert!(read == pattern(LONG)[..LONG / 2]);
    assert_eq!(error, Some(ResponseError::Stalled));
    drop(body);
    assert_eq!((client.used_connections(), client.kept_connections()), (0, 0));
}

/// A body that arrives with its head, followed by bytes that do not belong to it.
#[tokio::test]
async fn more_than_was_announced_ends_the_connection() {
    for len in [70_000, LONG] {
        let server = serve(move |mut peer| async move {
            while peer.head().await.is_some() {
                let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {len}\r\n\r\n");
                peer.say([head.as_bytes(), &pattern(len), &[0; 100]].concat()).await;
            }
        })
        .await;
        let client = client(server.port, limits());
        for number in 1..=2 {
            let mut body = get(&client, "/").await.unwrap().into_body();
            let (read, error) = read_into(&mut body, 1 << 20, usize::MAX).await;
            assert!(read == pattern(len) && error.is_none(), "{len}");
            assert_eq!(server.accepted(), number, "a new one each time");
        }
    }
}

#[tokio::test]
async fn a_body_that_is_dropped_closes_the_connection() {
    let server = serve(|mut peer| async move {
        peer.head().await.unwrap();
        peer.say(format!("HTTP/1.1 200 OK\r\ncontent-length: {LONG}\r\n\r\n")).await;
        if peer.number == 0 {
            peer.say(&pattern(LONG)[..LONG / 2]).await;
            assert_eq!(peer.rest().await, 0);
        } else {
            peer.say(&pattern(LONG)).await;
            peer.always(OK).await;
        }
    })
    .await;
    let client = client(server.port, limits());
    let mut body = get(&client, "/").await.unwrap().into_body();
    let mut bytes = BytesMut::with_capacity(500_000);
    while bytes.len() < 300_000 {
        poll_fn(|cx| body.poll_read(cx, &mut bytes, usize::MAX)).await.unwrap().unwrap();
    }
    drop(body);
    assert_eq!((client.counters().abandoned(), client.kept_connections()), (1, 0));
    let mut body = get(&client, "/").await.unwrap().into_body();
    assert!(read_into(&mut body, 1 << 20, usize::MAX).await.0 == pattern(LONG));
    assert_eq!(read(get(&client, "/").await.unwrap().into_body()).await.0, b"hi");
    assert_eq!(server.accepted(), 2);
}

#[tokio::test]
async fn bodies_without_a_length_are_read_to_their_end() {
    let server = serve(|mut peer| async move {
        while peer.head().await.is_some() {
            peer.say("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n").await;
            for piece in pattern(LONG).chunks(100_000) {
                peer.say(format!("{:x}\r\n", piece.len())).await;
                peer.say([piece, b"\r\n"].concat()).await;
            }
            peer.say("0\r\n\r\n").await;
        }
    })
    .await;
    let client = client(server.port, limits());
    for _ in 0..2 {
        let mut body = get(&client, "/").await.unwrap().into_body();
        let (read, error) = read_into(&mut body, 1 << 20, usize::MAX).await;
        assert!(read == pattern(LONG) && error.is_none());
    }
    assert_eq!(server.accepted(), 1);
}
