//! `PutObject`: content is sealed while it is transferred.

use core::sync::atomic::Ordering::Relaxed;

use bytes::Bytes;
use endseal_crypto::random::OsRandom;
use endseal_crypto::segment::CHUNK_LEN;
use endseal_s3_format::user_metadata::{self, CONTENT_HEADERS, MetadataError, UserMetadata};
use endseal_s3_format::{self as object, ContentKey, Header, WholeSealer, marker, size};
use endseal_s3_protocol::S3Error;
use endseal_s3_protocol::checksum::{Digests, Outcome};
use endseal_s3_protocol::sigv4::PayloadHash;
use http::{HeaderMap, Method, Response};

use super::put_in_parts::put_in_parts;
use super::{conditions, content, pass_through};
use crate::bucket::Plaintext;
use crate::content_checksum::{describe_content, kept};
use crate::context::{Proxy, RequestContext};
use crate::forward::{Connections, without_body};
use crate::headers::{self, USER_METADATA};
use crate::parallel_parts::PartPlan;
use crate::sealed_object::ObjectRef;
use crate::transfer::{
    Content, Framed, Outgoing, Plain, Report, Sealed, Sealer, TRAILER, checksum_of, whole,
};
use crate::upstream::{Body, ResponseBody};

/// Maximum size of the content of one request in bytes, so that the sealed object has at most 5
/// GiB.
pub(crate) const MAX_PUT: u64 = {
    let limit = 5 << 30;
    let tags = limit / 1024 + limit / (64 * 1024) + 4096;
    limit - tags
};

/// Seals and stores an object.
pub(super) async fn put_object(
    proxy: &Proxy,
    call: RequestContext,
) -> Result<Response<Outgoing>, S3Error> {
    let object_ref = ObjectRef::of(&call.signer, &call.target)?;
    let is_plain = proxy.rule(object_ref.bucket).plaintext == Plaintext::Allow;
    if is_plain && Digests::is_unknown(&call.headers) {
        // The backend may support the algorithm, and compares the checksum with the bytes that it
        // stores.
        headers::check_user_metadata(&call.headers)?;
        let response = pass_through::send_on(proxy, call).await?;
        let mut response = without_body(response).await;
        conditions::to_client(response.headers_mut());
        return Ok(response);
    }
    let digests = content::digests(&call.headers, &call.payload)?;
    let body = call.body.ok_or_else(S3Error::internal)?;
    let content = content::of(&call.headers, &call.payload, body, digests)?;
    let mut headers = headers::about_sealed(&call.headers);
    conditions::to_backend(&mut headers);
    store(proxy, &object_ref, headers, content).await
}

/// Stores content sealed or as plaintext, depending on the rule of the bucket.
pub(super) async fn store(
    proxy: &Proxy,
    object_ref: &ObjectRef<'_>,
    headers: HeaderMap,
    content: Content,
) -> Result<Response<Outgoing>, S3Error> {
    if proxy.rule(object_ref.bucket).plaintext == Plaintext::Allow {
        headers::check_user_metadata(&headers)?;
        let (len, connections) = (content.len(), Connections::of(&content));
        let sent = (Body::stream(len, Plain::new(content)), PayloadHash::Unsigned);
        let (signer, target) = (object_ref.signer, object_ref.target());
        let request = (&Method::PUT, &target);
        let response = proxy.send_by(connections, signer, request, headers, sent).await?;
        let mut response = without_body(response).await;
        conditions::to_client(response.headers_mut());
        return Ok(response);
    }
    seal(proxy, object_ref, headers, content).await
}

/// Seals content as an object with these headers. Large content is sent in parts, if the backend is
/// configured so.
pub(super) async fn seal(
    proxy: &Proxy,
    object_ref: &ObjectRef<'_>,
    headers: HeaderMap,
    content: Content,
) -> Result<Response<Outgoing>, S3Error> {
    let plan = proxy.parallel_parts.plan(content.len(), MAX_PUT, &proxy.metrics)?;
    seal_as_planned(proxy, object_ref, headers, content, plan).await
}

/// Seals content as an object with these headers, and sends it in one request.
pub(crate) async fn seal_in_one_request(
    proxy: &Proxy,
    object_ref: &ObjectRef<'_>,
    headers: HeaderMap,
    content: Content,
) -> Result<Response<Outgoing>, S3Error> {
    seal_as_planned(proxy, object_ref, headers, content, None).await
}

