//! Vectors of rosters. Invalid ones have valid signatures, so that another check refuses them.

use std::path::Path;

use base64ct::{Base64, Encoding as _};
use endseal_crypto::{hash, label};
use endseal_keyring::Roster;
use endseal_keyring::roster::{GroupId, Member, RosterChanges};
use endseal_testing::Vector;

use crate::identity::negated;
use crate::{LOW_ORDER, bech32m, kem_key_of_another, long, mixed_order, owner, short};

pub(crate) fn write(dir: &Path) {
    let epochs = successes(dir);
    let first = text(&epochs[0]);
    wrong_form(dir, &first);
    wrong_members(dir, &first);
    wrong_contents(dir, &first, &text(&epochs[1]));
    wrong_chain(dir, &epochs);
}

pub(crate) fn vector(scenario: &'static str, comment: &str, expect: &str, roster: &str) -> Vector {
    Vector::new(scenario, comment, expect).with("roster", roster)
}

pub(crate) fn text(roster: &Roster) -> String {
    String::from_utf8(roster.as_bytes().to_vec()).unwrap()
}

pub(crate) fn member(name: &str, n: u8) -> Member {
    Member::new(name.parse().unwrap(), owner(n).public().clone())
}

pub(crate) fn short_member(name: &str, n: u8) -> Member {
    let short: endseal_keyring::IdentityText = short(n).parse().unwrap();
    Member::new(name.parse().unwrap(), short.into_identity())
}

/// Writes the vector of a roster that is accepted.
pub(crate) fn write_ok(
    dir: &Path,
    scenario: &'static str,
    comment: &str,
    roster: &Roster,
    previous: Option<&Roster>,
) {
    let mut own = vector(scenario, comment, "ok", &text(roster));
    if let Some(previous) = previous {
        own = own.with("previous", &text(previous));
    }
    let admins: Vec<_> = roster.admins().map(|admin| admin.name().as_str()).collect();
    own.with("group", roster.group().as_str())
        .with_hex("id", roster.id().as_bytes())
        .with_number("epoch", roster.epoch())
        .with_hex("owner", roster.owner().as_bytes())
        .with_hex("signing_owner", roster.signing_owner().as_bytes())
        .with_hex("signer", roster.signer().as_bytes())
        .with("admins", &admins.join(" "))
        .with_number("members", roster.members().len() as u64)
        .with_hex("sealed_epoch_key", roster.sealed_epoch_key())
        .with_hex("context", &roster.context())
        .with_hex("digest", roster.digest().as_bytes())
        .write(dir);
}

/// Writes epochs 1, 2 and 3 of a group of `owner(1)`.
fn successes(dir: &Path) -> Vec<Roster> {
    let write = |scenario, comment, roster: &Roster, previous: Option<&Roster>| {
        write_ok(dir, scenario, comment, roster, previous);
    };
    let sign = |draft: endseal_keyring::roster::RosterDraft, sealed: &[u8]| {
        draft.sign(&owner(1), sealed).unwrap()
    };
    let create = |group: &str, members| {
        let id = GroupId::from_bytes([0xc3; 16]);
        let owner = *owner(1).public().ed25519();
        Roster::create(group.parse().unwrap(), id, owner, members).unwrap()
    };
    let members = vec![short_member("carol", 3), member("bob", 2), short_member("alice", 1)];
    let first = sign(create("team", members), b"epoch key 1");
    write("first", "three members, one of them with both keys", &first, None);

    let mut changes = RosterChanges::new();
    changes.remove("bob".parse().unwrap()).add(short_member("dave", 4));
    let second = sign(first.next_epoch(&changes).unwrap(), b"epoch key 2");
    write("second", "bob was removed, dave was added", &second, Some(&first));

    let third = sign(second.next_epoch(&RosterChanges::new()).unwrap(), b"epoch key 3");
    write("third", "another epoch key for the same members", &third, Some(&second));

    let alone = sign(create(&"g".repeat(64), vec![short_member("_", 2)]), &[0]);
    write("owner-is-no-member", "one member, not the owner", &alone, None);
    let mut changes = RosterChanges::new();
    changes.rename("crew".parse().unwrap());
    let renamed = sign(first.next_epoch(&changes).unwrap(), b"epoch key 2");
    write("renamed", "the group has another name", &renamed, Some(&first));
    vec![first, second, third]
}

