//! Tests of connections that are kept, reused, retried and dropped.

use super::server::{OK, Server, long, serve};
use super::*;

#[tokio::test]
async fn requests_go_out_as_they_are() {
    let server = serve(|mut peer| async move {
        let head = peer.head().await.unwrap();
        let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{head}", head.len());
        peer.say(answer).await;
    })
    .await;
    let client = client(server.port, limits());
    let mut request =
        request(Method::GET, "/b/a//%2F..%20+?list-type=2&prefix=a%2Fb&x", Body::empty());
    request.headers_mut().insert("x-amz-date", "20261122T000000Z".parse().unwrap());
    let response = client.send(request).await.unwrap();
    let (head, error) = read(response.into_body()).await;
    let expected = format!(
        "GET /b/a//%2F..%20+?list-type=2&prefix=a%2Fb&x HTTP/1.1\r\nx-amz-date: 20261122T000000Z\r\n\
         host: 127.0.0.1:{}\r\n\r\n",
        server.port
    );
    assert_eq!((String::from_utf8(head).unwrap(), error), (expected, None));
}

#[tokio::test]
async fn one_connection_serves_one_request_after_the_other() {
    let answers: [(Method, &[u8]); 7] = [
        (Method::GET, OK),
        (Method::GET, b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"),
        (Method::HEAD, b"HTTP/1.1 200 OK\r\ncontent-length: 999\r\n\r\n"),
        (Method::DELETE, b"HTTP/1.1 204 No Content\r\n\r\n"),
        (Method::GET, b"HTTP/1.1 304 Not Modified\r\ncontent-length: 7\r\n\r\n"),
        (Method::GET, b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n"),
        (
            Method::PUT,
            b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi",
        ),
    ];
    let script = answers.clone();
    let server = serve(move |mut peer| {
        let script = script.clone();
        async move {
            for (_, answer) in script.iter().cycle() {
                if peer.head().await.is_none() {
                    return;
                }
                peer.say(answer).await;
            }
        }
    })
    .await;
    let client = client(server.port, limits());
    for (n, (method, _)) in answers.iter().cycle().take(21).enumerate() {
        let response = client.send(request(method.clone(), "/", Body::empty())).await.unwrap();
        let (body, error) = read(response.into_body()).await;
        let expected: &[u8] = if [0, 5, 6].contains(&(n % 7)) { b"hi" } else { b"" };
        assert_eq!((&body[..], error), (expected, None), "{n}");
        assert_eq!((client.kept_connections(), client.used_connections()), (1, 0), "{n}");
    }
    assert_eq!(server.accepted(), 1);
    let counters = client.counters();
    assert_eq!((counters.requests(), counters.opened(), counters.reused()), (21, 1, 20));
    assert_eq!((counters.retried(), counters.failed(), counters.abandoned()), (0, 0, 0));
    assert!(counters.bytes_sent() > 400 && counters.bytes_received() > 600);
}

#[tokio::test]
async fn a_kept_connection_stays_with_its_runtime() {
    let server = serve(|peer| peer.always(OK)).await;
    stays(&client(server.port, limits())).await;
    assert_eq!(server.accepted(), 3);
}

/// Connections that other runtimes keep are counted, too.
#[tokio::test]
async fn there_are_no_more_connections_than_said() {
    let server = serve(|peer| peer.always(OK)).await;
    let client = client(server.port, Limits { connections: 2, ..limits() });
    let runtimes = [get_elsewhere(&client).await, get_elsewhere(&client).await];
    assert_eq!((client.kept_connections(), client.used_connections()), (2, 0));
    let response = get(&client, "/").await.unwrap();
    assert_eq!((client.kept_connections(), client.used_connections()), (1, 1));
    assert_eq!(read(response.into_body()).await, (b"hi".to_vec(), None));
    runtimes.into_iter().for_each(Runtime::shutdown_background);
}

#[tokio::test]
async fn a_body_is_at_its_end_with_its_last_byte() {
    let server = serve(|peer| peer.always(OK)).await;
    let client = client(server.port, limits());
    let mut body = get(&client, "/").await.unwrap().into_body();
    assert!(!body.is_end_stream());
    assert_eq!(frame(&mut body).await, Some(Ok(Bytes::from_static(b"hi"))));
    // The end follows from the length, so it is known without another poll.
    assert!(body.is_end_stream());
    assert_eq!(client.kept_connections(), 1);
    assert_eq!(frame(&mut body).await, None);
    drop(body);
    assert_eq!(client.counters().abandoned(), 0);
}

#[tokio::test]
async fn what_says_close_is_not_kept() {
    for answer in [
        &b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nhi"[..],
        b"HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nhi",
        b"HTTP/1.1 200 OK\r\n\r\nhi",
    ] {
        let server = serve(move |mut peer| async move {
            peer.head().await.unwrap();
            peer.say(answer).await;
        })
        .await;
        let client = client(server.port, limits());
        for n in 1..=2 {
            let response = get(&client, "/").await.unwrap();
            assert_eq!(read(response.into_body()).await, (b"hi".to_vec(), None));
            assert_eq!(client.kept_connections(), 0);
            assert_eq!(server.accepted(), n);
        }
    }
}

#[tokio::test]
async fn bytes_that_no_one_asked_for_end_a_connection() {
    let server = serve(|mut peer| async move {
        peer.head().await.unwrap();
        peer.say(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhiHTTP/1.1 200 OK\r\n\r\nforged")
            .await;
        peer.rest().await;
    })
    .await;
    let client = client(server.port, limits());
    for n in 1..=3 {
        let response = get(&client, "/").await.unwrap();
        assert_eq!(read(response.into_body()).await, (b"hi".to_vec(), None));
        assert_eq!(server.accepted(), n);
    }
}

/// Starts a server that responds once and closes the kept connection, early or at the next request.
async fn closing(early: bool) -> Server {
    serve(move |mut peer| async move {
        peer.head().await.unwrap();
        peer.say(OK).await;
        if peer.number == 0 {
            if !early {
                // The next request has been sent when the connection closes.
                peer.head().await;
            }
            return;
        }
        peer.always(OK).await;
    })
    .await
}

#[tokio::test]
async fn a_kept_connection_that_closed_is_replaced() {
    let server = closing(true).await;
    let client = client(server.port, limits());
    let (first, _) = read(get(&client, "/").await.unwrap().into_body()).await;
    // The end of the connection has arrived.
    tokio::time::sleep(SOON).await;
    let response = client
        .send(request(Method::POST, "/", Body::full(Bytes::from_static(b"data"))))
        .await
        .unwrap();
    assert_eq!((first, response.status().as_u16()), (b"hi".to_vec(), 200));
    // It was noticed before the connection was used, so no retry is needed for any method.
    let counters = client.counters();
    assert_eq!((counters.retried(), counters.reused(), counters.opened()), (0, 0, 2));
}

#[tokio::test]
async fn what_is_harmless_is_sent_again() {
    let full = || Body::full(Bytes::from_static(b"data"));
    let cases: [(Method, fn() -> Body); 5] = [
        (Method::GET, Body::empty),
        (Method::HEAD, Body::empty),
        (Method::DELETE, Body::empty),
        (Method::POST, Body::empty),
        (Method::PUT, full),
    ];
    for (method, body) in cases {
        let server = closing(false).await;
        let client = client(server.port, limits());
        read(get(&client, "/").await.unwrap().into_body()).await;
        let response = client.send(request(method.clone(), "/", body())).await.unwrap();
        assert_eq!(response.status(), 200, "{method}");
        let counters = client.counters();
        assert_eq!((counters.retried(), counters.reused(), counters.opened()), (1, 1, 2));
        assert_eq!((counters.failed(), server.accepted()), (0, 2));
    }
}

#[tokio::test]
async fn what_may_do_harm_is_not_sent_again() {
    let half = || {
        let (mut sender, body) = Body::channel(8);
        tokio::spawn(async move {
            sender.send(Bytes::from_static(b"half")).await.unwrap();
            tokio::time::sleep(LATE).await;
            drop(sender);
        });
        body
    };
    let full = || Body::full(Bytes::from_static(b"data"));
    // A complete body of a method that is not idempotent, and a body that was partly consumed.
    let cases: [(Method, fn() -> Body); 2] = [(Method::POST, full), (Method::PUT, half)];
    for (method, body) in cases {
        let server = closing(false).await;
        let client = client(server.port, limits());
        read(get(&client, "/").await.unwrap().into_body()).await;
        let error = client.send(request(method.clone(), "/", body())).await.unwrap_err();
        assert!(matches!(error, ClientError::Broken), "{method} {error:?}");
        assert_eq!((client.counters().retried(), server.accepted()), (0, 1));
    }
}

#[tokio::test]
async fn a_write_on_a_condition_is_not_sent_again() {
    for (method, expected) in [(Method::GET, 1), (Method::PUT, 0), (Method::DELETE, 0)] {
        let server = closing(false).await;
        let client = client(server.port, limits());
        read(get(&client, "/").await.unwrap().into_body()).await;
        let body = match method {
            Method::PUT => Body::full(Bytes::from_static(b"data")),
            _ => Body::empty(),
        };
        let mut request = request(method.clone(), "/", body);
        request.headers_mut().insert("if-none-match", "*".parse().unwrap());
        let outcome = client.send(request).await;
        assert_eq!(outcome.is_ok(), expected == 1, "{method}");
        assert_eq!(client.counters().retried(), expected, "{method}");
    }
}

#[tokio::test]
async fn a_body_that_was_not_started_goes_to_the_next_connection() {
    let server = serve(|mut peer| async move {
        peer.head().await.unwrap();
        if peer.number == 0 {
            peer.say(OK).await;
            peer.head().await;
            return;
        }
        assert_eq!(peer.body(4).await.unwrap(), b"data");
        peer.say(OK).await;
        peer.rest().await;
    })
    .await;
    let client = client(server.port, limits());
    read(get(&client, "/").await.unwrap().into_body()).await;
    let (mut sender, body) = Body::channel(4);
    let sending = tokio::spawn(async move {
        // The server has closed the connection by then.
        tokio::time::sleep(SOON).await;
        sender.send(Bytes::from_static(b"data")).await
    });
    let response = client.send(request(Method::PUT, "/", body)).await.unwrap();
    assert_eq!(response.status(), 200);
    sending.await.unwrap().unwrap();
    assert_eq!((client.counters().retried(), server.accepted()), (1, 2));
}

#[tokio::test]
async fn a_new_connection_that_breaks_is_not_tried_again() {
    let server = serve(|mut peer| async move {
        peer.head().await;
    })
    .await;
    let client = client(server.port, limits());
    let error = get(&client, "/").await.unwrap_err();
    assert!(matches!(error, ClientError::Broken), "{error:?}");
    assert_eq!((client.counters().retried(), client.counters().failed()), (0, 1));
    assert_eq!(server.accepted(), 1);
}

#[tokio::test]
async fn kept_connections_have_an_end() {
    let server = serve(|peer| peer.always(OK)).await;
    let client = client(server.port, Limits { kept_for: SOON, ..limits() });
    for _ in 0..2 {
        read(get(&client, "/").await.unwrap().into_body()).await;
        assert_eq!(client.kept_connections(), 1);
        // The connections are closed without another request.
        until("swept", || client.kept_connections() == 0).await;
    }
    assert_eq!(server.accepted(), 2);
}

#[tokio::test]
async fn no_more_are_kept_than_said() {
    let server = serve(|peer| peer.always(long())).await;
    let client = client(server.port, Limits { kept: 2, ..limits() });
    let mut bodies = Vec::new();
    for _ in 0..5 {
        bodies.push(get(&client, "/").await.unwrap().into_body());
    }
    assert_eq!(client.used_connections(), 5);
    for body in bodies {
        read(body).await;
    }
    assert_eq!((client.kept_connections(), client.used_connections()), (2, 0));
}

/// Most responses have a dozen headers. Those of objects with much metadata have hundreds.
#[tokio::test]
async fn a_response_has_up_to_512_fields() {
    for (fields, method, works) in [
        (90, Method::PUT, true),
        (511, Method::GET, true),
        (511, Method::PUT, true),
        (512, Method::GET, false),
        (600, Method::GET, false),
    ] {
        let server = serve(move |mut peer| async move {
            while peer.head().await.is_some() {
                let mut answer = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n".to_owned();
                for number in 0..fields {
                    answer += &format!("x-amz-meta-{number}: {number}\r\n");
                }
                peer.say(answer + "\r\n").await;
            }
        })
        .await;
        let client = client(server.port, limits());
        for _ in 0..3 {
            let outcome = client.send(request(method.clone(), "/a?b=c", Body::empty())).await;
            match outcome {
                Ok(response) => {
                    assert!(works, "{fields} {method}");
                    assert_eq!(response.headers().len(), fields + 1);
                    assert_eq!(read(response.into_body()).await, (Vec::new(), None));
                }
                Err(error) => {
                    assert!(!works && matches!(error, ClientError::InvalidResponse), "{error}");
                }
            }
        }
        assert_eq!(client.counters().retried(), 0, "{fields} {method}");
    }
}
