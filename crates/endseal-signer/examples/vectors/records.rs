//! Vectors of settings, users, apps, rules and heads.

use std::path::Path;

use endseal_crypto::random::{Random, RandomError};
use endseal_crypto::sha256;
use endseal_nostr::encrypted_key::{EncryptedKey, Handling, TEXT_LEN};
use endseal_nostr::key::SecretKey;

use crate::kind::{Kind, relays, text8};

pub(crate) const NOW: u64 = 1_784_700_000;
/// x = 5, which is not the x-coordinate of a point on the curve.
const NOT_ON_CURVE: [u8; 32] = {
    let mut bytes = [0; 32];
    bytes[31] = 5;
    bytes
};

pub(crate) fn write(dir: &Path) {
    settings(dir);
    user(dir);
    app(dir);
    app_stages(dir);
    rule(dir);
    head(dir);
}

/// Random source whose bytes count up.
struct Counter(u8);

impl Random for Counter {
    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), RandomError> {
        for byte in bytes {
            self.0 = self.0.wrapping_add(1);
            *byte = self.0;
        }
        Ok(())
    }
}

fn secret(byte: u8) -> SecretKey {
    SecretKey::from_bytes(&[byte; 32]).unwrap()
}

fn public(byte: u8) -> [u8; 32] {
    secret(byte).public_key().to_bytes()
}

fn settings(dir: &Path) {
    let value_with = |next: u32, relays: &[u8], refuses_nip04: u8| {
        let numbers = [NOW - 700, 9].map(u64::to_le_bytes).concat();
        [&[1][..], &numbers, &next.to_le_bytes(), relays, &[refuses_nip04]].concat()
    };
    let value = |next, relays: &[u8]| value_with(next, relays, 0);
    let two = relays(&["wss://relay.example.com", "ws://[::1]:7777/path"]);
    let kind = Kind { dir, kind: "settings", name: Vec::new(), value: value(7, &two) };
    let floor = (NOW - 700).to_string();
    let fields_with = |next, relays, refuses_nip04| {
        let numbers = [("floor", floor.as_str()), ("first_line", "9"), ("next_app", next)];
        [&numbers[..], &[("relays", relays), ("refuses_nip04", refuses_nip04)]].concat()
    };
    let fields = |next, relays| fields_with(next, relays, "false");
    let both = "[\"wss://relay.example.com\", \"ws://[::1]:7777/path\"]";
    kind.ok("two-relays", "settings with two relays", &kind.value, &fields("7", both));
    kind.ok("first", "no app was made, there are no relays", &value(1, &[0]), &fields("1", "[]"));
    let strict = value_with(1, &[0], 1);
    kind.ok("strict", "NIP-04 is refused", &strict, &fields_with("1", "[]", "true"));
    kind.refused("flag-2", "another flag", "value", &value_with(1, &[0], 2));
    kind.lengths();
    kind.version(0);
    kind.refused("line-0", "the first line is 0", "value", &kind.with(9, &[0; 8]));
    kind.refused("next-0", "the next app has number 0", "value", &value(0, &two));
    let nine = relays(&["wss://a"; 9]);
    kind.refused("nine-relays", "nine relays", "value", &value(7, &nine));
    let empty = relays(&["wss://a", ""]);
    kind.refused("empty-relay", "a relay is empty", "value", &value(7, &empty));
    let not_text = [1, 2, 0xc3, 0x28];
    kind.refused("not-utf-8", "a relay is not UTF-8", "value", &value(7, &not_text));
    let mut cut = value(7, &[2, 1, 65]);
    // The flag behind them could be the length of the second.
    cut.pop();
    kind.refused("too-few-relays", "one of two relays is there", "length", &cut);
}

