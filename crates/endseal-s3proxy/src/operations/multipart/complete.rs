//! `CompleteMultipartUpload`: writes the record behind the parts and completes the upload at the
//! backend.

use core::time::Duration;

use bytes::{Bytes, BytesMut};
use endseal_crypto::random::OsRandom;
use endseal_s3_format::{Entry, PartNumber, Record, RecordError, entity_tag, size};
use endseal_s3_protocol::Query;
use endseal_s3_protocol::S3Error;
use endseal_s3_protocol::checksum::{ChecksumType, ChecksumValue, combined, composite};
use endseal_s3_protocol::headers::is_object_size;
use endseal_s3_protocol::sigv4::PayloadHash;
use endseal_s3_protocol::xml::{self, ChecksumChange, CompletedPart, ResultChange};
use http::header::ETAG;
use http::{HeaderMap, Method, Response, StatusCode};
use tokio::time::sleep;

use super::announced::{check_fit, checksum_type};
use super::choice::choose;
use super::completed;
use super::part::is_plain;
use super::upload::{StoredPart, Upload};
use crate::content_checksum::kept;
use crate::context::{Proxy, RequestContext};
use crate::forward::{completed_by, read, with_document};
use crate::headers;
use crate::operations::copy_object::rewrite_answer;
use crate::operations::{conditions, content, location, pass_through};
use crate::transfer::{Outgoing, TRAILER, checksum_of};
use crate::upstream::Body;

/// Maximum size of a request in bytes: 10,000 parts with tags and checksums.
const MAX_REQUEST: u64 = 4 << 20;

/// Completes an upload. Repeated completions of the same upload get the same response.
pub(in crate::operations) async fn complete(
    proxy: &Proxy,
    mut call: RequestContext,
) -> Result<Response<Outgoing>, S3Error> {
    if is_plain(proxy, &call) {
        // The backend's location would lead past the proxy.
        let location = Some(location::of(proxy, &call.headers, &call.target));
        let response = pass_through::send_on(proxy, call).await?;
        return rewrite_answer(response, ResultChange { location, ..ResultChange::default() })
            .await;
    }
    let digests = endseal_s3_protocol::checksum::Digests::of_request(
        &without_object_checksums(&call.headers),
        call.payload.sha256(),
    )?;
    let Some(body) = call.body.take() else { return Err(S3Error::internal()) };
    let content = content::of(&call.headers, &call.payload, body, digests)?;
    let document = content::collect(content, MAX_REQUEST).await?;
    let named = xml::read_complete(&document)?;
    let upload = Upload::of(proxy, &call).await?;
    if let Some(announced) = upload.announced {
        announced.check_completion(&call.headers, &named)?;
    }
    let id = call.target.query().get("uploadId").unwrap_or_default();
    let _alone = proxy.completions.enter(id).await;
    let mut pauses = AGAIN.iter();
    loop {
        let (error, may_pass) = match attempt(proxy, &call, &upload, &named).await {
            Ok(Some(answer)) => return Ok(answer),
            Ok(None) => (S3Error::invalid_part(), true),
            Err(error) if is(&error, &S3Error::invalid_part()) => (error, false),
            Err(error) if is(&error, &S3Error::no_such_upload()) => (error, true),
            Err(error) if matches!(error.status().as_u16(), 500 | 503 | 504) => (error, true),
            Err(error) => return Err(error),
        };
        // It may have been completed before: the response was lost, or another process was faster.
        match completed::answer(proxy, &call, &upload, &named).await {
            Err(it) if is(&it, &S3Error::no_such_upload()) => {}
            answer => return answer,
        }
        match pauses.next().filter(|_| may_pass) {
            Some(pause) => sleep(*pause).await,
            None => return Err(error),
        }
    }
}

fn is(error: &S3Error, other: &S3Error) -> bool {
    error.code() == other.code()
}

/// Pauses before another attempt to complete an upload, which may have become an object by then.
///
/// Another process, or this one for a client that disconnected, may be completing the same upload.
/// Meanwhile its parts (MinIO) or the whole upload (versitygw) can be invisible, and the object may
/// not exist yet. Both processes also write their own tail.
const AGAIN: [Duration; 3] =
    [Duration::from_millis(100), Duration::from_millis(300), Duration::from_millis(600)];

