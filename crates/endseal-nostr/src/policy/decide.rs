//! Decisions about actions by the rules of an app.

use super::action::Action;
use super::rule::{Bound, Effect, Rule, Usage};
use crate::connect::Refusal;

/// Decision about a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_enums, reason = "the format has these")]
pub enum Verdict {
    /// The request is executed, and counts as a use of the rule.
    Allow,
    /// The request is refused.
    Deny,
    /// The request is refused, because an allowance is used up.
    Limit,
    /// The user is asked, and decides.
    Ask,
}

/// A verdict with the rule that gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Decision {
    /// Decision that the rule gives.
    pub verdict: Verdict,
    /// Number of the rule; nothing if none matched, which denies.
    pub rule: Option<u32>,
}

impl Decision {
    /// Error that answers the request, if the verdict refuses it.
    #[must_use]
    pub const fn refusal(&self) -> Option<Refusal> {
        match self.verdict {
            Verdict::Deny => Some(Refusal::Denied),
            Verdict::Limit => Some(Refusal::Limit),
            Verdict::Allow | Verdict::Ask => None,
        }
    }
}

/// Decides about an action by the rules of one app, in any order, at `now` in seconds since 1970.
///
/// One pass over the rules. The caller charges the rule of [`Verdict::Allow`] by [`charge`], in the
/// transaction that records the request.
#[must_use]
pub fn decide(rules: &[Rule], action: &Action, now: u64) -> Decision {
    let (mut deny, mut allow, mut ask, mut used_up) = (None, None, None, None);
    for rule in rules {
        let Some(role) = role(rule, action, now) else { continue };
        let least = match role {
            Role::Denies => &mut deny,
            Role::Allows => &mut allow,
            Role::Asks => &mut ask,
            Role::UsedUp => &mut used_up,
            Role::Expired => continue,
        };
        if least.is_none_or(|number| rule.number < number) {
            *least = Some(rule.number);
        }
    }
    let (verdict, rule) = if deny.is_some() {
        (Verdict::Deny, deny)
    } else if allow.is_some() {
        (Verdict::Allow, allow)
    } else if ask.is_some() {
        (Verdict::Ask, ask)
    } else if used_up.is_some() {
        (Verdict::Limit, used_up)
    } else {
        (Verdict::Deny, None)
    };
    Decision { verdict, rule }
}

/// Counts a use of an allowance at `now`.
pub fn charge(rule: &mut Rule, now: u64) {
    let is_within = is_within_window(rule, now);
    let Usage { used, window_begin, window_used } = &mut rule.usage;
    *used = used.saturating_add(1);
    if rule.rate.is_some() {
        if !is_within {
            (*window_begin, *window_used) = (now, 0);
        }
        *window_used = window_used.saturating_add(1);
    }
}

/// Part of a rule that matches in a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Denies,
    Allows,
    Asks,
    /// The rule allows, but no use of it is left.
    UsedUp,
    Expired,
}

/// Part of a rule in a decision; nothing if it does not match.
pub(super) fn role(rule: &Rule, action: &Action, now: u64) -> Option<Role> {
    if !matches(rule, action) {
        return None;
    }
    Some(match rule.effect {
        _ if rule.expires.is_some_and(|expires| expires <= now) => Role::Expired,
        Effect::Deny => Role::Denies,
        Effect::Ask => Role::Asks,
        Effect::Allow if is_used_up(rule) || is_rate_used_up(rule, now) => Role::UsedUp,
        Effect::Allow => Role::Allows,
    })
}

fn matches(rule: &Rule, action: &Action) -> bool {
    rule.subject == action.subject()
        && action.kind().is_none_or(|kind| rule.kinds.contains(kind))
        && match &rule.bound {
            // An allowance of several kinds allows no log-in, token or other kind that acts
            // elsewhere.
            Bound::None => {
                rule.effect != Effect::Allow || !action.is_sensitive() || rule.kinds.is_one()
            }
            Bound::Peer(peer) => action.peer() == Some(peer),
            Bound::Scope(scope) => [action.scope(), action.site()].contains(&Some(scope)),
        }
}

