//! Records of uploads (docs/spec/s3-object.md, "Recorded uploads"): the ids that clients got, and
//! receipts of parts. A record that does not authenticate is ignored.

use std::collections::HashMap;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use endseal_crypto::random::OsRandom;
use endseal_s3_format::{
    PartNumber, Receipt, UploadId, receipt_key, recorded_folder, recorded_folder_of,
    recorded_id_key,
};
use endseal_s3_protocol::S3Error;
use endseal_s3_protocol::checksum::ChecksumValue;
use endseal_s3_protocol::sigv4::PayloadHash;
use endseal_s3_protocol::xml;
use endseal_s3_protocol::{Query, Target};
use http::{HeaderMap, Method, StatusCode};

use super::upload::{Upload, of_own_key};
use crate::content_checksum::shown;
use crate::context::Proxy;
use crate::credentials::BackendSigner;
use crate::forward::read;
use crate::operations::delete_objects;
use crate::sealed_object::ObjectRef;
use crate::upstream::Body;

/// Maximum size in bytes of a page of a list of the proxy's own keys.
const MAX_LIST: usize = 4 << 20;

/// Maximum number of pages of 1,000 records that are deleted with an upload: 10,000 parts, and some
/// that were sent again.
const MAX_PAGES: usize = 16;

impl Upload<'_> {
    /// Records the id that the client will get.
    ///
    /// # Errors
    /// If it could not be written. The client MUST NOT get the id then.
    pub(super) async fn write_id(&self, proxy: &Proxy, id: &str) -> Result<(), S3Error> {
        let body = id.as_bytes().to_vec();
        let written = self.write(proxy, &recorded_id_key(&self.backend_id), body).await;
        written.inspect_err(|_| count_failure(proxy))
    }

    /// Writes the receipt of a part. A failure is only counted, because the part is valid without
    /// it.
    pub(super) async fn write_receipt(&self, proxy: &Proxy, number: PartNumber, of: &Receipt) {
        let sealed = of.seal(&self.key, number, &mut OsRandom).map_err(|_| S3Error::internal());
        let key = receipt_key(&self.backend_id, number, &of.entity_tag);
        let written = match sealed {
            Ok(sealed) => self.write(proxy, &key, sealed).await,
            Err(error) => Err(error),
        };
        if written.is_err() {
            count_failure(proxy);
        }
    }

    async fn write(&self, proxy: &Proxy, key: &str, body: Vec<u8>) -> Result<(), S3Error> {
        let headers = self.owner_headers(proxy)?;
        let target = Target::of(self.object_ref.bucket, Some(key), Query::new());
        let (body, hash) = (Body::full(body.into()), PayloadHash::Unsigned);
        let signer = self.object_ref.signer;
        let sent = proxy.send(signer, &Method::PUT, &target, headers, body, hash).await;
        sent.map(drop).map_err(of_own_key)
    }

    /// Returns the receipt for the upload of a part that has this tag at the backend, if there is
    /// one.
    ///
    /// # Errors
    /// If the backend does not respond, or responds with an error.
    pub(super) async fn receipt(
        &self,
        proxy: &Proxy,
        number: PartNumber,
        entity_tag: &str,
    ) -> Result<Option<Receipt>, S3Error> {
        let key = receipt_key(&self.backend_id, number, entity_tag);
        let (signer, bucket) = (self.object_ref.signer, self.object_ref.bucket);
        let sealed = find(proxy, signer, bucket, &key, Receipt::MAX_LEN).await?;
        let Some(sealed) = sealed else { return Ok(None) };
        let receipt = Receipt::open(&self.key, number, &sealed).ok();
        let receipt = receipt.filter(|receipt| receipt.entity_tag == entity_tag);
        if receipt.is_none() {
            proxy.metrics.records_refused.fetch_add(1, Relaxed);
        }
        Ok(receipt)
    }

    /// Returns the checksums that clients stated for these parts, by part number.
    ///
    /// # Errors
    /// If the backend does not respond, or responds with an error.
    pub(super) async fn checksums(
        &self,
        proxy: &Proxy,
        parts: &[(PartNumber, &str)],
    ) -> Result<HashMap<PartNumber, ChecksumValue>, S3Error> {
        if !proxy.rule(self.object_ref.bucket).records_uploads() {
            return Ok(HashMap::new());
        }
        let next = AtomicUsize::new(0);
        let one = || self.some_checksums(proxy, parts, &next);
        // Eight requests run at a time. A page has 1,000 parts, but the connections are shared by
        // all requests.
        let (a, b, c, d, e, f, g, h) =
            tokio::try_join!(one(), one(), one(), one(), one(), one(), one(), one())?;
        Ok([a, b, c, d, e, f, g, h].into_iter().flatten().collect())
    }

    /// Processes one part after another, until `next` has reached the end.
    async fn some_checksums(
        &self,
        proxy: &Proxy,
        parts: &[(PartNumber, &str)],
        next: &AtomicUsize,
    ) -> Result<Vec<(PartNumber, ChecksumValue)>, S3Error> {
        let mut found = Vec::new();
        while let Some(&(number, tag)) = parts.get(next.fetch_add(1, Relaxed)) {
            let receipt = self.receipt(proxy, number, tag).await?;
            found
                .extend(receipt.and_then(|receipt| {
                    Some((number, receipt.checksum.as_ref().and_then(shown)?))
                }));
        }
        Ok(found)
    }

    /// Aborts an upload that was just started. If that fails, an upload remains that `clean`
    /// removes.
    pub(super) async fn give_up(&self, proxy: &Proxy) {
        let target = self.target(Query::new());
        let _ = proxy.ask(self.object_ref.signer, &Method::DELETE, &target, HeaderMap::new()).await;
    }

    /// Deletes the records of an upload that no longer exists.
    pub(super) async fn forget(&self, proxy: &Proxy) {
        forget(proxy, self.object_ref.signer, self.object_ref.bucket, &self.backend_id).await;
    }
}

