//! Objects in JSON (RFC 8259) whose strings may be secrets.

use std::collections::BTreeMap;

use endseal_crypto::secret::Zeroizing;
use serde_json::value::RawValue;

/// The members of an object. The parser copies nothing, so that no secret stays behind.
pub(super) struct Fields<'a>(BTreeMap<&'a str, &'a RawValue>);

impl<'a> Fields<'a> {
    /// Returns `None` if the bytes are not an object.
    pub(super) fn parse(json: &'a [u8]) -> Option<Self> {
        serde_json::from_slice(json).ok().map(Self)
    }

    /// Returns a string, in a buffer that never grows and is wiped. `None` if the member is missing
    /// or not a string.
    pub(super) fn text(&self, name: &str) -> Option<Zeroizing<String>> {
        let quoted = self.0.get(name)?.get();
        let inner = quoted.strip_prefix('"')?.strip_suffix('"')?;
        let mut text = Zeroizing::new(String::with_capacity(inner.len()));
        let mut rest = inner;
        while let Some((before, escaped)) = rest.split_once('\\') {
            text.push_str(before);
            let (character, len) = unescape(escaped)?;
            text.push(character);
            rest = escaped.get(len..)?;
        }
        text.push_str(rest);
        Some(text)
    }

    /// Returns an integer that is written as a number or, as in Protocol Buffers, as a string.
    pub(super) fn number(&self, name: &str) -> Option<u64> {
        let text = self.0.get(name)?.get();
        let unquoted = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
        unquoted.unwrap_or(text).parse().ok()
    }

    /// Returns true if the member is `true`.
    pub(super) fn is_true(&self, name: &str) -> bool {
        self.0.get(name).is_some_and(|value| value.get() == "true")
    }
}

/// Returns the character of an escape sequence without its backslash, and the sequence's length.
/// `None` for characters above U+FFFF, which take two sequences and which no secret has.
fn unescape(sequence: &str) -> Option<(char, usize)> {
    let character = match sequence.bytes().next()? {
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        own @ (b'"' | b'\\' | b'/') => char::from(own),
        b'u' => {
            let code = u32::from_str_radix(sequence.get(1..5)?, 16).ok()?;
            return Some((char::from_u32(code)?, 5));
        }
        _ => return None,
    };
    Some((character, 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_unescaped() {
        let json =
            br#"{"a": "x\ny\u003d\"\\\/", "b": "", "c": 7, "d": "7", "e": true, "f": "\ud83d"}"#;
        let fields = Fields::parse(json).unwrap();
        assert_eq!(*fields.text("a").unwrap(), "x\ny=\"\\/");
        assert_eq!(*fields.text("b").unwrap(), "");
        assert!(fields.text("c").is_none() && fields.text("f").is_none());
        assert_eq!([fields.number("c"), fields.number("d")], [Some(7); 2]);
        assert_eq!([fields.number("a"), fields.number("e"), fields.number("z")], [None; 3]);
        assert!(fields.is_true("e") && !fields.is_true("a") && !fields.is_true("z"));
        for bad in [&b""[..], b"[]", b"{", b"\"a\"", b"{\"a\": \"x\"} y", b"\xff"] {
            assert!(Fields::parse(bad).is_none(), "{bad:?}");
        }
    }
}
