//! Responses of a hostile or broken backend, as bytes. Each has one result in bounded time, and the
//! next request gets its own response.

use core::fmt::Write as _;

use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use super::server::{Peer, Server, serve};
use super::*;

/// Expected result of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Verdict {
    /// The response is complete: status and body.
    Whole(u16, Vec<u8>),
    /// The body broke off: status and received bytes.
    Cut(u16, Vec<u8>),
    /// The response is not HTTP/1.1.
    Invalid,
    /// The connection broke before a response.
    Broken,
    /// No response arrived in time.
    Late,
}

/// Behaviour of the backend after it has sent the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    Close,
    /// Serves the next request over the same connection.
    Serve,
}

struct Shape {
    name: &'static str,
    bytes: Vec<u8>,
    then: Then,
    verdict: Verdict,
}

fn shape(name: &'static str, bytes: impl AsRef<[u8]>, then: Then, verdict: Verdict) -> Shape {
    Shape { name, bytes: bytes.as_ref().to_vec(), then, verdict }
}

fn whole(body: &str) -> Verdict {
    Verdict::Whole(200, body.into())
}

fn cut(body: &str) -> Verdict {
    Verdict::Cut(200, body.into())
}

/// Joins a status line, headers and the bytes behind the head.
fn ok(headers: &str, rest: &str) -> String {
    format!("HTTP/1.1 200 OK\r\n{headers}\r\n{rest}")
}

fn chunked(rest: &str) -> String {
    ok("transfer-encoding: chunked\r\n", rest)
}

const GLUED: &str = "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nglued";

fn lengths() -> Vec<Shape> {
    use Then::{Close, Serve};
    use Verdict::Invalid;
    vec![
        shape(
            "length twice, equal",
            ok("content-length: 2\r\ncontent-length: 2\r\n", "hi"),
            Serve,
            whole("hi"),
        ),
        shape(
            "length twice, different",
            ok("content-length: 2\r\ncontent-length: 3\r\n", "hi!"),
            Serve,
            Invalid,
        ),
        shape("length as a list", ok("content-length: 2, 2\r\n", "hi"), Serve, whole("hi")),
        shape("length as a list, different", ok("content-length: 2, 3\r\n", "hi!"), Serve, Invalid),
        shape(
            "length with spaces around",
            ok("content-length:  2 \t\r\n", "hi"),
            Serve,
            whole("hi"),
        ),
        shape("length with a space in it", ok("content-length: 1 2\r\n", "hi"), Serve, Invalid),
        shape("length +2", ok("content-length: +2\r\n", "hi"), Serve, Invalid),
        shape("length -2", ok("content-length: -2\r\n", "hi"), Serve, Invalid),
        shape("length -0", ok("content-length: -0\r\n", ""), Serve, Invalid),
        shape("length 0x2", ok("content-length: 0x2\r\n", "hi"), Serve, Invalid),
        shape("length 2.0", ok("content-length: 2.0\r\n", "hi"), Serve, Invalid),
        shape("length 002", ok("content-length: 002\r\n", "hi"), Serve, whole("hi")),
        shape(
            "length of 2^64",
            ok("content-length: 18446744073709551616\r\n", "hi"),
            Serve,
            Invalid,
        ),
        shape(
            "length of 2^64+2",
            ok("content-length: 18446744073709551618\r\n", "hi"),
            Serve,
            Invalid,
        ),
        shape(
            "length of 2^64-1",
            ok("content-length: 18446744073709551615\r\n", "hi"),
            Close,
            Invalid,
        ),
        shape("length empty", ok("content-length:\r\n", "hi"), Serve, Invalid),
        shape("no length", ok("", "hi"), Close, whole("hi")),
        shape(
            "body shorter than its length",
            ok("content-length: 9\r\n", "half"),
            Close,
            cut("half"),
        ),
        shape(
            "body longer than its length",
            ok("content-length: 2\r\n", "hi there"),
            Serve,
            whole("hi"),
        ),
        shape("length 0 and bytes", ok("content-length: 0\r\n", "hi"), Serve, whole("")),
        shape(
            "a response glued on",
            ok("content-length: 2\r\n", &format!("hi{GLUED}")),
            Serve,
            whole("hi"),
        ),
        shape("a line glued on", ok("content-length: 2\r\n", "hi\r\n"), Serve, whole("hi")),
        shape(
            "a response glued on 204",
            format!("HTTP/1.1 204 No Content\r\n\r\n{GLUED}"),
            Serve,
            Verdict::Whole(204, vec![]),
        ),
        shape(
            "a length and a body with 304",
            format!("HTTP/1.1 304 Not Modified\r\ncontent-length: 5\r\n\r\nglued{GLUED}"),
            Serve,
            Verdict::Whole(304, vec![]),
        ),
    ]
}

