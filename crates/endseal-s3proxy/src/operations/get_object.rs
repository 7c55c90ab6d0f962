//! `GetObject`: the sealed object is opened while it is transferred.

use core::ops::Range;

use bytes::{Bytes, BytesMut};
use endseal_s3_format::{PartNumber, RangePlan, Record, SALT_LEN, WholeOpener};
use endseal_s3_protocol::ByteRange;
use endseal_s3_protocol::S3Error;
use http::header::{ACCEPT_RANGES, CONTENT_LENGTH, CONTENT_RANGE, ETAG, IF_RANGE, RANGE};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode};

use super::conditions;
use super::overrides::Overrides;
use crate::bucket::Plaintext;
use crate::content_checksum::shown;
use crate::context::{Proxy, RequestContext};
use crate::forward::{Connections, read, relay};
use crate::headers;
use crate::sealed_object::{
    Inspected, ObjectRef, SealedObject, changed_if_pinned, content_range, object_len, pin,
};
use crate::transfer::{Opened, Opener, Outgoing};
use crate::upstream::ResponseBody;

/// Size in bytes up to which an object is opened before its response starts.
const SMALL: u64 = 128 * 1024;

static CHECKSUM_MODE: HeaderName = HeaderName::from_static("x-amz-checksum-mode");

/// Size of a chunk of content, and of a sealed chunk, in bytes.
const CHUNK: u64 = 16_384;
const SEALED_CHUNK: u64 = CHUNK + 16;

/// Requested part of an object.
#[derive(Clone)]
pub(super) struct ReadRequest {
    pub(super) range: Option<ByteRange>,
    pub(super) part: Option<PartNumber>,
    pub(super) checksum: bool,
    pub(super) overrides: Overrides,
}

impl ReadRequest {
    /// Parses the range and part number of a request.
    ///
    /// # Errors
    /// If the part number is invalid or combined with a range.
    pub(super) fn of(call: &RequestContext) -> Result<Self, S3Error> {
        let range = headers::text(&call.headers, RANGE).and_then(ByteRange::parse);
        let part = call
            .target
            .query()
            .get("partNumber")
            .map(|text| {
                text.parse().ok().and_then(PartNumber::new).ok_or_else(|| {
                    S3Error::invalid_argument("Part number must be an integer between 1 and 10000.")
                        .about_argument("partNumber", text)
                })
            })
            .transpose()?;
        if range.is_some() && part.is_some() {
            return Err(S3Error::invalid_request(
                "Cannot specify both Range header and partNumber query parameter.",
            ));
        }
        let mode = headers::text(&call.headers, &CHECKSUM_MODE);
        let checksum = mode.is_some_and(|mode| mode.eq_ignore_ascii_case("enabled"));
        let overrides = Overrides::of(call.target.query())?;
        Ok(Self { range, part, checksum, overrides })
    }
}

/// Opens an object, or a range of it.
pub(super) async fn get_object(
    proxy: &Proxy,
    call: &RequestContext,
) -> Result<Response<Outgoing>, S3Error> {
    let object_ref = ObjectRef::of(&call.signer, &call.target)?;
    let wanted = ReadRequest::of(call)?;
    match get(proxy, call, &object_ref, &wanted).await? {
        Some(answer) => Ok(answer),
        // `If-Range` does not hold, so the whole object is returned.
        None => {
            let all = ReadRequest { range: None, ..wanted.clone() };
            get(proxy, call, &object_ref, &all).await?.ok_or_else(S3Error::internal)
        }
    }
}

/// Returns the headers of the first request to the backend. It is not known yet if the object is
/// sealed. The backend may return checksums of plaintext, but checksums of sealed bytes never reach
/// the client.
pub(super) fn asking(
    proxy: &Proxy,
    call: &RequestContext,
    object_ref: &ObjectRef<'_>,
) -> HeaderMap {
    let mut headers = headers::about_sealed(&call.headers);
    if proxy.rule(object_ref.bucket).plaintext != Plaintext::Forbid
        && let Some(mode) = call.headers.get(&CHECKSUM_MODE)
    {
        headers.insert(&CHECKSUM_MODE, mode.clone());
    }
    conditions::to_backend(&mut headers);
    headers
}

