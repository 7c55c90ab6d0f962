//! Log warnings about requests that failed for a reason that operators can fix.

use endseal_s3_protocol::S3Error;

/// Returns kind and text of the cause of a failure. All authentication failures have the same text.
fn cause(error: &S3Error) -> Option<(&'static str, &str)> {
    if error.code() == S3Error::not_authentic().code() {
        return Some(("authentication", "the object does not authenticate"));
    }
    error.kind().zip(error.cause())
}

/// Logs a warning about a failed request if its error has a cause.
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

/// Logs a warning about an object whose content broke off after the response had started.
pub(crate) fn broken_off(error: &S3Error, bucket: &str, key: &str) {
    if let Some((kind, cause)) = cause(error) {
        tracing::warn!(target: "failure", operation = "GetObject", bucket, key, kind, cause);
    }
}
