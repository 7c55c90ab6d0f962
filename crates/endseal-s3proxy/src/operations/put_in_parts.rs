//! Upload of one sealed object in parts, several at the same time
//! (docs/design/s3-parallel-parts.md). The parts are cut out of the sealed bytes anywhere, so the
//! object is one that was sealed whole.

use core::future::poll_fn;
use core::pin::Pin;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use core::task::{Context, Poll};
use core::time::Duration;

use bytes::Bytes;
use endseal_s3_format::entity_tag;
use endseal_s3_protocol::checksum::Outcome;
use endseal_s3_protocol::sigv4::PayloadHash;
use endseal_s3_protocol::xml::{self, CompletedPart};
use endseal_s3_protocol::{Query, S3Error, Target};
use http::header::{
    CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, ETAG, IF_MATCH, IF_NONE_MATCH, ORIGIN,
    USER_AGENT,
};
use http::{HeaderMap, HeaderName, Method, Response, StatusCode};
use tokio::time::sleep;

use super::conditions;
use crate::content_checksum::describe_content;
use crate::context::Proxy;
use crate::forward::{Connections, completed_by, started, without_body};
use crate::headers::{self, CHECKSUM_ALGORITHM, is_of_origins};
use crate::parallel_parts::PartPlan;
use crate::sealed_object::ObjectRef;
use crate::transfer::{Outgoing, Report, Sealed, SealedPart, SealedParts, TRAILER};
use crate::upstream::{Body, ResponseBody};

/// Pauses before a part is sent again after an error that may be temporary.
const PAUSES: [Duration; 3] =
    [Duration::from_millis(200), Duration::from_secs(1), Duration::from_secs(5)];

/// Pauses before the attempts to abort an upload.
const ABORT_PAUSES: [Duration; 3] =
    [Duration::ZERO, Duration::from_millis(300), Duration::from_secs(2)];

/// Uploads sealed bytes in parts, and responds like to an upload in one request. If that fails, the
/// upload at the backend is aborted.
pub(super) async fn put_in_parts(
    proxy: &Proxy,
    object_ref: &ObjectRef<'_>,
    headers: HeaderMap,
    (sealed, sealed_len, report): (Sealed, u64, Report),
    (plan, connections): (PartPlan, Connections),
) -> Result<Response<Outgoing>, S3Error> {
    let Headers { of_creation, conditions, of_all } = Headers::of(proxy, headers)?;
    let mut upload = Upload {
        proxy,
        object_ref,
        connections,
        headers: of_all,
        id: String::new(),
        has_failed: AtomicBool::new(false),
    };
    upload.check_conditions(&conditions).await?;
    upload.start(of_creation).await?;
    let timeout = proxy.limits().idle_timeout;
    let parts = SealedParts::new(sealed, sealed_len, plan.part_len, timeout);
    let outcome = upload.fill_and_complete(parts, &plan, &report, conditions).await;
    if outcome.is_err() {
        upload.abort().await;
    }
    outcome
}

/// Headers of an upload in one request, by the requests of an upload in parts that get them.
struct Headers {
    of_creation: HeaderMap,
    /// Conditions, which the backend checks when the object is created.
    conditions: HeaderMap,
    /// Headers that are sent with each request: they are about access, not about the object.
    of_all: HeaderMap,
}

impl Headers {
    fn of(proxy: &Proxy, headers: HeaderMap) -> Result<Self, S3Error> {
        let is_of_all = |name: &HeaderName| {
            let access = ["x-amz-expected-bucket-owner", "x-amz-request-payer"];
            *name == ORIGIN || *name == USER_AGENT || access.contains(&name.as_str())
        };
        let chosen = |wanted: &dyn Fn(&HeaderName) -> bool| {
            let mut chosen = headers.clone();
            headers::remove(&mut chosen, |name| !wanted(name));
            chosen
        };
        let mut of_creation = chosen(&|name| !conditions::is_condition(name));
        if proxy.has_trailers() {
            // This is the checksum of the sealed parts.
            headers::insert(&mut of_creation, CHECKSUM_ALGORITHM, TRAILER.name())?;
        }
        let conditions = chosen(&conditions::is_condition);
        Ok(Self { of_creation, conditions, of_all: chosen(&is_of_all) })
    }
}