fn encodings() -> Vec<Shape> {
    use Then::{Close, Serve};
    use Verdict::Invalid;
    let both = "content-length: 3\r\ntransfer-encoding: chunked\r\n";
    let turned = "transfer-encoding: chunked\r\ncontent-length: 3\r\n";
    let chunks = "2\r\nhi\r\n0\r\n\r\n";
    let glued = format!("{chunks}{GLUED}");
    vec![
        shape("length, then chunked", ok(both, chunks), Serve, whole("hi")),
        shape("chunked, then length", ok(turned, chunks), Serve, whole("hi")),
        shape("length and chunked, glued", ok(both, &glued), Serve, whole("hi")),
        shape(
            "chunked, identity",
            ok("transfer-encoding: chunked, identity\r\n", chunks),
            Close,
            whole(chunks),
        ),
        shape(
            "identity, chunked",
            ok("transfer-encoding: identity, chunked\r\n", chunks),
            Serve,
            whole("hi"),
        ),
        shape("xchunked", ok("transfer-encoding: xchunked\r\n", chunks), Close, whole(chunks)),
        shape(
            "xchunked with a length",
            ok("transfer-encoding: xchunked\r\ncontent-length: 2\r\n", "hi there"),
            Close,
            whole("hi there"),
        ),
        shape(
            "chunked with spaces around",
            ok("transfer-encoding: \t chunked \t\r\n", chunks),
            Serve,
            whole("hi"),
        ),
        shape("CHUNKED", ok("transfer-encoding: CHUNKED\r\n", chunks), Serve, whole("hi")),
        shape(
            "chunked in quotes",
            ok("transfer-encoding: \"chunked\"\r\n", chunks),
            Close,
            whole(chunks),
        ),
        shape(
            "chunked with a vertical tab",
            ok("transfer-encoding: \x0bchunked\r\n", chunks),
            Close,
            Invalid,
        ),
        shape("an empty transfer encoding", ok("transfer-encoding:\r\n", "hi"), Close, whole("hi")),
        shape(
            "a name with a space before its colon",
            ok("transfer-encoding : chunked\r\n", chunks),
            Serve,
            Invalid,
        ),
        shape(
            "chunked in HTTP/1.0",
            format!("HTTP/1.0 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{chunks}"),
            Close,
            Invalid,
        ),
        shape("chunked and a response glued on", chunked(&glued), Serve, whole("hi")),
    ]
}

