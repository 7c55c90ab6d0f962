//! A rule, and the conditions that its writer must hold.

use core::fmt;

use crate::connect::{HTTP_AUTH, RELAY_AUTH};

/// Length of the bytes of a rule.
pub const RULE_LEN: usize = 88;

/// Seconds by which the time of an event of kind 22242 or 27235 may differ from the clock.
pub const MAX_SCOPE_AGE: u64 = 600;

/// Seconds that an allowance of kind 22242 or 27235 lasts at most: 90 days.
pub const MAX_SCOPE_LIFETIME: u64 = 90 * 86_400;

/// Kinds whose events act elsewhere for the user, or delete what they have: a seal of a private
/// message (NIP-59), a request to vanish (NIP-62), a log-in (NIP-42), a request to a wallet
/// (NIP-47), one to a remote signer (NIP-46), and tokens for media servers (BUD-01) and over HTTP
/// (NIP-98). A rule that allows several kinds allows none of them.
pub const SENSITIVE_KINDS: [u16; 7] = [13, 62, RELAY_AUTH, 23_194, 24_133, 24_242, HTTP_AUTH];

/// A rule of one app.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "callers make them")]
pub struct Rule {
    /// Consequence for requests that match.
    pub effect: Effect,
    /// Method, or group of methods, that the rule matches.
    pub subject: Subject,
    /// Kinds that match; [`Kinds::NONE`] for a subject without kinds.
    pub kinds: Kinds,
    /// Peer or scope that matches.
    pub bound: Bound,
    /// Number within the app, from 1.
    pub number: u32,
    /// Time of its making, in seconds since 1970.
    pub made: u64,
    /// Time from which the rule is as absent.
    pub expires: Option<u64>,
    /// Uses of an allowance in all.
    pub uses: Option<u32>,
    /// Uses of an allowance in a window.
    pub rate: Option<Rate>,
    /// Uses of the allowance so far.
    pub usage: Usage,
}

/// Effect of a rule on the requests that it matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_enums, reason = "the format has these")]
pub enum Effect {
    /// The request is executed, as long as the allowance is not used up.
    Allow,
    /// The request is refused without a question.
    Deny,
    /// The user is asked, and decides.
    Ask,
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Allow => "allow",
            Self::Deny => "deny",
            Self::Ask => "ask",
        })
    }
}

/// Methods that a rule is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_enums, reason = "the format has these")]
pub enum Subject {
    /// `sign_event`: signing of events.
    Sign,
    /// `nip04_encrypt`: encryption by NIP-04.
    Nip04Encrypt,
    /// `nip04_decrypt`: decryption by NIP-04.
    Nip04Decrypt,
    /// `nip44_encrypt`: encryption by NIP-44.
    Nip44Encrypt,
    /// `nip44_decrypt`: decryption by NIP-44.
    Nip44Decrypt,
    /// `nip17_unwrap_batch`: releasing rumors out of gift wraps.
    Unwrap,
}

impl Subject {
    /// Subjects in the order of their codes, from 1.
    pub(super) const ALL: [Self; 6] = [
        Self::Sign,
        Self::Nip04Encrypt,
        Self::Nip04Decrypt,
        Self::Nip44Encrypt,
        Self::Nip44Decrypt,
        Self::Unwrap,
    ];

    /// Name in the text of a rule.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sign => "sign",
            Self::Nip04Encrypt => "nip04_encrypt",
            Self::Nip04Decrypt => "nip04_decrypt",
            Self::Nip44Encrypt => "nip44_encrypt",
            Self::Nip44Decrypt => "nip44_decrypt",
            Self::Unwrap => "unwrap",
        }
    }

    /// Returns true if rules of this subject have kinds; others can have a peer.
    #[must_use]
    pub const fn has_kinds(self) -> bool {
        matches!(self, Self::Sign | Self::Unwrap)
    }
}

/// Kinds from the first to the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "callers make them")]
pub struct Kinds {
    /// First kind of the range.
    pub first: u16,
    /// Last kind, not below the first.
    pub last: u16,
}

impl Kinds {
    /// The range of all kinds.
    pub const ALL: Self = Self { first: 0, last: u16::MAX };
    /// Kinds of a subject that has none.
    pub const NONE: Self = Self { first: 0, last: 0 };

    /// The range of one kind only.
    #[must_use]
    pub const fn one(kind: u16) -> Self {
        Self { first: kind, last: kind }
    }

