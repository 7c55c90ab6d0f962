//! The published baseline's shape of an encrypting proxy, implemented from its documentation:
//! AES-256-CTR in segments of 12 MB, HMAC-SHA256 over the whole object, parts of 5 MB to the
//! backend, three of which are sent at the same time; AES-256-GCM in one piece for objects that are
//! shorter than a part; and a content key for each object, wrapped, in the metadata.
//!
//! As in the published baseline, the HMAC is compared after everything has been sent to the client,
//! ranges are not implemented, and the state of an upload is kept in memory. Unlike there, the HMAC
//! itself is also in memory, which saves a request, and signatures of clients are not verified,
//! which saves their cost.

use core::convert::Infallible;
use core::net::SocketAddr;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use bytes::Bytes;
use endseal_s3_protocol::sigv4::{PayloadHash, Signer};
use http::header::{AUTHORIZATION, CONNECTION, CONTENT_LENGTH, HOST, RANGE};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::BodyExt as _;
use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::Incoming;
use tokio::net::TcpListener;

use self::keys::MasterKey;
use super::http::{Pieces, collect, next, status};
use super::listen;
use super::upstream::Upstream;
use crate::subject::Failure;

mod get;
mod keys;
mod put;

/// Bytes that are encrypted at once.
const SEGMENT: usize = 12 << 20;
/// Bytes of a part.
const PART: usize = 5 << 20;
/// Number of parts that are sent at the same time.
const AT_ONCE: usize = 3;
/// Bytes of the longest request that is neither an upload nor a download.
const MOST: usize = 1 << 20;

/// Metadata headers with the wrapped content key, and with the initial counter block.
const KEY_HEADER: &str = "x-amz-meta-s3ep-dek";
const COUNTER_HEADER: &str = "x-amz-meta-s3ep-iv";

/// Serves requests until its process ends.
pub(crate) async fn serve(
    listener: TcpListener,
    backend: SocketAddr,
) -> Result<Infallible, Failure> {
    let proxy = Arc::new(Seed {
        upstream: Upstream::new(backend),
        signer: super::signer(),
        master: MasterKey::generate()?,
        tags: Mutex::default(),
    });
    listen::serve(listener, move |request| {
        let proxy = Arc::clone(&proxy);
        async move {
            let answer = answer(&proxy, request).await;
            answer.unwrap_or_else(|_| status(StatusCode::BAD_GATEWAY))
        }
    })
    .await
}

/// Body of an answer: from the backend, in memory, or decrypted while it is sent.
type Body = UnsyncBoxBody<Bytes, Failure>;

/// Passes on a body of the backend.
fn passed(body: Incoming) -> Body {
    body.map_err(Failure::from).boxed_unsync()
}

/// Reads a body in segments.
struct Segments {
    body: Incoming,
    /// The rest of the last piece.
    piece: Bytes,
}

impl Segments {
    fn new(body: Incoming) -> Self {
        Self { body, piece: Bytes::new() }
    }

    /// Replaces the content of `segment` by the next [`SEGMENT`] bytes. Returns false at the end of
    /// the body. The last segment may be shorter.
    async fn next(&mut self, segment: &mut Vec<u8>) -> Result<bool, Failure> {
        segment.clear();
        while segment.len() < SEGMENT {
            if self.piece.is_empty() {
                let Some(piece) = next(&mut self.body).await.transpose()? else { break };
                self.piece = piece;
            }
            let now = self.piece.split_to(self.piece.len().min(SEGMENT - segment.len()));
            segment.extend_from_slice(&now);
        }
        Ok(!segment.is_empty())
    }
}

struct Seed {
    upstream: Upstream<Pieces>,
    signer: Signer,
    master: MasterKey,
    /// HMACs of objects that were stored in parts, by path.
    tags: Mutex<HashMap<String, [u8; 32]>>,
}

async fn answer(proxy: &Arc<Seed>, request: Request<Incoming>) -> Result<Response<Body>, Failure> {
    let (head, body) = request.into_parts();
    let path = head.uri.path().to_owned();
    let is_object = path.trim_matches('/').contains('/') && head.uri.query().is_none();
    match head.method {
        Method::PUT if is_object => put::put(proxy, &path, &head.headers, body).await,
        Method::GET if is_object && head.headers.contains_key(RANGE) => {
            Ok(status(StatusCode::NOT_IMPLEMENTED))
        }
        Method::GET if is_object => get::get(proxy, &path).await,
        method => {
            let target = head.uri.path_and_query().map_or("/", |it| it.as_str()).to_owned();
            let body = collect(body, MOST).await?;
            let body = Pieces::new((!body.is_empty()).then(|| body.into()));
            let response = proxy.send(method, &target, HeaderMap::new(), body).await?;
            Ok(response.map(passed))
        }
    }
}

impl Seed {
    /// Signs and sends a request.
    async fn send(
        &self,
        method: Method,
        target: &str,
        headers: HeaderMap,
        body: Pieces,
    ) -> Result<Response<Incoming>, Failure> {
        let mut headers = headers;
        for name in [AUTHORIZATION, CONNECTION, CONTENT_LENGTH] {
            headers.remove(name);
        }
        headers.insert(HOST, HeaderValue::from_str(&self.upstream.address().to_string())?);
        let (path, query) = target.split_once('?').map_or((target, None), |(p, q)| (p, Some(q)));
        let hash = PayloadHash::Unsigned;
        self.signer.sign(method.as_str(), path, query, &mut headers, hash, SystemTime::now())?;
        let mut request = Request::new(body);
        *request.method_mut() = method;
        *request.uri_mut() = target.parse()?;
        *request.headers_mut() = headers;
        self.upstream.send(request).await
    }

    fn remember(&self, path: &str, tag: [u8; 32]) {
        self.tags.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned(), tag);
    }

    fn tag(&self, path: &str) -> Option<[u8; 32]> {
        self.tags.lock().unwrap_or_else(PoisonError::into_inner).get(path).copied()
    }
}

/// Returns head and body of an answer. If its status is not a success, the body is the error text.
async fn success(response: Response<Incoming>) -> Result<(HeaderMap, Vec<u8>), Failure> {
    let (head, body) = response.into_parts();
    let body = collect(body, MOST).await?;
    match head.status.is_success() {
        true => Ok((head.headers, body)),
        false => Err(String::from_utf8_lossy(&body).into_owned().into()),
    }
}
