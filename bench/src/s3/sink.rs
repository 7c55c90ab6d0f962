//! A backend that costs little: it drops the bodies of one bucket and keeps those of all others,
//! and returns what it has kept, whole or in ranges.
//!
//! It implements as much of S3 as proxies need to store and fetch objects, in one piece or in
//! parts, and verifies no signature. `GET /-/counters` returns the number of requests and bytes so
//! far.

use core::convert::Infallible;
use core::net::SocketAddr;
use core::sync::atomic::{AtomicU64, Ordering};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::{Bytes, BytesMut};
use endseal_s3_protocol::aws_chunked::{Decoder, Form, Limits};
use http::header::{CONTENT_LENGTH, CONTENT_RANGE, ETAG, RANGE};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use hyper::body::Incoming;
use tokio::net::TcpListener;

use super::http::{Pieces, collect, element, next, parameter, status};
use super::{DROP, KEEP, client, listen, signer};
use crate::subject::Failure;

/// Bytes that are kept together: pieces of sockets would keep the buffers of sockets alive.
const TOGETHER: usize = 1 << 20;
/// Bytes of the longest list of parts.
const MOST_XML: usize = 4 << 20;
/// Time of each object and bucket in lists.
const MADE: &str = "<LastModified>2025-01-01T00:00:00.000Z</LastModified>";
/// Path that returns the counters.
const COUNTERS: &str = "/-/counters";

/// Returns the numbers of requests and of bytes that a sink has given out so far.
pub(crate) fn counters(sink: SocketAddr) -> Result<[f64; 2], Failure> {
    let head = client::head(&signer(), sink, "GET", COUNTERS, &[])?;
    let (_, _, text) = client::Connection::open(sink)?.ask(&head, &[])?;
    let text = String::from_utf8(text)?;
    let of = |name: &str| -> Result<f64, Failure> {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        Ok(line.ok_or("the sink does not report this counter")?.trim().parse()?)
    };
    Ok([of("requests ")?, of("bytes_out ")?])
}

/// Serves requests until its process ends.
pub(crate) async fn serve(listener: TcpListener) -> Result<Infallible, Failure> {
    let sink = Arc::new(Sink::default());
    listen::serve(listener, move |request| {
        let sink = Arc::clone(&sink);
        async move { sink.answer(request).await.unwrap_or_else(|error| refusal(&*error)) }
    })
    .await
}

fn refusal(error: &dyn core::error::Error) -> Response<Pieces> {
    let mut response =
        Response::new(Pieces::from(format!("<Error><Code>InternalError</Code>{error}</Error>")));
    *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
    response
}

#[derive(Debug, Default)]
struct Sink {
    objects: Mutex<HashMap<String, Arc<Object>>>,
    uploads: Mutex<HashMap<String, Upload>>,
    next: AtomicU64,
    requests: AtomicU64,
    bytes_out: AtomicU64,
}

/// An object that the sink keeps, with its headers.
#[derive(Debug)]
struct Object {
    /// Headers that were stored with the object and are returned with it.
    headers: HeaderMap,
    content: Vec<Bytes>,
}

