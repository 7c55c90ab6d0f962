//! Requests of a hostile or broken client, as bytes. Each valid request gets one response, no
//! content is parsed as a request, and a connection is closed if the start of its next request is
//! not certain.

use core::time::Duration;

use endseal_s3_protocol::sigv4::PayloadHash;
use socket2::SockRef;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;

use crate::client::Client;
use crate::fixture::World;

/// Content that gets the response `ok` if it is parsed as a request. No other request here does.
const SMUGGLED: &str = "GET /healthz HTTP/1.1\r\nhost: smuggled\r\n\r\n";

/// Request that is sent behind each shape. It gets a response if the connection can be reused.
const PROBE: &str = "GET /healthz HTTP/1.1\r\nhost: probe\r\n\r\n";

/// Timeout after which a response counts as lost.
const LATE: Duration = Duration::from_secs(60);

/// Name, bytes that are sent, and statuses of the responses; `ok` stands for health checks.
type Shape = (&'static str, Vec<u8>, &'static str);

/// Returns an upload with this framing instead of a length.
fn put_with(client: &Client, headers: &[(&str, &str)], framing: &str, body: &str) -> Vec<u8> {
    let (head, _) = client.lines("PUT", "/bucket/key", headers, 0, PayloadHash::Unsigned);
    let head = head.strip_suffix("content-length: 0\r\n").unwrap();
    format!("{head}{framing}\r\n{body}").into_bytes()
}

fn put(client: &Client, framing: &str, body: &str) -> Vec<u8> {
    put_with(client, &[], framing, body)
}

/// Returns an upload with `aws-chunked` content.
fn chunked_put(client: &Client, decoded: usize, body: &str) -> Vec<u8> {
    let decoded = decoded.to_string();
    let headers =
        [("content-encoding", "aws-chunked"), ("x-amz-decoded-content-length", &*decoded)];
    put_with(client, &headers, &format!("content-length: {}\r\n", body.len()), body)
}

fn of_length(body: &str) -> String {
    format!("content-length: {}\r\n", body.len())
}

fn health(lines: &str) -> Vec<u8> {
    format!("GET /healthz HTTP/1.1\r\n{lines}\r\n").into_bytes()
}

fn lengths(client: &Client) -> Vec<Shape> {
    let smuggled = of_length(SMUGGLED);
    let put = |framing: &str, body: &str| put(client, framing, body);
    let of = |value: &str| put(&format!("content-length: {value}\r\n"), "hello");
    vec![
        ("content that is a request", put(&smuggled, SMUGGLED), "200 ok"),
        ("no length", put("", ""), "411 ok"),
        ("length twice, equal", put(&format!("{smuggled}{smuggled}"), SMUGGLED), "200 ok"),
        (
            "length twice, different",
            put(&format!("content-length: 0\r\n{smuggled}"), SMUGGLED),
            "400",
        ),
        ("length twice, turned", put(&format!("{smuggled}content-length: 0\r\n"), SMUGGLED), "400"),
        ("length as a list", of("5, 5"), "400"),
        ("length +5", of("+5"), "400"),
        ("length -5", of("-5"), "400"),
        ("length 0x5", of("0x5"), "400"),
        ("length 5.0", of("5.0"), "400"),
        ("length with a space in it", of("0 5"), "400"),
        ("length with spaces around", of(" \t5 \t"), "200 ok"),
        ("length 005", of("005"), "200 ok"),
        ("length empty", of(""), "400"),
        ("length of 2^64+5", of("18446744073709551621"), "400"),
        (
            "a space before the colon",
            put(&format!("content-length : 5\r\n{smuggled}"), SMUGGLED),
            "400",
        ),
        ("a folded length", put("content-length:\r\n 5\r\n", "hello"), "400"),
    ]
}

