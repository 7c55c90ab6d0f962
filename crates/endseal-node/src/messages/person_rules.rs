//! Rules of the user about persons, for display and export.

use alloc::collections::BTreeMap;

use endseal_crypto::ed25519::PublicKey;
use endseal_session::{Engine, EngineError};
use serde::{Deserialize, Serialize};

use super::request;
use super::rule::{Rule, StoredRule};
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
        for (person, StoredRule { rule, dropped }) in StoredRule::all(transaction)? {
            let Rule { blocked, muted, verified, .. } = rule;
            if blocked.is_on() || muted.is_on() || verified.is_on() {
                change(person, &|rules| {
                    rules.blocked = blocked.is_on().then(|| blocked.time());
                    rules.dropped = dropped;
                    (rules.is_muted, rules.is_verified) = (muted.is_on(), verified.is_on());
                });
            }
        }
        for (person, texts) in request::count_by_person(transaction)? {
            change(person, &|rules| rules.requests = texts);
        }
        Ok(rules.into_values().collect())
    })
}
