//! Vectors of encodings that a reader must accept.

use std::path::Path;

use endseal_codec::{Body, Codec, Content, Limits, Message, SealedMessage, Verdict};

use crate::json::Vector;
use crate::mapping;
use crate::raw::{self, bytes, entry, number, rich_message};
use crate::samples as sample;

pub(crate) fn write(dir: &Path) {
    canonical(dir);
    bounds(dir);
    other_encodings(dir);
    later_versions(dir);
}

fn vector(scenario: &str, comment: &str, message: &str, hex: &[u8], canonical: bool) -> Vector {
    Vector::new(scenario, comment, "ok")
        .with("message", message)
        .with_hex("hex", hex)
        .with("value", mapping::value(message, hex))
        .with("canonical", canonical)
}

/// Writes a vector of an encoding that our writer makes.
fn ours(dir: &Path, scenario: &str, comment: &str, content: impl Into<Content>) {
    let encoded = Message::from(content.into()).to_vec(Limits::default()).unwrap();
    vector(scenario, comment, "Message", &encoded, true).write(dir);
}

/// Writes a vector of an encoding that our writer does not make, but that a reader must accept.
fn others(dir: &Path, scenario: &str, comment: &str, encoded: &[u8]) {
    Message::decode(encoded, Limits::default()).unwrap();
    vector(scenario, comment, "Message", encoded, false).write(dir);
}

fn canonical(dir: &Path) {
    let rich = |body| Content::Rich(endseal_codec::RichMessage { body, ..sample::rich() });
    ours(dir, "rich_least", "only what is required", rich(None));
    ours(dir, "rich_text", "a text", rich(Some(Body::Text("Hello".into()))));
    let scripts = "\u{7f}\u{80}\u{7ff}\u{800}\u{d7ff}\u{e000}\u{ffff}\u{10000}\u{10ffff}";
    ours(
        dir,
        "rich_utf8",
        "the ends of each length of UTF-8",
        rich(Some(Body::Text(scripts.into()))),
    );
    let empty = rich(Some(Body::Text("".into())));
    ours(dir, "rich_text_empty", "a member of a oneof is written even if it is empty", empty);
    ours(dir, "rich_full", "every field", Content::Rich(sample::full_rich()));
    ours(dir, "receipt", "two messages were read", Content::Receipt(sample::receipt()));
    ours(dir, "typing", "somebody types", Content::Typing(sample::typing()));
    ours(dir, "share", "an object was shared", Content::Share(sample::share()));
    ours(
        dir,
        "revoke",
        "a member was removed; the largest epoch",
        Content::Revoke(sample::revoke()),
    );
    let offer = |size| Content::FileOffer(sample::offer(size));
    ours(dir, "file_offer", "a file of known size", offer(Some(500_000_000)));
    ours(dir, "file_offer_empty", "a size of 0 is written", offer(Some(0)));
    ours(dir, "file_offer_unknown", "a size that is not known is not written", offer(None));
    let answer = Content::FileAnswer(sample::answer(Verdict::ACCEPTED));
    ours(dir, "file_answer", "the file is wanted", answer);
    ours(dir, "file_end", "all of the file was sent", Content::FileEnd(sample::end()));
    let sealed = sample::sealed().to_vec(Limits::default()).unwrap();
    vector("sealed", "a ciphertext", "SealedMessage", &sealed, true).write(dir);
    let later = endseal_codec::Scheme::from_value(99).unwrap();
    let later = SealedMessage { scheme: later, context: [].into(), ..sample::sealed() };
    let later = later.to_vec(Limits::default()).unwrap();
    vector("sealed_other_scheme", "a scheme of a later version", "SealedMessage", &later, true)
        .write(dir);
}

