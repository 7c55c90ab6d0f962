//! Check that the backend accepts the account with which the proxy signs its requests.

use core::sync::atomic::Ordering::Relaxed;

use endseal_s3_protocol::sigv4::{PayloadHash, Signer};
use endseal_s3_protocol::{Query, S3Error, Target};
use http::{HeaderMap, Method, StatusCode};

use super::account_refusal::is_refusal;
use super::verdict::Verdict;
use super::{client_error, without_body};
use crate::context::Proxy;
use crate::credentials::BackendSigner;
use crate::upstream::Body;

/// Reason why a probe failed if the backend gives no answer of S3.
const SILENT: &str = "the backend does not answer";

impl Proxy {
    /// Returns the error of a request that was signed with `current`. An answer to `HEAD` has no
    /// document that says what was refused, so the backend is asked again. Refusals of the account
    /// are counted.
    pub(super) async fn with_account(
        &self,
        error: S3Error,
        method: &Method,
        signer: &BackendSigner,
        current: &Signer,
    ) -> S3Error {
        let may_be_account = *method == Method::HEAD
            && matches!(
                error.status(),
                StatusCode::BAD_REQUEST | StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN
            );
        let error = match may_be_account {
            true => match self.list_buckets(current).await {
                Ok(Err(refusal)) if is_refusal(&refusal) => refusal,
                _ => error,
            },
            false => error,
        };
        if is_refusal(&error) {
            let counts = &self.metrics.account_refused;
            let counter = if signer.is_same(&self.signer) { &counts.proxy } else { &counts.client };
            counter.fetch_add(1, Relaxed);
        }
        error
    }

    /// Requests the list of buckets with the proxy's account. Other errors than a refusal of the
    /// account are a success, because they show that the backend responds.
    ///
    /// # Errors
    /// A text with the reason why the backend cannot be used.
    pub(crate) async fn probe_backend(&self, signer: &Signer) -> Result<(), &'static str> {
        let Ok(answer) = self.list_buckets(signer).await else {
            return Err(SILENT);
        };
        let Err(error) = answer else { return Ok(()) };
        if is_refusal(&error) {
            self.metrics.account_refused.proxy.fetch_add(1, Relaxed);
            return Err("the backend does not accept the proxy's account");
        }
        // A server that takes the path of the URL for a bucket lists that bucket.
        if !self.backend.target().base_path().is_empty() && error.code() == "NoSuchBucket" {
            return Err("the path of backend.url leads to a bucket that does not exist");
        }
        if error.status() == StatusCode::BAD_GATEWAY { Err(SILENT) } else { Ok(()) }
    }

    /// Requests the list of buckets. Returns the error that the backend answers with as a value.
    ///
    /// # Errors
    /// If the backend does not respond.
    async fn list_buckets(&self, signer: &Signer) -> Result<Result<(), S3Error>, S3Error> {
        // Servers that do not know the parameter list all buckets.
        let target = Target::of_service(Query::new().with("max-buckets", "1"));
        let (method, none) = (Method::GET, HeaderMap::new());
        let verdict = Verdict::of(&method, &target, &none);
        let path_and_query = format!("/?{}", target.query().encode());
        let content = (Body::empty(), PayloadHash::Unsigned);
        let request = self.signed(signer, (&method, path_and_query), none, content)?;
        let response = self.beside.send(request).await.map_err(client_error)?;
        Ok(match verdict.on(response).await {
            Ok(response) => {
                without_body(response).await;
                Ok(())
            }
            Err(error) => Err(error),
        })
    }
}
