//! The string that is signed.

use std::borrow::Cow;

use endseal_crypto::sha256;
use http::HeaderMap;
use memchr::memchr2;

use super::hex::hex_digits;
use super::scope::Scope;
use super::timestamp::Basic;
use super::uri;

pub(super) const ALGORITHM: &str = "AWS4-HMAC-SHA256";

/// Parts of a request that a signature covers, but for path and query.
pub(super) struct Canonical<'a> {
    pub(super) method: &'a str,
    pub(super) headers: &'a HeaderMap,
    /// In lower case, in the order of the signature's list.
    pub(super) signed: &'a [&'a str],
    /// The value of `x-amz-content-sha256`, as it was sent.
    pub(super) payload: &'a str,
    pub(super) time: Basic,
    pub(super) scope: &'a Scope<'a>,
}

/// Path and query in one of the two forms that are signed.
#[derive(PartialEq)]
pub(super) struct Target<'a> {
    path: Cow<'a, str>,
    query: String,
}

impl<'a> Target<'a> {
    /// Decoded and encoded once, as S3 documents it. Without the pair named `without`.
    pub(super) fn normalized(
        path: &'a str,
        query: Option<&str>,
        without: Option<&str>,
    ) -> Result<Self, uri::InvalidEncoding> {
        let pairs = uri::pairs(query.unwrap_or_default()).map(|(name, value)| {
            Ok((uri::canonical_component(name)?, uri::canonical_component(value)?))
        });
        let mut pairs = pairs.collect::<Result<Vec<_>, _>>()?;
        // A name that is left out is one that encoding leaves as it is.
        pairs.retain(|(name, _)| without != Some(&**name));
        pairs.sort_unstable();
        let pairs = pairs.iter().map(|(name, value)| (&**name, &**value));
        // Escapes may make it longer.
        Ok(Self::new(uri::canonical_path(path)?, query.map_or(0, str::len), pairs))
    }

    /// Makes the canonical form of path and query as they were sent, without decoding them.
    pub(super) fn raw(path: &'a str, query: Option<&str>, without: Option<&str>) -> Self {
        let pairs = uri::pairs(query.unwrap_or_default());
        let mut pairs: Vec<_> = pairs.filter(|(name, _)| without != Some(*name)).collect();
        pairs.sort_unstable();
        Self::new(Cow::Borrowed(path), query.map_or(0, str::len), pairs.into_iter())
    }

    fn new<'p>(
        path: Cow<'a, str>,
        room: usize,
        pairs: impl Iterator<Item = (&'p str, &'p str)>,
    ) -> Self {
        let path = if path.is_empty() { Cow::Borrowed("/") } else { path };
        let mut query = String::with_capacity(room);
        for (name, value) in pairs {
            if !query.is_empty() {
                query.push('&');
            }
            query.push_str(name);
            query.push('=');
            query.push_str(value);
        }
        Self { path, query }
    }
}

impl Canonical<'_> {
    pub(super) fn string_to_sign(&self, target: &Target<'_>) -> Vec<u8> {
        let mut out = self.request(target);
        let digest = sha256::digest(&out);
        // In the same memory.
        out.clear();
        for part in [ALGORITHM, "\n", self.time.as_str(), "\n"] {
            out.extend_from_slice(part.as_bytes());
        }
        for part in self.scope.signed_parts() {
            out.extend_from_slice(part.as_bytes());
        }
        out.push(b'\n');
        out.extend_from_slice(&hex_digits(&digest));
        out
    }

    fn request(&self, target: &Target<'_>) -> Vec<u8> {
        let mut out = Vec::with_capacity(1_024);
        for line in [self.method, &target.path, &target.query] {
            out.extend_from_slice(line.as_bytes());
            out.push(b'\n');
        }
        // A few names are compared sooner than each is hashed.
        let fields: Vec<_> =
            self.headers.iter().map(|(name, value)| (name.as_str(), value)).collect();
        for signed in self.signed {
            out.extend_from_slice(signed.as_bytes());
            out.push(b':');
            let values = fields.iter().filter(|(name, _)| name == signed);
            for (i, (_, value)) in values.enumerate() {
                if i > 0 {
                    out.push(b',');
                }
                trim_into(value.as_bytes(), &mut out);
            }
            out.push(b'\n');
        }
        out.push(b'\n');
        for (i, signed) in self.signed.iter().enumerate() {
            if i > 0 {
                out.push(b';');
            }
            out.extend_from_slice(signed.as_bytes());
        }
        out.push(b'\n');
        out.extend_from_slice(self.payload.as_bytes());
        out
    }
}

/// Without blanks at the ends, and with one for each run of them within.
fn trim_into(value: &[u8], out: &mut Vec<u8>) {
    // Most have none, and can be long.
    if memchr2(b' ', b'\t', value).is_none() {
        out.extend_from_slice(value);
        return;
    }
    let words = value.split(|byte| matches!(byte, b' ' | b'\t')).filter(|word| !word.is_empty());
    for (i, word) in words.enumerate() {
        if i > 0 {
            out.push(b' ');
        }
        out.extend_from_slice(word);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_sorted_by_their_encoded_names() {
        let target = |query| Target::normalized("/", Some(query), None).unwrap().query;
        assert_eq!(target("b=2&a=1&a=0&acl"), "a=0&a=1&acl=&b=2");
        assert_eq!(target("a-=1&a=2&a%2F=3"), "a=2&a%2F=3&a-=1");
        assert_eq!(target("prefix=a+b&x=%7e%2a"), "prefix=a%20b&x=~%2A");
        assert_eq!(target(""), "");
        let without = Target::normalized("", Some("X-Amz-Signature=1&a"), Some("X-Amz-Signature"));
        assert!(without.unwrap() == Target { path: "/".into(), query: "a=".into() });
        let raw = Target::raw("/a+b", Some("b=+&a&X=1"), Some("X"));
        assert!(raw == Target { path: "/a+b".into(), query: "a=&b=+".into() });
    }

    #[test]
    fn blanks_are_folded() {
        let folded = |value: &[u8]| {
            let mut out = Vec::new();
            trim_into(value, &mut out);
            out
        };
        assert_eq!(folded(b"  a \t b  c "), b"a b c");
        assert_eq!(folded(b" \t"), b"");
        assert_eq!(folded(b"\xff\xa0x"), b"\xff\xa0x");
    }
}