fn encodings(client: &Client) -> Vec<Shape> {
    let chunks = format!("{:x}\r\n{SMUGGLED}\r\n0\r\n\r\n", SMUGGLED.len());
    let empty = "0\r\n\r\n";
    let put = |framing: &str, body: &str| put(client, framing, body);
    let of = |value: &str| put(&format!("transfer-encoding: {value}\r\n"), &chunks);
    let with =
        |length: usize| format!("content-length: {length}\r\ntransfer-encoding: chunked\r\n");
    let turned =
        |length: usize| format!("transfer-encoding: chunked\r\ncontent-length: {length}\r\n");
    let old = String::from_utf8(of("chunked")).unwrap().replacen("HTTP/1.1", "HTTP/1.0", 1);
    vec![
        ("chunked", of("chunked"), "411"),
        (
            "length of all, chunked",
            put(&with(5 + SMUGGLED.len()), &format!("{empty}{SMUGGLED}")),
            "411",
        ),
        (
            "chunked, length of all",
            put(&turned(5 + SMUGGLED.len()), &format!("{empty}{SMUGGLED}")),
            "411",
        ),
        ("length of less, chunked", put(&with(4), &chunks), "411"),
        ("chunked, length of less", put(&turned(4), &chunks), "411"),
        ("chunked, identity", of("chunked, identity"), "400"),
        ("identity, chunked", of("identity, chunked"), "411"),
        ("identity", of("identity"), "400"),
        ("xchunked", of("xchunked"), "400"),
        ("chunkedx", of("chunkedx"), "400"),
        ("an empty encoding", of(""), "400"),
        ("chunked in quotes", of("\"chunked\""), "400"),
        ("a vertical tab", of("\x0bchunked"), "400"),
        ("CHUNKED", of(" \tCHUNKED\t "), "411"),
        ("chunked twice", of("chunked\r\ntransfer-encoding: chunked"), "411"),
        ("chunked, then identity", of("chunked\r\ntransfer-encoding: identity"), "400"),
        ("HTTP/1.0", old.into_bytes(), "400"),
    ]
}

fn chunks(client: &Client) -> Vec<Shape> {
    let of = |chunks: &str| {
        let headers = [("x-amz-decoded-content-length", "5")];
        let body = format!("{chunks}{SMUGGLED}");
        put_with(client, &headers, "transfer-encoding: chunked\r\n", &body)
    };
    let long = format!("5;{}\r\nhello\r\n0\r\n\r\n", "x".repeat(20_000));
    vec![
        ("a chunk of +5", of("+5\r\nhello\r\n0\r\n\r\n"), "411"),
        ("a chunk of -5", of("-5\r\nhello\r\n0\r\n\r\n"), "411"),
        ("a chunk of 0x5", of("0x5\r\nhello\r\n0\r\n\r\n"), "411"),
        ("a space before the size", of(" 5\r\nhello\r\n0\r\n\r\n"), "411"),
        ("no size", of("\r\nhello\r\n0\r\n\r\n"), "411"),
        ("a chunk of 2^64+5", of("10000000000000005\r\nhello\r\n0\r\n\r\n"), "411"),
        ("a size that ends with LF", of("5\nhello\r\n0\r\n\r\n"), "411"),
        ("no CRLF behind a chunk", of("5\r\nhello0\r\n\r\n"), "411"),
        ("LF behind a chunk", of("5\r\nhello\n0\r\n\r\n"), "411"),
        ("an extension with LF", of("5;a\nhello\r\n0\r\n\r\n"), "411"),
        ("an extension of 20 KB", of(&long), "411"),
        ("a chunk longer than its size", of("5\r\nhello there\r\n0\r\n\r\n"), "411"),
    ]
}

fn s3_chunks(client: &Client) -> Vec<Shape> {
    let framed = |size: usize| format!("{size:x}\r\n{SMUGGLED}\r\n0\r\n\r\n");
    let len = SMUGGLED.len();
    let put = |decoded: usize, body: &str| chunked_put(client, decoded, body);
    vec![
        ("chunks of S3", put(len, &framed(len)), "200 ok"),
        ("a chunk of S3 shorter than its content", put(len, &framed(5)), "400 ok"),
        ("a chunk of S3 longer than its content", put(len, &framed(len + 9)), "400 ok"),
        ("a chunk of S3 of 2^64-1", put(len, &framed(usize::MAX)), "400 ok"),
        ("a decoded length too small", put(5, &framed(len)), "400 ok"),
        ("a decoded length too large", put(len + 5, &framed(len)), "400 ok"),
        (
            "a request behind the last chunk of S3",
            put(5, &format!("5\r\nhello\r\n0\r\n\r\n{SMUGGLED}")),
            "400 ok",
        ),
        ("no last chunk of S3", put(5, "5\r\nhello\r\n"), "400 ok"),
        ("no chunk of S3", put(len, SMUGGLED), "400 ok"),
    ]
}