/// Opens the requested part. Returns `None` if `If-Range` does not hold for the requested range.
async fn get(
    proxy: &Proxy,
    call: &RequestContext,
    object_ref: &ObjectRef<'_>,
    wanted: &ReadRequest,
) -> Result<Option<Response<Outgoing>>, S3Error> {
    let target = call.target.without(|name| name == "partNumber");
    // The guess is right for an object that was not uploaded in parts. For others, the response
    // shows their form.
    let guess = wanted.range.and_then(guess);
    let mut first = asking(proxy, call, object_ref);
    // A backend that evaluates it would return no range and give no reason.
    first.remove(IF_RANGE);
    let applies = |answer: &HeaderMap| {
        wanted.range.is_none() || conditions::range_applies(&call.headers, answer)
    };
    let needs_length = wanted.part.is_some() || matches!(wanted.range, Some(ByteRange::Suffix(_)));
    let method = if needs_length { Method::HEAD } else { Method::GET };
    if let Some(guess) = &guess {
        headers::insert(&mut first, RANGE, guess)?;
    }
    let response = match proxy.ask(&call.signer, &method, &target, first).await {
        Ok(response) => response,
        Err(error) if error.status() == StatusCode::RANGE_NOT_SATISFIABLE => {
            let response = proxy.head(object_ref, HeaderMap::new()).await?;
            if !applies(response.headers()) {
                return Ok(None);
            }
            return Err(beyond(proxy, object_ref, &response).await?);
        }
        Err(error) if needs_length && error.status().is_client_error() => {
            // Responses to `HEAD` give no reason.
            let headers = asking(proxy, call, object_ref);
            let response = proxy.ask(&call.signer, &Method::GET, &target, headers).await;
            return Err(response.err().unwrap_or(error));
        }
        Err(error) => return Err(error),
    };
    if !applies(response.headers()) {
        return Ok(None);
    }
    let sealed_len = object_len(&response)?;
    let answer = match proxy.examine(object_ref, response.headers(), sealed_len).await? {
        Inspected::Sealed(object) => open(proxy, object_ref, wanted, response, *object).await?,
        Inspected::Plain if guess.is_none() && !needs_length => plaintext(response),
        Inspected::Plain => {
            let mut headers = asking(proxy, call, object_ref);
            // What is sealed meanwhile must not be sent on as it is.
            pin(&mut headers, response.headers())?;
            drop(response);
            if let Some(range) = call.headers.get(RANGE).filter(|_| wanted.range.is_some()) {
                headers.insert(RANGE, range.clone());
            }
            let asked = proxy.ask(&call.signer, &Method::GET, &call.target, headers).await;
            plaintext(asked.map_err(changed_if_pinned)?)
        }
    };
    Ok(Some(answer))
}

/// Returns the `Range` header for the sealed bytes of a whole object that contain a range of the
/// content.
fn guess(range: ByteRange) -> Option<String> {
    let start = |first: u64| (first / CHUNK).saturating_mul(SEALED_CHUNK);
    match range {
        ByteRange::Closed(first, last) => {
            let end = (last / CHUNK).saturating_add(1).saturating_mul(SEALED_CHUNK);
            Some(format!("bytes={}-{}", start(first), end - 1))
        }
        ByteRange::From(first) => Some(format!("bytes={}-", start(first))),
        ByteRange::Suffix(_) => None,
    }
}

/// Returns the error for a range beyond the end of the object. `head` is the response to a request
/// for its headers.
async fn beyond(
    proxy: &Proxy,
    object_ref: &ObjectRef<'_>,
    head: &Response<ResponseBody>,
) -> Result<S3Error, S3Error> {
    let len = object_len(head)?;
    let len = match proxy.examine(object_ref, head.headers(), len).await? {
        Inspected::Sealed(object) => object.content_len,
        Inspected::Plain => len,
    };
    Ok(S3Error::invalid_range().with_content_len(len))
}

/// Returns a response with plaintext, or to `HEAD`. The caller MUST have checked that the object
/// may be plaintext.
pub(super) fn plaintext(response: Response<ResponseBody>) -> Response<Outgoing> {
    let mut answer = relay(response);
    conditions::to_client(answer.headers_mut());
    answer
}

