//! Receipts: docs/spec/node.md.

use std::path::Path;

use endseal_codec::{Content, Receipt, ReceiptKind};
use endseal_testing::Vector;

use super::node::{TIME, UNKNOWN, field, identity, message, text};

const SERIES: [u8; 8] = [0xa5; 8];

pub(crate) fn write_all(dir: &Path) {
    receipts(dir);
    refused_receipts(dir);
    read_marks(dir);
}

fn id(number: u64) -> [u8; 16] {
    [SERIES, number.to_be_bytes()].concat().try_into().unwrap()
}

/// A receipt in which `identity(2)` confirms texts of `identity(1)`: runs from first to last.
fn receipt(runs: &[(u64, u64)]) -> Receipt {
    Receipt {
        conversation: identity(1).into(),
        sender: identity(2),
        kind: ReceiptKind::DELIVERED,
        messages: runs.iter().flat_map(|(first, last)| [id(*first), id(*last)]).collect(),
        ..Receipt::default()
    }
}

fn encoded(receipt: Receipt) -> Vec<u8> {
    message(Content::Receipt(receipt))
}

fn vector(scenario: &str, comment: &str, expect: &str, bytes: &[u8]) -> Vector {
    of_kind("receipt", scenario, comment, expect, bytes)
}

fn of_kind(kind: &str, scenario: &str, comment: &str, expect: &str, bytes: &[u8]) -> Vector {
    Vector::new(scenario, comment, expect)
        .with("kind", kind)
        .with_hex("bytes", bytes)
        .with_hex("sender", &identity(2))
        .with_hex("receiver", &identity(1))
}

/// Returns `count` runs of one text each.
fn single(count: u64) -> Vec<(u64, u64)> {
    (0..count).map(|at| (1 + 2 * at, 1 + 2 * at)).collect()
}

fn receipts(dir: &Path) {
    let plain = encoded(receipt(&[(1, 5)]));
    let most = single(32);
    let all = most.iter().map(|(first, _)| first.to_string()).collect::<Vec<_>>().join(" ");
    let timed = Receipt { timestamp: TIME, ..receipt(&[(1, 5)]) };
    for (name, comment, bytes, runs) in [
        ("plain", "the first five texts", plain.clone(), "1-5"),
        ("one", "one text", encoded(receipt(&[(7, 7)])), "7"),
        ("holes", "two holes", encoded(receipt(&[(1, 3), (5, 5), (8, 9)])), "1-3 5 8-9"),
        (
            "byte-order",
            "numbers are big-endian",
            encoded(receipt(&[(0x0102, 0x0102_0304)])),
            "258-16909060",
        ),
        ("last", "the last number", encoded(receipt(&[(1, u64::MAX)])), "1-18446744073709551615"),
        ("most", "as many runs as there may be", encoded(receipt(&most)), &all),
        ("time", "a time, which a reader does not look at", encoded(timed), "1-5"),
        ("unknown-field", "a field of a later version", [&plain[..], &UNKNOWN].concat(), "1-5"),
    ] {
        vector(&format!("receipt-{name}"), comment, "ok", &bytes)
            .with_hex("series", &SERIES)
            .with("runs", runs)
            .write(dir);
    }
}

/// Marks in which another device of `identity(2)` says that it has shown texts of `identity(1)`.
fn read_marks(dir: &Path) {
    let mark = |runs: &[(u64, u64)]| Receipt { kind: ReceiptKind::READ, ..receipt(runs) };
    let of = |name: &str, comment: &str, expect: &str, receipt: Receipt| {
        of_kind("read-mark", &format!("read-mark-{name}"), comment, expect, &encoded(receipt))
    };
    for (name, comment, runs, expected) in [
        ("plain", "the first five texts", &[(1, 5)][..], "1-5"),
        ("holes", "two holes", &[(1, 3), (5, 5), (8, 9)], "1-3 5 8-9"),
    ] {
        of(name, comment, "ok", mark(runs))
            .with_hex("series", &SERIES)
            .with("runs", expected)
            .write(dir);
    }
    let sender = identity(3);
    for (name, comment, receipt) in [
        ("kind-delivered", "texts that have arrived", receipt(&[(1, 5)])),
        ("other-sender", "of another person", Receipt { sender, ..mark(&[(1, 5)]) }),
        ("touching", "two runs without a hole", mark(&[(1, 3), (4, 5)])),
    ] {
        of(&format!("refused-{name}"), comment, "receipt", receipt).write(dir);
    }
}

fn refused_receipts(dir: &Path) {
    let plain = encoded(receipt(&[(1, 5)]));
    let of = |runs: &[(u64, u64)]| encoded(receipt(runs));
    let with_ids = |messages| encoded(Receipt { messages, ..receipt(&[]) });
    let of_kind = |kind| encoded(Receipt { kind, ..receipt(&[(1, 5)]) });
    let other = [[0x5a; 8], 5_u64.to_be_bytes()].concat().try_into().unwrap();
    let between = |sender: u8, writer: u8| {
        let (sender, conversation) = (identity(sender), identity(writer).into());
        encoded(Receipt { sender, conversation, ..receipt(&[(1, 5)]) })
    };
    let head = [field(1, &identity(1)), field(2, &identity(2)), vec![3 << 3, 1]].concat();
    let raw = |more: &[u8]| field(2, &[&head[..], more].concat());
    for (name, comment, bytes) in [
        ("other-sender", "another identity than the session proves", between(3, 1)),
        ("other-writer", "texts that another person wrote", between(2, 3)),
        ("both-swapped", "confirmed by the reader", between(1, 2)),
        ("kind-0", "no kind", of_kind(ReceiptKind::UNSPECIFIED)),
        ("kind-read", "texts that were shown", of_kind(ReceiptKind::READ)),
        ("kind-refused", "texts that were not accepted", of_kind(ReceiptKind::REFUSED)),
        ("no-ids", "no ids", raw(&[])),
        ("odd", "a run without an end", with_ids(vec![id(1), id(5), id(7)])),
        ("number-0", "a run that begins with 0", of(&[(0, 5)])),
        ("only-0", "the number 0 alone", of(&[(0, 0)])),
        ("backwards", "a run that ends before it begins", of(&[(5, 1)])),
        ("touching", "two runs without a hole", of(&[(1, 3), (4, 5)])),
        ("overlapping", "a number in two runs", of(&[(1, 3), (3, 5)])),
        ("descending", "runs in another order", of(&[(7, 8), (1, 5)])),
        ("behind-last", "a run behind the last number", of(&[(5, u64::MAX), (1, 1)])),
        ("runs-33", "33 runs", of(&single(33))),
        ("two-series", "a run of two series", with_ids(vec![id(1), other])),
        ("id-15", "an id of 15 bytes", raw(&[field(4, &id(1)), field(4, &id(5)[..15])].concat())),
        ("two-senders", "the sender twice", {
            raw(&[field(2, &identity(2)), field(4, &id(1)), field(4, &id(5))].concat())
        }),
        ("text", "a text", message(Content::Rich(text("noon")))),
        ("nothing", "no content", Vec::new()),
        ("two-contents", "two receipts in one", [&plain[..], &plain].concat()),
        ("cut", "the last byte is missing", plain[..plain.len() - 1].to_vec()),
        ("trailing-byte", "a byte that is no tag", [&plain[..], &[0]].concat()),
    ] {
        vector(&format!("receipt-refused-{name}"), comment, "receipt", &bytes).write(dir);
    }
}
