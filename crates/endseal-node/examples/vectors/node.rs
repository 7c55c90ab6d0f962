//! Payloads and texts: docs/spec/node.md.

use std::path::Path;

use endseal_codec::{
    Attachment, Body, Codec as _, Content, Limits, Message, Receipt, ReceiptKind, RichMessage,
    Source,
};
use endseal_crypto::ed25519::{Seed, SigningKey};
use endseal_testing::Vector;

pub(crate) const TIME: u64 = 1_790_000_000_000;
/// y = 1, the neutral element.
pub(crate) const NEUTRAL: [u8; 32] = {
    let mut y = [0; 32];
    y[0] = 1;
    y
};
/// y = 2, which no point on the curve has.
pub(crate) const NOT_ON_CURVE: [u8; 32] = {
    let mut y = [0; 32];
    y[0] = 2;
    y
};
/// y = p + 3.
pub(crate) const NOT_CANONICAL: [u8; 32] = {
    let mut y = [0xff; 32];
    y[0] = 0xf0;
    y[31] = 0x7f;
    y
};
/// Field 15 with an empty value, which no message of the contract has.
pub(crate) const UNKNOWN: [u8; 2] = [0x7a, 0];

pub(crate) fn write_all(dir: &Path) {
    payloads(dir);
    refused_payloads(dir);
    texts(dir);
    refused_texts(dir);
}

/// Returns the public key of the seed that is 32 times the byte `n`.
pub(crate) fn identity(n: u8) -> [u8; 32] {
    *SigningKey::from_seed(Seed::from_bytes(&[n; 32])).public_key().as_bytes()
}

pub(crate) fn address(identity: &[u8], device: u32) -> Vec<u8> {
    [identity, &device.to_le_bytes()].concat()
}

/// Encodes a length-delimited field of Protocol Buffers.
pub(crate) fn field(number: u8, content: &[u8]) -> Vec<u8> {
    let mut out = vec![number << 3 | 2];
    let mut len = content.len();
    while len >= 0x80 {
        out.push(u8::try_from(len & 0x7f).unwrap() | 0x80);
        len >>= 7;
    }
    out.push(u8::try_from(len).unwrap());
    out.extend(content);
    out
}

pub(crate) fn scheme(number: u8) -> Vec<u8> {
    vec![1 << 3, number]
}

/// Group of the payloads.
const GROUP: [u8; 16] = [
    0xa0, 0xa1, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7, 0xa8, 0xa9, 0xaa, 0xab, 0xac, 0xad, 0xae, 0xaf,
];

fn context(kind: u8, group: &[u8]) -> Vec<u8> {
    [&[kind], group].concat()
}

fn payload(context: &[u8], body: &[u8]) -> Vec<u8> {
    [scheme(3), field(2, context), field(3, body)].concat()
}

fn payloads(dir: &Path) {
    let body = [0xc3; 20];
    let of_message = context(1, &GROUP);
    let plain = payload(&of_message, &body);
    let fields = [field(3, &body), field(2, &of_message), scheme(3)].concat();
    let (zeros, ones) = ([0; 16], [0xff; 16]);
    let later = [&plain[..], &UNKNOWN].concat();
    for (name, comment, bytes, content, group, body) in [
        ("message", "a message of a group", plain, "message", GROUP, &body[..]),
        ("welcome", "a welcome", payload(&context(2, &GROUP), &body), "welcome", GROUP, &body),
        ("group-0", "any id of a group", payload(&context(1, &zeros), &body), "message", zeros, {
            &body
        }),
        ("short", "a body of one byte", payload(&context(2, &ones), &[9]), "welcome", ones, &[9]),
        ("other-order", "fields in another order", fields, "message", GROUP, &body),
        ("unknown-field", "a field of a later version", later, "message", GROUP, &body),
    ] {
        Vector::new(&format!("payload-{name}"), comment, "ok")
            .with("kind", "payload")
            .with_hex("bytes", &bytes)
            .with("content", content)
            .with_hex("group", &group)
            .with_hex("body", body)
            .write(dir);
    }
}

