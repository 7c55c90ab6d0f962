//! Which of S3's operations a request is: those that touch what is sealed, and all others.

use http::{HeaderMap, Method};

use crate::target::Target;

/// An operation that the proxy takes part in, or [`Operation::Other`], which goes through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Operation {
    /// `PutObject`
    PutObject,
    /// `CopyObject`
    CopyObject,
    /// `GetObject`
    GetObject,
    /// `HeadObject`
    HeadObject,
    /// `GetObjectAttributes`
    GetObjectAttributes,
    /// `CreateMultipartUpload`
    CreateMultipartUpload,
    /// `UploadPart`
    UploadPart,
    /// `UploadPartCopy`
    UploadPartCopy,
    /// `CompleteMultipartUpload`
    CompleteMultipartUpload,
    /// `AbortMultipartUpload`
    AbortMultipartUpload,
    /// `ListParts`
    ListParts,
    /// `ListObjects` and `ListObjectsV2`
    ListObjects,
    /// `ListObjectVersions`
    ListObjectVersions,
    /// `DeleteObjects`
    DeleteObjects,
    /// The object by a form of a browser.
    PostObject,
    /// `SelectObjectContent`, `GetObjectTorrent`, `WriteGetObjectResponse`, `RestoreObject`'s select,
    /// `AppendObject`: what needs the content at the backend.
    NotOnSealed,
    /// Whatever does not touch content, sizes or entity tags of objects.
    Other,
}

impl Operation {
    /// Finds the operation of a request.
    #[must_use]
    pub(crate) fn of(method: &Method, target: &Target, headers: &HeaderMap) -> Self {
        let query = target.query();
        let copies = headers.contains_key("x-amz-copy-source");
        match (target.bucket(), target.key()) {
            (None, _) => Self::Other,
            (Some(_), None) => match *method {
                Method::GET | Method::HEAD if query.has("versions") => Self::ListObjectVersions,
                Method::GET if !has_subresource(target) => Self::ListObjects,
                Method::POST if query.has("delete") => Self::DeleteObjects,
                Method::POST if is_form(headers) => Self::PostObject,
                _ => Self::Other,
            },
            (Some(_), Some(_)) => match *method {
                Method::GET | Method::HEAD if query.has("uploadId") => Self::ListParts,
                Method::GET if query.has("attributes") => Self::GetObjectAttributes,
                Method::GET if query.has("torrent") => Self::NotOnSealed,
                Method::GET if !has_subresource(target) => Self::GetObject,
                Method::HEAD if !has_subresource(target) => Self::HeadObject,
                Method::PUT if query.has("uploadId") && copies => Self::UploadPartCopy,
                Method::PUT if query.has("uploadId") => Self::UploadPart,
                Method::PUT if query.has("append") => Self::NotOnSealed,
                Method::PUT if !has_subresource(target) && copies => Self::CopyObject,
                Method::PUT if !has_subresource(target) => Self::PutObject,
                Method::POST if query.has("uploads") => Self::CreateMultipartUpload,
                Method::POST if query.has("uploadId") => Self::CompleteMultipartUpload,
                Method::POST if query.has("select") => Self::NotOnSealed,
                Method::DELETE if query.has("uploadId") => Self::AbortMultipartUpload,
                _ => Self::Other,
            },
        }
    }

    /// Its name in metrics and logs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::PutObject => "PutObject",
            Self::CopyObject => "CopyObject",
            Self::GetObject => "GetObject",
            Self::HeadObject => "HeadObject",
            Self::GetObjectAttributes => "GetObjectAttributes",
            Self::CreateMultipartUpload => "CreateMultipartUpload",
            Self::UploadPart => "UploadPart",
            Self::UploadPartCopy => "UploadPartCopy",
            Self::CompleteMultipartUpload => "CompleteMultipartUpload",
            Self::AbortMultipartUpload => "AbortMultipartUpload",
            Self::ListParts => "ListParts",
            Self::ListObjects => "ListObjects",
            Self::ListObjectVersions => "ListObjectVersions",
            Self::DeleteObjects => "DeleteObjects",
            Self::PostObject => "PostObject",
            Self::NotOnSealed => "NotOnSealed",
            Self::Other => "Other",
        }
    }
}

