//! URIs that begin a connection: `bunker://` of a signer, `nostrconnect://` of a client.

use core::fmt;

use endseal_crypto::secret::Zeroize as _;

use super::{ConnectSecret, Metadata, Permissions};
use crate::json::{Piece, Text};
use crate::key::{self, KeyError, PublicKey};
use crate::output::{Output, OutputTooSmall, Sink};
use crate::relays::{RELAY, Relays, is_relay};

/// Most bytes of a URI. A QR code holds 2,953.
pub const MAX_URI: usize = 4_096;

const BUNKER: &str = "bunker://";
const NOSTR_CONNECT: &str = "nostrconnect://";

/// A URI of either kind.
#[allow(missing_debug_implementations, reason = "it holds a secret")]
#[allow(clippy::exhaustive_enums, reason = "NIP-46 has these")]
pub enum ConnectUri<'a> {
    /// A signer's URI (`bunker://`), which invites clients.
    Bunker(Bunker<'a>),
    /// A client's URI (`nostrconnect://`), which invites a signer.
    NostrConnect(NostrConnect<'a>),
}

/// A signer's URI, `bunker://…`.
#[allow(missing_debug_implementations, reason = "it holds a secret")]
#[allow(clippy::exhaustive_structs, reason = "callers make them")]
pub struct Bunker<'a> {
    /// Public key of the signer.
    pub signer: PublicKey,
    /// Relays where it listens: at least one, each `ws://` or `wss://` and 255 bytes at most. A
    /// writer does not check them.
    pub relays: Relays<'a>,
    /// Number of relays that were no WebSocket URLs. A writer ignores it.
    pub ignored_relays: usize,
    /// Secret, valid for one connection.
    pub secret: Option<ConnectSecret>,
}

/// A client's URI, `nostrconnect://…`.
#[allow(missing_debug_implementations, reason = "it holds a secret")]
#[allow(clippy::exhaustive_structs, reason = "callers make them")]
pub struct NostrConnect<'a> {
    /// Public key of the client.
    pub client: PublicKey,
    /// Relays where it listens: at least one, each `ws://` or `wss://` and 255 bytes at most. A
    /// writer does not check them.
    pub relays: Relays<'a>,
    /// Number of relays that were no WebSocket URLs. A writer ignores it.
    pub ignored_relays: usize,
    /// Secret, which the signer returns.
    pub secret: ConnectSecret,
    /// Permissions that the client wishes for.
    pub permissions: Permissions<'a>,
    /// Name, URL and image of the client, as it claims.
    pub metadata: Metadata<'a>,
}

impl<'a> ConnectUri<'a> {
    /// Parses a URI, whose text the caller MUST wipe if it has a secret. `buffer` takes the decoded
    /// texts and MUST be as long as the URI.
    ///
    /// People copy URIs, and clients write them in several ways, so it is lenient where nothing
    /// depends on it: the scheme may be in upper case, the key an `npub`, a fragment and relays
    /// that are no WebSocket URLs are passed over, and permissions and metadata that cannot be
    /// decoded are as absent. Parameters of other names are ignored.
    ///
    /// # Errors
    /// [`UriError`].
    pub fn parse(uri: &str, buffer: &'a mut [u8]) -> Result<Self, UriError> {
        if uri.len() > MAX_URI {
            return Err(UriError::Length);
        }
        if buffer.len() < uri.len() {
            return Err(UriError::Output(OutputTooSmall { needed: uri.len() }));
        }
        if let Some(rest) = without_scheme(uri, BUNKER) {
            let (signer, query) = split(rest)?;
            let mut query = Query { query, free: buffer };
            let (relays, ignored_relays) = query.relays()?;
            let secret = query.secret()?;
            return Ok(Self::Bunker(Bunker { signer, relays, ignored_relays, secret }));
        }
        let rest = without_scheme(uri, NOSTR_CONNECT).ok_or(UriError::Scheme)?;
        let (client, query) = split(rest)?;
        let mut query = Query { query, free: buffer };
        let (relays, ignored_relays) = query.relays()?;
        let secret = query.secret()?.ok_or(UriError::NoSecret)?;
        let permissions = Permissions::new(query.value("perms").unwrap_or_default());
        let mut metadata = Metadata::default();
        for (name, field) in metadata.fields_mut() {
            *field = query.value(name).filter(|value| !value.is_empty()).map(Text::Plain);
        }
        let uri = NostrConnect { client, relays, ignored_relays, secret, permissions, metadata };
        Ok(Self::NostrConnect(uri))
    }
}

