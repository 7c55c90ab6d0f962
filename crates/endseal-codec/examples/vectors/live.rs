//! Vectors of live frames, each a stream of one frame.

use std::path::Path;

use endseal_codec::Limits;
use endseal_codec::frame::{Kind, LiveHeader};

use crate::json::Vector;
use crate::raw::varint;

pub(crate) fn write(dir: &Path) {
    accepted(dir);
    refused(dir);
}

fn accepted(dir: &Path) {
    let limits = Limits::default();
    let accept = |scenario: &str, comment: &str, header: LiveHeader, payload: &[u8]| {
        let mut out = [0; LiveHeader::MAX_LEN];
        let len = header.write(&mut out);
        let kind = match header.kind() {
            Kind::Control => "control",
            Kind::Message => "message",
            _ => "data",
        };
        let vector = Vector::new(&format!("live_{scenario}"), comment, "ok")
            .with("form", "live")
            .with_hex("hex", &[&out[..len], payload].concat())
            .with("kind", kind)
            .with("idempotent", header.is_idempotent())
            .with("sealed", header.is_sealed())
            .with("length", header.length())
            .with("sequence", header.sequence())
            .with_hex("payload", payload);
        let expected = header.sequence();
        if expected == 0 { vector } else { vector.with("expected_sequence", expected) }.write(dir);
    };
    let header = |kind, length, sequence| LiveHeader::new(kind, length, sequence, limits).unwrap();
    accept("control", "the shortest frame", header(Kind::Control, 0, 0), b"");
    accept("message", "a message", header(Kind::Message, 3, 1), b"abc");
    let sealed = header(Kind::Message, 3, 2).sealed().unwrap();
    accept("sealed", "a sealed message", sealed, b"abc");
    accept("idempotent", "may be repeated", header(Kind::Message, 3, 0).idempotent(), b"abc");
    let both = sealed.idempotent();
    accept("both", "sealed, and may be repeated", both, b"abc");
    accept("two_byte_length", "a length of two bytes", header(Kind::Data, 128, 127), &[7; 128]);
    accept("late", "the last sequence", header(Kind::Data, 1, (1 << 62) - 1), b"x");
}

fn refused(dir: &Path) {
    let refuse = |class: &str, scenario: &str, comment: &str, hex: &[u8]| {
        Vector::new(&format!("live_{scenario}"), comment, class)
            .with("form", "live")
            .with_hex("hex", hex)
    };
    let numbers = |length: u64, sequence: u64| [varint(length), varint(sequence)].concat();
    let frame = |first: u8, flags: u8, numbers: &[u8], payload: &[u8]| {
        [&[first, flags], numbers, payload].concat()
    };
    let one = numbers(1, 0);
    for version in [0_u8, 2, 15] {
        let comment = format!("version {version}");
        let hex = frame(version << 4 | 1, 0, &one, b"x");
        refuse("version", &version.to_string(), &comment, &hex).write(dir);
    }
    let two = frame(0x2f, 0xff, &[0xff; 18], b"");
    refuse("version", "first", "everything is wrong: the version is looked at first", &two)
        .write(dir);
    for kind in [3_u8, 15] {
        let hex = frame(0x10 | kind, 0, &one, b"x");
        refuse("kind", &kind.to_string(), &format!("kind {kind}"), &hex).write(dir);
    }
    for bit in 2..8 {
        let hex = frame(0x11, 1 << bit, &one, b"x");
        refuse("flags", &format!("bit_{bit}"), &format!("bit {bit} of the flags"), &hex).write(dir);
    }
    for (kind, name) in [(0x10, "control"), (0x12, "data")] {
        let hex = frame(kind, 2, &one, b"x");
        refuse("flags", &format!("sealed_{name}"), "sealed, and no message", &hex).write(dir);
    }
    let long = frame(0x12, 0, &[0x81, 0, 0], b"x");
    refuse("varint", "length", "a length in two bytes instead of one", &long).write(dir);
    let long = frame(0x12, 0, &[1, 0x80, 0], b"x");
    refuse("varint", "sequence", "a sequence in two bytes instead of one", &long).write(dir);
    let large = frame(0x12, 0, &numbers(1 << 62, 0), b"x");
    refuse("varint", "length_2_62", "a length of 2^62", &large).write(dir);
    let large = frame(0x12, 0, &numbers(1, 1 << 62), b"x");
    refuse("varint", "sequence_2_62", "a sequence of 2^62", &large).write(dir);
    let endless = frame(0x12, 0, &[0xff; 9], b"");
    refuse("varint", "endless", "nine bytes of a length, and no end", &endless).write(dir);
    let before = frame(0x12, 0, &[&varint(1 << 61)[..], &[0x80, 0]].concat(), b"x");
    refuse("varint", "before_limit", "too long, and a sequence in two bytes", &before).write(dir);
    let default = frame(0x12, 0, &numbers((1 << 20) + 1, 0), b"x");
    refuse("limit", "default", "one byte more than without agreement", &default).write(dir);
    let agreed = frame(0x12, 0, &numbers(4, 0), b"abcd");
    refuse("limit", "agreed", "one byte more than was agreed", &agreed)
        .with("maximum", 3)
        .write(dir);
    let bomb = frame(0x12, 0, &numbers((1 << 62) - 1, 0), b"x");
    refuse("limit", "bomb", "a length of 2^62 - 1", &bomb).write(dir);
    let before = frame(0x12, 0, &numbers(1 << 21, 9), b"x");
    refuse("limit", "before_sequence", "too long, and out of sequence", &before).write(dir);
    let gap = frame(0x12, 0, &numbers(1, 2), b"x");
    refuse("sequence", "gap", "a number was left out", &gap)
        .with("expected_sequence", 1)
        .write(dir);
    refuse("sequence", "again", "a number comes again", &frame(0x12, 0, &one, b"x"))
        .with("expected_sequence", 1)
        .write(dir);
    for len in 1..frame(0x12, 0, &one, b"x").len() {
        let cut = &frame(0x12, 0, &one, b"x")[..len];
        let comment = format!("the stream ends after {len} bytes");
        refuse("truncated", &format!("after_{len}"), &comment, cut).write(dir);
    }
}
