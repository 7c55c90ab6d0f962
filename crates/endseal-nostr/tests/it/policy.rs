//! Runs `vectors/nostr-connect/rule.json` and `decision.json`.

use endseal_nostr::connect::{Scope, ScopeError};
use endseal_nostr::event::Template;
use endseal_nostr::policy::{
    Action, Bound, Effect, Pattern, PatternError, Rule, RuleError, Verdict, charge, decide,
    explain, parse_list,
};
use serde_json::{Value, json};

use crate::hex;
use crate::vectors::{Case, cases_in};

const FOLDER: &str = "nostr-connect";

fn unhex(digits: &str) -> Vec<u8> {
    let pairs = digits.as_bytes().chunks(2).map(|pair| str::from_utf8(pair).unwrap());
    pairs.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect()
}

pub(crate) fn rules(case: &Case) -> Vec<Rule> {
    let rules = case.value("rules").as_array().unwrap();
    rules.iter().map(|rule| Rule::from_bytes(&unhex(rule.as_str().unwrap())).unwrap()).collect()
}

fn rule_class(error: RuleError) -> &'static str {
    match error {
        RuleError::Length => "length",
        RuleError::Version => "version",
        RuleError::Value => "value",
        _ => "another",
    }
}

fn pattern_class(error: PatternError) -> &'static str {
    match error {
        PatternError::Subject => "subject",
        PatternError::Kind => "kind",
        PatternError::Key(_) => "key",
        PatternError::Scope => "scope",
        _ => "another",
    }
}

fn fields(rule: &Rule) -> Value {
    let (bound, value) = match rule.bound {
        Bound::None => ("none", None),
        Bound::Peer(peer) => ("peer", Some(hex(&peer))),
        Bound::Scope(scope) => ("scope", Some(hex(&scope))),
    };
    json!({
        "effect": rule.effect.to_string(),
        "subject": rule.subject.name(),
        "first_kind": rule.kinds.first,
        "last_kind": rule.kinds.last,
        "bound": bound,
        "value": value,
        "number": rule.number,
        "made": rule.made.to_string(),
        "expires": rule.expires.map(|time| time.to_string()),
        "uses": rule.uses,
        "rate": rule.rate.map(|rate| [rate.uses, rate.window]),
        "used": rule.usage.used,
        "window_begin": rule.usage.window_begin.to_string(),
        "window_used": rule.usage.window_used,
        "text": rule.pattern().to_string(),
    })
}

#[test]
fn bytes_of_rules_are_judged_as_the_vectors_say() {
    for case in cases_in(FOLDER, "rule", "bytes", 50) {
        let bytes = unhex(case.text("input"));
        let rule = Rule::from_bytes(&bytes);
        if case.meets(rule.map(drop).map_err(rule_class)) {
            let rule = rule.unwrap();
            assert_eq!(rule.to_bytes()[..], bytes);
            for (name, value) in fields(&rule).as_object().unwrap() {
                assert_eq!(value, case.value(name), "{name}");
            }
        }
    }
}

#[test]
fn texts_of_rules_are_judged_as_the_vectors_say() {
    for case in cases_in(FOLDER, "rule", "text", 40) {
        let pattern = Pattern::parse(case.text("input"));
        if case.meets(pattern.map(drop).map_err(pattern_class)) {
            let pattern = pattern.unwrap();
            assert_eq!(pattern.to_string(), case.text("written"));
            assert_eq!(hex(&pattern.rule(Effect::Ask, 1, 0).to_bytes()), case.text("bytes"));
        }
    }
    for case in cases_in(FOLDER, "rule", "list", 6) {
        let patterns: Result<Vec<_>, _> = parse_list(case.text("input")).collect();
        if case.meets(patterns.as_ref().map(|_| ()).map_err(|error| pattern_class(*error))) {
            let written: Vec<_> = patterns.unwrap().iter().map(Pattern::to_string).collect();
            assert_eq!(json!(written), *case.value("written"));
        }
    }
}

#[test]
fn scopes_are_judged_as_the_vectors_say() {
    for case in cases_in(FOLDER, "decision", "scope", 20) {
        let input = case.input();
        let template = Template::parse(&input).unwrap();
        let scope = Scope::of(&template);
        if case.meets(scope.map(drop).map_err(|_: ScopeError| "request")) {
            let scope = scope.unwrap().unwrap();
            assert_eq!(scope.to_string(), case.text("scope"));
            assert_eq!(hex(&scope.digest()), case.text("digest"));
            let site = scope.site_digest().map(|it| hex(&it));
            assert_eq!(site.as_deref(), case.value("site").as_str());
        }
    }
}

fn action(value: &Value) -> Action {
    let kind = || u16::try_from(value["kind"].as_u64().unwrap()).unwrap();
    let bytes = |name: &str| -> Option<[u8; 32]> {
        value[name].as_str().map(|digits| unhex(digits).try_into().unwrap())
    };
    let peer = || bytes("peer").unwrap();
    match value["subject"].as_str().unwrap() {
        "sign" => Action::Sign { kind: kind(), scope: bytes("scope"), site: bytes("site") },
        "nip04_encrypt" => Action::Nip04Encrypt { peer: peer() },
        "nip04_decrypt" => Action::Nip04Decrypt { peer: peer() },
        "nip44_encrypt" => Action::Nip44Encrypt { peer: peer() },
        "nip44_decrypt" => Action::Nip44Decrypt { peer: peer() },
        "unwrap" => Action::Unwrap { kind: kind() },
        other => panic!("{other}"),
    }
}

#[test]
fn decisions_are_those_of_the_vectors() {
    for case in cases_in(FOLDER, "decision", "decision", 50) {
        let mut rules = rules(&case);
        let (action, now) = (action(case.value("action")), case.value("now").as_u64().unwrap());
        let decision = decide(&rules, &action, now);
        let outcome = match decision.verdict {
            Verdict::Allow => Ok(()),
            Verdict::Deny => Err("denied"),
            Verdict::Limit => Err("limit"),
            Verdict::Ask => Err("ask"),
        };
        assert_eq!(json!(decision.rule), *case.value("rule"), "{}", case.text("comment"));
        let text = explain(&rules, &action, now).to_string();
        let reason = decision.rule.map_or("no rule".to_owned(), |number| format!("rule {number}"));
        assert!(text.lines().next().unwrap().contains(&reason), "{text}");
        if case.meets(outcome) {
            let rule = rules.iter_mut().find(|rule| Some(rule.number) == decision.rule).unwrap();
            charge(rule, now);
            assert_eq!(hex(&rule.to_bytes()), case.text("charged"), "{}", case.text("comment"));
        }
    }
}
