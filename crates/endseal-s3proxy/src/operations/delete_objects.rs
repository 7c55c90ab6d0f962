//! `DeleteObjects`: forwarded with translated names and tags, but not for the proxy's own objects.

use endseal_crypto::legacy_hash::Md5;
use endseal_s3_format::entity_tag;
use endseal_s3_format::names::Names;
use endseal_s3_protocol::S3Error;
use endseal_s3_protocol::Target;
use endseal_s3_protocol::sigv4::PayloadHash;
use endseal_s3_protocol::xml::{self, Change, Entry, Replacement, XmlError};
use http::{HeaderMap, Method, Response};

use super::{conditions, content};
use crate::context::{Proxy, RequestContext};
use crate::credentials::BackendSigner;
use crate::forward::{late_error, read, with_document};
use crate::headers;
use crate::names::check_key;
use crate::transfer::Outgoing;
use crate::upstream::{Body, ResponseBody};

/// Maximum size of a request in bytes: 1,000 escaped keys of 1,024 bytes.
const MAX_REQUEST: u64 = 8 << 20;

/// Maximum size of an answer in bytes: the same keys, each with an error.
const MAX_ANSWER: usize = 16 << 20;

/// Deletes many objects.
pub(super) async fn delete_objects(
    proxy: &Proxy,
    mut call: RequestContext,
) -> Result<Response<Outgoing>, S3Error> {
    let digests = content::digests(&call.headers, &call.payload)?;
    let body = call.body.take().ok_or_else(S3Error::internal)?;
    let content = content::of(&call.headers, &call.payload, body, digests)?;
    let document = content::collect(content, MAX_REQUEST).await?;
    let objects = xml::read_delete(&document)?.objects;
    for object in &objects {
        check_key(&object.key)?;
    }
    // Conditions on single objects contain the tags that clients see.
    let bucket = call.target.bucket().ok_or_else(S3Error::internal)?;
    let names = proxy.names(bucket);
    let mut too_long = false;
    let document = xml::rewrite(&document, |entry: &Entry<'_>| {
        let key = names.as_ref().zip(entry.key.as_deref()).map(|(names, key)| names.seal_key(key));
        too_long |= matches!(key, Some(Err(_)));
        let etag = entry.etag.as_deref().map(entity_tag::to_backend);
        let key = key.and_then(Result::ok);
        match (&key, &etag) {
            (None, None) => Change::Keep,
            _ => Change::Set(Replacement { key, etag, ..Replacement::default() }),
        }
    })?;
    if too_long {
        return Err(S3Error::key_too_long());
    }
    let mut headers = headers::about_sealed(&call.headers);
    conditions::to_backend(&mut headers);
    let response = send(proxy, &call.signer, &call.target, headers, document).await?;
    let (head, body) = response.into_parts();
    let document = read(body, MAX_ANSWER).await?;
    if xml::root_name(&document).map_err(|error| S3Error::unreadable(&error))? == "Error" {
        return Err(late_error(xml::Fields::read(&document).unwrap_or_default()));
    }
    let document = match names {
        Some(names) => opened(&names, &document),
        None => xml::rewrite(&document, |_: &Entry<'_>| Change::Keep),
    };
    let document = document.map_err(|error| S3Error::unreadable(&error))?;
    Ok(with_document(head, document))
}

/// Sends a delete request with the digest that S3 requires for it.
///
/// # Errors
/// The same errors as [`Proxy::send`].
pub(super) async fn send(
    proxy: &Proxy,
    signer: &BackendSigner,
    target: &Target,
    mut headers: HeaderMap,
    document: Vec<u8>,
) -> Result<Response<ResponseBody>, S3Error> {
    let mut digest = Md5::new();
    digest.update(&document);
    headers::insert(&mut headers, "content-md5", &base64(&digest.finish()))?;
    let hash = PayloadHash::Sha256(endseal_crypto::sha256::digest(&document));
    let body = Body::full(document.into());
    proxy.send(signer, &Method::POST, target, headers, body, hash).await
}

/// Replaces the backend's names in a response by those of clients.
fn opened(names: &Names, document: &[u8]) -> Result<Vec<u8>, XmlError> {
    xml::rewrite(document, |entry: &Entry<'_>| {
        let key = entry.key.as_deref().and_then(|key| names.open_key(key).ok());
        match key {
            Some(key) => Change::Set(Replacement { key: Some(key), ..Replacement::default() }),
            None => Change::Keep,
        }
    })
}

fn base64(bytes: &[u8]) -> String {
    use base64ct::Encoding as _;
    base64ct::Base64::encode_string(bytes)
}
