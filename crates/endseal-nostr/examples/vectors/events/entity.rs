//! Cases of references that people share: profiles, events, addresses.

use endseal_nostr::Relays;
use endseal_nostr::entity::{Address, Entity, EventReference, Profile};
use endseal_nostr::key::public_from_hex;
use serde_json::{Value, json};

use super::key::{P, off_curve};
use super::raw_bech32::{encode, from_values, values};
use super::{accepted, hex, public_key, refused};

const PROFILE: &str = "nprofile1qqsrhuxx8l9ex335q7he0f09aej04zpazpl0ne2cgukyawd24mayt8gpp4mhxue69uhhytnc9e3k7mgpz4mhxue69uhkg6nzv9ejuumpv34kytnrdaksjlyr9p";

pub(super) fn cases() -> Vec<Value> {
    let mut cases = published();
    own(&mut cases);
    malformed_text(&mut cases);
    malformed_records(&mut cases);
    cases
}

/// Returns the examples of NIP-19 and NIP-21.
fn published() -> Vec<Value> {
    let profile = json!({
        "type": "nprofile",
        "public_key": "3bf0c63fcb93463407af97a5e5ee64fa883d107ef9e558472c4eb9aaaefa459d",
        "relays": ["wss://r.x.com", "wss://djbas.sadkb.com"],
    });
    let npub = json!({
        "type": "npub",
        "public_key": "84dee6e676e5bb67b4ad4e042cf70cbd8681155db535942fcc6a0533858a7240",
    });
    let author = "32e1827635450ebb3c5a7d12c1f8e7b2b514439ac10a67eef3d9fd9c5c68e245";
    let note = json!({"type": "note", "id": author});
    vec![
        accepted("entity", "example of NIP-19", PROFILE, profile.clone()),
        accepted("uri", "the same as a URI", format!("nostr:{PROFILE}"), profile),
        accepted(
            "uri",
            "example of NIP-21",
            "nostr:npub1sn0wdenkukak0d9dfczzeacvhkrgz92ak56egt7vdgzn8pv2wfqqhrjdv9",
            npub,
        ),
        accepted("entity", "an id", encode("note", &from_hex(author)), note),
    ]
}

fn from_hex(text: &str) -> Vec<u8> {
    let digits = text.as_bytes().chunks(2).map(|pair| str::from_utf8(pair).expect("ASCII"));
    digits.map(|pair| u8::from_str_radix(pair, 16).expect("hexadecimal")).collect()
}

/// Adds entities that our encoder writes, with all records and with as few as possible.
fn own(cases: &mut Vec<Value>) {
    let key = public_from_hex(&public_key()).expect("on the curve");
    let long = format!("wss://{}", "r".repeat(249));
    let relays = ["wss://r.x.com", long.as_str()];
    let mut push = |comment: &str, entity: Entity<'_>, fields: Value| {
        let mut out = [0; 1_000];
        let text = entity.encode(&mut out).expect("it fits");
        cases.push(accepted("entity", comment, text, fields));
    };
    push(
        "no relays",
        Entity::Profile(Profile { public_key: key, relays: Relays::NONE }),
        json!({"type": "nprofile", "public_key": public_key(), "relays": []}),
    );
    push(
        "an event with all records, one relay of 255 bytes",
        Entity::Event(EventReference {
            id: [7; 32],
            relays: Relays::new(&relays),
            author: Some(key),
            kind: Some(65_535),
        }),
        json!({
            "type": "nevent",
            "id": hex(&[7; 32]),
            "relays": relays,
            "author": public_key(),
            "kind": 65_535,
        }),
    );
    push(
        "an event with its id only",
        Entity::Event(EventReference {
            id: [7; 32],
            relays: Relays::NONE,
            author: None,
            kind: None,
        }),
        json!({"type": "nevent", "id": hex(&[7; 32]), "relays": []}),
    );
    for (comment, identifier, kind) in
        [("an empty identifier", "", 10_002), ("an identifier beyond ASCII", "né 1", 30_023)]
    {
        push(
            comment,
            Entity::Address(Address { identifier, relays: Relays::NONE, author: key, kind }),
            json!({
                "type": "naddr",
                "identifier": identifier,
                "relays": [],
                "author": public_key(),
                "kind": kind,
            }),
        );
    }
    let data = [&record(9, b"new"), &record(0, &[7; 32])[..], &record(255, b"")].concat();
    let fields = json!({"type": "nevent", "id": hex(&[7; 32]), "relays": []});
    let text = encode("nevent", &data);
    cases.push(accepted("entity", "records of unknown types are ignored", text, fields));
}

fn record(kind: u8, value: &[u8]) -> Vec<u8> {
    let len = u8::try_from(value.len()).expect("short");
    [&[kind, len], value].concat()
}

