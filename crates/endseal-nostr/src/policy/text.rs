//! The text of a rule: `subject` or `subject:parameter`.

use core::fmt;

use base16ct::HexDisplay;

use super::rule::{Bound, Kinds, Subject};
use super::{Effect, Rule};
use crate::connect::{HTTP_AUTH, RELAY_AUTH, Scope, ScopeError};
use crate::hex;
use crate::key::{self, BECH32_LEN, KeyError, NPUB};

/// Before the SHA-256 of a scope, where its text could be.
const DIGEST_MARK: char = '#';
/// Name of the method, which is accepted as another name of [`Subject::Sign`].
const SIGN_EVENT: &str = "sign_event";

/// Requests that a rule matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "callers make them")]
pub struct Pattern {
    /// Method, or group of methods, that the rule matches.
    pub subject: Subject,
    /// Range of kinds that the rule matches.
    pub kinds: Kinds,
    /// Peer or scope that the rule matches, if it is limited to one.
    pub bound: Bound,
}

impl Pattern {
    /// Parses the text of one rule. A scope reaches to its end, commas in it too.
    ///
    /// # Errors
    /// [`PatternError`].
    pub fn parse(text: &str) -> Result<Self, PatternError> {
        let (name, parameter) = match text.split_once(':') {
            Some((name, parameter)) => (name, Some(parameter)),
            None => (text, None),
        };
        let name = if name == SIGN_EVENT { Subject::Sign.name() } else { name };
        let found = Subject::ALL.into_iter().find(|subject| subject.name() == name);
        let subject = found.ok_or(PatternError::Subject)?;
        let mut pattern = Self {
            subject,
            kinds: if subject.has_kinds() { Kinds::ALL } else { Kinds::NONE },
            bound: Bound::None,
        };
        match parameter {
            None => {}
            Some(parameter) if !subject.has_kinds() => {
                let peer = key::public_from_hex(parameter)
                    .or_else(|_| key::public_from_npub(parameter))
                    .map_err(PatternError::Key)?;
                pattern.bound = Bound::Peer(peer.to_bytes());
            }
            Some(parameter) => {
                let (kinds, scope) = match parameter.split_once(':') {
                    Some((kinds, scope)) => (kinds, Some(scope)),
                    None => (parameter, None),
                };
                pattern.kinds = kinds_of(kinds).ok_or(PatternError::Kind)?;
                if let Some(scope) = scope {
                    pattern.bound = Bound::Scope(pattern.scope(scope)?);
                }
            }
        }
        Ok(pattern)
    }

    /// Digest of the text of a scope, or the one that is written there.
    fn scope(&self, text: &str) -> Result<[u8; 32], PatternError> {
        let kind = self.kinds.credential().filter(|_| self.subject == Subject::Sign);
        let kind = kind.ok_or(PatternError::Scope)?;
        if let Some(digits) = text.strip_prefix(DIGEST_MARK) {
            return hex::array(digits).ok_or(PatternError::Scope);
        }
        let scope = Scope::parse(kind, text).map_err(|_: ScopeError| PatternError::Scope)?;
        Ok(scope.digest())
    }

    /// A rule of this pattern without limits, made at `made`.
    #[must_use]
    pub fn rule(&self, effect: Effect, number: u32, made: u64) -> Rule {
        Rule {
            effect,
            subject: self.subject,
            kinds: self.kinds,
            bound: self.bound,
            number,
            made,
            expires: None,
            uses: None,
            rate: None,
            usage: super::Usage::default(),
        }
    }
}

impl Rule {
    /// Requests that the rule matches.
    #[must_use]
    pub const fn pattern(&self) -> Pattern {
        Pattern { subject: self.subject, kinds: self.kinds, bound: self.bound }
    }
}

/// Parses a list of rules, separated by commas. Empty ones are passed over. A scope in it has no
/// comma: it is written as its digest, or alone for [`Pattern::parse`].
pub fn parse_list(text: &str) -> impl Iterator<Item = Result<Pattern, PatternError>> {
    text.split(',').filter(|item| !item.is_empty()).map(Pattern::parse)
}

/// One kind, or two that are joined by `-`.
fn kinds_of(text: &str) -> Option<Kinds> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let kinds = Kinds { first: kind(first)?, last: kind(last)? };
    (kinds.first <= kinds.last).then_some(kinds)
}

/// A kind in its shortest decimal form.
fn kind(digits: &str) -> Option<u16> {
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
    let is_shortest = digits == "0" || !digits.starts_with('0');
    digits.parse().ok().filter(|_| is_number && is_shortest)
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.subject.name())?;
        let Kinds { first, last } = self.kinds;
        if self.subject.has_kinds() && self.kinds != Kinds::ALL {
            write!(f, ":{first}")?;
            if first != last {
                write!(f, "-{last}")?;
            }
        }
        match &self.bound {
            Bound::None => Ok(()),
            Bound::Peer(peer) => {
                let mut buffer = [0; BECH32_LEN];
                let text = key::to_bech32(NPUB, peer, &mut buffer).map_err(|_| fmt::Error)?;
                write!(f, ":{text}")
            }
            Bound::Scope(scope) => write!(f, ":{DIGEST_MARK}{:x}", HexDisplay(scope)),
        }
    }
}

