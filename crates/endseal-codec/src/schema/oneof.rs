//! The members of a `oneof`.

use alloc::vec::Vec;
use core::fmt::Debug;

use super::contract::{FieldContract, Presence};
use crate::error::{DecodeError, EncodeError};
use crate::wire::{Reader, Sink};

/// One of several members. All are delimited by a length, and their numbers follow each other.
pub trait Choice: Clone + Debug + Default + PartialEq + Eq {
    /// Form of the `oneof` in a view, which borrows from the encoding.
    type View<'a>: Copy + Debug + PartialEq;

    /// Adds the description of each member to the contract.
    fn describe(first: u8, presence: Presence, out: &mut Vec<FieldContract>);
    /// Returns the value that a view shows while no member was met.
    fn absent<'a>() -> Self::View<'a>;
    /// Reads the member with an index.
    fn read<'a>(index: u8, reader: &mut Reader<'a>) -> Result<Self::View<'a>, DecodeError>;
    /// Copies the value of a view into an owned one.
    fn from_view(view: Self::View<'_>) -> Self;
    /// Returns an error for a value that a reader would refuse.
    fn check(&self) -> Result<(), EncodeError>;
    /// Bytes of the value, without its tag.
    fn len(&self) -> usize;
    /// Writes the member, with its tag.
    fn write(&self, first: u8, sink: &mut impl Sink);
}

/// Declares a `oneof`: members in the order of their numbers, each with an index from 0, the name
/// of its variant, its name in the contract and the kind of its value.
macro_rules! oneof {
    (
        $(#[$doc:meta])*
        pub enum $name:ident, $view:ident {
            $(#[$zero_doc:meta])* 0 $zero:ident $zero_field:ident: $zero_value:ty,
            $($(#[$member_doc:meta])* $index:literal $member:ident $field:ident: $value:ty,)*
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum $name {
            $(#[$zero_doc])*
            $zero(<$zero_value as Value>::Owned),
            $($(#[$member_doc])* $member(<$value as Value>::Owned),)*
        }

        #[doc = concat!("A view of [`", stringify!($name), "`].")]
        #[derive(Clone, Copy, Debug, PartialEq)]
        #[non_exhaustive]
        pub enum $view<'a> {
            $(#[$zero_doc])*
            $zero(<$zero_value as Value>::View<'a>),
            $($(#[$member_doc])* $member(<$value as Value>::View<'a>),)*
        }

        impl $view<'_> {
            /// A copy that borrows nothing.
            #[must_use]
            pub fn to_owned(self) -> $name {
                <$name as Choice>::from_view(self)
            }
        }

        impl Default for $name {
            fn default() -> Self {
                Self::$zero(Default::default())
            }
        }

        impl Choice for $name {
            type View<'a> = $view<'a>;

            fn describe(first: u8, presence: Presence, out: &mut Vec<FieldContract>) {
                let mut add = |index: u8, name, r#type| {
                    out.push(FieldContract::new(name, (first + index).into(), r#type, presence));
                };
                add(0, stringify!($zero_field), <$zero_value as Value>::describe());
                $(add($index, stringify!($field), <$value as Value>::describe());)*
            }

            #[inline]
            fn absent<'a>() -> $view<'a> {
                $view::$zero(<$zero_value as Value>::absent())
            }

            #[inline]
            fn read<'a>(
                index: u8,
                reader: &mut Reader<'a>,
            ) -> Result<$view<'a>, DecodeError> {
                const {
                    assert!(matches!(<$zero_value as Value>::WIRE, WireType::Length));
                    $(assert!(matches!(<$value as Value>::WIRE, WireType::Length));)*
                }
                match index {
                    $($index => <$value as Value>::read(reader).map($view::$member),)*
                    _ => <$zero_value as Value>::read(reader).map($view::$zero),
                }
            }

            #[inline]
            fn from_view(view: $view<'_>) -> Self {
                match view {
                    $view::$zero(value) => Self::$zero(<$zero_value as Value>::to_owned(value)),
                    $($view::$member(value) => {
                        Self::$member(<$value as Value>::to_owned(value))
                    })*
                }
            }

            #[inline]
            fn check(&self) -> Result<(), EncodeError> {
                match self {
                    Self::$zero(value) => {
                        <$zero_value as Value>::check(value, stringify!($zero_field))
                    }
                    $(Self::$member(value) => {
                        <$value as Value>::check(value, stringify!($field))
                    })*
                }
            }

            #[inline]
            fn len(&self) -> usize {
                match self {
                    Self::$zero(value) => <$zero_value as Value>::len(value),
                    $(Self::$member(value) => <$value as Value>::len(value),)*
                }
            }

            #[inline]
            fn write(&self, first: u8, sink: &mut impl Sink) {
                match self {
                    Self::$zero(value) => {
                        sink.tag(first, WireType::Length);
                        <$zero_value as Value>::write(value, sink);
                    }
                    $(Self::$member(value) => {
                        sink.tag(first + $index, WireType::Length);
                        <$value as Value>::write(value, sink);
                    })*
                }
            }
        }
    };
}
pub(crate) use oneof;
