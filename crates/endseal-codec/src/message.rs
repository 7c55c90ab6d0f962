//! The messages of `proto/endseal/v1/message.proto`, as Rust types.

pub(crate) mod attachment;
pub(crate) mod body;
pub(crate) mod content;
pub(crate) mod file;
pub(crate) mod notice;
pub(crate) mod presence;
pub(crate) mod rich;
pub(crate) mod sealed_message;

/// Names that every declaration needs.
pub(crate) mod declare {
    pub(crate) use alloc::vec::Vec;

    pub(crate) use crate::error::{DecodeError, EncodeError};
    pub(crate) use crate::schema::contract::{FieldContract, MessageContract, Presence};
    pub(crate) use crate::schema::message::message;
    pub(crate) use crate::schema::oneof::oneof;
    pub(crate) use crate::schema::place::Place;
    pub(crate) use crate::schema::unknown::{Unknown, UnknownView};
    pub(crate) use crate::schema::{
        Bool, Boxed, Bytes, Choice, Field, Fixed, Implicit, Later, Nested, OneOf, Open, Optional,
        Repeated, Required, Schema, Seen, Text, UNBOUNDED, Uint32, Uint64, Value,
    };
    pub(crate) use crate::wire::{Reader, Sink, WireType};
}

/// Declares an enum that keeps values of later versions.
macro_rules! open_enum {
    (
        $(#[$doc:meta])*
        pub struct $name:ident = $contract:literal {
            $($(#[$value_doc:meta])* $constant:ident = $number:literal $text:literal,)*
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        pub struct $name(u32);

        impl $name {
            $($(#[$value_doc])* pub const $constant: Self = Self($number);)*

            /// A value, which a later version may have named; `None` above 2^31 - 1.
            #[must_use]
            pub const fn from_value(value: u32) -> Option<Self> {
                if value < 1 << 31 { Some(Self(value)) } else { None }
            }

            /// The number of the value on the wire.
            #[must_use]
            pub const fn value(self) -> u32 {
                self.0
            }
        }

        impl $crate::schema::OpenEnum for $name {
            const NAME: &'static str = $contract;
            const VALUES: &'static [(&'static str, u32)] = &[$(($text, $number)),*];

            fn from_value(value: u32) -> Option<Self> {
                Self::from_value(value)
            }

            fn value(self) -> u32 {
                self.0
            }
        }
    };
}
pub(crate) use open_enum;