/// Cause why a text is no rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PatternError {
    /// The text does not begin with the name of a subject.
    Subject,
    /// A kind is not a number from 0 to 65,535 in its shortest form, or the first one is above the
    /// last one.
    Kind,
    /// A peer is neither `npub` nor the hexadecimal digits of a public key.
    Key(KeyError),
    /// A scope belongs to another kind than 22242 and 27235, or is no relay, no method with its
    /// URL, and no digest.
    Scope,
}

impl fmt::Display for PatternError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Subject => f.write_str("the rule has an unknown subject"),
            Self::Kind => f.write_str("a kind of the rule is not a number from 0 to 65535"),
            Self::Key(error) => error.fmt(f),
            Self::Scope => write!(
                f,
                "a scope is a relay behind {RELAY_AUTH}, or a method and its URL behind {HTTP_AUTH}"
            ),
        }
    }
}

impl core::error::Error for PatternError {}

#[cfg(test)]
mod tests {
    use super::*;

    const PEER: &str = "79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798";
    const PEER_NPUB: &str = "npub10xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqpkge6d";

    #[test]
    fn texts_are_written_in_one_form() {
        let digest = |text: &str| {
            let bytes = endseal_crypto::sha256::digest(text.as_bytes());
            bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>()
        };
        let relay = format!("sign:22242:#{}", digest("wss://r.x/a,b:c#d"));
        let http = format!("sign:27235:#{}", digest("GET https://x/?a=%2C"));
        for (text, written) in [
            ("sign", "sign"),
            ("sign_event", "sign"),
            ("sign:0-65535", "sign"),
            ("sign_event:0", "sign:0"),
            ("sign:1-1", "sign:1"),
            ("sign:30000-39999", "sign:30000-39999"),
            ("sign:22242", "sign:22242"),
            ("unwrap:14", "unwrap:14"),
            ("unwrap", "unwrap"),
            ("nip44_encrypt", "nip44_encrypt"),
            (&format!("nip04_decrypt:{PEER}"), &format!("nip04_decrypt:{PEER_NPUB}")),
            (&format!("nip44_decrypt:{PEER_NPUB}"), &format!("nip44_decrypt:{PEER_NPUB}")),
            ("sign:22242:wss://r.x/a,b:c#d", &relay),
            (&relay, &relay),
            ("sign_event:27235:GET https://x/?a=%2C", &http),
        ] {
            let pattern = Pattern::parse(text).unwrap();
            assert_eq!(pattern.to_string(), written, "{text}");
            assert_eq!(Pattern::parse(written), Ok(pattern));
            let ask = pattern.rule(Effect::Ask, 1, 0);
            assert_eq!((ask.check(), ask.pattern()), (Ok(()), pattern));
        }
    }

    #[test]
    fn other_texts_are_refused() {
        let off_curve = "5".repeat(64);
        for (text, error) in [
            ("", PatternError::Subject),
            ("Sign", PatternError::Subject),
            (" sign", PatternError::Subject),
            ("sign ", PatternError::Subject),
            ("connect", PatternError::Subject),
            ("nip17_unwrap_batch", PatternError::Subject),
            ("sign:", PatternError::Kind),
            ("sign:01", PatternError::Kind),
            ("sign:+1", PatternError::Kind),
            ("sign:65536", PatternError::Kind),
            ("sign:2-1", PatternError::Kind),
            ("sign:1-", PatternError::Kind),
            ("sign:1-2-3", PatternError::Kind),
            ("unwrap:note", PatternError::Kind),
            ("nip44_decrypt:", PatternError::Key(key::public_from_npub("").unwrap_err())),
            (
                &format!("nip44_decrypt:{off_curve}"),
                PatternError::Key(key::public_from_npub(&off_curve).unwrap_err()),
            ),
            ("sign:1:wss://r.x", PatternError::Scope),
            ("unwrap:22242:wss://r.x", PatternError::Scope),
            ("sign:22242-22243:wss://r.x", PatternError::Scope),
            ("sign:22242:", PatternError::Scope),
            ("sign:22242:wss://r.x ", PatternError::Scope),
            ("sign:22242:#12", PatternError::Scope),
            ("sign:27235:https://x/a", PatternError::Scope),
            ("sign:27235:GET", PatternError::Scope),
            ("sign:27235:GET  https://x", PatternError::Scope),
        ] {
            assert_eq!(Pattern::parse(text), Err(error), "{text}");
        }
    }

    #[test]
    fn lists_are_read_item_by_item() {
        let texts = |list: &str| -> Vec<_> {
            parse_list(list).map(|item| item.map(|pattern| pattern.to_string())).collect()
        };
        let sign = |text: &str| Ok(text.to_owned());
        assert_eq!(texts("sign:1,,sign:7,"), [sign("sign:1"), sign("sign:7")]);
        assert_eq!(texts(""), []);
        // A comma ends a scope, so that no rule behind it is lost.
        let items = texts("sign:27235:GET https://x/a,b,sign:1");
        assert_eq!(items[1..], [Err(PatternError::Subject), sign("sign:1")]);
    }
}
