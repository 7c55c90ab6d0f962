//! Bucket settings that name keys. The backend knows keys only by their encrypted names.

use endseal_s3_protocol::Operation;
use endseal_s3_protocol::S3Error;
use http::Method;

use crate::context::RequestContext;

/// Settings whose documents contain keys or prefixes of keys.
const NAME_KEYS: [&str; 12] = [
    "analytics",
    "intelligent-tiering",
    "inventory",
    "lifecycle",
    "metadataConfiguration",
    "metadataJournalTable",
    "metadataTable",
    "metrics",
    "notification",
    "policy",
    "replication",
    "website",
];

/// Refuses settings that may name keys. They would reveal names to the backend, and would have no
/// effect because the backend has no objects with these names.
///
/// # Errors
/// `NotImplemented` if the request writes such a setting.
pub(crate) fn check(call: &RequestContext) -> Result<(), S3Error> {
    let sets = matches!(call.method, Method::PUT | Method::POST)
        && call.operation == Operation::Other
        && call.target.key().is_none();
    if sets && call.target.query().names().any(|name| NAME_KEYS.contains(&name)) {
        return Err(S3Error::not_implemented().with_message(
            "Names in this bucket are encrypted, and this setting may name keys: set it at \
             the backend, with the encrypted names.",
        ));
    }
    Ok(())
}
