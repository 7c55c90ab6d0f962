//! Nostr: rules of a remote signer, and decisions based on them.

use endseal_nostr::policy::{
    Action, Bound, Effect, Pattern, RULE_LEN, Rule, Verdict, charge, decide, explain, parse_list,
};

use crate::choice;

/// Event kinds of log-ins and bearer tokens, which only rules for their scope allow.
const CREDENTIALS: [u16; 2] = [22_242, 27_235];
/// Event kinds that rules of several kinds do not allow.
const SENSITIVE: [u16; 7] = [13, 62, 22_242, 23_194, 24_133, 24_242, 27_235];

/// Fuzzes rules. The first byte modulo 3 selects the form of the rest: bytes of a rule; text of
/// rules; an action, a time and the bytes of rules.
pub fn nostr_policy(data: &[u8]) {
    let (form, data) = choice(data);
    match form % 3 {
        0 => bytes(data),
        1 => text(data),
        _ => decision(data),
    }
}

/// Bytes that are a rule must be written as they were read, and its pattern has one text.
fn bytes(data: &[u8]) {
    let Ok(rule) = Rule::from_bytes(data) else { return };
    assert_eq!(rule.check(), Ok(()));
    assert_eq!(rule.to_bytes(), data);
    let pattern = rule.pattern();
    let read = Pattern::parse(&pattern.to_string());
    // A rule in bytes may have any peer; its text needs a point of the curve.
    assert!(read == Ok(pattern) || read.is_err() && matches!(rule.bound, Bound::Peer(_)));
}

fn text(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    let items = text.split(',').filter(|item| !item.is_empty());
    assert!(parse_list(text).eq(items.map(Pattern::parse)));
    let Ok(pattern) = Pattern::parse(text) else { return };
    assert_eq!(Pattern::parse(&pattern.to_string()), Ok(pattern));
    let rule = pattern.rule(Effect::Ask, 1, 0);
    assert_eq!(Rule::from_bytes(&rule.to_bytes()), Ok(rule));
}

/// The first 12 bytes are subject, kind, the byte of a peer or scope, and time. Then follow rules.
fn decision(data: &[u8]) {
    let Some(([subject, low, high, peer], data)) = data.split_first_chunk() else { return };
    let Some((now, data)) = data.split_first_chunk() else { return };
    let (kind, peer, now) =
        (u16::from_le_bytes([*low, *high]), [*peer; 32], u64::from_le_bytes(*now));
    let action = match subject % 6 {
        0 => Action::Sign {
            kind,
            scope: CREDENTIALS.contains(&kind).then_some(peer),
            site: (kind == 27_235).then(|| peer.map(|byte| byte ^ 1)),
        },
        1 => Action::Nip04Encrypt { peer },
        2 => Action::Nip04Decrypt { peer },
        3 => Action::Nip44Encrypt { peer },
        4 => Action::Nip44Decrypt { peer },
        _ => Action::Unwrap { kind },
    };
    let mut rules: Vec<Rule> = Vec::new();
    for rule in data.as_chunks::<RULE_LEN>().0.iter().take(16) {
        if let Ok(rule) = Rule::from_bytes(rule)
            && rules.iter().all(|other| other.number != rule.number)
        {
            rules.push(rule);
        }
    }
    // Times just before and at the end of a rule or a window.
    for rule in &rules {
        let end = rule.rate.map(|rate| rule.usage.window_begin.saturating_add(rate.window.into()));
        for time in [rule.expires, end].into_iter().flatten() {
            decided(&rules, &action, time.saturating_sub(1));
            decided(&rules, &action, time);
        }
    }
    loop {
        decided(&rules, &action, now);
        let decision = decide(&rules, &action, now);
        let Some(rule) = rules.iter_mut().find(|rule| Some(rule.number) == decision.rule) else {
            return;
        };
        let used = rule.usage.used;
        charge(rule, now);
        if decision.verdict != Verdict::Allow {
            return;
        }
        // A use that a decision allows must stay within the limits.
        assert_eq!(Rule::from_bytes(&rule.to_bytes()), Ok(*rule));
        if used > 8 || rule.usage.used == used {
            return;
        }
    }
}

