//! Records of a node: docs/spec/node.md, "Store".

use std::path::Path;

use endseal_codec::Content;
use endseal_testing::Vector;

use super::node::{NEUTRAL, NOT_CANONICAL, NOT_ON_CURVE, TIME, address, identity, message, text};

const POSITION: u64 = 1_790_000_000_000_001;
const PEER: [u8; 32] = [7; 32];

pub(crate) fn write_all(dir: &Path) {
    hubs(dir);
    refused_hubs(dir);
    rows(dir);
    refused_rows(dir);
    problems(dir);
    refused_problems(dir);
}

fn record(scenario: &str, comment: &str, expect: &str, kind: &str) -> Vector {
    Vector::new(scenario, comment, expect).with("kind", kind)
}

fn hub(version: u8, sequence: u64, time: u64, addresses: &[u8]) -> Vec<u8> {
    [&[version], &PEER[..], &sequence.to_le_bytes(), &time.to_le_bytes(), addresses].concat()
}

fn hubs(dir: &Path) {
    let one = "hub.example:4433";
    for (name, comment, sequence, time, addresses) in [
        ("new", "the hub has stored nothing", 0, 0, one),
        ("known", "two addresses", 0x0102_0304, TIME, "192.0.2.1:4433 [2001:db8::1]:4433"),
        ("last", "the last numbers", u64::MAX, u64::MAX, one),
        ("letters", "letters beyond ASCII, which a reader does not judge", 7, TIME, "h\u{fc}b:1"),
    ] {
        record(&format!("hub-{name}"), comment, "ok", "hub")
            .with_hex("name", &[])
            .with_hex("value", &hub(1, sequence, time, addresses.as_bytes()))
            .with_hex("peer", &PEER)
            .with("sequence", &sequence.to_string())
            .with("time", &time.to_string())
            .with("addresses", addresses)
            .write(dir);
    }
}

fn refused_hubs(dir: &Path) {
    let good = hub(1, 7, TIME, b"hub.example:4433");
    for (name, comment, value) in [
        ("empty", "nothing", Vec::new()),
        ("version-0", "version 0", hub(0, 7, TIME, b"hub.example:4433")),
        ("version-2", "version 2", hub(2, 7, TIME, b"hub.example:4433")),
        ("cut-peer", "31 bytes of the peer id", good[..32].to_vec()),
        ("cut-sequence", "7 bytes of the sequence", good[..40].to_vec()),
        ("cut-time", "7 bytes of the time", good[..48].to_vec()),
        ("no-addresses", "no addresses", good[..49].to_vec()),
        ("not-utf8", "addresses that are not UTF-8", hub(1, 7, TIME, b"hub\xff:4433")),
    ] {
        record(&format!("hub-refused-{name}"), comment, "record", "hub")
            .with_hex("name", &[])
            .with_hex("value", &value)
            .write(dir);
    }
}

fn row_name(first: u8, number: u64) -> Vec<u8> {
    [&[first], &identity(2)[..], &number.to_be_bytes()].concat()
}

fn row(direction: u8, writer: &[u8], time: u64, plaintext: &[u8]) -> Vec<u8> {
    [&[direction], writer, &time.to_le_bytes(), plaintext].concat()
}

fn rows(dir: &Path) {
    let plaintext = message(Content::Rich(text("noon")));
    for (name, comment, number, direction, (writer, device), time, plaintext) in [
        ("sent", "a text that was written here", 1, 0, (1, 1), TIME, &plaintext[..]),
        ("received", "one that arrived", 0x0102_0304, 1, (2, 0x0506_0708), TIME, &plaintext),
        ("last", "the last numbers", u64::MAX, 1, (2, u32::MAX), u64::MAX, &plaintext),
        ("empty", "an empty plaintext", 2, 1, (2, 1), 0, &[]),
        ("no-text", "a plaintext of another form", 3, 1, (2, 1), TIME, b"\xff"),
    ] {
        let writer = identity(writer);
        record(&format!("history-{name}"), comment, "ok", "history")
            .with_hex("name", &row_name(1, number))
            .with_hex("value", &row(direction, &address(&writer, device), time, plaintext))
            .with("number", &number.to_string())
            .with("direction", &direction.to_string())
            .with_hex("identity", &writer)
            .with("device", &device.to_string())
            .with("time", &time.to_string())
            .with_hex("plaintext", plaintext)
            .write(dir);
    }
}

