//! Actions of requests, as rules see them.

use super::rule::{SENSITIVE_KINDS, Subject};
use crate::connect::{Call, Message, Scope, ScopeError};

/// Effect that a request would have, if it were executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Action {
    /// Sign an event of a kind.
    Sign {
        /// Kind of the event to be signed.
        kind: u16,
        /// SHA-256 of the scope; of kinds 22242 and 27235 it is always there.
        scope: Option<[u8; 32]>,
        /// SHA-256 of the site; of kind 27235 with a URL of HTTP.
        site: Option<[u8; 32]>,
    },
    /// Encrypt to a peer by NIP-04.
    Nip04Encrypt {
        /// Public key of the peer.
        peer: [u8; 32],
    },
    /// Decrypt a payload from a peer by NIP-04.
    Nip04Decrypt {
        /// Public key of the peer.
        peer: [u8; 32],
    },
    /// Encrypt to a peer by NIP-44.
    Nip44Encrypt {
        /// Public key of the peer.
        peer: [u8; 32],
    },
    /// Decrypt a payload from a peer by NIP-44.
    Nip44Decrypt {
        /// Public key of the peer.
        peer: [u8; 32],
    },
    /// Release a rumor out of a gift wrap.
    Unwrap {
        /// Kind of the rumor to be released.
        kind: u16,
    },
}

impl Action {
    /// The action of a call; nothing for a method that needs no rule.
    ///
    /// # Errors
    /// [`ScopeError`] for a template of kind 22242 or 27235 whose scope is not clear. It MUST be
    /// answered as a request that is malformed.
    pub fn of(call: &Call<'_>) -> Result<Option<Self>, ScopeError> {
        let peer = |message: &Message<'_>| message.peer.to_bytes();
        Ok(Some(match call {
            Call::SignEvent(template) => {
                let scope = Scope::of(template)?;
                Self::Sign {
                    kind: template.kind,
                    scope: scope.map(|scope| scope.digest()),
                    site: scope.and_then(|scope| scope.site_digest()),
                }
            }
            Call::Nip04Encrypt(message) => Self::Nip04Encrypt { peer: peer(message) },
            Call::Nip04Decrypt(message) => Self::Nip04Decrypt { peer: peer(message) },
            Call::Nip44Encrypt(message) => Self::Nip44Encrypt { peer: peer(message) },
            Call::Nip44Decrypt(message) => Self::Nip44Decrypt { peer: peer(message) },
            Call::Connect(_)
            | Call::Ping
            | Call::GetPublicKey
            | Call::SwitchRelays
            | Call::Logout => return Ok(None),
        }))
    }

    /// Subject of the rules that can match.
    #[must_use]
    pub const fn subject(&self) -> Subject {
        match self {
            Self::Sign { .. } => Subject::Sign,
            Self::Nip04Encrypt { .. } => Subject::Nip04Encrypt,
            Self::Nip04Decrypt { .. } => Subject::Nip04Decrypt,
            Self::Nip44Encrypt { .. } => Subject::Nip44Encrypt,
            Self::Nip44Decrypt { .. } => Subject::Nip44Decrypt,
            Self::Unwrap { .. } => Subject::Unwrap,
        }
    }

    /// Kind, if the subject has kinds.
    #[must_use]
    pub const fn kind(&self) -> Option<u16> {
        match self {
            Self::Sign { kind, .. } | Self::Unwrap { kind } => Some(*kind),
            _ => None,
        }
    }

    /// Peer, if the subject has peers.
    #[must_use]
    pub const fn peer(&self) -> Option<&[u8; 32]> {
        match self {
            Self::Nip04Encrypt { peer }
            | Self::Nip04Decrypt { peer }
            | Self::Nip44Encrypt { peer }
            | Self::Nip44Decrypt { peer } => Some(peer),
            Self::Sign { .. } | Self::Unwrap { .. } => None,
        }
    }

    /// SHA-256 of the scope, if there is one.
    #[must_use]
    pub const fn scope(&self) -> Option<&[u8; 32]> {
        match self {
            Self::Sign { scope, .. } => scope.as_ref(),
            _ => None,
        }
    }

    /// SHA-256 of the site, if there is one.
    #[must_use]
    pub const fn site(&self) -> Option<&[u8; 32]> {
        match self {
            Self::Sign { site, .. } => site.as_ref(),
            _ => None,
        }
    }

    /// Returns true if the signed event would act elsewhere for the user.
    pub(super) fn is_sensitive(&self) -> bool {
        matches!(self, Self::Sign { kind, .. } if SENSITIVE_KINDS.contains(kind))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Tags, Template};
    use crate::key::SecretKey;

    fn sign<'a>(kind: u16, tags: &'a [&'a [&'a str]]) -> Call<'a> {
        let (created_at, content) = (1, "".into());
        let tags = Tags::List(tags);
        Call::SignEvent(Template { pubkey: None, created_at, kind, tags, content })
    }

    #[test]
    fn each_method_has_its_action() {
        let peer = SecretKey::from_bytes(&[3; 32]).unwrap().public_key();
        let message = Message { peer, text: "" };
        let peer = peer.to_bytes();
        for (call, action) in [
            (sign(1, &[]), Some(Action::Sign { kind: 1, scope: None, site: None })),
            (Call::Nip04Encrypt(message), Some(Action::Nip04Encrypt { peer })),
            (Call::Nip04Decrypt(message), Some(Action::Nip04Decrypt { peer })),
            (Call::Nip44Encrypt(message), Some(Action::Nip44Encrypt { peer })),
            (Call::Nip44Decrypt(message), Some(Action::Nip44Decrypt { peer })),
            (Call::Ping, None),
            (Call::GetPublicKey, None),
            (Call::SwitchRelays, None),
            (Call::Logout, None),
        ] {
            assert_eq!(Action::of(&call), Ok(action));
            let Some(action) = action else { continue };
            assert_eq!(action.peer().is_some(), action.kind().is_none());
            assert_eq!(action.subject().has_kinds(), action.kind().is_some());
        }
    }

    #[test]
    fn a_credential_has_its_scope_or_is_refused() {
        let tags: &[&[&str]] = &[&["relay", "wss://r.x"], &["challenge", "c"]];
        let action = Action::of(&sign(22_242, tags)).unwrap().unwrap();
        assert_eq!(action.scope(), Some(&endseal_crypto::sha256::digest(b"wss://r.x")));
        assert!(action.is_sensitive());
        assert_eq!(Action::of(&sign(22_242, &tags[..1])), Err(ScopeError::Tags));
        assert_eq!(Action::of(&sign(27_235, tags)), Err(ScopeError::Tags));
        assert_eq!(
            Action::of(&sign(1, tags)),
            Ok(Some(Action::Sign { kind: 1, scope: None, site: None }))
        );
    }
}
