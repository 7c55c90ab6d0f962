//! Streams of requests to a running proxy: each request must get one answer, and content must never
//! be taken for a request.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};
use std::{fs, process, thread};

use endseal_crypto::random::OsRandom;
use endseal_kms::Ring;
use endseal_kms::ring::{Protection, RingFile};
use endseal_s3_protocol::sigv4::PayloadHash;
use endseal_s3proxy::access::{Client, SecretAccessKey};
use endseal_s3proxy::config::{Backend, Config, Keys};
use endseal_s3proxy::{Proxy, Server};
use http::{HeaderMap, HeaderValue};
use tokio::signal::unix::{SignalKind, signal};

use crate::choice;
use crate::http1::{self, Content, Request};
use crate::s3::{SECRET, signer};

/// Time limit of an answer.
const LATE: Duration = Duration::from_secs(20);

/// Placeholder in inputs for the lines that sign the request above it.
const SIGNED: &[u8] = b"@\r\n";

/// Fuzzes streams of requests. The first byte is the length of the pieces that are sent, 0 for all
/// at once; a line `@` is replaced by the lines that sign the request above it.
///
/// A parser that knows only the framing of RFC 9112 finds the end of each request for comparison.
pub fn s3_requests(data: &[u8]) {
    let (step, text) = choice(data);
    let stream = with_signatures(text);
    let requests = http1::requests(&stream);
    let received = exchange(&stream, step);
    let answers = answers(&received, &requests);
    assert!(answers.len() <= requests.len(), "more answers than requests");
    for (answer, request) in answers.iter().zip(&requests) {
        let is_health = ["/healthz", "/readyz"].contains(&request.path());
        assert!(!answer.is_health || is_health, "content was taken for a request");
        if let Some(resource) =
            answer.resource().filter(|it| *it != "/" && is_plain(request.path()))
        {
            let path = request.path().trim_end_matches('/');
            assert_eq!(resource.trim_end_matches('/'), path, "an error of another request");
        }
    }
    if let Some(request) = requests.get(answers.len())
        && request.content == Content::Whole
    {
        // The request was not answered, so an earlier one must have ended the connection.
        let end = answers.len().checked_sub(1).map(|last| (&answers[last], &requests[last]));
        let is_end = end.is_some_and(|(answer, before)| answer.closes || before.is_last);
        assert!(is_end, "a request without an answer: {}", String::from_utf8_lossy(&received));
    }
}

fn with_signatures(text: &[u8]) -> Vec<u8> {
    let mut stream = Vec::with_capacity(text.len() + 512);
    let mut first_line: &[u8] = b"";
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        if line == SIGNED
            && let Some(lines) = signature(first_line)
        {
            stream.extend_from_slice(lines.as_bytes());
        } else {
            stream.extend_from_slice(line);
        }
        if line.ends_with(b" HTTP/1.1\r\n") {
            first_line = line;
        }
    }
    stream
}

fn signature(first_line: &[u8]) -> Option<String> {
    let mut words = str::from_utf8(first_line).ok()?.split(' ');
    let (method, target) = (words.next()?, words.next()?);
    let (path, query) = target.split_once('?').map_or((target, None), |(p, q)| (p, Some(q)));
    let mut headers = HeaderMap::new();
    headers.insert("host", HeaderValue::from_static("h"));
    let (signer, now) = (signer(SECRET), SystemTime::now());
    signer.sign(method, path, query, &mut headers, PayloadHash::Unsigned, now).ok()?;
    let line = |(name, value): (&http::HeaderName, &HeaderValue)| {
        Some(format!("{name}: {}\r\n", value.to_str().ok()?))
    };
    headers.iter().map(line).collect()
}

/// Starts a proxy in front of a folder that is removed with the process.
fn proxy() -> SocketAddr {
    static ADDRESS: OnceLock<SocketAddr> = OnceLock::new();
    *ADDRESS.get_or_init(|| {
        let memory = PathBuf::from("/dev/shm");
        let base = if memory.is_dir() { memory } else { std::env::temp_dir() };
        let place = place_below(&base);
        let ring = place.join("ring");
        let keys = Ring::generate(1_700_000_000, &mut OsRandom).expect("random bytes");
        RingFile::at(&ring).create(&keys, Protection::None, &mut OsRandom).expect("a new file");
        let client = Client::new("CLIENT", SecretAccessKey::new(SECRET.to_owned()));
        let keys = Keys::ring(&ring);
        let config = Config::new(Backend::folder(&place.join("objects")), keys, vec![client]);
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        listener.set_nonblocking(true).expect("a socket");
        thread::spawn(move || serve(&config, listener));
        let made = exchange_at(address, &with_signatures(b"PUT /bucket HTTP/1.1\r\n@\r\n\r\n"), 0);
        assert!(made.starts_with(b"HTTP/1.1 200"), "a bucket");
        address
    })
}