/// A multipart upload in progress.
#[derive(Debug, Default)]
struct Upload {
    headers: HeaderMap,
    parts: BTreeMap<u32, Vec<Bytes>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Sink {
    async fn answer(&self, request: Request<Incoming>) -> Result<Response<Pieces>, Failure> {
        let (head, body) = request.into_parts();
        let path = head.uri.path().to_owned();
        if path == COUNTERS {
            return Ok(self.counters());
        }
        self.requests.fetch_add(1, Ordering::Relaxed);
        let query = head.uri.query();
        let is_bucket = !path.trim_matches('/').contains('/');
        let upload = parameter(query, "uploadId").map(str::to_owned);
        match (head.method, upload) {
            (Method::PUT | Method::DELETE | Method::HEAD, _) if is_bucket => {
                Ok(status(StatusCode::OK))
            }
            (Method::PUT, Some(upload)) => {
                let number = parameter(query, "partNumber").ok_or("which part?")?.parse()?;
                self.part(&path, &head.headers, &upload, number, body).await
            }
            (Method::PUT, None) => {
                let content = receive(&path, &head.headers, body).await?;
                Ok(self.keep(&path, kept_headers(&head.headers), content))
            }
            (Method::POST, None) if parameter(query, "uploads").is_some() => {
                Ok(self.begin(&head.headers))
            }
            (Method::POST, Some(upload)) => {
                let order = collect(body, MOST_XML).await?;
                self.complete(&path, &upload, &String::from_utf8(order)?)
            }
            (Method::GET, None) if is_bucket => Ok(self.list(&path, query)),
            (Method::GET, None) => self.give(&path, &head.headers, true),
            (Method::HEAD, None) => self.give(&path, &head.headers, false),
            (Method::DELETE, upload) => {
                match upload {
                    Some(upload) => drop(lock(&self.uploads).remove(&upload)),
                    None => drop(lock(&self.objects).remove(&path)),
                }
                Ok(status(StatusCode::NO_CONTENT))
            }
            _ => Ok(status(StatusCode::NOT_IMPLEMENTED)),
        }
    }

    /// Lists all objects of a bucket below a prefix in one response, or all buckets. Names in this
    /// suite need no escapes, and folders are not listed separately.
    fn list(&self, path: &str, query: Option<&str>) -> Response<Pieces> {
        let bucket = path.trim_matches('/');
        let prefix = format!("/{bucket}/{}", parameter(query, "prefix").unwrap_or_default());
        let mut text = if bucket.is_empty() {
            let name = |bucket| format!("<Bucket><Name>{bucket}</Name>{MADE}</Bucket>");
            let buckets = [KEEP, DROP].map(name).concat();
            format!("<ListAllMyBucketsResult><Buckets>{buckets}</Buckets></ListAllMyBucketsResult>")
                .replace("LastModified>", "CreationDate>")
        } else {
            format!("<ListBucketResult><Name>{bucket}</Name><IsTruncated>false</IsTruncated>")
        };
        if !bucket.is_empty() {
            for (name, object) in lock(&self.objects).iter() {
                let Some(rest) = name.strip_prefix(&prefix) else { continue };
                let key = format!("{}{rest}", parameter(query, "prefix").unwrap_or_default());
                let size = object.len();
                let tag = object.headers.get(ETAG).and_then(|tag| tag.to_str().ok());
                let tag = tag.unwrap_or_default().replace('"', "&quot;");
                text += &format!(
                    "<Contents><Key>{key}</Key>{MADE}<ETag>{tag}</ETag><Size>{size}</Size></Contents>"
                );
            }
            text += "</ListBucketResult>";
        }
        Response::new(Pieces::from(text))
    }

    fn counters(&self) -> Response<Pieces> {
        let [requests, bytes_out] =
            [&self.requests, &self.bytes_out].map(|it| it.load(Ordering::Relaxed));
        Response::new(Pieces::from(format!("requests {requests}\nbytes_out {bytes_out}\n")))
    }

    fn entity_tag(&self) -> Result<HeaderValue, Failure> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        // The dash marks an ETag that is not a digest.
        Ok(HeaderValue::from_str(&format!("\"{number:032x}-1\""))?)
    }

    fn keep(&self, path: &str, headers: HeaderMap, content: Vec<Bytes>) -> Response<Pieces> {
        let mut headers = headers;
        if let Ok(tag) = self.entity_tag() {
            headers.insert(ETAG, tag);
        }
        let mut response = status(StatusCode::OK);
        response.headers_mut().extend(headers.get(ETAG).map(|tag| (ETAG, tag.clone())));
        lock(&self.objects).insert(path.to_owned(), Arc::new(Object { headers, content }));
        response
    }

    fn begin(&self, headers: &HeaderMap) -> Response<Pieces> {
        let id = format!("upload{}", self.next.fetch_add(1, Ordering::Relaxed));
        let text = format!(
            "<InitiateMultipartUploadResult><UploadId>{id}</UploadId></InitiateMultipartUploadResult>"
        );
        let upload = Upload { headers: kept_headers(headers), ..Upload::default() };
        lock(&self.uploads).insert(id, upload);
        Response::new(Pieces::from(text))
    }

    async fn part(
        &self,
        path: &str,
        headers: &HeaderMap,
        upload: &str,
        number: u32,
        body: Incoming,
    ) -> Result<Response<Pieces>, Failure> {
        let content = receive(path, headers, body).await?;
        let mut response = status(StatusCode::OK);
        response.headers_mut().insert(ETAG, self.entity_tag()?);
        let mut uploads = lock(&self.uploads);
        uploads.get_mut(upload).ok_or("there is no such upload")?.parts.insert(number, content);
        Ok(response)
    }

    fn complete(&self, path: &str, id: &str, order: &str) -> Result<Response<Pieces>, Failure> {
        let mut upload = lock(&self.uploads).remove(id).ok_or("there is no such upload")?;
        let mut parts = Vec::new();
        for part in order.split("<Part>").skip(1) {
            let number = element(part, "PartNumber").ok_or("which part?")?.parse()?;
            parts.extend(upload.parts.remove(&number).ok_or("a part is missing")?);
        }
        self.keep(path, upload.headers, parts);
        let text =
            "<CompleteMultipartUploadResult><ETag>\"0-1\"</ETag></CompleteMultipartUploadResult>"
                .to_owned();
        Ok(Response::new(Pieces::from(text)))
    }

