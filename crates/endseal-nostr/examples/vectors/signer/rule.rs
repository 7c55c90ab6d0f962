//! Cases of rules as bytes and as text.

use endseal_nostr::policy::{
    Bound, Effect, Kinds, Pattern, RULE_LEN, Rate, Rule, Subject, Usage, parse_list,
};
use serde_json::{Value, json};

use crate::events::{accepted, hex, key, public_key, refused};

/// A rule that allows without limits.
pub(super) const RULE: Rule = Rule {
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

/// A rule that allows a log-in.
pub(super) const LOGIN: Rule = Rule {
    kinds: Kinds::one(22_242),
    bound: Bound::Scope([5; 32]),
    expires: Some(7_777_000),
    ..RULE
};

const DECRYPT: Rule = Rule { subject: Subject::Nip44Decrypt, kinds: Kinds::NONE, ..RULE };

pub(super) fn cases() -> Vec<Value> {
    let mut cases = Vec::new();
    bytes(&mut cases);
    malformed_bytes(&mut cases);
    texts(&mut cases);
    malformed_texts(&mut cases);
    lists(&mut cases);
    cases
}

fn bytes(cases: &mut Vec<Value>) {
    let rate = Some(Rate { uses: 5, window: 3_600 });
    let usage = |used, window_begin, window_used| Usage { used, window_begin, window_used };
    for (comment, rule) in [
        ("all kinds", RULE),
        ("a log-in for 90 days", LOGIN),
        ("a denial of one kind", Rule { effect: Effect::Deny, kinds: Kinds::one(4), ..RULE }),
        (
            "a log-in is asked for without scope",
            Rule { effect: Effect::Ask, kinds: Kinds::one(22_242), ..RULE },
        ),
        ("a denial of a scope has no end", Rule { effect: Effect::Deny, expires: None, ..LOGIN }),
        ("a peer", Rule { bound: Bound::Peer(peer()), ..DECRYPT }),
        (
            "all limits, in use",
            Rule {
                number: 0x0403_0201,
                made: 0x0807_0605_0403_0201,
                expires: Some(0x1807_0605_0403_0201),
                uses: Some(500),
                rate,
                usage: usage(400, 0x2807_0605_0403_0201, 5),
                subject: Subject::Unwrap,
                kinds: Kinds { first: 5, last: 15 },
                ..RULE
            },
        ),
        ("used up", Rule { uses: Some(2), usage: usage(2, 0, 0), ..RULE }),
        ("counted without a limit", Rule { usage: usage(u32::MAX, 0, 0), ..DECRYPT }),
    ] {
        rule.check().expect(comment);
        let (bound, value) = match rule.bound {
            Bound::None => ("none", None),
            Bound::Peer(peer) => ("peer", Some(hex(&peer))),
            Bound::Scope(scope) => ("scope", Some(hex(&scope))),
        };
        let fields = json!({
            "effect": rule.effect.to_string(),
            "subject": rule.subject.name(),
            "first_kind": rule.kinds.first,
            "last_kind": rule.kinds.last,
            "bound": bound,
            "value": value,
            "number": rule.number,
            // Written as text, because it is too large for numbers of JSON.
            "made": rule.made.to_string(),
            "expires": rule.expires.map(|time| time.to_string()),
            "uses": rule.uses,
            "rate": rule.rate.map(|rate| [rate.uses, rate.window]),
            "used": rule.usage.used,
            "window_begin": rule.usage.window_begin.to_string(),
            "window_used": rule.usage.window_used,
            "text": rule.pattern().to_string(),
        });
        cases.push(accepted("bytes", comment, hex(&rule.to_bytes()), fields));
    }
}

/// A change of a rule's bytes: an offset, and the bytes that are written there.
type Change = (usize, &'static [u8]);

fn malformed_bytes(cases: &mut Vec<Value>) {
    let (rule, login, decrypt) = (RULE.to_bytes(), LOGIN.to_bytes(), DECRYPT.to_bytes());
    let deny = Rule { effect: Effect::Deny, ..RULE }.to_bytes();
    let mut refuse = |expect, comment, bytes: &[u8]| {
        cases.push(refused("bytes", expect, comment, hex(bytes)));
    };
    refuse("length", "nothing", &[]);
    refuse("length", "87 bytes", &rule[..RULE_LEN - 1]);
    refuse("length", "89 bytes", &[&rule[..], &[0]].concat());
    refuse("length", "89 bytes of another version", &[&[2], &rule[..]].concat());
    let values: [(&str, &[u8; RULE_LEN], &[Change]); 36] = [
        ("effect 0", &rule, &[(1, &[0])]),
        ("effect 4", &rule, &[(1, &[4])]),
        ("subject 0", &rule, &[(2, &[0])]),
        ("subject 7", &rule, &[(2, &[7])]),
        ("bound 3", &login, &[(3, &[3])]),
        ("a first kind above the last", &rule, &[(4, &[2, 0, 1, 0])]),
        ("a kind of a subject without kinds", &decrypt, &[(4, &[1, 0, 1, 0])]),
        ("all kinds of a subject without kinds", &decrypt, &[(6, &[0xff, 0xff])]),
        ("a peer without its bound", &decrypt, &[(39, &[1])]),
        ("a peer of sign", &rule, &[(3, &[1])]),
        ("a peer of unwrap", &rule, &[(2, &[6, 1])]),
        ("a scope of all kinds", &login, &[(4, &[0, 0, 0xff, 0xff])]),
        ("a scope of kind 1", &login, &[(4, &[1, 0, 1, 0])]),
        ("a scope of two kinds", &login, &[(4, &[0xe2, 0x56, 0xe3, 0x56])]),
        ("a scope of decryption", &decrypt, &[(3, &[2])]),
        ("a scope of unwrap", &login, &[(2, &[6])]),
        ("number 0", &rule, &[(40, &[0])]),
        ("an expiry at the making", &rule, &[(52, &[0xe8, 3])]),
        ("an expiry before the making", &rule, &[(52, &[1])]),
        (
            "an allowed log-in without scope",
            &rule,
            &[(4, &[0xe2, 0x56, 0xe2, 0x56]), (52, &[0x40, 6])],
        ),
        (
            "an allowed token without scope",
            &rule,
            &[(4, &[0x63, 0x6a, 0x63, 0x6a]), (52, &[0x40, 6])],
        ),
        ("an allowed log-in without expiry", &login, &[(52, &[0, 0, 0])]),
        ("an allowed log-in for 90 days and a second", &login, &[(52, &[0xe9, 0xaa, 0x76])]),
        (
            "an allowed token for a year",
            &login,
            &[(4, &[0x63, 0x6a, 0x63, 0x6a]), (52, &[0, 0, 0xe2, 1])],
        ),
        ("a rate of no uses", &rule, &[(68, &[1])]),
        ("a rate without window", &rule, &[(64, &[1])]),
        ("used above uses", &rule, &[(60, &[1]), (72, &[2])]),
        (
            "used in the window above the rate",
            &rule,
            &[(64, &[1, 0, 0, 0, 9, 0, 0, 0, 2, 0, 0, 0, 7]), (84, &[2])],
        ),
        (
            "used in the window above used",
            &rule,
            &[(64, &[5, 0, 0, 0, 9, 0, 0, 0, 1, 0, 0, 0, 7]), (84, &[2])],
        ),
        ("a window without uses", &rule, &[(64, &[5, 0, 0, 0, 9, 0, 0, 0, 1, 0, 0, 0, 7])]),
        ("a window without a rate", &rule, &[(72, &[1, 0, 0, 0, 7]), (84, &[1])]),
        ("uses of a denial", &deny, &[(60, &[1])]),
        ("a rate of a denial", &deny, &[(64, &[1, 0, 0, 0, 9])]),
        ("a denial that was used", &deny, &[(72, &[1])]),
        ("uses of a question", &deny, &[(1, &[3]), (60, &[1])]),
        ("zeros behind the version", &[0; RULE_LEN], &[(0, &[1])]),
    ];
    for (comment, base, changes) in values {
        refuse("value", comment, &changed(base, changes));
    }
    for (comment, version) in [("version 0", 0), ("version 2", 2)] {
        refuse("version", comment, &changed(&rule, &[(0, if version == 0 { &[0] } else { &[2] })]));
    }
    refuse("version", "another version and effect", &changed(&rule, &[(0, &[0xff, 0xff])]));
}

fn changed(base: &[u8; RULE_LEN], changes: &[Change]) -> [u8; RULE_LEN] {
    let mut bytes = *base;
    for (at, value) in changes {
        bytes[*at..at + value.len()].copy_from_slice(value);
    }
    bytes
}

fn texts(cases: &mut Vec<Value>) {
    let digest = "#05050505050505050505050505050505050505050505050505050505050505ff";
    let npub = Pattern { bound: Bound::Peer(peer()), ..DECRYPT.pattern() };
    let npub = npub.to_string().replace("nip44_decrypt:", "");
    for (comment, text) in [
        ("all kinds", "sign".to_owned()),
        ("the method's name", "sign_event:1".to_owned()),
        ("kind 0", "sign:0".to_owned()),
        ("the last kind", "sign:65535".to_owned()),
        ("several kinds", "sign:30000-39999".to_owned()),
        ("all kinds by number", "unwrap:0-65535".to_owned()),
        ("two equal kinds", "unwrap:14-14".to_owned()),
        ("all peers", "nip04_encrypt".to_owned()),
        ("a peer in hexadecimal", format!("nip44_decrypt:{}", public_key())),
        ("a peer", format!("nip04_decrypt:{npub}")),
        ("a peer in upper case", format!("nip44_encrypt:{}", npub.to_uppercase())),
        ("any log-in", "sign:22242".to_owned()),
        ("a relay with a comma and a colon", "sign:22242:wss://r.x:8/a,b".to_owned()),
        ("a method and its URL", "sign:27235:GET https://x/?a=%2C#b".to_owned()),
        ("a site", "sign:27235:https://X:443/".to_owned()),
        ("a relay in another form", "sign:22242:WSS://R.X:443/".to_owned()),
        ("the digest of a scope", format!("sign_event:27235:{digest}")),
    ] {
        let pattern = Pattern::parse(&text).expect(comment);
        let rule = pattern.rule(Effect::Ask, 1, 0);
        rule.check().expect(comment);
        let fields = json!({"written": pattern.to_string(), "bytes": hex(&rule.to_bytes())});
        cases.push(accepted("text", comment, text, fields));
    }
}

fn malformed_texts(cases: &mut Vec<Value>) {
    let key = public_key();
    let off_curve = hex(&key::off_curve());
    for (expect, comment, text) in [
        ("subject", "empty", String::new()),
        ("subject", "a method that needs no rule", "ping".to_owned()),
        ("subject", "the extension's method", "nip17_unwrap_batch".to_owned()),
        ("subject", "upper case", "Sign:1".to_owned()),
        ("subject", "a space before", " sign".to_owned()),
        ("subject", "a comma behind", "sign,".to_owned()),
        ("kind", "no kind", "sign:".to_owned()),
        ("kind", "kind 65,536", "sign:65536".to_owned()),
        ("kind", "a leading zero", "sign:01".to_owned()),
        ("kind", "a sign", "sign:+1".to_owned()),
        ("kind", "a space behind a kind", "sign:1 ".to_owned()),
        ("kind", "no last kind", "sign:1-".to_owned()),
        ("kind", "three kinds", "sign:1-2-3".to_owned()),
        ("kind", "the first kind above the last", "unwrap:15-14".to_owned()),
        ("kind", "a relay without its kind", "sign:wss://r.x".to_owned()),
        ("key", "no peer", "nip44_decrypt:".to_owned()),
        ("key", "a peer in upper case", format!("nip44_decrypt:{}", key.to_uppercase())),
        ("key", "a peer off the curve", format!("nip44_decrypt:{off_curve}")),
        ("key", "a peer and more", format!("nip44_decrypt:{key}:1")),
        ("scope", "a scope of kind 1", "sign:1:wss://r.x".to_owned()),
        ("scope", "a scope of two kinds", "sign:22242-22243:wss://r.x".to_owned()),
        ("scope", "a scope of unwrap", "unwrap:22242:wss://r.x".to_owned()),
        ("scope", "no relay", "sign:22242:".to_owned()),
        ("scope", "a relay with a space", "sign:22242:wss://r.x ".to_owned()),
        ("scope", "a relay beyond ASCII", "sign:22242:wss://é".to_owned()),
        ("scope", "a URL without method", "sign:27235:https://x/a".to_owned()),
        ("scope", "a method without URL", "sign:27235:GET ".to_owned()),
        ("scope", "two spaces", "sign:27235:GET  https://x".to_owned()),
        ("scope", "a short digest", format!("sign:22242:#{}", &key[..62])),
        ("scope", "a digest in upper case", format!("sign:22242:#{}", key.to_uppercase())),
    ] {
        cases.push(refused("text", expect, comment, text));
    }
}

fn lists(cases: &mut Vec<Value>) {
    for (comment, list) in [
        ("two rules", "sign:1,nip44_decrypt"),
        ("empty items", ",sign:1,,unwrap:14,"),
        ("nothing", ""),
        ("a scope ends at the comma", "sign:22242:wss://r.x,sign:1"),
    ] {
        let written: Vec<_> =
            parse_list(list).map(|item| item.expect(comment).to_string()).collect();
        cases.push(accepted("list", comment, list, json!({"written": written})));
    }
    for (expect, comment, list) in [
        ("subject", "a scope with a comma", "sign:27235:GET https://x/a,b,sign:1"),
        ("subject", "a space behind the comma", "sign:1, sign:2"),
        ("kind", "the second of three", "sign:1,sign:x,ping"),
    ] {
        cases.push(refused("list", expect, comment, list));
    }
}

fn peer() -> [u8; 32] {
    crate::events::signing_key().public_key().to_bytes()
}
