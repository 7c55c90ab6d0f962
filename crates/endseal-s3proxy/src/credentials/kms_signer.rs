//! Signatures of requests to AWS KMS.

use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;
use endseal_kms::ProviderError;
use endseal_kms::aws::{RequestSigner, Signing};
use endseal_s3_protocol::sigv4::PayloadHash;
use http::Request;
use http::header::{HOST, HeaderValue};

use super::BackendSigner;

/// Signs with fixed credentials or those of a chain.
pub(crate) struct KmsSigner {
    credentials: BackendSigner,
    host: HeaderValue,
}

impl KmsSigner {
    /// Returns a signer of requests to `host`, the value of the header. The credentials must be
    /// for the service `kms`.
    pub(crate) fn new(credentials: BackendSigner, host: HeaderValue) -> Arc<Self> {
        Arc::new(Self { credentials, host })
    }
}

impl RequestSigner for KmsSigner {
    fn sign(&self, request: Request<Bytes>) -> Signing<'_> {
        Box::pin(async move {
            let (mut head, body) = request.into_parts();
            let signer = self.credentials.current().await;
            let signer = signer.map_err(|_| ProviderError::Unavailable {
                retry_after: core::time::Duration::from_secs(1),
            })?;
            head.headers.insert(HOST, self.host.clone());
            let hash = PayloadHash::Sha256(endseal_crypto::sha256::digest(&body));
            let (method, path) = (head.method.as_str(), head.uri.path());
            let signed =
                signer.sign(method, path, None, &mut head.headers, hash, SystemTime::now());
            signed.map_err(|_| ProviderError::Refused)?;
            Ok(Request::from_parts(head, body))
        })
    }
}
