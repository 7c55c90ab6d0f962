//! Operations of S3 as the proxy distinguishes them: those that touch sealed objects, and all
//! others.

use http::{HeaderMap, Method};

use crate::Target;

/// An operation that the proxy handles, or [`Operation::Other`], which it passes to the backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_enums, reason = "what there is")]
pub enum Operation {
    /// `PutObject`: stores an object in one request.
    PutObject,
    /// `CopyObject`: copies an object within the backend.
    CopyObject,
    /// `GetObject`: reads an object, or a range of it.
    GetObject,
    /// `HeadObject`: reads the headers of an object.
    HeadObject,
    /// `GetObjectAttributes`: reads size, tag, checksum and parts of an object.
    GetObjectAttributes,
    /// `CreateMultipartUpload`: starts an upload in parts.
    CreateMultipartUpload,
    /// `UploadPart`: stores one part of an upload.
    UploadPart,
    /// `UploadPartCopy`: copies a range of an object into a part.
    UploadPartCopy,
    /// `CompleteMultipartUpload`: joins the parts to an object.
    CompleteMultipartUpload,
    /// `AbortMultipartUpload`: deletes an upload and its parts.
    AbortMultipartUpload,
    /// `ListParts`: lists the parts of an upload.
    ListParts,
    /// `ListObjects` and `ListObjectsV2`: list the objects of a bucket.
    ListObjects,
    /// `ListObjectVersions`: lists versions and delete markers of a bucket.
    ListObjectVersions,
    /// `DeleteObjects`: deletes up to 1,000 objects.
    DeleteObjects,
    /// The object by a form of a browser.
    PostObject,
    /// Operations that need the content at the backend, change objects there, or are known to no
    /// rule below: `SelectObjectContent`, `GetObjectTorrent`, `WriteGetObjectResponse`,
    /// `RenameObject`, `CreateSession`, appending, unpacking, other methods.
    NotOnSealed,
    /// Any operation that does not touch content, sizes or entity tags of objects.
    Other,
}

impl Operation {
    /// Finds the operation of a request.
    #[must_use]
    pub fn of(method: &Method, target: &Target, headers: &HeaderMap) -> Self {
        let query = target.query();
        let has = |wanted: &str| headers.keys().any(|name| name == wanted);
        let copies = has("x-amz-copy-source");
        if query.names().any(|name| REFUSED.contains(&name))
            || REFUSED_HEADERS.into_iter().any(has)
            || (target.key().is_some() && has(FORCE_DELETE))
        {
            return Self::NotOnSealed;
        }
        let operation = match (target.bucket(), target.key()) {
            (None, _) => of_service(method, target),
            (Some(_), None) => of_bucket(method, target, headers),
            (Some(_), Some(_)) => of_object(method, target, copies),
        };
        // Some servers copy wherever the header stands.
        if copies && operation == Self::Other { Self::NotOnSealed } else { operation }
    }