fn chunks() -> Vec<Shape> {
    use Then::{Close, Serve};
    let many = "1\r\nx\r\n".repeat(1000) + "0\r\n\r\n";
    let extension = format!("2;{}\r\nhi\r\n0\r\n\r\n", "x".repeat(20_000));
    let trailers = format!("2\r\nhi\r\n0\r\n{}\r\n", "a: b\r\n".repeat(20_000));
    vec![
        shape("a chunk of +2", chunked("+2\r\nhi\r\n0\r\n\r\n"), Serve, cut("")),
        shape("a chunk of -2", chunked("-2\r\nhi\r\n0\r\n\r\n"), Serve, cut("")),
        shape("a chunk of 0x2", chunked("0x2\r\nhi\r\n0\r\n\r\n"), Serve, cut("")),
        shape("a space before the size", chunked(" 2\r\nhi\r\n0\r\n\r\n"), Serve, cut("")),
        shape("a space behind the size", chunked("2 \r\nhi\r\n0\r\n\r\n"), Serve, whole("hi")),
        shape("a space in the size", chunked("2 2\r\nhi\r\n0\r\n\r\n"), Serve, cut("")),
        shape("no size", chunked("\r\nhi\r\n0\r\n\r\n"), Serve, cut("")),
        shape("a chunk of 2^64+2", chunked("10000000000000002\r\nhi\r\n0\r\n\r\n"), Serve, cut("")),
        shape(
            "a chunk of 2^64-1",
            chunked("ffffffffffffffff\r\nhi\r\n0\r\n\r\n"),
            Close,
            cut("hi\r\n0\r\n\r\n"),
        ),
        shape(
            "zeros before the size",
            chunked("00000000002\r\nhi\r\n0\r\n\r\n"),
            Serve,
            whole("hi"),
        ),
        shape("an extension", chunked("2;a=\"b\"\r\nhi\r\n0\r\n\r\n"), Serve, whole("hi")),
        shape("an extension with a bare LF", chunked("2;a\nhi\r\n0\r\n\r\n"), Serve, cut("")),
        shape("an extension of 20 KB", chunked(&extension), Serve, cut("")),
        shape("a size that ends with LF", chunked("2\nhi\r\n0\r\n\r\n"), Serve, cut("")),
        shape("a size that ends with CR", chunked("2\rhi\r\n0\r\n\r\n"), Serve, cut("")),
        shape("no CRLF behind a chunk", chunked("2\r\nhi0\r\n\r\n"), Serve, cut("hi")),
        shape("LF behind a chunk", chunked("2\r\nhi\n0\r\n\r\n"), Serve, cut("hi")),
        shape(
            "a chunk longer than its size",
            chunked("2\r\nhi there\r\n0\r\n\r\n"),
            Serve,
            cut("hi"),
        ),
        shape("no last chunk", chunked("2\r\nhi\r\n"), Close, cut("hi")),
        shape("no end of the trailers", chunked("2\r\nhi\r\n0\r\n"), Close, cut("hi")),
        shape("a last chunk that ends with LF", chunked("2\r\nhi\r\n0\r\n\n"), Close, cut("hi")),
        shape("a last chunk of 000", chunked("2\r\nhi\r\n000\r\n\r\n"), Serve, whole("hi")),
        shape("a trailer", chunked("2\r\nhi\r\n0\r\na: b\r\n\r\n"), Serve, whole("hi")),
        shape(
            "a trailer of framing",
            chunked(&format!("2\r\nhi\r\n0\r\ncontent-length: 9\r\n\r\n{GLUED}")),
            Serve,
            whole("hi"),
        ),
        shape("20,000 trailers", chunked(&trailers), Serve, cut("hi")),
        shape("1,000 chunks", chunked(&many), Serve, whole(&"x".repeat(1000))),
    ]
}

