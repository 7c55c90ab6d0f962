//! Files and series of messages: docs/spec/transfer.md.

use std::fs;
use std::path::Path;

use endseal_codec::frame::{Kind, LiveHeader};
use endseal_codec::{
    Body, Codec as _, Content, FileAnswer, FileEnd, FileOffer, Limits, Message, Receipt,
    ReceiptKind, RichMessage, Unknown, Verdict,
};
use endseal_crypto::hash;
use serde_json::{Value, json};

const TRANSFER: [u8; 16] = [0x11; 16];
const NAME: &str = "notes.txt";
const CONTENT: &[u8] = b"at noon, by the river";
const LIMIT: usize = 64;

pub(crate) fn write_all(dir: &Path) {
    fs::create_dir_all(dir).unwrap();
    successes(dir);
    order(dir);
    offers(dir);
    contents(dir);
    ends(dir);
    series(dir);
}

/// A message of a conversation, with 16 times `id` as its id.
fn text(id: u8, conversation: &str, text: &str) -> Content {
    Content::Rich(RichMessage {
        id: [id; 16],
        conversation: conversation.as_bytes().into(),
        sender: [2; 32],
        body: Some(Body::Text(text.into())),
        ..RichMessage::default()
    })
}

fn receipt() -> Content {
    Content::Receipt(Receipt {
        conversation: (*b"c").into(),
        sender: [2; 32],
        kind: ReceiptKind::DELIVERED,
        messages: vec![[1; 16]],
        ..Receipt::default()
    })
}

fn series(dir: &Path) {
    let vector = |scenario: &str, comment: &str, expect: &str, texts: &[&str], frames: Frames| {
        let more = [("kind", "series".into()), ("texts", texts.into())];
        write(dir, scenario, comment, expect, &[], frames, &more);
    };
    let one = || Frames::new().message(&text(1, "c", "hello"));
    let two = || one().message(&text(2, "c", "again"));
    let ok =
        |scenario, comment, texts: &[&str], frames| vector(scenario, comment, "ok", texts, frames);
    ok("series-one", "one message", &["hello"], one());
    ok("series-plain", "two messages of a conversation", &["hello", "again"], two());
    let other = two().message(&text(3, "d", "elsewhere")).message(&text(4, "c", "back"));
    let texts = ["hello", "again", "elsewhere", "back"];
    ok("series-two-conversations", "two conversations", &texts, other);
    let order = |scenario, comment, frames| vector(scenario, comment, "order", &["hello"], frames);
    order("series-receipt", "a receipt of the sender", one().message(&receipt()));
    order("series-data", "content of a file", one().data(CONTENT));
    order("series-offer", "a file behind a message", one().offer(NAME, None));
    order("series-control", "a control frame", one().frame(Kind::Control, false, b"x"));
    let again = Message::from(text(2, "c", "again")).to_vec(Limits::default()).unwrap();
    order("series-sealed", "a sealed frame", one().frame(Kind::Message, true, &again));
    order("series-later-version", "a message that only a later version knows", {
        one().frame(Kind::Message, false, &[0x7a, 0])
    });
    let none = one().frame(Kind::Message, false, b"\xff\xff");
    vector("series-no-message", "bytes that are none", "message", &["hello"], none);
}

fn successes(dir: &Path) {
    let ok = |scenario, comment, name: &str, content: &[u8], frames| {
        let (name, content) = (name.into(), hex(content).into());
        let more = [("name", name), ("content", content)];
        write(dir, scenario, comment, "ok", &["ACCEPTED", "STORED"], frames, &more);
    };
    ok("plain", "one frame of content", NAME, CONTENT, plain());
    let pieces = Frames::new().offer(NAME, Some(21)).data(&CONTENT[..1]).data(&CONTENT[1..20]);
    let pieces = pieces.data(&CONTENT[20..]).end(CONTENT);
    ok("pieces", "three frames of content", NAME, CONTENT, pieces);
    let unknown = Frames::new().offer(NAME, None).data(CONTENT).end(CONTENT);
    ok("unknown-size", "the offer has no size", NAME, CONTENT, unknown);
    let empty = Frames::new().offer("empty", Some(0)).end(b"");
    ok("empty-file", "no frame of content", "empty", b"", empty);
    let full = [7; LIMIT];
    let at_limit = Frames::new().offer(NAME, None).data(&full).end(&full);
    ok("at-the-limit", "as large as is allowed", NAME, &full, at_limit);
    let name = "\u{e9}t\u{e9} 2026 (1).txt";
    let frames = Frames::new().offer(name, Some(21)).data(CONTENT).end(CONTENT);
    ok("name-with-blanks", "blanks, brackets and letters beyond ASCII", name, CONTENT, frames);
}

