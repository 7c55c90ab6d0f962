//! `Error`: the document that tells clients about a failure.

use super::Builder;

/// An error that the proxy itself reports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "written out by whoever asks")]
pub struct ErrorDocument<'a> {
    /// Error code of S3, such as `NoSuchKey`.
    pub code: &'a str,
    /// Message for people, which clients print.
    pub message: &'a str,
    /// The path that was asked for.
    pub resource: &'a str,
    /// Id of the request, which logs contain too.
    pub request_id: &'a str,
    /// More elements, such as `("BucketName", "b")`.
    pub more: &'a [(&'static str, &'a str)],
}

impl ErrorDocument<'_> {
    /// Writes the XML document of the error.
    #[must_use]
    pub fn to_xml(&self) -> Vec<u8> {
        let mut builder = Builder::plain("Error");
        builder.leaf("Code", self.code).leaf("Message", self.message);
        for (name, value) in self.more {
            builder.leaf(name, value);
        }
        builder.leaf("Resource", self.resource).leaf("RequestId", self.request_id);
        builder.finish()
    }
}
