//! A backend that costs little: it drops the bodies of one bucket and keeps those of all others,
//! and returns what it has kept, whole or in ranges.
//!
//! It implements as much of S3 as proxies need to store and fetch objects, in one piece or in
//! parts, and verifies no signature. `GET /-/counters` returns the number of requests and bytes so
//! far.

use core::convert::Infallible;
use core::pin::Pin;
use core::sync::atomic::{AtomicU64, Ordering};
use core::task::{Context, Poll};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use endseal_s3_protocol::aws_chunked::{Decoder, Form, Limits};
use http::header::{CONTENT_LENGTH, CONTENT_RANGE, ETAG, RANGE};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use tokio::net::TcpListener;

use self::blob::Blob;
use super::http::{collect, element, next, parameter, status};
use super::{DROP, Failure, KEEP, listen};

mod blob;

/// Bytes of a kept object that are sent at once.
const PIECE: usize = 512 * 1024;
/// Bytes of the longest list of parts.
const MOST_XML: usize = 4 << 20;
/// Time of each object and bucket in lists.
const MADE: &str = "<LastModified>2025-01-01T00:00:00.000Z</LastModified>";
/// Path that returns the counters.
pub(crate) const COUNTERS: &str = "/-/counters";

/// Serves requests until its process ends.
pub(crate) async fn serve(listener: TcpListener) -> Result<Infallible, Failure> {
    let sink = Arc::new(Sink::default());
    listen::serve(listener, move |request| {
        let sink = Arc::clone(&sink);
        async move { sink.answer(request).await.unwrap_or_else(|error| refusal(&*error)) }
    })
    .await
}

fn refusal(error: &dyn core::error::Error) -> Response<Given> {
    let text = Bytes::from(format!("<Error><Code>InternalError</Code>{error}</Error>"));
    let mut response = Response::new(Given::Text(Some(text)));
    *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
    response
}

#[derive(Debug, Default)]
struct Sink {
    objects: Mutex<HashMap<String, Arc<Object>>>,
    uploads: Mutex<HashMap<String, Upload>>,
    next: AtomicU64,
    counters: Arc<Counters>,
}

#[derive(Debug, Default)]
struct Counters {
    requests: AtomicU64,
    bytes_in: AtomicU64,
    bytes_out: AtomicU64,
}

/// An object that the sink keeps, with its headers.
#[derive(Debug)]
struct Object {
    /// Headers that were stored with the object and are returned with it.
    headers: HeaderMap,
    blob: Blob,
}

/// A multipart upload in progress.
#[derive(Debug, Default)]
struct Upload {
    headers: HeaderMap,
    parts: BTreeMap<u32, Blob>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Sink {
    async fn answer(&self, request: Request<Incoming>) -> Result<Response<Given>, Failure> {
        let (head, body) = request.into_parts();
        let path = head.uri.path().to_owned();
        if path == COUNTERS {
            return Ok(self.counters());
        }
        self.counters.requests.fetch_add(1, Ordering::Relaxed);
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
                let blob = self.receive(&path, &head.headers, body).await?;
                Ok(self.keep(&path, kept_headers(&head.headers), blob))
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
    fn list(&self, path: &str, query: Option<&str>) -> Response<Given> {
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
                let size = object.blob.len();
                let tag = object.headers.get(ETAG).and_then(|tag| tag.to_str().ok());
                let tag = tag.unwrap_or_default().replace('"', "&quot;");
                text += &format!(
                    "<Contents><Key>{key}</Key>{MADE}<ETag>{tag}</ETag><Size>{size}</Size></Contents>"
                );
            }
            text += "</ListBucketResult>";
        }
        Response::new(Given::Text(Some(text.into())))
    }

    fn counters(&self) -> Response<Given> {
        let Counters { requests, bytes_in, bytes_out } = &*self.counters;
        let [requests, bytes_in, bytes_out] =
            [requests, bytes_in, bytes_out].map(|it| it.load(Ordering::Relaxed));
        let text = format!("requests {requests}\nbytes_in {bytes_in}\nbytes_out {bytes_out}\n");
        Response::new(Given::Text(Some(text.into())))
    }

    /// Reads a body to its end. Returns an empty blob if the body is dropped.
    async fn receive(
        &self,
        path: &str,
        headers: &HeaderMap,
        mut body: Incoming,
    ) -> Result<Blob, Failure> {
        let drops = path.trim_start_matches('/').split('/').next() == Some(DROP);
        let mut blob = Blob::default();
        let mut decoder = chunks(headers)?;
        let mut content = VecDeque::new();
        while let Some(piece) = next(&mut body).await {
            let piece = piece?;
            self.counters.bytes_in.fetch_add(piece.len() as u64, Ordering::Relaxed);
            if drops {
                continue;
            }
            match &mut decoder {
                Some(decoder) => decoder.push(piece, &mut content)?,
                None => content.push_back(piece),
            }
            for piece in content.drain(..) {
                blob.write(&piece);
            }
        }
        if let Some(decoder) = decoder.filter(|_| !drops) {
            decoder.finish()?;
        }
        blob.finish();
        Ok(blob)
    }

