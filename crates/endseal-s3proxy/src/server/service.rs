//! Processing of a request: parsing, authentication, execution, and the response.

use core::net::SocketAddr;
use core::sync::atomic::Ordering::Relaxed;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use endseal_s3_protocol::sigv4::{Access, SignedRequest};
use endseal_s3_protocol::{Operation, S3Error, Target};
use http::header::{ALLOW, CONNECTION, EXPECT, HOST, USER_AGENT};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, Uri};
use http_body::Body as _;
use hyper::body::Incoming;

use super::client_address::ClientAddress;
use super::error_details::RequestFacts;
use super::error_response;
use super::request_id::RequestId;
use crate::access::Client;
use crate::context::{AccessLog, Proxy, RequestContext};
use crate::headers::{self, COPY_SOURCE};
use crate::names::parse_target;
use crate::observability::failure;
use crate::operations;
use crate::transfer::{Leftover, Outgoing, RequestBody};

/// Kind of the error for a header of a balancer that is malformed.
pub(super) const FORWARDED: &str = "forwarded";

pub(super) const REQUEST_ID: HeaderName = HeaderName::from_static("x-amz-request-id");

/// Methods that S3 has.
const METHODS: [Method; 6] =
    [Method::GET, Method::HEAD, Method::PUT, Method::POST, Method::DELETE, Method::OPTIONS];

/// Returns the header that names [`METHODS`].
fn allow() -> HeaderMap {
    let methods = HeaderValue::from_static("GET, HEAD, PUT, POST, DELETE, OPTIONS");
    HeaderMap::from_iter([(ALLOW, methods)])
}

impl Proxy {
    /// Answers a request. Errors become responses, too.
    pub async fn answer(&self, request: Request<Incoming>, peer: SocketAddr) -> Response<Outgoing> {
        let id = self.request_id();
        self.answer_as(request, peer.into(), Ok(()), id).await
    }

    /// Answers a request that has this id. It is refused with the error of its `admission`.
    pub(super) async fn answer_as(
        &self,
        request: Request<Incoming>,
        client: ClientAddress,
        admission: Result<(), S3Error>,
        id: RequestId,
    ) -> Response<Outgoing> {
        let start = Instant::now();
        let mut seen = AccessLog::default();
        let (head, body) = request.into_parts();
        // The body is wrapped first, so that it is read to its end even if the request is refused.
        let body = self.body(&head, body, &seen.leftover);
        if let Some(mut response) = self.health(&head).await {
            drop(body);
            seen.leftover.end(&mut response).await;
            return response;
        }
        let in_flight = self.metrics.started();
        let method = head.method.clone();
        let facts = RequestFacts::of(&head);
        // A balancer that sends no address would go on to do so.
        let is_malformed = admission.as_ref().is_err_and(|error| error.kind() == Some(FORWARDED));
        let result = match admission {
            Ok(()) => self.serve(head, body, &mut seen).await,
            Err(error) => Err(error),
        };
        let (mut response, error) = match result {
            Ok(response) => (self.with_clients_names(&seen, response).await, None),
            Err(error) => {
                let error = self.error_with_clients_names(&seen, error);
                (error_response::of(&error, &facts, &seen, id.as_str()), Some(error))
            }
        };
        seen.leftover.end(&mut response).await;
        if response.status() == StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE || is_malformed {
            // The client would send the same again, on a connection whose buffer has grown.
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        let id = id.as_str();
        if let Ok(value) = HeaderValue::from_str(id) {
            response.headers_mut().insert(REQUEST_ID, value);
        }
        let elapsed = start.elapsed();
        drop(in_flight);
        self.metrics.answered(seen.operation, response.status(), elapsed);
        let operation = seen.operation.name();
        let bucket = seen.target.as_ref().and_then(Target::bucket);
        let key = seen.target.as_ref().and_then(Target::key);
        if let Some(error) = &error {
            failure::warn(error, id, operation, bucket, key);
        }
        // Signatures, queries (presigned ones are credentials) and metadata are not logged.
        tracing::info!(
            target: "access",
            request = id,
            peer = %client,
            via = client.via.map(tracing::field::display),
            access_key = seen.client.as_deref().map(Client::access_key),
            operation,
            // The method may be a token of any length.
            method = method.as_str().get(..16).unwrap_or(method.as_str()),
            bucket,
            key,
            status = response.status().as_u16(),
            error = error.as_ref().map(S3Error::code),
            ms = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX),
        );
        response
    }

