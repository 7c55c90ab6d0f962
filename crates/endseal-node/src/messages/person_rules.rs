//! Rules of the user about persons, for display and export.

use alloc::collections::BTreeMap;

use endseal_crypto::ed25519::PublicKey;
use endseal_session::{Engine, EngineError};
use serde::{Deserialize, Serialize};

use super::blocked_person::BlockedPerson;
use super::records::{self, MUTED, VERIFIED};
use super::request;
use crate::wire_text;

/// A person who is blocked, muted or verified, or whose request waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PersonRules {
    /// Identity of the person.
    #[serde(with = "wire_text::identity")]
    pub person: PublicKey,
    /// Time at which the person was blocked, in milliseconds since 1970; `None` if not blocked.
    pub blocked: Option<u64>,
    /// Number of texts that were dropped since then.
    pub dropped: u64,
    /// True if the person is muted.
    pub is_muted: bool,
    /// True if the safety number of the person was compared.
    pub is_verified: bool,
    /// Number of texts in a request that waits.
    pub requests: u64,
}

impl PersonRules {
    fn new(person: PublicKey) -> Self {
        Self { person, blocked: None, dropped: 0, is_muted: false, is_verified: false, requests: 0 }
    }
}

/// Returns all persons who are blocked, muted or verified, or whose requests wait, in the order of
/// their identities.
///
/// # Errors
/// Returns [`EngineError`] if the store fails.
pub fn person_rules(engine: &mut Engine) -> Result<Vec<PersonRules>, EngineError> {
    engine.transaction(|transaction| {
        let mut rules = BTreeMap::<[u8; 32], PersonRules>::new();
        let mut change = |person: PublicKey, work: &dyn Fn(&mut PersonRules)| {
            let rules = rules.entry(*person.as_bytes());
            work(rules.or_insert_with(|| PersonRules::new(person)));
        };
        for (person, it) in BlockedPerson::all(transaction)? {
            change(person, &|rules| (rules.blocked, rules.dropped) = (Some(it.time), it.dropped));
        }
        for (person, _) in records::persons(transaction, MUTED)? {
            change(person, &|rules| rules.is_muted = true);
        }
        for (person, _) in records::persons(transaction, VERIFIED)? {
            change(person, &|rules| rules.is_verified = true);
        }
        for (person, texts) in request::count_by_person(transaction)? {
            change(person, &|rules| rules.requests = texts);
        }
        Ok(rules.into_values().collect())
    })
}
