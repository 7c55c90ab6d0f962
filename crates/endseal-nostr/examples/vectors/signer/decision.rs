//! Cases of decisions, and of the scopes that they concern.

use endseal_crypto::sha256;
use endseal_nostr::policy::{Bound, Effect, Kinds, Rate, Rule, Subject, Usage, charge};
use serde_json::{Value, json};

use super::rule::{LOGIN, RULE};
use crate::events::{accepted, hex, refused};

pub(super) fn cases() -> Vec<Value> {
    let mut cases = Vec::new();
    scopes(&mut cases);
    malformed_scopes(&mut cases);
    order(&mut cases);
    matches(&mut cases);
    limits(&mut cases);
    cases
}

fn template(kind: u16, tags: &str) -> String {
    format!("{{\"created_at\":1,\"kind\":{kind},\"tags\":{tags},\"content\":\"\"}}")
}

fn scopes(cases: &mut Vec<Value>) {
    for (comment, kind, tags, scope) in [
        ("a relay", 22_242, r#"[["relay","wss://r.x"],["challenge","c"]]"#, "wss://r.x"),
        (
            "escapes, and a value too many",
            22_242,
            r#"[["challenge","\u00e9"],["r\u0065lay","wss:\/\/r.x,y","z"],["u","a"]]"#,
            "wss://r.x,y",
        ),
        (
            "a method and its URL",
            27_235,
            r#"[["u","https://x/?a=%2C"],["method","GET"],["payload","00"]]"#,
            "GET https://x/?a=%2C",
        ),
        (
            "a method in lower case stays so",
            27_235,
            r#"[["method","post"],["u","HTTPS://X:443/"]]"#,
            "post https://x",
        ),
        (
            "a relay in another form",
            22_242,
            r#"[["relay","WSS://R.X:443/"],["challenge","c"]]"#,
            "wss://r.x",
        ),
        ("another path", 22_242, r#"[["relay","wss://r.x/A/"],["challenge","c"]]"#, "wss://r.x/A/"),
        (
            "another port",
            22_242,
            r#"[["relay","wss://r.x:80/"],["challenge","c"]]"#,
            "wss://r.x:80",
        ),
        ("what is no URL", 22_242, r#"[["relay","R.X:443/"],["challenge","c"]]"#, "R.X:443/"),
        (
            "a user in the URL",
            27_235,
            r#"[["u","https://good.example@X/?A"],["method","GET"]]"#,
            "GET https://good.example@x/?A",
        ),
    ] {
        let digest = hex(&sha256::digest(scope.as_bytes()));
        let mut fields = json!({"scope": scope, "digest": digest});
        if let Some((_, url)) = scope.split_once(' ') {
            // The sites of these cases are written by hand: all but the last are the host x.
            let site = if url.contains('@') { "https://good.example@x" } else { "https://x" };
            fields["site"] = hex(&sha256::digest(site.as_bytes())).into();
        }
        cases.push(accepted("scope", comment, template(kind, tags), fields));
    }
}

fn malformed_scopes(cases: &mut Vec<Value>) {
    for (comment, kind, tags) in [
        ("no tags", 22_242, "[]"),
        ("no challenge", 22_242, r#"[["relay","wss://r.x"]]"#),
        ("no relay", 22_242, r#"[["challenge","c"]]"#),
        ("a challenge without value", 22_242, r#"[["relay","wss://r.x"],["challenge"]]"#),
        ("two challenges", 22_242, r#"[["relay","a"],["challenge","c"],["challenge","c"]]"#),
        ("two equal relays", 22_242, r#"[["relay","a"],["relay","a"],["challenge","c"]]"#),
        ("a second relay without value", 22_242, r#"[["relay","a"],["relay"],["challenge","c"]]"#),
        ("an empty relay", 22_242, r#"[["relay",""],["challenge","c"]]"#),
        ("a relay with a space", 22_242, r#"[["relay","a b"],["challenge","c"]]"#),
        ("a relay beyond ASCII", 22_242, r#"[["relay","wss://é"],["challenge","c"]]"#),
        ("a log-in without relay, but with a URL", 22_242, r#"[["u","a"],["method","GET"]]"#),
        ("no URL", 27_235, r#"[["method","GET"]]"#),
        ("no method", 27_235, r#"[["u","https://x"]]"#),
        ("two URLs", 27_235, r#"[["u","a"],["u","b"],["method","GET"]]"#),
        ("two methods", 27_235, r#"[["u","a"],["method","GET"],["method","PUT"]]"#),
        ("a method with a space", 27_235, r#"[["u","b"],["method","GET a"]]"#),
        ("a URL with a line end", 27_235, r#"[["u","a\n"],["method","GET"]]"#),
        ("an empty URL", 27_235, r#"[["u",""],["method","GET"]]"#),
    ] {
        cases.push(refused("scope", "request", comment, template(kind, tags)));
    }
}

/// Returns a decision at a time. The expected verdict and rule are written by hand, not computed.
fn decision(
    cases: &mut Vec<Value>,
    comment: &str,
    rules: &[Rule],
    action: &Value,
    now: u64,
    (verdict, number): (&str, Option<u32>),
) {
    let bytes: Vec<_> = rules
        .iter()
        .map(|rule| {
            rule.check().expect(comment);
            hex(&rule.to_bytes())
        })
        .collect();
    let mut case = json!({
        "form": "decision", "expect": verdict, "comment": comment,
        "rules": bytes, "action": action, "now": now, "rule": number,
    });
    if verdict == "ok" {
        let mut rule = *rules.iter().find(|rule| Some(rule.number) == number).expect(comment);
        charge(&mut rule, now);
        case["charged"] = hex(&rule.to_bytes()).into();
    }
    cases.push(case);
}

const DENY: Rule = Rule { effect: Effect::Deny, ..RULE };
const ASK: Rule = Rule { effect: Effect::Ask, ..RULE };
const USED_UP: Rule =
    Rule { uses: Some(1), usage: Usage { used: 1, window_begin: 0, window_used: 0 }, ..RULE };

fn numbered(rule: Rule, number: u32) -> Rule {
    Rule { number, ..rule }
}

fn order(cases: &mut Vec<Value>) {
    let note = json!({"subject": "sign", "kind": 1});
    for (comment, rules, outcome) in [
        ("no rules", &[][..], ("denied", None)),
        ("one that allows", &[RULE], ("ok", Some(1))),
        ("one that denies", &[DENY], ("denied", Some(1))),
        ("one that asks", &[ASK], ("ask", Some(1))),
        ("one that is used up", &[USED_UP], ("limit", Some(1))),
        ("deny before allow", &[RULE, numbered(DENY, 2)], ("denied", Some(2))),
        (
            "the least of those that deny",
            &[numbered(DENY, 3), RULE, numbered(DENY, 2)],
            ("denied", Some(2)),
        ),
        ("allow before ask", &[ASK, numbered(RULE, 2)], ("ok", Some(2))),
        ("the least of those that allow", &[numbered(RULE, 3), numbered(RULE, 2)], ("ok", Some(2))),
        (
            "one used up is passed over",
            &[USED_UP, numbered(RULE, 9), numbered(RULE, 8)],
            ("ok", Some(8)),
        ),
        ("ask before limit", &[USED_UP, numbered(ASK, 2)], ("ask", Some(2))),
        (
            "the least of those used up",
            &[numbered(USED_UP, 7), numbered(USED_UP, 5)],
            ("limit", Some(5)),
        ),
        ("deny before limit", &[USED_UP, numbered(DENY, 2)], ("denied", Some(2))),
    ] {
        decision(cases, comment, rules, &note, 1_000, outcome);
    }
    for (comment, rule, now, outcome) in [
        ("the last second", RULE, 1_999, ("ok", Some(1))),
        ("an allowance that expired", RULE, 2_000, ("denied", None)),
        ("a denial that expired, alone", DENY, 2_000, ("denied", None)),
        ("a question that expired", ASK, 2_000, ("denied", None)),
        ("used up and expired", USED_UP, 2_000, ("denied", None)),
        ("a clock before the making", RULE, 0, ("ok", Some(1))),
    ] {
        let rule = Rule { expires: Some(2_000), ..rule };
        decision(cases, comment, &[rule], &note, now, outcome);
    }
    let expired = Rule { expires: Some(2_000), ..DENY };
    let rules = [expired, numbered(RULE, 2)];
    decision(cases, "a denial that expired", &rules, &note, 2_000, ("ok", Some(2)));
}

fn matches(cases: &mut Vec<Value>) {
    let sign = |kind: u16| json!({"subject": "sign", "kind": kind});
    let kinds = Rule { kinds: Kinds { first: 10, last: 20 }, ..RULE };
    for (kind, outcome) in [
        (9, ("denied", None)),
        (10, ("ok", Some(1))),
        (20, ("ok", Some(1))),
        (21, ("denied", None)),
    ] {
        let comment = format!("kind {kind} of 10 to 20");
        decision(cases, &comment, &[kinds], &sign(kind), 1_000, outcome);
    }
    let scoped =
        |kind: u16, byte: &str| json!({"subject": "sign", "kind": kind, "scope": byte.repeat(32)});
    let sited = |scope: &str, site: &str| json!({"subject": "sign", "kind": 27_235, "scope": scope.repeat(32), "site": site.repeat(32)});
    let site = Rule { kinds: Kinds::one(27_235), ..LOGIN };
    let one = |kind| Rule { kinds: Kinds::one(kind), ..RULE };
    let wide = Rule { kinds: Kinds { first: 22_000, last: 30_000 }, ..RULE };
    for (comment, rule, action, outcome) in [
        ("a log-in with its scope", LOGIN, scoped(22_242, "05"), ("ok", Some(1))),
        ("a log-in to another relay", LOGIN, scoped(22_242, "06"), ("denied", None)),
        ("a token with the scope of a log-in", LOGIN, scoped(27_235, "05"), ("denied", None)),
        ("a log-in by all kinds", RULE, scoped(22_242, "05"), ("denied", None)),
        ("a token by all kinds", RULE, scoped(27_235, "05"), ("denied", None)),
        ("a token by several kinds", wide, scoped(27_235, "05"), ("denied", None)),
        ("the kind beside it", wide, sign(27_236), ("ok", Some(1))),
        ("a token with its scope", site, sited("05", "06"), ("ok", Some(1))),
        ("a token of its site", site, sited("06", "05"), ("ok", Some(1))),
        ("a token of another site", site, sited("06", "06"), ("denied", None)),
        ("a request to a wallet by all kinds", RULE, sign(23_194), ("denied", None)),
        ("a request to a wallet by its kind", one(23_194), sign(23_194), ("ok", Some(1))),
        ("a token for a media server by several kinds", wide, sign(24_242), ("denied", None)),
        ("a token for a media server by its kind", one(24_242), sign(24_242), ("ok", Some(1))),
        ("a seal by all kinds", RULE, sign(13), ("denied", None)),
        ("a request to vanish by all kinds", RULE, sign(62), ("denied", None)),
        ("a request to a signer by all kinds", RULE, sign(24_133), ("denied", None)),
        ("a seal is asked for by all kinds", ASK, sign(13), ("ask", Some(1))),
        ("a log-in is asked for by all kinds", ASK, scoped(22_242, "05"), ("ask", Some(1))),
        ("a token is denied by all kinds", DENY, scoped(27_235, "05"), ("denied", Some(1))),
    ] {
        decision(cases, comment, &[rule], &action, 1_000, outcome);
    }
    let rules = [LOGIN, numbered(DENY, 2)];
    decision(cases, "a denial of all kinds and a log-in", &rules, &scoped(22_242, "05"), 1_000, {
        ("denied", Some(2))
    });
    directions(cases);
}

fn directions(cases: &mut Vec<Value>) {
    let peer = |subject: &str, byte: &str| json!({"subject": subject, "peer": byte.repeat(32)});
    let all = Rule { subject: Subject::Nip44Decrypt, kinds: Kinds::NONE, ..RULE };
    let one = Rule { bound: Bound::Peer([1; 32]), ..all };
    let unwrap = Rule { subject: Subject::Unwrap, kinds: Kinds::one(14), ..RULE };
    for (comment, rule, action, outcome) in [
        ("its peer", one, peer("nip44_decrypt", "01"), ("ok", Some(1))),
        ("another peer", one, peer("nip44_decrypt", "02"), ("denied", None)),
        ("any peer", all, peer("nip44_decrypt", "02"), ("ok", Some(1))),
        ("the other direction", all, peer("nip44_encrypt", "01"), ("denied", None)),
        ("the other encryption", all, peer("nip04_decrypt", "01"), ("denied", None)),
        ("a message of its kind", unwrap, json!({"subject": "unwrap", "kind": 14}), {
            ("ok", Some(1))
        }),
        ("a message of another kind", unwrap, json!({"subject": "unwrap", "kind": 15}), {
            ("denied", None)
        }),
        ("a message is not signed", unwrap, json!({"subject": "sign", "kind": 14}), {
            ("denied", None)
        }),
    ] {
        decision(cases, comment, &[rule], &action, 1_000, outcome);
    }
    let rumors = Rule { subject: Subject::Unwrap, ..RULE };
    let action = json!({"subject": "unwrap", "kind": 27_235});
    decision(cases, "a rumor is no token", &[rumors], &action, 1_000, ("ok", Some(1)));
}

fn limits(cases: &mut Vec<Value>) {
    let note = json!({"subject": "sign", "kind": 1});
    let usage = |used, window_begin, window_used| Usage { used, window_begin, window_used };
    let uses = |used| Rule { uses: Some(3), usage: usage(used, 0, 0), ..RULE };
    let rate = |usage| Rule { rate: Some(Rate { uses: 2, window: 60 }), usage, ..RULE };
    let both = |usage| Rule { uses: Some(9), ..rate(usage) };
    for (comment, rule, now, outcome) in [
        ("the first of three uses", uses(0), 5_000, ("ok", Some(1))),
        ("the last of three uses", uses(2), 5_000, ("ok", Some(1))),
        ("no use is left", uses(3), 5_000, ("limit", Some(1))),
        ("uses are counted up to the end", Rule { usage: usage(u32::MAX, 0, 0), ..RULE }, 5_000, {
            ("ok", Some(1))
        }),
        ("the first use of a window", rate(usage(0, 0, 0)), 5_000, ("ok", Some(1))),
        ("the second in the last second", rate(usage(1, 5_000, 1)), 5_059, ("ok", Some(1))),
        ("the third in the last second", rate(usage(2, 5_000, 2)), 5_059, ("limit", Some(1))),
        ("the window has ended", rate(usage(2, 5_000, 2)), 5_060, ("ok", Some(1))),
        ("half a window has ended", rate(usage(1, 5_000, 1)), 5_060, ("ok", Some(1))),
        ("a clock before the window", rate(usage(2, 5_000, 2)), 100, ("limit", Some(1))),
        ("a use before the window counts in it", rate(usage(1, 5_000, 1)), 100, ("ok", Some(1))),
        ("a window at the end of time", rate(usage(2, u64::MAX - 1, 2)), 5_000, {
            ("limit", Some(1))
        }),
        ("a window is left, uses are not", both(usage(9, 5_000, 1)), 5_001, ("limit", Some(1))),
        ("uses are left, a window is not", both(usage(8, 5_000, 2)), 5_001, ("limit", Some(1))),
    ] {
        decision(cases, comment, &[rule], &note, now, outcome);
    }
}