/// Creates a folder, and removes those of processes that have ended.
fn place_below(base: &Path) -> PathBuf {
    const PREFIX: &str = "endseal-fuzz-";
    for entry in fs::read_dir(base).expect("a folder").flatten() {
        let name = entry.file_name();
        let process = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
        if process.is_some_and(|process| !Path::new("/proc").join(process).exists()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
    let place = base.join(format!("{PREFIX}{}", process::id()));
    fs::create_dir(&place).expect("a place of its own");
    place
}

fn serve(config: &Config, listener: TcpListener) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let (_stop, stopped) = tokio::sync::watch::channel(false);
    runtime.expect("a runtime").block_on(async {
        // The fuzzer's own main function leaves SIGPIPE at its default, which ends the process at a
        // write to a closed connection.
        let _pipe = signal(SignalKind::pipe()).expect("a handler");
        let proxy = Proxy::start(config);
        let server = Server::new(Arc::new(proxy.expect("it starts")), None).expect("a server");
        let listener = tokio::net::TcpListener::from_std(listener).expect("a listener");
        let _ = server.serve(listener, stopped).await;
    });
}

fn exchange(stream: &[u8], step: usize) -> Vec<u8> {
    exchange_at(proxy(), stream, step)
}

/// Sends the bytes in pieces and reads until the connection ends.
fn exchange_at(address: SocketAddr, sent: &[u8], step: usize) -> Vec<u8> {
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream.set_nodelay(true).expect("a socket");
    stream.set_read_timeout(Some(LATE)).expect("a socket");
    let mut write = stream.try_clone().expect("a socket");
    let step = if step == 0 { usize::MAX } else { step };
    let mut received = Vec::new();
    thread::scope(|scope| {
        scope.spawn(move || {
            for piece in sent.chunks(step) {
                if write.write_all(piece).is_err() {
                    break;
                }
            }
            let _ = write.shutdown(Shutdown::Write);
        });
        // A reset after the answers is an end as well.
        if let Err(error) = stream.read_to_end(&mut received) {
            assert!(error.kind() != std::io::ErrorKind::WouldBlock, "no end in time");
        }
    });
    received
}

/// Returns true for paths that have the same spelling in targets and XML.
fn is_plain(path: &str) -> bool {
    path.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/-._".contains(&byte))
}

struct Answer<'a> {
    body: &'a [u8],
    is_health: bool,
    closes: bool,
}

impl Answer<'_> {
    /// Returns the path that an error names.
    fn resource(&self) -> Option<&str> {
        let text = str::from_utf8(self.body).ok()?;
        Some(text.split_once("<Resource>")?.1.split_once("</Resource>")?.0)
    }
}

