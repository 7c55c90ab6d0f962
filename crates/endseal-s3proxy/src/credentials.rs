//! Credentials of the proxy at the backend: a fixed key pair, or those of a chain, which are
//! renewed before they expire.
//!
//! Each request to the backend is signed with the credentials that are valid when it is sent. A
//! background task of the runtime in which the proxy was started renews them.

mod chain;
mod connector;
mod failure;
mod kms_signer;
mod renewal;

pub use chain::CredentialChain;
pub(crate) use kms_signer::KmsSigner;

use std::sync::Arc;

use endseal_s3_protocol::S3Error;
use endseal_s3_protocol::sigv4::Signer;

use crate::upstream::Trust;
use renewal::Renewal;

/// Signer of requests to the backend.
#[derive(Clone)]
pub(crate) enum BackendSigner {
    /// A fixed access key with its secret.
    Fixed(Arc<Signer>),
    /// Credentials of a chain that are renewed before they expire.
    Renewed(Arc<Renewal>),
}

impl BackendSigner {
    /// Creates a signer of requests to `service` with the credentials of a chain, and starts to
    /// request them. Must be called in a tokio runtime.
    pub(crate) fn of_chain(
        chain: &CredentialChain,
        service: &'static str,
        region: &str,
        trust: Trust,
    ) -> Self {
        let renewal = Renewal::start(chain.clone(), service, region.to_owned(), trust);
        Self::Renewed(Arc::new(renewal))
    }

    /// Returns a signer with the credentials that are valid now.
    ///
    /// # Errors
    /// `ServiceUnavailable` with the cause if a chain has no valid credentials.
    pub(crate) async fn current(&self) -> Result<Arc<Signer>, S3Error> {
        match self {
            Self::Fixed(signer) => Ok(Arc::clone(signer)),
            Self::Renewed(renewal) => renewal.current().await,
        }
    }

    /// Returns true if both have the same credentials because one is a clone of the other.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Fixed(own), Self::Fixed(other)) => Arc::ptr_eq(own, other),
            (Self::Renewed(own), Self::Renewed(other)) => Arc::ptr_eq(own, other),
            _ => false,
        }
    }

    /// Uses the credentials of `old` until the chain has returned its first ones. Does nothing if
    /// `old` has another chain.
    pub(crate) fn take_over(&self, old: &Self) {
        if let (Self::Renewed(own), Self::Renewed(old)) = (self, old) {
            own.take_over(old);
        }
    }
}
