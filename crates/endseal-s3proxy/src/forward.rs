//! Requests to the backend: signing, sending, and translation of failures into client errors.

mod account;
mod account_refusal;
mod backend_upload;
mod verdict;

pub(crate) use backend_upload::{completed_by, started};
pub(crate) use verdict::{expect_etag, late_error, relay, with_document, without_body};

use core::future::poll_fn;
use core::pin::Pin;
use std::time::SystemTime;

use bytes::{Bytes, BytesMut};
use endseal_s3_protocol::S3Error;
use endseal_s3_protocol::Target;
use endseal_s3_protocol::sigv4::{PayloadHash, Signer};
use endseal_s3_protocol::xml::XmlError;
use http::header::{HOST, HeaderValue};
use http::{HeaderMap, HeaderName, Method, Request, Response};
use http_body::Body as _;

use self::verdict::Verdict;
use crate::context::Proxy;
use crate::credentials::BackendSigner;
use crate::headers;
use crate::names;
use crate::transfer::{Content, ContentSource};
use crate::upstream::{Body, ClientError, ResponseBody, broken};

const BUCKET_REGION: HeaderName = HeaderName::from_static("x-amz-bucket-region");

impl Proxy {
    /// Signs a request and sends it with the names that the backend knows. Returns a response that
    /// is a success of the operation. Redirects are errors and are not followed.
    ///
    /// # Errors
    /// If an encrypted name is too long, no credentials are available, or the backend does not
    /// respond. If the source of the body fails, its error. The error that the backend responds
    /// with, or `BadGateway` for a status that the operation does not define.
    pub(crate) async fn send(
        &self,
        signer: &BackendSigner,
        method: &Method,
        target: &Target,
        headers: HeaderMap,
        body: Body,
        hash: PayloadHash,
    ) -> Result<Response<ResponseBody>, S3Error> {
        self.send_by(Connections::First, signer, (method, target), headers, (body, hash)).await
    }

    /// Like [`send`](Self::send), over these connections.
    ///
    /// # Errors
    /// The same errors as [`send`](Self::send).
    pub(crate) async fn send_by(
        &self,
        connections: Connections,
        signer: &BackendSigner,
        (method, target): (&Method, &Target),
        headers: HeaderMap,
        (body, hash): (Body, PayloadHash),
    ) -> Result<Response<ResponseBody>, S3Error> {
        let verdict = Verdict::of(method, target, &headers);
        let stored = self.stored(target)?;
        let query = stored.query().encode();
        let path = stored.path();
        let path_and_query = if query.is_empty() { path } else { format!("{path}?{query}") };
        let mut headers = headers;
        let names = target.bucket().filter(|_| !target.is_stored());
        let names = names.and_then(|bucket| self.names(bucket));
        if let Some(names) = &names {
            names::seal_headers(names, &mut headers)?;
        }
        let current = signer.current().await?;
        let request = self.signed(&current, (method, path_and_query), headers, (body, hash))?;
        let client = match connections {
            Connections::First => &self.backend,
            Connections::Second => &self.beside,
        };
        let mut response = client.send(request).await.map_err(client_error)?;
        if let Some(names) = &names {
            names::open_headers(names, response.headers_mut());
        }
        let mut response = match verdict.on(response).await {
            Ok(response) => response,
            Err(error) => return Err(self.with_account(error, method, signer, &current).await),
        };
        // Some clients switch to another host if the response names another region.
        if response.headers().contains_key(BUCKET_REGION) {
            headers::insert(response.headers_mut(), BUCKET_REGION, &self.region)?;
        }
        Ok(response)
    }

    /// Sends a request without a body.
    ///
    /// # Errors
    /// The same errors as [`send`](Self::send).
    pub(crate) async fn ask(
        &self,
        signer: &BackendSigner,
        method: &Method,
        target: &Target,
        headers: HeaderMap,
    ) -> Result<Response<ResponseBody>, S3Error> {
        self.send(signer, method, target, headers, Body::empty(), PayloadHash::Unsigned).await
    }

    /// Sends a request without a body while the response to another one is held.
    ///
    /// # Errors
    /// The same errors as [`send`](Self::send).
    pub(crate) async fn ask_beside(
        &self,
        signer: &BackendSigner,
        method: &Method,
        target: &Target,
        headers: HeaderMap,
    ) -> Result<Response<ResponseBody>, S3Error> {
        let content = (Body::empty(), PayloadHash::Unsigned);
        self.send_by(Connections::Second, signer, (method, target), headers, content).await
    }

    /// Returns a signed request for a path at the backend.
    fn signed(
        &self,
        signer: &Signer,
        (method, path_and_query): (&Method, String),
        mut headers: HeaderMap,
        (body, hash): (Body, PayloadHash),
    ) -> Result<Request<Body>, S3Error> {
        let target = self.backend.target();
        let uri = target.request_target(path_and_query).map_err(|_| S3Error::invalid_uri())?;
        let host = HeaderValue::from_str(target.authority());
        headers.insert(HOST, host.map_err(|_| S3Error::internal())?);
        signer
            .sign(method.as_str(), uri.path(), uri.query(), &mut headers, hash, SystemTime::now())
            .map_err(|_| S3Error::internal())?;
        let mut request = Request::new(body);
        *request.method_mut() = method.clone();
        *request.uri_mut() = uri;
        *request.headers_mut() = headers;
        Ok(request)
    }
}

/// Connections over which a request is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Connections {
    /// The first ones of an operation, which are waited for while nothing is held.
    First,
    /// Those for requests that are made while the response to another one is held. Over them no
    /// response is held while another request is made.
    Second,
}

impl Connections {
    /// Returns the connections for an upload of this content, which may be a response itself.
    pub(crate) fn of(content: &Content) -> Self {
        match content.source() {
            ContentSource::Backend(_) | ContentSource::Opened(_) | ContentSource::Converted(_) => {
                Self::Second
            }
            ContentSource::RequestBody(_) | ContentSource::Form(_) => Self::First,
        }
    }
}

fn client_error(error: ClientError) -> S3Error {
    let kind = error.kind();
    match error {
        ClientError::Source(source) => match source.downcast::<S3Error>() {
            Ok(error) => *error,
            Err(_) => S3Error::incomplete_body(),
        },
        ClientError::SourceStalled => S3Error::request_timeout(),
        ClientError::Busy => {
            S3Error::slow_down().with_retry_after(1).because(kind, error.to_string())
        }
        ClientError::InvalidRequest => S3Error::internal().because(kind, error.to_string()),
        error => S3Error::unavailable().with_retry_after(1).because(kind, error.to_string()),
    }
}

/// Reads a body that is known to be small.
///
/// # Errors
/// `BadGateway` if the body is longer than `limit`, or the error of a body that breaks off.
pub(crate) async fn read(mut body: ResponseBody, limit: usize) -> Result<Bytes, S3Error> {
    // Usually the body is one chunk, which is not copied.
    let mut first = Bytes::new();
    let mut all = BytesMut::new();
    while let Some(frame) = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
        let frame = frame.map_err(|error| broken(&error))?;
        let Ok(data) = frame.into_data() else { continue };
        if first.len().max(all.len()) + data.len() > limit {
            return Err(S3Error::unreadable(&XmlError::TooLong));
        }
        if first.is_empty() && all.is_empty() {
            first = data;
            continue;
        }
        if all.is_empty() {
            all.extend_from_slice(&core::mem::take(&mut first));
        }
        all.extend_from_slice(&data);
    }
    Ok(if all.is_empty() { first } else { all.freeze() })
}