    /// Returns true if `kind` is among them.
    #[must_use]
    pub const fn contains(self, kind: u16) -> bool {
        self.first <= kind && kind <= self.last
    }

    /// Returns true if it is one kind.
    pub(super) const fn is_one(self) -> bool {
        self.first == self.last
    }

    /// The kind, if it is one whose signature gives access to something else.
    pub(super) const fn credential(self) -> Option<u16> {
        if self.first == self.last && is_credential(self.first) { Some(self.first) } else { None }
    }
}

/// Returns true for kinds whose signed events have a scope: a log-in or a token over HTTP.
const fn is_credential(kind: u16) -> bool {
    matches!(kind, RELAY_AUTH | HTTP_AUTH)
}

/// Further limit of the requests that match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_enums, reason = "the format has these")]
pub enum Bound {
    /// The rule matches every peer and every scope.
    None,
    /// The other side of a conversation, as bytes of a public key.
    Peer([u8; 32]),
    /// SHA-256 of the scope of kind 22242 or 27235, or of the site of kind 27235.
    Scope([u8; 32]),
}

/// Most uses of an allowance in a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "callers make them")]
pub struct Rate {
    /// Uses in a window, from 1.
    pub uses: u32,
    /// Length of a window in seconds, from 1. It begins with the first use in it.
    pub window: u32,
}

/// Uses of an allowance so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "callers make them")]
pub struct Usage {
    /// Uses in all, at most [`u32::MAX`].
    pub used: u32,
    /// Beginning of the window, in seconds since 1970.
    pub window_begin: u64,
    /// Uses in the current window.
    pub window_used: u32,
}

impl Rule {
    /// Checks what every writer of a rule must hold.
    ///
    /// # Errors
    /// [`RuleError::Value`].
    pub fn check(&self) -> Result<(), RuleError> {
        let is_valid = self.number > 0
            && self.are_kinds_valid()
            && self.is_bound_valid()
            && self.expires.is_none_or(|expires| expires > self.made)
            && self.is_credential_limited()
            && self.are_limits_valid();
        if is_valid { Ok(()) } else { Err(RuleError::Value) }
    }

    fn are_kinds_valid(&self) -> bool {
        let Kinds { first, last } = self.kinds;
        first <= last && (self.subject.has_kinds() || self.kinds == Kinds::NONE)
    }

    fn is_bound_valid(&self) -> bool {
        match self.bound {
            Bound::None => true,
            Bound::Peer(_) => !self.subject.has_kinds(),
            Bound::Scope(_) => self.subject == Subject::Sign && self.kinds.credential().is_some(),
        }
    }

    /// An allowance of a credential names its scope, and ends soon.
    fn is_credential_limited(&self) -> bool {
        let is_allowance = self.effect == Effect::Allow && self.subject == Subject::Sign;
        if !is_allowance || self.kinds.credential().is_none() {
            return true;
        }
        let ends = self.made.saturating_add(MAX_SCOPE_LIFETIME);
        matches!(self.bound, Bound::Scope(_)) && self.expires.is_some_and(|it| it <= ends)
    }

    /// Limits are not zero and belong to allowances; uses are within them.
    fn are_limits_valid(&self) -> bool {
        let Usage { used, window_begin, window_used } = self.usage;
        let is_window_valid = match self.rate {
            None => window_used == 0,
            Some(rate) => rate.uses > 0 && rate.window > 0 && window_used <= rate.uses,
        };
        let is_limited = self.uses.is_some() || self.rate.is_some() || used > 0;
        is_window_valid
            && (window_used > 0 || window_begin == 0)
            && window_used <= used
            && self.uses.is_none_or(|uses| uses > 0 && used <= uses)
            && (self.effect == Effect::Allow || !is_limited)
    }
}

/// Cause why bytes are no rule, or why a rule cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RuleError {
    /// The bytes are not [`RULE_LEN`] long.
    Length,
    /// The version is another one than 1.
    Version,
    /// A value is none that a writer writes: an unknown number, a bound that does not fit the
    /// subject, an allowance of kind 22242 or 27235 without scope or for more than 90 days.
    Value,
}

impl fmt::Display for RuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Length => "a rule has another length than 88 bytes",
            Self::Version => "the version of a rule is not supported",
            Self::Value => "a rule has a value that is not allowed",
        })
    }
}

