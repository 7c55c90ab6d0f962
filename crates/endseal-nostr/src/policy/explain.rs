//! Reasons of decisions, for people.

use core::fmt;

use super::action::Action;
use super::decide::{Role, Verdict, decide, is_used_up, role};
use super::rule::Rule;

/// Explains the decision of [`decide`]: the verdict, the rule that gave it, and each other rule
/// that matched, one a line.
#[must_use]
pub fn explain<'a>(rules: &'a [Rule], action: &'a Action, now: u64) -> Explanation<'a> {
    Explanation { rules, action, now }
}

/// The reasons of a decision.
#[derive(Clone, Copy, Debug)]
pub struct Explanation<'a> {
    rules: &'a [Rule],
    action: &'a Action,
    now: u64,
}

impl fmt::Display for Explanation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decision = decide(self.rules, self.action, self.now);
        f.write_str(match decision.verdict {
            Verdict::Allow => "allowed",
            Verdict::Deny => "denied",
            Verdict::Limit => "denied, as the limit is reached,",
            Verdict::Ask => "to be decided by a person",
        })?;
        match self.rules.iter().find(|rule| Some(rule.number) == decision.rule) {
            None => f.write_str(": no rule allows it")?,
            Some(rule) => {
                write!(f, " by rule {}: {} {}", rule.number, rule.effect, rule.pattern())?;
                if decision.verdict == Verdict::Limit {
                    f.write_str(", ")?;
                    limit(rule, f)?;
                }
            }
        }
        for rule in self.rules.iter().filter(|rule| Some(rule.number) != decision.rule) {
            let Some(role) = role(rule, self.action, self.now) else { continue };
            write!(f, "\nrule {}: {} {}: ", rule.number, rule.effect, rule.pattern())?;
            f.write_str(match (role, decision.verdict) {
                (Role::Expired, _) => "it has expired",
                (Role::UsedUp, _) => "",
                (Role::Denies, _) => "a rule of a lower number denies",
                (_, Verdict::Deny) => "a rule that denies comes first",
                (Role::Allows, _) => "a rule of a lower number allows",
                (Role::Asks, Verdict::Allow) => "a rule that allows comes first",
                (Role::Asks, _) => "a rule of a lower number asks",
            })?;
            if role == Role::UsedUp {
                limit(rule, f)?;
            }
        }
        Ok(())
    }
}

/// Writes the limit that used an allowance up.
fn limit(rule: &Rule, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match (rule.uses.filter(|_| is_used_up(rule)), rule.rate) {
        (Some(uses), _) => write!(f, "{} of {uses} uses", rule.usage.used),
        (None, Some(rate)) => {
            let used = rule.usage.window_used;
            write!(f, "{used} of {} uses in {} seconds", rate.uses, rate.window)
        }
        (None, None) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::rule::tests::RULE;
    use super::super::rule::{Effect, Kinds, Rate, Usage};
    use super::*;

    #[test]
    fn every_rule_that_matches_has_its_reason() {
        let used = |used, window_begin, window_used| Usage { used, window_begin, window_used };
        let rules = [
            Rule { number: 1, expires: Some(1_500), ..RULE },
            Rule { number: 2, uses: Some(3), usage: used(3, 0, 0), ..RULE },
            Rule { number: 3, kinds: Kinds::one(1), effect: Effect::Ask, ..RULE },
            Rule { number: 4, kinds: Kinds { first: 0, last: 5 }, ..RULE },
            Rule { number: 5, rate: Some(Rate { uses: 1, window: 9 }), ..RULE },
            Rule { number: 6, kinds: Kinds::one(7), effect: Effect::Deny, ..RULE },
            Rule { number: 7, effect: Effect::Deny, ..RULE },
            Rule { number: 8, effect: Effect::Deny, ..RULE },
        ];
        let action = Action::Sign { kind: 1, scope: None, site: None };
        let text = |rules: &[Rule]| explain(rules, &action, 2_000).to_string();
        assert_eq!(
            text(&rules[..5]),
            "allowed by rule 4: allow sign:0-5\n\
             rule 1: allow sign: it has expired\n\
             rule 2: allow sign: 3 of 3 uses\n\
             rule 3: ask sign:1: a rule that allows comes first\n\
             rule 5: allow sign: a rule of a lower number allows"
        );
        assert_eq!(
            text(&rules[4..]),
            "denied by rule 7: deny sign\n\
             rule 5: allow sign: a rule that denies comes first\n\
             rule 8: deny sign: a rule of a lower number denies"
        );
        assert_eq!(text(&rules[5..6]), "denied: no rule allows it");
        assert_eq!(
            text(&rules[..3]),
            "to be decided by a person by rule 3: ask sign:1\n\
             rule 1: allow sign: it has expired\n\
             rule 2: allow sign: 3 of 3 uses"
        );
        let limited = [Rule { usage: used(1, 1_995, 1), ..rules[4] }];
        assert_eq!(
            text(&limited),
            "denied, as the limit is reached, by rule 5: allow sign, 1 of 1 uses in 9 seconds"
        );
    }
}
