//! Warnings of requests that failed for a reason that operators can do something about.

use endseal_s3_protocol::S3Error;

/// Kind and text of a failure's cause. One text for all that is not authentic.
fn cause(error: &S3Error) -> Option<(&'static str, &str)> {
    if error.code() == S3Error::not_authentic().code() {
        return Some(("authentication", "the object does not authenticate"));
    }
    error.kind().zip(error.cause())
}

/// Warns of a request that failed, if it has a cause.
pub(crate) fn warn(
    error: &S3Error,
    request: &str,
    operation: &str,
    bucket: Option<&str>,
    key: Option<&str>,
) {
    if let Some((kind, cause)) = cause(error) {
        tracing::warn!(target: "failure", request, operation, bucket, key, kind, cause);
    }
}

/// Warns of an object whose content broke off after the answer had begun.
pub(crate) fn broken_off(error: &S3Error, bucket: &str, key: &str) {
    if let Some((kind, cause)) = cause(error) {
        tracing::warn!(target: "failure", operation = "GetObject", bucket, key, kind, cause);
    }
}
