//! `CreateMultipartUpload`

use endseal_crypto::random::OsRandom;
use http::header::CONTENT_LENGTH;
use http::{Method, Response};

use super::upload::Upload;
use crate::body::Outgoing;
use crate::bucket::Plaintext;
use crate::error::S3Error;
use crate::handler::put_object::set_metadata;
use crate::headers;
use crate::object::{Header, UploadId};
use crate::proxy::{Call, Proxy, Sought, pass, read};
use crate::xml::{self, ResultChange};

/// Begins an upload.
pub(in crate::handler) async fn create(
    proxy: &Proxy,
    call: &Call,
) -> Result<Response<Outgoing>, S3Error> {
    let sought = Sought::of(&call.signer, &call.target)?;
    let mut headers = headers::about_sealed(&call.headers);
    if proxy.rule(sought.bucket).plaintext == Plaintext::Allow {
        headers::check_user_metadata(&headers)?;
        let response = proxy.ask(&call.signer, &Method::POST, &call.target, headers).await?;
        return Ok(pass(response));
    }
    let place = sought.place()?;
    let keys = proxy.new_key(place).await?;
    let header = Header::multipart(
        &keys.key,
        keys.binding,
        keys.wrapped.key_id.as_str(),
        &keys.wrapped.bytes,
        &mut OsRandom,
    )
    .map_err(|_| S3Error::internal())?;
    set_metadata(proxy, sought.bucket, &mut headers, &header, &keys.key)?;
    let response = proxy.ask(&call.signer, &Method::POST, &call.target, headers).await?;
    if !response.status().is_success() {
        return Ok(pass(response));
    }
    let (head, body) = response.into_parts();
    let document = read(body, 64 * 1024).await?;
    let fields = xml::Fields::read(&document).map_err(|_| S3Error::internal())?;
    let backend_id = fields.upload_id.ok_or_else(S3Error::internal)?;
    let id = UploadId::seal(&header, &keys.key, &place, &backend_id, &mut OsRandom)
        .map_err(|_| S3Error::internal())?;
    if proxy.rule(sought.bucket).records_uploads() {
        let upload = Upload { sought, key: keys.key, backend_id };
        if let Err(error) = upload.write_id(proxy, &id).await {
            // A client that has an id may look for it in a list.
            upload.give_up(proxy).await;
            return Err(error);
        }
    }
    let change = ResultChange { upload_id: Some(id), ..ResultChange::default() };
    let document = xml::rewrite_result(&document, &change).map_err(|_| S3Error::internal())?;
    let mut answer = Response::from_parts(head, Outgoing::full(document));
    let mut headers = headers::returned(answer.headers());
    headers.remove(CONTENT_LENGTH);
    headers::remove(&mut headers, |name| headers::is_checksum(name.as_str()));
    for name in ["x-amz-checksum-algorithm", "x-amz-checksum-type"] {
        if let Some(value) = call.headers.get(name) {
            headers.insert(name, value.clone());
        }
    }
    *answer.headers_mut() = headers;
    Ok(answer)
}
