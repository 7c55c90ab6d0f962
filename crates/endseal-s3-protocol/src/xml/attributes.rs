//! Changes in a response `GetObjectAttributesResponse`.

use super::edit::Edits;
use super::tree::Tree;
use super::{Builder, ChecksumChange, XmlError};
use crate::checksum::ChecksumValue;

/// New values of an object's attributes; `None` leaves the old.
///
/// `ETag`, `ObjectSize` and `ObjectParts` are not added where they are not: the client did not ask.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "written out by whoever asks")]
pub struct AttributesChange {
    /// New value of `ETag`, here without quotes.
    pub etag: Option<String>,
    /// New value of `ObjectSize`, in bytes.
    pub size: Option<u64>,
    /// `Checksum`. A value is added only if the caller says so by setting it: it knows what was
    /// asked for.
    pub checksum: ChecksumChange,
    /// Change of the element `ObjectParts`.
    pub parts: PartsAttributes,
}

/// Change of the element `ObjectParts`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum PartsAttributes {
    /// The element stays as the backend wrote it.
    #[default]
    Keep,
    /// The element is removed: clients see an object without parts.
    Drop,
    /// These values replace the element, or are added if there was none.
    Set {
        /// `PartsCount`: all parts of the object.
        total: u16,
        /// Value of `PartNumberMarker`: the number of the part before this page.
        marker: u16,
        /// Value of `MaxParts`: the greatest number of parts on this page.
        max: u16,
        /// The parts of this page.
        parts: Vec<PartAttributes>,
        /// True if more parts follow this page.
        truncated: bool,
    },
}

/// A part as the attributes list it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "written out by whoever asks")]
pub struct PartAttributes {
    /// Value of `PartNumber`, from 1.
    pub number: u16,
    /// Value of `Size`, in bytes of content.
    pub size: u64,
    /// Checksum of the part, if it is known.
    pub checksum: Option<ChecksumValue>,
}

/// Elements of which a response has at least one, since a request asks for at least one.
const ATTRIBUTES: [&str; 5] = ["Checksum", "ETag", "ObjectParts", "ObjectSize", "StorageClass"];

/// The attributes with other values, everything else as it was.
///
/// # Errors
/// [`XmlError`].
pub fn rewrite_attributes(xml: &[u8], change: &AttributesChange) -> Result<Vec<u8>, XmlError> {
    let tree = Tree::parse(xml)?;
    // Servers differ in the name of the root element.
    let root = tree.root();
    if !root.children().any(|child| ATTRIBUTES.contains(&child.name())) {
        return Err(XmlError::UnexpectedRoot);
    }
    let mut edits = Edits::default();
    if let Some(etag) = &change.etag {
        edits.set_child(&root, "ETag", etag);
    }
    if let Some(size) = change.size {
        edits.set_child(&root, "ObjectSize", &size.to_string());
    }
    if change.checksum != ChecksumChange::Keep {
        root.children().filter(|it| it.name() == "Checksum").for_each(|it| edits.remove(&it));
    }
    let mut fragment = Builder::fragment();
    if let ChecksumChange::Set { .. } = change.checksum {
        fragment.open("Checksum");
        change.checksum.write(&mut fragment);
        fragment.close();
    }
    if change.parts != PartsAttributes::Keep {
        root.children().filter(|it| it.name() == "ObjectParts").for_each(|it| edits.remove(&it));
        change.parts.write(&mut fragment);
    }
    edits.append(&root, fragment);
    Ok(edits.apply(&tree))
}

impl PartsAttributes {
    fn write(&self, builder: &mut Builder) {
        let Self::Set { total, marker, max, parts, truncated } = self else { return };
        let next = parts.last().map_or(*marker, |part| part.number);
        builder
            .open("ObjectParts")
            .leaf("IsTruncated", if *truncated { "true" } else { "false" })
            .leaf("MaxParts", &max.to_string())
            .leaf("NextPartNumberMarker", &next.to_string())
            .leaf("PartNumberMarker", &marker.to_string());
        for part in parts {
            builder.open("Part").leaf("PartNumber", &part.number.to_string());
            builder.leaf("Size", &part.size.to_string());
            if let Some(checksum) = &part.checksum {
                builder.leaf(checksum.kind().element(), &checksum.to_base64());
            }
            builder.close();
        }
        builder.leaf("PartsCount", &total.to_string()).close();
    }
}