impl core::error::Error for RuleError {}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A rule that allows without limits.
    pub(crate) const RULE: Rule = Rule {
        effect: Effect::Allow,
        subject: Subject::Sign,
        kinds: Kinds::ALL,
        bound: Bound::None,
        number: 1,
        made: 1_000,
        expires: None,
        uses: None,
        rate: None,
        usage: Usage { used: 0, window_begin: 0, window_used: 0 },
    };

    /// An allowance of a log-in.
    pub(crate) const LOGIN: Rule = Rule {
        kinds: Kinds::one(RELAY_AUTH),
        bound: Bound::Scope([5; 32]),
        expires: Some(1_000 + MAX_SCOPE_LIFETIME),
        ..RULE
    };

    #[test]
    fn rules_of_each_form_are_allowed() {
        let deny = Rule { effect: Effect::Deny, ..RULE };
        let decrypt = Rule { subject: Subject::Nip44Decrypt, kinds: Kinds::NONE, ..RULE };
        for rule in [
            RULE,
            LOGIN,
            deny,
            Rule { kinds: Kinds::one(HTTP_AUTH), ..deny },
            Rule { effect: Effect::Ask, expires: None, ..LOGIN },
            decrypt,
            Rule { bound: Bound::Peer([1; 32]), ..decrypt },
            Rule { subject: Subject::Unwrap, kinds: Kinds::one(HTTP_AUTH), ..RULE },
            Rule { uses: Some(2), usage: Usage { used: 2, ..Usage::default() }, ..RULE },
            Rule {
                rate: Some(Rate { uses: 2, window: 60 }),
                usage: Usage { used: 5, window_begin: 7, window_used: 2 },
                ..RULE
            },
        ] {
            assert_eq!(rule.check(), Ok(()), "{rule:?}");
        }
    }

    #[test]
    fn a_credential_is_allowed_with_its_scope_for_a_limited_time_only() {
        for kind in [RELAY_AUTH, HTTP_AUTH] {
            let login = Rule { kinds: Kinds::one(kind), ..LOGIN };
            assert_eq!(login.check(), Ok(()));
            for other in [
                Rule { bound: Bound::None, ..login },
                Rule { expires: None, ..login },
                Rule { expires: Some(1_001 + MAX_SCOPE_LIFETIME), ..login },
                Rule { expires: Some(1_000), ..login },
                Rule { kinds: Kinds { first: kind, last: kind + 1 }, ..login },
                Rule { subject: Subject::Unwrap, ..login },
            ] {
                assert_eq!(other.check(), Err(RuleError::Value), "{other:?}");
            }
        }
    }

    #[test]
    fn other_values_are_refused() {
        let encrypt = Rule { subject: Subject::Nip04Encrypt, kinds: Kinds::NONE, ..RULE };
        let rate = Some(Rate { uses: 2, window: 60 });
        let usage = |used, window_begin, window_used| Usage { used, window_begin, window_used };
        for rule in [
            Rule { number: 0, ..RULE },
            Rule { kinds: Kinds { first: 2, last: 1 }, ..RULE },
            Rule { kinds: Kinds::one(1), ..encrypt },
            Rule { bound: Bound::Scope([1; 32]), ..encrypt },
            Rule { bound: Bound::Peer([1; 32]), ..RULE },
            Rule { bound: Bound::Scope([1; 32]), kinds: Kinds::one(1), ..RULE },
            Rule { expires: Some(0), ..RULE },
            Rule { expires: Some(1_000), ..RULE },
            Rule { uses: Some(0), ..RULE },
            Rule { uses: Some(2), usage: usage(3, 0, 0), ..RULE },
            Rule { rate: Some(Rate { uses: 0, window: 60 }), ..RULE },
            Rule { rate: Some(Rate { uses: 1, window: 0 }), ..RULE },
            Rule { rate, usage: usage(3, 9, 3), ..RULE },
            Rule { rate, usage: usage(1, 9, 2), ..RULE },
            Rule { rate, usage: usage(1, 9, 0), ..RULE },
            Rule { usage: usage(1, 9, 1), ..RULE },
            Rule { usage: usage(0, 9, 0), ..RULE },
            Rule { effect: Effect::Deny, uses: Some(1), ..RULE },
            Rule { effect: Effect::Ask, rate, ..RULE },
            Rule { effect: Effect::Deny, usage: usage(1, 0, 0), ..RULE },
        ] {
            assert_eq!(rule.check(), Err(RuleError::Value), "{rule:?}");
        }
    }
}