/// The decision must be that of the specification in any order of the rules, and its explanation
/// must give the same verdict.
fn decided(rules: &[Rule], action: &Action, now: u64) {
    let decision = decide(rules, action, now);
    assert_eq!((decision.verdict, decision.rule), specified(rules, action, now));
    let reversed: Vec<Rule> = rules.iter().copied().rev().collect();
    assert_eq!(decide(&reversed, action, now), decision);

    let text = explain(rules, action, now).to_string();
    let begin = match decision.verdict {
        Verdict::Allow => "allowed by rule ",
        Verdict::Deny if decision.rule.is_none() => "denied: no rule allows it",
        Verdict::Deny => "denied by rule ",
        Verdict::Limit => "denied, as the limit is reached, by rule ",
        Verdict::Ask => "to be decided by a person by rule ",
    };
    assert!(text.starts_with(begin), "{text}");
    assert_eq!(text.lines().count(), 1 + others(rules, action, decision.rule));
    if decision.verdict == Verdict::Allow {
        let denials = text.lines().filter(|line| line.contains(": deny "));
        denials.for_each(|line| assert!(line.ends_with(": it has expired"), "{text}"));
    }
}

/// Counts the rules that match, except the decisive one.
fn others(rules: &[Rule], action: &Action, decisive: Option<u32>) -> usize {
    rules.iter().filter(|it| matches(it, action) && Some(it.number) != decisive).count()
}

/// Decides as the section "Decision" of the specification: by the first of four classes that is not
/// empty, and in it by the rule with the least number.
fn specified(rules: &[Rule], action: &Action, now: u64) -> (Verdict, Option<u32>) {
    let is_effective =
        |rule: &&Rule| matches(rule, action) && rule.expires.is_none_or(|expires| now < expires);
    let mut rules: Vec<&Rule> = rules.iter().filter(is_effective).collect();
    rules.sort_by_key(|rule| rule.number);
    let classes: [(Verdict, Effect, bool); 4] = [
        (Verdict::Deny, Effect::Deny, true),
        (Verdict::Allow, Effect::Allow, true),
        (Verdict::Ask, Effect::Ask, true),
        (Verdict::Limit, Effect::Allow, false),
    ];
    let found = classes.into_iter().find_map(|(verdict, effect, is_left)| {
        let is_of = |rule: &&&Rule| rule.effect == effect && has_uses(rule, now) == is_left;
        rules.iter().find(is_of).map(|rule| (verdict, Some(rule.number)))
    });
    found.unwrap_or((Verdict::Deny, None))
}

fn matches(rule: &Rule, action: &Action) -> bool {
    let is_of_kind = |kind: u16| (rule.kinds.first..=rule.kinds.last).contains(&kind);
    let is_sensitive = matches!(action, Action::Sign { kind, .. } if SENSITIVE.contains(kind));
    rule.subject == action.subject()
        && action.kind().is_none_or(is_of_kind)
        && match rule.bound {
            Bound::None => {
                let is_one = rule.kinds.first == rule.kinds.last;
                !is_sensitive || is_one || rule.effect != Effect::Allow
            }
            Bound::Peer(peer) => action.peer() == Some(&peer),
            Bound::Scope(scope) => [action.scope(), action.site()].contains(&Some(&scope)),
        }
}

fn has_uses(rule: &Rule, now: u64) -> bool {
    let usage = rule.usage;
    let is_of_rate = rule.rate.is_none_or(|rate| {
        let end = usage.window_begin.saturating_add(rate.window.into());
        usage.window_used < rate.uses || now >= end
    });
    is_of_rate && rule.uses.is_none_or(|uses| usage.used < uses)
}
