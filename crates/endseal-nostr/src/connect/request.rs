//! Requests of a client to a remote signer (NIP-46).

use core::fmt;

use super::{
    ConnectSecret, InvalidConnectSecret, MessageError, Metadata, Method, Permissions, text,
    unescape,
};
use crate::event::{ParseError, Template};
use crate::json::scan::Scanner;
use crate::json::write::Quoted;
use crate::json::{JsonError, write};
use crate::key::{self, KeyError, PublicKey};
use crate::output::{Output, OutputTooSmall, Sink as _};

/// Parameters that a method can have; further ones are ignored.
const MAX_PARAMS: usize = 4;

/// A request as it was sent: every one with an id can be answered.
#[derive(Clone, Copy)]
#[allow(missing_debug_implementations, reason = "it holds plaintexts and secrets")]
#[non_exhaustive]
pub struct Request<'a> {
    /// Id of any characters, to be repeated in the response.
    pub id: &'a str,
    /// Method that the client calls.
    pub method: Method<'a>,
    params: [&'a str; MAX_PARAMS],
    count: usize,
    /// True if a parameter has half a surrogate pair.
    has_halves: bool,
}

impl<'a> Request<'a> {
    /// Parses a JSON object with `id`, `method` and `params`, and removes the escapes of its
    /// strings where they lie. `params` may be absent, and `null` in it is the empty text: some
    /// clients write it for what they leave out. If it is no array of texts, or one of them has
    /// half a surrogate pair, the request has no parameters, and if `method` is no text, an empty
    /// method: with its id it can still be answered.
    ///
    /// # Errors
    /// [`MessageError`]; `json` may be changed.
    pub fn parse(json: &'a mut [u8]) -> Result<Self, MessageError> {
        let (mut id, mut method, mut is_response) = (None, None, false);
        let mut params = [const { 0..0 }; MAX_PARAMS];
        let (mut count, mut are_texts, mut has_halves) = (0, true, false);
        let mut scanner = Scanner::new(json)?;
        scanner.object(|scanner, name| {
            if name.is("id") {
                id = Some(scanner.string_located()?.1);
            } else if name.is("method") && scanner.peek() == Some(b'"') {
                method = Some(scanner.string_located()?.1);
            } else if name.is("params") && scanner.peek() == Some(b'[') {
                scanner.array(|scanner| {
                    let place = match scanner.peek() {
                        Some(b'"') => {
                            let (place, has_half) = scanner.string_with_halves()?;
                            has_halves |= has_half;
                            if has_half { 0..0 } else { place }
                        }
                        first => {
                            scanner.skip()?;
                            are_texts &= first == Some(b'n');
                            0..0
                        }
                    };
                    if let Some(param) = params.get_mut(count) {
                        *param = place;
                        count += 1;
                    }
                    Ok::<_, JsonError>(())
                })?;
            } else {
                is_response |= name.is("result") || name.is("error");
                scanner.skip()?;
            }
            Ok::<_, JsonError>(())
        })?;
        scanner.end()?;
        if !are_texts || has_halves {
            count = 0;
        }
        if method.is_none() && is_response {
            return Err(MessageError::Missing);
        }
        let (mut id, mut method) = (id.ok_or(MessageError::Missing)?, method.unwrap_or(0..0));
        for place in [&mut id, &mut method].into_iter().chain(&mut params) {
            unescape(json, place)?;
        }
        let json: &'a [u8] = json;
        let mut request = Self {
            id: text(json, id)?,
            method: Method::from_name(text(json, method)?),
            params: [""; MAX_PARAMS],
            count,
            has_halves,
        };
        for (param, place) in request.params.iter_mut().zip(params) {
            *param = text(json, place)?;
        }
        Ok(request)
    }

    /// Iterates over the parameters in their order.
    #[must_use]
    pub fn params(&self) -> &[&'a str] {
        &self.params[..self.count]
    }

