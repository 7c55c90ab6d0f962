//! The map of a message: names that programs agree on, and bytes.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

use crate::error::{DecodeError, EncodeError};
use crate::schema::contract::{FieldContract, MessageContract, Presence, Type};
use crate::schema::list::List;
use crate::schema::message::message;
use crate::schema::place::Place;
use crate::schema::unknown::UnknownView;
use crate::schema::{Bytes, Field, Nested, Required, Schema, Seen, Text, Value, Written};
use crate::wire::{Reader, Sink, WireType};

const KEY_MAX: usize = 64;
const VALUE_MAX: usize = 4096;
const MAX: u32 = 32;

message! {
    /// An entry, which on the wire is a message.
    pub(crate) struct Entry, EntryView {
        /// The key, 1 to 64 bytes of text.
        1 key: Required<Text<1, KEY_MAX>>,
        /// The value, which is written even if it is empty.
        2 value: Written<Bytes<0, VALUE_MAX>>,
    }
}

// docs/spec/codec.md, Memory.
const _: () = assert!(size_of::<Entry>() <= 32);

/// Entries in ascending order of their keys as byte strings, each key once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metadata {
    entries: Vec<Entry>,
}

impl Metadata {
    /// Returns the value of a key, or `None` if there is no such entry.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&[u8]> {
        let index = self.find(key).ok()?;
        self.entries.get(index).map(|entry| &*entry.value)
    }

    /// Sets the value of a key, and returns the one that it had. Bounds (32 entries, keys of 1 to
    /// 64 bytes, values of at most 4,096) are checked when the message is encoded.
    pub fn insert(&mut self, key: &str, value: impl Into<Box<[u8]>>) -> Option<Box<[u8]>> {
        let value = value.into();
        match self.find(key) {
            Ok(index) => {
                let entry = self.entries.get_mut(index)?;
                Some(core::mem::replace(&mut entry.value, value))
            }
            Err(index) => {
                self.entries.insert(index, Entry { key: key.into(), value });
                None
            }
        }
    }

    /// Removes a key, and returns its value.
    pub fn remove(&mut self, key: &str) -> Option<Box<[u8]>> {
        self.find(key).ok().map(|index| self.entries.remove(index).value)
    }

    /// Keys and values in ascending order of the keys.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &[u8])> {
        self.entries.iter().map(|entry| (&*entry.key, &*entry.value))
    }

    /// Returns the number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns true if there is no entry.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    fn find(&self, key: &str) -> Result<usize, usize> {
        self.entries.binary_search_by(|entry| (*entry.key).cmp(key))
    }
}

/// Entries of a view, in the order of the encoding.
#[derive(Clone, Copy)]
pub struct MetadataView<'a> {
    list: List<'a, Nested<Entry>>,
    /// The greatest key so far: a greater one cannot be a duplicate.
    greatest: &'a str,
}

impl<'a> MetadataView<'a> {
    /// The value of a key. Reads the entries up to it.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&'a [u8]> {
        self.iter().find(|entry| entry.0 == key).map(|entry| entry.1)
    }

    /// Keys and values in the order of the encoding, each key once.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&'a str, &'a [u8])> + use<'a> {
        self.list.iter().map(|entry| (entry.key, entry.value))
    }

    /// Returns the number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Returns true if there is no entry.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
}

impl fmt::Debug for MetadataView<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_map().entries(self.iter()).finish()
    }
}

impl PartialEq for MetadataView<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.list == other.list
    }
}

/// The field that holds entries.
#[derive(Debug)]
pub struct Entries;

impl Field for Entries {
    type Owned = Metadata;
    type View<'a> = MetadataView<'a>;

    const WIRE: WireType = WireType::Length;
    const REPEATED: bool = true;

    fn describe(name: &'static str, first: u8, out: &mut Vec<FieldContract>) {
        let r#type = Type::Map { key: (1, KEY_MAX), value: (0, VALUE_MAX) };
        let presence = Presence::Repeated { min: 0, max: MAX };
        out.push(FieldContract::new(name, first.into(), r#type, presence));
    }

    #[inline]
    fn absent<'a>() -> MetadataView<'a> {
        MetadataView { list: List::empty(), greatest: "" }
    }

    #[inline]
    fn read<'a>(
        view: &mut MetadataView<'a>,
        place: Place<'a>,
        reader: &mut Reader<'a>,
    ) -> Result<(), DecodeError> {
        if view.list.count() >= MAX {
            return Err(DecodeError::Count);
        }
        let key = Nested::<Entry>::read(reader)?.key;
        // Our writers sort the keys, so this branch is taken for them and needs no search. No key
        // is empty.
        if key > view.greatest {
            view.greatest = key;
        } else if view.get(key).is_some() {
            return Err(DecodeError::Duplicate);
        }
        view.list.count_one(place);
        Ok(())
    }

    fn to_owned(view: MetadataView<'_>) -> Metadata {
        let mut entries = view.list.to_vec();
        // In place: a stable sort would allocate.
        entries.sort_unstable_by(|a, b| a.key.cmp(&b.key));
        Metadata { entries }
    }

    #[inline]
    fn check(owned: &Metadata, name: &'static str, _: usize) -> Result<(), EncodeError> {
        if owned.entries.len() > MAX as usize {
            return Err(EncodeError::Count { field: name });
        }
        owned.entries.iter().try_for_each(Schema::check)
    }

    #[inline]
    fn len(owned: &Metadata) -> usize {
        owned.entries.iter().map(|entry| 1 + Nested::<Entry>::len(entry)).sum()
    }

    #[inline]
    fn write(owned: &Metadata, first: u8, sink: &mut impl Sink) {
        for entry in &owned.entries {
            sink.tag(first, WireType::Length);
            Nested::<Entry>::write(entry, sink);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_kept_in_order_and_once() {
        let mut metadata = Metadata::default();
        for key in ["b", "a", "ab", "\u{e9}", "B"] {
            assert_eq!(metadata.insert(key, key.as_bytes()), None);
        }
        assert_eq!(metadata.insert("a", *b"new").as_deref(), Some(&b"a"[..]));
        let keys: Vec<&str> = metadata.iter().map(|entry| entry.0).collect();
        assert_eq!(keys, ["B", "a", "ab", "b", "\u{e9}"]);
        assert_eq!(metadata.get("a"), Some(&b"new"[..]));
        assert_eq!(metadata.remove("a").as_deref(), Some(&b"new"[..]));
        assert_eq!(metadata.get("a"), None);
        assert_eq!((metadata.remove("a"), metadata.len()), (None, 4));
    }
}
