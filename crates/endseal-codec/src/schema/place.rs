//! Position of a value in a message.

/// Position of a value that is about to be read.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The number in its tag.
    pub(crate) number: u8,
    /// The first number of the field; another one than `number` in a `oneof` only.
    pub(crate) first: u8,
    /// The message from the tag on.
    pub(crate) from: &'a [u8],
}
