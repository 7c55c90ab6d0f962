//! S3 client that sends exactly the bytes that a test chooses.

use std::net::SocketAddr;
use std::time::SystemTime;

use endseal_s3_protocol::sigv4::{Payload, PayloadHash, SecretKey, Signer};
use http::{HeaderMap, HeaderName, HeaderValue};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// Client with credentials.
pub(crate) struct Client {
    pub(crate) address: SocketAddr,
    pub(crate) signer: Signer,
}

/// Response to a request.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
    /// True if the body has the announced length.
    pub(crate) whole: bool,
}

impl Answer {
    /// Checks the status and returns the response.
    #[track_caller]
    pub(crate) fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}", String::from_utf8_lossy(&self.body));
        assert!(self.whole);
        self
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    pub(crate) fn etag(&self) -> String {
        self.header("etag").expect("an entity tag").to_owned()
    }

    pub(crate) fn text(&self) -> &str {
        core::str::from_utf8(&self.body).unwrap()
    }

    /// Returns the texts of all elements with this name.
    pub(crate) fn elements(&self, name: &str) -> Vec<String> {
        let (open, close) = (format!("<{name}>"), format!("</{name}>"));
        let unescape = |text: &str| {
            let text = text.replace("&quot;", "\"").replace("&apos;", "'").replace("&#x9;", "\t");
            text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
        };
        let pieces = self.text().split(&open).skip(1);
        pieces.map(|piece| unescape(piece.split(&close).next().unwrap())).collect()
    }

    pub(crate) fn element(&self, name: &str) -> String {
        self.elements(name).into_iter().next().unwrap_or_else(|| panic!("{name}: {}", self.text()))
    }

    /// Returns the S3 code of an error response.
    #[track_caller]
    pub(crate) fn code(&self) -> String {
        assert!(self.status >= 400, "{}", self.status);
        self.element("Code")
    }
}

impl Client {
    pub(crate) fn new(address: SocketAddr, access_key: &str, secret: &str) -> Self {
        let secret = SecretKey::new(secret.to_owned());
        Self { address, signer: Signer::new(access_key.to_owned(), secret, "us-east-1".into()) }
    }

    /// Sends a request without a body.
    pub(crate) async fn ask(&self, method: &str, target: &str) -> Answer {
        self.send(method, target, &[], b"").await
    }

    pub(crate) async fn ask_with(
        &self,
        method: &str,
        target: &str,
        headers: &[(&str, &str)],
    ) -> Answer {
        self.send(method, target, headers, b"").await
    }

    pub(crate) async fn put(&self, target: &str, body: &[u8]) -> Answer {
        self.send("PUT", target, &[], body).await
    }

    pub(crate) async fn send(
        &self,
        method: &str,
        target: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Answer {
        let head = self.head(method, target, headers, body.len());
        self.exchange(&head, body, method == "HEAD").await
    }

    /// Returns the signed head of a request with a body of this length.
    pub(crate) fn head(
        &self,
        method: &str,
        target: &str,
        headers: &[(&str, &str)],
        len: usize,
    ) -> String {
        self.head_of(method, target, headers, len, PayloadHash::Unsigned)
    }

    /// Like [`Self::head`], with a statement about the body in the signature.
    pub(crate) fn head_of(
        &self,
        method: &str,
        target: &str,
        headers: &[(&str, &str)],
        len: usize,
        hash: PayloadHash,
    ) -> String {
        let (mut head, _) = self.lines(method, target, headers, len, hash);
        head.push_str("connection: close\r\n\r\n");
        head
    }

    /// Returns the lines of the head, and the state that signs the chunks of the body.
    pub(crate) fn lines(
        &self,
        method: &str,
        target: &str,
        headers: &[(&str, &str)],
        len: usize,
        hash: PayloadHash,
    ) -> (String, Payload) {
        let (path, query) = target.split_once('?').map_or((target, None), |(p, q)| (p, Some(q)));
        let mut signed = HeaderMap::new();
        signed.insert("host", self.address.to_string().parse().unwrap());
        for (name, value) in headers {
            let name: HeaderName = name.parse().unwrap();
            signed.append(name, HeaderValue::from_str(value).unwrap());
        }
        let now = SystemTime::now();
        let payload = self.signer.sign(method, path, query, &mut signed, hash, now).unwrap();
        let mut head = format!("{method} {target} HTTP/1.1\r\n");
        for (name, value) in &signed {
            head.push_str(&format!("{name}: {}\r\n", value.to_str().unwrap()));
        }
        head.push_str(&format!("content-length: {len}\r\n"));
        (head, payload)
    }

    /// Sends a request unchanged, and reads until the connection ends.
    pub(crate) async fn exchange(&self, head: &str, body: &[u8], is_head: bool) -> Answer {
        let stream = TcpStream::connect(self.address).await.unwrap();
        let (mut read, mut write) = stream.into_split();
        let (head, body) = (head.as_bytes().to_vec(), body.to_vec());
        let writing = tokio::spawn(async move {
            // A server that refuses the request may close before it has received everything.
            let _ = write.write_all(&head).await;
            let _ = write.write_all(&body).await;
            write
        });
        let mut received = Vec::new();
        // A reset after the response is acceptable.
        let _ = read.read_to_end(&mut received).await;
        drop(writing.await.unwrap());
        parse(&received, is_head)
    }
}

/// Parses a response.
pub(crate) fn parse(received: &[u8], is_head: bool) -> Answer {
    let Some(end) = received.windows(4).position(|it| it == b"\r\n\r\n") else {
        // The connection closed before the first byte.
        assert!(received.is_empty(), "{}", String::from_utf8_lossy(received));
        return Answer { status: 0, headers: HeaderMap::new(), body: Vec::new(), whole: false };
    };
    let head = core::str::from_utf8(&received[..end]).unwrap();
    let mut lines = head.split("\r\n");
    let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let mut headers = HeaderMap::new();
    for line in lines {
        let (name, value) = line.split_once(':').unwrap();
        headers.append(
            name.parse::<HeaderName>().unwrap(),
            HeaderValue::from_bytes(value.trim().as_bytes()).unwrap(),
        );
    }
    let body = received[end + 4..].to_vec();
    let announced = headers.get("content-length").map(|len| len.to_str().unwrap().parse().unwrap());
    let whole = is_head || announced.is_none_or(|announced: usize| announced == body.len());
    Answer { status, headers, body, whole }
}
