//! Reads and changes answers about one object: started and completed uploads, copies, errors.

use super::edit::Edits;
use super::tree::Tree;
use super::{ChecksumChange, XmlError};

/// Values of an answer that the proxy uses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fields {
    /// Name of the root element, which is the kind of the answer.
    pub root: String,
    /// Value of `Key`, unescaped.
    pub key: Option<String>,
    /// Value of `ETag`, as the backend wrote it.
    pub etag: Option<String>,
    /// Value of `UploadId`, as the backend wrote it.
    pub upload_id: Option<String>,
    /// Value of `LastModified`, as the backend wrote it.
    pub last_modified: Option<String>,
    /// Value of `Location`: the URL of the object.
    pub location: Option<String>,
    /// Value of `Code`, if the answer is an error.
    pub code: Option<String>,
    /// Value of `Message`, if the answer is an error.
    pub message: Option<String>,
    /// Value of `ArgumentName`, if the answer is an error about a header or parameter.
    pub argument_name: Option<String>,
}

/// New values of an answer. `None` leaves the old value, and a value that the answer does not have
/// is not added.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "written out by whoever asks")]
pub struct ResultChange {
    /// New value of `Key`.
    pub key: Option<String>,
    /// `ETag`, with quotes if clients shall see them.
    pub etag: Option<String>,
    /// New value of `UploadId`.
    pub upload_id: Option<String>,
    /// New value of `Location`.
    pub location: Option<String>,
    /// New value of `Resource` in an error.
    pub resource: Option<String>,
    /// Change of its checksums; a value is added if there is none.
    pub checksum: ChecksumChange,
}

impl Fields {
    /// Reads an answer about one object, or an `Error`. The name of the root element is not
    /// compared, because servers differ in it: the caller checks that the values which it needs
    /// are there.
    ///
    /// # Errors
    /// [`XmlError`].
    pub fn read(xml: &[u8]) -> Result<Self, XmlError> {
        let tree = Tree::parse(xml)?;
        let root = tree.root();
        let text = |name| root.child_text(name).map(|text| text.map(|it| it.into_owned()));
        Ok(Self {
            root: root.name().to_owned(),
            key: text("Key")?,
            etag: text("ETag")?,
            upload_id: text("UploadId")?,
            last_modified: text("LastModified")?,
            location: text("Location")?,
            code: text("Code")?,
            message: text("Message")?,
            argument_name: text("ArgumentName")?,
        })
    }
}

/// An answer about one object with other values, everything else as it was.
///
/// # Errors
/// As [`Fields::read`].
pub fn rewrite_result(xml: &[u8], change: &ResultChange) -> Result<Vec<u8>, XmlError> {
    let tree = Tree::parse(xml)?;
    let root = tree.root();
    let mut edits = Edits::default();
    for (name, value) in [
        ("Key", &change.key),
        ("ETag", &change.etag),
        ("UploadId", &change.upload_id),
        ("Location", &change.location),
        ("Resource", &change.resource),
    ] {
        if let Some(value) = value {
            edits.set_child(&root, name, value);
        }
    }
    change.checksum.apply(&mut edits, &root);
    Ok(edits.apply(&tree))
}
