//! Rules about persons: docs/spec/node.md.

use core::slice::from_ref;
use std::path::Path;

use endseal_codec::{Body, Content, Metadata, RichMessage};
use endseal_testing::{Vector, hex};

use super::node::{NOT_CANONICAL, TIME, identity, message, text};

/// A switch with the time of its last change.
fn switch(time: u64, is_on: bool) -> u64 {
    2 * time + u64::from(is_on)
}

/// A value of the metadata, which has room for 64 rules.
fn value(rules: &[Vec<u8>]) -> Vec<u8> {
    let mut value = rules.concat();
    value.resize(64 * 64, 0);
    value
}

fn rule(identity: &[u8], switches: [u64; 4]) -> Vec<u8> {
    [identity, switches.map(u64::to_le_bytes).as_flattened()].concat()
}

/// Identities in ascending order.
fn identities(count: u8) -> Vec<[u8; 32]> {
    let mut all: Vec<_> = (10..10 + count).map(identity).collect();
    all.sort_unstable();
    all
}

/// A note of `identity(2)` with these values of the metadata.
fn note(values: &[(&str, Vec<u8>)]) -> RichMessage {
    let mut metadata = Metadata::default();
    for (key, value) in values {
        metadata.insert(key, &value[..]);
    }
    let (sender, conversation) = (identity(2), identity(2).into());
    RichMessage { sender, conversation, metadata, ..RichMessage::default() }
}

fn vector(name: &str, comment: &str, expect: &str, note: RichMessage) -> Vector {
    Vector::new(&format!("rules-{name}"), comment, expect)
        .with("kind", "rules")
        .with_hex("bytes", &message(Content::Rich(note)))
        .with_hex("sender", &identity(2))
}

pub(crate) fn write_all(dir: &Path) {
    let people = identities(80);
    let on = switch(TIME, true);
    let one = rule(&people[0], [on, 0, switch(TIME, false), 0]);
    let all: Vec<_> = people.iter().map(|it| rule(it, [0, on, 0, on])).collect();
    let last = rule(&people[0], [(1 << 54) - 1, 0, 0, 0]);
    for (name, comment, values, rules) in [
        (
            "one",
            "a person who was blocked, and is not accepted any more",
            vec![("endseal.rules.00", value(from_ref(&one)))],
            vec![&one],
        ),
        ("none", "no rules", vec![("endseal.rules.00", value(&[]))], vec![]),
        (
            "many",
            "more persons than a value has",
            vec![("endseal.rules.00", value(&all[..64])), ("endseal.rules.01", value(&all[64..]))],
            all.iter().collect(),
        ),
        (
            "last-time",
            "the latest time",
            vec![("endseal.rules.00", value(from_ref(&last)))],
            vec![&last],
        ),
    ] {
        let rules: Vec<_> = rules.into_iter().map(|it| hex(it)).collect();
        vector(name, comment, "ok", note(&values)).with("rules", &rules.join(" ")).write(dir);
    }
    let single = |rules: &[Vec<u8>]| note(&[("endseal.rules.00", value(rules))]);
    let raw = |value: Vec<u8>| note(&[("endseal.rules.00", value)]);
    let later = rule(&people[0], [1 << 54, 0, 0, 0]);
    for (name, comment, note) in [
        ("late", "a time that is too late", single(&[later])),
        ("cut", "a value that was cut", raw(value(from_ref(&one))[..4_095].to_vec())),
        ("empty", "an empty value", raw(Vec::new())),
        ("short", "a value of one rule", raw(one.clone())),
        ("nothing", "no value", note(&[])),
        ("hole", "a rule behind the end", single(&[all[0].clone(), vec![0; 64], all[1].clone()])),
        ("order", "persons in another order", single(&[all[1].clone(), all[0].clone()])),
        ("twice", "a person twice", single(&[all[0].clone(), all[0].clone()])),
        (
            "order-of-values",
            "a value that begins before the end of the one before",
            note(&[
                ("endseal.rules.00", value(&all[1..65])),
                ("endseal.rules.01", value(&all[..1])),
            ]),
        ),
        (
            "key",
            "values that do not begin with 00",
            note(&[("endseal.rules.01", value(from_ref(&one)))]),
        ),
        ("other-key", "other metadata", note(&[("endseal.replaces", value(from_ref(&one)))])),
        ("identity", "an identity that is none", single(&[rule(&NOT_CANONICAL, [on, 0, 0, 0])])),
        (
            "sender",
            "of another person",
            RichMessage { sender: identity(3), ..single(from_ref(&one)) },
        ),
        ("conversation", "for another person", {
            RichMessage { conversation: identity(3).into(), ..single(from_ref(&one)) }
        }),
        ("text", "a text with rules", {
            RichMessage { body: Some(Body::Text("noon".into())), ..single(&[one]) }
        }),
    ] {
        vector(&format!("refused-{name}"), comment, "rules", note).write(dir);
    }
    let said =
        RichMessage { sender: identity(2), conversation: identity(2).into(), ..text("noon") };
    vector("refused-plain-text", "a text", "rules", said).write(dir);
}
