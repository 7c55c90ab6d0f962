//! Bodies of messages: plain text or Markdown.

use super::declare::*;

oneof! {
    /// Plain text, or text with marks.
    pub enum Body, BodyView {
        /// A plain text, which is shown as it is.
        0 Text text: Text<0, UNBOUNDED>,
        /// A text in Markdown. It comes from the sender: show no active content.
        1 Markdown markdown: Text<0, UNBOUNDED>,
    }
}

message! {
    /// A later version of a body.
    pub struct Edit, EditView {
        /// Milliseconds since 1970, by the sender's clock.
        1 timestamp: Implicit<Uint64>,
        /// Body that replaces the earlier one.
        2 | 3 body: OneOf<Body, true>,
    }
}

// docs/spec/codec.md, Memory.
const _: () = assert!(size_of::<Edit>() <= 32);

impl Body {
    /// The text, with its marks if it has any.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Text(text) | Self::Markdown(text) => text,
        }
    }
}

impl<'a> BodyView<'a> {
    /// The text, with its marks if it has any.
    #[must_use]
    pub fn as_str(self) -> &'a str {
        match self {
            Self::Text(text) | Self::Markdown(text) => text,
        }
    }
}
