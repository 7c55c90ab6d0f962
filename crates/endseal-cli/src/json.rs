//! Values for `--json`. Their fields are documented in docs/json.md.

pub(crate) use serde_json::Value;

use crate::printable::is_printable;

/// Formats a value on one line. Characters that could control a terminal are escaped, which is
/// valid because they occur in strings only.
pub(crate) fn line(value: &Value) -> String {
    let mut line = String::new();
    for c in value.to_string().chars() {
        match is_printable(c) {
            true => line.push(c),
            // All such characters are below U+10000.
            false => line.push_str(&format!("\\u{:04x}", u32::from(c))),
        }
    }
    line.push('\n');
    line
}

/// Makes an object with these fields.
pub(crate) fn object<const N: usize>(fields: [(&str, Value); N]) -> Value {
    Value::Object(fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_commands_no_terminal_and_means_the_same() {
        let value = object([("text", "\u{1b}[2J \u{9b}2J \u{7f} \u{202e}txt \u{e9}".into())]);
        let line = line(&value);
        assert!(line.trim_end().chars().all(is_printable), "{line:?}");
        assert!(line.contains("\\u009b2J") && line.contains('\u{e9}'));
        assert_eq!(serde_json::from_str::<Value>(&line).unwrap(), value);
    }
}