fn user(dir: &Path) {
    let random = &mut Counter(0);
    let encrypted = EncryptedKey::seal(&secret(1), "correct", 16, Handling::Untracked, random);
    let mut text = [0; TEXT_LEN];
    encrypted.unwrap().write_text(&mut text).unwrap();
    let text = str::from_utf8(&text).unwrap();
    let value = |label: &str, text: &str| {
        [&[1][..], &NOW.to_le_bytes(), &text8(label), text.as_bytes()].concat()
    };
    let name = public(1).to_vec();
    let kind = Kind { dir, kind: "user", name, value: value("main", text) };
    let made = NOW.to_string();
    let (made, quoted) = (("made", made.as_str()), format!("\"{text}\""));
    let encrypted = ("ncryptsec", quoted.as_str());
    let comment = "a user; the passphrase of its key is 'correct'";
    kind.ok("plain", comment, &kind.value, &[made, ("label", "\"main\""), encrypted]);
    let longest = "l".repeat(64);
    let quoted = format!("\"{longest}\"");
    let fields = [made, ("label", quoted.as_str()), encrypted];
    kind.ok("longest-label", "a label of 64 bytes", &value(&longest, text), &fields);
    let next = EncryptedKey::seal(&secret(1), "next", 16, Handling::Untracked, random);
    let mut next_text = [0; TEXT_LEN];
    next.unwrap().write_text(&mut next_text).unwrap();
    let next = str::from_utf8(&next_text).unwrap();
    let comment = "the passphrase changes from 'correct' to 'next'";
    let quoted = format!("\"{next}\"");
    let fields = [made, ("label", "\"main\""), encrypted, ("next_ncryptsec", quoted.as_str())];
    kind.ok("changing", comment, &value("main", &format!("{text}{next}")), &fields);
    let upper = format!("{text}{}", next.to_uppercase());
    let comment = "the next ncryptsec is in upper case";
    kind.refused("changing-upper-case", comment, "value", &value("main", &upper));
    let long = value("main", &format!("{text}{next}q"));
    kind.refused("changing-long", "a byte behind the next ncryptsec", "length", &long);
    kind.lengths();
    kind.version(0);
    kind.refused_name("not-a-key", "the name is no public key", "value", &NOT_ON_CURVE);
    let long = "l".repeat(65);
    kind.refused("long-label", "a label of 65 bytes", "value", &value(&long, text));
    let upper = text.to_uppercase();
    kind.refused("upper-case", "ncryptsec in upper case", "value", &value("main", &upper));
    let last = if text.ends_with('q') { "p" } else { "q" };
    let changed = format!("{}{last}", &text[..TEXT_LEN - 1]);
    kind.refused("checksum", "the checksum is wrong", "value", &value("main", &changed));
}

/// Offsets of the fields of an app.
const APP_STATE: usize = 5;
const APP_FLOW: usize = 6;
const APP_USER: usize = 7;
const APP_TRANSPORT: usize = 39;
const APP_CLIENT: usize = 71;
const APP_UNTIL: usize = 143;
const APP_ENDED: usize = 159;
const APP_TEXTS: usize = 167;

/// Encodes the fields of an app before its texts.
fn app_head(state: u8, flow: u8, client: &[u8; 32], until: u64, ended: u64) -> Vec<u8> {
    let numbers = [NOW, until, NOW + 86_400, ended].map(u64::to_le_bytes).concat();
    let keys = [public(1), [2; 32], *client, sha256::digest(b"0s8j2djs")].concat();
    [&[1, 5, 0, 0, 0, state, flow][..], &keys, &numbers].concat()
}

fn app_texts() -> Vec<u8> {
    let texts = ["phone", "Client", "https://client.example.com"].map(text8).concat();
    [texts, asked(0, ""), relays(&["wss://relay.example.com"])].concat()
}

/// Encodes the flags of an app, and the permissions that its client asks for.
fn asked(flags: u8, wishes: &str) -> Vec<u8> {
    let len = u16::try_from(wishes.len()).unwrap().to_le_bytes();
    [&[flags][..], &len, wishes.as_bytes()].concat()
}

fn app_kind(dir: &Path) -> Kind<'_> {
    let value = [app_head(2, 1, &public(3), NOW + 600, 0), app_texts()].concat();
    Kind { dir, kind: "app", name: public(2).to_vec(), value }
}

