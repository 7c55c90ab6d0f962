//! `UploadPart` and `UploadPartCopy`.

use endseal_crypto::random::OsRandom;
use endseal_s3_format::entity_tag::PartTag;
use endseal_s3_format::{
    PartNumber, PartSealer, RESERVED_PREFIX, Receipt, SALT_LEN, UploadId, size,
};
use endseal_s3_protocol::ByteRange;
use endseal_s3_protocol::Query;
use endseal_s3_protocol::S3Error;
use endseal_s3_protocol::checksum::{Digests, Outcome};
use endseal_s3_protocol::sigv4::PayloadHash;
use endseal_s3_protocol::xml;
use http::header::ETAG;
use http::{HeaderMap, Method, Response};

use super::upload::{Upload, of_own_key};
use crate::content_checksum::kept;
use crate::context::{Proxy, RequestContext};
use crate::forward::{Connections, expect_etag, late_error, read, with_document, without_body};
use crate::headers;
use crate::operations::copy_object::{Source, name_source, not_there, pin_source};
use crate::operations::get_object::open_range;
use crate::operations::{conditions, content, pass_through, put_object};
use crate::sealed_object::{Inspected, ObjectRef, changed_if_pinned, object_len, pin};
use crate::transfer::{Content, ContentSource, Framed, Outgoing, Plain, Report, Sealed, Sealer};
use crate::upstream::{Body, ResponseBody};

/// Maximum size of the content of a part in bytes, so that the sealed part has at most 5 GiB.
const MAX_PART: u64 = {
    let limit = 5 << 30;
    limit - limit / 1024 - 4096
};

/// Seals and stores a part.
pub(in crate::operations) async fn upload_part(
    proxy: &Proxy,
    mut call: RequestContext,
) -> Result<Response<Outgoing>, S3Error> {
    if is_plain(proxy, &call) {
        // Parts of the backend's own uploads have the backend's tags in all responses and in the
        // completion.
        return Ok(without_body(pass_through::send_on(proxy, call).await?).await);
    }
    let digests = content::digests(&call.headers, &call.payload)?;
    let Some(body) = call.body.take() else { return Err(S3Error::internal()) };
    let content = content::of(&call.headers, &call.payload, body, digests)?;
    let upload = Upload::of(proxy, &call).await?;
    let number = number(&call)?;
    let Sent { mut answer, salt, plaintext_len, outcome } =
        send(proxy, &call, &upload, number, content).await?;
    let Outcome { sha256, checksum, .. } = outcome;
    let checksum = checksum.and_then(kept);
    let is_known = sha256.is_some() || checksum.is_some();
    if is_known && proxy.rule(upload.object_ref.bucket).records_uploads() {
        let tag = headers::text(answer.headers(), ETAG).unwrap_or_default();
        let entity_tag = tag.trim_matches('"').to_owned();
        let receipt = Receipt { salt, plaintext_len, sha256, checksum, entity_tag };
        upload.write_receipt(proxy, number, &receipt).await;
    }
    set_tag(answer.headers_mut(), salt)?;
    Ok(answer)
}

/// Returns true if the upload is the backend's own, in a bucket that allows plaintext.
pub(super) fn is_plain(proxy: &Proxy, call: &RequestContext) -> bool {
    let allows = call
        .target
        .bucket()
        .is_some_and(|bucket| proxy.rule(bucket).plaintext == crate::bucket::Plaintext::Allow);
    let id = call.target.query().get("uploadId").unwrap_or_default();
    allows && UploadId::parse(id).is_err()
}

