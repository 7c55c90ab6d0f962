//! Tests of responses of every form.

use super::server::serve;
use super::*;

/// Bytes of a response, with the status and content that they mean.
const ANSWERS: [(&str, u16, &str); 11] = [
    ("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nplain", 200, "plain"),
    ("HTTP/1.1 200 OK\ncontent-length: 5\n\nplain", 200, "plain"),
    ("\r\nHTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nplain", 200, "plain"),
    ("HTTP/1.1 204 No Content\r\n\r\n", 204, ""),
    ("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", 404, ""),
    (
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nchunk\r\n2\r\ned\r\n0\r\n\r\n",
        200,
        "chunked",
    ),
    (
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nlater",
        200,
        "later",
    ),
    (
        "HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n\
         HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nlater\r\n0\r\n\r\n",
        200,
        "later",
    ),
    ("HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 5\r\n\r\ntwice", 200, "twice"),
    ("HTTP/1.1 200 OK\r\nconnection: keep-alive\r\ncontent-length: 4\r\n\r\nkept", 200, "kept"),
    ("HTTP/1.1 412 Precondition Failed\r\ncontent-length: 3\r\nx: \r\n\r\nnot", 412, "not"),
];

fn body(kind: usize) -> (Body, usize) {
    match kind % 3 {
        0 => (Body::empty(), 0),
        1 => (Body::full(vec![b'f'; 9_000].into()), 9_000),
        _ => (Body::full(vec![b'l'; 40_000].into()), 40_000),
    }
}

/// Each request arrives once, over one connection.
#[tokio::test]
async fn one_connection_serves_again_after_each() {
    let server = serve(|mut peer| async move {
        for turn in 0.. {
            let Some(head) = peer.head().await else { return };
            let number = format!("PUT /{turn} HTTP/1.1\r\n");
            assert!(head.starts_with(&number), "{head} instead of {number}");
            let (_, len) = body(turn);
            assert!(head.contains(&format!("content-length: {len}\r\n")), "{head}");
            let content = peer.body(len).await.unwrap();
            assert!(content.iter().all(|byte| *byte == content[0]));
            peer.say(ANSWERS[turn % ANSWERS.len()].0).await;
        }
    })
    .await;
    let client = client(server.port, limits());
    for turn in 0..3 * ANSWERS.len() {
        let (_, status, content) = ANSWERS[turn % ANSWERS.len()];
        let request = request(Method::PUT, &format!("/{turn}"), body(turn).0);
        let response = timeout(LATE, client.send(request)).await.expect("no answer").unwrap();
        assert_eq!(response.status(), status, "{turn}");
        assert_eq!(read(response.into_body()).await, (content.into(), None), "{turn}");
        assert_eq!((client.kept_connections(), client.used_connections()), (1, 0), "{turn}");
    }
    assert_eq!((server.accepted(), client.counters().retried()), (1, 0));
}

/// A server may split its response at any byte.
#[tokio::test]
async fn an_answer_may_come_byte_by_byte() {
    let server = serve(|mut peer| async move {
        peer.stream.set_nodelay(true).unwrap();
        let mut turn = 0;
        while peer.head().await.is_some() {
            for byte in ANSWERS[turn % ANSWERS.len()].0.as_bytes() {
                peer.say([*byte]).await;
                tokio::task::yield_now().await;
            }
            turn += 1;
        }
    })
    .await;
    let client = client(server.port, limits());
    for (_, status, content) in ANSWERS {
        let response = timeout(LATE, get(&client, "/")).await.expect("no answer").unwrap();
        assert_eq!(response.status(), status, "{content}");
        assert_eq!(read(response.into_body()).await, (content.into(), None));
    }
    assert_eq!(server.accepted(), 1);
}

#[tokio::test]
async fn an_answer_to_head_has_no_body() {
    let server = serve(|peer| {
        peer.always(b"HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\netag: \"e\"\r\n\r\n")
    })
    .await;
    let client = client(server.port, limits());
    for _ in 0..3 {
        let request = request(Method::HEAD, "/", Body::empty());
        let response = client.send(request).await.unwrap();
        assert_eq!(response.headers()["content-length"], "1000000");
        assert!(response.body().is_end_stream());
        assert_eq!(read(response.into_body()).await, (Vec::new(), None));
    }
    assert_eq!(server.accepted(), 1);
}

/// A server that sends more than it announced: the rest is not a response to the next request.
#[tokio::test]
async fn a_connection_that_is_out_of_step_is_closed() {
    const DENIED: &[u8] = b"HTTP/1.1 403 Forbidden\r\ncontent-length: 6\r\n\r\ndenied";
    let server = serve(|mut peer| async move {
        let smuggled = [DENIED, b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"].concat();
        peer.head().await.unwrap();
        peer.say(smuggled).await;
        assert_eq!(peer.rest().await, 0, "another request came");
    })
    .await;
    let client = client(server.port, limits());
    for turn in 1..4 {
        let response = get(&client, "/").await.unwrap();
        assert_eq!(response.status(), 403);
        assert_eq!(read(response.into_body()).await, (b"denied".to_vec(), None));
        assert_eq!((client.kept_connections(), client.used_connections()), (0, 0));
        assert_eq!(server.accepted(), turn);
    }
}

/// A response that arrives without a request is not used for the next request.
#[tokio::test]
async fn an_answer_without_a_request_is_none() {
    let server = serve(|mut peer| async move {
        while peer.head().await.is_some() {
            peer.say(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi").await;
            tokio::time::sleep(SOON / 10).await;
            peer.say(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nfake").await;
        }
    })
    .await;
    let client = client(server.port, limits());
    for turn in 1..4 {
        let response = get(&client, "/").await.unwrap();
        assert_eq!(read(response.into_body()).await, (b"hi".to_vec(), None));
        tokio::time::sleep(SOON / 2).await;
        assert_eq!(server.accepted(), turn);
    }
}
