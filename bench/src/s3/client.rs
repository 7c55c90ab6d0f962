//! The client: hyper on the calling thread, and content that is compared as it comes.

use core::future::Future;
use core::net::SocketAddr;
use core::time::Duration;
use std::time::{Instant, SystemTime};

use bytes::Bytes;
use endseal_s3_protocol::sigv4::{PayloadHash, Signer};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response};
use http_body::Body as _;
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

use super::content::Content;
use super::http::{Pieces, collect, next};
use crate::subject::Failure;

/// Time limit of a request with its answer.
const TIMEOUT: Duration = Duration::from_secs(600);
/// Idle time after which a server may have closed a connection.
const STALE: Duration = Duration::from_secs(4);
/// Bytes of the longest body that is not content.
const MOST: usize = 64 * 1024;

/// Head of a request. It can be sent repeatedly for some minutes after it was signed.
#[derive(Clone, Debug)]
pub(crate) struct Head {
    pub(crate) method: Method,
    pub(crate) target: String,
    pub(crate) headers: HeaderMap,
}

/// Builds the head of a signed request whose body is not signed.
pub(crate) fn head(
    signer: &Signer,
    authority: SocketAddr,
    method: &str,
    target: &str,
    headers: &[(&str, &str)],
) -> Result<Head, Failure> {
    head_of(signer, authority, method, target, headers, PayloadHash::Unsigned)
}

/// Builds the head of a signed request. `hash` is the statement about the body that is signed.
pub(super) fn head_of(
    signer: &Signer,
    authority: SocketAddr,
    method: &str,
    target: &str,
    headers: &[(&str, &str)],
    hash: PayloadHash,
) -> Result<Head, Failure> {
    let (path, query) = target.split_once('?').map_or((target, None), |(p, q)| (p, Some(q)));
    let mut signed = HeaderMap::new();
    signed.insert("host", authority.to_string().parse()?);
    for (name, value) in headers {
        signed.append(name.parse::<HeaderName>()?, HeaderValue::from_str(value)?);
    }
    signer.sign(method, path, query, &mut signed, hash, SystemTime::now())?;
    Ok(Head { method: method.parse()?, target: target.to_owned(), headers: signed })
}

/// A connection for successive requests.
#[derive(Debug)]
pub(crate) struct Connection {
    runtime: Runtime,
    sender: SendRequest<Pieces>,
    /// Time at which its last answer ended.
    used: Instant,
}

impl Connection {
    pub(crate) fn open(address: SocketAddr) -> Result<Self, Failure> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let sender = runtime.block_on(async {
            let stream = TcpStream::connect(address).await?;
            stream.set_nodelay(true)?;
            let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
            // An error of the connection is reported by the request that waits for its answer.
            tokio::spawn(connection);
            Ok::<_, Failure>(sender)
        })?;
        Ok(Self { runtime, sender, used: Instant::now() })
    }

    /// Returns true if the server may have closed the connection, because it was idle while other
    /// subjects were measured.
    pub(crate) fn is_stale(&self) -> bool {
        self.used.elapsed() > STALE
    }

    /// Uploads content. Fails if the answer is not a success. Returns the headers of the answer.
    pub(crate) fn put(&mut self, head: &Head, content: Content) -> Result<HeaderMap, Failure> {
        self.put_pieces(head, Pieces::new(content.pieces()))
    }

    /// Uploads a body that is ready. Fails if the answer is not a success.
    pub(super) fn put_pieces(&mut self, head: &Head, body: Pieces) -> Result<HeaderMap, Failure> {
        self.exchange(head, body, async |answer| {
            let (answer, body) = answer.into_parts();
            let body = collect(body, MOST).await?;
            match answer.status.is_success() {
                true => Ok(answer.headers),
                false => Err(refused(answer.status, &body)),
            }
        })
    }

    /// Downloads `len` bytes and compares them with `wanted` from the offset `from` on.
    pub(crate) fn get(
        &mut self,
        head: &Head,
        wanted: Content,
        from: u64,
        len: u64,
    ) -> Result<(), Failure> {
        self.exchange(head, Pieces::default(), async |answer| {
            let (answer, mut body) = answer.into_parts();
            if !answer.status.is_success() {
                return Err(refused(answer.status, &collect(body, MOST).await?));
            }
            if body.size_hint().exact() != Some(len) {
                return Err(format!("{:?} bytes are announced", body.size_hint().exact()).into());
            }
            let mut at = from;
            while let Some(piece) = next(&mut body).await.transpose()? {
                if !wanted.matches(at, &piece) {
                    return Err("what came is not what was stored".into());
                }
                at += piece.len() as u64;
            }
            if at == from + len { Ok(()) } else { Err("the answer was cut".into()) }
        })
    }

    /// Sends a request with a short body. Returns the answer with its body.
    pub(crate) fn ask(
        &mut self,
        head: &Head,
        body: &[u8],
    ) -> Result<(u16, HeaderMap, Vec<u8>), Failure> {
        let body = Pieces::new((!body.is_empty()).then(|| Bytes::copy_from_slice(body)));
        self.exchange(head, body, async |answer| {
            let (answer, body) = answer.into_parts();
            Ok((answer.status.as_u16(), answer.headers, collect(body, usize::MAX).await?))
        })
    }

    fn exchange<T>(
        &mut self,
        head: &Head,
        body: Pieces,
        read: impl AsyncFnOnce(Response<Incoming>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let mut request = Request::new(body);
        *request.method_mut() = head.method.clone();
        *request.uri_mut() = head.target.parse()?;
        *request.headers_mut() = head.headers.clone();
        let sender = &mut self.sender;
        let exchange = async {
            sender.ready().await?;
            read(sender.send_request(request).await?).await
        };
        let answer = within(&self.runtime, exchange);
        self.used = Instant::now();
        answer
    }
}

/// Runs a future on this thread, at most for [`TIMEOUT`].
fn within<T>(
    runtime: &Runtime,
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    runtime.block_on(async { timeout(TIMEOUT, work).await })?
}

fn refused(status: http::StatusCode, body: &[u8]) -> Failure {
    let text: String =
        String::from_utf8_lossy(body).chars().filter(|c| !c.is_control()).take(160).collect();
    format!("status {status}: {text}").into()
}
