//! The text of an invitation to a hub (docs/spec/identity.md, "Invitation").

use alloc::string::{String, ToString as _};
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use endseal_crypto::peer_id::PeerId;
use endseal_crypto::secret::Zeroizing;
use endseal_crypto::{ed25519, hash, label};

use crate::bech32m::{self, Case, DecodeError};
use crate::name::Name;

const PREFIX: &str = "endsealjoin";
const VERSION: u8 = 1;
/// Number of bytes before the name of the inviter: version, peer id, token and its length.
const FIXED_LEN: usize = 1 + PeerId::LEN + 32 + 1;
/// Longest name of an inviter with the identity, in bytes.
const MAX_INVITER: usize = Name::MAX_LEN + ed25519::PublicKey::LEN;
/// Longest list of addresses in bytes.
pub(crate) const MAX_ADDRESSES: usize = 255;

endseal_crypto::secret_bytes! {
    /// Token of an invitation. A device that shows it to the hub may register.
    ///
    /// ```compile_fail,E0277
    /// println!("{:?}", endseal_keyring::JoinToken::from_bytes(&[7; 32]));
    /// ```
    pub struct JoinToken[32];
}

impl JoinToken {
    /// `BLAKE3-derive("endseal/delivery@v1 token", token)`, which the hub stores instead of the
    /// token.
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        hash::derive(label::DELIVERY_TOKEN, &[self.expose_secret()])
    }
}

/// Person who invites, as the joiner may add them to the contacts.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "the fields of the format")]
pub struct Inviter {
    /// Name that the inviter proposes.
    pub name: Name,
    /// Identity of the inviter.
    pub identity: ed25519::PublicKey,
}

/// An invitation: the hub's peer id, the token, perhaps the inviter, and the hub's addresses.
#[allow(missing_debug_implementations, reason = "it holds a secret")]
pub struct Invitation {
    hub: PeerId,
    token: JoinToken,
    inviter: Option<Inviter>,
    addresses: String,
}

impl Invitation {
    /// An invitation to a hub at `addresses`, each `host:port`. `None` if there is none, one is not
    /// printable ASCII without spaces, or they have more than 255 bytes with a space between two.
    #[must_use]
    pub fn new(hub: PeerId, token: JoinToken, addresses: &[&str]) -> Option<Self> {
        let joined = addresses.join(" ");
        let is_right = is_list(&joined) && joined.split(' ').count() == addresses.len();
        is_right.then_some(Self { hub, token, inviter: None, addresses: joined })
    }

    /// Adds the person who invites.
    #[must_use]
    pub fn by(self, inviter: Inviter) -> Self {
        Self { inviter: Some(inviter), ..self }
    }

    /// Parses the text of an invitation.
    ///
    /// # Errors
    /// [`ParseInvitationError`].
    pub fn parse(text: &str) -> Result<Self, ParseInvitationError> {
        let (prefix, data) = text.split_once('1').unwrap_or_default();
        if prefix != PREFIX {
            let is_upper_case = prefix.eq_ignore_ascii_case(PREFIX);
            return Err(match is_upper_case {
                true => ParseInvitationError::Character,
                false => ParseInvitationError::Prefix,
            });
        }
        let len = bech32m::payload_len(data.len()).ok_or(ParseInvitationError::Length)?;
        if !(FIXED_LEN + 3..=FIXED_LEN + MAX_INVITER + MAX_ADDRESSES).contains(&len) {
            return Err(ParseInvitationError::Length);
        }
        let mut payload = Zeroizing::new(vec![0; len]);
        bech32m::decode(PREFIX, data, Case::Lower, &mut payload).map_err(|error| match error {
            DecodeError::Checksum => ParseInvitationError::Checksum,
            DecodeError::Length => ParseInvitationError::Length,
            DecodeError::Padding => ParseInvitationError::Padding,
            DecodeError::Case | DecodeError::Character(_) => ParseInvitationError::Character,
        })?;
        let Some((fixed, rest)) = payload.split_first_chunk::<FIXED_LEN>() else {
            return Err(ParseInvitationError::Length);
        };
        let (version, keys, name_len) = (fixed[0], &fixed[1..FIXED_LEN - 1], fixed[FIXED_LEN - 1]);
        if version != VERSION {
            return Err(ParseInvitationError::Version);
        }
        let (inviter, addresses) = Inviter::read(usize::from(name_len), rest)?;
        if addresses.len() > MAX_ADDRESSES {
            return Err(ParseInvitationError::Length);
        }
        let addresses = str::from_utf8(addresses).map_err(|_| ParseInvitationError::Addresses)?;
        let ([hub, token], []) = keys.as_chunks::<32>() else {
            return Err(ParseInvitationError::Length);
        };
        if !is_list(addresses) {
            return Err(ParseInvitationError::Addresses);
        }
        Ok(Self {
            hub: PeerId::from_bytes(hub),
            token: JoinToken::from_bytes(token),
            inviter,
            addresses: addresses.to_string(),
        })
    }

