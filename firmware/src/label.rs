//! Short texts without an allocator.

use core::fmt::{self, Write};

/// Longest label in bytes: the width of the first column of the published table.
const CAPACITY: usize = 28;

/// A formatted text, cut off at the longest length.
#[derive(Clone, Copy)]
pub(crate) struct Label {
    text: [u8; CAPACITY],
    len: usize,
}

impl Label {
    pub(crate) fn new(text: fmt::Arguments<'_>) -> Self {
        let mut label = Self { text: [0; CAPACITY], len: 0 };
        // It fails only if the text is cut off.
        let _ = label.write_fmt(text);
        label
    }
}

impl Write for Label {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let rest = &mut self.text[self.len..];
        let fits = text.len() <= rest.len();
        let part = text.as_bytes().get(..rest.len()).unwrap_or(text.as_bytes());
        rest[..part.len()].copy_from_slice(part);
        self.len += part.len();
        if fits { Ok(()) } else { Err(fmt::Error) }
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(str::from_utf8(&self.text[..self.len]).unwrap_or("?"))
    }
}