pub(super) fn is_used_up(rule: &Rule) -> bool {
    rule.uses.is_some_and(|uses| rule.usage.used >= uses)
}

fn is_rate_used_up(rule: &Rule, now: u64) -> bool {
    rule.rate.is_some_and(|rate| rule.usage.window_used >= rate.uses) && is_within_window(rule, now)
}

/// Returns true if `now` is before the end of the rule's window. A time before its start counts as
/// within, so that a clock that was set back gives no further uses.
fn is_within_window(rule: &Rule, now: u64) -> bool {
    let Usage { window_begin, window_used, .. } = rule.usage;
    let end = |window: u32| window_begin.saturating_add(window.into());
    window_used > 0 && rule.rate.is_some_and(|rate| now < end(rate.window))
}

#[cfg(test)]
mod tests {
    use super::super::rule::tests::{LOGIN, RULE};
    use super::super::rule::{Kinds, Rate, Subject};
    use super::*;

    const NOTE: Action = Action::Sign { kind: 1, scope: None, site: None };
    const DENY: Rule = Rule { effect: Effect::Deny, ..RULE };
    const ASK: Rule = Rule { effect: Effect::Ask, ..RULE };
    const USED_UP: Rule =
        Rule { uses: Some(1), usage: Usage { used: 1, window_begin: 0, window_used: 0 }, ..RULE };

    fn numbered(rules: &[Rule]) -> Vec<Rule> {
        rules.iter().zip(1..).map(|(rule, number)| Rule { number, ..*rule }).collect()
    }

    #[test]
    fn the_order_is_deny_allow_ask_limit() {
        let other = Rule { kinds: Kinds::one(7), ..DENY };
        for (rules, verdict, rule) in [
            (&[][..], Verdict::Deny, None),
            (&[other], Verdict::Deny, None),
            (&[RULE, RULE], Verdict::Allow, Some(1)),
            (&[RULE, DENY, DENY], Verdict::Deny, Some(2)),
            (&[ASK, RULE], Verdict::Allow, Some(2)),
            (&[ASK, USED_UP], Verdict::Ask, Some(1)),
            (&[USED_UP, ASK], Verdict::Ask, Some(2)),
            (&[USED_UP, USED_UP], Verdict::Limit, Some(1)),
            (&[USED_UP, RULE], Verdict::Allow, Some(2)),
            (&[USED_UP, DENY], Verdict::Deny, Some(2)),
        ] {
            let mut rules = numbered(rules);
            let decision = decide(&rules, &NOTE, 1_000);
            assert_eq!((decision.verdict, decision.rule), (verdict, rule), "{rules:?}");
            rules.reverse();
            assert_eq!(decide(&rules, &NOTE, 1_000), decision);
        }
    }

    #[test]
    fn an_expired_rule_is_as_absent() {
        for rule in [RULE, DENY, ASK] {
            let rule = Rule { expires: Some(2_000), ..rule };
            assert!(decide(&[rule], &NOTE, 1_999).rule.is_some());
            assert_eq!(decide(&[rule], &NOTE, 2_000).rule, None);
            assert_eq!(decide(&[rule, RULE], &NOTE, 2_000).verdict, Verdict::Allow);
        }
    }

    #[test]
    fn credentials_need_an_allowance_of_their_scope() {
        let login = |scope| Action::Sign { kind: 22_242, scope: Some(scope), site: None };
        let verdict = |rule, action| decide(&[rule], &action, 1_000).verdict;
        assert_eq!(verdict(LOGIN, login([5; 32])), Verdict::Allow);
        assert_eq!(verdict(LOGIN, login([6; 32])), Verdict::Deny);
        assert_eq!(verdict(RULE, login([5; 32])), Verdict::Deny);
        assert_eq!(verdict(ASK, login([5; 32])), Verdict::Ask);
        assert_eq!(decide(&[DENY, LOGIN], &login([5; 32]), 1_000).rule, Some(1));
        let token =
            |scope, site| Action::Sign { kind: 27_235, scope: Some(scope), site: Some(site) };
        assert_eq!(verdict(LOGIN, token([5; 32], [5; 32])), Verdict::Deny);
        let site = Rule { kinds: Kinds::one(27_235), ..LOGIN };
        assert_eq!(verdict(site, token([5; 32], [6; 32])), Verdict::Allow);
        assert_eq!(verdict(site, token([6; 32], [5; 32])), Verdict::Allow);
        assert_eq!(verdict(site, token([6; 32], [6; 32])), Verdict::Deny);
        let rumor = Rule { subject: Subject::Unwrap, ..RULE };
        assert_eq!(verdict(rumor, Action::Unwrap { kind: 22_242 }), Verdict::Allow);
        assert_eq!(verdict(RULE, Action::Unwrap { kind: 1 }), Verdict::Deny);
    }

