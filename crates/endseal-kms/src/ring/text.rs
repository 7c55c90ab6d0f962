//! The text of a ring.

use core::fmt::Write as _;

use base16ct::HexDisplay;
use base64ct::{Base64, Encoding as _};
use endseal_crypto::argon2id::InvalidKdfParams;
use endseal_crypto::key_wrap::WrappingKey;
use endseal_crypto::secret::{Zeroizing, constant_time_eq};
use endseal_crypto::{hash, label};

use super::{MAX_KEYS, MAX_TIME, Ring, RingKey};
use crate::KeyId;

pub(super) const MAGIC: &str = "endseal s3-key-ring";
pub(super) const FIRST: &str = "endseal s3-key-ring v1\n";
pub(super) const PROTECTION: &str = "protection ";
pub(super) const NONE: &str = "none";
const KEY: &str = "key ";
const CHECK_LEN: usize = 8;
/// Longest line of a key: its parts, four spaces and the line feed.
const MAX_LINE: usize = 3 + KeyId::MAX_LEN + 12 + 44 + 2 * CHECK_LEN + 5;

impl Ring {
    /// The file of this ring without protection. The caller MUST write it to a place that only its
    /// owner reads.
    #[must_use]
    pub fn to_open_text(&self) -> Zeroizing<String> {
        let head = format!("{FIRST}{PROTECTION}{NONE}\n");
        let mut text =
            Zeroizing::new(String::with_capacity(head.len() + self.keys.len() * MAX_LINE));
        text.push_str(&head);
        self.write_keys(&mut text);
        text
    }

    /// The `key` lines. Never reallocated, so that no copy stays behind.
    pub(super) fn key_lines(&self) -> Zeroizing<String> {
        let mut text = Zeroizing::new(String::with_capacity(self.keys.len() * MAX_LINE));
        self.write_keys(&mut text);
        text
    }

    fn write_keys(&self, text: &mut String) {
        for RingKey { id, created, key } in &self.keys {
            let mut buffer = Zeroizing::new([0; 44]);
            let encoded = Base64::encode(key.expose_secret(), &mut buffer[..]).unwrap_or_default();
            let check = check(key, *created, id);
            let check = HexDisplay(&check);
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{KEY}{id} {created} {encoded} {check:x}");
        }
    }
}

/// The `key` lines of a file, to its end.
pub(super) fn keys(mut lines: Lines<'_>) -> Result<Ring, ParseRingError> {
    let mut keys: Vec<RingKey> = Vec::new();
    while !lines.at_end() {
        let line = lines.field(KEY)?;
        let key = parse_key(line, lines.line)?;
        if keys.iter().any(|other| other.id == key.id) {
            return Err(ParseRingError::Duplicate { line: lines.line });
        }
        if keys.len() >= MAX_KEYS {
            return Err(ParseRingError::KeyCount);
        }
        keys.push(key);
    }
    if keys.is_empty() { Err(ParseRingError::KeyCount) } else { Ok(Ring { keys }) }
}

fn parse_key(text: &str, line: usize) -> Result<RingKey, ParseRingError> {
    let form = ParseRingError::Form { line };
    let mut parts = text.split(' ');
    let mut next = || parts.next().ok_or(form);
    let id = KeyId::new(next()?).map_err(|_| form)?;
    let created = decimal(next()?).filter(|time| *time <= MAX_TIME).ok_or(form)?;
    let encoded = next()?;
    let key = WrappingKey::try_init_with(|out| {
        let decoded = Base64::decode(encoded, &mut out[..]).map(<[u8]>::len);
        if decoded == Ok(WrappingKey::LEN) { Ok(()) } else { Err(()) }
    })
    .map_err(|()| form)?;
    let shown = from_hex(next()?).ok_or(form)?;
    if parts.next().is_some() {
        return Err(form);
    }
    if !constant_time_eq(&check(&key, created, &id), &shown) {
        return Err(ParseRingError::Check { line });
    }
    Ok(RingKey { id, created, key })
}

/// The first 8 bytes of `BLAKE3-derive(label, key || created || id)`.
fn check(key: &WrappingKey, created: u64, id: &KeyId) -> [u8; CHECK_LEN] {
    let mut out = [0; CHECK_LEN];
    let parts = [&key.expose_secret()[..], &created.to_be_bytes(), id.as_str().as_bytes()];
    hash::derive_into(label::S3_KEY_RING_CHECK, &parts, &mut out);
    out
}

