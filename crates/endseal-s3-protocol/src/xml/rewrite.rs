//! Rewrites lists: changes or removes entries, and copies everything else.

use super::edit::Edits;
use super::entry::{decode, encode};
use super::list_root::check_list;
use super::tree::{Element, Tree};
use super::{Builder, Change, Entry, EntryKind, ListedPart, XmlError};
use crate::checksum::{ChecksumKind, ChecksumType};

/// A key or prefix that stands outside the entries, or the upload that they belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Name {
    /// `Prefix`: what the client asked for.
    Prefix,
    /// `Marker`, `KeyMarker`, `StartAfter`: the place behind which the client asked the list to
    /// begin.
    Marker,
    /// `NextMarker`, `NextKeyMarker`: where the next page begins.
    NextMarker,
    /// `Key` of a list of parts.
    Key,
    /// `UploadId` of a list of parts.
    UploadId,
}

/// New value of `ChecksumAlgorithm` and `ChecksumType` of a list of parts, which are those of the
/// upload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AlgorithmChange {
    /// The element stays, and `ChecksumType` too.
    Keep,
    /// Both elements are removed.
    Drop,
    /// This algorithm, and the type if it is known, replace the old values.
    Set(ChecksumKind, Option<ChecksumType>),
}

/// Changes of a list. A closure over entries leaves all names as they are.
pub trait Rules {
    /// Returns the change of an entry.
    fn entry(&mut self, entry: &Entry<'_>) -> Change;

    /// The new value of a name outside the entries; `None` leaves the old.
    fn name(&mut self, name: Name, value: &str) -> Option<String> {
        let _ = (name, value);
        None
    }

    /// The checksums of a list of parts.
    fn algorithm(&mut self) -> AlgorithmChange {
        AlgorithmChange::Keep
    }

    /// Parts behind those of the list.
    fn more_parts(&mut self) -> Vec<ListedPart> {
        Vec::new()
    }
}

impl<F: FnMut(&Entry<'_>) -> Change> Rules for F {
    fn entry(&mut self, entry: &Entry<'_>) -> Change {
        self(entry)
    }
}

/// Rewrites a list: its entries are changed as `rules` decide. `KeyCount` is lowered by the number
/// of removed entries; all else is copied.
///
/// # Errors
/// [`XmlError`]; [`XmlError::UnexpectedRoot`] for a document that is no list (see the
/// [module](super)).
pub fn rewrite(xml: &[u8], mut rules: impl Rules) -> Result<Vec<u8>, XmlError> {
    let tree = Tree::parse(xml)?;
    let root = tree.root();
    check_list(&root)?;
    let url = is_url_encoded(&root)?;
    let mut edits = Edits::default();
    let mut dropped = 0;
    let mut last_part = None;
    for element in root.children() {
        if element.name() == "CommonPrefixes" {
            dropped += common_prefixes(&element, url, &mut rules, &mut edits)?;
            continue;
        }
        if let Some(kind) = entry_kind(&element) {
            if one(kind, &element, url, &mut rules, &mut edits)? {
                dropped += 1;
                edits.remove(&element);
            }
            if kind == EntryKind::Part {
                last_part = Some(element);
            }
            continue;
        }
        let Some((name, label)) = outside(&element) else { continue };
        let value = element.text(label)?;
        let key = url && name != Name::UploadId;
        let value = if key { decode(&value)?.into() } else { value };
        if let Some(new) = rules.name(name, &value) {
            edits.set_text(&element, &if key { encode(&new) } else { new });
        }
    }
    if dropped > 0
        && let (Some(count), Some(element)) =
            (root.child_number("KeyCount")?, root.child("KeyCount"))
    {
        edits.set_text(&element, &count.saturating_sub(dropped).to_string());
    }
    algorithm(&root, rules.algorithm(), &mut edits);
    let more = rules.more_parts();
    if !more.is_empty() {
        let fragment = ListedPart::write_all(&more);
        match last_part {
            Some(last) => edits.insert_behind(&last, fragment),
            None => edits.append(&root, fragment),
        }
    }
    Ok(edits.apply(&tree))
}

fn algorithm(root: &Element<'_>, change: AlgorithmChange, edits: &mut Edits) {
    if change == AlgorithmChange::Keep {
        return;
    }
    for name in ["ChecksumAlgorithm", "ChecksumType"] {
        root.child(name).iter().for_each(|element| edits.remove(element));
    }
    if let AlgorithmChange::Set(kind, checksum_type) = change {
        let mut fragment = Builder::fragment();
        fragment.leaf("ChecksumAlgorithm", kind.name());
        if let Some(checksum_type) = checksum_type {
            fragment.leaf("ChecksumType", checksum_type.name());
        }
        edits.append(root, fragment);
    }
}

/// Shows all entries of a list.
///
/// # Errors
/// As [`rewrite()`].
pub fn entries(xml: &[u8], mut each: impl FnMut(&Entry<'_>)) -> Result<(), XmlError> {
    rewrite(xml, |entry: &Entry<'_>| {
        each(entry);
        Change::Keep
    })
    .map(drop)
}

/// Adds the edits of one entry. Returns true if the caller must remove it.
pub(super) fn one(
    kind: EntryKind,
    element: &Element<'_>,
    url: bool,
    rules: &mut impl Rules,
    edits: &mut Edits,
) -> Result<bool, XmlError> {
    match rules.entry(&Entry::read(kind, element, url)?) {
        Change::Keep => {}
        Change::Drop => return Ok(true),
        Change::Set(replacement) => replacement.apply(edits, kind, element, url),
    }
    Ok(false)
}

/// Rewrites `CommonPrefixes` with one or more `Prefix`, and removes the element if all of them are
/// removed.
pub(super) fn common_prefixes(
    element: &Element<'_>,
    url: bool,
    rules: &mut impl Rules,
    edits: &mut Edits,
) -> Result<u64, XmlError> {
    let (mut all, mut gone) = (0, Vec::new());
    for prefix in element.children().filter(|child| child.name() == "Prefix") {
        all += 1;
        if one(EntryKind::CommonPrefix, &prefix, url, rules, edits)? {
            gone.push(prefix);
        }
    }
    if !gone.is_empty() && gone.len() == all {
        edits.remove(element);
    } else {
        gone.iter().for_each(|prefix| edits.remove(prefix));
    }
    Ok(gone.len() as u64)
}

pub(super) fn is_url_encoded(root: &Element<'_>) -> Result<bool, XmlError> {
    let encoding = root.child_text("EncodingType")?;
    Ok(encoding.is_some_and(|it| it.trim().eq_ignore_ascii_case("url")))
}

/// Returns the kind of an element within the root. No two lists have an element of the same name.
pub(super) fn entry_kind(element: &Element<'_>) -> Option<EntryKind> {
    Some(match element.name() {
        "Contents" => EntryKind::Object,
        "Version" => EntryKind::Version,
        "DeleteMarker" => EntryKind::DeleteMarker,
        "Upload" => EntryKind::Upload,
        "Part" => EntryKind::Part,
        "Object" => EntryKind::Delete,
        "Deleted" => EntryKind::Deleted,
        "Error" => EntryKind::DeleteError,
        _ => return None,
    })
}

/// Returns the name that an element outside the entries holds. Only lists of parts have `Key` and
/// `UploadId` there.
fn outside(element: &Element<'_>) -> Option<(Name, &'static str)> {
    Some(match element.name() {
        "Key" => (Name::Key, "Key"),
        "UploadId" => (Name::UploadId, "UploadId"),
        "Prefix" => (Name::Prefix, "Prefix"),
        "Marker" | "KeyMarker" | "StartAfter" => (Name::Marker, "Marker"),
        "NextMarker" | "NextKeyMarker" => (Name::NextMarker, "NextMarker"),
        _ => return None,
    })
}