fn refused_payloads(dir: &Path) {
    let body = [0xc3; 20];
    let of_message = context(1, &GROUP);
    let plain = payload(&of_message, &body);
    let with_scheme = |scheme: &[u8]| [scheme, &plain[2..]].concat();
    let of_kind = |kind| payload(&context(kind, &GROUP), &body);
    let twice = [&plain[..], &field(2, &of_message)].concat();
    for (name, comment, bytes) in [
        ("empty", "nothing", Vec::new()),
        ("scheme-1", "an envelope", with_scheme(&scheme(1))),
        ("scheme-2", "a message of a session", with_scheme(&scheme(2))),
        ("scheme-0", "the scheme that no message may have", with_scheme(&scheme(0))),
        ("no-scheme", "no scheme", with_scheme(&[])),
        ("scheme-twice", "the scheme twice", with_scheme(&[scheme(3), scheme(3)].concat())),
        ("scheme-long", "the scheme in two bytes", with_scheme(&[8, 0x83, 0])),
        ("scheme-above", "2^32 + 3 as the scheme", with_scheme(&[8, 0x83, 0x80, 0x80, 0x80, 0x10])),
        ("no-context", "no context", [scheme(3), field(3, &body)].concat()),
        ("context-0", "an empty context", payload(&[], &body)),
        ("context-1", "a kind without a group", payload(&of_message[..1], &body)),
        ("context-16", "a group id of 15 bytes", payload(&of_message[..16], &body)),
        ("context-18", "a group id of 17 bytes", {
            payload(&[&of_message[..], &[0]].concat(), &body)
        }),
        ("context-twice", "the context twice", twice),
        ("kind-0", "kind 0", of_kind(0)),
        ("kind-3", "kind 3", of_kind(3)),
        ("body-empty", "an empty body", payload(&of_message, &[])),
        ("no-body", "no body", [scheme(3), field(2, &of_message)].concat()),
        ("trailing-byte", "a byte that is no tag", [&plain[..], &[0]].concat()),
        ("cut", "the last byte is missing", plain[..plain.len() - 1].to_vec()),
        ("cut-context", "the end lies in the context", plain[..12].to_vec()),
    ] {
        Vector::new(&format!("payload-refused-{name}"), comment, "frame")
            .with("kind", "payload")
            .with_hex("bytes", &bytes)
            .write(dir);
    }
}

/// A text of `identity(1)` to `identity(2)`.
fn rich(body: Option<Body>) -> RichMessage {
    RichMessage {
        id: [0x11; 16],
        conversation: identity(2).into(),
        sender: identity(1),
        timestamp: TIME,
        body,
        ..RichMessage::default()
    }
}

pub(crate) fn message(content: Content) -> Vec<u8> {
    Message::from(content).to_vec(Limits::default()).unwrap()
}

pub(crate) fn text(text: &str) -> RichMessage {
    rich(Some(Body::Text(text.into())))
}

