//! Text that is safe to print on a terminal.

use endseal_crypto::secret::Zeroizing;

/// Replaces each character that could control a terminal, start a new line or reverse the order of
/// characters by U+FFFD.
pub(crate) fn printable(text: &str) -> String {
    text.chars().map(|c| if is_printable(c) { c } else { char::REPLACEMENT_CHARACTER }).collect()
}

/// Formats a number and its noun, with an `s` unless the number is one.
pub(crate) fn plural(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// Returns true for a character that cannot control a terminal.
pub(crate) fn is_printable(c: char) -> bool {
    let turns = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2066}'..='\u{2069}');
    let ends_line = matches!(c, '\u{2028}' | '\u{2029}');
    !(c.is_control() || turns || ends_line)
}

/// Appends a text of several lines. Lines after the first are indented, so that none looks like
/// another message.
pub(crate) fn indent(text: &str, line: &mut String) {
    let mut lines = text.split('\n').map(printable).map(Zeroizing::new);
    line.push_str(&lines.next().unwrap_or_default());
    for further in lines {
        line.push_str("\n    ");
        line.push_str(&further);
    }
}

#[cfg(test)]
mod tests {
    use super::printable;

    #[test]
    fn what_commands_a_terminal_is_replaced() {
        assert_eq!(printable("h\u{e9} \u{1f43b} \u{645}"), "h\u{e9} \u{1f43b} \u{645}");
        for bad in ["\u{1b}[2J", "\n", "\r", "\t", "\u{9b}2J", "\u{202e}txt.exe", "\u{2028}", "\0"]
        {
            let shown = printable(bad);
            assert!(shown.starts_with('\u{fffd}'), "{bad:?}");
            assert_eq!(printable(&shown), shown);
        }
    }
}
