//! Causes of failures for the log.

use core::error::Error;
use std::io;

use aws_config::profile::ProfileFileLoadError;
use aws_credential_types::provider::error::CredentialsError;

/// The text of a failure. `exchange` is the last exchange that failed.
///
/// The texts of most errors of the library may repeat the answer of a source, and secrets in it.
/// Only those of types that hold no answer are used.
pub(super) fn cause(error: &CredentialsError, exchange: Option<String>) -> String {
    let mut text = match error {
        CredentialsError::CredentialsNotLoaded(_) => "no source of the chain has credentials",
        CredentialsError::ProviderTimedOut(_) => "a source gave no answer in time",
        CredentialsError::InvalidConfiguration(_) => "a source is configured wrongly",
        CredentialsError::ProviderError(_) => "a source failed",
        _ => "the answer of a source cannot be read",
    }
    .to_owned();
    let mut next = error.source();
    while let Some(error) = next {
        if let Some(error) = error.downcast_ref::<io::Error>() {
            text.push_str(&format!(": {error}"));
        }
        if let Some(error) = error.downcast_ref::<ProfileFileLoadError>() {
            text.push_str(&format!(": {error}"));
        }
        next = error.source();
    }
    if let Some(exchange) = exchange {
        text.push_str(&format!(": {exchange}"));
    }
    text
}
