//! The path of a request: verify its signature, find its operation, call the handler.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::SystemTime;

use endseal_s3_protocol::aws_chunked::{Decoder, Limits};
use endseal_s3_protocol::checksum::Digests;
use endseal_s3_protocol::content::Content;
use endseal_s3_protocol::headers::text;
use endseal_s3_protocol::sigv4::{Access, SecretKey, SignedRequest, Verifier};
use endseal_s3_protocol::{S3Error, Target};
use http::header::CONTENT_LENGTH;
use http::{HeaderMap, Method, Request, Response};
use hyper::body::Incoming;

use crate::fault::not_here;
use crate::reading::Reply;
use crate::request::Asked;
use crate::response::refusal;
use crate::store::Store;
use crate::upload::Upload;
use crate::{bucket, copy, delete, demands, list, multipart, object};

/// The state that all requests share.
pub(crate) struct Shared {
    pub(crate) store: Arc<Store>,
    pub(crate) verifier: Verifier<HashMap<String, Arc<SecretKey>>>,
    /// Most entries on a page of a list.
    pub(crate) page_size: usize,
}

/// Answers a request. Every error becomes an answer, too.
pub(crate) async fn answer(shared: &Shared, request: Request<Incoming>) -> Response<Reply> {
    let is_head = request.method() == Method::HEAD;
    let resource = request.uri().path().to_owned();
    match serve(shared, request).await {
        Ok(response) => response,
        Err(error) => refusal(&error, &resource, is_head),
    }
}

async fn serve(shared: &Shared, request: Request<Incoming>) -> Result<Response<Reply>, S3Error> {
    let (head, body) = request.into_parts();
    let signed = SignedRequest {
        method: head.method.as_str(),
        path: head.uri.path(),
        query: head.uri.query(),
        headers: &head.headers,
    };
    let payload = match shared.verifier.verify(signed, SystemTime::now())? {
        Access::Signed(verified) => verified.payload,
        Access::Anonymous { .. } => return Err(S3Error::access_denied()),
    };
    let digests = match head.method == Method::POST && head.uri.query().is_some() {
        // Checksums of a request that completes an upload are those of the object.
        true => Digests::of_request(&HeaderMap::new(), payload.sha256())?,
        false => Digests::of_request(&head.headers, payload.sha256())?,
    };
    let body = Upload::new(body);
    let content = match Decoder::of_request(&payload, &head.headers, Limits::default())? {
        Some(decoder) => {
            let len = number(&head.headers, "x-amz-decoded-content-length")?;
            Content::chunked(body, decoder, len.ok_or_else(S3Error::missing_length)?, digests)
        }
        None => {
            let len = number(&head.headers, CONTENT_LENGTH.as_str())?;
            if len.is_none() && head.headers.contains_key("transfer-encoding") {
                return Err(S3Error::missing_length());
            }
            Content::plain(body, len.unwrap_or(0), digests)
        }
    };
    let asked = Asked {
        store: Arc::clone(&shared.store),
        method: head.method,
        target: Target::parse(&head.uri, None, &[])?,
        headers: head.headers,
        content,
        page_size: shared.page_size,
    };
    dispatch(asked).await
}

fn number(headers: &HeaderMap, name: &str) -> Result<Option<u64>, S3Error> {
    let parse = |text: &str| text.parse().map_err(|_| S3Error::missing_length());
    text(headers, name).map(parse).transpose()
}

/// Parameters that are no subresource, or say only which operation it is.
fn is_plain(name: &str) -> bool {
    name == "x-id"
        || name.starts_with("response-")
        || matches!(
            name,
            "list-type"
                | "prefix"
                | "delimiter"
                | "marker"
                | "max-keys"
                | "encoding-type"
                | "continuation-token"
                | "start-after"
                | "fetch-owner"
                | "partNumber"
                | "versionId"
        )
}

async fn dispatch(asked: Asked) -> Result<Response<Reply>, S3Error> {
    let query = asked.target.query();
    let is_plain = query.names().all(is_plain);
    let copies = asked.headers.contains_key("x-amz-copy-source");
    // There are no versions; the only one of an object is called `null`, as in S3.
    if query.get("versionId").is_some_and(|version| version != "null") {
        return Err(S3Error::invalid_argument("Invalid version id specified"));
    }
    let method = asked.method.clone();
    if matches!(method, Method::PUT | Method::POST) {
        demands::check(&asked.headers)?;
    }
    match (asked.target.bucket().is_some(), asked.target.key().is_some()) {
        (false, _) if method == Method::GET => bucket::list(&asked).await,
        (false, _) => Err(S3Error::method_not_allowed()),
        (true, false) => match method {
            Method::PUT if is_plain => bucket::create(asked).await,
            Method::HEAD if is_plain => bucket::head(&asked).await,
            Method::DELETE if is_plain => bucket::delete(&asked).await,
            Method::GET if query.has("location") => bucket::location(&asked).await,
            Method::GET if query.has("versioning") => bucket::versioning(&asked).await,
            Method::GET if query.has("uploads") => list::uploads(&asked).await,
            Method::GET if is_plain => list::objects(&asked).await,
            Method::POST if query.has("delete") => delete::objects(asked).await,
            _ => Err(not_here()),
        },
        (true, true) => match method {
            Method::GET | Method::HEAD if is_plain => object::get(&asked).await,
            Method::GET if query.has("uploadId") => list::parts(&asked).await,
            Method::GET if query.has("tagging") => object::tags(&asked).await,
            Method::PUT if query.has("uploadId") && copies => copy::part(&asked).await,
            Method::PUT if query.has("uploadId") => multipart::part(asked).await,
            Method::PUT if is_plain && copies => copy::object(&asked).await,
            Method::PUT if is_plain => object::put(asked).await,
            Method::POST if query.has("uploads") => multipart::create(&asked).await,
            Method::POST if query.has("uploadId") => multipart::complete(asked).await,
            Method::DELETE if query.has("uploadId") => multipart::abort(&asked).await,
            Method::DELETE if is_plain => delete::object(&asked).await,
            _ => Err(not_here()),
        },
    }
}
