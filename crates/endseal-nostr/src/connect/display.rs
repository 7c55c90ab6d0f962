//! Texts of apps, as a person may see them.

use core::fmt::{self, Write as _};

use crate::json::Text;

/// Characters of a name that are shown.
pub const MAX_NAME: usize = 64;
/// Characters of a content that are shown.
pub const MAX_CONTENT: usize = 500;

/// Replaces characters that could change how the text around them is displayed.
const REPLACEMENT: char = '\u{fffd}';
/// Behind a text that was cut.
const CUT: char = '…';

/// A text of an app for a prompt, a page or a log: control characters, characters of direction and
/// line separators are replaced by U+FFFD, and after `max_chars` characters it is cut by `…`.
#[must_use]
pub fn sanitise<'a>(text: impl Into<Text<'a>>, max_chars: usize) -> Sanitised<'a> {
    Sanitised { text: text.into(), max_chars, keeps_lines: false }
}

/// A text that can be shown. HTML is not escaped.
#[derive(Clone, Copy, Debug)]
pub struct Sanitised<'a> {
    text: Text<'a>,
    max_chars: usize,
    keeps_lines: bool,
}

impl Sanitised<'_> {
    /// Keeps line feeds and tabs, for a text that is shown in a block of its own.
    #[must_use]
    pub const fn keep_lines(mut self) -> Self {
        self.keeps_lines = true;
        self
    }
}

impl fmt::Display for Sanitised<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut chars = self.text.chars();
        for single in chars.by_ref().take(self.max_chars) {
            let is_kept = self.keeps_lines && matches!(single, '\n' | '\t');
            f.write_char(if is_kept || !is_deceptive(single) { single } else { REPLACEMENT })?;
        }
        chars.next().map_or(Ok(()), |_| f.write_char(CUT))
    }
}

/// Returns true for a character of a name that shows nothing, or a space of another width: with it,
/// two names differ that look alike.
#[must_use]
pub const fn is_invisible(single: char) -> bool {
    matches!(
        single,
        '\u{a0}' | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{1680}' | '\u{17b4}'
            | '\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{2000}'..='\u{200f}' | '\u{2028}'..='\u{202f}'
            | '\u{205f}'..='\u{206f}' | '\u{2800}' | '\u{3000}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fff8}' | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}'
    )
}

fn is_deceptive(single: char) -> bool {
    single.is_control()
        || matches!(
            single,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::scan::Scanner;

    #[test]
    fn nothing_moves_the_text_around() {
        let shown = |text: &str| sanitise(text, MAX_NAME).to_string();
        assert_eq!(shown("Amber é😀"), "Amber é😀");
        for single in ('\0'..='\u{1f}').chain('\u{7f}'..='\u{9f}').chain(
            "\u{61c}\u{200e}\u{200f}\u{2028}\u{2029}\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}\
             \u{2066}\u{2067}\u{2068}\u{2069}"
                .chars(),
        ) {
            assert_eq!(shown(&format!("a{single}b")), "a\u{fffd}b", "{single:?}");
        }
        // A joiner makes one sign of several.
        assert_eq!(shown("\u{200d}\u{202f}\u{2065}\u{206a}"), "\u{200d}\u{202f}\u{2065}\u{206a}");
        let escaped = Scanner::over(r#""\u001b[2J\u202ex""#).string().unwrap();
        assert_eq!(sanitise(escaped, 500).to_string(), "\u{fffd}[2J\u{fffd}x");
        assert_eq!(sanitise("a\n\tb\r", 9).keep_lines().to_string(), "a\n\tb\u{fffd}");
    }

    #[test]
    fn a_long_text_is_cut() {
        let name = "é".repeat(MAX_NAME);
        assert_eq!(sanitise(name.as_str(), MAX_NAME).to_string(), name);
        assert_eq!(sanitise(&*format!("{name}x"), MAX_NAME).to_string(), format!("{name}…"));
        assert_eq!(sanitise("x", 0).to_string(), "…");
        assert_eq!(sanitise("", 0).to_string(), "");
    }
}
