//! Elements of error documents beside code and message: those that S3 defines for a code, and that
//! clients read. Their values come from the client's own request, never from the backend, which
//! knows other names.

use endseal_s3_protocol::{Operation, Query, S3Error, Target};
use http::header::{HeaderMap, HeaderValue, RANGE};
use http::request::Parts;
use http::{Method, Uri};

use crate::context::AccessLog;
use crate::headers;
use crate::names::parse_target;

/// Conditions that can lead to status 412, as headers and as S3 names them, in the order in which
/// S3 evaluates them.
const CONDITIONS: [(&str, &str); 7] = [
    ("if-match", "If-Match"),
    ("if-none-match", "If-None-Match"),
    ("if-unmodified-since", "If-Unmodified-Since"),
    ("x-amz-copy-source-if-match", "x-amz-copy-source-If-Match"),
    ("x-amz-copy-source-if-none-match", "x-amz-copy-source-If-None-Match"),
    ("x-amz-copy-source-if-unmodified-since", "x-amz-copy-source-If-Unmodified-Since"),
    ("x-amz-copy-source-if-modified-since", "x-amz-copy-source-If-Modified-Since"),
];

/// Number of conditions on the object that is read or written. Those behind are on a copy's source.
const CONDITIONS_OF_TARGET: usize = 3;

/// Values of a request that error documents may repeat.
pub(super) struct RequestFacts {
    method: Method,
    uri: Uri,
    range: Option<HeaderValue>,
    /// True for the conditions of [`CONDITIONS`] that the request has.
    conditions: [bool; CONDITIONS.len()],
}

impl RequestFacts {
    pub(super) fn of(head: &Parts) -> Self {
        Self {
            method: head.method.clone(),
            uri: head.uri.clone(),
            range: head.headers.get(RANGE).cloned(),
            conditions: conditions(&head.headers),
        }
    }

    pub(super) fn is_head(&self) -> bool {
        self.method == Method::HEAD
    }

    /// Returns the elements for an error, with their values.
    pub(super) fn details(&self, error: &S3Error, seen: &AccessLog) -> Vec<(&'static str, String)> {
        let mut details = Vec::new();
        let query = Query::parse(self.uri.query().unwrap_or("")).unwrap_or_default();
        let of_query = |name: &'static str, element: &'static str| {
            query.get(name).map(|value| (element, value.to_owned()))
        };
        for (name, value) in error.details() {
            details.push((*name, value.clone()));
        }
        self.complete_argument(&mut details, &query);
        let target = seen.target.as_ref();
        match error.code() {
            "PreconditionFailed" => {
                details
                    .extend(self.condition(seen.operation).map(|it| ("Condition", it.to_owned())));
            }
            "NoSuchKey" => details.extend(missing_key(seen).map(|key| ("Key", key))),
            "NoSuchVersion" => {
                details.extend(missing_key(seen).map(|key| ("Key", key)));
                details.extend(of_query("versionId", "VersionId"));
            }
            "NoSuchUpload" | "InvalidPart" => details.extend(of_query("uploadId", "UploadId")),
            "MethodNotAllowed" => {
                details.push(("Method", self.method.as_str().to_owned()));
                let kind = target.map(|target| match (target.bucket(), target.key()) {
                    (None, _) => "SERVICE",
                    (Some(_), None) => "BUCKET",
                    (Some(_), Some(_)) => "OBJECT",
                });
                details.extend(kind.map(|kind| ("ResourceType", kind.to_owned())));
            }
            "InvalidRange" => {
                let range = self.range.as_ref().and_then(|range| range.to_str().ok());
                details.extend(range.map(|range| ("RangeRequested", range.to_owned())));
                let len = error.content_len();
                details.extend(len.map(|len| ("ActualObjectSize", len.to_string())));
            }
            code if is_about_bucket(code, target) => {
                let bucket = target.filter(|_| seen.copy_source.is_none()).and_then(Target::bucket);
                details.extend(bucket.map(|bucket| ("BucketName", bucket.to_owned())));
            }
            _ => {}
        }
        details
    }

    /// Adds the value of an argument that the backend refused, from the query of the request. An
    /// argument that the query does not have is removed.
    fn complete_argument(&self, details: &mut Vec<(&'static str, String)>, query: &Query) {
        let has_value = details.iter().any(|(name, _)| *name == "ArgumentValue");
        let argument = details.iter().position(|(name, _)| *name == "ArgumentName");
        let Some(at) = argument.filter(|_| !has_value) else { return };
        let (_, name) = details.remove(at);
        if let Some(value) = query.get(&name) {
            let value = value.to_owned();
            details.extend([("ArgumentName", name), ("ArgumentValue", value)]);
        }
    }

    /// Returns the condition that did not hold, if that is certain.
    fn condition(&self, operation: Operation) -> Option<&'static str> {
        let reads = matches!(self.method, Method::GET | Method::HEAD);
        let (of_target, of_source) = self.conditions.split_at(CONDITIONS_OF_TARGET);
        let copies = matches!(operation, Operation::CopyObject | Operation::UploadPartCopy);
        if copies && of_target.contains(&true) && of_source.contains(&true) {
            return None;
        }
        let mut named = CONDITIONS.iter().zip(self.conditions).filter(|(_, is_there)| *is_there);
        // A read whose If-None-Match does not hold answers 304.
        let named = named.find(|((header, _), _)| !(reads && *header == "if-none-match"));
        named.map(|((_, name), _)| *name)
    }
}

fn conditions(headers: &HeaderMap) -> [bool; CONDITIONS.len()] {
    CONDITIONS.map(|(name, _)| headers.contains_key(name))
}

/// Returns the key of the object that does not exist: of a copy its source, otherwise the target.
fn missing_key(seen: &AccessLog) -> Option<String> {
    let key = match &seen.copy_source {
        Some(source) => {
            let (path, _) = headers::copied_path(source.to_str().ok()?);
            parse_target(&path.parse::<Uri>().ok()?, None, &[]).ok()?.key()?.to_owned()
        }
        None => seen.target.as_ref()?.key()?.to_owned(),
    };
    Some(key)
}

/// Returns true for a code that is about the bucket of a request.
fn is_about_bucket(code: &str, target: Option<&Target>) -> bool {
    let is_bucket = target.is_some_and(|target| target.key().is_none());
    code == "NoSuchBucket"
        || code.starts_with("Bucket")
        || (is_bucket && (code.starts_with("NoSuch") || code == "InvalidBucketName"))
}
