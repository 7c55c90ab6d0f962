//! Commands that add and remove rules.

use endseal_nostr::policy::{
    Effect, Kinds, MAX_SCOPE_LIFETIME, Pattern, Rate, Rule, SENSITIVE_KINDS, Subject, parse_list,
};

use super::{Outcome, find};
use crate::control::{CommandError, Grant, GrantEffect, Reply, Requested};
use crate::engine::batch::{Batch, record};
use crate::engine::{entry_of, wishes};
use crate::error::StateError;
use crate::records::app::App;
use crate::records::line::Matter;
use crate::text::BoundedText;

impl Batch<'_> {
    pub(super) fn grant(&mut self, name: &str, grants: &[Grant]) -> Result<Outcome, StateError> {
        let checked = (|| {
            let transport = find(self.transaction.apps(), name)?.app().record_name();
            Ok((transport, patterns(grants, self.now)?))
        })();
        match checked {
            Ok((transport, patterns)) => {
                Ok(self.add_rules(&transport, &patterns)?.map(Reply::Granted))
            }
            Err(error) => Ok(Err(error)),
        }
    }

    /// Adds rules for what the client of an app asks for, if that is what a person has seen.
    pub(super) fn grant_requested(
        &mut self,
        name: &str,
        requested: &Requested,
    ) -> Result<Outcome, StateError> {
        let transport = match find(self.transaction.apps(), name) {
            Ok(entry) if asks_for(entry.app(), requested) => entry.app().record_name(),
            Ok(_) => return Ok(Err(CommandError::Asks)),
            Err(error) => return Ok(Err(error)),
        };
        Ok(self.add_requested(&transport, requested.lifetime)?.map(Reply::Granted))
    }

    /// Adds rules for what the client of an app asks for.
    pub(super) fn add_requested(
        &mut self,
        transport: &[u8; 32],
        lifetime: Option<u64>,
    ) -> Result<Result<Vec<u32>, CommandError>, StateError> {
        let app = self.transaction.app(transport);
        let wanted: Vec<_> = app.into_iter().flat_map(|it| wishes::rules(it.app())).collect();
        let of = |effect| Grant { effect, rules: String::new(), lifetime, uses: None, rate: None };
        let (allow, ask) = (of(GrantEffect::Allow), of(GrantEffect::Ask));
        let now = self.now;
        let is_valid = |it: &&Rule| it.expires.is_none_or(|expires| expires > now);
        let present = self.rules(transport);
        let present: Vec<_> = present.iter().filter(is_valid).map(Rule::pattern).collect();
        let missing = wanted.iter().map(|(pattern, _)| pattern).filter(|it| !present.contains(it));
        let patterns = missing.map(|pattern| {
            // Kinds that act elsewhere are never allowed by what a client writes: a person is
            // asked.
            let Kinds { first, last } = pattern.kinds;
            let is_sensitive = pattern.subject == Subject::Sign
                && first == last
                && SENSITIVE_KINDS.contains(&first);
            (*pattern, if is_sensitive { &ask } else { &allow })
        });
        let patterns: Vec<_> = patterns.collect();
        self.add_rules(transport, &patterns)
    }

    pub(super) fn add_rules(
        &mut self,
        transport: &[u8; 32],
        patterns: &[(Pattern, &Grant)],
    ) -> Result<Result<Vec<u32>, CommandError>, StateError> {
        let last = self.rules(transport).iter().map(|it| it.number).max();
        let first = last.unwrap_or_default().saturating_add(1);
        let mut numbers = Vec::new();
        for (number, (pattern, grant)) in (first..).zip(patterns) {
            let rule = rule_of(pattern, grant, number, self.now);
            let Some(record) = record(&rule) else { continue };
            match self.transaction.put_rule(transport, record) {
                Ok(()) => {}
                Err(StateError::Limit(limit)) => {
                    // The rules that were added are removed again: a grant adds all its rules or
                    // none.
                    for number in numbers {
                        self.transaction.remove_rule(transport, number)?;
                    }
                    return Ok(Err(CommandError::Limit(limit.to_string())));
                }
                Err(error) => return Err(error),
            }
            numbers.push(number);
        }
        for (number, (pattern, grant)) in numbers.iter().zip(patterns) {
            let Some(app) = self.transaction.app(transport) else { continue };
            let mut line = entry_of(app.app(), Matter::RuleAdded, self.now);
            line.rule = *number;
            line.text = BoundedText::cut(&format!("{} {pattern}", effect(grant.effect)));
            self.append(line)?;
        }
        Ok(Ok(numbers))
    }

    pub(super) fn remove_rule(&mut self, name: &str, number: u32) -> Result<Outcome, StateError> {
        let entry = match find(self.transaction.apps(), name) {
            Ok(entry) => entry,
            Err(error) => return Ok(Err(error)),
        };
        let transport = entry.app().record_name();
        let mut line = entry_of(entry.app(), Matter::RuleRemoved, self.now);
        line.rule = number;
        if let Some(record) = entry.rule(number) {
            let rule = record.rule();
            line.text = BoundedText::cut(&format!("{} {}", rule.effect, rule.pattern()));
        }
        if !self.transaction.remove_rule(&transport, number)? {
            return Ok(Err(CommandError::NoRule(number)));
        }
        self.append(line)?;
        Ok(Ok(Reply::Done))
    }
}

/// Returns true if the client of an app asks for these permissions, and for no others.
pub(super) fn asks_for(app: &App, requested: &Requested) -> bool {
    wishes::rules(app).map(|(_, text)| text).eq(requested.rules.iter().map(String::as_str))
}

/// Parses grants into patterns and checks that each of them can be a rule.
pub(super) fn patterns(grants: &[Grant], now: u64) -> Result<Vec<(Pattern, &Grant)>, CommandError> {
    let mut all = Vec::new();
    for grant in grants {
        let mut add = |pattern: Pattern| {
            let text = pattern.to_string();
            rule_of(&pattern, grant, 1, now).check().map_err(|_| {
                CommandError::Credential(format!(
                    "'{text}' cannot be granted so: kinds 22242 and 27235 are allowed for a relay, a \
                     site, or a method with its URL, and for {} days at most; rules that deny or ask \
                     have no limits",
                    MAX_SCOPE_LIFETIME / 86_400
                ))
            })?;
            all.push((pattern, grant));
            Ok::<(), CommandError>(())
        };
        let list: Result<Vec<_>, _> = parse_list(&grant.rules).collect();
        match (list, Pattern::parse(&grant.rules)) {
            (Ok(list), _) if list.len() != 1 => list.into_iter().try_for_each(&mut add)?,
            // A scope extends to the end of the text, so commas in it separate nothing.
            (_, Ok(pattern)) => add(pattern)?,
            (Ok(list), _) => list.into_iter().try_for_each(&mut add)?,
            (Err(error), _) => {
                return Err(CommandError::Invalid(format!("'{}': {error}", grant.rules)));
            }
        }
    }
    Ok(all)
}

fn rule_of(pattern: &Pattern, grant: &Grant, number: u32, now: u64) -> Rule {
    let mut rule = pattern.rule(effect(grant.effect), number, now);
    rule.expires = grant.lifetime.map(|seconds| now.saturating_add(seconds.max(1)));
    rule.uses = grant.uses;
    rule.rate = grant.rate.map(|rate| Rate { uses: rate.uses, window: rate.window });
    rule
}

const fn effect(effect: GrantEffect) -> Effect {
    match effect {
        GrantEffect::Allow => Effect::Allow,
        GrantEffect::Deny => Effect::Deny,
        GrantEffect::Ask => Effect::Ask,
    }
}
