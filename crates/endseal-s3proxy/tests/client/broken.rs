//! Tests with servers that close early, stall or send malformed responses.

use super::server::serve;
use super::*;

/// Sends the response, then closes the connection. Returns the result of the client.
async fn after(answer: &'static [u8]) -> Result<(Vec<u8>, Option<ResponseError>), ClientError> {
    let server = serve(move |mut peer| async move {
        peer.head().await.unwrap();
        peer.say(answer).await;
    })
    .await;
    let client = client(server.port, limits());
    let outcome = match get(&client, "/").await {
        Ok(response) => Ok(read(response.into_body()).await),
        Err(error) => Err(error),
    };
    assert_eq!((client.kept_connections(), client.used_connections()), (0, 0));
    let broken = matches!(outcome, Ok((_, Some(ResponseError::Broken))));
    assert_eq!(client.counters().broken_bodies(), u64::from(broken));
    outcome
}

#[tokio::test]
async fn a_body_that_is_cut_is_an_error_after_what_came() {
    for (answer, came) in [
        (&b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf"[..], &b"half"[..]),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n", b""),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n", b"half"),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n0\r\n", b"half"),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhalf\r\nzz\r\n", b"half"),
    ] {
        let (body, error) = after(answer).await.unwrap();
        assert_eq!((&body[..], error), (came, Some(ResponseError::Broken)), "{answer:?}");
    }
}

#[tokio::test]
async fn an_error_is_said_once() {
    let server = serve(|mut peer| async move {
        peer.head().await.unwrap();
        peer.say(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf").await;
    })
    .await;
    let client = client(server.port, limits());
    let mut body = get(&client, "/").await.unwrap().into_body();
    while let Some(Ok(_)) = frame(&mut body).await {}
    assert_eq!(frame(&mut body).await, None);
    assert!(!body.is_end_stream(), "the length is not reached");
}

#[tokio::test]
async fn what_is_not_http_is_told_apart() {
    for answer in [
        &b"SSH-2.0-OpenSSH_9.2\r\n\r\n"[..],
        b"\x16\x03\x01\x02\x00\x01\x00\x01",
        b"HTTP/1.1 2000 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nhi",
        b"HTTP/2.0 200 OK\r\n\r\n",
    ] {
        let error = after(answer).await.unwrap_err();
        assert!(matches!(error, ClientError::InvalidResponse), "{answer:?} {error:?}");
    }
    for answer in [&b""[..], b"HTTP/1.1 200 O", b"HTTP/1.1 200 OK\r\ncontent-le"] {
        let error = after(answer).await.unwrap_err();
        assert!(matches!(error, ClientError::Broken), "{answer:?} {error:?}");
    }
}

#[tokio::test]
async fn a_head_without_end_is_refused_in_bounded_memory() {
    let server = serve(|mut peer| async move {
        use tokio::io::AsyncWriteExt as _;
        peer.head().await.unwrap();
        peer.say(b"HTTP/1.1 200 OK\r\nx: ").await;
        while peer.stream.write_all(&[b'a'; 4096]).await.is_ok() {}
    })
    .await;
    let client = client(server.port, Limits { buffer: 64 * 1024, ..limits() });
    let error = get(&client, "/").await.unwrap_err();
    assert!(matches!(error, ClientError::InvalidResponse), "{error:?}");
    assert!(client.counters().bytes_received() < 256 * 1024);
}

#[tokio::test]
async fn a_response_that_does_not_come_is_a_timeout() {
    let server = serve(|mut peer| async move {
        peer.rest().await;
    })
    .await;
    let client = client(server.port, Limits { first_byte: SOON, ..limits() });
    let error = get(&client, "/").await.unwrap_err();
    assert!(matches!(error, ClientError::ResponseTimeout), "{error:?}");
    assert_eq!((client.counters().timeouts(), client.used_connections()), (1, 0));
}

#[tokio::test]
async fn a_body_that_stalls_is_a_timeout_after_what_came() {
    let server = serve(|mut peer| async move {
        peer.head().await.unwrap();
        peer.say(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf").await;
        peer.rest().await;
    })
    .await;
    let client = client(server.port, Limits { idle: SOON, ..limits() });
    let (body, error) = read(get(&client, "/").await.unwrap().into_body()).await;
    assert_eq!((&body[..], error), (&b"half"[..], Some(ResponseError::Stalled)));
    assert_eq!((client.counters().timeouts(), client.used_connections()), (1, 0));
}

#[tokio::test]
async fn a_slow_body_is_no_stall() {
    let server = serve(|mut peer| async move {
        peer.head().await.unwrap();
        peer.say(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n").await;
        for _ in 0..9 {
            tokio::time::sleep(SOON / 3).await;
            peer.say(b"x").await;
        }
        peer.rest().await;
    })
    .await;
    // Longer than one pause, but shorter than all of them together.
    let client = client(server.port, Limits { idle: SOON * 2, ..limits() });
    let (body, error) = read(get(&client, "/").await.unwrap().into_body()).await;
    assert_eq!((&body[..], error), (&b"xxxxxxxxx"[..], None));
}