/// Opens the object from the response, or requests the bytes that it does not contain.
async fn open(
    proxy: &Proxy,
    object_ref: &ObjectRef<'_>,
    wanted: &ReadRequest,
    response: Response<ResponseBody>,
    mut object: SealedObject,
) -> Result<Response<Outgoing>, S3Error> {
    let is_whole = wanted.range.is_none() && wanted.part.is_none();
    // An opener exists only if the object was not uploaded in parts.
    let whole = object.opener.take().filter(|_| is_whole);
    let object = &object;
    let small = whole.is_some() && object.sealed_len <= SMALL;
    let needs_record = object.is_multipart() || (wanted.checksum && is_whole && !small);
    let record = if needs_record { Some(proxy.record(object_ref, object).await?) } else { None };
    let content = content(wanted, object, record.as_ref())?;
    let mut answer = answer_head(response.headers(), object, &content, wanted)?;
    let whole = match whole {
        Some(opener) if small => {
            let (opened, record) = open_small(proxy, response, object, *opener).await?;
            if wanted.checksum {
                set_checksum(answer.headers_mut(), &record)?;
            }
            return Ok(answer.map(|()| Outgoing::full(opened)));
        }
        whole => whole,
    };
    if let (true, true, Some(record)) = (wanted.checksum, is_whole, &record) {
        set_checksum(answer.headers_mut(), record)?;
    }
    if let (Some(_), Some(record)) = (wanted.part, &record) {
        let count = HeaderValue::from(record.entries().len());
        answer.headers_mut().insert("x-amz-mp-parts-count", count);
    }
    let len = content.end - content.start;
    let mut opened = match whole {
        Some(opener) => {
            let (opener, sealed) = (Opener::Whole(*opener), 0..object.sealed_len);
            Opened::new(
                response.into_body(),
                opener,
                sealed,
                proxy.metrics.clone(),
                [object_ref.bucket, object_ref.key],
            )
        }
        None => {
            open_range(proxy, object_ref, Some(response), object, record.as_ref(), content).await?
        }
    };
    if len <= SMALL {
        let content = opened.collect().await?;
        return Ok(answer.map(|()| Outgoing::full(content)));
    }
    opened.begin().await?;
    Ok(answer.map(|()| Outgoing::opened(opened, len)))
}

/// Opens a range of the content, from `response` if it contains the bytes, or from another request.
pub(crate) async fn open_range(
    proxy: &Proxy,
    object_ref: &ObjectRef<'_>,
    response: Option<Response<ResponseBody>>,
    object: &SealedObject,
    record: Option<&Record>,
    content: Range<u64>,
) -> Result<Opened, S3Error> {
    let name = [object_ref.bucket, object_ref.key];
    let plan = match record.filter(|_| object.is_multipart()) {
        Some(record) => RangePlan::multipart(record, content),
        None => RangePlan::whole(object.content_len, content),
    };
    let plan = plan.ok_or_else(S3Error::internal)?;
    let salt = match plan.salt() {
        Some(range) => Some(salt(proxy, object_ref, object, &range).await?),
        None => None,
    };
    let sealed = plan.sealed();
    let opener =
        plan.opener(&object.header, &object.key, salt).map_err(|_| S3Error::not_authentic())?;
    let opener = Opener::Range(opener);
    let response = response.filter(|response| {
        let start = match response.status() {
            StatusCode::PARTIAL_CONTENT => content_range(response.headers()).map(|range| range.0),
            _ => Some(0),
        };
        // Bytes before the range are read and discarded: at most the salt of a part.
        let has_body = headers::text(response.headers(), CONTENT_LENGTH)
            .and_then(|len| len.parse::<u64>().ok());
        let end = start.zip(has_body).map(|(start, len)| start + len);
        start.is_some_and(|start| start <= sealed.start && sealed.start - start <= 64)
            && end.is_some_and(|end| end >= sealed.end)
            && !is_head(response)
    });
    let (body, start) = match response {
        Some(response) => {
            let start = content_range(response.headers()).map_or(0, |range| range.0);
            (response.into_body(), start)
        }
        None if sealed.is_empty() => {
            return Ok(Opened::nothing(opener, proxy.metrics.clone(), name));
        }
        None => {
            let response = proxy.range(object_ref, object, &sealed, Connections::First).await?;
            (response.into_body(), sealed.start)
        }
    };
    let within = sealed.start - start..sealed.end - start;
    Ok(Opened::new(body, opener, within, proxy.metrics.clone(), name))
}

/// Returns true for a response to `HEAD`, which has a length but no body.
fn is_head(response: &Response<ResponseBody>) -> bool {
    use http_body::Body as _;
    response.body().is_end_stream()
}

