//! `RestoreObject`: forwarded, except for queries on sealed content.

use endseal_s3_protocol::S3Error;
use endseal_s3_protocol::sigv4::PayloadHash;
use endseal_s3_protocol::xml;
use http::Response;

use super::{content, pass_through};
use crate::context::{Proxy, RequestContext};
use crate::forward::without_body;
use crate::headers;
use crate::transfer::Outgoing;
use crate::upstream::Body;

/// Maximum size of a request in bytes. It contains a number of days and a tier, or a query, which
/// can be long.
const MAX_REQUEST: u64 = 1 << 20;

/// Restores an object from an archive.
pub(super) async fn restore_object(
    proxy: &Proxy,
    call: RequestContext,
) -> Result<Response<Outgoing>, S3Error> {
    let target = pass_through::target(&call).into_owned();
    let digests = content::digests(&call.headers, &call.payload)?;
    let body = call.body.ok_or_else(S3Error::internal)?;
    let content = content::of(&call.headers, &call.payload, body, digests)?;
    let document = content::collect(content, MAX_REQUEST).await?;
    if !document.is_empty() && xml::selects(&document)? {
        // The results of the query would be written unsealed by the backend.
        return Err(S3Error::not_implemented());
    }
    let headers = headers::about_sealed(&call.headers);
    let hash = PayloadHash::Sha256(endseal_crypto::sha256::digest(&document));
    let body = Body::full(document);
    let response = proxy.send(&call.signer, &call.method, &target, headers, body, hash).await?;
    Ok(without_body(response).await)
}
