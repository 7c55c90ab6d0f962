//! Percent-encoding (RFC 3986) as S3 reads and signs it.

use core::fmt;

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
pub fn decode_path(path: &str) -> Result<Vec<u8>, InvalidEncoding> {
    decode(path.as_bytes(), false)
}

/// A name and its value.
pub type Pair = (Vec<u8>, Vec<u8>);

/// Decodes a query into pairs of name and value, in their order. `+` is a space, a name without `=`
/// has the empty value, and empty pairs (`a&&b`) are passed over.
///
/// # Errors
/// [`InvalidEncoding`].
pub fn decode_query(query: &str) -> Result<Vec<Pair>, InvalidEncoding> {
    pairs(query)
        .map(|(name, value)| Ok((decode(name.as_bytes(), true)?, decode(value.as_bytes(), true)?)))
        .collect()
}

/// Encodes all but `A–Z a–z 0–9 - . _ ~`, and `/` only if `slash`.
pub fn encode_into(bytes: &[u8], slash: bool, out: &mut String) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    for &byte in bytes {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                out.push(char::from(byte));
            }
            b'/' if !slash => out.push('/'),
            _ => {
                out.push('%');
                out.push(char::from(DIGITS[usize::from(byte >> 4)]));
                out.push(char::from(DIGITS[usize::from(byte & 15)]));
            }
        }
    }
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

/// The pairs of a query as they were received.
pub(super) fn pairs(query: &str) -> impl Iterator<Item = (&str, &str)> {
    query
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
}

fn decode(text: &[u8], plus_is_space: bool) -> Result<Vec<u8>, InvalidEncoding> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.iter();
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
    Ok(out)
}

pub(super) fn digit(byte: u8) -> Option<u8> {
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
        }
    }

    #[test]
    fn queries_are_decoded_into_pairs() {
        let decoded = decode_query("prefix=a+b%2B&acl&&x==y&=z&%2F=%2f").unwrap();
        let pairs: [(&[u8], &[u8]); 5] =
            [(b"prefix", b"a b+"), (b"acl", b""), (b"x", b"=y"), (b"", b"z"), (b"/", b"/")];
        assert_eq!(decoded.len(), pairs.len());
        for (decoded, pair) in decoded.iter().zip(pairs) {
            assert_eq!((decoded.0.as_slice(), decoded.1.as_slice()), pair);
        }
        assert_eq!(encode_component(b"a/b +"), "a%2Fb%20%2B");
    }

    #[test]
    fn broken_encodings_are_refused() {
        for wrong in ["%", "%2", "%zz", "a%%20", "%+1"] {
            assert_eq!(decode_path(wrong), Err(InvalidEncoding));
            assert!(decode_query(wrong).is_err());
        }
    }
}
