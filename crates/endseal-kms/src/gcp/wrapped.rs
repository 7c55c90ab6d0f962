//! Wrapped keys: `gcp:v<version>:` and the service's ciphertext.

use crate::MAX_WRAPPED;

const PREFIX: &str = "gcp:v";
/// Most digits of a version.
const MAX_DIGITS: usize = 10;

/// Returns version and ciphertext of a wrapped key, or `None` if it has another form than
/// [`encode`] writes.
pub(super) fn parse(wrapped: &[u8]) -> Option<(&str, &[u8])> {
    let rest = wrapped.strip_prefix(PREFIX.as_bytes())?;
    let len = rest.iter().position(|byte| *byte == b':')?;
    let version = core::str::from_utf8(rest.get(..len)?).ok()?;
    let ciphertext = rest.get(len + 1..)?;
    let is_valid = is_version(version) && !ciphertext.is_empty() && wrapped.len() <= MAX_WRAPPED;
    if is_valid { Some((version, ciphertext)) } else { None }
}

/// Returns the wrapped key, or `None` if it would be longer than [`MAX_WRAPPED`], or a part of it
/// is not valid.
pub(super) fn encode(version: &str, ciphertext: &[u8]) -> Option<Vec<u8>> {
    let bytes = [PREFIX.as_bytes(), version.as_bytes(), b":", ciphertext].concat();
    if parse(&bytes) == Some((version, ciphertext)) { Some(bytes) } else { None }
}

/// Returns true for a decimal number above zero without leading zeros.
fn is_version(text: &str) -> bool {
    (1..=MAX_DIGITS).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_digit())
        && !text.starts_with('0')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_form_is_accepted() {
        assert_eq!(parse(b"gcp:v12:\0:x"), Some(("12", &b"\0:x"[..])));
        assert_eq!(encode("12", b"\0:x").unwrap(), b"gcp:v12:\0:x");
        for bad in [
            &b""[..],
            b"gcp:v",
            b"gcp:v1",
            b"gcp:v1:",
            b"gcp:v0:x",
            b"gcp:v01:x",
            b"gcp:v-1:x",
            b"gcp:v:x",
            b"gcp:v12345678901:x",
            b"gcp:v\xff:x",
            b"GCP:v1:x",
            &[b"gcp:v1:", &[0; MAX_WRAPPED][..]].concat(),
        ] {
            assert_eq!(parse(bad), None, "{bad:?}");
        }
        assert_eq!(encode("1", &[0; MAX_WRAPPED - 6]), None);
        assert_eq!(encode("1", &[0; MAX_WRAPPED - 7]).unwrap().len(), MAX_WRAPPED);
        assert_eq!(encode("1:", b"x"), None);
    }
}
