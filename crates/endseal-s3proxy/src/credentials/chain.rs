//! The sources of credentials, in the order of the SDKs of AWS.

use std::collections::HashMap;
use std::time::SystemTime;

use aws_config::{BehaviorVersion, Region};
use aws_credential_types::Credentials;
use aws_credential_types::provider::ProvideCredentials as _;
use aws_smithy_types::retry::RetryConfig;
use endseal_s3_protocol::sigv4::{SecretKey, Signer};

use super::connector::Connector;
use super::failure;

/// The sources that SDKs of AWS try one after the other: the environment (`AWS_ACCESS_KEY_ID`,
/// `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN`), profiles in shared files, a web identity
/// (`AWS_WEB_IDENTITY_TOKEN_FILE`, `AWS_ROLE_ARN`), the endpoint of a container, the metadata service
/// of an instance (IMDSv2).
#[derive(Clone, Default, PartialEq, Eq)]
#[allow(missing_debug_implementations, reason = "an environment may hold secrets")]
pub struct CredentialChain {
    profile: Option<String>,
    environment: Option<HashMap<String, String>>,
}

/// Credentials of a chain.
pub(super) struct Issued {
    pub(super) signer: Signer,
    pub(super) expiry: Option<SystemTime>,
}

impl CredentialChain {
    /// The chain in the environment of the process.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The same chain with this profile instead of the one that `AWS_PROFILE` names.
    #[must_use]
    pub fn with_profile(mut self, profile: &str) -> Self {
        self.profile = Some(profile.to_owned());
        self
    }

    /// The same chain with these variables instead of the environment of the process.
    #[must_use]
    pub fn with_environment<'a>(
        mut self,
        variables: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Self {
        let owned = variables.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
        self.environment = Some(owned.collect());
        self
    }

    /// Asks the sources. Files and environment are read anew.
    ///
    /// # Errors
    /// The cause, without anything that a source answered.
    pub(super) async fn ask(&self, region: &str, connector: &Connector) -> Result<Issued, String> {
        // The caller tries again by itself.
        let mut loader = aws_config::defaults(BehaviorVersion::latest())
            .region(Region::new(region.to_owned()))
            .retry_config(RetryConfig::disabled())
            .http_client(connector.clone());
        if let Some(profile) = &self.profile {
            loader = loader.profile_name(profile);
        }
        if let Some(environment) = &self.environment {
            loader = loader.env(environment.clone().into());
        }
        let config = loader.load().await;
        let provider = config.credentials_provider().ok_or("the chain has no source")?;
        match provider.provide_credentials().await {
            Ok(credentials) => issued(&credentials, region),
            Err(error) => Err(failure::cause(&error, connector.last_failure())),
        }
    }
}

fn issued(credentials: &Credentials, region: &str) -> Result<Issued, String> {
    let expiry = credentials.expiry();
    if expiry.is_some_and(|expiry| expiry <= SystemTime::now()) {
        return Err("the credentials of the source have expired".to_owned());
    }
    let secret = SecretKey::new(credentials.secret_access_key().to_owned());
    let access_key = credentials.access_key_id().to_owned();
    let mut signer = Signer::new(access_key, secret, region.to_owned());
    if let Some(token) = credentials.session_token() {
        signer = signer
            .with_session_token(token)
            .map_err(|_| "the session token of the source cannot stand in a header")?;
    }
    Ok(Issued { signer, expiry })
}
