//! One entry of a list, and the change that a caller makes to it.

use std::borrow::Cow;

use super::XmlError;
use super::builder::Builder;
use super::edit::Edits;
use super::tree::Element;
use crate::checksum::{ChecksumType, ChecksumValue};
use crate::sigv4::uri;

/// Kind of an entry, which follows from its element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EntryKind {
    /// An object, `Contents` of a list of objects.
    Object,
    /// A version of an object, `Version`.
    Version,
    /// A delete marker, `DeleteMarker`.
    DeleteMarker,
    /// A common prefix: a `Prefix` of `CommonPrefixes`.
    CommonPrefix,
    /// An upload in parts, `Upload`.
    Upload,
    /// A part of an upload, `Part`.
    Part,
    /// `Object` of a request to delete.
    Delete,
    /// An object that was deleted, `Deleted`.
    Deleted,
    /// `Error` of an answer to such a request.
    DeleteError,
}

/// Values of an entry that the proxy uses. Text is unescaped, and decoded if the list has the
/// element `<EncodingType>url</EncodingType>`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Entry<'a> {
    /// Kind of the entry, which decides the values that it can have.
    pub kind: EntryKind,
    /// `Key`, or the prefix of a common prefix. Parts have none.
    pub key: Option<Cow<'a, str>>,
    /// Value of `Size` in bytes.
    pub size: Option<u64>,
    /// `ETag` as it stands, mostly with quotes.
    pub etag: Option<Cow<'a, str>>,
    /// Value of `VersionId`, if the entry has one.
    pub version_id: Option<Cow<'a, str>>,
    /// Value of `UploadId`, if the entry has one.
    pub upload_id: Option<Cow<'a, str>>,
    /// Value of `PartNumber`, if the entry has one.
    pub part_number: Option<u64>,
}

/// Change of an entry, which a caller decides for each.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Change {
    /// The entry stays as it is.
    Keep,
    /// The entry is removed from the list.
    Drop,
    /// Some values are replaced; a value that the entry does not have is not added.
    Set(Replacement),
}

/// New values of an entry; `None` leaves the old.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "written out by whoever asks")]
pub struct Replacement {
    /// `Key`, or the prefix. Encoded as the list is.
    pub key: Option<String>,
    /// New value of `Size`, in bytes.
    pub size: Option<u64>,
    /// `ETag`, with quotes if clients shall see them.
    pub etag: Option<String>,
    /// New value of `UploadId`.
    pub upload_id: Option<String>,
    /// Change of the entry's checksum elements.
    pub checksum: ChecksumChange,
}

/// Change of the elements `ChecksumCRC32`, `ChecksumSHA256` and so on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChecksumChange {
    /// The elements stay as the backend wrote them.
    #[default]
    Keep,
    /// They are removed, because they are checksums of the bytes that the backend stores.
    Drop,
    /// This checksum replaces all of them.
    Set {
        /// Value of the checksum.
        value: ChecksumValue,
        /// Type of the checksum, if the entry states it.
        kind: Option<ChecksumType>,
        /// Number of parts of a composite value; written behind it.
        parts: Option<u16>,
    },
}

impl<'t> Entry<'t> {
    pub(super) fn read(
        kind: EntryKind,
        element: &Element<'t>,
        url: bool,
    ) -> Result<Self, XmlError> {
        let key = match kind {
            EntryKind::CommonPrefix => Some(element.text("Prefix")?),
            _ => element.child_text("Key")?,
        };
        let key = key.map(|key| if url { decode(&key).map(Cow::Owned) } else { Ok(key) });
        Ok(Self {
            kind,
            key: key.transpose()?,
            size: element.child_number("Size")?,
            etag: element.child_text("ETag")?,
            version_id: element.child_text("VersionId")?,
            upload_id: element.child_text("UploadId")?,
            part_number: element.child_number("PartNumber")?,
        })
    }
}

impl Replacement {
    pub(super) fn apply(
        &self,
        edits: &mut Edits,
        kind: EntryKind,
        element: &Element<'_>,
        url: bool,
    ) {
        if let Some(key) = &self.key {
            let key = if url { Cow::Owned(encode(key)) } else { Cow::Borrowed(key.as_str()) };
            match kind {
                EntryKind::CommonPrefix => edits.set_text(element, &key),
                _ => edits.set_child(element, "Key", &key),
            }
        }
        if let Some(size) = self.size {
            edits.set_child(element, "Size", &size.to_string());
        }
        if let Some(etag) = &self.etag {
            edits.set_child(element, "ETag", etag);
        }
        if let Some(upload_id) = &self.upload_id {
            edits.set_child(element, "UploadId", upload_id);
        }
        self.checksum.apply(edits, element);
    }
}

impl ChecksumChange {
    /// Changes the `Checksum…` children of an element.
    pub(super) fn apply(&self, edits: &mut Edits, element: &Element<'_>) {
        if *self == Self::Keep {
            return;
        }
        for child in element.children() {
            // Also those of algorithms that the proxy does not know.
            if child.name().starts_with("Checksum") {
                edits.remove(&child);
            }
        }
        let mut fragment = Builder::fragment();
        self.write(&mut fragment);
        edits.append(element, fragment);
    }

    /// Writes the elements of a new value.
    pub(super) fn write(&self, builder: &mut Builder) {
        let Self::Set { value, kind, parts } = self else { return };
        let mut text = value.to_base64();
        if let Some(parts) = parts {
            text.push_str(&format!("-{parts}"));
        }
        builder.leaf(value.kind().element(), &text);
        if let Some(kind) = kind {
            builder.leaf("ChecksumType", kind.name());
        }
    }
}

/// The key that `encoding-type=url` wrote: `+` is a space.
pub(super) fn decode(text: &str) -> Result<String, XmlError> {
    // A key in a query is written the same way.
    let bytes = uri::decode_component(text).map_err(|_| XmlError::Invalid("Key"))?;
    String::from_utf8(bytes.into_owned()).map_err(|_| XmlError::Invalid("Key"))
}

pub(super) fn encode(key: &str) -> String {
    uri::encode_path(key.as_bytes())
}
