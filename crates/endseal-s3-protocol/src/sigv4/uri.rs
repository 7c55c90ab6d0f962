//! Percent-encoding (RFC 3986) as S3 reads and signs it.

use core::fmt;
use std::borrow::Cow;

/// A `%` that is not followed by two hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InvalidEncoding;

impl fmt::Display for InvalidEncoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Couldn't parse the specified URI.")
    }
}

impl core::error::Error for InvalidEncoding {}

/// Decodes a path: `%2F` and `/` become the same, `+` stays.
///
/// # Errors
/// [`InvalidEncoding`].
pub fn decode_path(path: &str) -> Result<Cow<'_, [u8]>, InvalidEncoding> {
    decode(path, false)
}

/// Decodes a name or a value of a query: as [`decode_path`], but `+` is a space.
///
/// # Errors
/// [`InvalidEncoding`].
pub fn decode_component(component: &str) -> Result<Cow<'_, [u8]>, InvalidEncoding> {
    decode(component, true)
}

/// A name and its value.
pub type Pair<'q> = (Cow<'q, [u8]>, Cow<'q, [u8]>);

/// Decodes a query into pairs of name and value, in their order. `+` is a space, a name without `=`
/// has the empty value, and empty pairs (`a&&b`) are passed over.
///
/// # Errors
/// [`InvalidEncoding`].
pub fn decode_query(query: &str) -> Result<Vec<Pair<'_>>, InvalidEncoding> {
    pairs(query)
        .map(|(name, value)| Ok((decode_component(name)?, decode_component(value)?)))
        .collect()
}

/// Encodes all but `A–Z a–z 0–9 - . _ ~`, and `/` only if `slash`.
pub fn encode_into(bytes: &[u8], slash: bool, out: &mut String) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    for &byte in bytes {
        if stays(byte, slash) {
            out.push(char::from(byte));
        } else {
            out.push('%');
            out.push(char::from(DIGITS[usize::from(byte >> 4)]));
            out.push(char::from(DIGITS[usize::from(byte & 15)]));
        }
    }
}

/// Returns true if a byte stands for itself.
const fn stays(byte: u8, slash: bool) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'-' | b'.' | b'_' | b'~')
        || byte == b'/' && !slash
}

/// A path or key as it stands in a URI: [`encode_into`] that leaves `/`.
#[must_use]
pub fn encode_path(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len() + 16);
    encode_into(bytes, false, &mut out);
    out
}

/// A name or value of a query: [`encode_into`] with `/`.
#[must_use]
pub fn encode_component(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len() + 16);
    encode_into(bytes, true, &mut out);
    out
}

/// A path as it is signed: [`encode_path`] of [`decode_path`], without a copy where that is the
/// same.
///
/// # Errors
/// [`InvalidEncoding`].
pub(super) fn canonical_path(path: &str) -> Result<Cow<'_, str>, InvalidEncoding> {
    if is_canonical(path, false) {
        return Ok(Cow::Borrowed(path));
    }
    Ok(Cow::Owned(encode_path(&decode_path(path)?)))
}

/// A name or value of a query as it is signed: [`encode_component`] of [`decode_component`],
/// without a copy where that is the same.
///
/// # Errors
/// [`InvalidEncoding`].
pub(super) fn canonical_component(component: &str) -> Result<Cow<'_, str>, InvalidEncoding> {
    if is_canonical(component, true) {
        return Ok(Cow::Borrowed(component));
    }
    Ok(Cow::Owned(encode_component(&decode_component(component)?)))
}

/// Returns true if decoding and encoding again would change nothing.
fn is_canonical(text: &str, slash: bool) -> bool {
    let mut rest = text.as_bytes();
    while let [byte, behind @ ..] = rest {
        rest = match (byte, behind) {
            (
                b'%',
                [
                    high @ (b'0'..=b'9' | b'A'..=b'F'),
                    low @ (b'0'..=b'9' | b'A'..=b'F'),
                    behind @ ..,
                ],
            ) => {
                let byte = digit(*high).zip(digit(*low)).map(|(high, low)| high << 4 | low);
                if byte.is_none_or(|byte| stays(byte, slash)) {
                    return false;
                }
                behind
            }
            (byte, behind) if stays(*byte, slash) => behind,
            _ => return false,
        };
    }
    true
}