    fn give(
        &self,
        path: &str,
        headers: &HeaderMap,
        with_body: bool,
    ) -> Result<Response<Pieces>, Failure> {
        let Some(object) = lock(&self.objects).get(path).cloned() else {
            let mut response = refusal(&*Failure::from("no such key"));
            *response.status_mut() = StatusCode::NOT_FOUND;
            return Ok(response);
        };
        let len = object.len();
        let asked = headers.get(RANGE).and_then(|range| range.to_str().ok());
        let range = asked.and_then(|range| span(range, len));
        if asked.is_some() && range.is_none() {
            return Ok(status(StatusCode::RANGE_NOT_SATISFIABLE));
        }
        let (start, end) = range.unwrap_or((0, len));
        let mut response = Response::new(Pieces::default());
        *response.headers_mut() = object.headers.clone();
        if range.is_some() {
            *response.status_mut() = StatusCode::PARTIAL_CONTENT;
            let text = format!("bytes {start}-{}/{len}", end.saturating_sub(1));
            response.headers_mut().insert(CONTENT_RANGE, HeaderValue::from_str(&text)?);
        }
        response.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(end - start));
        if with_body {
            self.bytes_out.fetch_add(end - start, Ordering::Relaxed);
            *response.body_mut() = Pieces::new(object.slice(start, end));
        }
        Ok(response)
    }
}

impl Object {
    fn len(&self) -> u64 {
        self.content.iter().map(|piece| piece.len() as u64).sum()
    }

    /// Returns the bytes between two offsets, which are not copied.
    fn slice(&self, start: u64, end: u64) -> Vec<Bytes> {
        let mut offset = 0;
        let part = |piece: &Bytes| {
            let (first, last) = (offset, offset + piece.len() as u64);
            offset = last;
            let within = |at: u64| usize::try_from(at.clamp(first, last) - first).ok();
            Some(piece.slice(within(start)?..within(end)?)).filter(|part| !part.is_empty())
        };
        self.content.iter().filter_map(part).collect()
    }
}

/// Reads a body to its end. Returns nothing if the body is dropped.
async fn receive(
    path: &str,
    headers: &HeaderMap,
    mut body: Incoming,
) -> Result<Vec<Bytes>, Failure> {
    let drops = path.trim_start_matches('/').split('/').next() == Some(DROP);
    let mut decoder = chunks(headers)?;
    let (mut content, mut kept, mut together) = (VecDeque::new(), Vec::new(), BytesMut::new());
    while let Some(piece) = next(&mut body).await {
        let piece = piece?;
        if drops {
            continue;
        }
        match &mut decoder {
            Some(decoder) => decoder.push(piece, &mut content)?,
            None => content.push_back(piece),
        }
        for piece in content.drain(..) {
            together.extend_from_slice(&piece);
        }
        if together.len() >= TOGETHER {
            kept.push(
                core::mem::replace(&mut together, BytesMut::with_capacity(TOGETHER)).freeze(),
            );
        }
    }
    if let Some(decoder) = decoder.filter(|_| !drops) {
        decoder.finish()?;
    }
    kept.push(together.freeze());
    Ok(kept)
}

/// Returns the decoder for a body in chunks, or `None` if the body is not in chunks.
fn chunks(headers: &HeaderMap) -> Result<Option<Decoder>, Failure> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    if text("x-amz-content-sha256") != Some("STREAMING-UNSIGNED-PAYLOAD-TRAILER") {
        return Ok(None);
    }
    let len = text("x-amz-decoded-content-length").ok_or("how long is the content?")?.parse()?;
    let names = text("x-amz-trailer").unwrap_or_default().split(',').filter(|it| !it.is_empty());
    let announced: Result<Vec<HeaderName>, _> = names.map(|name| name.trim().parse()).collect();
    Ok(Some(Decoder::new(Form::Unsigned, len, announced?, Limits::default())))
}

fn kept_headers(headers: &HeaderMap) -> HeaderMap {
    let kept = headers.iter().filter(|(name, _)| {
        name.as_str().starts_with("x-amz-meta-") || *name == http::header::CONTENT_TYPE
    });
    kept.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// Parses a range: `bytes=a-b`, `bytes=a-`, or `bytes=-n`.
fn span(range: &str, len: u64) -> Option<(u64, u64)> {
    let (first, last) = range.strip_prefix("bytes=")?.split_once('-')?;
    let (start, end) = match (first, last) {
        ("", last) => (len.saturating_sub(last.parse().ok()?), len),
        (first, "") => (first.parse().ok()?, len),
        (first, last) => (first.parse().ok()?, last.parse::<u64>().ok()?.checked_add(1)?.min(len)),
    };
    (start < end).then_some((start, end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_those_of_http() {
        assert_eq!(span("bytes=0-0", 10), Some((0, 1)));
        assert_eq!(span("bytes=4-99", 10), Some((4, 10)));
        assert_eq!(span("bytes=4-", 10), Some((4, 10)));
        assert_eq!(span("bytes=-3", 10), Some((7, 10)));
        for none in ["bytes=10-", "bytes=5-4", "bytes=-0", "lines=1-2", "bytes=x-1"] {
            assert_eq!(span(none, 10), None, "{none}");
        }
    }

    #[test]
    fn a_slice_goes_over_pieces() {
        let content = ["abc", "", "defg", "h"].map(Bytes::from).into();
        let object = Object { headers: HeaderMap::new(), content };
        let of = |start, end| object.slice(start, end).concat();
        assert_eq!(
            [of(0, 8), of(2, 4), of(3, 7), of(8, 8)],
            ["abcdefgh", "cd", "defg", ""].map(Vec::from)
        );
        assert_eq!(object.len(), 8);
    }
}