/// Writes the record and completes the upload at the backend. Returns `None` if no part has a
/// number that the client names, or if the backend no longer has a part.
///
/// # Errors
/// `NoSuchUpload` if the backend does not have the upload.
async fn attempt(
    proxy: &Proxy,
    call: &RequestContext,
    upload: &Upload<'_>,
    named: &[CompletedPart],
) -> Result<Option<Response<Outgoing>>, S3Error> {
    let Some(chosen) = choose(proxy, upload, named).await? else {
        return Ok(None);
    };
    let entries: Vec<Entry> = chosen.iter().map(|(entry, _)| *entry).collect();
    let announced = upload.announced.map(|announced| announced.checksum_type);
    let checksum = Checksum::of(&call.headers, announced, named, &entries)?;
    let value = checksum.as_ref().and_then(|checksum| kept(checksum.value));
    let is_composite = checksum.as_ref().is_some_and(|it| it.kind == ChecksumType::Composite);
    let record =
        Record::multipart(entries, value, is_composite && value.is_some()).map_err(record_error)?;
    // Compared here, with the length of the content: the backend has that of the sealed object.
    if !is_object_size(&call.headers, record.plaintext_len()) {
        return Err(S3Error::other_object_size());
    }
    let completed = write_end(proxy, upload, &record, &chosen).await?;

    let mut headers = headers::about_sealed(&call.headers);
    conditions::to_backend(&mut headers);
    headers.remove("x-amz-mp-object-size");
    let request = xml::write_complete(&completed);
    let hash = PayloadHash::Sha256(endseal_crypto::sha256::digest(&request));
    let target = upload.target(Query::new());
    let body = Body::full(request.into());
    let sent = proxy.send(&call.signer, &Method::POST, &target, headers, body, hash).await;
    let (head, document, fields) = match completed_by(sent).await {
        Ok(completed) => completed,
        Err(error) if is(&error, &S3Error::invalid_part()) => return Ok(None),
        Err(error) => return Err(error),
    };
    upload.unpark_all(proxy).await;
    upload.forget(proxy).await;
    let change = ResultChange {
        etag: fields.etag.as_deref().map(entity_tag::to_client),
        location: Some(location::of(proxy, &call.headers, &call.target)),
        checksum: match checksum {
            Some(checksum) => ChecksumChange::Set {
                value: checksum.value,
                kind: Some(checksum.kind),
                parts: u16::try_from(record.entries().len()).ok().filter(|_| is_composite),
            },
            None => ChecksumChange::Drop,
        },
        ..ResultChange::default()
    };
    let document =
        xml::rewrite_result(&document, &change).map_err(|error| S3Error::unreadable(&error))?;
    let mut answer = with_document(head, document);
    // The size is that of the sealed object.
    answer.headers_mut().remove(headers::OBJECT_SIZE);
    Ok(Some(answer))
}

/// Removes checksum headers: in this request they describe the object, not its body.
fn without_object_checksums(headers: &HeaderMap) -> HeaderMap {
    let mut out = headers.clone();
    headers::remove(&mut out, |name| headers::is_checksum(name.as_str()));
    out
}

/// Checksum of the object, computed from those of its parts.
struct Checksum {
    value: ChecksumValue,
    kind: ChecksumType,
}

impl Checksum {
    /// Computes the checksum of the object if the client states one for each part. If the client
    /// also states that of the object, the two are compared. The type is that which was announced
    /// when the upload was created, or the one that the completion names.
    ///
    /// # Errors
    /// `BadDigest` if the checksums differ, `InvalidRequest` for a type that does not fit the
    /// algorithm.
    fn of(
        headers: &HeaderMap,
        announced: Option<ChecksumType>,
        named: &[CompletedPart],
        entries: &[Entry],
    ) -> Result<Option<Self>, S3Error> {
        let values: Option<Vec<ChecksumValue>> = named.iter().map(|part| part.checksum).collect();
        let Some(values) = values else { return Ok(None) };
        let Some(algorithm) = values.first().map(ChecksumValue::kind) else { return Ok(None) };
        let kind = announced.or(checksum_type(headers)?);
        let kind = kind.unwrap_or_else(|| ChecksumType::default_of(algorithm));
        check_fit(kind, algorithm)?;
        let value = match kind {
            ChecksumType::FullObject => {
                let parts = values.iter().zip(entries);
                let parts: Vec<_> =
                    parts.map(|(value, entry)| (*value, entry.plaintext_len)).collect();
                combined(algorithm, &parts)
            }
            _ => composite(algorithm, &values),
        };
        let Some(value) = value else { return Ok(None) };
        let given = headers::text(headers, algorithm.header());
        let given = given.map(|text| text.split('-').next().unwrap_or_default());
        if given.is_some_and(|given| given != value.to_base64()) {
            return Err(S3Error::bad_digest());
        }
        Ok(Some(Self { value, kind }))
    }
}