fn app(dir: &Path) {
    let kind = app_kind(dir);
    kind.lengths();
    kind.version(0);
    kind.refused("number-0", "number 0", "value", &kind.with(1, &[0; 4]));
    kind.refused("state-0", "state 0", "value", &kind.with(APP_STATE, &[0]));
    kind.refused("state-5", "state 5", "value", &kind.with(APP_STATE, &[5]));
    kind.refused("flow-0", "flow 0", "value", &kind.with(APP_FLOW, &[0]));
    kind.refused("flow-3", "flow 3", "value", &kind.with(APP_FLOW, &[3]));
    let value = kind.with(APP_USER, &NOT_ON_CURVE);
    kind.refused("user-not-a-key", "the user key is on no point", "value", &value);
    let value = kind.with(APP_TRANSPORT, &[0; 32]);
    kind.refused("transport-0", "the transport key is zero", "value", &value);
    let value = kind.with(APP_TRANSPORT, &[0xff; 32]);
    kind.refused("transport-above-n", "the transport key is not below n", "value", &value);
    let value = kind.with(APP_CLIENT, &NOT_ON_CURVE);
    kind.refused("client-not-a-key", "the client key is on no point", "value", &value);
    let comment = "the name is the public key of another transport key";
    kind.refused_name("another-name", comment, "value", &public(4));

    let with = |texts: &[u8]| [&kind.value[..APP_TEXTS], texts].concat();
    let long = "n".repeat(65);
    let first = with(&[text8(&long), text8(""), text8(""), asked(0, ""), relays(&[])].concat());
    kind.refused("long-name", "a name of 65 bytes", "value", &first);
    let second = with(&[text8(""), text8(&long), text8(""), asked(0, ""), relays(&[])].concat());
    kind.refused("long-claimed-name", "a claimed name of 65 bytes", "value", &second);
    let behind = |asked: Vec<u8>, relays: Vec<u8>| {
        with(&[text8(""), text8(""), text8(""), asked, relays].concat())
    };
    let nine = behind(asked(0, ""), relays(&["wss://a"; 9]));
    kind.refused("nine-relays", "nine relays", "value", &nine);
    let flags = behind(asked(4, ""), relays(&[]));
    kind.refused("flags-4", "an unknown flag", "value", &flags);
    let long = behind(asked(0, &"x".repeat(1_025)), relays(&[]));
    kind.refused("long-wishes", "permissions of 1,025 bytes", "value", &long);
    let cut = with(&[text8(""), text8(""), text8(""), vec![0, 5, 0, b'x']].concat());
    kind.refused("cut-wishes", "permissions that are cut", "length", &cut);
    let not_text = with(&[&[2, 0xed, 0xa0][..], &[0, 0, 0, 0, 0, 0]].concat());
    kind.refused("not-utf-8", "a name that is not UTF-8", "value", &not_text);
}

