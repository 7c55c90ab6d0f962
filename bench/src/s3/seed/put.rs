//! Uploads: the body is read in segments, encrypted, and cut into parts.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, ETAG};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode};
use http_body::Body as _;
use hyper::body::Incoming;
use tokio::task::JoinSet;

use super::keys::ContentKey;
use super::{AT_ONCE, Body, COUNTER_HEADER, KEY_HEADER, PART, SEGMENT, Seed, Segments, success};
use crate::s3::http::{Pieces, collect, element, status};
use crate::subject::Failure;

pub(super) async fn put(
    proxy: &Arc<Seed>,
    path: &str,
    headers: &HeaderMap,
    body: Incoming,
) -> Result<Response<Body>, Failure> {
    let len = body.size_hint().exact().ok_or("an upload has no length")?;
    let key = ContentKey::generate()?;
    let mut kept = HeaderMap::new();
    kept.extend(headers.get(CONTENT_TYPE).map(|kind| (CONTENT_TYPE, kind.clone())));
    kept.insert(KEY_HEADER, HeaderValue::from_str(&proxy.master.wrap(&key)?)?);
    let tag = if len < PART as u64 {
        let sealed = key.seal(collect(body, PART).await?)?;
        let body = Pieces::new([Bytes::from(sealed)]);
        let response = proxy.send(Method::PUT, path, kept, body).await?;
        success(response).await?.0.get(ETAG).cloned()
    } else {
        in_parts(proxy, path, kept, &key, body).await?
    };
    let mut response = status(StatusCode::OK);
    response.headers_mut().extend(tag.map(|tag| (ETAG, tag)));
    Ok(response)
}

async fn in_parts(
    proxy: &Arc<Seed>,
    path: &str,
    headers: HeaderMap,
    key: &ContentKey,
    body: Incoming,
) -> Result<Option<HeaderValue>, Failure> {
    let (mut encryptor, counter) = key.encryptor()?;
    let mut headers = headers;
    let name = HeaderName::from_static(COUNTER_HEADER);
    headers.insert(name, HeaderValue::from_str(&counter)?);
    let target = format!("{path}?uploads");
    let started = proxy.send(Method::POST, &target, headers, Pieces::default()).await?;
    let (_, started) = success(started).await?;
    let started = String::from_utf8(started)?;
    let id = element(&started, "UploadId").ok_or("the backend returned no upload id")?.to_owned();
    let mut hmac = key.hmac();
    let mut parts = Parts::new(Arc::clone(proxy), path, &id);
    let mut segments = Segments::new(body);
    let mut segment = Vec::with_capacity(SEGMENT);
    while segments.next(&mut segment).await? {
        // The stream cipher's interface asks for a buffer that is one block longer than the input.
        let mut encrypted = vec![0; segment.len() + 15];
        let len = encryptor.update(&segment, &mut encrypted)?.written().len();
        encrypted.truncate(len);
        hmac.update(&encrypted);
        parts.add(encrypted.into()).await?;
    }
    let tag = parts.finish().await?;
    let digest = hmac.sign();
    proxy.remember(path, digest.as_ref().try_into()?);
    Ok(tag)
}

/// Parts of an upload, some of which are being sent.
struct Parts {
    proxy: Arc<Seed>,
    path: String,
    id: String,
    waiting: VecDeque<Bytes>,
    waiting_len: usize,
    sent: u32,
    on_their_way: JoinSet<Result<(u32, String), Failure>>,
    tags: Vec<(u32, String)>,
}

impl Parts {
    fn new(proxy: Arc<Seed>, path: &str, id: &str) -> Self {
        Self {
            proxy,
            path: path.to_owned(),
            id: id.to_owned(),
            waiting: VecDeque::new(),
            waiting_len: 0,
            sent: 0,
            on_their_way: JoinSet::new(),
            tags: Vec::new(),
        }
    }

    async fn add(&mut self, bytes: Bytes) -> Result<(), Failure> {
        self.waiting_len += bytes.len();
        self.waiting.push_back(bytes);
        while self.waiting_len >= PART {
            self.send(PART).await?;
        }
        Ok(())
    }

    /// Sends the first `len` bytes of the waiting data as a part.
    async fn send(&mut self, len: usize) -> Result<(), Failure> {
        let mut pieces = Vec::new();
        let mut left = len;
        while let Some(first) = self.waiting.front_mut().filter(|_| left > 0) {
            let piece = first.split_to(first.len().min(left));
            left -= piece.len();
            if first.is_empty() {
                self.waiting.pop_front();
            }
            pieces.push(piece);
        }
        self.waiting_len -= len;
        while self.on_their_way.len() >= AT_ONCE {
            self.wait().await?;
        }
        self.sent += 1;
        let (number, proxy) = (self.sent, Arc::clone(&self.proxy));
        let target = format!("{}?partNumber={number}&uploadId={}", self.path, self.id);
        self.on_their_way.spawn(async move {
            let body = Pieces::new(pieces);
            let response = proxy.send(Method::PUT, &target, HeaderMap::new(), body).await?;
            let (headers, _) = success(response).await?;
            let tag = headers.get(ETAG).ok_or("a part has no entity tag")?.to_str()?.to_owned();
            Ok((number, tag))
        });
        Ok(())
    }

    async fn wait(&mut self) -> Result<bool, Failure> {
        let Some(done) = self.on_their_way.join_next().await else { return Ok(false) };
        self.tags.push(done??);
        Ok(true)
    }

    async fn finish(mut self) -> Result<Option<HeaderValue>, Failure> {
        if self.waiting_len > 0 {
            self.send(self.waiting_len).await?;
        }
        while self.wait().await? {}
        self.tags.sort();
        let parts: String = self
            .tags
            .iter()
            .map(|(number, tag)| {
                let tag = tag.replace('"', "&quot;");
                format!("<Part><PartNumber>{number}</PartNumber><ETag>{tag}</ETag></Part>")
            })
            .collect();
        let order = format!("<CompleteMultipartUpload>{parts}</CompleteMultipartUpload>");
        let target = format!("{}?uploadId={}", self.path, self.id);
        let response =
            self.proxy.send(Method::POST, &target, HeaderMap::new(), Pieces::from(order)).await?;
        let (_, body) = success(response).await?;
        let text = String::from_utf8(body)?;
        let tag =
            element(&text, "ETag").map(|tag| tag.replace("&quot;", "\"").replace("&#34;", "\""));
        tag.map(|tag| HeaderValue::from_str(&tag)).transpose().map_err(Failure::from)
    }
}