fn refused_rows(dir: &Path) {
    let (name, writer) = (row_name(1, 1), address(&identity(2), 1));
    let good = row(1, &writer, TIME, b"x");
    let by = |identity: &[u8]| row(1, &address(identity, 1), TIME, b"x");
    for (scenario, comment, name, value) in [
        ("name-empty", "an empty name", &[][..], good.clone()),
        ("name-33", "a name without a number", &name[..33], good.clone()),
        ("name-40", "a name of 40 bytes", &name[..40], good.clone()),
        ("name-42", "a name of 42 bytes", &[&name[..], &[0]].concat(), good.clone()),
        ("name-first-0", "the first byte of the name is 0", &row_name(0, 1), good.clone()),
        ("name-first-2", "the first byte of the name is 2", &row_name(2, 1), good.clone()),
        ("empty", "nothing", &name, Vec::new()),
        ("direction-2", "direction 2", &name, row(2, &writer, TIME, b"x")),
        ("cut-address", "35 bytes of the address", &name, good[..36].to_vec()),
        ("cut-time", "7 bytes of the time", &name, good[..44].to_vec()),
        ("device-0", "device 0", &name, row(1, &address(&identity(2), 0), TIME, b"x")),
        ("identity-not-on-curve", "y = 2, no point", &name, by(&NOT_ON_CURVE)),
        ("identity-not-canonical", "y = p + 3", &name, by(&NOT_CANONICAL)),
        ("identity-neutral", "y = 1, of low order", &name, by(&NEUTRAL)),
    ] {
        record(&format!("history-refused-{scenario}"), comment, "record", "history")
            .with_hex("name", name)
            .with_hex("value", &value)
            .write(dir);
    }
}

fn problem(time: u64, position: u64, peer: &[u8], class: &[u8]) -> Vec<u8> {
    [&time.to_le_bytes(), &position.to_le_bytes(), peer, class].concat()
}

fn problems(dir: &Path) {
    for (name, comment, number, time, position, peer, class) in [
        ("frame", "a frame of another form", 1, TIME, POSITION, PEER, "frame"),
        ("gap", "the hub lost its memory", 0x0102_0304, TIME, 0, [0; 32], "gap-restored"),
        ("last", "the last numbers", u64::MAX, u64::MAX, u64::MAX, PEER, "old"),
        ("other", "a class that is not in the specification", 2, 0, 3, PEER, "later"),
    ] {
        record(&format!("problem-{name}"), comment, "ok", "problem")
            .with_hex("name", &u64::to_be_bytes(number))
            .with_hex("value", &problem(time, position, &peer, class.as_bytes()))
            .with("number", &number.to_string())
            .with("time", &time.to_string())
            .with("position", &position.to_string())
            .with_hex("peer", &peer)
            .with("class", class)
            .write(dir);
    }
}

fn refused_problems(dir: &Path) {
    let name = 1_u64.to_be_bytes();
    let of = |class: &[u8]| problem(TIME, POSITION, &PEER, class);
    let good = of(b"frame");
    for (scenario, comment, name, value) in [
        ("name-7", "a name of 7 bytes", &name[..7], good.clone()),
        ("name-9", "a name of 9 bytes", &[&name[..], &[0]].concat(), good.clone()),
        ("empty", "nothing", &name, Vec::new()),
        ("cut-time", "7 bytes of the time", &name, good[..7].to_vec()),
        ("cut-position", "7 bytes of the position", &name, good[..15].to_vec()),
        ("cut-peer", "31 bytes of the peer id", &name, good[..47].to_vec()),
        ("no-class", "an empty class", &name, good[..48].to_vec()),
        ("capital", "a capital letter in the class", &name, of(b"Frame")),
        ("space", "a space in the class", &name, of(b"no session")),
        ("digit", "a digit in the class", &name, of(b"frame2")),
        ("line-feed", "a line feed behind the class", &name, of(b"frame\n")),
        ("letter", "a letter beyond ASCII in the class", &name, of("fr\u{e4}me".as_bytes())),
        ("not-utf8", "a class that is not UTF-8", &name, of(b"frame\xff")),
    ] {
        record(&format!("problem-refused-{scenario}"), comment, "record", "problem")
            .with_hex("name", name)
            .with_hex("value", &value)
            .write(dir);
    }
}
