//! The string that is signed.

use endseal_crypto::sha256;
use http::HeaderMap;

use super::payload::hex;
use super::scope::Scope;
use super::{Timestamp, uri};

pub(super) const ALGORITHM: &str = "AWS4-HMAC-SHA256";

/// What a signature covers, but for path and query.
pub(super) struct Canonical<'a> {
    pub(super) method: &'a str,
    pub(super) headers: &'a HeaderMap,
    /// In lower case, in the order of the signature's list.
    pub(super) signed: &'a [&'a str],
    /// As it stands in `x-amz-content-sha256`.
    pub(super) payload: &'a str,
    pub(super) time: Timestamp,
    pub(super) scope: &'a Scope<'a>,
}

/// Path and query in one of the two forms that are signed.
#[derive(PartialEq)]
pub(super) struct Target {
    path: String,
    query: String,
}

impl Target {
    /// Decoded and encoded once, as S3 documents it. Without the pair named `without`.
    pub(super) fn normalized(
        path: &str,
        query: Option<&str>,
        without: Option<&str>,
    ) -> Result<Self, uri::InvalidEncoding> {
        let path = uri::encode_path(&uri::decode_path(path)?);
        let mut pairs: Vec<(String, String)> = uri::decode_query(query.unwrap_or_default())?
            .into_iter()
            .filter(|(name, _)| without.is_none_or(|without| without.as_bytes() != name))
            .map(|(name, value)| (uri::encode_component(&name), uri::encode_component(&value)))
            .collect();
        pairs.sort_unstable();
        Ok(Self::new(path, pairs.iter().map(|(name, value)| (name.as_str(), value.as_str()))))
    }

    /// As it was sent.
    pub(super) fn raw(path: &str, query: Option<&str>, without: Option<&str>) -> Self {
        let pairs = uri::pairs(query.unwrap_or_default());
        let mut pairs: Vec<_> = pairs.filter(|(name, _)| without != Some(*name)).collect();
        pairs.sort_unstable();
        Self::new(path.to_owned(), pairs.into_iter())
    }

    fn new<'p>(path: String, pairs: impl Iterator<Item = (&'p str, &'p str)>) -> Self {
        let path = if path.is_empty() { "/".to_owned() } else { path };
        let mut query = String::new();
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
    pub(super) fn string_to_sign(&self, target: &Target) -> String {
        let digest = sha256::digest(&self.request(target));
        let (time, scope) = (self.time.to_basic(), self.scope.signed());
        format!("{ALGORITHM}\n{time}\n{scope}\n{}", hex(&digest))
    }

    fn request(&self, target: &Target) -> Vec<u8> {
        let mut out = Vec::with_capacity(1_024);
        for line in [self.method, &target.path, &target.query] {
            out.extend_from_slice(line.as_bytes());
            out.push(b'\n');
        }
        for name in self.signed {
            out.extend_from_slice(name.as_bytes());
            out.push(b':');
            for (i, value) in self.headers.get_all(*name).iter().enumerate() {
                if i > 0 {
                    out.push(b',');
                }
                trim_into(value.as_bytes(), &mut out);
            }
            out.push(b'\n');
        }
        out.push(b'\n');
        out.extend_from_slice(self.signed.join(";").as_bytes());
        out.push(b'\n');
        out.extend_from_slice(self.payload.as_bytes());
        out
    }
}

/// Without blanks at the ends, and with one for each run of them within.
fn trim_into(value: &[u8], out: &mut Vec<u8>) {
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