/// Vectors of the states and flows of apps, and of fields that do not fit them.
fn app_stages(dir: &Path) {
    let kind = app_kind(dir);
    let (none, client, until) = ([0; 32], public(3), NOW + 600);
    let value = |state, flow, client: &[u8; 32], until, ended| {
        [app_head(state, flow, client, until, ended), app_texts()].concat()
    };
    for (what, comment, state, flow, client, until, ended) in [
        ("invited", "invited", 1, 1, none, until, 0),
        ("paired", "paired by bunker://", 2, 1, client, until, 0),
        ("connected", "paired by nostrconnect://", 2, 2, client, 0, 0),
        ("revoked-unpaired", "revoked before it was paired", 3, 1, none, until, NOW),
        ("logged-out", "logged out", 4, 2, client, 0, NOW),
    ] {
        let numbers = [5, state.into(), flow.into(), until, ended].map(|it: u64| it.to_string());
        let names = ["number", "state", "flow", "invitation_expires", "ended"];
        let mut fields: Vec<_> =
            names.into_iter().zip(numbers.iter().map(String::as_str)).collect();
        fields.extend([
            ("app_name", "\"phone\""),
            ("claimed_name", "\"Client\""),
            ("claimed_url", "\"https://client.example.com\""),
            ("flags", "0"),
            ("wishes", "\"\""),
            ("relays", "[\"wss://relay.example.com\"]"),
        ]);
        kind.ok(what, comment, &value(state, flow, &client, until, ended), &fields);
        if what == "paired" {
            let texts = ["phone", "Client", "https://client.example.com"].map(text8).concat();
            let wishes = "sign_event:1,nip44_encrypt,é";
            let value = [
                app_head(state, flow, &client, until, ended),
                texts,
                asked(3, wishes),
                relays(&["wss://relay.example.com"]),
            ];
            let quoted = format!("\"{wishes}\"");
            for (name, field) in &mut fields {
                match *name {
                    "flags" => *field = "3",
                    "wishes" => *field = &quoted,
                    _ => {}
                }
            }
            kind.ok("legacy", "encrypts by NIP-04 to the user key", &value.concat(), &fields);
        }
    }
    for (what, comment, state, flow, client, until, ended) in [
        ("invited-client", "invited, with a client", 1, 1, client, until, 0),
        ("invited-ended", "invited, with an end", 1, 1, none, until, NOW),
        ("invited-connected", "invited by nostrconnect://", 1, 2, none, 0, 0),
        ("paired-nobody", "paired without a client", 2, 1, none, until, 0),
        ("paired-ended", "paired, with an end", 2, 1, client, until, NOW),
        ("revoked-endless", "revoked without an end", 3, 1, client, until, 0),
        ("revoked-nobody", "revoked, nostrconnect:// without a client", 3, 2, none, 0, NOW),
        ("logged-out-nobody", "logged out without a client", 4, 1, none, until, NOW),
        ("logged-out-endless", "logged out without an end", 4, 1, client, until, 0),
        ("bunker-endless", "bunker:// without an end of the invitation", 2, 1, client, 0, 0),
        ("connected-invited", "nostrconnect:// with an invitation", 2, 2, client, until, 0),
    ] {
        kind.refused(what, comment, "value", &value(state, flow, &client, until, ended));
    }
    assert_eq!(kind.value[APP_UNTIL..][..8], until.to_le_bytes());
    assert_eq!(kind.value[APP_ENDED..][..8], [0; 8]);
}

fn rule(dir: &Path) {
    let mut value = vec![0; 88];
    // Allows signatures of kind 1, without an expiry or a limit.
    value[..8].copy_from_slice(&[1, 1, 1, 0, 1, 0, 1, 0]);
    value[40] = 3;
    value[44..52].copy_from_slice(&NOW.to_le_bytes());
    let name = |number: u32| [&public(2)[..], &number.to_be_bytes()].concat();
    let kind = Kind { dir, kind: "rule", name: name(3), value };
    kind.ok("plain", "rule 3 of an app", &kind.value, &[("number", "3")]);
    // Five uses in total and two in 60 seconds; three were used, one of them in the current window.
    let limits = [5_u32, 2, 60, 3].map(u32::to_le_bytes).concat();
    let window = [&(NOW + 1).to_le_bytes()[..], &1_u32.to_le_bytes()].concat();
    let limited = kind.with(60, &[limits, window].concat());
    kind.ok("limited", "a rule with uses and a rate", &limited, &[("number", "3")]);
    let used = kind.with(60, &[1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]);
    kind.refused("used-up", "two of one use", "value", &used);
    kind.refused("effect-0", "effect 0", "value", &kind.with(1, &[0]));
    kind.refused("subject-7", "subject 7", "value", &kind.with(2, &[7]));
    kind.refused("peer-of-sign", "a peer of a signature", "value", &kind.with(3, &[1]));
    kind.refused("kinds", "the first kind is above the last", "value", &kind.with(4, &[2]));
    let expired = kind.with(52, &NOW.to_le_bytes());
    kind.refused("expired", "it expires when it is made", "value", &expired);
    kind.lengths();
    kind.version(0);
    kind.refused_name("another-name", "the name has another number", "value", &name(4));
    let number = kind.with(40, &[0; 4]);
    let kind = Kind { name: name(0), value: number, ..kind };
    kind.refused("number-0", "number 0", "value", &kind.value);
}

fn head(dir: &Path) {
    let value = [&9_u64.to_le_bytes()[..], &[8; 32]].concat();
    let kind = Kind { dir, kind: "head", name: Vec::new(), value };
    kind.ok("plain", "the last line is 9", &kind.value, &[("number", "9")]);
    kind.lengths();
    kind.refused("number-0", "number 0", "value", &kind.with(0, &[0; 8]));
}
