//! Fields that hold one of several members.

use alloc::vec::Vec;
use core::marker::PhantomData;

use super::contract::{FieldContract, Presence};
use super::field::TAG_LEN;
use super::place::Place;
use super::{Choice, Field};
use crate::error::{DecodeError, EncodeError};
use crate::wire::{Reader, Sink, WireType};

/// One member of a `oneof`, which must be there if `REQUIRED`.
#[derive(Debug)]
pub struct OneOf<C, const REQUIRED: bool>(PhantomData<C>);

impl<C: Choice> Field for OneOf<C, true> {
    type Owned = C;
    type View<'a> = C::View<'a>;

    const WIRE: WireType = WireType::Length;

    fn describe(name: &'static str, first: u8, out: &mut Vec<FieldContract>) {
        C::describe(first, Presence::OneOf { name, required: true }, out);
    }

    #[inline]
    fn absent<'a>() -> C::View<'a> {
        C::absent()
    }

    #[inline]
    fn read<'a>(
        view: &mut C::View<'a>,
        place: Place<'a>,
        reader: &mut Reader<'a>,
    ) -> Result<(), DecodeError> {
        *view = C::read(place.number - place.first, reader)?;
        Ok(())
    }

    #[inline]
    fn finish(_: &C::View<'_>, met: bool, _: usize) -> Result<(), DecodeError> {
        if met { Ok(()) } else { Err(DecodeError::Missing) }
    }

    #[inline]
    fn to_owned(view: C::View<'_>) -> C {
        C::from_view(view)
    }

    #[inline]
    fn check(owned: &C, _: &'static str, _: usize) -> Result<(), EncodeError> {
        owned.check()
    }

    #[inline]
    fn len(owned: &C) -> usize {
        TAG_LEN + owned.len()
    }

    #[inline]
    fn write(owned: &C, first: u8, sink: &mut impl Sink) {
        owned.write(first, sink);
    }
}

impl<C: Choice> Field for OneOf<C, false> {
    type Owned = Option<C>;
    type View<'a> = Option<C::View<'a>>;

    const WIRE: WireType = WireType::Length;

    fn describe(name: &'static str, first: u8, out: &mut Vec<FieldContract>) {
        C::describe(first, Presence::OneOf { name, required: false }, out);
    }

    #[inline]
    fn absent<'a>() -> Option<C::View<'a>> {
        None
    }

    #[inline]
    fn read<'a>(
        view: &mut Option<C::View<'a>>,
        place: Place<'a>,
        reader: &mut Reader<'a>,
    ) -> Result<(), DecodeError> {
        *view = Some(C::read(place.number - place.first, reader)?);
        Ok(())
    }

    #[inline]
    fn to_owned(view: Option<C::View<'_>>) -> Option<C> {
        view.map(C::from_view)
    }

    #[inline]
    fn check(owned: &Option<C>, _: &'static str, _: usize) -> Result<(), EncodeError> {
        owned.as_ref().map_or(Ok(()), C::check)
    }

    #[inline]
    fn len(owned: &Option<C>) -> usize {
        owned.as_ref().map_or(0, |choice| TAG_LEN + choice.len())
    }

    #[inline]
    fn write(owned: &Option<C>, first: u8, sink: &mut impl Sink) {
        if let Some(choice) = owned {
            choice.write(first, sink);
        }
    }
}

/// One member of a `oneof`, or one that a later version has added: then an unknown field stands for
/// it.
#[derive(Debug)]
pub struct Later<C>(PhantomData<C>);

impl<C: Choice> Field for Later<C> {
    type Owned = Option<C>;
    type View<'a> = Option<C::View<'a>>;

    const WIRE: WireType = WireType::Length;

    fn describe(name: &'static str, first: u8, out: &mut Vec<FieldContract>) {
        OneOf::<C, true>::describe(name, first, out);
    }

    #[inline]
    fn absent<'a>() -> Option<C::View<'a>> {
        None
    }

    #[inline]
    fn read<'a>(
        view: &mut Option<C::View<'a>>,
        place: Place<'a>,
        reader: &mut Reader<'a>,
    ) -> Result<(), DecodeError> {
        OneOf::<C, false>::read(view, place, reader)
    }

    #[inline]
    fn finish(_: &Option<C::View<'_>>, met: bool, unknown: usize) -> Result<(), DecodeError> {
        if met || unknown > 0 { Ok(()) } else { Err(DecodeError::Missing) }
    }

    #[inline]
    fn to_owned(view: Option<C::View<'_>>) -> Option<C> {
        view.map(C::from_view)
    }

    #[inline]
    fn check(owned: &Option<C>, name: &'static str, unknown: usize) -> Result<(), EncodeError> {
        match owned {
            Some(choice) => choice.check(),
            None if unknown > 0 => Ok(()),
            None => Err(EncodeError::Missing { field: name }),
        }
    }

    #[inline]
    fn len(owned: &Option<C>) -> usize {
        OneOf::<C, false>::len(owned)
    }

    #[inline]
    fn write(owned: &Option<C>, first: u8, sink: &mut impl Sink) {
        OneOf::<C, false>::write(owned, first, sink);
    }
}
