//! Repeated fields of a view, which are decoded when they are iterated.

use alloc::vec::Vec;
use core::fmt;
use core::marker::PhantomData;

use super::Value;
use super::place::Place;
use crate::error::DecodeError;
use crate::wire::Reader;

/// The elements of a repeated field, in the encoding: read again when they are iterated over.
///
/// `decode` has accepted all of them, so that iterating cannot fail; and nothing is allocated.
pub struct List<'a, V> {
    /// The message from the tag of the first element on.
    from: &'a [u8],
    count: u32,
    number: u8,
    value: PhantomData<fn() -> V>,
}

impl<'a, V: Value> List<'a, V> {
    pub(crate) fn empty() -> Self {
        Self { from: &[], count: 0, number: 0, value: PhantomData }
    }

    #[inline]
    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    /// Counts an element that was accepted.
    #[inline]
    pub(crate) fn count_one(&mut self, place: Place<'a>) {
        if self.count == 0 {
            self.from = place.from;
            self.number = place.number;
        }
        self.count += 1;
    }

    /// Copies the elements into owned values, in one allocation of exactly their number. `collect`
    /// would reserve space for at least four, and the bound on memory counts on exact sizes.
    pub(crate) fn to_vec(self) -> Vec<V::Owned> {
        let mut elements = Vec::with_capacity(self.len());
        elements.extend(self.iter().map(V::to_owned));
        elements
    }

    /// Returns the number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.count as usize
    }

    /// Returns true if there is no element.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The elements in their order.
    #[must_use]
    pub fn iter(&self) -> ListIter<'a, V> {
        ListIter { reader: Reader::new(self.from), left: self.len(), list: *self }
    }
}

impl<V> Clone for List<'_, V> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<V> Copy for List<'_, V> {}

impl<V: Value> fmt::Debug for List<'_, V> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self.iter()).finish()
    }
}

/// By elements, wherever other fields lie between them.
impl<V: Value> PartialEq for List<'_, V> {
    fn eq(&self, other: &Self) -> bool {
        self.count == other.count && self.iter().eq(other.iter())
    }
}

impl<'a, V: Value> IntoIterator for List<'a, V> {
    type Item = V::View<'a>;
    type IntoIter = ListIter<'a, V>;

    fn into_iter(self) -> ListIter<'a, V> {
        self.iter()
    }
}

impl<'a, V: Value> IntoIterator for &List<'a, V> {
    type Item = V::View<'a>;
    type IntoIter = ListIter<'a, V>;

    fn into_iter(self) -> ListIter<'a, V> {
        self.iter()
    }
}

/// Iterates over the elements of a [`List`].
pub struct ListIter<'a, V> {
    reader: Reader<'a>,
    left: usize,
    list: List<'a, V>,
}

impl<V> fmt::Debug for ListIter<'_, V> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ListIter").field("left", &self.left).finish_non_exhaustive()
    }
}

impl<'a, V: Value> Iterator for ListIter<'a, V> {
    type Item = V::View<'a>;

    #[inline]
    fn next(&mut self) -> Option<V::View<'a>> {
        self.left = self.left.checked_sub(1)?;
        loop {
            let tag = accepted(self.reader.tag());
            if tag.number() == u32::from(self.list.number) {
                return Some(accepted(V::read(&mut self.reader)));
            }
            accepted(tag.wire().and_then(|wire| self.reader.skip(wire)));
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<V: Value> ExactSizeIterator for ListIter<'_, V> {}

/// Returns the value of bytes that are read a second time.
#[inline]
#[expect(clippy::expect_used, reason = "the message is the proof")]
pub(crate) fn accepted<T>(again: Result<T, DecodeError>) -> T {
    again.expect("decode read the same bytes with the same function and accepted them")
}