fn heads() -> Vec<Shape> {
    use Then::{Close, Serve};
    use Verdict::{Broken, Invalid, Late, Whole};
    let good = ok("content-length: 2\r\n", "hi");
    let after = |first: &str| format!("{first}{good}");
    let line = |line: &str| format!("{line}\r\ncontent-length: 2\r\n\r\nhi");
    let with = |header: &str| ok(&format!("{header}\r\ncontent-length: 2\r\n"), "hi");
    let mut fields = String::new();
    for number in 0..10_000 {
        write!(fields, "x-{number}: y\r\n").unwrap();
    }
    vec![
        shape("100 before", after("HTTP/1.1 100 Continue\r\n\r\n"), Serve, whole("hi")),
        shape("102 before", after("HTTP/1.1 102 Processing\r\n\r\n"), Serve, whole("hi")),
        shape(
            "103 before",
            after("HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n"),
            Serve,
            whole("hi"),
        ),
        shape(
            "103 with a length",
            after("HTTP/1.1 103 Early Hints\r\ncontent-length: 9\r\n\r\n"),
            Serve,
            whole("hi"),
        ),
        shape(
            "103 with chunked",
            after("HTTP/1.1 103 Early Hints\r\ntransfer-encoding: chunked\r\n\r\n"),
            Serve,
            whole("hi"),
        ),
        shape("199 before", after("HTTP/1.1 199 Odd\r\n\r\n"), Serve, whole("hi")),
        shape(
            "500 of 100",
            after(&"HTTP/1.1 100 Continue\r\n\r\n".repeat(500)),
            Serve,
            whole("hi"),
        ),
        shape("100 and no more", "HTTP/1.1 100 Continue\r\n\r\n", Serve, Late),
        shape("100 and the end", "HTTP/1.1 100 Continue\r\n\r\n", Close, Broken),
        shape(
            "101, not asked for",
            after("HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n"),
            Serve,
            Invalid,
        ),
        shape("no response", "", Close, Broken),
        shape("no response, and no end", "", Serve, Late),
        shape("half a status line", "HTTP/1.1 20", Close, Broken),
        shape("half a head", "HTTP/1.1 200 OK\r\ncontent-le", Close, Broken),
        shape("empty lines before", after("\r\n\r\n"), Serve, whole("hi")),
        shape("text before", after("hello\r\n"), Serve, Invalid),
        shape("HTTP/1.0", line("HTTP/1.0 200 OK"), Serve, whole("hi")),
        shape(
            "HTTP/1.0 that keeps the connection",
            line("HTTP/1.0 200 OK\r\nconnection: keep-alive"),
            Serve,
            whole("hi"),
        ),
        shape("HTTP/0.9", "<html>hi</html>", Close, Invalid),
        shape("HTTP/1.2", line("HTTP/1.2 200 OK"), Serve, Invalid),
        shape("HTTP/2.0", line("HTTP/2.0 200 OK"), Serve, Invalid),
        shape("http/1.1", line("http/1.1 200 OK"), Serve, Invalid),
        shape("no reason, a space", line("HTTP/1.1 200 "), Serve, whole("hi")),
        shape("no reason, no space", line("HTTP/1.1 200"), Serve, whole("hi")),
        shape("a reason with a NUL", line("HTTP/1.1 200 O\0K"), Serve, Invalid),
        shape("a status of two digits", line("HTTP/1.1 20 OK"), Serve, Invalid),
        shape("a status of four digits", line("HTTP/1.1 1000 OK"), Serve, Invalid),
        shape("099", line("HTTP/1.1 099 OK"), Serve, Invalid),
        shape("999", line("HTTP/1.1 999 OK"), Serve, Whole(999, b"hi".to_vec())),
        shape("a space in a name", with("x y: z"), Serve, Invalid),
        shape("a space before a name", ok(" x: y\r\ncontent-length: 2\r\n", "hi"), Serve, Invalid),
        shape("a line without a colon", with("xy"), Serve, Invalid),
        shape("no name", with(": y"), Serve, Invalid),
        shape("a colon in a value", with("x: y: z:"), Serve, whole("hi")),
        shape("a folded line", with("x: y\r\n z"), Serve, Invalid),
        shape("a folded length", ok("content-length:\r\n 2\r\n", "hi"), Serve, Invalid),
        shape("NUL in a value", with("x: y\0z"), Serve, Invalid),
        shape("NUL in a name", with("x\0: y"), Serve, Invalid),
        shape("CR in a value", with("x: y\rz: a"), Serve, Invalid),
        shape(
            "lines that end with LF",
            "HTTP/1.1 200 OK\ncontent-length: 2\n\nhi",
            Serve,
            whole("hi"),
        ),
        shape(
            "a header of 200 KB",
            with(&format!("x: {}", "y".repeat(200_000))),
            Serve,
            whole("hi"),
        ),
        shape("a header of 3 MB", with(&format!("x: {}", "y".repeat(3_000_000))), Serve, Invalid),
        shape(
            "10,000 headers",
            ok(&format!("{fields}content-length: 2\r\n"), "hi"),
            Serve,
            Invalid,
        ),
        shape(
            "close, and more bytes",
            ok("connection: close\r\ncontent-length: 2\r\n", &format!("hi{GLUED}")),
            Serve,
            whole("hi"),
        ),
        shape("close, and served again", with("connection: close"), Serve, whole("hi")),
        shape(
            "keep-alive, and closed",
            with("connection: keep-alive\r\nkeep-alive: timeout=60"),
            Close,
            whole("hi"),
        ),
        shape("close and keep-alive", with("connection: keep-alive, close"), Serve, whole("hi")),
    ]
}

fn all() -> Vec<Shape> {
    [lengths(), encodings(), chunks(), heads()].into_iter().flatten().collect()
}

/// Starts a backend that answers `/hostile` with the bytes, in writes of `step` bytes, and other
/// requests with their path.
async fn backend(bytes: Vec<u8>, then: Then, step: usize) -> Server {
    serve(move |mut peer: Peer| {
        let bytes = bytes.clone();
        async move {
            peer.stream.set_nodelay(true).unwrap();
            while let Some(head) = peer.head().await {
                let path = head.split(' ').nth(1).unwrap();
                if path == "/hostile" {
                    for piece in bytes.chunks(step) {
                        peer.say(piece).await;
                        tokio::task::yield_now().await;
                    }
                    if then == Then::Close {
                        return;
                    }
                } else {
                    let len = path.len();
                    peer.say(ok(&format!("content-length: {len}\r\n"), path)).await;
                }
            }
        }
    })
    .await
}

