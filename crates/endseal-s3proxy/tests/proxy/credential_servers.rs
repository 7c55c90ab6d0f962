//! Servers that issue credentials, and a backend that verifies signatures made with them.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use endseal_crypto::sha256;
use endseal_s3_protocol::sigv4::Timestamp;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// Secret of all credentials that the servers issue.
pub(crate) const CHAIN_SECRET: &str = "secret+of/the=chain";

/// Request to a credential server or to the backend.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) method: String,
    pub(crate) target: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: String,
}

impl Asked {
    async fn read(stream: &mut TcpStream) -> Option<Self> {
        let mut bytes = Vec::new();
        let end = loop {
            if let Some(end) = bytes.windows(4).position(|it| it == b"\r\n\r\n") {
                break end + 4;
            }
            if stream.read_buf(&mut bytes).await.ok()? == 0 {
                return None;
            }
        };
        let head = core::str::from_utf8(&bytes[..end]).unwrap().trim_end().to_owned();
        let mut lines = head.split("\r\n");
        let mut first = lines.next().unwrap().split(' ').map(str::to_owned);
        let headers = lines.map(|line| {
            let (name, value) = line.split_once(": ").unwrap();
            (name.to_owned(), value.to_owned())
        });
        let (method, target) = (first.next().unwrap(), first.next().unwrap());
        let mut asked = Self { method, target, headers: headers.collect(), body: String::new() };
        let len = asked.headers.get("content-length").map_or(0, |len| len.parse().unwrap());
        while bytes.len() < end + len {
            assert_ne!(stream.read_buf(&mut bytes).await.unwrap(), 0);
        }
        asked.body = String::from_utf8(bytes.split_off(end)).unwrap();
        Some(asked)
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    /// Returns the access key of the signature (version 4) if it was made with [`CHAIN_SECRET`].
    fn verified(&self) -> Option<String> {
        let (_, rest) = self.header("authorization")?.split_once("Credential=")?;
        let (credential, rest) = rest.split_once(",SignedHeaders=")?;
        let (names, signature) = rest.split_once(",Signature=")?;
        let (access_key, scope) = credential.split_once('/')?;
        let mut canonical = format!("{}\n{}\n\n", self.method, self.target);
        for name in names.split(';') {
            canonical.push_str(&format!("{name}:{}\n", self.header(name)?));
        }
        canonical.push_str(&format!("\n{names}\n{}", self.header("x-amz-content-sha256")?));
        let digest = hex(&sha256::digest(canonical.as_bytes()));
        let text = format!("AWS4-HMAC-SHA256\n{}\n{scope}\n{digest}", self.header("x-amz-date")?);
        let first = format!("AWS4{CHAIN_SECRET}").into_bytes();
        let key = scope
            .split('/')
            .fold(first, |key, part| sha256::hmac(&key, &[part.as_bytes()]).to_vec());
        let is_signed = |name: &str| names.split(';').any(|signed| signed == name);
        // A token that is not signed could be replaced.
        let is_token_signed =
            self.header("x-amz-security-token").is_none() || is_signed("x-amz-security-token");
        (hex(&sha256::hmac(&key, &[text.as_bytes()])) == signature && is_token_signed)
            .then(|| access_key.to_owned())
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns a response with a body.
pub(crate) fn answer(status: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}")
        .into_bytes()
}

/// Returns the time in `millis` milliseconds, also in the form of RFC 3339.
pub(crate) fn in_millis(millis: u64) -> (SystemTime, String) {
    let time = SystemTime::now() + core::time::Duration::from_millis(millis);
    let basic = Timestamp::of(time).to_basic();
    let [year, month, day, hour, minute, second] =
        [0..4, 4..6, 6..8, 9..11, 11..13, 13..15].map(|range| &basic[range]);
    let millis = time.duration_since(UNIX_EPOCH).unwrap().subsec_millis();
    (time, format!("{year}-{month}-{day}T{hour}:{minute}:{second}.{millis:03}Z"))
}

/// Returns credentials in the format of containers and instances.
pub(crate) fn json(access_key: &str, token: &str, expiry: &str) -> String {
    format!(
        "{{\"Code\":\"Success\",\"AccessKeyId\":\"{access_key}\",\
         \"SecretAccessKey\":\"{CHAIN_SECRET}\",\"Token\":\"{token}\",\"Expiration\":\"{expiry}\"}}"
    )
}

/// Server on 127.0.0.1 whose responses a function returns. Each connection serves one request.
pub(crate) struct Source {
    pub(crate) address: SocketAddr,
    pub(crate) asked: Arc<Mutex<Vec<Asked>>>,
}

impl Source {
    pub(crate) async fn start(answer: impl Fn(&Asked) -> Vec<u8> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let (asked, answer) = (Arc::<Mutex<Vec<Asked>>>::default(), Arc::new(answer));
        let all = Arc::clone(&asked);
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let (all, answer) = (Arc::clone(&all), Arc::clone(&answer));
                tokio::spawn(async move {
                    let Some(request) = Asked::read(&mut stream).await else { return };
                    let answer = answer(&request);
                    all.lock().unwrap().push(request);
                    // The client may have closed the connection.
                    let _ = stream.write_all(&answer).await;
                });
            }
        });
        Self { address, asked }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }
}

/// Request that the backend accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Let {
    pub(crate) at: SystemTime,
    pub(crate) access_key: String,
    pub(crate) token: Option<String>,
}

/// Backend that responds with 200 to requests that are signed with [`CHAIN_SECRET`], and with 403
/// to others.
pub(crate) struct Verifying {
    pub(crate) source: Source,
    pub(crate) let_in: Arc<Mutex<Vec<Let>>>,
}

impl Verifying {
    pub(crate) async fn start() -> Self {
        let let_in = Arc::<Mutex<Vec<Let>>>::default();
        let all = Arc::clone(&let_in);
        let source = Source::start(move |asked| match asked.verified() {
            Some(access_key) => {
                let token = asked.header("x-amz-security-token").map(str::to_owned);
                all.lock().unwrap().push(Let { at: SystemTime::now(), access_key, token });
                answer("200 OK", "")
            }
            None => answer("403 Forbidden", ""),
        });
        Self { source: source.await, let_in }
    }

    pub(crate) fn let_in(&self) -> Vec<Let> {
        self.let_in.lock().unwrap().clone()
    }
}
