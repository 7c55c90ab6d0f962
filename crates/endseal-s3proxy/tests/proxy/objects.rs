//! Tests of objects that are not uploaded in parts.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::client::{Answer, parse};
use crate::fixture::{World, at_once, content, serve, serve_with};
use crate::races::{Relay, folder};

const SIZES: [usize; 11] =
    [0, 1, 16_383, 16_384, 16_385, 32_768, 100_000, 131_072, 131_073, 1_000_000, 3_333_333];

#[tokio::test(flavor = "multi_thread")]
async fn what_is_put_comes_back_and_lies_there_sealed() {
    let (world, front) = World::with_bucket().await;
    let client = &front.client;
    for (at, len) in SIZES.into_iter().enumerate() {
        let content = content(len, at as u64 + 1);
        let target = format!("/bucket/folder/{at}");
        let put = client.put(&target, &content).await.expect(200);
        let got = client.ask("GET", &target).await.expect(200);
        assert!(got.body == content, "{len}");
        assert_eq!(got.etag(), put.etag());
        let head = client.ask("HEAD", &target).await.expect(200);
        assert_eq!(head.header("content-length"), Some(len.to_string().as_str()));
        assert_eq!(head.etag(), put.etag());
        assert!(head.body.is_empty());
        for file in world.data() {
            let stored = std::fs::read(file).unwrap();
            let piece = &content[..content.len().min(64)];
            assert!(len < 16 || !stored.windows(piece.len()).any(|window| window == piece));
        }
    }
    assert_eq!(world.data().len(), SIZES.len());
    assert!(world.unfinished().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn ranges_are_those_of_the_content() {
    let (_world, front) = World::with_bucket().await;
    let client = &front.client;
    let content = content(300_000, 7);
    client.put("/bucket/key", &content).await.expect(200);
    let len = content.len();
    for (first, last) in [
        (0, 0),
        (0, 16_383),
        (16_383, 16_384),
        (16_384, 16_384),
        (1, 299_999),
        (299_999, 299_999),
        (32_768, 49_151),
        (5, 200_000),
        (0, 299_999),
        (250_000, 400_000),
    ] {
        let range = format!("bytes={first}-{last}");
        let got = client.ask_with("GET", "/bucket/key", &[("range", &range)]).await.expect(206);
        let last = last.min(len - 1);
        assert!(got.body == content[first..=last], "{range}");
        let expected = format!("bytes {first}-{last}/{len}");
        assert_eq!(got.header("content-range"), Some(expected.as_str()));
        let head = client.ask_with("HEAD", "/bucket/key", &[("range", &range)]).await.expect(206);
        assert_eq!(head.header("content-length"), Some((last - first + 1).to_string().as_str()));
    }
    let got = client.ask_with("GET", "/bucket/key", &[("range", "bytes=-17")]).await.expect(206);
    assert!(got.body == content[len - 17..]);
    let got =
        client.ask_with("GET", "/bucket/key", &[("range", "bytes=131072-")]).await.expect(206);
    assert!(got.body == content[131_072..]);
    for beyond in ["bytes=300000-", "bytes=300000-300001", "bytes=999999999-"] {
        let got = client.ask_with("GET", "/bucket/key", &[("range", beyond)]).await.expect(416);
        assert_eq!(got.code(), "InvalidRange", "{beyond}");
        assert_eq!(got.header("content-range"), Some("bytes */300000"), "{beyond}");
    }
    // A header that is not a single valid range is ignored.
    client.ask_with("GET", "/bucket/key", &[("range", "bytes=3-2")]).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_stands_beside_an_object_stays() {
    let (world, front) = World::with_bucket().await;
    let client = &front.client;
    let beside = [
        ("content-type", "text/x-test"),
        ("cache-control", "no-store"),
        ("content-disposition", "attachment; filename=\"a b.txt\""),
        ("content-language", "de"),
        ("expires", "Fri, 24 May 2030 00:00:00 GMT"),
        ("x-amz-meta-one", "1"),
        ("x-amz-meta-two", "zwei  = 2%"),
    ];
    client.send("PUT", "/bucket/key", &beside, b"content").await.expect(200);
    for method in ["GET", "HEAD"] {
        let got = client.ask(method, "/bucket/key").await.expect(200);
        for (name, value) in beside {
            assert_eq!(got.header(name), Some(value), "{method} {name}");
        }
        assert!(got.headers.keys().all(|name| !name.as_str().contains("endseal")), "{method}");
    }
    let stored = world.backend().ask("HEAD", "/bucket/key").await.expect(200);
    assert!(stored.header("x-amz-meta-endseal").is_some());
    let own = [("x-amz-meta-endseal", "mine")];
    let refused = client.send("PUT", "/bucket/key", &own, b"").await.expect(400);
    assert_eq!(refused.code(), "InvalidArgument");
    let long = "x".repeat(2_000);
    let long = [("x-amz-meta-long", long.as_str())];
    let refused = client.send("PUT", "/bucket/key", &long, b"").await.expect(400);
    assert_eq!(refused.code(), "MetadataTooLarge");
    let got = client.ask("GET", "/bucket/key").await.expect(200);
    assert_eq!(got.body, b"content");
}

#[tokio::test(flavor = "multi_thread")]
async fn any_key_is_one_object_and_deleted_alone() {
    let (world, front) = World::with_bucket().await;
    let client = &front.client;
    let keys = [
        "a",
        "A",
        "a/b",
        "a/",
        "a//b",
        "a/%2E%2E",
        "%2E/x",
        "%C3%A4%20b",
        "a%2Bb",
        "a%25b",
        "%00x",
        "x%0Ay",
        "a%5Cb",
        "~",
        "a/b/%2E%2E/%2E%2E/etc/passwd",
    ];
    let mut written = Vec::new();
    for key in keys {
        let put = client.put(&format!("/bucket/{key}"), key.as_bytes()).await;
        // A key must not contain a null byte.
        assert_eq!(put.status == 200, key != "%00x", "{key}: {}", put.text());
        written.extend((put.status == 200).then_some(key));
    }
    for key in &written {
        let got = client.ask("GET", &format!("/bucket/{key}")).await.expect(200);
        assert_eq!(got.body, key.as_bytes());
    }
    for (at, key) in written.iter().enumerate() {
        client.ask("DELETE", &format!("/bucket/{key}")).await.expect(204);
        let gone = client.ask("GET", &format!("/bucket/{key}")).await.expect(404);
        assert_eq!(gone.code(), "NoSuchKey");
        assert_eq!(world.data().len(), written.len() - at - 1);
    }
    client.ask("DELETE", "/bucket/never").await.expect(204);
    client.ask("DELETE", "/bucket").await.expect(204);
    client.ask("HEAD", "/bucket").await.expect(404);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_that_is_replaced_is_read_to_its_end() {
    let (world, front) = World::with_bucket().await;
    let client = &front.client;
    let first = content(2_000_000, 1);
    client.put("/bucket/key", &first).await.expect(200);
    let reading = client.ask("GET", "/bucket/key");
    let replacing = async {
        for seed in 2..6 {
            client.put("/bucket/key", &content(1_000_000, seed)).await.expect(200);
        }
    };
    let (got, ()) = tokio::join!(reading, replacing);
    let got = got.expect(200);
    assert!(got.body == first || (2..6).any(|seed| got.body == content(1_000_000, seed)));
    crate::fixture::eventually("old data go", || world.data().len() == 1).await;
    assert!(client.ask("GET", "/bucket/key").await.expect(200).body == content(1_000_000, 5));
}

#[tokio::test(flavor = "multi_thread")]
async fn checksums_of_the_client_are_compared_before_anything_is_stored() {
    let (world, front) = World::with_bucket().await;
    let client = &front.client;
    // CRC32C of "123456789" is e3069283.
    let right = [("x-amz-checksum-crc32c", "4waSgw==")];
    let put = client.send("PUT", "/bucket/key", &right, b"123456789").await.expect(200);
    assert_eq!(put.header("x-amz-checksum-crc32c"), Some("4waSgw=="));
    let mode = [("x-amz-checksum-mode", "ENABLED")];
    let got = client.ask_with("GET", "/bucket/key", &mode).await.expect(200);
    assert_eq!(got.header("x-amz-checksum-crc32c"), Some("4waSgw=="));
    let head = client.ask_with("HEAD", "/bucket/key", &mode).await.expect(200);
    assert_eq!(head.header("x-amz-checksum-crc32c"), Some("4waSgw=="));
    for (name, value) in [
        ("x-amz-checksum-crc32c", "4waSgg=="),
        ("content-md5", "AAAAAAAAAAAAAAAAAAAAAA=="),
        ("x-amz-checksum-sha256", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="),
    ] {
        // Content that is buffered before it is sent, and content that is sealed while it is sent.
        for len in [0, 9, 16_384, 16_385, 700_000] {
            let body = content(len, 3);
            let refused = client.send("PUT", "/bucket/other", &[(name, value)], &body).await;
            assert_eq!(
                (refused.status, refused.code().as_str()),
                (400, "BadDigest"),
                "{name} {len}"
            );
        }
    }
    client.ask("HEAD", "/bucket/other").await.expect(404);
    crate::fixture::eventually("nothing stays", || world.unfinished().is_empty()).await;
    assert_eq!(world.data().len(), 1);
}

/// Checksums tell the server that it has received everything. Short content is sent with a checksum
/// header, and longer content in chunks with a checksum trailer.
#[tokio::test(flavor = "multi_thread")]
async fn sealed_content_has_a_checksum_for_the_backend() {
    let (world, _front) = World::with_bucket().await;
    for (len, wanted) in [
        (0, (|head| is_whole(head)) as fn(&str) -> bool),
        (16_384, |head| is_whole(head)),
        (16_385, |head| head.contains("x-amz-trailer: x-amz-checksum-crc32c") && !is_whole(head)),
    ] {
        let mut relay = Relay::before(folder(&world), wanted).await;
        let mut config = relay.config(&world);
        config.backend.trailers = true;
        let front = serve(&config).await;
        let client = &front.client;
        let target = format!("/bucket/{len}");
        let body = content(len, 7);
        let put = client.put(&target, &body);
        let seen = async {
            relay.arrived.recv().await.unwrap();
            relay.go_on.send(()).await.unwrap();
        };
        let (put, ()) = tokio::join!(put, seen);
        put.expect(200);
        assert!(client.ask("GET", &target).await.expect(200).body == body, "{len}");
    }
}

fn is_whole(head: &str) -> bool {
    head.starts_with("PUT /bucket/")
        && head.contains("\r\nx-amz-checksum-crc32c: ")
        && !head.contains("aws-chunked")
}

#[tokio::test]
async fn headers_are_limited_by_their_bytes_and_not_by_their_number() {
    let (_world, front) = World::with_bucket().await;
    let client = &front.client;
    // About as many entries as fit into 2 KB of user metadata, sealed beside the header.
    let names: Vec<String> = (0..130).map(|i| format!("x-amz-meta-{i}")).collect();
    let metadata: Vec<_> = names.iter().map(|name| (name.as_str(), "1")).collect();
    client.send("PUT", "/bucket/many", &metadata, b"x").await.expect(200);
    let got = client.ask("GET", "/bucket/many").await.expect(200);
    assert!(names.iter().all(|name| got.header(name) == Some("1")));
    assert_eq!(got.body, b"x");
    let long = "v".repeat(65 * 1024);
    let headers = [("x-amz-meta-long", long.as_str())];
    let refused = client.send("PUT", "/bucket/long", &headers, b"x").await.expect(431);
    assert_eq!(refused.code(), "RequestHeaderSectionTooLarge");
    client.ask("GET", "/bucket/long").await.expect(404);
}

/// Several connections on several threads, some of them busy.
#[tokio::test(flavor = "multi_thread")]
async fn connections_on_several_threads_have_their_own_answers() {
    let (world, _front) = World::with_bucket().await;
    let front = serve_with(&world.config(), |server| server.with_workers(2).unwrap()).await;
    let client = &front.client;
    at_once(6, async |number| {
        let mut stream = TcpStream::connect(client.address).await.unwrap();
        for turn in 0..60 {
            // Some connections are busy while others are not.
            let len = if number == turn / 10 { 400_000 } else { 4_096 };
            let content = content(len, (number * 100 + turn) as u64);
            let target = format!("/bucket/{number}");
            for (method, body) in [("PUT", &content[..]), ("GET", &[])] {
                let head = client.head(method, &target, &[], body.len());
                let head = head.replace("connection: close\r\n", "");
                stream.write_all(head.as_bytes()).await.unwrap();
                stream.write_all(body).await.unwrap();
                let answer = next_answer(&mut stream).await.expect(200);
                assert!(method == "PUT" || answer.body == content, "{number} {turn}");
            }
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn expect_with_an_empty_body_keeps_the_connection() {
    let (_world, front) = World::with_bucket().await;
    let client = &front.client;
    let mut stream = TcpStream::connect(client.address).await.unwrap();
    let expect = [("expect", "100-continue")];
    for target in ["/bucket/empty", "/bucket/another"] {
        let head = client.head("PUT", target, &expect, 0).replace("connection: close\r\n", "");
        stream.write_all(head.as_bytes()).await.unwrap();
        let answer = next_answer(&mut stream).await.expect(200);
        assert_eq!(answer.header("connection"), None);
        assert!(client.ask("GET", target).await.expect(200).body.is_empty());
    }
    // botocore would not read the status line of the next response.
    let head = client.head("PUT", "/bucket/cli", &[expect[0], ("user-agent", "aws-cli/1.46")], 0);
    let head = head.replace("connection: close\r\n", "");
    let answer = client.exchange(&head, b"", false).await.expect(200);
    assert_eq!(answer.header("connection"), Some("close"));
    // The request has no body that could be left over.
    let head = client.head("PUT", "/nowhere/key", &expect, 0).replace("connection: close\r\n", "");
    stream.write_all(head.as_bytes()).await.unwrap();
    let refused = next_answer(&mut stream).await.expect(404);
    assert_eq!((refused.code().as_str(), refused.header("connection")), ("NoSuchBucket", None));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_body_that_was_awaited_ends_the_connection() {
    let (_world, front) = World::with_bucket().await;
    let client = &front.client;
    let mut stream = TcpStream::connect(client.address).await.unwrap();
    // Only the client knows if the five bytes will be sent.
    let head =
        b"PUT /bucket/key HTTP/1.1\r\nhost: h\r\nexpect: 100-continue\r\ncontent-length: 5\r\n\r\n";
    stream.write_all(head).await.unwrap();
    let refused = next_answer(&mut stream).await.expect(403);
    assert_eq!(refused.header("connection"), Some("close"));
}

/// Reads the next response on a connection that is reused.
pub(crate) async fn next_answer(stream: &mut TcpStream) -> Answer {
    let mut received = Vec::new();
    let (mut end, mut len) = (None, 0);
    while end.is_none_or(|end| received.len() < end + len) {
        assert!(stream.read_buf(&mut received).await.unwrap() > 0, "it ended");
        end = received.windows(4).position(|it| it == b"\r\n\r\n").map(|it| it + 4);
        let head = String::from_utf8_lossy(&received[..end.unwrap_or_default()]).to_lowercase();
        let line = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        len = line.map_or(0, |len| len.parse().unwrap());
    }
    parse(&received, false)
}