async fn seal_as_planned(
    proxy: &Proxy,
    object_ref: &ObjectRef<'_>,
    mut headers: HeaderMap,
    content: Content,
    plan: Option<PartPlan>,
) -> Result<Response<Outgoing>, S3Error> {
    let len = content.len();
    let connections = Connections::of(&content);
    if len > MAX_PUT && plan.is_none() {
        return Err(S3Error::too_large());
    }
    let mut keys = proxy.new_key(object_ref.place()?).await?;
    let (header, sealer) = Header::whole(
        &keys.key,
        len,
        &keys.bound,
        (keys.wrapped.key_id.as_str(), &keys.wrapped.bytes),
        &mut keys.random,
    )
    .map_err(|_| S3Error::internal())?;
    set_metadata(&mut headers, &header, &keys.key)?;
    let target = object_ref.target();
    let (signer, method) = (object_ref.signer, &Method::PUT);
    if marker::is_marker(object_ref.key, len) {
        let (_, outcome) = whole(content, proxy.limits().idle_timeout).await?;
        let (body, hash) = (Body::empty(), PayloadHash::Unsigned);
        let sent = (body, hash);
        let response = proxy.send_by(connections, signer, (method, &target), headers, sent).await;
        return finish(response, Some(Ok(outcome))).await;
    }
    let sealed_len = size::sealed_len(len).ok_or_else(S3Error::too_large)?;
    if len <= CHUNK_LEN as u64 {
        let (sealed, outcome) = seal_short(proxy, content, sealer, sealed_len).await?;
        if proxy.has_trailers() {
            headers::insert(&mut headers, TRAILER.header(), &checksum_of(&sealed).to_base64())?;
        }
        let (body, hash) = (Body::full(sealed), PayloadHash::Unsigned);
        let sent = (body, hash);
        let response = proxy.send_by(connections, signer, (method, &target), headers, sent).await;
        return finish(response, Some(Ok(outcome))).await;
    }
    let report = Report::default();
    let body = Sealed::new(
        content,
        Sealer::Whole(sealer),
        sealed_len,
        report.clone(),
        proxy.metrics.clone(),
    );
    if let Some(plan) = plan {
        let sealed = (body, sealed_len, report);
        return put_in_parts(proxy, object_ref, headers, sealed, (plan, connections)).await;
    }
    let (body, hash) = Framed::body(body, sealed_len, &mut headers, proxy.has_trailers())?;
    let sent = (body, hash);
    let response = proxy.send_by(connections, signer, (method, &target), headers, sent).await;
    finish(response, report.take()).await
}

/// Seals an object whose content is not longer than a chunk. All of it is received and checked
/// before any of it is sent.
async fn seal_short(
    proxy: &Proxy,
    content: Content,
    sealer: WholeSealer,
    sealed_len: u64,
) -> Result<(Bytes, Outcome), S3Error> {
    let (content, outcome) = whole(content, proxy.limits().idle_timeout).await?;
    proxy.metrics.sealed.fetch_add(content.len() as u64, Relaxed);
    let len = usize::try_from(sealed_len).map_err(|_| S3Error::too_large())?;
    let mut sealed = vec![0; len];
    sealer
        .seal(&content, outcome.checksum.and_then(kept), &mut sealed)
        .map_err(|_| S3Error::internal())?;
    Ok((sealed.into(), outcome))
}

/// Sets the object's header, and seals content headers and user metadata if the header says so.
///
/// # Errors
/// If there is no space for the header, or an entry is reserved for the proxy.
pub(super) fn set_metadata(
    headers: &mut HeaderMap,
    header: &Header,
    key: &ContentKey,
) -> Result<(), S3Error> {
    let mut user = headers::check_user_metadata(headers)?;
    if header.has_sealed_metadata() {
        let mut metadata = UserMetadata::new();
        for (name, value) in headers.iter() {
            if let Some(entry) = name.as_str().strip_prefix(USER_METADATA) {
                metadata.insert(entry, value.as_bytes()).map_err(metadata_error)?;
            } else if CONTENT_HEADERS.contains(&name.as_str()) {
                metadata.insert_header(name.as_str(), value.as_bytes()).map_err(metadata_error)?;
            }
        }
        headers::remove(headers, |name| {
            let name = name.as_str();
            name.starts_with(USER_METADATA) || CONTENT_HEADERS.contains(&name)
        });
        let text = user_metadata::seal(header, key, &metadata, &mut OsRandom);
        let text = text.map_err(metadata_error)?;
        headers::insert(headers, headers::SEALED_METADATA, &text)?;
        user = object::USER_METADATA.len() + text.len();
    }
    headers::set_header(headers, header.encode(), user)
}

fn metadata_error(error: MetadataError) -> S3Error {
    match error {
        MetadataError::TooLong => S3Error::metadata_too_large(),
        MetadataError::Random => S3Error::internal(),
        _ => S3Error::invalid_argument("User metadata has a duplicate or invalid entry."),
    }
}

/// Builds the response to an upload of an object.
async fn finish(
    response: Result<Response<ResponseBody>, S3Error>,
    sealed: Option<Result<Outcome, S3Error>>,
) -> Result<Response<Outgoing>, S3Error> {
    let mut answer = finish_raw(response, sealed).await?;
    conditions::to_client(answer.headers_mut());
    Ok(answer)
}

/// Builds the response to an upload that was stored. It describes the content instead of the sealed
/// bytes, except that the entity tag is the backend's. `sealed` is the result of sealing, if it has
/// ended.
///
/// # Errors
/// The error that stopped sealing, or the error of the backend.
pub(super) async fn finish_raw(
    response: Result<Response<ResponseBody>, S3Error>,
    sealed: Option<Result<Outcome, S3Error>>,
) -> Result<Response<Outgoing>, S3Error> {
    let outcome = match sealed {
        // This error is the cause if the backend did not get the whole body.
        Some(Err(error)) => return Err(error),
        Some(Ok(outcome)) => Some(outcome),
        None => None,
    };
    let mut answer = without_body(response?).await;
    // The backend must not report success before it has got the whole content.
    let outcome = outcome.ok_or_else(S3Error::internal)?;
    describe_content(answer.headers_mut(), &outcome)?;
    Ok(answer)
}
