//! Settings of buckets that name keys, where the backend knows keys by encrypted names only.

use endseal_s3_protocol::Operation;
use endseal_s3_protocol::S3Error;
use http::Method;

use crate::context::RequestContext;

/// Settings whose documents name keys, or what keys begin with.
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

/// Refuses to set what would give names away, and be about no object besides: the server behind
/// would look for names that it does not have.
///
/// # Errors
/// `NotImplemented`.
pub(crate) fn check(call: &RequestContext) -> Result<(), S3Error> {
    let sets = matches!(call.method, Method::PUT | Method::POST)
        && call.operation == Operation::Other
        && call.target.key().is_none();
    if sets && call.target.query().names().any(|name| NAME_KEYS.contains(&name)) {
        return Err(S3Error::not_implemented().with_message(
            "Names in this bucket are encrypted, and this setting may name keys: set it at the \
             server behind, with the names that it has.",
        ));
    }
    Ok(())
}