fn heads(client: &Client) -> Vec<Shape> {
    let (smuggled, host) = (of_length(SMUGGLED), client.address);
    let text = |text: &str| text.as_bytes().to_vec();
    let refused = |lines: &str, body: &str| {
        format!("PUT /bucket/key HTTP/1.1\r\nhost: {host}\r\n{lines}\r\n{body}").into_bytes()
    };
    let expecting = [("expect", "100-continue")];
    vec![
        ("an upload without a signature", refused(&smuggled, SMUGGLED), "403 ok"),
        (
            "the same, in chunks",
            refused("transfer-encoding: chunked\r\n", &format!("29\r\n{SMUGGLED}\r\n0\r\n\r\n")),
            "403",
        ),
        (
            "content of health",
            format!("GET /healthz HTTP/1.1\r\nhost: h\r\n{smuggled}\r\n{SMUGGLED}").into_bytes(),
            "ok ok",
        ),
        (
            "expected content that comes at once",
            put_with(client, &expecting, &smuggled, SMUGGLED),
            "100 200 ok",
        ),
        (
            "expected content that is refused",
            refused(&format!("expect: 100-continue\r\n{smuggled}"), ""),
            "403",
        ),
        (
            "expected content of no bytes",
            put_with(client, &expecting, "content-length: 0\r\n", ""),
            "200 ok",
        ),
        (
            "an absolute target",
            text("GET http://other/healthz HTTP/1.1\r\nhost: h\r\n\r\n"),
            "ok ok",
        ),
        (
            "an absolute target without a signature",
            text("GET http://other/bucket HTTP/1.1\r\nhost: h\r\n\r\n"),
            "403 ok",
        ),
        (
            "a target of a host alone",
            text("CONNECT other:80 HTTP/1.1\r\nhost: other:80\r\n\r\n"),
            "400 ok",
        ),
        ("a target of an asterisk", text("OPTIONS * HTTP/1.1\r\nhost: h\r\n\r\n"), "400 ok"),
        ("a target with a space", text("GET /healthz x HTTP/1.1\r\nhost: h\r\n\r\n"), "400"),
        ("two hosts", text("GET /bucket HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n"), "400 ok"),
        ("no host", text("GET /bucket HTTP/1.1\r\n\r\n"), "403 ok"),
        ("a folded line", health("host: h\r\nx: y\r\n z\r\n"), "400"),
        ("a space in a name", health("host: h\r\nx y: z\r\n"), "400"),
        ("a line without a colon", health("host: h\r\nxy\r\n"), "400"),
        ("NUL in a value", health("host: h\r\nx: \0\r\n"), "400"),
        ("CR in a value", health("host: h\r\nx: y\rz: a\r\n"), "400"),
        ("a method with a space before", text(" GET /healthz HTTP/1.1\r\nhost: h\r\n\r\n"), "400"),
        ("HTTP/0.9", text("GET /healthz\r\n\r\n"), "400"),
        ("HTTP/1.0", text("GET /healthz HTTP/1.0\r\n\r\n"), "ok"),
        ("HTTP/1.2", text("GET /healthz HTTP/1.2\r\nhost: h\r\n\r\n"), "400"),
        ("HTTP/2.0", text("GET /healthz HTTP/2.0\r\nhost: h\r\n\r\n"), "400"),
        (
            "health with a length and chunks",
            health(&format!(
                "host: h\r\n{smuggled}transfer-encoding: chunked\r\n\r\n0\r\n\r\n{SMUGGLED}"
            )),
            "ok",
        ),
        (
            "health with a broken chunk",
            health(&format!("host: h\r\ntransfer-encoding: chunked\r\n\r\nx\r\n{SMUGGLED}")),
            "ok",
        ),
        ("TLS", text("\x16\x03\x01\x02\0\x01\0\x01\r\n\r\n"), "400"),
        ("an upgrade", health("host: h\r\nconnection: upgrade\r\nupgrade: h2c\r\n"), "ok ok"),
        ("empty lines before", text("\r\n\r\nGET /healthz HTTP/1.1\r\nhost: h\r\n\r\n"), "ok ok"),
        ("lines that end with LF", text("GET /healthz HTTP/1.1\nhost: h\n\n"), "ok ok"),
        ("close", health("host: h\r\nconnection: close\r\n"), "ok"),
        (
            "a header of 300 KB",
            format!("GET /bucket HTTP/1.1\r\nhost: h\r\nx: {}\r\n\r\n", "y".repeat(300_000))
                .into_bytes(),
            "431",
        ),
        ("10,000 headers", health(&format!("host: h\r\n{}", "x: y\r\n".repeat(10_000))), "431"),
    ]
}

/// Returns requests with content that the proxy does not need, longer than the first read.
fn unwanted(client: &Client) -> Vec<Shape> {
    let content = SMUGGLED.repeat(5_000);
    let with = |method: &str, target: &str| {
        let (head, _) = client.lines(method, target, &[], content.len(), PayloadHash::Unsigned);
        let head = head.replace("content-length: 0\r\n", "");
        format!("{head}\r\n{content}").into_bytes()
    };
    let unsigned = |first: &str, lines: &str| {
        let length = of_length(&content);
        format!("{first} HTTP/1.1\r\nhost: h\r\n{lines}{length}\r\n{content}").into_bytes()
    };
    vec![
        ("of an upload without a signature", unsigned("PUT /bucket/key", ""), "403 ok"),
        ("for a bucket that cannot be", unsigned("PUT /a,b/key", ""), "400 ok"),
        ("for two hosts", unsigned("PUT /bucket/key", "host: i\r\n"), "400 ok"),
        ("of health", unsigned("GET /healthz", ""), "ok ok"),
        ("of a download", with("GET", "/bucket/missing"), "404 ok"),
        ("of a list", with("GET", "/bucket"), "200 ok"),
    ]
}