    fn entity_tag(&self) -> Result<HeaderValue, Failure> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        // The dash marks an ETag that is not a digest.
        Ok(HeaderValue::from_str(&format!("\"{number:032x}-1\""))?)
    }

    fn keep(&self, path: &str, headers: HeaderMap, blob: Blob) -> Response<Given> {
        let mut headers = headers;
        if let Ok(tag) = self.entity_tag() {
            headers.insert(ETAG, tag);
        }
        let mut response = status(StatusCode::OK);
        response.headers_mut().extend(headers.get(ETAG).map(|tag| (ETAG, tag.clone())));
        lock(&self.objects).insert(path.to_owned(), Arc::new(Object { headers, blob }));
        response
    }

    fn begin(&self, headers: &HeaderMap) -> Response<Given> {
        let id = format!("upload{}", self.next.fetch_add(1, Ordering::Relaxed));
        let text = format!(
            "<InitiateMultipartUploadResult><UploadId>{id}</UploadId></InitiateMultipartUploadResult>"
        );
        let upload = Upload { headers: kept_headers(headers), ..Upload::default() };
        lock(&self.uploads).insert(id, upload);
        Response::new(Given::Text(Some(text.into())))
    }

    async fn part(
        &self,
        path: &str,
        headers: &HeaderMap,
        upload: &str,
        number: u32,
        body: Incoming,
    ) -> Result<Response<Given>, Failure> {
        let blob = self.receive(path, headers, body).await?;
        let mut response = status(StatusCode::OK);
        response.headers_mut().insert(ETAG, self.entity_tag()?);
        let mut uploads = lock(&self.uploads);
        uploads.get_mut(upload).ok_or("there is no such upload")?.parts.insert(number, blob);
        Ok(response)
    }

    fn complete(&self, path: &str, id: &str, order: &str) -> Result<Response<Given>, Failure> {
        let mut upload = lock(&self.uploads).remove(id).ok_or("there is no such upload")?;
        let mut parts = Vec::new();
        for part in order.split("<Part>").skip(1) {
            let number = element(part, "PartNumber").ok_or("which part?")?.parse()?;
            parts.push(upload.parts.remove(&number).ok_or("a part is missing")?);
        }
        self.keep(path, upload.headers, Blob::join(parts));
        let text =
            "<CompleteMultipartUploadResult><ETag>\"0-1\"</ETag></CompleteMultipartUploadResult>";
        Ok(Response::new(Given::Text(Some(text.into()))))
    }

    fn give(
        &self,
        path: &str,
        headers: &HeaderMap,
        with_body: bool,
    ) -> Result<Response<Given>, Failure> {
        let Some(object) = lock(&self.objects).get(path).cloned() else {
            let mut response = refusal(&*Failure::from("no such key"));
            *response.status_mut() = StatusCode::NOT_FOUND;
            return Ok(response);
        };
        let len = object.blob.len();
        let asked = headers.get(RANGE).and_then(|range| range.to_str().ok());
        let range = asked.and_then(|range| span(range, len));
        if asked.is_some() && range.is_none() {
            return Ok(status(StatusCode::RANGE_NOT_SATISFIABLE));
        }
        let (start, end) = range.unwrap_or((0, len));
        let mut response = Response::new(Given::Text(None));
        *response.headers_mut() = object.headers.clone();
        if range.is_some() {
            *response.status_mut() = StatusCode::PARTIAL_CONTENT;
            let text = format!("bytes {start}-{}/{len}", end.saturating_sub(1));
            response.headers_mut().insert(CONTENT_RANGE, HeaderValue::from_str(&text)?);
        }
        response.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(end - start));
        if with_body {
            let counters = Arc::clone(&self.counters);
            *response.body_mut() = Given::Object { object, at: start, end, counters };
        }
        Ok(response)
    }
}

/// Returns the decoder for a body in chunks, or `None` if the body is not in chunks.
fn chunks(headers: &HeaderMap) -> Result<Option<Decoder>, Failure> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let framed = text("x-amz-content-sha256") == Some("STREAMING-UNSIGNED-PAYLOAD-TRAILER");
    if !framed {
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

/// Body of an answer.
#[derive(Debug)]
enum Given {
    Text(Option<Bytes>),
    Object { object: Arc<Object>, at: u64, end: u64, counters: Arc<Counters> },
}

impl Default for Given {
    fn default() -> Self {
        Self::Text(None)
    }
}

impl Body for Given {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(match &mut *self {
            Self::Text(text) => text.take().map(|text| Ok(Frame::data(text))),
            Self::Object { at, end, .. } if at == end => None,
            Self::Object { object, at, end, counters } => {
                let most = usize::try_from(*end - *at).map_or(PIECE, |left| left.min(PIECE));
                let piece = object.blob.read(*at, most);
                *at += piece.len() as u64;
                counters.bytes_out.fetch_add(piece.len() as u64, Ordering::Relaxed);
                Some(Ok(Frame::data(piece)))
            }
        })
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Text(text) => text.is_none(),
            Self::Object { at, end, .. } => at == end,
        }
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(match self {
            Self::Text(text) => text.as_ref().map_or(0, |text| text.len() as u64),
            Self::Object { at, end, .. } => end - at,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::span;

    #[test]
    fn ranges_are_those_of_http() {
        assert_eq!(span("bytes=0-0", 10), Some((0, 1)));
        assert_eq!(span("bytes=4-99", 10), Some((4, 10)));
        assert_eq!(span("bytes=4-", 10), Some((4, 10)));
        assert_eq!(span("bytes=-3", 10), Some((7, 10)));
        for none in [
            "bytes=10-",
            "bytes=5-4",
            "bytes=-0",
            "lines=1-2",
            "bytes=x-1",
            "bytes=1-18446744073709551615",
        ] {
            assert_eq!(span(none, 10), None, "{none}");
        }
    }
}