/// Deletes the records of the upload with this backend id. Records that cannot be deleted are
/// removed by `clean`.
pub(super) async fn forget(proxy: &Proxy, signer: &BackendSigner, bucket: &str, backend_id: &str) {
    if proxy.rule(bucket).records_uploads()
        && forget_all(proxy, signer, bucket, backend_id).await.is_err()
    {
        count_failure(proxy);
    }
}

async fn forget_all(
    proxy: &Proxy,
    signer: &BackendSigner,
    bucket: &str,
    backend_id: &str,
) -> Result<(), S3Error> {
    let folder = recorded_folder(backend_id);
    for _ in 0..MAX_PAGES {
        let query = Query::new().with("list-type", "2").with("prefix", &folder);
        let target = Target::of(bucket, None, query);
        let response = proxy.ask(signer, &Method::GET, &target, HeaderMap::new()).await?;
        let document = read(response.into_body(), MAX_LIST).await?;
        let head = xml::ListHead::read(&document).map_err(|error| S3Error::unreadable(&error))?;
        let mut request = xml::Builder::new("Delete");
        request.leaf("Quiet", "true");
        let mut count = 0_usize;
        xml::entries(&document, |entry| {
            let key = entry.key.as_deref().unwrap_or_default();
            if recorded_folder_of(key) == Some(folder.as_str()) {
                request.open("Object").leaf("Key", key).close();
                count += 1;
            }
        })
        .map_err(|error| S3Error::unreadable(&error))?;
        if count == 0 {
            return Ok(());
        }
        let target = Target::of(bucket, None, Query::new().with("delete", ""));
        let request = request.finish();
        let response =
            delete_objects::send(proxy, signer, &target, HeaderMap::new(), request).await?;
        let answer = read(response.into_body(), MAX_LIST).await?;
        let mut refused = false;
        let is_read = xml::entries(&answer, |entry| {
            refused |= entry.kind == xml::EntryKind::DeleteError;
        });
        if is_read.is_err() || refused {
            return Err(S3Error::unavailable());
        }
        if !head.is_truncated {
            return Ok(());
        }
    }
    // There are more records than an upload can have.
    Err(S3Error::internal())
}

/// Returns the upload id that a client got for the backend's upload, if it is recorded and
/// authentic.
///
/// # Errors
/// If the backend or the key provider is not available.
pub(in crate::operations) async fn given_id(
    proxy: &Proxy,
    object_ref: ObjectRef<'_>,
    backend_id: &str,
) -> Result<Option<String>, S3Error> {
    let key = recorded_id_key(backend_id);
    let text = find(proxy, object_ref.signer, object_ref.bucket, &key, UploadId::MAX_TEXT).await?;
    let Some(text) = text else { return Ok(None) };
    let text = String::from_utf8(text).unwrap_or_default();
    match Upload::named(proxy, object_ref, &text).await {
        Ok(upload) if upload.backend_id == backend_id => Ok(Some(text)),
        Err(error) if error.status() == StatusCode::SERVICE_UNAVAILABLE => Err(error),
        _ => {
            proxy.metrics.records_refused.fetch_add(1, Relaxed);
            Ok(None)
        }
    }
}

/// Returns the backend's id of the upload that a list marker names. The marker is an id of the
/// proxy or of the backend.
///
/// # Errors
/// `InvalidArgument` for an id of the proxy that does not belong to the marker's key.
pub(in crate::operations) async fn backends_marker(
    proxy: &Proxy,
    object_ref: ObjectRef<'_>,
    marker: &str,
) -> Result<String, S3Error> {
    if UploadId::parse(marker).is_err() {
        return Ok(marker.to_owned());
    }
    match Upload::named(proxy, object_ref, marker).await {
        Ok(upload) => Ok(upload.backend_id),
        Err(error) if error.status() == StatusCode::SERVICE_UNAVAILABLE => Err(error),
        Err(_) => {
            Err(S3Error::invalid_argument("The upload id marker does not belong to the key marker"))
        }
    }
}

/// Reads an object of the proxy completely. Returns `None` if it does not exist or is longer than
/// `most` bytes. A server may respond with 403 instead of 404.
async fn find(
    proxy: &Proxy,
    signer: &BackendSigner,
    bucket: &str,
    key: &str,
    most: usize,
) -> Result<Option<Vec<u8>>, S3Error> {
    let target = Target::of(bucket, Some(key), Query::new());
    let response = match proxy.ask(signer, &Method::GET, &target, HeaderMap::new()).await {
        Ok(response) => response,
        Err(error) if matches!(error.status().as_u16(), 403 | 404) => return Ok(None),
        Err(error) => return Err(error),
    };
    match read(response.into_body(), most).await {
        Ok(bytes) => Ok(Some(bytes.to_vec())),
        // It is longer than a record.
        Err(error) if error.status() == StatusCode::BAD_GATEWAY => Ok(None),
        Err(error) => Err(error),
    }
}

fn count_failure(proxy: &Proxy) {
    proxy.metrics.records_failed.fetch_add(1, Relaxed);
}
