//! Short texts, cut at ASCII characters.
//!
//! A search for a `char` costs more to set up than the short fields of a signature justify: such
//! searches took most of the instructions of parsing one.

use memchr::{memchr, memrchr};

/// Returns the parts before and behind the first `separator`, which MUST be ASCII.
pub(super) fn split_once(text: &str, separator: u8) -> Option<(&str, &str)> {
    cut(text, memchr(separator, text.as_bytes())?)
}

/// Returns the parts before and behind the last `separator`, which MUST be ASCII.
pub(super) fn rsplit_once(text: &str, separator: u8) -> Option<(&str, &str)> {
    cut(text, memrchr(separator, text.as_bytes())?)
}

/// Returns the parts between the `separator`s, which MUST be ASCII: one piece more than there are
/// of them.
pub(super) fn split(text: &str, separator: u8) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    core::iter::from_fn(move || {
        let text = rest?;
        let (piece, behind) = match split_once(text, separator) {
            Some((piece, behind)) => (piece, Some(behind)),
            None => (text, None),
        };
        rest = behind;
        Some(piece)
    })
}

/// Without the byte at `at`.
fn cut(text: &str, at: usize) -> Option<(&str, &str)> {
    Some((text.get(..at)?, text.get(at + 1..)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_as_the_standard_library_cuts_them() {
        for text in ["", ",", "a", "a,b", "a,,b,", ",a", "\u{e9},\u{1f510}", "a b,c d,e"] {
            assert_eq!(split_once(text, b','), text.split_once(','), "{text}");
            assert_eq!(rsplit_once(text, b','), text.rsplit_once(','), "{text}");
            assert!(split(text, b',').eq(text.split(',')), "{text}");
        }
    }
}