fn record_error(error: RecordError) -> S3Error {
    match error {
        RecordError::Order => S3Error::invalid_part_order(),
        RecordError::PartTooSmall => S3Error::too_small(),
        RecordError::ContentTooLong => S3Error::too_large(),
        _ => S3Error::malformed_xml(),
    }
}

/// Uploads the tail, as its own part or joined to a parked last part. Returns the parts that the
/// backend has to complete.
async fn write_end(
    proxy: &Proxy,
    upload: &Upload<'_>,
    record: &Record,
    chosen: &[(Entry, StoredPart)],
) -> Result<Vec<CompletedPart>, S3Error> {
    let mut end = BytesMut::new();
    let (last, before) = chosen.split_last().ok_or_else(S3Error::malformed_xml)?;
    let mut completed: Vec<CompletedPart> = before.iter().map(|(_, part)| named(part)).collect();
    let number = if last.1.parked {
        end.extend_from_slice(&unpark(proxy, upload, &last.1).await?);
        last.0.number
    } else {
        completed.push(named(&last.1));
        let next = last.0.number.get().checked_add(1).and_then(PartNumber::new);
        next.ok_or_else(S3Error::invalid_part)?
    };
    // The key that wrapped the header when the upload was created may be removed by now, or soon.
    let header = proxy.rewrap(&upload.header, &upload.key).await?;
    record
        .seal_tail(&header, &upload.key, &mut OsRandom, &mut end)
        .map_err(|_| S3Error::internal())?;
    let query = Query::new().with("partNumber", &number.get().to_string());
    let target = upload.target(query);
    let end = end.freeze();
    let mut headers = HeaderMap::new();
    let checksum = proxy.has_trailers().then(|| checksum_of(&end));
    if let Some(checksum) = &checksum {
        headers::insert(&mut headers, TRAILER.header(), &checksum.to_base64())?;
    }
    let body = Body::full(end);
    let signer = upload.object_ref.signer;
    let sent =
        proxy.send(signer, &Method::PUT, &target, headers, body, PayloadHash::Unsigned).await;
    let response = sent.map_err(|error| match error.status() {
        StatusCode::NOT_FOUND => S3Error::no_such_upload(),
        _ => error,
    })?;
    let etag = headers::text(response.headers(), ETAG).map(str::to_owned);
    let etag = etag.ok_or_else(|| S3Error::bad_gateway("the backend sent no tag for a part"))?;
    completed.push(CompletedPart { number: number.get(), etag, checksum });
    Ok(completed)
}

fn named(part: &StoredPart) -> CompletedPart {
    let etag = format!("\"{}\"", part.entity_tag);
    CompletedPart { number: part.number.get(), etag, checksum: part.checksum }
}

/// Reads a parked part from the backend.
async fn unpark(proxy: &Proxy, upload: &Upload<'_>, part: &StoredPart) -> Result<Bytes, S3Error> {
    let len = size::part_len(part.plaintext_len).ok_or_else(S3Error::internal)?;
    let limit = usize::try_from(len).map_err(|_| S3Error::internal())?;
    let mut headers = HeaderMap::new();
    headers::insert(&mut headers, "if-match", &format!("\"{}\"", part.entity_tag))?;
    let target = upload.parked(part.number);
    let response = proxy.ask(upload.object_ref.signer, &Method::GET, &target, headers).await;
    let response = response.map_err(|error| match error.status() {
        // It existed before, so the upload has been completed meanwhile.
        StatusCode::NOT_FOUND => S3Error::no_such_upload(),
        StatusCode::PRECONDITION_FAILED => S3Error::invalid_part(),
        _ => error,
    })?;
    let bytes = read(response.into_body(), limit).await?;
    if bytes.len() == limit { Ok(bytes) } else { Err(S3Error::unavailable()) }
}
