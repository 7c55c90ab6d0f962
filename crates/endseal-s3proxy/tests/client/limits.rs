//! Tests of connection limits, timeouts, and targets that cannot be connected to.

use std::io;

use super::server::{OK, long, serve};
use super::*;

#[tokio::test]
async fn who_finds_no_connection_waits_for_a_bounded_time() {
    let server = serve(|peer| peer.always(long())).await;
    let client = client(server.port, Limits { connections: 2, queue: SOON, ..limits() });
    let one = get(&client, "/").await.unwrap();
    let _two = get(&client, "/").await.unwrap();
    let error = get(&client, "/").await.unwrap_err();
    assert!(matches!(error, ClientError::Busy), "{error:?}");
    assert_eq!((client.counters().crowded_out(), server.accepted()), (1, 2));
    read(one.into_body()).await;
    assert_eq!(get(&client, "/").await.unwrap().status(), 200);
    assert_eq!(server.accepted(), 2);
}

#[tokio::test]
async fn many_requests_share_few_connections() {
    let server = serve(|peer| peer.always(OK)).await;
    let client = client(server.port, Limits { connections: 3, ..limits() });
    let all: Vec<_> = (0..60)
        .map(|_| {
            let client = client.clone();
            tokio::spawn(async move { read(get(&client, "/").await.unwrap().into_body()).await })
        })
        .collect();
    for one in all {
        assert_eq!(one.await.unwrap(), (b"hi".to_vec(), None));
    }
    assert!((1..=3).contains(&server.accepted()), "{}", server.accepted());
    assert_eq!(client.used_connections(), 0);
}

#[tokio::test]
async fn who_gives_up_waiting_takes_no_place() {
    let server = serve(|peer| peer.always(long())).await;
    let client = client(server.port, Limits { connections: 1, ..limits() });
    let held = get(&client, "/").await.unwrap();
    for _ in 0..3 {
        assert!(timeout(SOON / 10, get(&client, "/")).await.is_err());
    }
    drop(held);
    assert_eq!(get(&client, "/").await.unwrap().status(), 200);
}

#[tokio::test]
async fn no_one_there_is_an_error_at_once() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let client = client(port, limits());
    match get(&client, "/").await.unwrap_err() {
        ClientError::Connect(error) => assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused),
        error => panic!("{error:?}"),
    }
    let counters = client.counters();
    assert_eq!((counters.unreachable(), counters.opened(), counters.failed()), (1, 0, 1));
    assert_eq!(client.used_connections(), 0);
}

#[tokio::test]
async fn a_handshake_that_stalls_is_a_timeout_of_the_connection() {
    let server = serve(|mut peer| async move {
        peer.rest().await;
    })
    .await;
    let target = Target::parse(&format!("https://localhost:{}", server.port)).unwrap();
    let client = Client::new(target, Trust::public(), Limits { connect: SOON, ..limits() });
    let error = get(&client, "/").await.unwrap_err();
    assert!(matches!(error, ClientError::ConnectTimeout), "{error:?}");
    assert_eq!((client.counters().timeouts(), client.counters().unreachable()), (1, 1));
}

#[tokio::test]
async fn what_cannot_be_sent_is_refused() {
    let client = client(9, limits());
    for (method, uri) in [(Method::CONNECT, "host:1"), (Method::GET, "host:1")] {
        let error = client.send(request(method, uri, Body::empty())).await.unwrap_err();
        assert!(matches!(error, ClientError::InvalidRequest), "{error:?}");
    }
    assert_eq!(client.counters().opened(), 0);
}
