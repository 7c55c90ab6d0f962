//! The entries of the configuration that say where credentials of the backend come from.

use serde::Deserialize;

use super::ConfigError;
use crate::credentials::CredentialChain;

/// Values of `backend.credentials`.
#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(super) enum CredentialSource {
    /// The sources that SDKs of AWS try one after the other.
    Chain,
}

/// The chain of a configuration, if it names one. `is_static` is true if there is an access key or
/// a secret.
///
/// # Errors
/// [`ConfigError`] for a chain and an access key, or a profile without a chain.
pub(super) fn chain(
    source: Option<CredentialSource>,
    profile: Option<String>,
    is_static: bool,
) -> Result<Option<CredentialChain>, ConfigError> {
    match source {
        Some(CredentialSource::Chain) if is_static => Err(ConfigError::of(
            "backend.credentials",
            "excludes access_key, secret_key and secret_key_file",
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
