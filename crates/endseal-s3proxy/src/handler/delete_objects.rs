//! `DeleteObjects`: as it is, but not for what is the proxy's own.

use endseal_crypto::legacy_hash::Md5;
use http::{Method, Response};

use super::{conditions, content};
use crate::body::Outgoing;
use crate::client::Body;
use crate::error::S3Error;
use crate::headers;
use crate::object::entity_tag;
use crate::proxy::{Call, Proxy, pass};
use crate::sigv4::PayloadHash;
use crate::target::check_key;
use crate::xml::{self, Change, Entry, Replacement};

/// 1,000 keys of 1,024 bytes, escaped.
const MAX_REQUEST: u64 = 8 << 20;

/// Deletes many objects.
pub(super) async fn delete_objects(
    proxy: &Proxy,
    call: Call,
) -> Result<Response<Outgoing>, S3Error> {
    let digests = content::digests(&call.headers, &call.payload)?;
    let body = call.body.ok_or_else(S3Error::internal)?;
    let content = content::of(&call.headers, &call.payload, body, digests)?;
    let document = content::collect(content, MAX_REQUEST).await?;
    for object in xml::read_delete(&document)?.objects {
        check_key(&object.key)?;
    }
    // Conditions of single objects name what clients call them.
    let document = xml::rewrite(&document, |entry: &Entry<'_>| match &entry.etag {
        Some(tag) => Change::Set(Replacement {
            etag: Some(entity_tag::to_backend(tag)),
            ..Replacement::default()
        }),
        None => Change::Keep,
    })?;
    let mut headers = headers::about_sealed(&call.headers);
    conditions::to_backend(&mut headers);
    let mut digest = Md5::new();
    digest.update(&document);
    let digest = digest.finish();
    headers::insert(&mut headers, "content-md5", &base64(&digest))?;
    let hash = PayloadHash::Sha256(endseal_crypto::sha256::digest(&document));
    let body = Body::full(document.into());
    let response =
        proxy.send(&call.signer, &Method::POST, &call.target, headers, body, hash).await?;
    Ok(pass(response))
}

fn base64(bytes: &[u8]) -> String {
    use base64ct::Encoding as _;
    base64ct::Base64::encode_string(bytes)
}