    /// The text, which is a secret.
    #[must_use]
    pub fn to_text(&self) -> Zeroizing<String> {
        let len = FIXED_LEN + MAX_INVITER + MAX_ADDRESSES;
        let mut payload = Zeroizing::new(Vec::with_capacity(len));
        payload.push(VERSION);
        payload.extend_from_slice(self.hub.as_bytes());
        payload.extend_from_slice(self.token.expose_secret());
        match &self.inviter {
            Some(Inviter { name, identity }) => {
                // A name has at most MAX_NAME bytes.
                payload.push(u8::try_from(name.as_str().len()).unwrap_or_default());
                payload.extend_from_slice(name.as_str().as_bytes());
                payload.extend_from_slice(identity.as_bytes());
            }
            None => payload.push(0),
        }
        payload.extend_from_slice(self.addresses.as_bytes());
        Zeroizing::new(bech32m::encode(PREFIX, &payload, Case::Lower))
    }

    /// The peer id of the hub that issued the invitation.
    #[must_use]
    pub const fn hub(&self) -> PeerId {
        self.hub
    }

    /// The secret token by which the hub admits the holder of the invitation.
    #[must_use]
    pub const fn token(&self) -> &JoinToken {
        &self.token
    }

    /// The person who invites, if the invitation says so.
    #[must_use]
    pub const fn inviter(&self) -> Option<&Inviter> {
        self.inviter.as_ref()
    }

    /// The addresses of the hub, each `host:port`.
    pub fn addresses(&self) -> impl Iterator<Item = &str> {
        self.addresses.split(' ')
    }
}

impl Inviter {
    /// Reads name and identity from the bytes before the addresses, and returns what follows. A
    /// length of 0 is no inviter.
    fn read(len: usize, bytes: &[u8]) -> Result<(Option<Self>, &[u8]), ParseInvitationError> {
        if len == 0 {
            return Ok((None, bytes));
        }
        let name = bytes.split_at_checked(len);
        let (name, rest) = name.ok_or(ParseInvitationError::Length)?;
        let name = str::from_utf8(name).ok().and_then(|name| Name::new(name).ok());
        let name = name.ok_or(ParseInvitationError::Inviter)?;
        let (identity, rest) = rest.split_first_chunk().ok_or(ParseInvitationError::Length)?;
        let identity = ed25519::PublicKey::from_bytes(identity);
        let identity = identity.map_err(|_| ParseInvitationError::Inviter)?;
        Ok((Some(Self { name, identity }), rest))
    }
}

/// Returns true if a text has addresses, one space between two.
pub(crate) fn is_list(text: &str) -> bool {
    let is_address = |address: &str| {
        let port = address.rsplit_once(':').and_then(|(host, port)| {
            (!host.is_empty() && port.bytes().all(|it| it.is_ascii_digit())).then_some(port)
        });
        port.is_some_and(|port| port.parse::<u16>().is_ok_and(|port| port > 0))
            && address.bytes().all(|it| it.is_ascii_graphic())
    };
    text.len() <= MAX_ADDRESSES && text.split(' ').all(is_address)
}

/// Reason why a text is not an invitation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParseInvitationError {
    /// The text does not begin with `endsealjoin1`.
    Prefix,
    /// A character that the form does not have.
    Character,
    /// The text is cut or extended.
    Length,
    /// The checksum is wrong: a typing error.
    Checksum,
    /// Bits after the payload are set.
    Padding,
    /// Another version: the hub's program is newer.
    Version,
    /// The name or the identity of the inviter is not valid.
    Inviter,
    /// The addresses are no list of `host:port`.
    Addresses,
}

impl ParseInvitationError {
    /// A stable name of the class.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Prefix => "prefix",
            Self::Character => "character",
            Self::Length => "length",
            Self::Checksum => "checksum",
            Self::Padding => "padding",
            Self::Version => "version",
            Self::Inviter => "inviter",
            Self::Addresses => "addresses",
        }
    }
}

impl fmt::Display for ParseInvitationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Prefix => "an invitation begins with \"endsealjoin1\"",
            Self::Character => "the invitation has a character that does not belong into it",
            Self::Length => "the invitation is cut short or too long: copied in part?",
            Self::Checksum => "the invitation's checksum is wrong: a typing error?",
            Self::Padding => "the invitation's last character is not canonical",
            Self::Version => "the invitation is of another version of endseal",
            Self::Inviter => "the invitation has an invalid name or identity of its writer",
            Self::Addresses => "the invitation names no address of a hub",
        })
    }
}

impl core::error::Error for ParseInvitationError {}
