//! Test of a server's support for `If-Match` on copies or writes. A server without it would replace
//! an object that was written meanwhile.

use bytes::Bytes;
use endseal_crypto::random::{OsRandom, Random as _};
use endseal_s3_format::RESERVED_PREFIX;
use endseal_s3_protocol::S3Error;
use endseal_s3_protocol::sigv4::PayloadHash;
use endseal_s3_protocol::{Query, Target};
use http::header::{ETAG, IF_MATCH};
use http::{HeaderMap, Method, StatusCode};

use super::ask::ask;
use super::fault::Fault;
use crate::context::Proxy;
use crate::headers;
use crate::upstream::Body;

/// Entity tag that no object has. It has the form of an MD5, because servers may refuse other
/// values.
const NO_TAG: &str = "\"00000000000000000000000000000000\"";

/// Folder of the test objects within the reserved prefix.
const TRIALS: &str = "trial/";

/// Returns true if a key is that of a test object, which is useless after the test.
pub(super) fn is_trial(key: &str) -> bool {
    let number = key.strip_prefix(RESERVED_PREFIX).and_then(|key| key.strip_prefix(TRIALS));
    let is_hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    number.is_some_and(|number| number.len() == 16 && number.bytes().all(is_hex))
}

/// Kind of write of which the condition is tested.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum TriedWrite {
    /// Copy of an object onto itself.
    Copy,
    /// Write of new content.
    Put,
}

/// Tests the server with an object of one byte under the reserved prefix. The object is written
/// again under a condition that does not hold, and then deleted.
///
/// # Errors
/// The fault if the object cannot be written at all.
pub(super) async fn heeds_conditions(
    proxy: &Proxy,
    bucket: &str,
    write: TriedWrite,
) -> Result<bool, Fault> {
    let mut random = [0; 8];
    OsRandom.fill(&mut random).map_err(|_| Fault::from(S3Error::internal()))?;
    let key = format!("{RESERVED_PREFIX}{TRIALS}{:016x}", u64::from_be_bytes(random));
    let target = Target::of(bucket, Some(&key), Query::new());
    let body = Body::full(Bytes::from_static(b"x"));
    let (signer, hash) = (proxy.own_signer(), PayloadHash::Unsigned);
    let put = proxy.send(signer, &Method::PUT, &target, HeaderMap::new(), body, hash).await?;
    let mut versions = vec![version(put.headers())];
    let tag = headers::text(put.headers(), ETAG).unwrap_or("*").to_owned();
    let mut headers = HeaderMap::new();
    headers::insert(&mut headers, IF_MATCH.as_str(), NO_TAG)?;
    if write == TriedWrite::Copy {
        headers::insert(&mut headers, "x-amz-copy-source", &target.path())?;
        headers::insert(&mut headers, "x-amz-copy-source-if-match", &tag)?;
        headers::insert(&mut headers, "x-amz-metadata-directive", "REPLACE")?;
    }
    let copied = match write {
        TriedWrite::Copy => ask(proxy, &Method::PUT, &target, headers).await,
        TriedWrite::Put => {
            let (body, hash) = (Body::full(Bytes::from_static(b"y")), PayloadHash::Unsigned);
            let sent = proxy.send(signer, &Method::PUT, &target, headers, body, hash).await;
            sent.map_err(Fault::from)
        }
    };
    if let Ok(copied) = &copied {
        versions.push(version(copied.headers()));
    }
    versions.dedup();
    for version in versions {
        let query = match version {
            Some(version) => Query::new().with("versionId", &version),
            None => Query::new(),
        };
        let target = Target::of(bucket, Some(&key), query);
        // If this fails, one byte remains, which `clean` removes.
        let _ = ask(proxy, &Method::DELETE, &target, HeaderMap::new()).await;
    }
    match copied {
        Ok(_) => Ok(false),
        Err(fault) => match fault.status() {
            StatusCode::PRECONDITION_FAILED => Ok(true),
            StatusCode::NOT_IMPLEMENTED => Ok(false),
            _ => Err(fault),
        },
    }
}

fn version(headers: &HeaderMap) -> Option<String> {
    let version = headers::text(headers, "x-amz-version-id")?;
    Some(version.to_owned()).filter(|version| version != "null")
}
