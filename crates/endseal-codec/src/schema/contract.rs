//! The contract as the code has it, to be compared with the `.proto` file, and to be walked by
//! tools.

use alloc::vec::Vec;

/// A message of the contract, with its fields.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MessageContract {
    /// Name of the message in the `.proto` file.
    pub name: &'static str,
    /// Fields of the message, in ascending order of their numbers.
    pub fields: Vec<FieldContract>,
}

/// A field, or a member of a `oneof`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FieldContract {
    /// Name of the field in the `.proto` file.
    pub name: &'static str,
    /// Number of the field on the wire, from 1.
    pub number: u32,
    /// Type of the field's value, with its bounds.
    pub r#type: Type,
    /// Number of times that it may be there.
    pub presence: Presence,
}

impl FieldContract {
    pub(crate) fn new(name: &'static str, number: u32, r#type: Type, presence: Presence) -> Self {
        Self { name, number, r#type, presence }
    }
}

/// Type of a field's value. Bounds are in bytes; `usize::MAX` means no bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the names are those of the Protocol Buffers language")]
pub enum Type {
    Bytes {
        min: usize,
        max: usize,
    },
    String {
        min: usize,
        max: usize,
    },
    Uint64,
    Uint32,
    Bool,
    Enum {
        name: &'static str,
        values: &'static [(&'static str, u32)],
    },
    Message {
        name: &'static str,
    },
    /// A map from strings to byte strings, each with bounds of its length.
    Map {
        key: (usize, usize),
        value: (usize, usize),
    },
}

/// Number of times that a field may be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Presence {
    /// Exactly once in each message.
    Required,
    /// Once or not, and the default value means that it is not.
    Implicit,
    /// Once or not; a default value that is present differs from an absent field.
    Optional,
    /// A member of a `oneof`.
    OneOf {
        /// The name of the `oneof`.
        name: &'static str,
        /// True if one of its members must be there.
        required: bool,
    },
    /// Any number of times within the bounds.
    Repeated {
        /// Least number of elements.
        min: u32,
        /// Greatest number of elements.
        max: u32,
    },
}
