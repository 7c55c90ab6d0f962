//! Escapes and unescapes text within XML.

/// Escapes a text, so that it can be the content of an element.
#[must_use]
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    escape_into(text, &mut out);
    out
}

/// Escapes text for an element. Control characters, which XML 1.0 knows only as references, become
/// such, as S3 writes them.
pub(super) fn escape_into(text: &str, out: &mut String) {
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&apos;"),
            '\0'..='\x1f' | '\x7f' | '\u{fffe}' | '\u{ffff}' => {
                out.push_str(&format!("&#x{:X};", u32::from(character)));
            }
            _ => out.push(character),
        }
    }
}