/// Upload at the backend.
struct Upload<'a> {
    proxy: &'a Proxy,
    object_ref: &'a ObjectRef<'a>,
    connections: Connections,
    /// Headers of each request.
    headers: HeaderMap,
    /// Id of the upload. Empty until it is started.
    id: String,
    /// True once the upload has failed, so that no part is sent again.
    has_failed: AtomicBool,
}

/// Part that the backend has.
struct SentPart {
    part: CompletedPart,
    /// Headers of the response for pages of other origins. They are those of a `PUT`.
    for_origins: HeaderMap,
    /// Memory of the part.
    bytes: Bytes,
}

impl Upload<'_> {
    /// Checks the conditions before anything is uploaded. The backend checks them when it creates
    /// the object: this only saves an upload that would be refused in the end.
    ///
    /// # Errors
    /// `PreconditionFailed`, and `NoSuchKey` for `If-Match` without an object.
    async fn check_conditions(&self, conditions: &HeaderMap) -> Result<(), S3Error> {
        let mut headers = conditions.clone();
        headers::remove(&mut headers, |name| *name != IF_MATCH && *name != IF_NONE_MATCH);
        if headers.is_empty() {
            return Ok(());
        }
        let needs_object = headers.contains_key(IF_MATCH);
        headers.extend(self.headers.clone());
        let none = (Body::empty(), PayloadHash::Unsigned);
        let head = self.send(&Method::HEAD, self.object_ref.target(), headers, none).await;
        match head.err().map(|error| error.status()) {
            Some(StatusCode::PRECONDITION_FAILED | StatusCode::NOT_MODIFIED) => {
                Err(S3Error::precondition_failed())
            }
            Some(StatusCode::NOT_FOUND) if needs_object => Err(S3Error::no_such_key()),
            // The object does not exist, or the client may not read it.
            _ => Ok(()),
        }
    }

    async fn start(&mut self, headers: HeaderMap) -> Result<(), S3Error> {
        let target = self.target_of(Query::new().with("uploads", ""));
        let none = (Body::empty(), PayloadHash::Unsigned);
        let response = self.send(&Method::POST, target, headers, none).await?;
        (_, self.id) = started(response.into_body()).await?;
        Ok(())
    }

    fn target_of(&self, query: Query) -> Target {
        Target::of(self.object_ref.bucket, Some(self.object_ref.key), query)
    }

    fn target(&self, query: Query) -> Target {
        self.target_of(query.with("uploadId", &self.id))
    }

    async fn send(
        &self,
        method: &Method,
        target: Target,
        headers: HeaderMap,
        sent: (Body, PayloadHash),
    ) -> Result<Response<ResponseBody>, S3Error> {
        let (connections, signer) = (self.connections, self.object_ref.signer);
        self.proxy.send_by(connections, signer, (method, &target), headers, sent).await
    }

    async fn fill_and_complete(
        &self,
        parts: SealedParts,
        plan: &PartPlan,
        report: &Report,
        conditions: HeaderMap,
    ) -> Result<Response<Outgoing>, S3Error> {
        let (sent, for_origins) = self.send_all(parts, plan.at_once).await?;
        // The last part was complete, so the content has the digests that the client stated.
        let outcome = report.take().ok_or_else(S3Error::internal)??;
        let mut response = self.complete(&sent, conditions, &outcome).await?;
        let headers = response.headers_mut();
        headers::remove(headers, is_of_origins);
        headers.extend(for_origins);
        Ok(response)
    }

    /// Sends all parts, `at_once` of them at the same time. Returns them in their order, and the
    /// headers for pages of other origins.
    async fn send_all(
        &self,
        mut parts: SealedParts,
        at_once: usize,
    ) -> Result<(Vec<CompletedPart>, HeaderMap), S3Error> {
        let mut in_flight = InFlight(Vec::new());
        let (mut sent, mut for_origins) = (Vec::new(), HeaderMap::new());
        let mut number = 0;
        loop {
            let next = poll_fn(|cx| {
                while let Poll::Ready(ended) = in_flight.poll_ended(cx) {
                    let SentPart { part, for_origins: headers, bytes } = match ended {
                        Ok(ended) => ended,
                        Err(error) => return Poll::Ready(Err(error)),
                    };
                    parts.reclaim(bytes);
                    sent.push(part);
                    for_origins = headers;
                }
                match (parts.is_ended(), in_flight.0.is_empty()) {
                    (true, true) => Poll::Ready(Ok(None)),
                    // The part that is being filled takes memory, too.
                    (false, _) if in_flight.0.len() < at_once => parts.poll_part(cx).map_ok(Some),
                    _ => Poll::Pending,
                }
            });
            let part = match next.await {
                Ok(Some(part)) => part,
                Ok(None) => break,
                Err(error) => {
                    // A server may store a part whose connection breaks after it has aborted the
                    // upload. The parts are in memory, so their requests end by themselves.
                    self.has_failed.store(true, Relaxed);
                    in_flight.end().await;
                    return Err(error);
                }
            };
            number += 1;
            in_flight.0.push(Box::pin(self.send_part(number, part)));
        }
        sent.sort_unstable_by_key(|part| part.number);
        Ok((sent, for_origins))
    }

    /// Sends a part. It is in memory, so it can be sent again.
    async fn send_part(&self, number: u16, part: SealedPart) -> Result<SentPart, S3Error> {
        let mut pauses = PAUSES.iter();
        loop {
            match self.try_part(number, &part).await {
                Ok((completed, for_origins)) => {
                    return Ok(SentPart { part: completed, for_origins, bytes: part.bytes });
                }
                Err(error) => {
                    let is_last = self.has_failed.load(Relaxed) || !is_temporary(&error);
                    match pauses.next().filter(|_| !is_last) {
                        Some(pause) => sleep(*pause).await,
                        None => return Err(lost(error)),
                    }
                }
            }
        }
    }

    async fn try_part(
        &self,
        number: u16,
        part: &SealedPart,
    ) -> Result<(CompletedPart, HeaderMap), S3Error> {
        let mut headers = self.headers.clone();
        let checksum = self.proxy.has_trailers().then_some(part.checksum);
        if let Some(checksum) = &checksum {
            headers::insert(&mut headers, TRAILER.header(), &checksum.to_base64())?;
        }
        let target = self.target(Query::new().with("partNumber", &number.to_string()));
        let sent = (Body::full(part.bytes.clone()), PayloadHash::Unsigned);
        let response = self.send(&Method::PUT, target, headers, sent).await?;
        let etag = headers::text(response.headers(), ETAG).map(str::to_owned);
        let etag =
            etag.ok_or_else(|| S3Error::bad_gateway("the backend sent no tag for a part"))?;
        let mut for_origins = without_body(response).await.into_parts().0.headers;
        headers::remove(&mut for_origins, |name| !is_of_origins(name));
        Ok((CompletedPart { number, etag, checksum }, for_origins))
    }

    /// Makes the object out of the parts. The response describes the content.
    async fn complete(
        &self,
        parts: &[CompletedPart],
        conditions: HeaderMap,
        outcome: &Outcome,
    ) -> Result<Response<Outgoing>, S3Error> {
        let mut headers = self.headers.clone();
        headers.extend(conditions);
        let request = xml::write_complete(parts);
        let hash = PayloadHash::Sha256(endseal_crypto::sha256::digest(&request));
        let sent = (Body::full(request.into()), hash);
        let sent = self.send(&Method::POST, self.target(Query::new()), headers, sent).await;
        let (head, _, fields) = completed_by(sent).await.map_err(lost)?;
        let mut response = Response::from_parts(head, Outgoing::empty());
        let headers = response.headers_mut();
        headers::keep_returned(headers);
        for about_document in [CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE] {
            headers.remove(about_document);
        }
        let tag = fields.etag.as_deref().unwrap_or_default();
        headers::insert(headers, ETAG, &entity_tag::to_client(tag))?;
        describe_content(headers, outcome)?;
        Ok(response)
    }

    /// Aborts the upload, and looks if it is gone: some servers start an upload again for a part
    /// that they store meanwhile. If one remains, there is a warning, and `clean` removes it.
    async fn abort(&self) {
        let mut why = "it is still there".to_owned();
        for pause in ABORT_PAUSES {
            sleep(pause).await;
            match self.ask(&Method::DELETE, Query::new()).await {
                // It was completed although the response was lost, or aborted by another client.
                Err(error) if error.status() == StatusCode::NOT_FOUND => return,
                Err(error) => {
                    why = error.cause().unwrap_or(error.code()).to_owned();
                    continue;
                }
                Ok(()) => {}
            }
            match self.ask(&Method::GET, Query::new().with("max-parts", "1")).await {
                Err(error) if error.status() == StatusCode::NOT_FOUND => return,
                // The client may abort uploads, but not list their parts.
                Err(error) if error.status() == StatusCode::FORBIDDEN => return,
                Err(_) | Ok(()) => {}
            }
        }
        let (bucket, key) = (self.object_ref.bucket, self.object_ref.key);
        let cause = format!("the upload could not be aborted, `s3 clean` removes it: {why}");
        let (operation, kind) = ("PutObject", "upload_remains");
        tracing::warn!(target: "failure", operation, bucket, key, kind, cause);
    }

    /// Sends a request about the upload without a body, and discards the body of the response.
    async fn ask(&self, method: &Method, query: Query) -> Result<(), S3Error> {
        let none = (Body::empty(), PayloadHash::Unsigned);
        let response = self.send(method, self.target(query), self.headers.clone(), none).await?;
        drop(without_body(response).await);
        Ok(())
    }
}