    /// Name of the operation in metrics and logs.
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

/// Parameters of operations that would get round the proxy: content that is queried, appended to or
/// renamed at the backend; credentials for the backend itself.
const REFUSED: [&str; 5] = ["append", "renameObject", "select", "session", "torrent"];

/// Headers with the same effect: appending, renaming, archives that the backend unpacks.
const REFUSED_HEADERS: [&str; 4] = [
    "x-amz-meta-snowball-auto-extract",
    "x-amz-rename-source",
    "x-amz-write-offset-bytes",
    "x-minio-extract",
];

/// Deletes all keys that begin with the one named, the proxy's own among them. About a bucket it
/// means what the client may do anyway.
const FORCE_DELETE: &str = "x-minio-force-delete";

/// Parameters about an object that can be read and set without touching its content. Requests with
/// any other parameter are not passed on: many servers ignore an unknown parameter, and would treat
/// such a `PUT` as an upload of plaintext.
const ABOUT_OBJECTS: [&str; 4] = ["acl", "legal-hold", "retention", "tagging"];

/// With those of buckets, the parameters that make a request for an object one for something else.
const OF_OBJECTS: [&str; 7] =
    ["attributes", "delete", "legal-hold", "restore", "retention", "uploadId", "versions"];

/// Parameters about a bucket that can be asked for. All else that is asked of one is a list of its
/// objects.
const ABOUT_BUCKETS: [&str; 26] = [
    "abac",
    "accelerate",
    "acl",
    "analytics",
    "cors",
    "encryption",
    "intelligent-tiering",
    "inventory",
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
    "replication",
    "requestPayment",
    "tagging",
    "uploads",
    "versioning",
    "website",
];

fn of_service(method: &Method, target: &Target) -> Operation {
    match *method {
        // With an action it would be one of identity management, at some servers.
        Method::GET | Method::HEAD | Method::OPTIONS if !target.query().has("Action") => {
            Operation::Other
        }
        _ => Operation::NotOnSealed,
    }
}

fn of_bucket(method: &Method, target: &Target, headers: &HeaderMap) -> Operation {
    let query = target.query();
    match *method {
        Method::GET | Method::HEAD if query.has("versions") => Operation::ListObjectVersions,
        Method::GET if !has_one(target, &ABOUT_BUCKETS) => Operation::ListObjects,
        Method::POST if query.has("delete") => Operation::DeleteObjects,
        Method::POST if is_form(headers) => Operation::PostObject,
        Method::POST if has_one(target, &["metadataConfiguration", "metadataTable"]) => {
            Operation::Other
        }
        Method::GET | Method::HEAD | Method::PUT | Method::DELETE | Method::OPTIONS => {
            Operation::Other
        }
        _ => Operation::NotOnSealed,
    }
}

fn of_object(method: &Method, target: &Target, copies: bool) -> Operation {
    let query = target.query();
    let is_plain = !has_one(target, &OF_OBJECTS) && !has_one(target, &ABOUT_BUCKETS);
    match *method {
        Method::GET | Method::HEAD if query.has("uploadId") => Operation::ListParts,
        Method::GET if query.has("attributes") => Operation::GetObjectAttributes,
        Method::GET if is_plain => Operation::GetObject,
        Method::HEAD => Operation::HeadObject,
        Method::PUT if query.has("uploadId") && copies => Operation::UploadPartCopy,
        Method::PUT if query.has("uploadId") => Operation::UploadPart,
        Method::PUT if is_plain && copies => Operation::CopyObject,
        Method::PUT if is_plain => Operation::PutObject,
        Method::POST if query.has("uploads") => Operation::CreateMultipartUpload,
        Method::POST if query.has("uploadId") => Operation::CompleteMultipartUpload,
        Method::DELETE if query.has("uploadId") => Operation::AbortMultipartUpload,
        Method::GET | Method::PUT if has_one(target, &ABOUT_OBJECTS) => Operation::Other,
        Method::POST if query.has("restore") => Operation::Other,
        Method::DELETE if is_plain || query.has("tagging") => Operation::Other,
        Method::OPTIONS => Operation::Other,
        _ => Operation::NotOnSealed,
    }
}

fn has_one(target: &Target, names: &[&str]) -> bool {
    target.query().names().any(|name| names.contains(&name))
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
    use crate::Target;

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
            (Method::POST, "/b/k?restore", &[], O::Other),
            (Method::GET, "/b?delete", &[], O::ListObjects),
            (Method::GET, "/b?list-type=2&retention", &[], O::ListObjects),
            (Method::HEAD, "/b/k?acl", &[], O::HeadObject),
            (Method::DELETE, "/b/k?tagging", &[], O::Other),
            (Method::PUT, "/b?policy", &[], O::Other),
            (Method::DELETE, "/b", &[("x-minio-force-delete", "true")], O::Other),
            (Method::DELETE, "/b/k?uploadId=u", &[], O::AbortMultipartUpload),
            (Method::DELETE, "/b/k", &[], O::Other),
        ] {
            assert_eq!(of(method.clone(), uri, headers), expected, "{method} {uri}");
        }
    }
    #[test]
    fn no_request_goes_past_the_seal() {
        let rename = [("x-amz-rename-source", "b/.endseal/parked/x")];
        let copy = [("x-amz-copy-source", "b/.endseal/parked/x")];
        for (method, uri, headers) in [
            (Method::PUT, "/b/k?renameObject", &rename[..]),
            (Method::PUT, "/b/k?renameObject", &[]),
            (Method::PUT, "/b/k", &rename),
            (Method::PUT, "/b/k", &[("x-amz-write-offset-bytes", "16400")]),
            (Method::PUT, "/b/k?append&position=0", &[]),
            (Method::POST, "/b/k?append&position=0", &[]),
            (Method::PUT, "/b/k.tar", &[("x-minio-extract", "true")]),
            (Method::GET, "/b/k.zip/inner", &[("x-minio-extract", "true")]),
            (Method::PUT, "/b/k.tar", &[("x-amz-meta-snowball-auto-extract", "true")]),
            (Method::DELETE, "/b/.endsea", &[("x-minio-force-delete", "true")]),
            (Method::PUT, "/b/k?tagging", &copy),
            (Method::PUT, "/b/k?acl", &copy),
            (Method::PUT, "/b", &copy),
            (Method::POST, "/b/k?restore", &copy),
            (Method::PUT, "/b/k?uploads&select", &[]),
            (Method::POST, "/b/k?uploads&select&select-type=2", &[]),
            // A server that knows nothing of these stores the body as an object of plaintext.
            (Method::PUT, "/b/k?encryption", &[]),
            (Method::PUT, "/b/k?restore", &[]),
            (Method::PUT, "/b/k?lifecycle", &[]),
            (Method::PUT, "/b/k?uploads", &[]),
            (Method::POST, "/b/k", &[]),
            (Method::POST, "/b", &[("content-type", "text/plain")]),
            (Method::POST, "/WriteGetObjectResponse", &[]),
            (Method::PATCH, "/b/k", &[]),
            (Method::PATCH, "/create-user", &[]),
            (Method::POST, "/minio/admin/v3/service?action=restart", &[]),
            (Method::GET, "/b?session", &[]),
            (Method::POST, "/?Action=CreateAccessKey", &[]),
            (Method::GET, "/?Action=CreateAccessKey", &[]),
            (Method::POST, "/", &[]),
        ] {
            assert_eq!(of(method.clone(), uri, headers), Operation::NotOnSealed, "{method} {uri}");
        }
    }
}
