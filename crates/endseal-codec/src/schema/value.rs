//! Kinds of values: how each is read, checked, measured and written.

use alloc::boxed::Box;
use core::fmt::Debug;
use core::marker::PhantomData;

use super::Schema;
use super::contract::Type;
use crate::error::{DecodeError, EncodeError};
use crate::wire::{Reader, Sink, WireType, utf8, varint};

/// No upper bound but the message's.
pub(crate) const UNBOUNDED: usize = usize::MAX;

/// A kind of value. It is never made; it names the functions.
pub trait Value {
    /// Form in an owned message.
    type Owned: Clone + Debug + Default + PartialEq + Eq;
    /// Form of the value in a view, which borrows from the encoding.
    type View<'a>: Copy + Debug + PartialEq;

    /// Wire type that the tag of such a value has.
    const WIRE: WireType;
    /// Returns its type in the contract.
    fn describe() -> Type;

    /// Reads and checks the value behind a tag.
    fn read<'a>(reader: &mut Reader<'a>) -> Result<Self::View<'a>, DecodeError>;
    /// Returns the value that a view shows when the field is absent.
    fn absent<'a>() -> Self::View<'a>;
    /// Returns true if a required field of this value counts as absent.
    fn is_missing(_: Self::View<'_>) -> bool {
        false
    }
    /// Copies the value of a view into an owned one.
    fn to_owned(view: Self::View<'_>) -> Self::Owned;

    /// The same of a value that is about to be written.
    fn is_owned_missing(_: &Self::Owned) -> bool {
        false
    }
    /// Returns an error for a value that a reader would refuse.
    fn check(owned: &Self::Owned, field: &'static str) -> Result<(), EncodeError>;
    /// Returns true if it need not be written where there is no presence.
    fn is_default(owned: &Self::Owned) -> bool;
    /// Number of bytes that `write` writes for this value.
    fn len(owned: &Self::Owned) -> usize;
    /// Writes the value, without its tag.
    fn write(owned: &Self::Owned, sink: &mut impl Sink);
}

/// Length of a length prefix together with the bytes that it counts.
#[inline]
pub(crate) fn delimited_len(len: usize) -> usize {
    varint::len(len as u64) + len
}

/// A byte string of exactly `N` bytes.
#[derive(Debug)]
pub struct Fixed<const N: usize>;

impl<const N: usize> Value for Fixed<N>
where
    [u8; N]: Default,
{
    type Owned = [u8; N];
    type View<'a> = &'a [u8; N];

    const WIRE: WireType = WireType::Length;

    fn describe() -> Type {
        Type::Bytes { min: N, max: N }
    }

    #[inline]
    fn read<'a>(reader: &mut Reader<'a>) -> Result<&'a [u8; N], DecodeError> {
        reader.bytes()?.try_into().map_err(|_| DecodeError::Length)
    }

    #[inline]
    fn absent<'a>() -> &'a [u8; N] {
        &[0; N]
    }

    #[inline]
    fn to_owned(view: &[u8; N]) -> [u8; N] {
        *view
    }

    fn check(_: &[u8; N], _: &'static str) -> Result<(), EncodeError> {
        Ok(())
    }

    fn is_default(owned: &[u8; N]) -> bool {
        owned.iter().all(|byte| *byte == 0)
    }

    #[inline]
    fn len(_: &[u8; N]) -> usize {
        delimited_len(N)
    }

    #[inline]
    fn write(owned: &[u8; N], sink: &mut impl Sink) {
        sink.delimited(owned);
    }
}

/// A byte string of `MIN` to `MAX` bytes.
#[derive(Debug)]
pub struct Bytes<const MIN: usize, const MAX: usize>;

impl<const MIN: usize, const MAX: usize> Value for Bytes<MIN, MAX> {
    type Owned = Box<[u8]>;
    type View<'a> = &'a [u8];

    const WIRE: WireType = WireType::Length;

    fn describe() -> Type {
        Type::Bytes { min: MIN, max: MAX }
    }

