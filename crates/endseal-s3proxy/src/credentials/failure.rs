//! Causes of credential failures for the log.

use core::error::Error;
use std::io;

use aws_config::profile::ProfileFileLoadError;
use aws_credential_types::provider::error::CredentialsError;

/// Returns the text of a failure. `exchange` describes the last exchange that failed.
///
/// Most error texts of the library can quote the response of a source, which may contain secrets.
/// Only texts of error types that cannot do so are used.
pub(super) fn cause(error: &CredentialsError, exchange: Option<String>) -> String {
    let mut text = match error {
        CredentialsError::CredentialsNotLoaded(_) => "no source of the chain has credentials",
        CredentialsError::ProviderTimedOut(_) => "a source did not respond in time",
        CredentialsError::InvalidConfiguration(_) => "a source is configured wrongly",
        CredentialsError::ProviderError(_) => "a source failed",
        _ => "the response of a source cannot be parsed",
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