async fn salt(
    proxy: &Proxy,
    object_ref: &ObjectRef<'_>,
    object: &SealedObject,
    range: &Range<u64>,
) -> Result<[u8; SALT_LEN], S3Error> {
    let response = proxy.range(object_ref, object, range, Connections::Second).await?;
    let salt = read(response.into_body(), SALT_LEN).await?;
    salt.as_ref().try_into().map_err(|_| S3Error::unavailable())
}

async fn open_small(
    proxy: &Proxy,
    response: Response<ResponseBody>,
    object: &SealedObject,
    mut opener: WholeOpener,
) -> Result<(Bytes, Record), S3Error> {
    let limit = usize::try_from(object.sealed_len).map_err(|_| S3Error::internal())?;
    let sealed = read(response.into_body(), limit).await?;
    let len = sealed.len();
    let (mut content, opened) = if opener.is_short() {
        (BytesMut::new(), opener.open_short(&sealed).map(drop))
    } else {
        let mut content = BytesMut::from(sealed);
        let opened = opener.open(&mut content).map(|taken| content.truncate(taken.content));
        (content, opened)
    };
    match opened.and_then(|()| opener.finish()) {
        Ok((mut last, record)) => {
            // Usually it is the only chunk, which is not copied.
            let content = if content.is_empty() {
                Bytes::from(core::mem::take(&mut *last))
            } else {
                content.extend_from_slice(&last);
                content.freeze()
            };
            proxy.metrics.opened(content.len());
            Ok((content, record))
        }
        Err(_) if len < limit => Err(S3Error::unavailable()),
        Err(_) => Err(proxy.metrics.not_authentic()),
    }
}

/// Returns the requested range of the content.
///
/// # Errors
/// `InvalidRange` or `InvalidPartNumber` if the object does not have it.
pub(super) fn content(
    wanted: &ReadRequest,
    object: &SealedObject,
    record: Option<&Record>,
) -> Result<Range<u64>, S3Error> {
    let len = object.content_len;
    if let Some(part) = wanted.part {
        let range = match record.filter(|_| object.is_multipart()) {
            // The part number of a read counts the parts that the object has.
            Some(record) => record
                .entries()
                .get(usize::from(part.get()) - 1)
                .and_then(|entry| record.part_range(entry.number)),
            None => (part.get() == 1).then_some(0..len),
        };
        return range.ok_or_else(S3Error::invalid_part_number);
    }
    match wanted.range {
        Some(range) => range.of(len).ok_or_else(|| S3Error::invalid_range().with_content_len(len)),
        None => Ok(0..len),
    }
}

/// Builds status and headers of a response with this range of the content.
pub(super) fn answer_head(
    backend: &HeaderMap,
    object: &SealedObject,
    content: &Range<u64>,
    wanted: &ReadRequest,
) -> Result<Response<()>, S3Error> {
    let mut answer = Response::new(());
    let mut headers = headers::returned_unsealed(backend);
    if let Some(tag) = object.client_tag() {
        headers::insert(&mut headers, ETAG, &tag)?;
    }
    object.restore_metadata(backend, &mut headers)?;
    wanted.overrides.set(&mut headers);
    headers.insert(CONTENT_LENGTH, HeaderValue::from(content.end - content.start));
    headers.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    let is_partial =
        wanted.range.is_some() || (wanted.part.is_some() && content.start < content.end);
    if is_partial {
        *answer.status_mut() = StatusCode::PARTIAL_CONTENT;
        let last = content.end.saturating_sub(1);
        let value = format!("bytes {}-{last}/{}", content.start, object.content_len);
        headers::insert(&mut headers, CONTENT_RANGE, &value)?;
    }
    *answer.headers_mut() = headers;
    Ok(answer)
}

/// Sets the checksum that the client stated when it wrote the object.
pub(super) fn set_checksum(headers: &mut HeaderMap, record: &Record) -> Result<(), S3Error> {
    let Some(checksum) = record.checksum().and_then(shown) else { return Ok(()) };
    let (text, kind) = if record.is_composite() {
        (format!("{}-{}", checksum.to_base64(), record.entries().len()), "COMPOSITE")
    } else {
        (checksum.to_base64(), "FULL_OBJECT")
    };
    headers::insert(headers, checksum.kind().header(), &text)?;
    headers::insert(headers, "x-amz-checksum-type", kind)
}