/// The pairs of a query as they were received.
pub(super) fn pairs(query: &str) -> impl Iterator<Item = (&str, &str)> {
    query
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
}

fn decode(text: &str, plus_is_space: bool) -> Result<Cow<'_, [u8]>, InvalidEncoding> {
    let text = text.as_bytes();
    let changes = |byte: &u8| *byte == b'%' || (*byte == b'+' && plus_is_space);
    let Some(first) = text.iter().position(changes) else { return Ok(Cow::Borrowed(text)) };
    let mut out = Vec::with_capacity(text.len());
    let (head, rest) = text.split_at(first);
    out.extend_from_slice(head);
    let mut rest = rest.iter();
    while let Some(&byte) = rest.next() {
        out.push(match byte {
            b'%' => {
                let high = rest.next().copied().and_then(digit).ok_or(InvalidEncoding)?;
                let low = rest.next().copied().and_then(digit).ok_or(InvalidEncoding)?;
                high << 4 | low
            }
            b'+' if plus_is_space => b' ',
            _ => byte,
        });
    }
    Ok(Cow::Owned(out))
}

const fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        b'A'..=b'F' => Some(byte - b'A' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_decoded_and_encoded_once() {
        for (received, decoded, encoded) in [
            ("/b/a%2Fb", "/b/a/b", "/b/a/b"),
            ("/b/a%252Fb", "/b/a%2Fb", "/b/a%252Fb"),
            ("/b/a+b c", "/b/a+b c", "/b/a%2Bb%20c"),
            ("/b//../.", "/b//../.", "/b//../."),
            ("/b/%e1%88%b4~*'()!", "/b/ሴ~*'()!", "/b/%E1%88%B4~%2A%27%28%29%21"),
        ] {
            assert_eq!(decode_path(received).unwrap(), decoded.as_bytes());
            assert_eq!(encode_path(decoded.as_bytes()), encoded);
            assert_eq!(canonical_path(received).unwrap(), encoded);
        }
    }

    #[test]
    fn queries_are_decoded_into_pairs() {
        let decoded = decode_query("prefix=a+b%2B&acl&&x==y&=z&%2F=%2f").unwrap();
        let pairs: [(&[u8], &[u8]); 5] =
            [(b"prefix", b"a b+"), (b"acl", b""), (b"x", b"=y"), (b"", b"z"), (b"/", b"/")];
        assert_eq!(decoded.len(), pairs.len());
        for (decoded, pair) in decoded.iter().zip(pairs) {
            assert_eq!((&*decoded.0, &*decoded.1), pair);
        }
        assert_eq!(encode_component(b"a/b +"), "a%2Fb%20%2B");
    }

    #[test]
    fn what_is_canonical_is_what_decoding_and_encoding_give() {
        let pieces =
            ["a", "/", "+", "%2F", "%2f", "%41", "%20", " ", "~", "%7E", "*", "\u{e9}", "%C3%A9"];
        for first in pieces {
            for second in pieces {
                let text = format!("{first}b{second}");
                let path = encode_path(&decode_path(&text).unwrap());
                assert_eq!(canonical_path(&text).unwrap(), path, "{text}");
                let component = encode_component(&decode_component(&text).unwrap());
                assert_eq!(canonical_component(&text).unwrap(), component, "{text}");
            }
        }
        assert!(matches!(canonical_component("us-east-1%2Fs3"), Ok(Cow::Borrowed(_))));
    }

    #[test]
    fn broken_encodings_are_refused() {
        for wrong in ["%", "%2", "%zz", "a%%20", "%+1"] {
            assert_eq!(decode_path(wrong), Err(InvalidEncoding));
            assert!(decode_query(wrong).is_err());
            assert_eq!(canonical_path(wrong), Err(InvalidEncoding));
            assert_eq!(canonical_component(wrong), Err(InvalidEncoding));
        }
    }
}
