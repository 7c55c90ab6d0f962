//! Vectors of invitations to a hub.

use std::path::Path;

use endseal_testing::Vector;

use crate::{bech32m, owner};

const PREFIX: &str = "endsealjoin";
const ADDRESSES: &str = "hub.example.org:4433 192.0.2.7:4433 [2001:db8::7]:4433";

pub(crate) fn write(dir: &Path) {
    let vector = |scenario: &str, comment: &str, expect: &str, text: &str| {
        let scenario = format!("invitation-{scenario}");
        Vector::new(&scenario, comment, expect).with("kind", "invitation").with("input", text)
    };
    let payload = |version: u8, addresses: &[u8]| {
        [&[version][..], &[0x11; 32], &[0x22; 32], &[0], addresses].concat()
    };
    let inviter = *owner(1).public().ed25519().as_bytes();
    let by = |name: &[u8], identity: &[u8; 32], addresses: &[u8]| {
        let len = [u8::try_from(name.len()).unwrap()];
        let parts = [&[1][..], &[0x11; 32], &[0x22; 32], &len, name, identity, addresses];
        bech32m::encode(PREFIX, &parts.concat())
    };
    for (scenario, comment, name) in [
        ("by-alice", "the name and identity of who invites", "alice".to_owned()),
        ("by-longest", "a name of 64 characters", "a".repeat(64)),
    ] {
        vector(scenario, comment, "ok", &by(name.as_bytes(), &inviter, b"h:1"))
            .with_hex("hub", &[0x11; 32])
            .with_hex("token", &[0x22; 32])
            .with("name", &name)
            .with_hex("identity", &inviter)
            .with("addresses", "h:1")
            .write(dir);
    }
    let low_order = {
        let mut key = [0; 32];
        key[0] = 1;
        key
    };
    for (scenario, comment, expect, text) in [
        ("by-capital", "a name with a capital", "inviter", by(b"Alice", &inviter, b"h:1")),
        ("by-65", "a name of 65 characters", "inviter", by(&[b'a'; 65], &inviter, b"h:1")),
        ("by-low-order", "the neutral element", "inviter", by(b"alice", &low_order, b"h:1")),
        ("by-no-addresses", "nothing behind it", "addresses", by(b"alice", &inviter, b"")),
    ] {
        vector(scenario, comment, expect, &text).write(dir);
    }
    let text = |addresses: &[u8]| bech32m::encode(PREFIX, &payload(1, addresses));
    let longest = format!("{}:1", "h".repeat(253));
    for (scenario, comment, addresses) in [
        ("three", "a hub at three addresses", ADDRESSES),
        ("shortest", "the shortest address", "h:1"),
        ("longest", "255 bytes of addresses", &longest),
    ] {
        vector(scenario, comment, "ok", &text(addresses.as_bytes()))
            .with_hex("hub", &[0x11; 32])
            .with_hex("token", &[0x22; 32])
            .with("addresses", addresses)
            .write(dir);
    }
    let good = text(b"h:1");
    for (scenario, comment, addresses) in [
        ("no-port", "an address without a port", &b"hub.example.org"[..]),
        ("no-host", "an address without a host", b":4433"),
        ("port-0", "port 0", b"hub:0"),
        ("port-65536", "port 65,536", b"hub:65536"),
        ("port-sign", "a port with a sign", b"hub:+1"),
        ("two-spaces", "two spaces between two", b"a:1  b:2"),
        ("space-behind", "a space at the end", b"a:1 "),
        ("line-feed", "a line feed within", b"a\n:1"),
        ("not-ascii", "a letter beyond ASCII", "\u{e9}:1".as_bytes()),
        ("not-utf-8", "no text", b"\xff:1"),
    ] {
        vector(scenario, comment, "addresses", &text(addresses)).write(dir);
    }
    let with_version = |version| bech32m::encode(PREFIX, &payload(version, b"h:1"));
    let mut replaced = good.clone();
    let at = good.len() - 9;
    replaced.replace_range(at..=at, if &good[at..=at] == "q" { "p" } else { "q" });
    for (scenario, comment, expect, text) in [
        ("version-0", "version 0", "version", with_version(0)),
        ("version-2", "version 2", "version", with_version(2)),
        ("typing-error", "another character", "checksum", replaced),
        ("truncated", "the last character is missing", "length", good[..good.len() - 1].into()),
        ("no-addresses", "nothing behind the token", "length", text(b"")),
        ("too-long", "256 bytes of addresses", "length", text(format!("h{longest}").as_bytes())),
        ("upper-case", "all in upper case", "character", good.to_uppercase()),
        ("capital", "a capital letter", "character", good.replacen("1q", "1Q", 1)),
        ("other-prefix", "a peer id", "prefix", bech32m::encode("endsealpeer", &[1; 32])),
        (
            "padding",
            "a bit of padding is set",
            "padding",
            bech32m::encode_with_padding(PREFIX, &payload(1, b"h:1")),
        ),
    ] {
        vector(scenario, comment, expect, &text).write(dir);
    }
}
