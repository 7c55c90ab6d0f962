//! Fields of a message: a value, with the rule for its presence and repetition.

use alloc::vec::Vec;
use core::fmt::Debug;
use core::marker::PhantomData;

use super::Value;
use super::contract::{FieldContract, Presence};
use super::list::List;
use super::place::Place;
use crate::error::{DecodeError, EncodeError};
use crate::wire::{Reader, Sink, WireType};

/// A kind of field. It is never made; it names the functions.
pub trait Field {
    /// Form in an owned message.
    type Owned: Clone + Debug + Default + PartialEq + Eq;
    /// Form of the field in a view, which borrows from the encoding.
    type View<'a>: Copy + Debug;

    /// Wire type of its values.
    const WIRE: WireType;
    /// True if it may occur more than once.
    const REPEATED: bool = false;

    /// Adds the field's description to the contract.
    fn describe(name: &'static str, first: u8, out: &mut Vec<FieldContract>);

    /// Returns the value that a view shows when it is absent.
    fn absent<'a>() -> Self::View<'a>;
    /// Reads and checks one occurrence.
    fn read<'a>(
        view: &mut Self::View<'a>,
        place: Place<'a>,
        reader: &mut Reader<'a>,
    ) -> Result<(), DecodeError>;
    /// Checks at the end of the message that the field occurred as often as it must.
    fn finish(_: &Self::View<'_>, _met: bool, _unknown: usize) -> Result<(), DecodeError> {
        Ok(())
    }
    /// Copies the value of a view into an owned one.
    fn to_owned(view: Self::View<'_>) -> Self::Owned;

    /// Returns an error for a value that a reader would refuse.
    fn check(owned: &Self::Owned, name: &'static str, unknown: usize) -> Result<(), EncodeError>;
    /// Number of bytes that `write` writes for this value.
    fn len(owned: &Self::Owned) -> usize;
    /// Writes it, with its tags.
    fn write(owned: &Self::Owned, first: u8, sink: &mut impl Sink);
}

/// Bytes of a tag: the contract's numbers are below 16.
pub(super) const TAG_LEN: usize = 1;

/// A field that must be present exactly once.
#[derive(Debug)]
pub struct Required<V>(PhantomData<V>);

impl<V: Value> Field for Required<V> {
    type Owned = V::Owned;
    type View<'a> = V::View<'a>;

    const WIRE: WireType = V::WIRE;

    fn describe(name: &'static str, first: u8, out: &mut Vec<FieldContract>) {
        out.push(FieldContract::new(name, first.into(), V::describe(), Presence::Required));
    }

    #[inline]
    fn absent<'a>() -> V::View<'a> {
        V::absent()
    }

    #[inline]
    fn read<'a>(
        view: &mut V::View<'a>,
        _: Place<'a>,
        reader: &mut Reader<'a>,
    ) -> Result<(), DecodeError> {
        *view = V::read(reader)?;
        Ok(())
    }

    #[inline]
    fn finish(view: &V::View<'_>, met: bool, _: usize) -> Result<(), DecodeError> {
        if met && !V::is_missing(*view) { Ok(()) } else { Err(DecodeError::Missing) }
    }

    #[inline]
    fn to_owned(view: V::View<'_>) -> V::Owned {
        V::to_owned(view)
    }

    #[inline]
    fn check(owned: &V::Owned, name: &'static str, _: usize) -> Result<(), EncodeError> {
        if V::is_owned_missing(owned) {
            return Err(EncodeError::Missing { field: name });
        }
        V::check(owned, name)
    }

    #[inline]
    fn len(owned: &V::Owned) -> usize {
        TAG_LEN + V::len(owned)
    }

    #[inline]
    fn write(owned: &V::Owned, first: u8, sink: &mut impl Sink) {
        sink.tag(first, V::WIRE);
        V::write(owned, sink);
    }
}

/// Without presence: absent and the default value are the same, and not written.
#[derive(Debug)]
pub struct Implicit<V>(PhantomData<V>);

impl<V: Value> Field for Implicit<V> {
    type Owned = V::Owned;
    type View<'a> = V::View<'a>;

    const WIRE: WireType = V::WIRE;

    fn describe(name: &'static str, first: u8, out: &mut Vec<FieldContract>) {
        out.push(FieldContract::new(name, first.into(), V::describe(), Presence::Implicit));
    }

    #[inline]
    fn absent<'a>() -> V::View<'a> {
        V::absent()
    }

    #[inline]
    fn read<'a>(
        view: &mut V::View<'a>,
        _: Place<'a>,
        reader: &mut Reader<'a>,
    ) -> Result<(), DecodeError> {
        *view = V::read(reader)?;
        Ok(())
    }

    #[inline]
    fn to_owned(view: V::View<'_>) -> V::Owned {
        V::to_owned(view)
    }

    #[inline]
    fn check(owned: &V::Owned, name: &'static str, _: usize) -> Result<(), EncodeError> {
        V::check(owned, name)
    }

    #[inline]
    fn len(owned: &V::Owned) -> usize {
        if V::is_default(owned) { 0 } else { TAG_LEN + V::len(owned) }
    }

    #[inline]
    fn write(owned: &V::Owned, first: u8, sink: &mut impl Sink) {
        if !V::is_default(owned) {
            sink.tag(first, V::WIRE);
            V::write(owned, sink);
        }
    }
}