/// Parts that are on their way.
struct InFlight<'a>(Vec<PartFuture<'a>>);

type PartFuture<'a> = Pin<Box<dyn Future<Output = Result<SentPart, S3Error>> + Send + 'a>>;

impl InFlight<'_> {
    /// Drives all parts. Is ready when one of them has arrived or failed.
    fn poll_ended(&mut self, cx: &mut Context<'_>) -> Poll<Result<SentPart, S3Error>> {
        for at in 0..self.0.len() {
            if let Poll::Ready(ended) = self.0[at].as_mut().poll(cx) {
                drop(self.0.swap_remove(at));
                return Poll::Ready(ended);
            }
        }
        Poll::Pending
    }

    /// Waits until no part is on its way.
    async fn end(&mut self) {
        while !self.0.is_empty() {
            let _ = poll_fn(|cx| self.poll_ended(cx)).await;
        }
    }
}

/// Returns true for an error after which the same part may be accepted.
fn is_temporary(error: &S3Error) -> bool {
    matches!(error.status().as_u16(), 500 | 503 | 504)
}

/// Converts an error about the upload or its parts, which the client does not know.
fn lost(error: S3Error) -> S3Error {
    let own = [S3Error::no_such_upload(), S3Error::invalid_part(), S3Error::too_small()];
    if own.iter().any(|own| own.code() == error.code()) {
        let cause = format!("the backend lost the upload or parts of it: {}", error.code());
        return S3Error::unavailable().with_retry_after(1).because("upload_lost", cause);
    }
    error
}