fn malformed_text(cases: &mut Vec<Value>) {
    let note = encode("note", &[7; 32]);
    let mut padded = values(&[7; 32]);
    *padded.last_mut().expect("it has values") |= 1;
    let longest = |count: usize| from_values("nevent", &vec![0; count], 1);
    for (expect, comment, text) in [
        ("prefix", "empty", String::new()),
        ("prefix", "a prefix without separator", "npub".to_owned()),
        ("prefix", "another prefix", encode("bc", &[7; 32])),
        ("prefix", "nrelay, which is deprecated", encode("nrelay", &record(0, b"wss://r.x"))),
        ("secret", "a secret key", encode("nsec", &[3; 32])),
        ("secret", "a secret key in upper case", encode("nsec", &[3; 32]).to_uppercase()),
        ("length", "shorter than its checksum", "note1qqqqq".to_owned()),
        ("length", "5,001 characters", longest(5_001 - 7 - 6)),
        ("character", "mixed case", note.replacen("note1q", "note1Q", 1)),
        ("character", "a separator among the data", format!("{}1{}", &note[..20], &note[21..])),
        ("character", "not ASCII", format!("{}é{}", &note[..20], &note[22..])),
        ("checksum", "one character changed", note.replace("note1q", "note1p")),
        ("checksum", "an event id called a key", note.replace("note", "npub")),
        ("padding", "a filling bit is 1", from_values("note", &padded, 1)),
        ("padding", "seven filling bits", {
            from_values("note", &[&values(&[7; 31])[..], &[0]].concat(), 1)
        }),
        ("value-length", "31 bytes", encode("note", &[7; 31])),
        ("value-length", "33 bytes", encode("npub", &[3; 33])),
        ("key", "a key off the curve", encode("npub", &off_curve())),
    ] {
        cases.push(refused("entity", expect, comment, text));
    }
    for (expect, comment, uri) in [
        ("prefix", "no scheme", PROFILE.to_owned()),
        ("prefix", "another scheme", format!("noster:{PROFILE}")),
        ("prefix", "slashes", format!("nostr://{PROFILE}")),
        ("prefix", "scheme only", "nostr:".to_owned()),
        ("secret", "a secret key", format!("nostr:{}", encode("nsec", &[3; 32]))),
    ] {
        cases.push(refused("uri", expect, comment, uri));
    }
}

fn malformed_records(cases: &mut Vec<Value>) {
    let key = from_hex(&public_key());
    let (id, author) = (record(0, &[7; 32]), record(2, &key));
    let kind = record(3, &[0, 0, 0, 1]);
    let all = |parts: &[&[u8]]| parts.concat();
    for (expect, comment, prefix, data) in [
        ("missing", "no records", "nevent", vec![]),
        ("missing", "no id", "nevent", all(&[&author, &kind])),
        ("missing", "no key", "nprofile", record(1, b"wss://r.x")),
        ("missing", "no author", "naddr", all(&[&record(0, b"d"), &kind])),
        ("missing", "no kind", "naddr", all(&[&record(0, b"d"), &author])),
        ("missing", "no identifier", "naddr", all(&[&author, &kind])),
        ("truncated", "a type without a length", "nevent", all(&[&id, &[1]])),
        ("truncated", "a value that is cut", "nevent", all(&[&id, &[1, 5], b"wss:"])),
        ("truncated", "an unknown record that is cut", "nevent", all(&[&id, &[99, 1]])),
        ("truncated", "the id is cut", "nevent", id[..33].to_vec()),
        ("duplicate", "two ids", "nevent", all(&[&id, &id])),
        ("duplicate", "two authors", "nevent", all(&[&id, &author, &author])),
        ("duplicate", "two kinds", "naddr", all(&[&record(0, b""), &author, &kind, &kind])),
        ("value-length", "an id of 31 bytes", "nevent", record(0, &[7; 31])),
        ("value-length", "a key of 33 bytes", "nprofile", record(0, &[7; 33])),
        ("value-length", "an empty author", "nevent", all(&[&id, &record(2, b"")])),
        ("value-length", "a kind of two bytes", "nevent", all(&[&id, &record(3, &[0, 1])])),
        ("kind", "kind 65,536", "nevent", all(&[&id, &record(3, &[0, 1, 0, 0])])),
        ("key", "a key that is p", "nprofile", record(0, &P)),
        ("key", "an author off the curve", "nevent", all(&[&id, &record(2, &off_curve())])),
        ("text", "an empty relay", "nevent", all(&[&id, &record(1, b"")])),
        ("text", "a relay with a line end", "nevent", all(&[&id, &record(1, b"wss://r\n")])),
        ("text", "a relay beyond ASCII", "nevent", all(&[&id, &record(1, "wss://é".as_bytes())])),
        ("text", "not UTF-8", "naddr", all(&[&record(0, b"\xff"), &author, &kind])),
    ] {
        cases.push(refused("entity", expect, comment, encode(prefix, &data)));
    }
}