/// Parameters that turn a request for an object or bucket into one for something about it.
const SUBRESOURCES: [&str; 36] = [
    "accelerate",
    "acl",
    "analytics",
    "attributes",
    "cors",
    "delete",
    "encryption",
    "intelligent-tiering",
    "inventory",
    "legal-hold",
    "lifecycle",
    "location",
    "logging",
    "metadataConfiguration",
    "metadataTable",
    "metrics",
    "notification",
    "object-lock",
    "ownershipControls",
    "policy",
    "policyStatus",
    "publicAccessBlock",
    "renameObject",
    "replication",
    "requestPayment",
    "restore",
    "retention",
    "session",
    "tagging",
    "torrent",
    "uploadId",
    "uploads",
    "versioning",
    "versions",
    "website",
    "select",
];

fn has_subresource(target: &Target) -> bool {
    target.query().names().any(|name| SUBRESOURCES.contains(&name))
}

fn is_form(headers: &HeaderMap) -> bool {
    let kind = headers.get(http::header::CONTENT_TYPE).map(|value| value.as_bytes());
    kind.is_some_and(|kind| {
        kind.get(..19).is_some_and(|kind| kind.eq_ignore_ascii_case(b"multipart/form-data"))
    })
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, Method, Uri};

    use super::Operation;
    use crate::target::Target;

    fn of(method: Method, uri: &str, headers: &[(&'static str, &'static str)]) -> Operation {
        let uri: Uri = uri.parse().unwrap();
        let target = Target::parse(&uri, None, &[]).unwrap();
        let headers: HeaderMap = headers
            .iter()
            .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()))
            .collect();
        Operation::of(&method, &target, &headers)
    }

    #[test]
    fn requests_are_told_apart() {
        let copy = [("x-amz-copy-source", "b/k")];
        let form = [("content-type", "multipart/form-data; boundary=x")];
        use Operation as O;
        for (method, uri, headers, expected) in [
            (Method::PUT, "/b/k", &[][..], O::PutObject),
            (Method::PUT, "/b/k?x-id=PutObject", &[], O::PutObject),
            (Method::PUT, "/b/k", &copy, O::CopyObject),
            (Method::PUT, "/b/k?tagging", &[], O::Other),
            (Method::PUT, "/b/k?partNumber=1&uploadId=u", &[], O::UploadPart),
            (Method::PUT, "/b/k?partNumber=1&uploadId=u", &copy, O::UploadPartCopy),
            (Method::PUT, "/b", &[], O::Other),
            (Method::GET, "/b/k?versionId=3&response-content-type=x", &[], O::GetObject),
            (Method::GET, "/b/k?acl", &[], O::Other),
            (Method::GET, "/b/k?attributes", &[], O::GetObjectAttributes),
            (Method::GET, "/b/k?uploadId=u", &[], O::ListParts),
            (Method::GET, "/b/k?torrent", &[], O::NotOnSealed),
            (Method::HEAD, "/b/k?partNumber=2", &[], O::HeadObject),
            (Method::GET, "/b?list-type=2&prefix=x", &[], O::ListObjects),
            (Method::GET, "/b/", &[], O::ListObjects),
            (Method::GET, "/b?versions", &[], O::ListObjectVersions),
            (Method::GET, "/b?uploads", &[], O::Other),
            (Method::GET, "/b?location", &[], O::Other),
            (Method::HEAD, "/b", &[], O::Other),
            (Method::GET, "/", &[], O::Other),
            (Method::POST, "/b?delete", &[], O::DeleteObjects),
            (Method::POST, "/b", &form, O::PostObject),
            (Method::POST, "/b/k?uploads", &[], O::CreateMultipartUpload),
            (Method::POST, "/b/k?uploadId=u", &[], O::CompleteMultipartUpload),
            (Method::POST, "/b/k?select&select-type=2", &[], O::NotOnSealed),
            (Method::DELETE, "/b/k?uploadId=u", &[], O::AbortMultipartUpload),
            (Method::DELETE, "/b/k", &[], O::Other),
        ] {
            assert_eq!(of(method.clone(), uri, headers), expected, "{method} {uri}");
        }
    }
}
