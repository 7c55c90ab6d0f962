//! `ListPartsResult`: the backend's list of parts.

use super::list_root::check_list_of;
use super::tree::{Element, Tree};
use super::{Builder, XmlError};
use crate::checksum::{ChecksumKind, ChecksumValue};

/// A page of a list of parts.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PartsPage {
    /// In the order of the page.
    pub parts: Vec<ListedPart>,
    /// `NextPartNumberMarker`, if the list goes on.
    pub next: Option<u64>,
}

/// A part as it is listed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "written out by whoever asks")]
pub struct ListedPart {
    /// Value of `PartNumber`, from 1 to 10,000.
    pub number: u16,
    /// Value of `ETag`, as the backend wrote it.
    pub etag: String,
    /// Value of `Size` in bytes.
    pub size: u64,
    /// Value of `LastModified`, as the backend wrote it.
    pub last_modified: Option<String>,
    /// The checksum of the part, if the list tells it.
    pub checksum: Option<ChecksumValue>,
}

/// The checksum of a part; none of an algorithm that is not known here.
pub(super) fn checksum(part: &Element<'_>) -> Result<Option<ChecksumValue>, XmlError> {
    let mut checksum = None;
    for child in part.children() {
        let Some(kind) = ChecksumKind::from_element(child.name()) else { continue };
        let value = ChecksumValue::from_base64(kind, child.text(kind.element())?.trim());
        let value = value.ok_or(XmlError::Invalid(kind.element()))?;
        if checksum.replace(value).is_some() {
            return Err(XmlError::Invalid(kind.element()));
        }
    }
    Ok(checksum)
}

/// Reads one page of a list of parts.
///
/// # Errors
/// [`XmlError`] if a part has no number, tag or size, a checksum is malformed, or a truncated page
/// does not name the next one.
pub fn read_parts(xml: &[u8]) -> Result<PartsPage, XmlError> {
    let tree = Tree::parse(xml)?;
    let root = tree.root();
    check_list_of(&root, "ListPartsResult")?;
    let mut parts = Vec::new();
    for element in root.children().filter(|child| child.name() == "Part") {
        let number = element.child_number("PartNumber")?.ok_or(XmlError::Missing("PartNumber"))?;
        let number = u16::try_from(number).ok().filter(|it| (1..=10_000).contains(it));
        let etag = element.child_text("ETag")?.ok_or(XmlError::Missing("ETag"))?;
        parts.push(ListedPart {
            number: number.ok_or(XmlError::Invalid("PartNumber"))?,
            etag: etag.trim().to_owned(),
            size: element.child_number("Size")?.ok_or(XmlError::Missing("Size"))?,
            last_modified: element.child_text("LastModified")?.map(|it| it.trim().to_owned()),
            checksum: checksum(&element)?,
        });
    }
    let truncated = root.child_text("IsTruncated")?;
    let next = if truncated.is_some_and(|it| it.trim().eq_ignore_ascii_case("true")) {
        let marker = root.child_number("NextPartNumberMarker")?;
        Some(marker.ok_or(XmlError::Missing("NextPartNumberMarker"))?)
    } else {
        None
    };
    Ok(PartsPage { parts, next })
}

impl ListedPart {
    pub(super) fn write_all(parts: &[Self]) -> Builder {
        let mut builder = Builder::fragment();
        for part in parts {
            builder.open("Part").leaf("PartNumber", &part.number.to_string());
            if let Some(time) = &part.last_modified {
                builder.leaf("LastModified", time);
            }
            builder.leaf("ETag", &part.etag).leaf("Size", &part.size.to_string());
            if let Some(checksum) = &part.checksum {
                builder.leaf(checksum.kind().element(), &checksum.to_base64());
            }
            builder.close();
        }
        builder
    }
}
