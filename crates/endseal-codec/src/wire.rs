//! The encoding of Protocol Buffers, below any message: varints, tags, lengths.

pub(crate) mod reader;
pub(crate) mod utf8;
pub(crate) mod varint;
pub(crate) mod writer;

pub(crate) use reader::Reader;
pub(crate) use writer::Sink;

/// Wire type: the form of the value behind a tag. The two group types and two unassigned ones are
/// refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WireType {
    /// Wire type 0: a varint.
    Varint,
    /// Wire type 1: a value of eight bytes.
    Fixed64,
    /// 2: a varint, and as many bytes.
    Length,
    /// Wire type 5: a value of four bytes.
    Fixed32,
}

impl WireType {
    /// The low three bits of a tag.
    pub(crate) const fn bits(self) -> u8 {
        match self {
            Self::Varint => 0,
            Self::Fixed64 => 1,
            Self::Length => 2,
            Self::Fixed32 => 5,
        }
    }
}