    /// The method with its parameters.
    ///
    /// # Errors
    /// [`CallError`], to be answered by an error.
    pub fn call(&self) -> Result<Call<'a>, CallError> {
        Ok(match self.method {
            Method::Connect => Call::Connect(self.connect()?),
            Method::SignEvent => {
                let template = Template::parse(self.required(0)?.as_bytes());
                Call::SignEvent(template.map_err(CallError::Event)?)
            }
            Method::Ping => Call::Ping,
            Method::GetPublicKey => Call::GetPublicKey,
            Method::Nip04Encrypt => Call::Nip04Encrypt(self.message()?),
            Method::Nip04Decrypt => Call::Nip04Decrypt(self.message()?),
            Method::Nip44Encrypt => Call::Nip44Encrypt(self.message()?),
            Method::Nip44Decrypt => Call::Nip44Decrypt(self.message()?),
            Method::SwitchRelays => Call::SwitchRelays,
            Method::Logout => Call::Logout,
            Method::Other(_) => return Err(CallError::Method),
        })
    }

    fn required(&self, i: usize) -> Result<&'a str, CallError> {
        let absent = if self.has_halves { CallError::Surrogate } else { CallError::Params };
        self.params().get(i).copied().ok_or(absent)
    }

    /// A parameter that is not empty.
    fn optional(&self, i: usize) -> Option<&'a str> {
        self.params().get(i).copied().filter(|param| !param.is_empty())
    }

    fn connect(&self) -> Result<Connect<'a>, CallError> {
        // Wishes and claims decide nothing, so malformed ones prevent nothing.
        let metadata = self.optional(3).and_then(|json| Metadata::parse(json.as_bytes()).ok());
        Ok(Connect {
            signer: self.required(0)?,
            secret: self.optional(1).map(ConnectSecret::new).transpose()?,
            permissions: Permissions::new(self.optional(2).unwrap_or_default()),
            metadata: metadata.unwrap_or_default(),
        })
    }

    fn message(&self) -> Result<Message<'a>, CallError> {
        let (peer, text) = (self.required(0)?, self.required(1)?);
        Ok(Message { peer: key::public_from_hex(peer).map_err(CallError::Key)?, text })
    }
}