fn texts(dir: &Path) {
    let noon = "at noon, by the river";
    let attachment = Attachment {
        name: "notes.txt".into(),
        media_type: "text/plain".into(),
        size: 2,
        source: Source::Inline((*b"hi").into()),
    };
    let with_more =
        RichMessage { attachments: vec![attachment], reply_to: Some([0x22; 16]), ..text(noon) };
    let plain = message(Content::Rich(text(noon)));
    let markdown = rich(Some(Body::Markdown("at *noon*".into())));
    let letters = "\u{e9}t\u{e9} \u{1f511}\n\"2\"";
    let timeless = RichMessage { timestamp: 0, ..text(noon) };
    let latest = RichMessage { timestamp: u64::MAX, ..text(noon) };
    for (name, comment, bytes, said, time) in [
        ("plain", "a text", plain.clone(), noon, TIME),
        ("empty", "a text without characters", message(Content::Rich(text(""))), "", TIME),
        ("letters", "letters beyond ASCII", message(Content::Rich(text(letters))), letters, TIME),
        (
            "markdown",
            "marks are shown as they are",
            message(Content::Rich(markdown)),
            { "at *noon*" },
            TIME,
        ),
        ("no-time", "the writer has no clock", message(Content::Rich(timeless)), noon, 0),
        ("last-time", "the last time", message(Content::Rich(latest)), noon, u64::MAX),
        ("more", "an attachment and an answer", message(Content::Rich(with_more)), noon, TIME),
        ("unknown-field", "a field of a later version", [&plain[..], &UNKNOWN].concat(), noon, {
            TIME
        }),
    ] {
        read_text(&format!("text-{name}"), comment, "ok", &bytes)
            .with("text", said)
            .with("time", &time.to_string())
            .write(dir);
    }
}

fn read_text(scenario: &str, comment: &str, expect: &str, bytes: &[u8]) -> Vector {
    Vector::new(scenario, comment, expect)
        .with("kind", "text")
        .with_hex("bytes", bytes)
        .with_hex("sender", &identity(1))
        .with_hex("receiver", &identity(2))
}

fn refused_texts(dir: &Path) {
    let plain = message(Content::Rich(text("noon")));
    let of = |sender: u8, receiver: u8| {
        let conversation = identity(receiver).into();
        message(Content::Rich(RichMessage {
            conversation,
            sender: identity(sender),
            ..text("noon")
        }))
    };
    let receipt = Receipt {
        conversation: identity(2).into(),
        sender: identity(1),
        kind: ReceiptKind::DELIVERED,
        messages: vec![[0x22; 16]],
        ..Receipt::default()
    };
    let head = |id: &[u8]| {
        [field(1, id), field(2, &identity(2)), field(3, &identity(1)), field(5, b"noon")].concat()
    };
    let good = head(&[0x11; 16]);
    let raw = |more: &[u8]| field(1, &[&good[..], more].concat());
    for (name, comment, bytes) in [
        ("other-sender", "another writer than the session proves", of(3, 2)),
        ("other-receiver", "written to another person", of(1, 3)),
        ("both-swapped", "written by the reader to the writer", of(2, 1)),
        ("to-itself", "written to the writer", of(1, 1)),
        ("conversation-31", "31 bytes of the reader's identity", {
            let conversation = identity(2)[..31].into();
            message(Content::Rich(RichMessage { conversation, ..text("noon") }))
        }),
        ("receipt", "a receipt", message(Content::Receipt(receipt))),
        ("later-content", "content of a later version", UNKNOWN.to_vec()),
        ("nothing", "no content", Vec::new()),
        ("no-body", "a message without a body", message(Content::Rich(rich(None)))),
        ("two-bodies", "a text and a text with marks", raw(&field(6, b"eve"))),
        ("two-texts", "two texts", raw(&field(5, b"eve"))),
        ("two-senders", "the writer twice", raw(&field(3, &identity(1)))),
        ("two-contents", "two messages in one", [&plain[..], &plain].concat()),
        ("id-15", "an id of 15 bytes", field(1, &head(&[0x11; 15]))),
        ("no-id", "no id", field(1, &good[18..])),
        ("not-utf8", "a text that is not UTF-8", {
            field(1, &[&good[..good.len() - 6], &field(5, b"no\xffn")].concat())
        }),
        ("cut", "the last byte is missing", plain[..plain.len() - 1].to_vec()),
        ("trailing-byte", "a byte that is no tag", [&plain[..], &[0]].concat()),
        ("no-message", "bytes that are none", b"\xff\xff".to_vec()),
    ] {
        read_text(&format!("text-refused-{name}"), comment, "text", &bytes).write(dir);
    }
}
