//! "Entity tags": translation between the backend's tags and the tags that clients see.
//!
//! The end of a tag tells the form of its object: a multipart object's tag ends with `-` and a
//! number from 1 to 10,000, and clients see it as it is. Any other tag gets `-0` appended. A tag
//! that clients never received names no object, on either side.

use base16ct::lower::{decode, encode_string};
use endseal_crypto::segment::SALT_LEN;

use crate::AuthenticationFailed;
use crate::size::MAX_PARTS;

const WHOLE: &str = "-0";

/// Returns the tag that clients see for the backend's `tag`, with or without quotes and `W/`, which
/// stay.
#[must_use]
pub fn to_client(tag: &str) -> String {
    let quoted = Quoted::new(tag);
    if is_multipart(quoted.opaque) { tag.to_owned() } else { quoted.with(quoted.opaque, WHOLE) }
}

/// Returns the backend's tag for the one that clients know as `tag`, with or without quotes and
/// `W/`, which stay.
///
/// A tag that [`to_client`] never makes becomes one that no object of a backend has: one that ends
/// in `-0`.
#[must_use]
pub fn to_backend(tag: &str) -> String {
    let quoted = Quoted::new(tag);
    if is_multipart(quoted.opaque) {
        return tag.to_owned();
    }
    match quoted.opaque.strip_suffix(WHOLE) {
        Some(opaque) if !is_multipart(opaque) => quoted.with(opaque, ""),
        Some(_) => tag.to_owned(),
        None => quoted.with(quoted.opaque, WHOLE),
    }
}

/// [`to_backend`] for a list of tags, as `If-Match` and `If-None-Match` carry it: tags between
/// commas, or `*`. That names every object, so tags beside it are dropped.
///
/// A comma within quotes is part of a tag (RFC 9110, 8.8.3).
#[must_use]
pub fn list_to_backend(list: &str) -> String {
    if split(list).any(|tag| tag == "*") {
        return "*".to_owned();
    }
    let mut out = String::with_capacity(list.len() + 2);
    for tag in split(list) {
        if !out.is_empty() {
            out.push_str(", ");
        }
        out.push_str(&to_backend(tag));
    }
    out
}

/// The tags of a list.
fn split(list: &str) -> impl Iterator<Item = &str> {
    let mut quoted = false;
    let tags = list.split(move |c| {
        quoted ^= c == '"';
        c == ',' && !quoted
    });
    tags.map(str::trim).filter(|tag| !tag.is_empty())
}

/// The entity tag of a part: the backend's, and which upload of the part it means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartTag {
    backend: String,
    salt: Option<[u8; SALT_LEN]>,
}

impl PartTag {
    /// From the backend's tag, with or without quotes, and the salt of the part; none as it stands
    /// in listings of parts, where the proxy does not know it.
    #[must_use]
    pub fn new(backend: &str, salt: Option<[u8; SALT_LEN]>) -> Self {
        Self { backend: Quoted::new(backend).opaque.to_owned(), salt }
    }

    /// Reads what a client sends, with or without quotes.
    ///
    /// # Errors
    /// [`AuthenticationFailed`] if it does not end in `-0` or in a salt: no client received such a
    /// tag.
    pub fn parse(tag: &str) -> Result<Self, AuthenticationFailed> {
        let quoted = Quoted::new(tag);
        let (backend, end) = quoted.opaque.rsplit_once('-').ok_or(AuthenticationFailed)?;
        let salt = if end == "0" { None } else { Some(salt(end).ok_or(AuthenticationFailed)?) };
        if quoted.weak || backend.is_empty() {
            return Err(AuthenticationFailed);
        }
        Ok(Self { backend: backend.to_owned(), salt })
    }

    /// Returns the tag for clients: `"<tag of the backend>-<salt in hexadecimal>"`, or `-0`, with
    /// quotes.
    #[must_use]
    pub fn encode(&self) -> String {
        let salt = self.salt.map_or_else(|| "0".to_owned(), |salt| encode_string(&salt));
        format!("\"{}-{salt}\"", self.backend)
    }

    /// The backend's tag, without quotes.
    #[must_use]
    pub fn backend(&self) -> &str {
        &self.backend
    }

    /// The salt that the client means, for the part's entry in the record.
    #[must_use]
    pub fn salt(&self) -> Option<[u8; SALT_LEN]> {
        self.salt
    }
}

/// 48 digits in lower case; zeros are no salt.
fn salt(text: &str) -> Option<[u8; SALT_LEN]> {
    let mut out = [0; SALT_LEN];
    let len = decode(text, &mut out).ok()?.len();
    (len == SALT_LEN && out != [0; SALT_LEN]).then_some(out)
}

/// Returns true if the tag ends as those of multipart objects do.
fn is_multipart(opaque: &str) -> bool {
    opaque.rsplit_once('-').is_some_and(|(_, number)| {
        let digits = number.bytes().all(|byte| byte.is_ascii_digit());
        let known = number.parse().is_ok_and(|number: u16| (1..=MAX_PARTS).contains(&number));
        digits && known && !number.starts_with('0')
    })
}

/// An entity tag without its quotes and its mark of weakness.
struct Quoted<'a> {
    weak: bool,
    quotes: bool,
    opaque: &'a str,
}

impl<'a> Quoted<'a> {
    fn new(tag: &'a str) -> Self {
        let strong = tag.strip_prefix("W/");
        let tag = strong.unwrap_or(tag);
        let inner = tag.strip_prefix('"').and_then(|tag| tag.strip_suffix('"'));
        Self { weak: strong.is_some(), quotes: inner.is_some(), opaque: inner.unwrap_or(tag) }
    }

    /// `opaque` and `end` in the place of the tag.
    fn with(&self, opaque: &str, end: &str) -> String {
        let weak = if self.weak { "W/" } else { "" };
        let quote = if self.quotes { "\"" } else { "" };
        [weak, quote, opaque, end, quote].concat()
    }
}

#[cfg(test)]
mod tests;
