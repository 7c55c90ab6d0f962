//! Handles uploads in parts.

use endseal_s3_protocol::S3Error;
use endseal_s3_protocol::sigv4::uri;
use endseal_s3_protocol::xml::{self, Builder};
use http::{Response, StatusCode};

use crate::object::{MAX_OBJECT, beside};
use crate::reading::Reply;
use crate::receive::{blocking, receive};
use crate::request::Asked;
use crate::response::{document, empty, set};
use crate::uploads::{number, upload_id};

/// Greatest length of a request in bytes: a list of 10,000 parts with their tags.
const MAX_REQUEST: u64 = 4 << 20;

/// Handles `CreateMultipartUpload`: starts an upload and returns its id.
pub(crate) async fn create(asked: &Asked) -> Result<Response<Reply>, S3Error> {
    let (bucket, key) = (asked.bucket()?, asked.key()?);
    let headers = beside(&asked.headers);
    let mut xml = Builder::new("InitiateMultipartUploadResult");
    xml.leaf("Bucket", &bucket).leaf("Key", &key);
    let id = blocking(&asked.store, move |store| store.begin(&bucket, &key, headers)).await?;
    xml.leaf("UploadId", id.as_str());
    Ok(document(xml))
}

/// Handles `UploadPart`: stores one part of an upload.
pub(crate) async fn part(asked: Asked) -> Result<Response<Reply>, S3Error> {
    let (bucket, key) = (asked.bucket()?, asked.key()?);
    let (id, number) = (upload_id(&asked)?, number(&asked)?);
    let Asked { store, content, .. } = asked;
    if content.len() > MAX_OBJECT {
        return Err(S3Error::too_large());
    }
    // This is checked before the body: a client need not send the body of a refused request.
    let (early, name, upload) = (bucket.clone(), key.clone(), id.clone());
    blocking(&store, move |store| {
        let _bucket = store.in_bucket(&early)?;
        store.upload(&early, &name, &upload).map(drop)
    })
    .await?;
    let draft = receive(&store, content).await?;
    let placed =
        move |store: &super::store::Store| store.place_part(&bucket, &key, &id, number, draft);
    let (etag, _) = blocking(&store, placed).await?;
    let mut response = empty(StatusCode::OK);
    set(&mut response, "etag", &etag);
    Ok(response)
}

/// Handles `CompleteMultipartUpload`: joins the listed parts to an object.
pub(crate) async fn complete(mut asked: Asked) -> Result<Response<Reply>, S3Error> {
    let (bucket, key) = (asked.bucket()?, asked.key()?);
    let id = upload_id(&asked)?;
    let named = xml::read_complete(&asked.collect(MAX_REQUEST).await?)?;
    let headers = asked.headers.clone();
    let mut xml = Builder::new("CompleteMultipartUploadResult");
    xml.leaf("Location", &format!("/{bucket}/{}", uri::encode_path(key.as_bytes())));
    xml.leaf("Bucket", &bucket).leaf("Key", &key);
    let entry =
        blocking(&asked.store, move |store| store.complete(&bucket, &key, &id, &named, &headers))
            .await?;
    xml.leaf("ETag", &entry.etag());
    Ok(document(xml))
}

/// Handles `AbortMultipartUpload`: deletes an upload and its parts.
pub(crate) async fn abort(asked: &Asked) -> Result<Response<Reply>, S3Error> {
    let (bucket, key) = (asked.bucket()?, asked.key()?);
    let id = upload_id(asked)?;
    blocking(&asked.store, move |store| store.abort(&bucket, &key, &id)).await?;
    Ok(empty(StatusCode::NO_CONTENT))
}
