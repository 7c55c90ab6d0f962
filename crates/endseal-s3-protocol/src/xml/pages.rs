//! Pages of lists, read whole, for operations on all objects or uploads of a bucket.

use super::XmlError;
use super::entry::decode;
use super::list_root::check_list_of;
use super::tree::{Element, Tree};

/// A page of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "what there is")]
pub struct Page<T> {
    /// Entries in the order of the page.
    pub entries: Vec<T>,
    /// Start of the next page, if there is one.
    pub next: Option<Next>,
}

/// Start of the next page of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "what lists have")]
pub struct Next {
    /// The token of a list of objects or buckets; the key of any other.
    pub marker: String,
    /// Upload or version behind which the next page begins, if the list names one.
    pub id: Option<String>,
}

/// Entry of a list of objects, of versions or of uploads.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Listed {
    /// Key of the object, unescaped and decoded.
    pub key: String,
    /// `VersionId` or `UploadId`; objects have none.
    pub id: Option<String>,
    /// True if the entry is a `DeleteMarker`.
    pub is_marker: bool,
    /// `LastModified` or `Initiated` as it stands.
    pub time: Option<String>,
}

/// Reads a page of `ListObjectsV2`.
///
/// # Errors
/// [`XmlError`]: an object without a key, or a page that goes on and does not say where.
pub fn read_objects(xml: &[u8]) -> Result<Page<Listed>, XmlError> {
    let tree = Tree::parse(xml)?;
    let root = tree.root();
    check_list_of(&root, "ListBucketResult")?;
    let url = is_url_encoded(&root)?;
    let mut entries = Vec::new();
    for element in root.children().filter(|child| child.name() == "Contents") {
        entries.push(listed(&element, url, None, "LastModified")?);
    }
    let next = match is_truncated(&root)? {
        false => None,
        true => {
            let marker = required(&root, "NextContinuationToken")?;
            Some(Next { marker, id: None })
        }
    };
    Ok(Page { entries, next })
}

/// Reads a page of `ListObjectVersions`.
///
/// # Errors
/// As [`read_objects`], and a version without an id.
pub fn read_versions(xml: &[u8]) -> Result<Page<Listed>, XmlError> {
    let tree = Tree::parse(xml)?;
    let root = tree.root();
    check_list_of(&root, "ListVersionsResult")?;
    let url = is_url_encoded(&root)?;
    let mut entries = Vec::new();
    for element in root.children() {
        if matches!(element.name(), "Version" | "DeleteMarker") {
            entries.push(listed(&element, url, Some("VersionId"), "LastModified")?);
        }
    }
    let next = next_key(&root, url, "NextVersionIdMarker")?;
    Ok(Page { entries, next })
}

/// Reads a page of `ListMultipartUploads`.
///
/// # Errors
/// As [`read_objects`], and an upload without an id.
pub fn read_uploads(xml: &[u8]) -> Result<Page<Listed>, XmlError> {
    let tree = Tree::parse(xml)?;
    let root = tree.root();
    check_list_of(&root, "ListMultipartUploadsResult")?;
    let url = is_url_encoded(&root)?;
    let mut entries = Vec::new();
    for element in root.children().filter(|child| child.name() == "Upload") {
        entries.push(listed(&element, url, Some("UploadId"), "Initiated")?);
    }
    let next = next_key(&root, url, "NextUploadIdMarker")?;
    Ok(Page { entries, next })
}

/// Reads a page of `ListBuckets`: names.
///
/// # Errors
/// [`XmlError`]: a bucket without a name.
pub fn read_buckets(xml: &[u8]) -> Result<Page<String>, XmlError> {
    let tree = Tree::parse(xml)?;
    let root = tree.root();
    let buckets = root.child("Buckets");
    if buckets.is_none() && root.name() != "ListAllMyBucketsResult" {
        return Err(XmlError::UnexpectedRoot);
    }
    let mut entries = Vec::new();
    let children = buckets.iter().flat_map(Element::children);
    for element in children.filter(|child| child.name() == "Bucket") {
        entries.push(required(&element, "Name")?);
    }
    let token = root.child_text("ContinuationToken")?.filter(|token| !token.is_empty());
    let next = token.map(|token| Next { marker: token.into_owned(), id: None });
    Ok(Page { entries, next })
}

/// Returns true if an answer to `GetBucketVersioning` says that the bucket has versions, or had
/// once.
///
/// # Errors
/// [`XmlError`].
pub fn read_versioning(xml: &[u8]) -> Result<bool, XmlError> {
    let tree = Tree::parse(xml)?;
    let root = tree.expect_root("VersioningConfiguration")?;
    let status = root.child_text("Status")?;
    Ok(status.is_some_and(|status| matches!(status.trim(), "Enabled" | "Suspended")))
}

fn listed(
    element: &Element<'_>,
    url: bool,
    id: Option<&'static str>,
    time: &'static str,
) -> Result<Listed, XmlError> {
    let key = element.child_text("Key")?.ok_or(XmlError::Missing("Key"))?;
    Ok(Listed {
        key: if url { decode(&key)? } else { key.into_owned() },
        id: id.map(|name| required(element, name)).transpose()?,
        is_marker: element.name() == "DeleteMarker",
        time: element.child_text(time)?.map(|text| text.trim().to_owned()),
    })
}

fn next_key(root: &Element<'_>, url: bool, id: &'static str) -> Result<Option<Next>, XmlError> {
    if !is_truncated(root)? {
        return Ok(None);
    }
    let marker = required(root, "NextKeyMarker")?;
    let marker = if url { decode(&marker)? } else { marker };
    let id = root.child_text(id)?.filter(|id| !id.is_empty()).map(|id| id.into_owned());
    Ok(Some(Next { marker, id }))
}

fn required(element: &Element<'_>, name: &'static str) -> Result<String, XmlError> {
    let text = element.child_text(name)?.filter(|text| !text.is_empty());
    Ok(text.ok_or(XmlError::Missing(name))?.into_owned())
}

fn is_truncated(root: &Element<'_>) -> Result<bool, XmlError> {
    let word = root.child_text("IsTruncated")?;
    Ok(word.is_some_and(|word| word.trim().eq_ignore_ascii_case("true")))
}

fn is_url_encoded(root: &Element<'_>) -> Result<bool, XmlError> {
    let encoding = root.child_text("EncodingType")?;
    Ok(encoding.is_some_and(|it| it.trim().eq_ignore_ascii_case("url")))
}
