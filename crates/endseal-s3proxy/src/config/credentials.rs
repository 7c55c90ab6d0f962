//! Entries of the configuration that select the source of the backend's credentials.

use serde::Deserialize;

use super::ConfigError;
use crate::credentials::CredentialChain;

/// Value of `backend.credentials`.
#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(super) enum CredentialSource {
    /// The sources that AWS SDKs try one after another.
    Chain,
}

/// Returns the credential chain of a configuration, if it selects one. `is_static` is true if the
/// configuration has an access key or a secret.
///
/// # Errors
/// [`ConfigError`] for a chain together with an access key, or for a profile without a chain.
pub(super) fn chain(
    source: Option<CredentialSource>,
    profile: Option<String>,
    is_static: bool,
) -> Result<Option<CredentialChain>, ConfigError> {
    match source {
        Some(CredentialSource::Chain) if is_static => Err(ConfigError::of(
            "backend.credentials",
            "cannot be used with access_key, secret_key or secret_key_file",
        )),
        Some(CredentialSource::Chain) => {
            let chain = CredentialChain::new();
            Ok(Some(match profile {
                Some(profile) => chain.with_profile(&profile),
                None => chain,
            }))
        }
        None if profile.is_some() => {
            Err(ConfigError::of("backend.profile", "needs credentials = \"chain\""))
        }
        None => Ok(None),
    }
}
