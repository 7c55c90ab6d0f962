//! Vectors of session files (docs/spec/session-file.md).

use std::path::Path;

use endseal_crypto::hash;
use endseal_crypto::label::SESSION_FILE_ID;
use endseal_testing::{Vector, hex};

use crate::{NEUTRAL, NOT_CANONICAL, NOT_ON_CURVE, ed25519};

const HEADER: &[u8] = b"endseal msgs v1\n";

/// Encoded record, with the fields that a reader must return.
struct Record {
    bytes: Vec<u8>,
    kind: &'static str,
    id: String,
    sender: String,
    recipient: String,
    message: String,
}

fn address(identity: [u8; 32], device: u32) -> Vec<u8> {
    [&identity[..], &device.to_le_bytes()].concat()
}

fn id_of(message: &[u8]) -> [u8; 16] {
    let mut id = [0; 16];
    hash::derive_into(SESSION_FILE_ID, &[message], &mut id);
    id
}

fn welcome(sender: &[u8], recipient: &[u8], message: &[u8]) -> Record {
    let id = id_of(message);
    let len = u32::try_from(message.len()).unwrap().to_le_bytes();
    Record {
        bytes: [&[3][..], &id, sender, recipient, &len, message].concat(),
        kind: "3",
        id: hex(&id),
        sender: hex(sender),
        recipient: hex(recipient),
        message: hex(message),
    }
}

fn group(id: &[u8], message: &[u8]) -> Record {
    let message_id = id_of(message);
    let len = u32::try_from(message.len()).unwrap().to_le_bytes();
    let n = u8::try_from(id.len()).unwrap();
    Record {
        bytes: [&[2][..], &message_id, &[n], id, &len, message].concat(),
        kind: "2",
        id: hex(&message_id),
        sender: hex(id),
        recipient: "-".to_owned(),
        message: hex(message),
    }
}

/// Makes the vector of a file: whole records and the bytes that follow them.
fn vector(
    scenario: &'static str,
    comment: &str,
    expect: &str,
    records: &[&Record],
    rest: &[u8],
) -> Vector {
    let bytes: Vec<u8> = records.iter().flat_map(|record| record.bytes.clone()).collect();
    let list = |field: fn(&Record) -> String| {
        records.iter().map(|record| field(record)).collect::<Vec<_>>().join(" ")
    };
    Vector::new(scenario, comment, expect)
        .with_hex("file", &[HEADER, &bytes, rest].concat())
        .with_number("records", records.len() as u64)
        .with("kinds", &list(|it| it.kind.to_owned()))
        .with("ids", &list(|it| it.id.clone()))
        .with("senders", &list(|it| it.sender.clone()))
        .with("recipients", &list(|it| it.recipient.clone()))
        .with("messages", &list(|it| it.message.clone()))
}

/// Makes the vector of a file that is refused before its first record.
fn headless(scenario: &'static str, comment: &str, expect: &str, bytes: &[u8]) -> Vector {
    let empty = ["kinds", "ids", "senders", "recipients", "messages"];
    let vector = Vector::new(scenario, comment, expect).with_hex("file", bytes);
    empty.into_iter().fold(vector.with_number("records", 0), |vector, field| vector.with(field, ""))
}

/// Returns `bytes` with one field replaced.
fn replaced(bytes: &[u8], at: usize, field: &[u8]) -> Vec<u8> {
    crate::replaced(bytes, at, field)
}

pub(crate) fn write(dir: &Path) {
    let (alice, bob) = (address(ed25519(1), 1), address(ed25519(2), u32::MAX));
    let team = group(b"team", b"to the team");
    let back = group(b"team", &[0xb0; 300]);
    let short = group(&[0], &[0]);
    let long = group(&[7; 63], b"a long name");
    let welcome = welcome(&alice, &bob, b"a welcome");
    for (scenario, comment, records) in [
        ("empty", "no record", &[][..]),
        ("one", "one message of a group", &[&team][..]),
        ("some", "messages of two groups, one of them twice", &[&team, &back, &long, &team][..]),
        ("welcome", "a welcome between messages", &[&team, &welcome, &team][..]),
        ("group-ids", "the shortest and the longest id of a group", &[&short, &long][..]),
    ] {
        vector(scenario, comment, "ok", records, &[]).write(dir);
    }
    for (scenario, comment, expect, bytes) in [
        ("nothing", "an empty file", "truncated", &b""[..]),
        ("header-cut", "the header ends early", "truncated", &HEADER[..15]),
        ("header-other", "another file", "header", b"endseal store k1"),
        ("header-other-short", "another file, shorter than the header", "header", b"endseal s"),
        ("version-2", "another version", "version", b"endseal msgs v2\n"),
        ("version-10", "a version of two digits", "version", b"endseal msgs v10\n"),
        ("version-crlf", "CR before the line feed", "version", b"endseal msgs v1\r\n"),
    ] {
        headless(scenario, comment, expect, bytes).write(dir);
    }
    let good = &welcome.bytes;
    let cases: &[(&'static str, &str, &str, Vec<u8>)] = &[
        ("kind-0", "kind 0", "kind", replaced(good, 0, &[0])),
        ("kind-1", "kind 1, and nothing behind it", "kind", vec![1]),
        ("kind-4", "kind 4, and nothing behind it", "kind", vec![4]),
        ("key-not-on-curve", "the sender's y = 2", "key", replaced(good, 17, &NOT_ON_CURVE)),
        (
            "key-not-canonical",
            "the recipient's y = p + 3",
            "key",
            replaced(good, 53, &NOT_CANONICAL),
        ),
        (
            "key-neutral",
            "the recipient is the neutral element",
            "key",
            replaced(good, 53, &NEUTRAL),
        ),
        ("device-0", "the sender's device is 0", "device", replaced(good, 49, &[0; 4])),
        (
            "device-0-recipient",
            "the recipient's device is 0",
            "device",
            replaced(good, 85, &[0; 4]),
        ),
        ("group-0", "a group without an id", "group", replaced(&team.bytes, 17, &[0])),
        ("group-64", "an id of 64 bytes", "group", replaced(&team.bytes, 17, &[64])),
        ("length-0", "an empty message", "length", replaced(&team.bytes, 22, &[0; 4])),
        (
            "length-1048577",
            "a message of 1 MiB and a byte, of which nothing is there",
            "length",
            [&team.bytes[..22], &1_048_577_u32.to_le_bytes()].concat(),
        ),
        ("length-max", "the greatest number as length", "length", replaced(good, 89, &[0xff; 4])),
        ("welcome-length-0", "an empty welcome", "length", replaced(good, 89, &[0; 4])),
        (
            "welcome-length-16777217",
            "a welcome of 16 MiB and a byte, of which nothing is there",
            "length",
            [&good[..89], &16_777_217_u32.to_le_bytes()].concat(),
        ),
        (
            "welcome-length-16777216",
            "a welcome of 16 MiB, of which nothing is there",
            "truncated",
            [&good[..89], &16_777_216_u32.to_le_bytes()].concat(),
        ),
        ("cut-kind", "cut behind the kind", "truncated", good[..1].to_vec()),
        ("cut-address", "cut within an address", "truncated", good[..60].to_vec()),
        ("cut-length", "cut within the length", "truncated", good[..92].to_vec()),
        ("cut-message", "cut before the last byte", "truncated", good[..good.len() - 1].to_vec()),
        ("cut-group", "cut within the id of a group", "truncated", team.bytes[..20].to_vec()),
    ];
    for (scenario, comment, expect, rest) in cases {
        vector(scenario, comment, expect, &[&back], rest).write(dir);
    }
}
