//! What is told of each request: enough to follow it, and nothing secret.

use core::time::Duration;

use endseal_s3_protocol::Operation;

/// One request, when its answer begins.
///
/// No signatures, no queries (a presigned one is a credential), no metadata.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Entry<'a> {
    /// Number of the request, as in `x-amz-request-id`.
    pub id: &'a str,
    /// Address of the client.
    pub peer: core::net::SocketAddr,
    /// Access key of the client, once its signature was verified.
    pub access_key: Option<&'a str>,
    /// The operation.
    pub operation: Operation,
    /// HTTP method.
    pub method: &'a str,
    /// Bucket, if there is one.
    pub bucket: Option<&'a str>,
    /// Key, if there is one.
    pub key: Option<&'a str>,
    /// Status of the answer.
    pub status: u16,
    /// S3's code, if the answer is an error.
    pub error: Option<&'a str>,
    /// The cause of an error, where the answer does not say it.
    pub cause: Option<&'a str>,
    /// Time until the answer began.
    pub elapsed: Duration,
}

/// Where entries go.
pub trait Log: Send + Sync {
    /// Takes an entry. Must not block for long: the answer waits.
    fn entry(&self, entry: &Entry<'_>);
}

/// Entries go nowhere.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct Silent;

impl Silent {
    /// Nothing is logged.
    #[must_use]
    pub const fn new() -> Self {
        Self
    }
}

impl Log for Silent {
    fn entry(&self, _: &Entry<'_>) {}
}
