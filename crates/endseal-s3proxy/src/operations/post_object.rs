//! Upload by an HTML form (`POST Object`): fields, a policy that allows them, and a file.
//!
//! The header of a sealed object contains its length, so the length of the file must be known in
//! advance. A form of at most [`SMALL`] bytes is read completely first. For a longer one the length
//! follows from `Content-Length`, assuming that the file is the last field and that the form ends
//! with the boundary and CRLF, as all browsers and libraries write it. A long form with another end
//! is refused when its end arrives, and nothing is stored.

mod answer;
mod fields;
mod preamble;

use core::future::poll_fn;
use std::sync::Arc;
use std::time::SystemTime;

use bytes::{Bytes, BytesMut};
use endseal_s3_protocol::Operation;
use endseal_s3_protocol::S3Error;
use endseal_s3_protocol::sigv4::FormAccess;
use endseal_s3_protocol::{Query, Target};
use http::request::Parts;
use http::{Method, Response};
use tokio::time;

use self::fields::Fields;
use self::preamble::Preamble;
use super::{location, put_object};
use crate::context::{AccessLog, Proxy};
use crate::headers;
use crate::names::check_key;
use crate::sealed_object::ObjectRef;
use crate::transfer::{Content, ContentSource, FormFile, Outgoing, RequestBody, find};

/// Size in bytes up to which a form is read completely before its file is sealed.
const SMALL: u64 = 256 * 1024;

/// Seals the file that a form uploads.
pub(crate) async fn post_object(
    proxy: &Proxy,
    head: Parts,
    mut upload: Box<RequestBody>,
    target: &Target,
    seen: &mut AccessLog,
) -> Result<Response<Outgoing>, S3Error> {
    let bucket = target.bucket().ok_or_else(S3Error::internal)?;
    let boundary = preamble::boundary(&head.headers)?;
    let len = headers::text(&head.headers, "content-length");
    let len = len.and_then(|len| len.parse::<u64>().ok()).ok_or_else(S3Error::missing_length)?;
    let timeout = proxy.limits().idle_timeout;
    let preamble = time::timeout(timeout, Preamble::read(&mut upload, &boundary)).await;
    let preamble = preamble.map_err(|_| S3Error::request_timeout())??;
    let fields = Fields::new(preamble.fields, &preamble.filename)?;

    let (verifier, clients, own) = proxy.form_access();
    let access = verifier.verify_form(bucket, fields.all(), SystemTime::now());
    let form = match access {
        Ok(FormAccess::Signed(form)) => form,
        Ok(_) => return Err(proxy.refused(S3Error::access_denied())),
        Err(error) => return Err(proxy.refused(error.into())),
    };
    let client = clients.get(&form.access_key).ok_or_else(S3Error::access_denied)?;
    seen.client = Some(Arc::clone(client));
    let key = fields.key()?;
    check_key(key)?;
    let target = Target::of(bucket, Some(key), Query::new());
    seen.target = Some(target.without_query());
    client
        .check(Operation::PostObject, &Method::POST, &target)
        .map_err(|error| proxy.refused(error))?;

    let left = len.checked_sub(preamble.len).ok_or_else(S3Error::incomplete_body)?;
    let file = time::timeout(timeout, file(upload, preamble.rest, left, &boundary)).await;
    let (file, len) = file.map_err(|_| S3Error::request_timeout())??;
    if let Some(range) = &form.content_length {
        if len < *range.start() {
            return Err(S3Error::too_small());
        }
        if len > *range.end() {
            return Err(S3Error::too_large());
        }
    }
    let content = Content::plain(ContentSource::Form(Box::new(file)), len, fields.digests()?);
    let signer = clients.signer(&form.access_key).unwrap_or_else(|| own.clone());
    let object_ref = ObjectRef { signer: &signer, bucket, key, version: None, is_stored: false };
    let stored = put_object::store(proxy, &object_ref, fields.headers()?, content).await?;
    let location = location::of(proxy, &head.headers, &target);
    answer::of(&fields, (bucket, key), location, &stored)
}

/// Returns the file and its length. `left` is the number of bytes of the form that have not been
/// parsed.
async fn file(
    mut upload: Box<RequestBody>,
    rest: Bytes,
    left: u64,
    boundary: &str,
) -> Result<(FormFile, u64), S3Error> {
    let delimiter = Bytes::from(format!("\r\n--{boundary}"));
    if left > SMALL {
        let ending = Bytes::from(format!("\r\n--{boundary}--\r\n"));
        let len = left.checked_sub(ending.len() as u64).ok_or_else(S3Error::malformed_form)?;
        return Ok((FormFile::new(upload, rest, len, delimiter, ending), len));
    }
    let mut all = BytesMut::from(rest);
    while let Some(piece) = poll_fn(|cx| upload.poll_piece(cx)).await {
        all.extend_from_slice(&piece?);
    }
    if all.len() as u64 != left {
        return Err(S3Error::incomplete_body());
    }
    // As in S3, fields behind the file are ignored.
    let at = find(&all, &delimiter).ok_or_else(S3Error::malformed_form)?;
    all.truncate(at);
    let len = all.len() as u64;
    Ok((FormFile::new(upload, all.freeze(), len, delimiter, Bytes::new()), len))
}