impl Bunker<'_> {
    /// Writes the URI to the front of `out`, which the caller MUST wipe if it has a secret.
    ///
    /// # Errors
    /// [`OutputTooSmall`]; `out` is wiped.
    pub fn write<'o>(&self, out: &'o mut [u8]) -> Result<&'o str, OutputTooSmall> {
        let mut writer = Writer::new(BUNKER, &self.signer, out);
        writer.relays(self.relays);
        if let Some(secret) = &self.secret {
            writer.parameter("secret", secret.expose_secret().into());
        }
        writer.out.finish_text()
    }
}

impl NostrConnect<'_> {
    /// Writes the URI to the front of `out`, which the caller MUST wipe.
    ///
    /// # Errors
    /// [`OutputTooSmall`]; `out` is wiped.
    pub fn write<'o>(&self, out: &'o mut [u8]) -> Result<&'o str, OutputTooSmall> {
        let mut writer = Writer::new(NOSTR_CONNECT, &self.client, out);
        writer.relays(self.relays);
        writer.parameter("secret", self.secret.expose_secret().into());
        if !self.permissions.as_str().is_empty() {
            writer.parameter("perms", self.permissions.as_str().into());
        }
        for (name, field) in self.metadata.fields() {
            if let Some(field) = field {
                writer.parameter(name, field);
            }
        }
        writer.out.finish_text()
    }
}

/// Part of a URI behind its scheme, which is compared without regard to case (RFC 3986, 3.1).
fn without_scheme<'u>(uri: &'u str, scheme: &str) -> Option<&'u str> {
    let (head, rest) = uri.split_at_checked(scheme.len())?;
    head.eq_ignore_ascii_case(scheme).then_some(rest)
}

/// Key and query behind the scheme.
fn split(rest: &str) -> Result<(PublicKey, &str), UriError> {
    if rest.chars().any(char::is_control) {
        return Err(UriError::Character);
    }
    let rest = rest.split_once('#').map_or(rest, |(before, _)| before);
    let (key, query) = rest.split_once('?').unwrap_or((rest, ""));
    let key = key.strip_suffix('/').unwrap_or(key);
    let found = match key::public_from_npub(key) {
        Ok(key) => Ok(key),
        Err(_) => key::public_from_hex(key),
    };
    Ok((found.map_err(UriError::Key)?, query))
}

/// Values of a parameter as they are written.
fn raw<'u>(query: &'u str, name: &str) -> impl Iterator<Item = &'u str> {
    let pairs = query.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    pairs.filter(move |(other, _)| *other == name).map(|(_, value)| value)
}

/// The parameters of a URI, and the free part of the buffer for their decoded values.
struct Query<'u, 'a> {
    query: &'u str,
    free: &'a mut [u8],
}

impl<'u, 'a> Query<'u, 'a> {
    /// Takes the first bytes of the free space.
    fn take(&mut self, len: usize) -> &'a [u8] {
        let (taken, free) = core::mem::take(&mut self.free).split_at_mut(len);
        self.free = free;
        taken
    }

    /// First value of a parameter; none if it cannot be decoded.
    fn value(&mut self, name: &str) -> Option<&'a str> {
        let len = decode(raw(self.query, name).next()?, self.free).ok()?;
        str::from_utf8(self.take(len)).ok()
    }

    fn secret(&mut self) -> Result<Option<ConnectSecret>, UriError> {
        let mut values = raw(self.query, "secret");
        let first = values.next();
        if values.next().is_some() {
            return Err(UriError::Duplicate);
        }
        let Some(raw) = first.filter(|raw| !raw.is_empty()) else { return Ok(None) };
        let secret = decode(raw, self.free).and_then(|len| {
            let text = str::from_utf8(&self.free[..len]).map_err(|_| UriError::Encoding)?;
            ConnectSecret::new(text).map_err(|_| UriError::Secret)
        });
        self.free[..raw.len()].zeroize();
        secret.map(Some)
    }

    /// Relays as records, which are shorter than the parameters, and the number of those that are
    /// no WebSocket URLs.
    fn relays(&mut self) -> Result<(Relays<'a>, usize), UriError> {
        let (mut end, mut ignored) = (0, 0);
        for raw in raw(self.query, "relay") {
            let (header, value) = self.free[end..].split_at_mut(2);
            let relay = decode(raw, value).ok().filter(|len| is_websocket(&value[..*len]));
            let Some(len) = relay.and_then(|len| u8::try_from(len).ok()) else {
                ignored += 1;
                continue;
            };
            header.copy_from_slice(&[RELAY, len]);
            end += 2 + usize::from(len);
        }
        match (end, ignored) {
            (0, 0) => Err(UriError::NoRelay),
            (0, _) => Err(UriError::Relay),
            _ => Ok((Relays::from_records(self.take(end)), ignored)),
        }
    }
}