fn all(client: &Client) -> Vec<Shape> {
    let shapes = [lengths(client), encodings(client), chunks(client), s3_chunks(client)];
    shapes.into_iter().chain([heads(client), unwanted(client)]).flatten().collect()
}

/// Returns the statuses of the responses in `received`; `ok` stands for health checks.
fn statuses(received: &[u8]) -> String {
    let (mut statuses, mut rest) = (Vec::new(), received);
    while !rest.is_empty() {
        let Some(end) = rest.windows(4).position(|it| it == b"\r\n\r\n") else {
            statuses.push("cut");
            break;
        };
        let head = core::str::from_utf8(&rest[..end]).unwrap();
        let status = head.strip_prefix("HTTP/1.").and_then(|head| head.get(2..5));
        let len = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let len = len.map_or(0, |len| len.parse().unwrap());
        rest = &rest[end + 4..];
        let body = &rest[..len.min(rest.len())];
        rest = &rest[body.len()..];
        statuses.push(if body.starts_with(b"ok") { "ok" } else { status.unwrap_or("odd") });
    }
    statuses.join(" ")
}

/// Sends the bytes in pieces and reads until the connection ends.
async fn answers(client: &Client, sent: Vec<u8>, step: usize, window: Option<usize>) -> Vec<u8> {
    let stream = match window {
        None => TcpStream::connect(client.address).await.unwrap(),
        Some(window) => {
            let socket = TcpSocket::new_v4().unwrap();
            SockRef::from(&socket).set_recv_buffer_size(window).unwrap();
            socket.connect(client.address).await.unwrap()
        }
    };
    stream.set_nodelay(true).unwrap();
    let (mut read, mut write) = stream.into_split();
    let writing = tokio::spawn(async move {
        for piece in sent.chunks(step) {
            if write.write_all(piece).await.is_err() {
                break;
            }
            tokio::task::yield_now().await;
        }
        let _ = write.shutdown().await;
        write
    });
    let mut received = Vec::new();
    // A reset after the responses is an end, too.
    timeout(LATE, read.read_to_end(&mut received)).await.expect("an end in time").ok();
    writing.abort();
    received
}

async fn faults(client: &Client, shape: Shape, step: usize) -> Option<String> {
    let (name, bytes, expected) = shape;
    let sent = [&bytes[..], PROBE.as_bytes()].concat();
    let received = answers(client, sent, step, None).await;
    let found = statuses(&received);
    (expected != found).then(|| format!("{name} {step}: {found:?}, not {expected:?}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn each_request_that_is_understood_has_one_answer() {
    let (_world, front) = World::with_bucket().await;
    let mut found = Vec::new();
    for step in [usize::MAX, 7] {
        let shapes = all(&front.client);
        assert!(shapes.len() >= 59);
        for shape in shapes {
            if shape.1.len() < 10_000 || step > 7 {
                found.extend(faults(&front.client, shape, step).await);
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// Accepted and refused uploads alternate. Their content looks like requests, and the clients read
/// slowly, while other uploads are in progress.
#[tokio::test(flavor = "multi_thread")]
async fn pipelined_contents_are_no_requests() {
    let (_world, front) = World::with_bucket().await;
    let client = &front.client;
    let mut busy = Vec::new();
    for _ in 0..16 {
        let mut stream = TcpStream::connect(client.address).await.unwrap();
        stream.write_all(&put(client, "content-length: 20000000\r\n", "started")).await.unwrap();
        busy.push(stream);
    }
    let content = SMUGGLED.repeat(400);
    let (mut sent, mut expected) = (Vec::new(), Vec::new());
    for number in 0..60 {
        match number % 4 {
            0 => {
                sent.extend(put(client, &of_length(&content), &content));
                expected.push("200");
            }
            1 => {
                let head =
                    format!("PUT /bucket/key HTTP/1.1\r\nhost: h\r\n{}\r\n", of_length(&content));
                sent.extend([head.as_bytes(), content.as_bytes()].concat());
                expected.push("403");
            }
            2 => {
                sent.extend(chunked_put(client, content.len(), &content));
                expected.push("400");
            }
            _ => {
                sent.extend_from_slice(PROBE.as_bytes());
                expected.push("ok");
            }
        }
    }
    for window in [None, Some(2048)] {
        let received = answers(client, sent.clone(), 100_000, window).await;
        assert_eq!(statuses(&received), expected.join(" "));
    }
}