/// The frames of a valid file transfer.
fn plain() -> Frames {
    Frames::new().offer(NAME, Some(21)).data(CONTENT).end(CONTENT)
}

fn order(dir: &Path) {
    let refused = |scenario, comment, answers: &[&str], frames| {
        write(dir, scenario, comment, "order", answers, frames, &[]);
    };
    refused("data-first", "content before the offer", &[], Frames::new().data(CONTENT));
    refused("end-first", "an end before the offer", &[], Frames::new().end(b""));
    let answer =
        FileAnswer { transfer: TRANSFER, verdict: Verdict::ACCEPTED, unknown: Unknown::default() };
    let answer = Content::FileAnswer(answer);
    refused("answer-first", "an answer of the sender", &[], Frames::new().message(&answer));
    refused("receipt-first", "a receipt", &[], Frames::new().message(&receipt()));
    let rich = text(1, "c", "hello");
    let offered = || Frames::new().offer(NAME, Some(21));
    refused("second-offer", "two offers", &["ACCEPTED"], offered().offer(NAME, Some(21)));
    refused("rich-in-content", "a message in the content", &["ACCEPTED"], offered().message(&rich));
    refused("control-in-content", "a control frame", &["ACCEPTED"], {
        offered().frame(Kind::Control, false, CONTENT)
    });
    refused("sealed-end", "a sealed frame", &["ACCEPTED"], {
        let end = end(CONTENT, 21);
        offered().data(CONTENT).frame(Kind::Message, true, &end)
    });
    refused("data-after-end", "content after the end", &["ACCEPTED"], plain().data(CONTENT));
    refused("two-ends", "two ends", &["ACCEPTED"], plain().end(CONTENT));
    // Field 15 with an empty value: content of a later version.
    refused("later-version", "a message that only a later version knows", &["ACCEPTED"], {
        offered().frame(Kind::Message, false, &[0x7a, 0])
    });
    let skip = plain().skipping(1);
    write(dir, "sequence-gap", "a frame was left out", "sequence", &["ACCEPTED"], skip, &[]);
    let mut twice = plain();
    twice.frames[2] = twice.frames[1].clone();
    let comment = "the same frame twice";
    write(dir, "sequence-twice", comment, "sequence", &["ACCEPTED"], twice, &[]);
}

fn offers(dir: &Path) {
    for (scenario, comment, name) in [
        ("name-path", "a path", "notes/today.txt"),
        ("name-absolute", "an absolute path", "/etc/passwd"),
        ("name-backslash", "a path of another system", "notes\\today.txt"),
        ("name-dot", "this folder", "."),
        ("name-dot-dot", "the folder above", ".."),
        ("name-hidden", "what a shell reads when it starts", ".profile"),
        ("name-nul", "a NUL", "notes\0.txt"),
        ("name-escape", "what commands a terminal", "notes\u{1b}[2J.txt"),
        ("name-c1", "the same in one character", "notes\u{9b}2J.txt"),
        ("name-line-feed", "two lines", "notes\n.txt"),
    ] {
        let frames = Frames::new().offer(name, Some(21)).data(CONTENT).end(CONTENT);
        write(dir, scenario, comment, "name", &["REFUSED"], frames, &[]);
    }
    let large = Frames::new().offer(NAME, Some(LIMIT as u64 + 1));
    write(dir, "offer-too-large", "above the limit", "large", &["TOO_LARGE"], large, &[]);
    let message = |scenario, comment, payload: &[u8]| {
        let frames = Frames::new().frame(Kind::Message, false, payload);
        write(dir, scenario, comment, "message", &[], frames, &[]);
    };
    message("no-message", "bytes that are none", b"\xff\xff");
    message("name-empty", "an empty name", &raw_offer(b""));
    message("name-256", "a name of 256 bytes", &raw_offer(&[b'x'; 256]));
    message("name-not-utf8", "a name that is not UTF-8", &raw_offer(b"\xff"));
}

fn contents(dir: &Path) {
    let refused = |scenario, comment, expect, answers: &[&str], frames| {
        write(dir, scenario, comment, expect, answers, frames, &[]);
    };
    let offered = |size| Frames::new().offer(NAME, size);
    let too_large = &["ACCEPTED", "TOO_LARGE"];
    refused("more-than-offered", "one byte more than offered", "large", too_large, {
        offered(Some(20)).data(CONTENT).end(CONTENT)
    });
    let full = [7; LIMIT];
    refused("more-than-allowed", "one byte above the limit", "large", too_large, {
        offered(None).data(&full).data(b"8")
    });
    refused("empty-frame", "a frame of content without content", "empty", &["ACCEPTED"], {
        offered(Some(21)).data(b"").data(CONTENT).end(CONTENT)
    });
    let damaged = &["ACCEPTED", "DAMAGED"];
    refused("less-than-offered", "one byte less than offered", "damaged", damaged, {
        offered(Some(22)).data(CONTENT).end(CONTENT)
    });
    refused("changed", "another byte than the digest has", "damaged", damaged, {
        offered(Some(21)).data(b"at noon, by the River").end(CONTENT)
    });
    let wrong_size = end(CONTENT, 20);
    refused("wrong-size", "the end has another size", "damaged", damaged, {
        offered(None).data(CONTENT).frame(Kind::Message, false, &wrong_size)
    });
}

