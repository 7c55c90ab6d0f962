//! `Delete`: many objects at once.

use super::XmlError;
use super::tree::Tree;

/// Greatest number of objects in one request, a limit of S3.
const MAX_OBJECTS: usize = 1_000;

/// A request to delete several objects (`DeleteObjects`).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeleteRequest {
    /// The objects in the client's order.
    pub objects: Vec<DeletedObject>,
    /// True if only failures are to be reported.
    pub quiet: bool,
}

/// An object to be deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeletedObject {
    /// Key of the object, unescaped.
    pub key: String,
    /// The version, if one is named.
    pub version_id: Option<String>,
    /// The entity tag that it must have, if one is named.
    pub etag: Option<String>,
    /// The size that it must have, if one is named.
    pub size: Option<u64>,
}

/// Reads the request. [`rewrite()`](super::rewrite()) changes it.
///
/// # Errors
/// [`XmlError`]: no object, more than 1,000, one without a key.
pub fn read_delete(xml: &[u8]) -> Result<DeleteRequest, XmlError> {
    let tree = Tree::parse(xml)?;
    let root = tree.expect_root("Delete")?;
    let quiet = match root.child_text("Quiet")?.as_deref().map(str::trim) {
        None => false,
        Some(word) if word.eq_ignore_ascii_case("true") => true,
        Some(word) if word.eq_ignore_ascii_case("false") => false,
        Some(_) => return Err(XmlError::Invalid("Quiet")),
    };
    let mut objects = Vec::new();
    for element in root.children().filter(|child| child.name() == "Object") {
        if objects.len() == MAX_OBJECTS {
            return Err(XmlError::TooMany);
        }
        let key = element.child_text("Key")?.filter(|key| !key.is_empty());
        objects.push(DeletedObject {
            key: key.ok_or(XmlError::Missing("Key"))?.into_owned(),
            version_id: element.child_text("VersionId")?.map(|it| it.trim().to_owned()),
            etag: element.child_text("ETag")?.map(|it| it.trim().to_owned()),
            size: element.child_number("Size")?,
        });
    }
    if objects.is_empty() {
        return Err(XmlError::Missing("Object"));
    }
    Ok(DeleteRequest { objects, quiet })
}