/// Writes messages with the longest and the most values that are allowed.
fn bounds(dir: &Path) {
    let mut rich = sample::rich();
    rich.conversation = [0xcc; 64].into();
    rich.attachments = vec![sample::inline(); 32];
    rich.attachments[0].name = "n".repeat(255).into();
    rich.attachments[1].media_type = "m".repeat(127).into();
    ours(dir, "most_attachments", "32, and names as long as may be", Content::Rich(rich));

    let mut rich = sample::rich();
    rich.reactions = vec![sample::reaction(4, &"e".repeat(64)); 256];
    ours(dir, "most_reactions", "256 reactions of 64 bytes", Content::Rich(rich));

    let mut rich = sample::rich();
    for i in 0..32_u8 {
        rich.metadata.insert(&format!("{i:064}"), vec![i; if i == 0 { 4096 } else { 1 }]);
    }
    ours(
        dir,
        "most_metadata",
        "32 entries, keys of 64 bytes, one value of 4,096",
        Content::Rich(rich),
    );

    let mut receipt = sample::receipt();
    receipt.messages = vec![[0xee; 16]; 1024];
    ours(dir, "most_receipts", "1,024 messages", Content::Receipt(receipt));

    let encoded = Message::from(Content::Typing(sample::typing()));
    let encoded = encoded.to_vec(Limits::default()).unwrap();
    vector("maximum", "as long as was agreed", "Message", &encoded, true)
        .with("maximum", encoded.len())
        .write(dir);

    let outside = rich_message(&[
        bytes(5, "text"),
        bytes(9, [bytes(1, [6; 32]), number(2, 5), number(3, u64::from(u32::MAX))].concat()),
    ]);
    vector(
        "mention_outside",
        "a mention outside the body is the program's business",
        "Message",
        &outside,
        true,
    )
    .write(dir);
}

/// Writes other encodings of the same values.
fn other_encodings(dir: &Path) {
    let mut fields = [bytes(3, [3; 32]), bytes(5, "text"), bytes(2, "c"), bytes(1, [1; 16])];
    let reverse = bytes(1, fields.concat());
    others(dir, "order", "fields in another order", &reverse);
    fields.rotate_left(1);
    let reaction = |emoji: &str| bytes(8, [bytes(2, emoji), bytes(1, [4; 32])].concat());
    let between = [
        reaction("1"),
        fields[0].clone(),
        reaction("2"),
        fields[1].clone(),
        fields[2].clone(),
        reaction("3"),
        fields[3].clone(),
        bytes(7, raw::attachment()),
        reaction("4"),
    ];
    others(
        dir,
        "scattered",
        "elements with other fields between them",
        &bytes(1, between.concat()),
    );
    let zero = rich_message(&[number(4, 0)]);
    others(dir, "default_written", "a default value that is written", &zero);
    let empty = bytes(3, [bytes(1, "c"), bytes(2, [2; 32]), number(3, 0)].concat());
    others(dir, "false_written", "a false that is written", &empty);
    let keys = ["b", "a", "d", "c", "ab"].map(|key| bytes(12, entry(key)));
    others(dir, "metadata_order", "keys in another order", &rich_message(&keys));
    let parts = [bytes(2, "v"), bytes(1, "k")].concat();
    others(dir, "entry_order", "a map entry in another order", &rich_message(&[bytes(12, parts)]));
    let absent = rich_message(&[bytes(12, bytes(1, "k"))]);
    others(dir, "entry_value_absent", "a map entry without its value", &absent);
}

/// Writes encodings of later versions.
fn later_versions(dir: &Path) {
    let kinds = [
        number(100, 7),
        [raw::tag(101, 1), vec![1; 8]].concat(),
        bytes(102, [0xff; 3]),
        [raw::tag(103, 5), vec![2; 4]].concat(),
        number((1 << 29) - 1, u64::MAX),
    ]
    .concat();
    let inside = rich_message(&[kinds.clone(), bytes(5, "text"), number(13, 1)]);
    others(dir, "unknown_in_content", "unknown fields of all wire types, kept", &inside);
    let outside = [number(99, 1), rich_message(&[]), kinds.clone()].concat();
    others(
        dir,
        "unknown_beside_content",
        "unknown fields of the outermost message, kept",
        &outside,
    );
    others(dir, "unknown_content", "content of a later version, kept", &bytes(9, "later"));
    let deeper = bytes(8, [raw::reaction(), kinds].concat());
    others(
        dir,
        "unknown_deeper",
        "unknown fields of an element, dropped",
        &rich_message(&[deeper]),
    );
    let most = vec![number(99, 1); 64];
    others(dir, "unknown_most", "64 unknown fields", &rich_message(&most));
    let kind = [bytes(1, "c"), bytes(2, [2; 32]), number(3, (1 << 31) - 1), bytes(4, [1; 16])];
    vector(
        "enum_other",
        "an enum value without a name, kept",
        "Message",
        &bytes(2, kind.concat()),
        true,
    )
    .write(dir);
}