fn ends(dir: &Path) {
    let end = FileEnd {
        transfer: [0x22; 16],
        size: 21,
        digest: hash::digest(CONTENT),
        unknown: Unknown::default(),
    };
    let other = Frames::new().offer(NAME, Some(21)).data(CONTENT);
    let other = other.message(&Content::FileEnd(end));
    write(dir, "other-transfer", "another transfer's end", "transfer", &["ACCEPTED"], other, &[]);
    let truncated = |scenario, comment, answers: &[&str], frames| {
        write(dir, scenario, comment, "truncated", answers, frames, &[]);
    };
    let offered = || Frames::new().offer(NAME, Some(21));
    truncated("cut-after-offer", "nothing but the offer", &["ACCEPTED"], offered());
    truncated("cut-in-content", "half of the content", &["ACCEPTED"], {
        offered().data(&CONTENT[..10])
    });
    truncated("cut-before-end", "all but the end", &["ACCEPTED"], offered().data(CONTENT));
}

/// The frames of one stream, with valid numbers.
struct Frames {
    frames: Vec<Vec<u8>>,
    next: u64,
}

impl Frames {
    fn new() -> Self {
        Self { frames: Vec::new(), next: 0 }
    }

    fn frame(mut self, kind: Kind, sealed: bool, payload: &[u8]) -> Self {
        let header = LiveHeader::new(kind, payload.len(), self.next, Limits::default()).unwrap();
        let header = if sealed { header.sealed().unwrap() } else { header };
        let mut out = [0; LiveHeader::MAX_LEN];
        let len = header.write(&mut out);
        self.frames.push([&out[..len], payload].concat());
        self.next += 1;
        self
    }

    fn message(self, content: &Content) -> Self {
        let bytes = Message::from(content.clone()).to_vec(Limits::default()).unwrap();
        self.frame(Kind::Message, false, &bytes)
    }

    fn offer(self, name: &str, size: Option<u64>) -> Self {
        let offer = FileOffer {
            transfer: TRANSFER,
            name: name.into(),
            size,
            timestamp: 951_782_400_000,
            unknown: Unknown::default(),
        };
        self.message(&Content::FileOffer(offer))
    }

    fn data(self, content: &[u8]) -> Self {
        self.frame(Kind::Data, false, content)
    }

    fn end(self, content: &[u8]) -> Self {
        let message = end(content, content.len() as u64);
        self.frame(Kind::Message, false, &message)
    }

    fn skipping(mut self, index: usize) -> Self {
        self.frames.remove(index);
        self
    }
}

fn end(content: &[u8], size: u64) -> Vec<u8> {
    let digest = hash::digest(content);
    let end = FileEnd { transfer: TRANSFER, size, digest, unknown: Unknown::default() };
    Message::from(Content::FileEnd(end)).to_vec(Limits::default()).unwrap()
}

/// Encodes an offer with a name that the codec would refuse to write.
fn raw_offer(name: &[u8]) -> Vec<u8> {
    let field = |number: u8, content: &[u8]| {
        let mut len = content.len();
        let mut out = vec![number << 3 | 2];
        while len >= 0x80 {
            out.push(u8::try_from(len & 0x7f).unwrap() | 0x80);
            len >>= 7;
        }
        out.push(u8::try_from(len).unwrap());
        out.extend(content);
        out
    };
    field(6, &[field(1, &TRANSFER), field(2, name)].concat())
}

fn write(
    dir: &Path,
    scenario: &str,
    comment: &str,
    expect: &str,
    answers: &[&str],
    frames: Frames,
    more: &[(&str, Value)],
) {
    let frames: Vec<_> = frames.frames.iter().map(|frame| hex(frame)).collect();
    let answers: Vec<_> = answers.iter().map(|name| format!("VERDICT_{name}")).collect();
    let mut vector = json!({
        "comment": comment, "expect": expect, "kind": "file", "limit": LIMIT, "frames": frames,
        "answers": answers,
    });
    for (name, value) in more {
        vector[name] = value.clone();
    }
    let text = serde_json::to_string_pretty(&vector).unwrap() + "\n";
    fs::write(dir.join(scenario).with_extension("json"), text).unwrap();
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