    #[inline]
    fn read<'a>(reader: &mut Reader<'a>) -> Result<&'a [u8], DecodeError> {
        let bytes = reader.bytes()?;
        if (MIN..=MAX).contains(&bytes.len()) { Ok(bytes) } else { Err(DecodeError::Length) }
    }

    #[inline]
    fn absent<'a>() -> &'a [u8] {
        &[]
    }

    #[inline]
    fn to_owned(view: &[u8]) -> Box<[u8]> {
        view.into()
    }

    #[inline]
    fn check(owned: &Box<[u8]>, field: &'static str) -> Result<(), EncodeError> {
        let fits = (MIN..=MAX).contains(&owned.len());
        if fits { Ok(()) } else { Err(EncodeError::Length { field }) }
    }

    #[inline]
    fn is_default(owned: &Box<[u8]>) -> bool {
        owned.is_empty()
    }

    #[inline]
    fn len(owned: &Box<[u8]>) -> usize {
        delimited_len(owned.len())
    }

    #[inline]
    fn write(owned: &Box<[u8]>, sink: &mut impl Sink) {
        sink.delimited(owned);
    }
}

/// UTF-8 of `MIN` to `MAX` bytes.
#[derive(Debug)]
pub struct Text<const MIN: usize, const MAX: usize>;

impl<const MIN: usize, const MAX: usize> Value for Text<MIN, MAX> {
    type Owned = Box<str>;
    type View<'a> = &'a str;

    const WIRE: WireType = WireType::Length;

    fn describe() -> Type {
        Type::String { min: MIN, max: MAX }
    }

    #[inline]
    fn read<'a>(reader: &mut Reader<'a>) -> Result<&'a str, DecodeError> {
        utf8::validate(Bytes::<MIN, MAX>::read(reader)?)
    }

    #[inline]
    fn absent<'a>() -> &'a str {
        ""
    }

    #[inline]
    fn to_owned(view: &str) -> Box<str> {
        view.into()
    }

    #[inline]
    fn check(owned: &Box<str>, field: &'static str) -> Result<(), EncodeError> {
        let fits = (MIN..=MAX).contains(&owned.len());
        if fits { Ok(()) } else { Err(EncodeError::Length { field }) }
    }

    #[inline]
    fn is_default(owned: &Box<str>) -> bool {
        owned.is_empty()
    }

    #[inline]
    fn len(owned: &Box<str>) -> usize {
        delimited_len(owned.len())
    }

    #[inline]
    fn write(owned: &Box<str>, sink: &mut impl Sink) {
        sink.delimited(owned.as_bytes());
    }
}

/// Conversions of a plain number to a varint and back.
macro_rules! number {
    ($(#[$doc:meta])* $name:ident, $type:ty, $contract:expr) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name;

        impl Value for $name {
            type Owned = $type;
            type View<'a> = $type;

            const WIRE: WireType = WireType::Varint;

            fn describe() -> Type {
                $contract
            }

            #[inline]
            fn read(reader: &mut Reader<'_>) -> Result<$type, DecodeError> {
                <$type>::from_varint(reader.varint()?).ok_or(DecodeError::Range)
            }

            #[inline]
            fn absent<'a>() -> Self::View<'a> {
                <$type>::default()
            }

            #[inline]
            fn to_owned(view: $type) -> $type {
                view
            }

            fn check(_: &$type, _: &'static str) -> Result<(), EncodeError> {
                Ok(())
            }

            #[inline]
            fn is_default(owned: &$type) -> bool {
                *owned == <$type>::default()
            }

            #[inline]
            fn len(owned: &$type) -> usize {
                varint::len(u64::from(*owned))
            }

            #[inline]
            fn write(owned: &$type, sink: &mut impl Sink) {
                sink.varint(u64::from(*owned));
            }
        }
    };
}

number! {
    /// A `uint64` of Protocol Buffers.
    Uint64, u64, Type::Uint64
}
number! {
    /// A `uint32` of Protocol Buffers.
    Uint32, u32, Type::Uint32
}
number! {
    /// A `bool` of Protocol Buffers.
    Bool, bool, Type::Bool
}

trait FromVarint: Sized {
    fn from_varint(value: u64) -> Option<Self>;
}

impl FromVarint for u64 {
    fn from_varint(value: u64) -> Option<Self> {
        Some(value)
    }
}

impl FromVarint for u32 {
    fn from_varint(value: u64) -> Option<Self> {
        value.try_into().ok()
    }
}

impl FromVarint for bool {
    fn from_varint(value: u64) -> Option<Self> {
        match value {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }
}

/// An enum of the contract, with the values of later versions.
pub trait OpenEnum: Copy + Debug + Default + PartialEq + Eq {
    /// Name of the enum in the contract, without that of the message around it.
    const NAME: &'static str;
    /// Names and values in the contract.
    const VALUES: &'static [(&'static str, u32)];
    /// Makes a value of its number; `None` above 2^31 - 1.
    fn from_value(value: u32) -> Option<Self>;
    /// The number of the value on the wire.
    fn value(self) -> u32;
}