async fn verdict(client: &Client, path: &str) -> Verdict {
    match timeout(LATE, get(client, path)).await.expect("a verdict in time") {
        Ok(response) => {
            let status = response.status().as_u16();
            match timeout(LATE, read(response.into_body())).await.expect("an end in time") {
                (body, None) => Verdict::Whole(status, body),
                (body, Some(_)) => Verdict::Cut(status, body),
            }
        }
        Err(ClientError::InvalidResponse) => Verdict::Invalid,
        Err(ClientError::Broken) => Verdict::Broken,
        Err(ClientError::ResponseTimeout) => Verdict::Late,
        Err(error) => panic!("{error:?}"),
    }
}

/// Returns the result of hyper's own client, if it accepts the response.
async fn hypers(port: u16) -> Option<Verdict> {
    use hyper::body::Incoming;
    let stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
    let driving = tokio::spawn(connection);
    let request = Request::get("/hostile").body(String::new()).unwrap();
    let reading = async {
        let response: Response<Incoming> = sender.send_request(request).await.ok()?;
        let status = response.status().as_u16();
        let (mut body, mut all) = (response.into_body(), Vec::new());
        loop {
            match poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
                None => return Some(Verdict::Whole(status, all)),
                Some(Ok(frame)) => all.extend(frame.into_data().unwrap_or_default()),
                Some(Err(_)) => return Some(Verdict::Cut(status, all)),
            }
        }
    };
    let outcome = timeout(SOON, reading).await.ok().flatten();
    driving.abort();
    outcome
}

/// Returns all differences from the expected result of a shape.
async fn faults(shape: &Shape, step: usize) -> Vec<String> {
    let mut faults = Vec::new();
    let server = backend(shape.bytes.clone(), shape.then, step).await;
    // If a response is expected, a busy machine gets enough time for it.
    let short = SOON * 4;
    let first_byte = if shape.verdict == Verdict::Late { short } else { LATE };
    let is_whole = matches!(shape.verdict, Verdict::Whole(..) | Verdict::Invalid);
    let idle = if is_whole { LATE } else { short };
    let client = client(server.port, Limits { first_byte, idle, ..limits() });
    for turn in 0..2 {
        let found = verdict(&client, "/hostile").await;
        if found != shape.verdict {
            let (name, expected) = (shape.name, &shape.verdict);
            faults.push(format!("{name} {turn} {step}: {found:?}, not {expected:?}"));
        }
        for path in ["/next", "/and-the-next"] {
            let next = verdict(&client, path).await;
            if next != whole(path) {
                faults.push(format!("{} {turn} {step}: {path} had {next:?}", shape.name));
            }
        }
    }
    match hypers(server.port).await {
        // hyper leaves it to the caller to refuse an upgrade that was not requested.
        Some(Verdict::Whole(101, _)) if shape.verdict == Verdict::Invalid => {}
        Some(other) if other != shape.verdict => {
            faults.push(format!("{}: hyper has {other:?}", shape.name));
        }
        _ => {}
    }
    faults
}

#[tokio::test]
async fn each_shape_has_one_verdict_and_the_next_request_its_own_response() {
    let tasks = all()
        .into_iter()
        .map(|shape| tokio::spawn(async move { faults(&shape, usize::MAX).await }));
    let tasks: Vec<_> = tasks.collect();
    assert!(tasks.len() >= 59);
    let mut found = Vec::new();
    for task in tasks {
        found.extend(task.await.unwrap());
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// The same responses, sent byte by byte.
#[tokio::test]
async fn pieces_do_not_change_the_verdict() {
    // Bytes that arrive after the next request cannot be distinguished from its response.
    let is_apart = |shape: &Shape| {
        let name = shape.name;
        let behind = ["glued", "longer", "304", "and bytes", "more bytes", "framing"];
        shape.bytes.len() < 10_000 && !behind.iter().any(|word| name.contains(word))
    };
    let tasks = all()
        .into_iter()
        .filter(is_apart)
        .map(|shape| tokio::spawn(async move { faults(&shape, 1).await }));
    let tasks: Vec<_> = tasks.collect();
    let mut found = Vec::new();
    for task in tasks {
        found.extend(task.await.unwrap());
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}
