//! Credentials of the proxy at the backend: fixed ones, or those of a chain, renewed before they
//! expire.
//!
//! Each request to the backend is signed with the credentials that are valid when it is sent. A
//! chain is asked in the background, by a task of the runtime that the proxy was started in.

mod chain;
mod connector;
mod failure;
mod renewal;

pub use chain::CredentialChain;

use std::sync::Arc;

use endseal_s3_protocol::S3Error;
use endseal_s3_protocol::sigv4::Signer;

use crate::upstream::Trust;
use renewal::Renewal;

/// The signer of requests to the backend.
#[derive(Clone)]
pub(crate) enum BackendSigner {
    /// One access key and its secret.
    Fixed(Arc<Signer>),
    /// Credentials that are replaced before they expire.
    Renewed(Arc<Renewal>),
}

impl BackendSigner {
    /// A signer with the credentials of a chain, which is asked from now on. Called in a tokio
    /// runtime.
    pub(crate) fn of_chain(chain: &CredentialChain, region: &str, trust: Trust) -> Self {
        Self::Renewed(Arc::new(Renewal::start(chain.clone(), region.to_owned(), trust)))
    }

    /// The signer with the credentials that are valid now.
    ///
    /// # Errors
    /// `ServiceUnavailable` if a chain has none, and its cause.
    pub(crate) async fn current(&self) -> Result<Arc<Signer>, S3Error> {
        match self {
            Self::Fixed(signer) => Ok(Arc::clone(signer)),
            Self::Renewed(renewal) => renewal.current().await,
        }
    }

    /// Uses the credentials of `old` until the chain has answered for the first time. Does nothing
    /// for another chain.
    pub(crate) fn take_over(&self, old: &Self) {
        if let (Self::Renewed(own), Self::Renewed(old)) = (self, old) {
            own.take_over(old);
        }
    }
}