/// A request that is understood.
#[allow(missing_debug_implementations, reason = "it holds plaintexts and secrets")]
#[allow(clippy::large_enum_variant, reason = "a secret is held inline, as nothing is allocated")]
#[non_exhaustive]
pub enum Call<'a> {
    /// Asks for a connection.
    Connect(Connect<'a>),
    /// Signs an event with the user's key.
    SignEvent(Template<'a>),
    /// Tests that the signer answers.
    Ping,
    /// Asks for the user's public key.
    GetPublicKey,
    /// Encrypt a text by NIP-04.
    Nip04Encrypt(Message<'a>),
    /// Decrypt a payload of NIP-04.
    Nip04Decrypt(Message<'a>),
    /// Encrypt a text by NIP-44.
    Nip44Encrypt(Message<'a>),
    /// Decrypt a payload of NIP-44.
    Nip44Decrypt(Message<'a>),
    /// Ask for the signer's relays.
    SwitchRelays,
    /// Ends the session of the client.
    Logout,
}

/// Parameters of the method `connect`.
#[allow(missing_debug_implementations, reason = "it holds a secret")]
#[allow(clippy::exhaustive_structs, reason = "callers make them")]
pub struct Connect<'a> {
    /// Public key of the signer in hexadecimal digits. Clients send other keys too, or nothing: it
    /// proves nothing, as the request was encrypted to the signer.
    pub signer: &'a str,
    /// Secret of the URI by which the client was invited.
    pub secret: Option<ConnectSecret>,
    /// Permissions that the client wishes for.
    pub permissions: Permissions<'a>,
    /// Name, URL and image of the client, as it claims.
    pub metadata: Metadata<'a>,
}

/// Parameters of encryption and decryption.
#[derive(Clone, Copy)]
#[allow(missing_debug_implementations, reason = "it holds plaintexts")]
#[allow(clippy::exhaustive_structs, reason = "callers make them")]
pub struct Message<'a> {
    /// Key of the other side of the conversation.
    pub peer: PublicKey,
    /// The plaintext to encrypt, or the payload to decrypt.
    pub text: &'a str,
}

impl Call<'_> {
    /// The method that this call is for.
    #[must_use]
    pub const fn method(&self) -> Method<'static> {
        match self {
            Self::Connect(_) => Method::Connect,
            Self::SignEvent(_) => Method::SignEvent,
            Self::Ping => Method::Ping,
            Self::GetPublicKey => Method::GetPublicKey,
            Self::Nip04Encrypt(_) => Method::Nip04Encrypt,
            Self::Nip04Decrypt(_) => Method::Nip04Decrypt,
            Self::Nip44Encrypt(_) => Method::Nip44Encrypt,
            Self::Nip44Decrypt(_) => Method::Nip44Decrypt,
            Self::SwitchRelays => Method::SwitchRelays,
            Self::Logout => Method::Logout,
        }
    }

    /// Writes a request to the front of `out`, which is then to be encrypted.
    ///
    /// # Errors
    /// [`OutputTooSmall`]; `out` is wiped.
    pub fn write<'o>(&self, id: &str, out: &'o mut [u8]) -> Result<&'o mut [u8], OutputTooSmall> {
        let mut out = Output::new(out);
        out.put(b"{\"id\":");
        write::text(&mut out, id.into());
        out.put(b",\"method\":");
        write::text(&mut out, self.method().name().into());
        out.put(b",\"params\":[");
        match self {
            Self::Connect(connect) => connect.write_to(&mut out),
            Self::SignEvent(template) => {
                out.put(b"\"");
                template.write_to(&mut Quoted::new(&mut out));
                out.put(b"\"");
            }
            Self::Nip04Encrypt(message)
            | Self::Nip04Decrypt(message)
            | Self::Nip44Encrypt(message)
            | Self::Nip44Decrypt(message) => {
                write::hex(&mut out, &message.peer.to_bytes());
                out.put(b",");
                write::text(&mut out, message.text.into());
            }
            Self::Ping | Self::GetPublicKey | Self::SwitchRelays | Self::Logout => {}
        }
        out.put(b"]}");
        out.finish()
    }
}

impl Connect<'_> {
    fn write_to(&self, out: &mut Output<'_>) {
        write::text(out, self.signer.into());
        out.put(b",");
        write::text(out, self.secret.as_ref().map_or("", ConnectSecret::expose_secret).into());
        out.put(b",");
        write::text(out, self.permissions.as_str().into());
        if !self.metadata.is_empty() {
            out.put(b",\"");
            self.metadata.write_to(&mut Quoted::new(out));
            out.put(b"\"");
        }
    }
}

/// Cause why a request is not understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CallError {
    /// The method is not known.
    Method,
    /// A parameter that the method needs is absent.
    Params,
    /// A parameter has half a surrogate pair, which is no text.
    Surrogate,
    /// The event of the request is longer than [`MAX_EVENT`](super::MAX_EVENT).
    Length,
    /// A parameter is not a public key.
    Key(KeyError),
    /// The event to be signed is malformed.
    Event(ParseError),
    /// The secret is too long.
    Secret,
    /// The list of gift wraps is no JSON array, or longer than 100.
    Batch,
}

impl From<InvalidConnectSecret> for CallError {
    fn from(_: InvalidConnectSecret) -> Self {
        Self::Secret
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Method => f.write_str("the method is not supported"),
            Self::Params => f.write_str("a parameter is absent"),
            Self::Surrogate => f.write_str("a parameter has half a surrogate pair"),
            Self::Length => f.write_str("the request is longer than 512 KiB"),
            Self::Key(error) => error.fmt(f),
            Self::Event(error) => error.fmt(f),
            Self::Secret => InvalidConnectSecret.fmt(f),
            Self::Batch => f.write_str("the list of gift wraps is malformed or longer than 100"),
        }
    }
}

impl core::error::Error for CallError {}