/// Copies the content of another object into a part. It passes through the proxy, because a part is
/// sealed under another key.
pub(in crate::operations) async fn upload_part_copy(
    proxy: &Proxy,
    call: &RequestContext,
) -> Result<Response<Outgoing>, S3Error> {
    let source = Source::of(call)?;
    let from = ObjectRef::of(&call.signer, &source.target)?;
    let upload = match is_plain(proxy, call) {
        true => None,
        false => Some(Upload::of(proxy, call).await?),
    };
    let number = number(call)?;
    let conditional = conditions::of_source(&call.headers);
    let head = match proxy.head(&from, conditional).await {
        Ok(head) => head,
        Err(error) => return Err(not_there(proxy, &from, error).await),
    };
    let stored_len = object_len(&head)?;
    let found = proxy.examine(&from, head.headers(), stored_len).await?;
    if upload.is_none() && matches!(found, Inspected::Plain) {
        // The bytes are the same in both, so the backend can copy them.
        let mut headers = headers::forwarded(&call.headers);
        conditions::to_backend(&mut headers);
        name_source(proxy, &source, &mut headers)?;
        pin_source(&mut headers, head.headers())?;
        let response = proxy.ask(&call.signer, &Method::PUT, &call.target, headers).await;
        return copied(response.map_err(changed_if_pinned)?).await;
    }
    let content_len = match &found {
        Inspected::Sealed(object) => object.content_len,
        Inspected::Plain => stored_len,
    };
    let range = match headers::text(&call.headers, "x-amz-copy-source-range") {
        None => 0..content_len,
        Some(text) => match ByteRange::parse(text) {
            // Unlike for reads, a range beyond the end is an error.
            Some(ByteRange::Closed(first, last)) if last < content_len => first..last + 1,
            Some(_) => {
                return Err(S3Error::invalid_argument(format!(
                    "Range specified is not valid for source object of size: {content_len}"
                ))
                .about_argument("x-amz-copy-source-range", text));
            }
            None => {
                return Err(S3Error::invalid_argument(
                    "The x-amz-copy-source-range value must be of the form bytes=first-last.",
                )
                .about_argument("x-amz-copy-source-range", text));
            }
        },
    };
    let len = range.end - range.start;
    let content = match &found {
        Inspected::Sealed(object) => {
            let record = match object.is_multipart() {
                true => Some(proxy.record(&from, object).await?),
                false => None,
            };
            let opened = open_range(proxy, &from, None, object, record.as_ref(), range).await?;
            Content::plain(ContentSource::Opened(Box::new(opened)), len, Digests::new())
        }
        Inspected::Plain => {
            let mut headers = HeaderMap::new();
            if len < stored_len {
                let range = format!("bytes={}-{}", range.start, range.end - 1);
                headers::insert(&mut headers, "range", &range)?;
            }
            pin(&mut headers, head.headers())?;
            let response = proxy.ask(from.signer, &Method::GET, &from.target(), headers).await;
            let response = response.map_err(changed_if_pinned)?;
            Content::plain(
                ContentSource::Backend(Box::new(response.into_body())),
                len,
                Digests::new(),
            )
        }
    };
    let answer = match &upload {
        Some(upload) => {
            let Sent { mut answer, salt, .. } = send(proxy, call, upload, number, content).await?;
            set_tag(answer.headers_mut(), salt)?;
            answer
        }
        None => send_plain(proxy, call, content).await?,
    };
    let (mut head, _) = answer.into_parts();
    let tag = head.headers.remove(ETAG);
    let tag = tag.as_ref().and_then(|tag| tag.to_str().ok()).unwrap_or_default();
    let mut document = xml::Builder::new("CopyPartResult");
    let now = endseal_s3_protocol::sigv4::Timestamp::of(std::time::SystemTime::now());
    document.leaf("LastModified", &now.to_iso()).leaf("ETag", tag);
    head.headers.remove("content-length");
    Ok(Response::from_parts(head, Outgoing::full(document.finish())))
}

/// Returns the backend's response to its own copy, with the tag unchanged.
async fn copied(response: Response<ResponseBody>) -> Result<Response<Outgoing>, S3Error> {
    let (head, body) = response.into_parts();
    let document = read(body, 64 * 1024).await?;
    let fields = xml::Fields::read(&document).map_err(|error| S3Error::unreadable(&error))?;
    if fields.root == "Error" {
        return Err(late_error(fields));
    }
    expect_etag(&fields)?;
    Ok(with_document(head, document.to_vec()))
}

