//! Tests of request bodies.

use std::sync::Mutex;

use endseal_s3proxy::upstream::{BodyUnwanted, SourceError, WrongLength};
use tokio::sync::oneshot;

use super::server::{OK, serve};
use super::*;

/// Source of a body that yields these frames.
struct Frames(Vec<Result<Bytes, SourceError>>);

impl http_body::Body for Frames {
    type Data = Bytes;
    type Error = SourceError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut core::task::Context<'_>,
    ) -> core::task::Poll<Option<Result<http_body::Frame<Bytes>, SourceError>>> {
        let next = if self.0.is_empty() { None } else { Some(self.0.remove(0)) };
        core::task::Poll::Ready(next.map(|item| item.map(http_body::Frame::data)))
    }
}

fn frames(items: &[&'static [u8]]) -> Vec<Result<Bytes, SourceError>> {
    items.iter().map(|item| Ok(Bytes::from_static(item))).collect()
}

#[tokio::test]
async fn bodies_arrive_with_their_length() {
    let server = serve(|mut peer| async move {
        while let Some(head) = peer.head().await {
            assert!(head.contains("content-length: 8\r\n"), "{head}");
            assert!(!head.contains("transfer-encoding"), "{head}");
            let body = peer.body(8).await.unwrap();
            peer.say(b"HTTP/1.1 200 OK\r\ncontent-length: 8\r\n\r\n").await;
            peer.say(body).await;
        }
    })
    .await;
    let client = client(server.port, limits());
    let (mut sender, channel) = Body::channel(8);
    tokio::spawn(async move {
        for piece in ["one", "", "and", "2!"] {
            sender.send(Bytes::from(piece)).await.unwrap();
        }
    });
    let stream = Body::stream(8, Frames(frames(&[b"onea", b"", b"nd2!"])));
    let full = Body::full(Bytes::from_static(b"oneand2!"));
    for body in [channel, stream, full] {
        let response = client.send(request(Method::PUT, "/", body)).await.unwrap();
        assert_eq!(read(response.into_body()).await, (b"oneand2!".to_vec(), None));
    }
    assert_eq!(server.accepted(), 1);
}

#[tokio::test]
async fn a_put_without_body_says_so() {
    let server = serve(|mut peer| async move {
        let head = peer.head().await.unwrap();
        assert!(head.contains("content-length: 0\r\n"), "{head}");
        peer.say(OK).await;
    })
    .await;
    let client = client(server.port, limits());
    for method in [Method::PUT, Method::POST] {
        let response = client.send(request(method, "/", Body::empty())).await.unwrap();
        assert_eq!(response.status(), 200);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_large_body_goes_out() {
    const LEN: usize = 32 << 20;
    let server = serve(|mut peer| async move {
        peer.head().await.unwrap();
        let body = peer.body(LEN).await.unwrap();
        assert!(
            body.chunks(16_400).enumerate().all(|(n, chunk)| *chunk == chunk_of(n, chunk.len()))
        );
        peer.say(OK).await;
        peer.rest().await;
    })
    .await;
    let client = client(server.port, limits());
    let chunks = LEN.div_ceil(16_400);
    let source = (0..chunks).map(|n| {
        let len = (LEN - n * 16_400).min(16_400);
        Ok(Bytes::from(chunk_of(n, len)))
    });
    let body = Body::stream(LEN as u64, Frames(source.collect()));
    let response = client.send(request(Method::PUT, "/", body)).await.unwrap();
    assert_eq!(read(response.into_body()).await.0, b"hi");
    assert!(client.counters().bytes_sent() > LEN as u64);
    assert_eq!(client.kept_connections(), 1);
}

/// Returns chunk `n` of a large body.
fn chunk_of(n: usize, len: usize) -> Vec<u8> {
    vec![n.to_le_bytes()[0]; len]
}

/// Sends a body of 8 bytes. Returns the error, and the number of bytes that the server received.
async fn failing(body: Body, limits: Limits) -> (ClientError, usize) {
    let (tell, seen) = oneshot::channel();
    let tell = Mutex::new(Some(tell));
    let server = serve(move |mut peer| {
        let tell = tell.lock().unwrap().take();
        async move {
            // A source that fails at once may prevent the whole request.
            let len = if peer.head().await.is_some() { peer.rest().await } else { 0 };
            tell.unwrap().send(len).unwrap();
        }
    })
    .await;
    let client = client(server.port, limits);
    let error = client.send(request(Method::PUT, "/", body)).await.unwrap_err();
    assert_eq!((client.used_connections(), client.kept_connections()), (0, 0));
    (error, seen.await.unwrap())
}

#[tokio::test]
async fn a_source_that_fails_aborts_the_request() {
    let mut items = frames(&[b"1234"]);
    items.push(Err("the checksum differs".into()));
    let (error, seen) = failing(Body::stream(8, Frames(items)), limits()).await;
    let ClientError::Source(reason) = error else { panic!("{error:?}") };
    assert_eq!(reason.to_string(), "the checksum differs");
    assert!(seen < 8);

    let (mut sender, body) = Body::channel(8);
    tokio::spawn(async move {
        sender.send(Bytes::from_static(b"1234567")).await.unwrap();
        sender.abort("gone".into()).await;
    });
    let (error, seen) = failing(body, limits()).await;
    assert!(matches!(&error, ClientError::Source(reason) if reason.to_string() == "gone"));
    assert!(seen < 8);
}

#[tokio::test]
async fn an_aborted_upload_ends_by_a_reset() {
    use tokio::io::AsyncReadExt as _;

    // Some servers take an orderly close for the end of the body and store a truncated object.
    let (tell, seen) = oneshot::channel();
    let tell = Mutex::new(Some(tell));
    let server = serve(move |mut peer| {
        let tell = tell.lock().unwrap().take();
        async move {
            peer.head().await.unwrap();
            peer.body(4).await.unwrap();
            tell.unwrap().send(peer.stream.read_u8().await.unwrap_err().kind()).unwrap();
        }
    })
    .await;
    let client = client(server.port, limits());
    let (mut sender, body) = Body::channel(8);
    let sending = tokio::spawn(async move {
        sender.send(Bytes::from_static(b"1234")).await.unwrap();
        tokio::time::sleep(SOON).await;
        drop(sender);
    });
    client.send(request(Method::PUT, "/", body)).await.unwrap_err();
    sending.await.unwrap();
    assert_eq!(seen.await.unwrap(), std::io::ErrorKind::ConnectionReset);
}

#[tokio::test]
async fn a_body_of_another_length_aborts_the_request() {
    let wrong = |error: &ClientError| match error {
        ClientError::Source(reason) => reason.is::<WrongLength>(),
        _ => false,
    };
    for items in [&[&b"1234567"[..]][..], &[], &[b"1234", b"56789"], &[b"123456789"]] {
        let (error, seen) = failing(Body::stream(8, Frames(frames(items))), limits()).await;
        assert!(wrong(&error) && seen < 8, "{items:?} {error:?} {seen}");
    }
    let (sender, body) = Body::channel(8);
    drop(sender);
    let (error, seen) = failing(body, limits()).await;
    assert!(wrong(&error) && seen == 0, "{error:?} {seen}");
}

#[tokio::test]
async fn a_source_that_stalls_is_told_from_a_server_that_does() {
    let short = Limits { idle: SOON, ..limits() };
    let (mut sender, body) = Body::channel(8);
    let source = tokio::spawn(async move {
        sender.send(Bytes::from_static(b"1234")).await.unwrap();
        tokio::time::sleep(SOON * 3).await;
        sender.send(Bytes::from_static(b"5678")).await
    });
    let (error, seen) = failing(body, short).await;
    assert!(matches!(error, ClientError::SourceStalled), "{error:?}");
    assert_eq!(
        (seen, source.await.unwrap().map_err(|BodyUnwanted { .. }| "unwanted")),
        (4, Err("unwanted"))
    );

    let server = serve(|mut peer| async move {
        peer.head().await.unwrap();
        tokio::time::sleep(LATE).await;
    })
    .await;
    let client = client(server.port, short);
    let body = Body::stream(
        64 << 20,
        Frames((0..1024).map(|_| Ok(Bytes::from(vec![0; 1 << 16]))).collect()),
    );
    let error = client.send(request(Method::PUT, "/", body)).await.unwrap_err();
    assert!(matches!(error, ClientError::Stalled), "{error:?}");
    assert_eq!(client.counters().timeouts(), 1);
}

#[tokio::test]
async fn a_slow_source_is_no_stall() {
    let server = serve(|mut peer| async move {
        peer.head().await.unwrap();
        peer.body(8).await.unwrap();
        peer.say(OK).await;
    })
    .await;
    // Longer than one pause, but shorter than all of them together.
    let short = SOON * 2;
    let client = client(server.port, Limits { idle: short, first_byte: short, ..limits() });
    let (mut sender, body) = Body::channel(8);
    tokio::spawn(async move {
        for _ in 0..8 {
            tokio::time::sleep(SOON / 3).await;
            sender.send(Bytes::from_static(b"x")).await.unwrap();
        }
    });
    let response = client.send(request(Method::PUT, "/", body)).await.unwrap();
    assert_eq!(response.status(), 200);
}

#[tokio::test]
async fn an_answer_before_the_end_of_the_body_is_taken() {
    let server = serve(|mut peer| async move {
        peer.head().await.unwrap();
        peer.say(b"HTTP/1.1 403 Forbidden\r\ncontent-length: 6\r\n\r\ndenied").await;
        // Like real servers, it reads on so that the response is not lost by a reset.
        peer.rest().await;
    })
    .await;
    let client = client(server.port, limits());
    let (mut sender, body) = Body::channel(8);
    let response = client.send(request(Method::PUT, "/", body)).await.unwrap();
    assert_eq!(response.status(), 403);
    assert_eq!(read(response.into_body()).await, (b"denied".to_vec(), None));
    // A connection with an incomplete request cannot be reused.
    assert_eq!((client.kept_connections(), client.used_connections()), (0, 0));
    assert!(sender.send(Bytes::from_static(b"late")).await.is_err());
}