/// Lines that end with one line feed each, of printable ASCII.
pub(super) struct Lines<'a> {
    text: &'a str,
    rest: &'a str,
    /// Number of the last line, from 1.
    pub(super) line: usize,
}

impl<'a> Lines<'a> {
    /// Checks the first line and all characters.
    pub(super) fn open(bytes: &'a [u8]) -> Result<Self, ParseRingError> {
        let first = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let version = first
            .strip_prefix(MAGIC.as_bytes())
            .and_then(|rest| rest.strip_prefix(b" v"))
            .filter(|version| is_decimal(version))
            .ok_or(ParseRingError::Form { line: 1 })?;
        if version != b"1" {
            return Err(ParseRingError::Version);
        }
        let mut lines = Self::inner(bytes)?;
        lines.next()?;
        Ok(lines)
    }

    /// Lines without a first one.
    pub(super) fn inner(bytes: &'a [u8]) -> Result<Self, ParseRingError> {
        let own = |byte: &u8| matches!(byte, b'\n' | b' '..=b'~');
        if let Some(at) = bytes.iter().position(|byte| !own(byte)) {
            let line = 1 + bytes[..at].iter().filter(|byte| **byte == b'\n').count();
            return Err(ParseRingError::Form { line });
        }
        let text = core::str::from_utf8(bytes).unwrap_or_default();
        Ok(Self { text, rest: text, line: 0 })
    }

    pub(super) fn field(&mut self, name: &str) -> Result<&'a str, ParseRingError> {
        let line = self.next()?;
        line.strip_prefix(name).ok_or(self.form())
    }

    fn next(&mut self) -> Result<&'a str, ParseRingError> {
        self.line += 1;
        let (line, rest) = self.rest.split_once('\n').ok_or(self.form())?;
        self.rest = rest;
        Ok(line)
    }

    pub(super) fn at_end(&self) -> bool {
        self.rest.is_empty()
    }

    /// Returns the text that was read so far.
    pub(super) fn before(&self) -> &'a str {
        &self.text[..self.text.len() - self.rest.len()]
    }

    pub(super) fn form(&self) -> ParseRingError {
        ParseRingError::Form { line: self.line }
    }
}

/// A decimal number without sign and leading zeros.
pub(super) fn decimal(text: &str) -> Option<u64> {
    if is_decimal(text.as_bytes()) { text.parse().ok() } else { None }
}

/// Returns true for a decimal number of any length, without sign and leading zeros.
fn is_decimal(text: &[u8]) -> bool {
    match text {
        [b'0'] => true,
        [b'1'..=b'9', rest @ ..] => rest.iter().all(u8::is_ascii_digit),
        _ => false,
    }
}

/// Lower-case hexadecimal of a check.
fn from_hex(text: &str) -> Option<[u8; CHECK_LEN]> {
    let mut check = [0; CHECK_LEN];
    let len = base16ct::lower::decode(text, &mut check).ok()?.len();
    (len == CHECK_LEN).then_some(check)
}

/// Reason why bytes are not a key ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseRingError {
    /// The checksum of a key is wrong: the key was damaged.
    #[error("line {line}: the key was damaged")]
    Check {
        /// Number of the line, from 1; in a sealed ring that of the key.
        line: usize,
    },
    /// Two keys have the same id.
    #[error("line {line}: the second key of one id")]
    Duplicate {
        /// Number of the line of the second.
        line: usize,
    },
    /// The file is damaged, cut, extended, or no key ring at all.
    #[error("line {line}: not a key ring")]
    Form {
        /// Number of the line, from 1.
        line: usize,
    },
    /// The work that the file asks for is out of bounds. None was done.
    #[error("the key ring asks for {0}")]
    Kdf(InvalidKdfParams),
    /// No key, or more than [`MAX_KEYS`].
    #[error("a key ring has 1 to {MAX_KEYS} keys")]
    KeyCount,
    /// The file is longer than [`MAX_LEN`](super::MAX_LEN) bytes.
    #[error("too long for a key ring")]
    TooLong,
    /// Written by a newer version.
    #[error("the key ring has an unknown version")]
    Version,
}
