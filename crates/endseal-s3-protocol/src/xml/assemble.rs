//! Lists that are assembled from the entries of several pages, in an order of the caller's.

use super::builder::Builder;
use super::edit::Edits;
use super::entry::encode;
use super::list::head;
use super::list_root::check_list;
use super::rewrite::{entry_kind, is_url_encoded};
use super::tree::Tree;
use super::{Entry, EntryKind, Leaf, ListHead, Replacement, XmlError};

/// Page of a list, of which the entries are separate.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListPage {
    /// Where the page ends.
    pub head: ListHead,
    /// Entries in the order of the page, common prefixes among them.
    pub entries: Vec<ListEntry>,
}

/// Entry of a list with its XML text, which can be shown in another list of the same server.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListEntry {
    /// Kind of the entry.
    pub kind: EntryKind,
    /// `Key`, or the prefix of a common prefix, decoded.
    pub key: String,
    /// Value of `VersionId` or `UploadId`, if the entry has one.
    pub id: Option<String>,
    /// XML text of the whole element. That of a common prefix is empty: nothing but its prefix is
    /// in it.
    text: String,
}

impl ListPage {
    /// Reads a page of a list of objects, versions or uploads.
    ///
    /// # Errors
    /// [`XmlError`].
    pub fn read(xml: &[u8]) -> Result<Self, XmlError> {
        let tree = Tree::parse(xml)?;
        let root = tree.root();
        check_list(&root)?;
        let url = is_url_encoded(&root)?;
        let mut entries = Vec::new();
        for element in root.children() {
            if element.name() == "CommonPrefixes" {
                for prefix in element.children().filter(|child| child.name() == "Prefix") {
                    let entry = Entry::read(EntryKind::CommonPrefix, &prefix, url)?;
                    entries.push(ListEntry::of(&entry, ""));
                }
            } else if let Some(kind) = entry_kind(&element) {
                let entry = Entry::read(kind, &element, url)?;
                entries.push(ListEntry::of(&entry, &tree.text()[element.outer()]));
            }
        }
        Ok(Self { head: head(&root, url)?, entries })
    }
}

impl ListEntry {
    fn of(entry: &Entry<'_>, text: &str) -> Self {
        let id = entry.version_id.as_deref().or(entry.upload_id.as_deref());
        Self {
            kind: entry.kind,
            key: entry.key.as_deref().unwrap_or_default().to_owned(),
            id: id.map(str::to_owned),
            text: text.to_owned(),
        }
    }

    /// Returns the length of the entry's XML text in bytes.
    #[must_use]
    pub fn text_len(&self) -> usize {
        self.text.len()
    }

    /// Returns the XML text with another `key`, which is URL-encoded if `url` is true, and with the
    /// values that `change` returns. For a common prefix use [`common_prefix`].
    ///
    /// # Errors
    /// [`XmlError`] for a number that is none, and for a common prefix.
    pub fn rewritten(
        &self,
        key: &str,
        url: bool,
        change: impl FnOnce(&Entry<'_>) -> Replacement,
    ) -> Result<String, XmlError> {
        let tree = Tree::parse(self.text.as_bytes())?;
        let root = tree.root();
        let change = change(&Entry::read(self.kind, &root, false)?);
        let mut edits = Edits::default();
        Replacement { key: Some(key.to_owned()), ..change }
            .apply(&mut edits, self.kind, &root, url);
        String::from_utf8(edits.apply(&tree)).map_err(|_| XmlError::NotUtf8)
    }
}

/// Returns the XML text of a common prefix, which is URL-encoded if `url` is true.
#[must_use]
pub fn common_prefix(prefix: &str, url: bool) -> String {
    let mut fragment = Builder::fragment();
    fragment.open("CommonPrefixes");
    match url {
        true => fragment.leaf("Prefix", &encode(prefix)),
        false => fragment.leaf("Prefix", prefix),
    };
    fragment.finish_text()
}

/// Writes a list with the root element of the server's list `xml`, and with nothing else of it:
/// `leaves` first, then `entries` as they are. Keys among the leaves are URL-encoded if `url` is
/// true.
///
/// # Errors
/// [`XmlError`].
pub fn assemble(
    xml: &[u8],
    leaves: &[Leaf],
    entries: &[String],
    url: bool,
) -> Result<Vec<u8>, XmlError> {
    let tree = Tree::parse(xml)?;
    let root = tree.root();
    check_list(&root)?;
    let begin = if root.is_empty() { root.outer().end } else { root.inner().start };
    let start = tree.text()[..begin].trim_end_matches(['/', '>']);
    let mut fragment = Builder::fragment();
    for Leaf { name, text, is_key } in leaves {
        match url && *is_key {
            true => fragment.leaf(name, &encode(text)),
            false => fragment.leaf(name, text),
        };
    }
    let leaves = fragment.finish_text();
    let document = format!("{start}>{leaves}{}</{}>", entries.concat(), root.tag());
    Ok(document.into_bytes())
}
