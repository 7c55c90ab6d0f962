//! Rewrites lists of objects, versions and uploads: entries are kept or changed one by one, and the
//! elements about the page around them are replaced.

use super::builder::Builder;
use super::edit::Edits;
use super::entry::{decode, encode};
use super::list_root::check_list;
use super::rewrite::{common_prefixes, entry_kind, is_url_encoded, one};
use super::tree::{Element, Tree};
use super::{Change, Entry, XmlError};

/// Elements of a list outside its entries, about its start, its end and its continuation.
const OUTSIDE: [&str; 16] = [
    "ContinuationToken",
    "IsTruncated",
    "KeyCount",
    "KeyMarker",
    "Marker",
    "MaxKeys",
    "MaxUploads",
    "NextContinuationToken",
    "NextKeyMarker",
    "NextMarker",
    "NextUploadIdMarker",
    "NextVersionIdMarker",
    "Prefix",
    "StartAfter",
    "UploadIdMarker",
    "VersionIdMarker",
];

/// Where a page of a list ends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListHead {
    /// True if more pages follow.
    pub is_truncated: bool,
    /// Value of `NextContinuationToken`, if there is one.
    pub next_token: Option<String>,
    /// Value of `NextMarker` or `NextKeyMarker`, decoded.
    pub next_key: Option<String>,
    /// Value of `NextVersionIdMarker` or `NextUploadIdMarker`.
    pub next_id: Option<String>,
}

impl ListHead {
    /// Reads the head of a list of any kind.
    ///
    /// # Errors
    /// [`XmlError`].
    pub fn read(xml: &[u8]) -> Result<Self, XmlError> {
        let tree = Tree::parse(xml)?;
        let root = tree.root();
        check_list(&root)?;
        head(&root, is_url_encoded(&root)?)
    }
}

pub(super) fn head(root: &Element<'_>, url: bool) -> Result<ListHead, XmlError> {
    let text = |name| -> Result<Option<String>, XmlError> {
        let text = root.child_text(name)?.filter(|text| !text.is_empty());
        Ok(text.map(|text| text.into_owned()))
    };
    let key = text("NextMarker")?.or(text("NextKeyMarker")?);
    let word = root.child_text("IsTruncated")?;
    Ok(ListHead {
        is_truncated: word.is_some_and(|word| word.trim().eq_ignore_ascii_case("true")),
        next_token: text("NextContinuationToken")?,
        next_key: key.map(|key| if url { decode(&key) } else { Ok(key) }).transpose()?,
        next_id: text("NextVersionIdMarker")?.or(text("NextUploadIdMarker")?),
    })
}

/// An element of a list outside its entries, such as `MaxKeys`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "written out by whoever asks")]
pub struct Leaf {
    /// Name of the element.
    pub name: &'static str,
    /// Text of the element, unescaped.
    pub text: String,
    /// True if the text is a key or a prefix: then it is encoded if the list is.
    pub is_key: bool,
}

/// Rewrites a list. Each entry is changed as `entry` decides, in the given order. The elements
/// about the start, the end and the continuation of the page are replaced by `leaves`. Everything
/// else is copied.
///
/// # Errors
/// [`XmlError`].
pub fn relist(
    xml: &[u8],
    leaves: &[Leaf],
    mut entry: impl FnMut(&Entry<'_>) -> Change,
) -> Result<Vec<u8>, XmlError> {
    let tree = Tree::parse(xml)?;
    let root = tree.root();
    check_list(&root)?;
    let url = is_url_encoded(&root)?;
    let mut edits = Edits::default();
    for element in root.children() {
        if element.name() == "CommonPrefixes" {
            common_prefixes(&element, url, &mut entry, &mut edits)?;
        } else if let Some(kind) = entry_kind(&element) {
            if one(kind, &element, url, &mut entry, &mut edits)? {
                edits.remove(&element);
            }
        } else if OUTSIDE.contains(&element.name()) {
            edits.remove(&element);
        }
    }
    let mut fragment = Builder::fragment();
    for Leaf { name, text, is_key } in leaves {
        match url && *is_key {
            true => fragment.leaf(name, &encode(text)),
            false => fragment.leaf(name, text),
        };
    }
    match root.child("Name").or_else(|| root.child("Bucket")) {
        Some(name) => edits.insert_behind(&name, fragment),
        None => edits.append(&root, fragment),
    }
    Ok(edits.apply(&tree))
}
