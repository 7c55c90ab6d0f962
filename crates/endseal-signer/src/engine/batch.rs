//! Batch of requests that are decided in one transaction.

use endseal_nostr::connect::{Answer, MAX_REFUSAL, Refusal};
use endseal_nostr::policy::Rule;

use super::{Outgoing, Parts, answer};
use crate::error::StateError;
use crate::records::line::LogEntry;
use crate::records::rule::RuleRecord;
use crate::state::AppRules;
use crate::state::transaction::StateTransaction;

/// Seconds between two removals of expired records.
const PRUNE_INTERVAL: u64 = 60;

/// Transaction with the responses that are sent after its commit.
pub(super) struct Batch<'e> {
    pub(super) transaction: StateTransaction<'e>,
    pub(super) parts: &'e mut Parts,
    pub(super) now: u64,
    outgoing: Vec<Outgoing>,
    /// Requests to answer with an error if the commit fails: transport key and request id.
    requests: Vec<([u8; 32], String)>,
}

impl<'e> Batch<'e> {
    pub(super) fn new(transaction: StateTransaction<'e>, parts: &'e mut Parts, now: u64) -> Self {
        Self { transaction, parts, now, outgoing: Vec::new(), requests: Vec::new() }
    }

    #[allow(clippy::type_complexity, reason = "its fields")]
    pub(super) fn finish(self) -> (StateTransaction<'e>, Vec<Outgoing>, Vec<([u8; 32], String)>) {
        (self.transaction, self.outgoing, self.requests)
    }

    /// Remembers a request that is being decided, so that it gets an error if the commit fails.
    pub(super) fn note(&mut self, transport: &[u8; 32], request_id: &str) {
        self.requests.push((*transport, request_id.to_owned()));
    }

    /// Queues a response to a request. Does nothing if the app does not exist.
    pub(super) fn answer(&mut self, transport: &[u8; 32], request_id: &str, answer: &Answer<'_>) {
        let Some(app) = self.transaction.app(transport) else { return };
        let event = answer::write(app.app(), request_id, answer, self.parts, self.now);
        self.outgoing.extend(event);
    }

    /// Queues an error response to a request.
    pub(super) fn refuse(&mut self, transport: &[u8; 32], request_id: &str, refusal: Refusal) {
        let mut buffer = [0; MAX_REFUSAL];
        self.answer(transport, request_id, &Answer::Error(refusal.text(&mut buffer)));
    }

    /// Queues an event that the caller has written.
    pub(super) fn send(&mut self, outgoing: Outgoing) {
        self.outgoing.push(outgoing);
    }

    pub(super) fn append(&mut self, entry: LogEntry) -> Result<(), StateError> {
        self.transaction.append(entry).map(drop)
    }

    /// Returns the rules of an app; none if the app does not exist.
    pub(super) fn rules(&self, transport: &[u8; 32]) -> Vec<Rule> {
        self.transaction.app(transport).map(rules).unwrap_or_default()
    }

    /// Removes expired records if the last removal was at least a minute ago.
    pub(super) fn prune(&mut self) -> Result<(), StateError> {
        if is_prune_due(self.parts, self.now) {
            self.parts.pruned = self.now;
            let expired = self.transaction.prune(self.now)?;
            self.parts.has_new_subscriptions |= expired.apps > 0;
        }
        Ok(())
    }
}

/// Returns the rules of an app without their record data.
pub(super) fn rules(app: &AppRules) -> Vec<Rule> {
    app.rules().map(|record| *record.rule()).collect()
}

/// Returns the record of a rule, or `None` if the rule cannot be recorded.
pub(super) fn record(rule: &Rule) -> Option<RuleRecord> {
    RuleRecord::of(*rule).ok()
}

/// Returns true if expired records are to be removed now. A clock that was set back counts as well.
pub(super) fn is_prune_due(parts: &Parts, now: u64) -> bool {
    now.abs_diff(parts.pruned) >= PRUNE_INTERVAL
}