fn is_websocket(relay: &[u8]) -> bool {
    let host = relay.strip_prefix(b"wss://").or_else(|| relay.strip_prefix(b"ws://"));
    host.is_some_and(is_relay)
}

/// Decodes `%xx` and `+` (a space) to the front of `out`, which is as long as `raw` at least.
fn decode(raw: &str, out: &mut [u8]) -> Result<usize, UriError> {
    let mut bytes = raw.bytes();
    let mut len = 0;
    while let Some(byte) = bytes.next() {
        out[len] = match byte {
            b'+' => b' ',
            b'%' => {
                let mut digit = || char::from(bytes.next()?).to_digit(16)?.try_into().ok();
                let (high, low): (Option<u8>, Option<u8>) = (digit(), digit());
                high.zip(low).map(|(high, low)| high << 4 | low).ok_or(UriError::Encoding)?
            }
            other => other,
        };
        len += 1;
    }
    Ok(len)
}

/// Writes a URI piece by piece, with the separators of its query.
struct Writer<'o> {
    out: Output<'o>,
    separator: &'static [u8],
}

impl<'o> Writer<'o> {
    fn new(scheme: &str, key: &PublicKey, out: &'o mut [u8]) -> Self {
        let mut out = Output::new(out);
        out.put(scheme.as_bytes());
        out.put(&key::public_to_hex(key));
        Self { out, separator: b"?" }
    }

    fn relays(&mut self, relays: Relays<'_>) {
        for relay in relays.iter() {
            self.parameter("relay", relay.into());
        }
    }

    fn parameter(&mut self, name: &str, value: Text<'_>) {
        self.out.put(self.separator);
        self.separator = b"&";
        self.out.put(name.as_bytes());
        self.out.put(b"=");
        for piece in value.pieces() {
            match piece {
                Piece::Run(run) => encode(run, &mut self.out),
                Piece::Char(single) => encode(single.encode_utf8(&mut [0; 4]), &mut self.out),
            }
        }
    }
}

/// Writes all but letters, digits, `-`, `.` and `_` as `%XX`: other readers accept little else.
fn encode(text: &str, out: &mut Output<'_>) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_') {
            out.put(&[byte]);
        } else {
            let digit = |nibble: u8| DIGITS[usize::from(nibble)];
            out.put(&[b'%', digit(byte >> 4), digit(byte & 15)]);
        }
    }
}

/// Cause why a text is no URI of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UriError {
    /// The URI has more than [`MAX_URI`] bytes.
    Length,
    /// The URI begins neither with `bunker://` nor with `nostrconnect://`.
    Scheme,
    /// The URI has a control character.
    Character,
    /// A public key does not follow the scheme.
    Key(KeyError),
    /// The secret is not percent-encoded UTF-8.
    Encoding,
    /// No relay is `ws://` or `wss://` with visible ASCII, up to 255 bytes.
    Relay,
    /// The secret is longer than 256 bytes.
    Secret,
    /// There are two secrets.
    Duplicate,
    /// There is no relay.
    NoRelay,
    /// A client's URI has no secret.
    NoSecret,
    /// The buffer is too small.
    Output(OutputTooSmall),
}

impl fmt::Display for UriError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Length => "the URI is longer than 4,096 bytes",
            Self::Scheme => "the URI is neither bunker:// nor nostrconnect://",
            Self::Character => "the URI has a control character",
            Self::Key(_) => "no public key (64 hexadecimal digits, or npub) follows the scheme",
            Self::Encoding => "the secret of the URI is not percent-encoded UTF-8",
            Self::Relay => "no relay of the URI is a WebSocket URL (wss://…)",
            Self::Secret => "the secret of the URI is longer than 256 bytes",
            Self::Duplicate => "the URI has two secrets",
            Self::NoRelay => "the URI has no relay",
            Self::NoSecret => "the URI has no secret",
            Self::Output(error) => return error.fmt(f),
        })
    }
}

impl core::error::Error for UriError {}
