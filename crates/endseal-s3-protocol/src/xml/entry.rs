//! One entry of a list, and what is to become of it.

use std::borrow::Cow;

use super::XmlError;
use super::builder::Builder;
use super::edit::Edits;
use super::tree::Element;
use crate::checksum::{ChecksumType, ChecksumValue};
use crate::sigv4::uri;

/// Kind of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EntryKind {
    /// `Contents`.
    Object,
    /// `Version`.
    Version,
    /// `DeleteMarker`.
    DeleteMarker,
    /// A `Prefix` of `CommonPrefixes`.
    CommonPrefix,
    /// `Upload`.
    Upload,
    /// `Part`.
    Part,
    /// `Object` of a request to delete.
    Delete,
    /// `Deleted`.
    Deleted,
    /// `Error` of an answer to such a request.
    DeleteError,
}

/// Fields of an entry that the proxy uses. Text is unescaped, and decoded if the list says
/// `<EncodingType>url</EncodingType>`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Entry<'a> {
    /// Kind of the entry.
    pub kind: EntryKind,
    /// `Key`, or the prefix of a common prefix. Parts have none.
    pub key: Option<Cow<'a, str>>,
    /// `Size` in bytes.
    pub size: Option<u64>,
    /// `ETag` as it stands, mostly with quotes.
    pub etag: Option<Cow<'a, str>>,
    /// `VersionId`.
    pub version_id: Option<Cow<'a, str>>,
    /// `UploadId`.
    pub upload_id: Option<Cow<'a, str>>,
    /// `PartNumber`.
    pub part_number: Option<u64>,
}

/// Change of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Change {
    /// It stays as it is.
    Keep,
    /// It is taken out.
    Drop,
    /// Some of it is replaced; what it does not have is not added.
    Set(Replacement),
}

/// New values of an entry; `None` leaves the old.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "written out by whoever asks")]
pub struct Replacement {
    /// `Key`, or the prefix. Encoded as the list is.
    pub key: Option<String>,
    /// `Size` in bytes.
    pub size: Option<u64>,
    /// `ETag`, with quotes if clients shall see them.
    pub etag: Option<String>,
    /// `UploadId`.
    pub upload_id: Option<String>,
    /// Change of its checksums.
    pub checksum: ChecksumChange,
}

/// Change of `Checksum…` elements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChecksumChange {
    /// They stay.
    #[default]
    Keep,
    /// They are taken out: they are of what the backend stores.
    Drop,
    /// This one takes their place.
    Set {
        /// The value.
        value: ChecksumValue,
        /// Its type, where it is to be said.
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
