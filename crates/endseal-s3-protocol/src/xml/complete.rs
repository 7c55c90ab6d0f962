//! `CompleteMultipartUpload`: the client's list of parts.

use super::parts::checksum;
use super::tree::Tree;
use super::{Builder, XmlError};
use crate::checksum::ChecksumValue;

/// Greatest number of parts in one object, a limit of S3.
const MAX_PARTS: usize = 10_000;

/// A part as the client names it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "written out by whoever asks")]
pub struct CompletedPart {
    /// Number of the part, from 1 to 10,000.
    pub number: u16,
    /// The entity tag as it stands, with or without quotes.
    pub etag: String,
    /// The checksum of the part, if the client gave it.
    pub checksum: Option<ChecksumValue>,
}

/// Reads the request, in the client's order: whether numbers rise is for the caller to check
/// (`InvalidPartOrder`).
///
/// # Errors
/// [`XmlError`]: no part, more than 10,000, one without number or tag, a malformed checksum or two.
pub fn read_complete(xml: &[u8]) -> Result<Vec<CompletedPart>, XmlError> {
    let tree = Tree::parse(xml)?;
    let root = tree.expect_root("CompleteMultipartUpload")?;
    let mut parts = Vec::new();
    for element in root.children().filter(|child| child.name() == "Part") {
        if parts.len() == MAX_PARTS {
            return Err(XmlError::TooMany);
        }
        let number = element.child_number("PartNumber")?.ok_or(XmlError::Missing("PartNumber"))?;
        let number = u16::try_from(number).ok().filter(|it| (1..=10_000).contains(it));
        let etag = element.child_text("ETag")?.ok_or(XmlError::Missing("ETag"))?;
        parts.push(CompletedPart {
            number: number.ok_or(XmlError::Invalid("PartNumber"))?,
            etag: etag.trim().to_owned(),
            checksum: checksum(&element)?,
        });
    }
    if parts.is_empty() { Err(XmlError::Missing("Part")) } else { Ok(parts) }
}

/// Writes the request for the backend.
#[must_use]
pub fn write_complete(parts: &[CompletedPart]) -> Vec<u8> {
    let mut builder = Builder::new("CompleteMultipartUpload");
    for part in parts {
        builder.open("Part").leaf("PartNumber", &part.number.to_string()).leaf("ETag", &part.etag);
        if let Some(checksum) = &part.checksum {
            builder.leaf(checksum.kind().element(), &checksum.to_base64());
        }
        builder.close();
    }
    builder.finish()
}