/// Without presence for a reader, and always written: the value of a map's entry.
#[derive(Debug)]
pub(crate) struct Written<V>(PhantomData<V>);

impl<V: Value> Field for Written<V> {
    type Owned = V::Owned;
    type View<'a> = V::View<'a>;

    const WIRE: WireType = V::WIRE;

    fn describe(name: &'static str, first: u8, out: &mut Vec<FieldContract>) {
        Implicit::<V>::describe(name, first, out);
    }

    #[inline]
    fn absent<'a>() -> V::View<'a> {
        V::absent()
    }

    #[inline]
    fn read<'a>(
        view: &mut V::View<'a>,
        _: Place<'a>,
        reader: &mut Reader<'a>,
    ) -> Result<(), DecodeError> {
        *view = V::read(reader)?;
        Ok(())
    }

    #[inline]
    fn to_owned(view: V::View<'_>) -> V::Owned {
        V::to_owned(view)
    }

    #[inline]
    fn check(owned: &V::Owned, name: &'static str, _: usize) -> Result<(), EncodeError> {
        V::check(owned, name)
    }

    #[inline]
    fn len(owned: &V::Owned) -> usize {
        TAG_LEN + V::len(owned)
    }

    #[inline]
    fn write(owned: &V::Owned, first: u8, sink: &mut impl Sink) {
        sink.tag(first, V::WIRE);
        V::write(owned, sink);
    }
}

/// A field that may be absent, which differs from its default value.
#[derive(Debug)]
pub struct Optional<V>(PhantomData<V>);

impl<V: Value> Field for Optional<V> {
    type Owned = Option<V::Owned>;
    type View<'a> = Option<V::View<'a>>;

    const WIRE: WireType = V::WIRE;

    fn describe(name: &'static str, first: u8, out: &mut Vec<FieldContract>) {
        out.push(FieldContract::new(name, first.into(), V::describe(), Presence::Optional));
    }

    #[inline]
    fn absent<'a>() -> Option<V::View<'a>> {
        None
    }

    #[inline]
    fn read<'a>(
        view: &mut Option<V::View<'a>>,
        _: Place<'a>,
        reader: &mut Reader<'a>,
    ) -> Result<(), DecodeError> {
        *view = Some(V::read(reader)?);
        Ok(())
    }

    #[inline]
    fn to_owned(view: Option<V::View<'_>>) -> Option<V::Owned> {
        view.map(V::to_owned)
    }

    #[inline]
    fn check(owned: &Option<V::Owned>, name: &'static str, _: usize) -> Result<(), EncodeError> {
        owned.as_ref().map_or(Ok(()), |value| V::check(value, name))
    }

    #[inline]
    fn len(owned: &Option<V::Owned>) -> usize {
        owned.as_ref().map_or(0, |value| TAG_LEN + V::len(value))
    }

    #[inline]
    fn write(owned: &Option<V::Owned>, first: u8, sink: &mut impl Sink) {
        if let Some(value) = owned {
            sink.tag(first, V::WIRE);
            V::write(value, sink);
        }
    }
}

/// A field with `MIN` to `MAX` elements, in their order.
#[derive(Debug)]
pub struct Repeated<V, const MIN: u32, const MAX: u32>(PhantomData<V>);

impl<V: Value, const MIN: u32, const MAX: u32> Field for Repeated<V, MIN, MAX> {
    type Owned = Vec<V::Owned>;
    type View<'a> = List<'a, V>;

    const WIRE: WireType = V::WIRE;
    const REPEATED: bool = true;

    fn describe(name: &'static str, first: u8, out: &mut Vec<FieldContract>) {
        let presence = Presence::Repeated { min: MIN, max: MAX };
        out.push(FieldContract::new(name, first.into(), V::describe(), presence));
    }

    #[inline]
    fn absent<'a>() -> List<'a, V> {
        List::empty()
    }

    #[inline]
    fn read<'a>(
        view: &mut List<'a, V>,
        place: Place<'a>,
        reader: &mut Reader<'a>,
    ) -> Result<(), DecodeError> {
        if view.count() >= MAX {
            return Err(DecodeError::Count);
        }
        V::read(reader)?;
        view.count_one(place);
        Ok(())
    }

    #[inline]
    fn finish(view: &List<'_, V>, _: bool, _: usize) -> Result<(), DecodeError> {
        if view.count() < MIN { Err(DecodeError::Count) } else { Ok(()) }
    }

    #[inline]
    fn to_owned(view: List<'_, V>) -> Vec<V::Owned> {
        view.to_vec()
    }

    #[inline]
    fn check(owned: &Vec<V::Owned>, name: &'static str, _: usize) -> Result<(), EncodeError> {
        let fits = u32::try_from(owned.len()).is_ok_and(|count| (MIN..=MAX).contains(&count));
        if !fits {
            return Err(EncodeError::Count { field: name });
        }
        owned.iter().try_for_each(|value| V::check(value, name))
    }

    #[inline]
    fn len(owned: &Vec<V::Owned>) -> usize {
        owned.iter().map(|value| TAG_LEN + V::len(value)).sum()
    }

    #[inline]
    fn write(owned: &Vec<V::Owned>, first: u8, sink: &mut impl Sink) {
        for value in owned {
            sink.tag(first, V::WIRE);
            V::write(value, sink);
        }
    }
}
