//! `Tagging`: tags of an object.

use super::XmlError;
use super::tree::Tree;

/// Greatest number of tags that are read. S3 itself allows 10.
const MAX_TAGS: usize = 50;

/// Reads the keys and values of all tags, in their order.
///
/// # Errors
/// [`XmlError`] if a tag has no key or value, or if there are more tags than any server allows.
pub fn read_tags(xml: &[u8]) -> Result<Vec<(String, String)>, XmlError> {
    let tree = Tree::parse(xml)?;
    let set = tree.root().child("TagSet").ok_or(XmlError::Missing("TagSet"))?;
    let mut tags = Vec::new();
    for tag in set.children().filter(|child| child.name() == "Tag") {
        if tags.len() == MAX_TAGS {
            return Err(XmlError::TooMany);
        }
        let key = tag.child_text("Key")?.ok_or(XmlError::Missing("Key"))?;
        let value = tag.child_text("Value")?.ok_or(XmlError::Missing("Value"))?;
        tags.push((key.into_owned(), value.into_owned()));
    }
    Ok(tags)
}
