//! Escapes of JSON strings (RFC 8259, section 7).

use super::{JsonError, special};

/// Replaces the escapes of the inside of a JSON string by their characters, where it lies. Returns
/// the new length; what lies behind it is left over.
///
/// The caller MUST have found the string valid: of other bytes it checks escapes only.
///
/// # Errors
/// [`JsonError::Unexpected`] and [`JsonError::Surrogate`] for an invalid escape; `raw` is then
/// changed in part.
pub fn in_place(raw: &mut [u8]) -> Result<usize, JsonError> {
    let mut read = run(raw);
    let mut written = read;
    while read < raw.len() {
        let (single, len) = escape(&raw[read..])?;
        // An escape is longer than its character, so nothing unread is overwritten.
        written += single.encode_utf8(&mut raw[written..]).len();
        read += len;
        let run = run(&raw[read..]);
        raw.copy_within(read..read + run, written);
        read += run;
        written += run;
    }
    Ok(written)
}

/// Length up to the next backslash.
fn run(raw: &[u8]) -> usize {
    let mut end = special(raw);
    while raw.get(end).is_some_and(|byte| *byte != b'\\') {
        end += 1;
        end += special(&raw[end..]);
    }
    end
}

/// Character and length of the escape at the front of `raw`.
pub(super) fn escape(raw: &[u8]) -> Result<(char, usize), JsonError> {
    let [b'\\', kind, rest @ ..] = raw else { return Err(JsonError::Unexpected) };
    let single = match kind {
        b'"' | b'\\' | b'/' => char::from(*kind),
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'u' => return unicode(rest),
        _ => return Err(JsonError::Unexpected),
    };
    Ok((single, 2))
}

/// Reads an escape as [`escape`] does, from behind its `\u`.
fn unicode(rest: &[u8]) -> Result<(char, usize), JsonError> {
    let first = unit(rest)?;
    let (code, len) = match first {
        0xd800..=0xdbff => match &rest[4..] {
            [b'\\', b'u', second @ ..] => match unit(second)? {
                low @ 0xdc00..=0xdfff => (0x1_0000 + ((first - 0xd800) << 10) + low - 0xdc00, 12),
                _ => return Err(JsonError::Surrogate),
            },
            _ => return Err(JsonError::Surrogate),
        },
        _ => (first, 6),
    };
    // A code that is not a character here is a low surrogate without a high one.
    char::from_u32(code).map(|single| (single, len)).ok_or(JsonError::Surrogate)
}

/// Value of the four hexadecimal digits at the front; upper case is as good as lower case.
fn unit(rest: &[u8]) -> Result<u32, JsonError> {
    let digits = rest.first_chunk::<4>().ok_or(JsonError::Unexpected)?;
    digits.iter().try_fold(0, |unit, digit| {
        let digit = char::from(*digit).to_digit(16).ok_or(JsonError::Unexpected)?;
        Ok(unit << 4 | digit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unescaped(raw: &str) -> Result<Vec<u8>, JsonError> {
        let mut raw = raw.as_bytes().to_vec();
        let len = in_place(&mut raw)?;
        raw.truncate(len);
        Ok(raw)
    }

    #[test]
    fn escapes_become_their_characters() {
        for (raw, text) in [
            ("", ""),
            ("plain é text", "plain é text"),
            (r#"\"\\\/\b\f\n\r\t"#, "\"\\/\u{8}\u{c}\n\r\t"),
            (r"\u0000\u001F\u00e9\u20AC\uffff", "\0\u{1f}é€\u{ffff}"),
            (r"x\ud83d\ude00y\uDBFF\uDFFF", "x😀y\u{10ffff}"),
            (r"a\\n", r"a\n"),
        ] {
            assert_eq!(unescaped(raw).as_deref(), Ok(text.as_bytes()), "{raw}");
        }
    }

    #[test]
    fn invalid_escapes_are_refused() {
        for raw in [r"\", r"\x", r"\u", r"\u12", r"\u123", r"\u12g4", r"\U0041", r"\'", r"\u+123"] {
            assert_eq!(unescaped(raw), Err(JsonError::Unexpected), "{raw}");
        }
    }

    #[test]
    fn lone_surrogates_are_refused() {
        for raw in [
            r"\ud800",
            r"\udbffx",
            r"\udc00",
            r"\udfff\ud800",
            r"\ud800\n",
            r"\ud800\u0041",
            r"\ud800\ud800\udc00",
        ] {
            assert_eq!(unescaped(raw), Err(JsonError::Surrogate), "{raw}");
        }
        assert_eq!(unescaped(r"\ud800\u12"), Err(JsonError::Unexpected));
    }
}
