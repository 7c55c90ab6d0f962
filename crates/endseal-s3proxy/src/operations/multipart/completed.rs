//! Repeated completions: a client that did not get the response gets it again.

use endseal_s3_format::Record;
use endseal_s3_format::entity_tag::{self, PartTag};
use endseal_s3_protocol::S3Error;
use endseal_s3_protocol::checksum::ChecksumType;
use endseal_s3_protocol::xml::{self, CompletedPart};
use http::header::ETAG;
use http::{HeaderMap, Response};

use super::upload::Upload;
use crate::content_checksum::shown;
use crate::context::{Proxy, RequestContext};
use crate::headers;
use crate::operations::location;
use crate::sealed_object::{Inspected, object_len};
use crate::transfer::Outgoing;

/// Returns the response for an upload that no longer exists, if the object was made from it. The
/// header is unique for each upload, and the record contains the parts.
///
/// # Errors
/// `NoSuchUpload` if the object was not made from this upload.
pub(super) async fn answer(
    proxy: &Proxy,
    call: &RequestContext,
    upload: &Upload<'_>,
    named: &[CompletedPart],
) -> Result<Response<Outgoing>, S3Error> {
    let object_ref = &upload.object_ref;
    let head = proxy.head(object_ref, HeaderMap::new()).await.map_err(|error| {
        if error.status().is_server_error() { error } else { S3Error::no_such_upload() }
    })?;
    let len = object_len(&head)?;
    let Inspected::Sealed(object) = proxy.examine(object_ref, head.headers(), len).await? else {
        return Err(S3Error::no_such_upload());
    };
    if !object.header.is_of_same_object(&upload.header) {
        return Err(S3Error::no_such_upload());
    }
    let record = proxy.record(object_ref, &object).await?;
    if !is_of(&record, named) {
        return Err(S3Error::no_such_upload());
    }
    upload.unpark_all(proxy).await;
    upload.forget(proxy).await;
    // Some servers (versitygw) start an upload again for a part that arrives late.
    upload.give_up(proxy).await;
    let tag = headers::text(head.headers(), ETAG).ok_or_else(S3Error::internal)?;
    let mut document = xml::Builder::new("CompleteMultipartUploadResult");
    document
        .leaf("Location", &location::of(proxy, &call.headers, &call.target))
        .leaf("Bucket", object_ref.bucket)
        .leaf("Key", object_ref.key)
        .leaf("ETag", &entity_tag::to_client(tag));
    if let Some(checksum) = record.checksum().and_then(shown) {
        let (kind, text) = if record.is_composite() {
            let text = format!("{}-{}", checksum.to_base64(), record.entries().len());
            (ChecksumType::Composite, text)
        } else {
            (ChecksumType::FullObject, checksum.to_base64())
        };
        document.leaf(checksum.kind().element(), &text).leaf("ChecksumType", kind.name());
    }
    let mut answer = Response::new(Outgoing::full(document.finish()));
    answer.headers_mut().insert("content-type", http::HeaderValue::from_static("application/xml"));
    if let Some(version) = head.headers().get("x-amz-version-id") {
        answer.headers_mut().insert("x-amz-version-id", version.clone());
    }
    Ok(answer)
}

/// Returns true if the record contains the parts of the client's list with the same salts.
fn is_of(record: &Record, named: &[CompletedPart]) -> bool {
    let entries = record.entries();
    entries.len() == named.len()
        && entries.iter().zip(named).all(|(entry, part)| {
            let tag = PartTag::parse(&part.etag);
            entry.number.get() == part.number && tag.is_ok_and(|tag| tag.salt() == entry.salt)
        })
}
