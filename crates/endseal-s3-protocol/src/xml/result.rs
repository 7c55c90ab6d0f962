//! Answers about one object: uploads begun and completed, copies, errors.

use super::edit::Edits;
use super::tree::{Element, Tree};
use super::{ChecksumChange, XmlError};

/// Fields of an answer that the proxy uses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fields {
    /// The name of the root.
    pub root: String,
    /// `Key`.
    pub key: Option<String>,
    /// `ETag` as it stands.
    pub etag: Option<String>,
    /// `UploadId`.
    pub upload_id: Option<String>,
    /// `LastModified` as it stands.
    pub last_modified: Option<String>,
    /// `Location`.
    pub location: Option<String>,
    /// `Code` of an error.
    pub code: Option<String>,
    /// `Message` of an error.
    pub message: Option<String>,
}

/// New values of an answer; `None` leaves the old, and what is not there is not added.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "written out by whoever asks")]
pub struct ResultChange {
    /// `Key`.
    pub key: Option<String>,
    /// `ETag`, with quotes if clients shall see them.
    pub etag: Option<String>,
    /// `UploadId`.
    pub upload_id: Option<String>,
    /// `Location`.
    pub location: Option<String>,
    /// `Resource` of an error.
    pub resource: Option<String>,
    /// Change of its checksums; a value is added if there is none.
    pub checksum: ChecksumChange,
}

impl Fields {
    /// Reads an answer about one object, or an `Error`.
    ///
    /// # Errors
    /// [`XmlError`]; [`XmlError::UnexpectedRoot`] for any other document.
    pub fn read(xml: &[u8]) -> Result<Self, XmlError> {
        let tree = Tree::parse(xml)?;
        let root = tree.root();
        check(&root)?;
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
    check(&root)?;
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

fn check(root: &Element<'_>) -> Result<(), XmlError> {
    match root.name() {
        "InitiateMultipartUploadResult"
        | "CompleteMultipartUploadResult"
        | "CopyObjectResult"
        | "CopyPartResult"
        | "PostResponse"
        | "Error" => Ok(()),
        _ => Err(XmlError::UnexpectedRoot),
    }
}