    #[test]
    fn kinds_that_act_elsewhere_are_allowed_by_name_alone() {
        for kind in crate::policy::SENSITIVE_KINDS {
            let action = Action::Sign { kind, scope: None, site: None };
            let several = Rule { kinds: Kinds { first: kind, last: kind + 1 }, ..RULE };
            for (rule, verdict) in
                [(RULE, Verdict::Deny), (several, Verdict::Deny), (ASK, Verdict::Ask)]
            {
                assert_eq!(decide(&[rule], &action, 1_000).verdict, verdict, "{kind}");
            }
            let one = Rule { kinds: Kinds::one(kind), ..RULE };
            if one.check().is_ok() {
                assert_eq!(decide(&[one], &action, 1_000).verdict, Verdict::Allow, "{kind}");
            }
        }
    }

    #[test]
    fn directions_and_peers_are_apart() {
        let rule = Rule {
            subject: Subject::Nip44Decrypt,
            kinds: Kinds::NONE,
            bound: Bound::Peer([1; 32]),
            ..RULE
        };
        let verdict = |rule, action| decide(&[rule], &action, 1_000).verdict;
        assert_eq!(verdict(rule, Action::Nip44Decrypt { peer: [1; 32] }), Verdict::Allow);
        assert_eq!(verdict(rule, Action::Nip44Decrypt { peer: [2; 32] }), Verdict::Deny);
        assert_eq!(verdict(rule, Action::Nip44Encrypt { peer: [1; 32] }), Verdict::Deny);
        assert_eq!(verdict(rule, Action::Nip04Decrypt { peer: [1; 32] }), Verdict::Deny);
        let any = Rule { bound: Bound::None, ..rule };
        assert_eq!(verdict(any, Action::Nip44Decrypt { peer: [2; 32] }), Verdict::Allow);
    }

    #[test]
    fn uses_end() {
        let mut rule = Rule { uses: Some(2), ..RULE };
        for verdict in [Verdict::Allow, Verdict::Allow, Verdict::Limit, Verdict::Limit] {
            assert_eq!(decide(&[rule], &NOTE, 5).verdict, verdict);
            if verdict == Verdict::Allow {
                charge(&mut rule, 5);
            }
            assert_eq!(rule.check(), Ok(()));
        }
        let mut rule = Rule { usage: Usage { used: u32::MAX, ..rule.usage }, ..RULE };
        charge(&mut rule, 5);
        assert_eq!((rule.usage.used, rule.check()), (u32::MAX, Ok(())));
    }

    #[test]
    fn a_window_begins_with_its_first_use() {
        let mut rule = Rule { rate: Some(Rate { uses: 2, window: 60 }), ..RULE };
        for (now, is_allowed) in [
            (100, true),
            (159, true),
            (159, false),
            // A clock that was set back gives nothing.
            (0, false),
            (160, true),
            (161, true),
            (219, false),
            (220, true),
            (500, true),
            (559, true),
            (559, false),
        ] {
            let verdict = if is_allowed { Verdict::Allow } else { Verdict::Limit };
            assert_eq!(decide(&[rule], &NOTE, now).verdict, verdict, "{now}");
            if is_allowed {
                charge(&mut rule, now);
            }
            assert_eq!(rule.check(), Ok(()));
        }
        let begin = u64::MAX - 1;
        rule.usage = Usage { used: 2, window_begin: begin, window_used: 2 };
        assert_eq!(decide(&[rule], &NOTE, begin).verdict, Verdict::Limit);
    }
}
