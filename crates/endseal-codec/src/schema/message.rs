//! Macros that declare messages, with their owned form and their view.

use core::fmt::Debug;

use super::contract::MessageContract;
use crate::error::{DecodeError, EncodeError};
use crate::wire::Sink;

/// Functions that a declaration makes for a message. [`Codec`](crate::Codec) is for users.
pub trait Schema: Clone + Debug + Default + PartialEq + Eq {
    /// A view that borrows from the encoding.
    type View<'a>: Copy + Debug + PartialEq;
    /// Name of the message in the contract.
    const NAME: &'static str;

    /// Returns its part of the contract.
    fn describe() -> MessageContract;
    /// Returns true if the contract has a field of this number.
    fn knows(number: u32) -> bool;
    /// The view of no message, which a required field holds until it has been read.
    fn absent<'a>() -> Self::View<'a>;
    /// Reads and checks an encoding.
    fn parse(bytes: &[u8]) -> Result<Self::View<'_>, DecodeError>;
    /// Copies the message of a view into an owned one.
    fn from_view(view: Self::View<'_>) -> Self;
    /// Returns an error for a message that a reader would refuse.
    fn check(&self) -> Result<(), EncodeError>;
    /// Number of bytes that `write` writes for this message.
    fn len(&self) -> usize;
    /// Writes the fields in ascending order, then the unknown ones.
    fn write(&self, sink: &mut impl Sink);
}

/// Set of the fields that were read, by their first numbers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen(u16);

impl Seen {
    #[inline]
    pub(crate) fn once(&mut self, first: u8) -> Result<(), DecodeError> {
        if self.has(first) {
            return Err(DecodeError::Duplicate);
        }
        self.0 |= 1 << first;
        Ok(())
    }

    #[inline]
    pub(crate) fn has(self, first: u8) -> bool {
        self.0 & 1 << first != 0
    }
}

/// Declares a message as the contract does: numbers, names and kinds of fields. A `oneof` has all
/// its numbers. `keeps unknown` for messages whose unknown fields are kept.
macro_rules! message {
    (
        $(#[$doc:meta])*
        $vis:vis struct $name:ident, $view:ident {
            $(
                $(#[$field_doc:meta])*
                $first:literal $(| $more:literal)* $field:ident: $kind:ty,
            )*
        }
        $(keeps $unknown:ident)?
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        #[allow(
            clippy::exhaustive_structs,
            reason = "who makes a message sees a new field; `..Default::default()` opts out"
        )]
        $vis struct $name {
            $($(#[$field_doc])* pub $field: <$kind as Field>::Owned,)*
            $(
                /// Fields of later versions, which are kept and written again.
                pub $unknown: Unknown<$name>,
            )?
        }

        #[doc = concat!("A view of [`", stringify!($name), "`].")]
        #[derive(Clone, Copy, Debug, PartialEq)]
        #[non_exhaustive]
        $vis struct $view<'a> {
            $($(#[$field_doc])* pub $field: <$kind as Field>::View<'a>,)*
            $(
                /// Fields of later versions, which this version does not know.
                pub $unknown: UnknownView<'a, $name>,
            )?
        }

        impl $view<'_> {
            /// A copy that borrows nothing.
            #[must_use]
            #[allow(dead_code, reason = "a map copies its entries as values")]
            $vis fn to_owned(self) -> $name {
                <$name as Schema>::from_view(self)
            }
        }

        #[allow(clippy::manual_range_patterns, reason = "the numbers of a `oneof` are a list")]
        impl Schema for $name {
            type View<'a> = $view<'a>;

            const NAME: &'static str = stringify!($name);

            fn describe() -> MessageContract {
                let mut fields = Vec::new();
                $(<$kind as Field>::describe(stringify!($field), $first, &mut fields);)*
                MessageContract { name: Self::NAME, fields }
            }

            #[inline]
            fn knows(number: u32) -> bool {
                // Numbers are bits of a mask, and tags have one byte.
                const { $(assert!($first < 16); $(assert!($more < 16);)*)* }
                matches!(number, $($first $(| $more)*)|*)
            }

            #[inline]
            fn absent<'a>() -> $view<'a> {
                $view {
                    $($field: <$kind as Field>::absent(),)*
                    $($unknown: UnknownView::none(),)?
                }
            }

            fn parse(bytes: &[u8]) -> Result<$view<'_>, DecodeError> {
                let mut view = Self::absent();
                let mut unknown = UnknownView::<Self>::none();
                let mut seen = Seen::default();
                let mut reader = Reader::new(bytes);
                while !reader.is_empty() {
                    let from = reader.rest();
                    let tag = reader.tag()?;
                    match tag.number() {
                        $($first $(| $more)* => {
                            tag.expect(<$kind as Field>::WIRE)?;
                            if !<$kind as Field>::REPEATED {
                                seen.once($first)?;
                            }
                            #[expect(clippy::cast_possible_truncation, reason = "below 16")]
                            let place = Place { number: tag.number() as u8, first: $first, from };
                            <$kind as Field>::read(&mut view.$field, place, &mut reader)?;
                        })*
                        _ => {
                            let wire = tag.wire()?;
                            unknown.count_one(from)?;
                            reader.skip(wire)?;
                        }
                    }
                }
                $(<$kind as Field>::finish(&view.$field, seen.has($first), unknown.len())?;)*
                $(view.$unknown = unknown;)?
                Ok(view)
            }

            fn from_view(view: $view<'_>) -> Self {
                Self {
                    $($field: <$kind as Field>::to_owned(view.$field),)*
                    $($unknown: view.$unknown.to_owned(),)?
                }
            }

            fn check(&self) -> Result<(), EncodeError> {
                let unknown = 0 $(+ self.$unknown.len())?;
                $(<$kind as Field>::check(&self.$field, stringify!($field), unknown)?;)*
                Ok(())
            }

            #[inline]
            fn len(&self) -> usize {
                0 $(+ <$kind as Field>::len(&self.$field))* $(+ self.$unknown.len())?
            }

            #[inline]
            fn write(&self, sink: &mut impl Sink) {
                $(<$kind as Field>::write(&self.$field, $first, sink);)*
                $(self.$unknown.write(sink);)?
            }
        }
    };
}
pub(crate) use message;