    async fn serve(
        &self,
        head: Parts,
        body: Box<RequestBody>,
        seen: &mut AccessLog,
    ) -> Result<Response<Outgoing>, S3Error> {
        if head_len(&head.uri, &head.headers) > self.limits.header_bytes {
            return Err(S3Error::head_too_large());
        }
        if head.headers.get_all(HOST).iter().nth(1).is_some() {
            return Err(S3Error::invalid_request("There is more than one Host header."));
        }
        let host = host(&head.uri, &head.headers);
        let target = parse_target(&head.uri, host, &self.domains)?;
        seen.target = Some(target.without_query());
        let operation = Operation::of(&head.method, &target, &head.headers);
        seen.operation = operation;
        seen.copy_source = head.headers.get(COPY_SOURCE).cloned();
        if !METHODS.contains(&head.method) {
            return Err(S3Error::method_not_allowed().with_headers(allow()));
        }
        let signed = SignedRequest {
            method: head.method.as_str(),
            path: head.uri.path(),
            query: head.uri.query(),
            headers: &head.headers,
        };
        if operations::is_preflight(&head) {
            return operations::preflight(self, &head.headers, &target).await;
        }
        if operation == Operation::PostObject {
            return operations::post_object(self, head, body, &target, seen).await;
        }
        let access = self.verifier.verify(signed, SystemTime::now());
        let verified = match access {
            Ok(Access::Signed(verified)) => verified,
            Ok(_) => return Err(self.refused(S3Error::access_denied())),
            Err(error) => return Err(self.refused(error.into())),
        };
        let (client, signer) =
            self.clients.find(&verified.access_key).ok_or_else(S3Error::access_denied)?;
        seen.client = Some(Arc::clone(client));
        client.check(operation, &head.method, &target).map_err(|error| self.refused(error))?;
        let headers = head.headers.keys().map(HeaderName::as_str);
        headers::check_no_customer_key(headers.chain(target.query().names()))?;
        let mut target = target;
        if verified.presigned {
            target = target.without_signature();
        }
        let call = RequestContext {
            method: head.method,
            target,
            headers: head.headers,
            payload: verified.payload,
            operation,
            signer: signer.unwrap_or(&self.signer).clone(),
            body: Some(body),
            client: Arc::clone(client),
        };
        operations::handle(self, call).await
    }

    fn body(&self, head: &Parts, body: Incoming, leftover: &Leftover) -> Box<RequestBody> {
        let expects_continue = headers::text(&head.headers, EXPECT)
            .is_some_and(|expect| expect.eq_ignore_ascii_case("100-continue"));
        if expects_continue && body.is_end_stream() && is_botocore(&head.headers) {
            leftover.end_connection();
        }
        RequestBody::new(body, expects_continue, leftover.clone(), self.limits.min_rate)
    }

    pub(super) fn request_id(&self) -> RequestId {
        let (start, count) = &self.request_ids;
        RequestId::new(*start, count.fetch_add(1, Relaxed))
    }
}

/// Returns the approximate size of a request's head in bytes.
fn head_len(uri: &Uri, headers: &HeaderMap) -> usize {
    let target = uri.path().len() + uri.query().map_or(0, str::len);
    headers.iter().fold(target, |sum, (name, value)| sum + name.as_str().len() + value.len() + 4)
}

/// Returns true for clients based on botocore. If a response arrives without "100 Continue",
/// botocore does not read the status line of the next response on the same connection.
fn is_botocore(headers: &HeaderMap) -> bool {
    let agent = headers::text(headers, USER_AGENT).unwrap_or_default().to_ascii_lowercase();
    agent.contains("botocore") || agent.contains("aws-cli")
}

/// Returns the host that a request names.
fn host<'a>(uri: &'a Uri, headers: &'a HeaderMap) -> Option<&'a str> {
    uri.authority().map(http::uri::Authority::as_str).or_else(|| headers.get(HOST)?.to_str().ok())
}