fn number(call: &RequestContext) -> Result<PartNumber, S3Error> {
    let text = call.target.query().get("partNumber").unwrap_or_default();
    text.parse().ok().and_then(PartNumber::new).ok_or_else(|| {
        S3Error::invalid_argument("Part number must be an integer between 1 and 10000, inclusive")
            .about_argument("partNumber", text)
    })
}

/// Part that the backend stored.
struct Sent {
    /// Response of the backend.
    answer: Response<Outgoing>,
    salt: [u8; SALT_LEN],
    plaintext_len: u64,
    /// Digests of the content, of the kinds that the client announced.
    outcome: Outcome,
}

/// Seals content and stores it as a part: in the backend's upload, or parked if it is shorter than
/// S3 allows for any part but the last.
async fn send(
    proxy: &Proxy,
    call: &RequestContext,
    upload: &Upload<'_>,
    number: PartNumber,
    content: Content,
) -> Result<Sent, S3Error> {
    let len = content.len();
    if len > MAX_PART {
        return Err(S3Error::too_large());
    }
    let parks = len < size::MIN_PART;
    if number == PartNumber::MAX && !parks {
        return Err(S3Error::invalid_argument(
            "Part 10000 must have less than 5 MiB: the object's end is added to it.",
        ));
    }
    let sealer = PartSealer::new(&upload.key, number, len, &mut OsRandom)
        .map_err(|_| S3Error::internal())?;
    let salt = sealer.salt();
    let sealed_len = size::part_len(len).ok_or_else(S3Error::too_large)?;
    let report = Report::default();
    let connections = Connections::of(&content);
    let body = Sealed::new(
        content,
        Sealer::Part(sealer),
        sealed_len,
        report.clone(),
        proxy.metrics.clone(),
    );
    let (target, headers) = if parks {
        // Parts of an upload that does not exist would never be removed.
        upload.check_started(proxy, connections).await?;
        debug_assert!(RESERVED_PREFIX.ends_with('/'));
        (upload.parked(number), upload.owner_headers(proxy)?)
    } else {
        let query = Query::new().with("partNumber", &number.get().to_string());
        (upload.target(query), headers::about_sealed(&call.headers))
    };
    let mut headers = headers;
    headers::remove(&mut headers, |name| name.as_str().starts_with("x-amz-copy-source"));
    let (body, hash) = Framed::body(body, sealed_len, &mut headers, proxy.has_trailers())?;
    let (request, sent) = ((&Method::PUT, &target), (body, hash));
    let sent = proxy.send_by(connections, &call.signer, request, headers, sent).await;
    let sent = if parks { sent.map_err(of_own_key) } else { sent };
    let outcome = report.outcome();
    let answer = put_object::finish_raw(sent, report.take()).await?;
    Ok(Sent { answer, salt, plaintext_len: len, outcome })
}

/// Stores opened content as a part of the backend's own upload.
async fn send_plain(
    proxy: &Proxy,
    call: &RequestContext,
    content: Content,
) -> Result<Response<Outgoing>, S3Error> {
    let mut headers = headers::about_sealed(&call.headers);
    headers::remove(&mut headers, |name| name.as_str().starts_with("x-amz-copy-source"));
    let connections = Connections::of(&content);
    let sent = (Body::stream(content.len(), Plain::new(content)), PayloadHash::Unsigned);
    let request = (&Method::PUT, &call.target);
    let sent = proxy.send_by(connections, &call.signer, request, headers, sent).await?;
    Ok(without_body(sent).await)
}

/// Sets the entity tag with the salt, which identifies this upload of the part.
fn set_tag(headers: &mut HeaderMap, salt: [u8; SALT_LEN]) -> Result<(), S3Error> {
    let tag = headers::text(headers, ETAG).ok_or_else(S3Error::internal)?;
    let tag = PartTag::new(tag, Some(salt)).encode();
    headers::insert(headers, ETAG.as_str(), &tag)
}
