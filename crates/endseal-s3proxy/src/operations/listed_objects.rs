//! Entries of lists for sealed and plaintext objects.

use endseal_s3_format::{entity_tag, size};
use endseal_s3_protocol::S3Error;
use endseal_s3_protocol::xml::{self, Entry, Replacement};
use http::HeaderMap;

use crate::bucket::Plaintext;
use crate::context::{Proxy, RequestContext};
use crate::sealed_object::{Inspected, ObjectRef, object_len};

/// Keys and versions of a list that are not sealed.
pub(super) type Plain = Vec<(String, Option<String>)>;

/// Finds the plaintext objects of a list. In a bucket that may contain plaintext, each object is
/// requested, because its length does not show its form.
pub(super) async fn plaintext(
    proxy: &Proxy,
    call: &RequestContext,
    bucket: &str,
    objects: Vec<(String, Option<String>)>,
) -> Result<Plain, S3Error> {
    let mut plain = Vec::new();
    if proxy.rule(bucket).plaintext == Plaintext::Forbid {
        return Ok(plain);
    }
    for (key, version) in objects {
        let object_ref = ObjectRef {
            signer: &call.signer,
            bucket,
            key: &key,
            version: version.as_deref().filter(|_| call.target.query().has("versions")),
            is_stored: false,
        };
        let response = match proxy.head(&object_ref, HeaderMap::new()).await {
            Ok(response) => response,
            Err(error) if error.status().is_client_error() => continue,
            Err(error) => return Err(error),
        };
        let len = object_len(&response).unwrap_or(0);
        let found = proxy.examine(&object_ref, response.headers(), len).await;
        if matches!(found, Ok(Inspected::Plain)) {
            plain.push((key, version));
        }
    }
    Ok(plain)
}

/// Returns the entry of plaintext, in which only the entity tag is translated.
pub(super) fn plain_entry(entry: &Entry<'_>) -> Replacement {
    Replacement { etag: entry.etag.as_deref().map(entity_tag::to_client), ..Replacement::default() }
}

/// Returns the entry of a sealed object.
pub(super) fn sealed_entry(entry: &Entry<'_>) -> Replacement {
    Replacement {
        // A length that no sealed object has is not changed. Reading the object will be refused.
        size: entry.size.and_then(size::plaintext_len),
        etag: entry.etag.as_deref().map(entity_tag::to_client),
        checksum: xml::ChecksumChange::Drop,
        ..Replacement::default()
    }
}
