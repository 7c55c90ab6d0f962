//! Recognises lists by their root element or, where a server names it otherwise, by its content.

use super::XmlError;
use super::tree::Element;

/// Root elements of lists and of the documents of `DeleteObjects`.
const ROOTS: [&str; 6] = [
    "Delete",
    "DeleteResult",
    "ListBucketResult",
    "ListMultipartUploadsResult",
    "ListPartsResult",
    "ListVersionsResult",
];

/// Checks that a document is a list. Servers differ in the name of the root element, so a list with
/// another name is recognised by `IsTruncated`, which S3 defines for every list.
pub(super) fn check_list(root: &Element<'_>) -> Result<(), XmlError> {
    match ROOTS.contains(&root.name()) || root.child("IsTruncated").is_some() {
        true => Ok(()),
        false => Err(XmlError::UnexpectedRoot),
    }
}

/// Checks that a document is a list, and not one that is known by another name than `name`.
pub(super) fn check_list_of(root: &Element<'_>, name: &str) -> Result<(), XmlError> {
    match root.name() != name && ROOTS.contains(&root.name()) {
        true => Err(XmlError::UnexpectedRoot),
        false => check_list(root),
    }
}