/// A value of an enum.
#[derive(Debug)]
pub struct Open<E>(PhantomData<E>);

impl<E: OpenEnum> Value for Open<E> {
    type Owned = E;
    type View<'a> = E;

    const WIRE: WireType = WireType::Varint;

    fn describe() -> Type {
        Type::Enum { name: E::NAME, values: E::VALUES }
    }

    #[inline]
    fn read(reader: &mut Reader<'_>) -> Result<E, DecodeError> {
        let value = u32::try_from(reader.varint()?).map_err(|_| DecodeError::Range)?;
        E::from_value(value).ok_or(DecodeError::Range)
    }

    fn absent<'a>() -> Self::View<'a> {
        E::default()
    }

    fn is_missing(view: E) -> bool {
        view == E::default()
    }

    fn is_owned_missing(owned: &E) -> bool {
        Self::is_default(owned)
    }

    fn to_owned(view: E) -> E {
        view
    }

    fn check(_: &E, _: &'static str) -> Result<(), EncodeError> {
        Ok(())
    }

    fn is_default(owned: &E) -> bool {
        *owned == E::default()
    }

    fn len(owned: &E) -> usize {
        varint::len(u64::from(owned.value()))
    }

    fn write(owned: &E, sink: &mut impl Sink) {
        sink.varint(u64::from(owned.value()));
    }
}

/// A message inside a message.
#[derive(Debug)]
pub struct Nested<M>(PhantomData<M>);

impl<M: Schema> Value for Nested<M> {
    type Owned = M;
    type View<'a> = M::View<'a>;

    const WIRE: WireType = WireType::Length;

    fn describe() -> Type {
        Type::Message { name: M::NAME }
    }

    #[inline]
    fn read<'a>(reader: &mut Reader<'a>) -> Result<M::View<'a>, DecodeError> {
        M::parse(reader.bytes()?)
    }

    fn absent<'a>() -> M::View<'a> {
        M::absent()
    }

    #[inline]
    fn to_owned(view: M::View<'_>) -> M {
        M::from_view(view)
    }

    fn check(owned: &M, _: &'static str) -> Result<(), EncodeError> {
        owned.check()
    }

    fn is_default(_: &M) -> bool {
        false
    }

    #[inline]
    fn len(owned: &M) -> usize {
        delimited_len(owned.len())
    }

    #[inline]
    fn write(owned: &M, sink: &mut impl Sink) {
        sink.varint(owned.len() as u64);
        owned.write(sink);
    }
}

/// The same value, on the heap in the owned message.
#[derive(Debug)]
pub struct Boxed<V>(PhantomData<V>);

impl<V: Value> Value for Boxed<V> {
    type Owned = Box<V::Owned>;
    type View<'a> = V::View<'a>;

    const WIRE: WireType = V::WIRE;

    fn describe() -> Type {
        V::describe()
    }

    fn read<'a>(reader: &mut Reader<'a>) -> Result<V::View<'a>, DecodeError> {
        V::read(reader)
    }

    fn absent<'a>() -> V::View<'a> {
        V::absent()
    }

    fn is_missing(view: V::View<'_>) -> bool {
        V::is_missing(view)
    }

    fn to_owned(view: V::View<'_>) -> Box<V::Owned> {
        Box::new(V::to_owned(view))
    }

    fn check(owned: &Box<V::Owned>, field: &'static str) -> Result<(), EncodeError> {
        V::check(owned, field)
    }

    fn is_default(owned: &Box<V::Owned>) -> bool {
        V::is_default(owned)
    }

    fn len(owned: &Box<V::Owned>) -> usize {
        V::len(owned)
    }

    fn write(owned: &Box<V::Owned>, sink: &mut impl Sink) {
        V::write(owned, sink);
    }
}
