//! The error of functions that write into a buffer of the caller.

use core::fmt;

/// A buffer of the caller is too small for the result. Nothing was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BufferTooSmall;

impl fmt::Display for BufferTooSmall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the buffer is too small for the result")
    }
}

impl core::error::Error for BufferTooSmall {}
