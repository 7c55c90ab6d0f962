//! `CreateMultipartUpload`.

use endseal_crypto::random::OsRandom;
use endseal_s3_format::{Header, UploadId};
use endseal_s3_protocol::S3Error;
use endseal_s3_protocol::xml::{self, ResultChange};
use http::{Method, Response};

use super::announced::{Announced, CHECKSUM_TYPE};
use super::upload::Upload;
use crate::bucket::Plaintext;
use crate::context::{Proxy, RequestContext};
use crate::forward::{started, with_document};
use crate::headers::{self, CHECKSUM_ALGORITHM};
use crate::operations::put_object::set_metadata;
use crate::sealed_object::ObjectRef;
use crate::transfer::{Outgoing, TRAILER};

/// Starts an upload.
pub(in crate::operations) async fn create(
    proxy: &Proxy,
    call: &RequestContext,
) -> Result<Response<Outgoing>, S3Error> {
    let object_ref = ObjectRef::of(&call.signer, &call.target)?;
    let mut headers = headers::about_sealed(&call.headers);
    if proxy.rule(object_ref.bucket).plaintext == Plaintext::Allow {
        headers::check_user_metadata(&headers)?;
        let response = proxy.ask(&call.signer, &Method::POST, &call.target, headers).await?;
        let (head, body) = response.into_parts();
        let (document, _) = started(body).await?;
        return Ok(with_document(head, document.to_vec()));
    }
    let announced = Announced::of_creation(&call.headers)?;
    let place = object_ref.place()?;
    let keys = proxy.new_key(place).await?;
    let header = Header::multipart(
        &keys.key,
        &keys.bound,
        (keys.wrapped.key_id.as_str(), &keys.wrapped.bytes),
        &mut OsRandom,
    )
    .map_err(|_| S3Error::internal())?;
    set_metadata(&mut headers, &header, &keys.key)?;
    if proxy.has_trailers() {
        // This is the checksum of the sealed parts, which are sent with that algorithm.
        headers::insert(&mut headers, CHECKSUM_ALGORITHM, TRAILER.name())?;
    }
    let response = proxy.ask(&call.signer, &Method::POST, &call.target, headers).await?;
    let (head, body) = response.into_parts();
    let (document, backend_id) = started(body).await?;
    let checksum = announced.map(Announced::sealed);
    let id = UploadId::seal(&header, &keys.key, &place, checksum, &backend_id, &mut OsRandom)
        .map_err(|_| S3Error::internal())?;
    if proxy.rule(object_ref.bucket).records_uploads() {
        let upload = Upload { object_ref, header, key: keys.key, announced, backend_id };
        if let Err(error) = upload.write_id(proxy, &id).await {
            // A client that has the id may search for it in a list.
            upload.give_up(proxy).await;
            return Err(error);
        }
    }
    let change = ResultChange { upload_id: Some(id), ..ResultChange::default() };
    let document =
        xml::rewrite_result(&document, &change).map_err(|error| S3Error::unreadable(&error))?;
    let mut answer = with_document(head, document);
    let headers = answer.headers_mut();
    headers::remove(headers, |name| headers::is_checksum(name.as_str()));
    if let Some(Announced { algorithm, checksum_type }) = announced {
        headers::insert(headers, CHECKSUM_ALGORITHM, algorithm.name())?;
        headers::insert(headers, CHECKSUM_TYPE, checksum_type.name())?;
    }
    Ok(answer)
}