/// Signs the lines before the signature of `roster` again, as `owner(n)`.
pub(crate) fn signed(roster: &str, n: u8) -> String {
    let body = &roster[..roster.find("signature ").unwrap()];
    let digest = hash::digest(body.as_bytes());
    let message = [label::ROSTER_SIGNATURE.as_str().as_bytes(), &[0], &digest].concat();
    let signature = owner(n).signing().sign(&message);
    format!("{body}signature {}\n", Base64::encode_string(signature.as_bytes()))
}

fn wrong_form(dir: &Path, good: &str) {
    let lines: Vec<&str> = good.split_inclusive('\n').collect();
    let end = good.len() - 1;
    let again = |from: &str, to: &str| {
        assert!(good.contains(from), "{from}");
        signed(&good.replace(from, to), 1)
    };
    let cases: &[(&'static str, &str, &str, String)] = &[
        ("version-2", "a later version", "version", again(" v1\n", " v2\n")),
        ("version-0", "an unknown version", "version", again(" v1\n", " v0\n")),
        ("version-01", "not decimal", "form", again(" v1\n", " v01\n")),
        ("version-none", "no version", "form", again("roster v1\n", "roster\n")),
        ("empty", "no byte", "form", String::new()),
        ("no-line-feed", "the last line feed is missing", "form", good[..end].into()),
        ("trailing-line", "an empty line at the end", "form", format!("{good}\n")),
        (
            "trailing-line-signed",
            "an empty line before the signature",
            "form",
            again("\nsignature ", "\n\nsignature "),
        ),
        ("carriage-returns", "line ends of another system", "form", good.replace('\n', "\r\n")),
        (
            "without-signature",
            "the last line is missing",
            "form",
            lines[..lines.len() - 1].concat(),
        ),
        ("epoch-twice", "a field twice", "form", again("epoch 1\n", "epoch 1\nepoch 1\n")),
        (
            "other-order",
            "epoch before id",
            "form",
            signed(&[&[lines[0], lines[1], lines[3], lines[2]], &lines[4..]].concat().concat(), 1),
        ),
        (
            "unknown-field",
            "a field that is not specified",
            "form",
            again("owner ", "note hello\nowner "),
        ),
        ("epoch-0", "epoch 0", "form", again("epoch 1\n", "epoch 0\n")),
        ("epoch-leading-zero", "a leading zero", "form", again("epoch 1\n", "epoch 01\n")),
        (
            "epoch-2-64",
            "epoch 2^64",
            "form",
            again(
                "epoch 1\nprevious none",
                &format!("epoch 18446744073709551616\nprevious {}", "0".repeat(64)),
            ),
        ),
        (
            "first-with-previous",
            "epoch 1 with a digest",
            "form",
            again("previous none", &format!("previous {}", "0".repeat(64))),
        ),
        (
            "later-without-previous",
            "epoch 2 without a digest",
            "form",
            again("epoch 1\n", "epoch 2\n"),
        ),
        (
            "id-upper-case",
            "upper-case hexadecimal",
            "form",
            again(&"c3".repeat(16), &"C3".repeat(16)),
        ),
        ("id-short", "an id of 15 bytes", "form", again(&"c3".repeat(16), &"c3".repeat(15))),
        (
            "group-upper-case",
            "capital letters in the name",
            "form",
            again("group team", "group Team"),
        ),
        (
            "owner-long",
            "the owner in the long form",
            "form",
            again(&format!("owner {}", short(1)), &format!("owner {}", long(1))),
        ),
        (
            "key-empty",
            "no epoch key",
            "form",
            again(&format!("key {}", Base64::encode_string(b"epoch key 1")), "key "),
        ),
        ("key-bits", "base64 with a bit set beyond the last byte", "form", {
            let key = Base64::encode_string(b"epoch key 1");
            again(&key, &format!("{}F=", &key[..key.len() - 2]))
        }),
        (
            "signature-short",
            "a signature of 63 bytes",
            "form",
            format!(
                "{}signature {}\n",
                &good[..good.find("signature ").unwrap()],
                Base64::encode_string(&[7; 63])
            ),
        ),
    ];
    for (scenario, comment, expect, roster) in cases {
        vector(scenario, comment, expect, roster).write(dir);
    }
}

fn wrong_members(dir: &Path, good: &str) {
    let (alice, bob, carol) = (
        format!("member alice {}\n", short(1)),
        format!("member bob {}\n", long(2)),
        format!("member carol {}\n", short(3)),
    );
    let again = |count: &str, members: &[&str]| {
        let all = format!("members 3\n{alice}{bob}{carol}");
        assert!(good.contains(&all));
        signed(&good.replace(&all, &format!("members {count}\n{}", members.concat())), 1)
    };
    let (_, minus) = negated(3);
    let low = bech32m::encode("endseal", &LOW_ORDER);
    let cases: &[(&'static str, &str, &str, String)] = &[
        ("members-too-few", "one member less than the count", "form", again("3", &[&alice, &bob])),
        (
            "members-too-many",
            "one member more than the count",
            "form",
            again("2", &[&alice, &bob, &carol]),
        ),
        ("members-none", "no member", "form", again("0", &[])),
        (
            "members-65537",
            "65,537 members announced",
            "limit",
            again("65537", &[&alice, &bob, &carol]),
        ),
        (
            "members-2-64",
            "2^64 members announced",
            "form",
            again("18446744073709551616", &[&alice, &bob, &carol]),
        ),
        ("members-unsorted", "bob before alice", "order", again("3", &[&bob, &alice, &carol])),
        (
            "members-same-line",
            "one member twice",
            "duplicate",
            again("4", &[&alice, &bob, &bob, &carol]),
        ),
        (
            "members-same-name",
            "one name, two keys",
            "duplicate",
            again("2", &[&alice, &format!("member alice {}\n", short(3))]),
        ),
        (
            "members-same-key",
            "two names, one key",
            "duplicate",
            again("2", &[&alice, &format!("member bob {}\n", short(1))]),
        ),
        (
            "members-same-key-other-form",
            "the short and the long form of one",
            "duplicate",
            again("2", &[&alice, &format!("member bob {}\n", long(1))]),
        ),
        (
            "members-same-key-other-sign",
            "A and -A",
            "duplicate",
            again("2", &[&carol, &format!("member dave {minus}\n")]),
        ),
        (
            "member-low-order",
            "the neutral element",
            "identity",
            again("1", &[&format!("member bob {low}\n")]),
        ),
        (
            "member-mixed-order",
            "a key and a point of order 8",
            "identity",
            again("1", &[&format!("member bob {}\n", mixed_order())]),
        ),
        (
            "members-same-key-other-torsion",
            "A, and the sum of A and a point of order 8",
            "identity",
            again("2", &[&bob, &format!("member dave {}\n", mixed_order())]),
        ),
        (
            "member-kem-of-another",
            "the ML-KEM-768 key of somebody else",
            "identity",
            again("1", &[&format!("member alice {}\n", kem_key_of_another())]),
        ),
        (
            "member-checksum",
            "a wrong checksum",
            "identity",
            again(
                "1",
                &[&format!("member bob {}\n", bech32m::encode_without_m("endseal", &[9; 32]))],
            ),
        ),
        ("member-without-identity", "a name alone", "form", again("1", &["member bob\n"])),
        (
            "member-name-not-valid",
            "a name that begins with a dash",
            "form",
            again("1", &[&carol.replace("carol", "-carol")]),
        ),
        (
            "member-three-words",
            "something after the identity",
            "identity",
            again("1", &[&carol.replace('\n', " admin\n")]),
        ),
    ];
    for (scenario, comment, expect, roster) in cases {
        vector(scenario, comment, expect, roster).write(dir);
    }
}

fn wrong_contents(dir: &Path, first: &str, second: &str) {
    let low = bech32m::encode("endseal", &LOW_ORDER);
    let signature = second.find("signature ").unwrap();
    let changed = |from: &str, to: &str| first.replace(from, to);
    let cases: &[(&'static str, &str, &str, String)] = &[
        ("signed-by-a-member", "bob's signature under alice's name", "signature", signed(first, 2)),
        (
            "signature-of-another-epoch",
            "the signature of the second epoch",
            "signature",
            format!("{}{}", &first[..first.find("signature ").unwrap()], &second[signature..]),
        ),
        ("signature-without-label", "the digest signed without the label", "signature", {
            let body = &first[..first.find("signature ").unwrap()];
            let signature = owner(1).signing().sign(&hash::digest(body.as_bytes()));
            format!("{body}signature {}\n", Base64::encode_string(signature.as_bytes()))
        }),
        (
            "group-changed",
            "another name, not signed",
            "signature",
            changed("group team", "group tean"),
        ),
        ("id-changed", "another id, not signed", "signature", changed("id c3", "id c4")),
        (
            "member-changed",
            "another name of a member, not signed",
            "signature",
            changed("member carol", "member chris"),
        ),
        (
            "member-replaced",
            "another key of a member, not signed",
            "signature",
            changed(&short(3), &short(5)),
        ),
        (
            "owner-replaced",
            "another owner, not signed",
            "signature",
            changed(&format!("owner {}", short(1)), &format!("owner {}", short(2))),
        ),
        (
            "key-changed",
            "another sealed epoch key, not signed",
            "signature",
            changed(&Base64::encode_string(b"epoch key 1"), &Base64::encode_string(b"epoch key 2")),
        ),
        (
            "owner-mixed-order",
            "a key and a point of order 8 as the owner",
            "identity",
            changed(&format!("owner {}", short(1)), &format!("owner {}", mixed_order())),
        ),
        (
            "owner-low-order",
            "the neutral element as the owner",
            "identity",
            changed(&format!("owner {}", short(1)), &format!("owner {low}")),
        ),
    ];
    for (scenario, comment, expect, roster) in cases {
        vector(scenario, comment, expect, roster).write(dir);
    }
}

fn wrong_chain(dir: &Path, epochs: &[Roster]) {
    let [first, second, third] = epochs else { return };
    let (first, second, third) = (text(first), text(second), text(third));
    let other_digest = {
        let at = second.find("previous ").unwrap() + 9;
        let mut changed = second.clone();
        changed.replace_range(at..at + 64, &"0".repeat(64));
        signed(&changed, 1)
    };
    let other_owner =
        signed(&second.replace(&format!("owner {}", short(1)), &format!("owner {}", short(2))), 2);
    let other_id = signed(&second.replace("id c3", "id c4"), 1);
    let other_key = signed(&second.replace(&Base64::encode_string(b"epoch key 2"), "AAAA"), 1);
    let cases: &[(&'static str, &str, &str, &str, &str)] = &[
        ("chain-rollback", "epoch 1 after epoch 2", "rollback", &first, &second),
        ("chain-gap", "epoch 3 after epoch 1", "gap", &third, &first),
        ("chain-same", "the roster that is held", "same", &second, &second),
        ("chain-fork", "epoch 2 that does not build on epoch 1", "fork", &other_digest, &first),
        ("chain-two-seconds", "two rosters for epoch 2", "fork", &other_key, &second),
        (
            "chain-other-owner",
            "bob signs the second epoch in his own name",
            "owner",
            &other_owner,
            &first,
        ),
        ("chain-other-id", "another id", "group", &other_id, &first),
    ];
    for (scenario, comment, expect, roster, previous) in cases {
        vector(scenario, comment, expect, roster).with("previous", previous).write(dir);
    }
}