/// Returns the answers that arrived, without those of 1xx. Each must announce its length.
fn answers<'a>(received: &'a [u8], requests: &[Request<'_>]) -> Vec<Answer<'a>> {
    let (mut answers, mut rest) = (Vec::new(), received);
    while !rest.is_empty() {
        // A connection that was reset may end anywhere.
        let Some(end) = rest.windows(4).position(|it| it == b"\r\n\r\n") else { break };
        // Values that were stored with objects are returned unchanged, so they may be any bytes.
        let head = String::from_utf8_lossy(&rest[..end]);
        rest = &rest[end + 4..];
        assert!(head.get(..9).is_some_and(|it| it.starts_with("HTTP/1.")), "no head: {head}");
        if head[8..].starts_with(" 1") {
            continue;
        }
        let field = |name: &str| head.lines().find_map(|line| line.strip_prefix(name));
        let has_body = requests.get(answers.len()).is_none_or(|it| it.method != b"HEAD")
            && !head[8..].starts_with(" 304")
            && !head[8..].starts_with(" 204");
        let len = field("content-length: ").filter(|_| has_body).unwrap_or("0");
        let len: usize = len.parse().expect("a length");
        assert!(field("transfer-encoding: ").is_none(), "a length is announced");
        let body = &rest[..len.min(rest.len())];
        rest = &rest[body.len()..];
        let is_health = body.starts_with(b"ok");
        let closes = field("connection: ") == Some("close");
        answers.push(Answer { body, is_health, closes });
    }
    answers
}

/// Streams that the fuzzer starts from: one or more for each part of a framing.
pub(crate) const STREAMS: [&str; 24] = [
    "\0PUT /bucket/k HTTP/1.1\r\n@\r\ncontent-length: 5\r\n\r\nhelloGET /healthz HTTP/1.1\r\nhost: h\r\n\r\n",
    "\x07PUT /bucket/k HTTP/1.1\r\n@\r\ncontent-length: 40\r\n\r\nGET /healthz HTTP/1.1\r\nhost: content\r\n\r\nGET /bucket/k HTTP/1.1\r\n@\r\n\r\n",
    "\0PUT /bucket/k HTTP/1.1\r\n@\r\ncontent-length: 5\r\ncontent-length: 5\r\n\r\nhello",
    "\0PUT /bucket/k HTTP/1.1\r\n@\r\ncontent-length: 0\r\ncontent-length: 40\r\n\r\nGET /healthz HTTP/1.1\r\nhost: content\r\n\r\n",
    "\0PUT /bucket/k HTTP/1.1\r\n@\r\ncontent-length : 5\r\n\r\nhello",
    "\0PUT /bucket/k HTTP/1.1\r\n@\r\ncontent-length: 4\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\nGET /healthz HTTP/1.1\r\nhost: h\r\n\r\n",
    "\0PUT /bucket/k HTTP/1.1\r\n@\r\ntransfer-encoding: chunked\r\nx-amz-decoded-content-length: 5\r\n\r\n5\r\nhello\r\n0\r\n\r\nGET /healthz HTTP/1.1\r\nhost: h\r\n\r\n",
    "\0GET /healthz HTTP/1.1\r\nhost: h\r\ntransfer-encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n0\r\nx: y\r\n\r\nGET /healthz HTTP/1.1\r\nhost: h\r\n\r\n",
    "\0PUT /bucket/k HTTP/1.1\r\n@\r\ntransfer-encoding: chunked, identity\r\n\r\n0\r\n\r\n",
    "\0PUT /bucket/k HTTP/1.1\r\n@\r\ncontent-encoding: aws-chunked\r\nx-amz-decoded-content-length: 5\r\ncontent-length: 15\r\n\r\n5\r\nhello\r\n0\r\n\r\nGET /healthz HTTP/1.1\r\nhost: h\r\n\r\n",
    "\0PUT /bucket/k HTTP/1.1\r\nhost: h\r\ncontent-length: 40\r\n\r\nGET /healthz HTTP/1.1\r\nhost: content\r\n\r\nHEAD /bucket HTTP/1.1\r\n@\r\n\r\n",
    "\0PUT /bucket/k HTTP/1.1\r\n@\r\nexpect: 100-continue\r\ncontent-length: 5\r\n\r\nhelloHEAD /bucket/k HTTP/1.1\r\n@\r\n\r\n",
    "\0PUT /bucket/k HTTP/1.1\r\nhost: h\r\nexpect: 100-continue\r\ncontent-length: 5\r\n\r\nhelloGET /healthz HTTP/1.1\r\nhost: h\r\n\r\n",
    "\0GET /bucket/k HTTP/1.1\r\n@\r\nrange: bytes=1-2\r\ncontent-length: 0\r\n\r\nGET /bucket?list-type=2 HTTP/1.1\r\n@\r\n\r\n",
    "\0POST /bucket/k?uploads HTTP/1.1\r\n@\r\ncontent-length: 0\r\n\r\nPOST /bucket?delete HTTP/1.1\r\n@\r\ncontent-length: 54\r\n\r\n<Delete><Object><Key>k</Key></Object></Delete>12345678",
    "\0GET /healthz HTTP/1.0\r\n\r\nGET /healthz HTTP/1.1\r\nhost: h\r\n\r\n",
    "\0GET /healthz HTTP/1.0\r\nconnection: keep-alive\r\n\r\nGET /healthz HTTP/1.1\r\nhost: h\r\n\r\n",
    "\0GET /healthz HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\nGET /healthz HTTP/1.1\r\nhost: h\r\n\r\n",
    "\0GET /healthz HTTP/1.1\r\nhost: h\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\nPRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "\0\r\n\r\nGET /healthz HTTP/1.1\nhost: h\n\nOPTIONS * HTTP/1.1\r\nhost: h\r\n\r\n",
    "\0CONNECT other:80 HTTP/1.1\r\nhost: other:80\r\n\r\nGET http://other/healthz HTTP/1.1\r\nhost: h\r\n\r\n",
    "\0GET /bucket HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\nGET /bucket HTTP/1.1\r\n\r\nDELETE /bucket/k HTTP/1.1\r\n@\r\n\r\n",
    "\0GET /healthz HTTP/1.1\r\nhost: h\r\nx: y\r\n z\r\n\r\n",
    "\x01OPTIONS /bucket/k HTTP/1.1\r\nhost: h\r\norigin: o\r\naccess-control-request-method: PUT\r\n\r\nPUT /bucket/k HTTP/1.1\r\n@\r\nx-amz-copy-source: /bucket/k\r\n\r\n",
];
