//! Sources of credentials, in the order of the AWS SDKs.

use std::collections::HashMap;
use std::time::SystemTime;

use aws_config::profile::ProfileFileCredentialsProvider;
use aws_config::provider_config::ProviderConfig;
use aws_config::{BehaviorVersion, Region};
use aws_credential_types::Credentials;
use aws_credential_types::provider::ProvideCredentials as _;
use aws_credential_types::provider::error::CredentialsError;
use aws_runtime::env_config::file::{EnvConfigFileKind, EnvConfigFiles};
use aws_smithy_types::retry::RetryConfig;
use endseal_s3_protocol::sigv4::{SecretKey, Signer};

use super::connector::Connector;
use super::failure;

/// Failure if the named profile does not exist or has no keys.
const NO_CREDENTIALS: &str = "the profile has no credentials";

/// Sources that AWS SDKs try one after another: the environment (`AWS_ACCESS_KEY_ID`,
/// `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN`), profiles in shared files, a web identity
/// (`AWS_WEB_IDENTITY_TOKEN_FILE`, `AWS_ROLE_ARN`), the endpoint of a container, and the metadata
/// service of an instance (IMDSv2).
#[derive(Clone, Default, PartialEq, Eq)]
#[allow(missing_debug_implementations, reason = "an environment may hold secrets")]
pub struct CredentialChain {
    profile: Option<String>,
    environment: Option<HashMap<String, String>>,
}

/// Credentials that a source returned.
pub(super) struct Issued {
    pub(super) signer: Signer,
    pub(super) expiry: Option<SystemTime>,
}

impl CredentialChain {
    /// Creates a chain that uses the environment of the process.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Restricts the chain to one profile of the shared files. Without this restriction, a missing
    /// profile would make the chain continue with another account.
    #[must_use]
    pub fn with_profile(mut self, profile: &str) -> Self {
        self.profile = Some(profile.to_owned());
        self
    }

    /// Replaces the environment of the process by these variables.
    #[must_use]
    pub fn with_environment<'a>(
        mut self,
        variables: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Self {
        let owned = variables.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
        self.environment = Some(owned.collect());
        self
    }

    /// Requests credentials from the sources. Files and environment are read each time.
    ///
    /// # Errors
    /// The cause as a text, which contains nothing of a source's response.
    pub(super) async fn ask(&self, region: &str, connector: &Connector) -> Result<Issued, String> {
        if let Some(profile) = &self.profile {
            return self.ask_profile(profile, region, connector).await;
        }
        // The caller retries, so the library must not.
        let mut loader = aws_config::defaults(BehaviorVersion::latest())
            .region(Region::new(region.to_owned()))
            .retry_config(RetryConfig::disabled())
            .http_client(connector.clone());
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

    async fn ask_profile(
        &self,
        profile: &str,
        region: &str,
        connector: &Connector,
    ) -> Result<Issued, String> {
        let config = ProviderConfig::default()
            .with_behavior_version(Some(BehaviorVersion::latest()))
            .with_region(Some(Region::new(region.to_owned())))
            .with_retry_config(RetryConfig::disabled())
            .with_http_client(connector.clone());
        let mut provider =
            ProfileFileCredentialsProvider::builder().configure(&config).profile_name(profile);
        if let Some(environment) = &self.environment {
            let files = [
                ("AWS_CONFIG_FILE", EnvConfigFileKind::Config),
                ("AWS_SHARED_CREDENTIALS_FILE", EnvConfigFileKind::Credentials),
            ];
            let mut files = files
                .into_iter()
                .filter_map(|(name, kind)| Some((kind, environment.get(name)?)))
                .peekable();
            // Without a file the library panics, and requests would wait forever.
            if files.peek().is_none() {
                return Err(NO_CREDENTIALS.to_owned());
            }
            let files = files
                .fold(EnvConfigFiles::builder(), |files, (kind, path)| files.with_file(kind, path));
            provider = provider.profile_files(files.build());
        }
        match provider.build().provide_credentials().await {
            Ok(credentials) => issued(&credentials, region),
            Err(CredentialsError::CredentialsNotLoaded(_)) => Err(NO_CREDENTIALS.to_owned()),
            Err(error) => Err(failure::cause(&error, connector.last_failure())),
        }
    }
}

fn issued(credentials: &Credentials, region: &str) -> Result<Issued, String> {
    let expiry = credentials.expiry();
    if expiry.is_some_and(|expiry| expiry <= SystemTime::now()) {
        return Err("the credentials of the source have expired".to_owned());
    }
    let is_text = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
    if !is_text(credentials.access_key_id()) || credentials.secret_access_key().is_empty() {
        return Err("the access key or its secret is empty or cannot stand in a header".to_owned());
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
