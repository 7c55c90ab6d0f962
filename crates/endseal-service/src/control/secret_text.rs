//! Text that contains a secret.

use endseal_crypto::secret::Zeroizing;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

/// Text that is wiped when dropped and has no `Debug` output, for instance a message of a person.
///
/// It is read from JSON only directly with `serde_json`, from a slice or a string: the parser then
/// makes no copy of it.
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
pub struct SecretText(Zeroizing<String>);

impl SecretText {
    /// Wraps a text that contains a secret.
    #[must_use]
    pub fn new(text: String) -> Self {
        Self(Zeroizing::new(text))
    }

    /// Returns the text. The caller MUST NOT log it.
    #[must_use]
    pub fn expose_secret(&self) -> &str {
        &self.0
    }

    /// Decodes a string of JSON whose syntax was checked. Returns `None` if it is another value, or
    /// has a surrogate without its other half.
    fn of_json(raw: &str) -> Option<Self> {
        let mut rest = raw.strip_prefix('"')?.strip_suffix('"')?;
        // An escape is longer than its character, so that the buffer does not grow.
        let mut text = Zeroizing::new(String::with_capacity(rest.len()));
        while let Some((plain, escape)) = rest.split_once('\\') {
            text.push_str(plain);
            let kind = escape.chars().next()?;
            rest = &escape[kind.len_utf8()..];
            text.push(match kind {
                'b' => '\u{8}',
                'f' => '\u{c}',
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                'u' => character(&mut rest)?,
                other => other,
            });
        }
        text.push_str(rest);
        Some(Self(text))
    }
}

/// Decodes the digits behind `\u`, and a second escape if the first is half of a pair.
fn character(rest: &mut &str) -> Option<char> {
    let high = unit(rest)?;
    if !(0xd800..0xdc00).contains(&high) {
        return char::from_u32(high);
    }
    *rest = rest.strip_prefix("\\u")?;
    let low = unit(rest)?.checked_sub(0xdc00).filter(|low| *low < 0x400)?;
    char::from_u32(0x10000 + ((high - 0xd800) << 10) + low)
}

fn unit(rest: &mut &str) -> Option<u32> {
    let (digits, behind) = rest.split_at_checked(4)?;
    *rest = behind;
    u32::from_str_radix(digits, 16).ok()
}

impl AsRef<str> for SecretText {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl Serialize for SecretText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for SecretText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = <&RawValue>::deserialize(deserializer)?;
        Self::of_json(raw.get()).ok_or_else(|| D::Error::custom("a text is expected"))
    }
}

#[cfg(test)]
mod tests {
    use super::SecretText;

    fn read(json: &str) -> Option<String> {
        let text = serde_json::from_str::<SecretText>(json).ok()?;
        Some(text.expose_secret().to_owned())
    }

    #[test]
    fn texts_are_read_as_a_parser_of_json_reads_them() {
        for json in [
            r#""""#,
            r#""plain \u00e9\"\\\/\b\f\n\r\t""#,
            r#""\ud83d\udd11 and \u2028\u0000""#,
            r#""\ud83d""#,
            r#""\ud83d\ud83d""#,
            r#""\ud83dxudd11""#,
            r#""\udd11\ud83d""#,
            r#""\ud83d\u00411""#,
            "\"\u{1f511}\"",
            "1",
            "null",
            "[\"a\"]",
        ] {
            assert_eq!(read(json), serde_json::from_str::<String>(json).ok(), "{json}");
        }
    }
}
