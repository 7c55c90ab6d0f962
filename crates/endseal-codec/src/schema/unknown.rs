//! Fields that the contract does not have: kept as they were received, and written again.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;
use core::marker::PhantomData;

use super::Schema;
use super::list::accepted;
use crate::error::DecodeError;
use crate::wire::{Reader, Sink};

/// Greatest number of unknown fields in one message.
const MAX_FIELDS: usize = 64;

/// Unknown fields of a message `M`, as they were received.
///
/// They can only be written into a message of the same type: a field that is unknown there may be
/// known in another type.
pub struct Unknown<M> {
    fields: Box<[u8]>,
    of: PhantomData<fn() -> M>,
}

impl<M> Unknown<M> {
    /// Tags and values, one after the other.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.fields
    }

    /// Returns true if there is no field.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.fields.len()
    }

    #[inline]
    pub(crate) fn write(&self, sink: &mut impl Sink) {
        if !self.fields.is_empty() {
            sink.put(&self.fields);
        }
    }
}

impl<M> Clone for Unknown<M> {
    fn clone(&self) -> Self {
        Self { fields: self.fields.clone(), of: PhantomData }
    }
}

impl<M> Default for Unknown<M> {
    fn default() -> Self {
        Self { fields: Box::default(), of: PhantomData }
    }
}

impl<M> PartialEq for Unknown<M> {
    fn eq(&self, other: &Self) -> bool {
        self.fields == other.fields
    }
}

impl<M> Eq for Unknown<M> {}

impl<M> fmt::Debug for Unknown<M> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Unknown({} bytes)", self.fields.len())
    }
}

/// Unknown fields of a view of `M`, as they are encoded.
pub struct UnknownView<'a, M> {
    /// The message from the first of them on.
    from: &'a [u8],
    count: usize,
    of: PhantomData<fn() -> M>,
}

impl<'a, M> UnknownView<'a, M> {
    pub(crate) fn none() -> Self {
        Self { from: &[], count: 0, of: PhantomData }
    }

    /// Returns the number of fields.
    #[must_use]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Returns true if there is no field.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Counts one that stands at `from`.
    pub(crate) fn count_one(&mut self, from: &'a [u8]) -> Result<(), DecodeError> {
        if self.count == MAX_FIELDS {
            return Err(DecodeError::Unknown);
        }
        if self.count == 0 {
            self.from = from;
        }
        self.count += 1;
        Ok(())
    }
}

impl<'a, M: Schema> UnknownView<'a, M> {
    /// Each field, tag and value together, in their order.
    pub fn iter(&self) -> impl Iterator<Item = &'a [u8]> + use<'a, M> {
        let mut reader = Reader::new(self.from);
        (0..self.count).map(move |_| {
            loop {
                let from = reader.rest();
                let tag = accepted(reader.tag());
                accepted(tag.wire().and_then(|wire| reader.skip(wire)));
                if !M::knows(tag.number()) {
                    return &from[..from.len() - reader.rest().len()];
                }
            }
        })
    }

    pub(crate) fn to_owned(self) -> Unknown<M> {
        if self.count == 0 {
            return Unknown::default();
        }
        let mut fields = Vec::with_capacity(self.iter().map(<[u8]>::len).sum());
        self.iter().for_each(|field| fields.extend_from_slice(field));
        Unknown { fields: fields.into_boxed_slice(), of: PhantomData }
    }
}

impl<M> Clone for UnknownView<'_, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M> Copy for UnknownView<'_, M> {}

impl<M: Schema> PartialEq for UnknownView<'_, M> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl<M> fmt::Debug for UnknownView<'_, M> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "UnknownView({} fields)", self.count)
    }
}
