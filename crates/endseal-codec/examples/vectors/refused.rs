//! Vectors of encodings that a reader must refuse, one for each error.

use std::path::Path;

use endseal_codec::{Codec, Limits, Message};

use crate::json::Vector;
use crate::raw::{
    self, attachment, bytes, entry, number, reaction, rich, rich_message, tag, typing,
};

/// Writes a vector: class, scenario, comment, encoding.
type Refuse<'a> = dyn Fn(&str, &str, &str, Vec<u8>) + 'a;

pub(crate) fn write(dir: &Path) {
    let refuse = |class: &str, scenario: &str, comment: &str, hex: Vec<u8>| {
        let verdict = Message::decode(&hex, Limits::default());
        assert_eq!(verdict.map_err(|error| error.class()), Err(class), "{scenario}");
        Vector::new(scenario, comment, class)
            .with("message", "Message")
            .with_hex("hex", &hex)
            .write(dir);
    };
    let refuse_rich = |class: &str, scenario: &str, comment: &str, more: Vec<u8>| {
        refuse(class, scenario, comment, rich_message(&[more]));
    };
    limit(dir);
    encoding(&refuse);
    values(&refuse_rich, &refuse);
    occurrences(&refuse_rich, &refuse);
    sealed(dir);
}

fn limit(dir: &Path) {
    let hex = bytes(3, typing());
    Vector::new("over_maximum", "one byte more than was agreed", "limit")
        .with("message", "Message")
        .with("maximum", hex.len() - 1)
        .with_hex("hex", &hex)
        .write(dir);
    Vector::new(
        "before_reading",
        "too long, and no message: the length is looked at first",
        "limit",
    )
    .with("message", "Message")
    .with("maximum", 3)
    .with_hex("hex", &[0xff; 4])
    .write(dir);
}

/// Writes errors of tags, varints and lengths.
fn encoding(refuse: &Refuse<'_>) {
    let whole = bytes(3, typing());
    refuse("truncated", "tag", "ends inside a tag", vec![0x9a]);
    refuse("truncated", "length", "ends inside a length", vec![0x1a, 0x80]);
    refuse("truncated", "no_length", "ends in front of a length", vec![0x1a]);
    refuse("truncated", "content", "the last byte is missing", whole[..whole.len() - 1].to_vec());
    refuse("truncated", "length_too_large", "a length of one more than there is", {
        let mut hex = whole.clone();
        hex[1] += 1;
        hex
    });
    let bomb = [tag(3, 2), raw::varint(1 << 40), typing()].concat();
    refuse("truncated", "length_bomb", "a length of 2^40", bomb);
    let bomb = [tag(3, 2), raw::varint(u64::MAX), typing()].concat();
    refuse("truncated", "length_largest", "a length of 2^64 - 1", bomb);
    let inner = bytes(3, [bytes(1, "c"), tag(2, 2), raw::varint(33), vec![2; 32]].concat());
    refuse("truncated", "inner_length", "a length that leaves its message", inner);
    let fixed = [whole.clone(), tag(99, 1), vec![0; 7]].concat();
    refuse("truncated", "unknown_fixed64", "7 of 8 bytes of an unknown field", fixed);
    let fixed = [whole.clone(), tag(99, 5), vec![0; 3]].concat();
    refuse("truncated", "unknown_fixed32", "3 of 4 bytes of an unknown field", fixed);
    let number_cut = [whole.clone(), tag(99, 0), vec![0xff; 9]].concat();
    refuse("truncated", "unknown_number", "ends inside a varint", number_cut);

    let long = [vec![0x9a, 0x00], raw::varint(typing().len() as u64), typing()].concat();
    refuse("varint", "tag_two_bytes", "a tag in two bytes instead of one", long);
    let long = [tag(3, 2), vec![0x80 | typing().len().to_le_bytes()[0], 0], typing()].concat();
    refuse("varint", "length_two_bytes", "a length in two bytes instead of one", long);
    let zero = [rich(), tag(4, 0), vec![0x80, 0]].concat();
    refuse("varint", "zero_two_bytes", "a 0 in two bytes", bytes(1, zero));
    let ten = [rich(), tag(4, 0), vec![0xff; 9], vec![2]].concat();
    refuse("varint", "above_64_bits", "2^64 and more", bytes(1, ten));
    let eleven = [rich(), tag(4, 0), vec![0xff; 10], vec![1]].concat();
    refuse("varint", "eleven_bytes", "eleven bytes", bytes(1, eleven));
    let nine = [rich(), tag(4, 0), vec![0x81; 8], vec![0]].concat();
    refuse("varint", "nine_bytes", "nine bytes instead of eight", bytes(1, nine));
    let skipped = [whole.clone(), tag(99, 0), vec![0x80, 0]].concat();
    refuse("varint", "unknown", "an unknown number in two bytes instead of one", skipped);

    refuse("tag", "zero", "field number 0", [number(0, 1), whole.clone()].concat());
    refuse("tag", "above_32_bits", "a tag of 2^32", [vec![0x80, 0x80, 0x80, 0x80, 0x10]].concat());
    for (wire, name) in [(3, "group"), (4, "group_end"), (6, "wire_6"), (7, "wire_7")] {
        let comment = format!("wire type {wire} in an unknown field");
        refuse("tag", name, &comment, [whole.clone(), tag(99, wire)].concat());
    }
    refuse("tag", "known_group", "a known field as a group", [tag(3, 3), tag(3, 4)].concat());

    refuse("type", "number_for_message", "a number where a message is", number(3, 1));
    refuse("type", "fixed_for_bytes", "eight bytes where a byte string is", {
        bytes(3, [tag(1, 1), vec![0; 8], bytes(2, [2; 32])].concat())
    });
    refuse("type", "bytes_for_number", "a byte string where a number is", {
        bytes(3, [typing(), bytes(4, [1])].concat())
    });
    refuse("type", "fixed32_for_number", "four bytes where a number is", {
        bytes(3, [typing(), tag(4, 5), vec![0; 4]].concat())
    });
}

/// Writes values outside their range, wrong lengths, and invalid text.
fn values(refuse_rich: &Refuse<'_>, refuse: &Refuse<'_>) {
    let mention = |start| bytes(9, [bytes(1, [6; 32]), number(2, start)].concat());
    refuse_rich("range", "uint32", "a uint32 of 2^32", mention(1 << 32));
    refuse("range", "bool", "a bool of 2", bytes(3, [typing(), number(3, 2)].concat()));
    let receipt = |kind| {
        bytes(2, [bytes(1, "c"), bytes(2, [2; 32]), number(3, kind), bytes(4, [1; 16])].concat())
    };
    refuse("range", "enum", "an enum value of 2^31", receipt(1 << 31));
    refuse("range", "enum_negative", "an enum value of -1", receipt(u64::MAX));

    let ids = |len| bytes(1, [bytes(1, vec![1; len]), bytes(2, "c"), bytes(3, [3; 32])].concat());
    refuse("length", "id_short", "an id of 15 bytes", ids(15));
    refuse("length", "id_long", "an id of 17 bytes", ids(17));
    let conversation = |len| bytes(3, [bytes(1, vec![b'c'; len]), bytes(2, [2; 32])].concat());
    refuse("length", "conversation_empty", "a conversation of 0 bytes", conversation(0));
    refuse("length", "conversation_long", "a conversation of 65 bytes", conversation(65));
    refuse_rich("length", "reply_to_empty", "an optional id of 0 bytes", bytes(10, ""));
    let named = |len| bytes(7, [bytes(1, vec![b'n'; len]), bytes(4, "")].concat());
    refuse_rich("length", "name_empty", "a name of 0 bytes", named(0));
    refuse_rich("length", "name_long", "a name of 256 bytes", named(256));
    let media = bytes(7, [bytes(1, "a"), bytes(2, [b'm'; 128]), bytes(4, "")].concat());
    refuse_rich("length", "media_type_long", "a media type of 128 bytes", media);
    let emoji = bytes(8, [bytes(1, [4; 32]), bytes(2, [b'e'; 65])].concat());
    refuse_rich("length", "emoji_long", "an emoji of 65 bytes", emoji);
    let blob = |location: usize, key: usize| {
        let blob = [bytes(1, [8; 32]), bytes(2, vec![b'l'; location]), bytes(3, vec![9; key])];
        bytes(7, [bytes(1, "a"), bytes(5, blob.concat())].concat())
    };
    refuse_rich("length", "location_long", "a location of 1,025 bytes", blob(1025, 0));
    refuse_rich("length", "wrapped_key_long", "a wrapped key of 257 bytes", blob(1, 257));
    let long = bytes(12, [bytes(1, [b'k'; 65]), bytes(2, "")].concat());
    refuse_rich("length", "key_long", "a map key of 65 bytes", long);
    let long = bytes(12, [bytes(1, "k"), bytes(2, [0; 4097])].concat());
    refuse_rich("length", "value_long", "a map value of 4,097 bytes", long);
    let both = bytes(8, [bytes(1, [4; 32]), bytes(2, [0xff; 65])].concat());
    refuse_rich("length", "before_utf8", "too long, and not UTF-8", both);

    for (scenario, comment, text) in [
        ("lone", "a continuation byte alone", &b"\x80"[..]),
        ("cut", "a character that is cut", b"\xe2\x82"),
        ("overlong", "a longer form of a slash", b"\xc0\xaf"),
        ("surrogate", "a surrogate", b"\xed\xa0\x80"),
        ("too_large", "above U+10FFFF", b"\xf4\x90\x80\x80"),
        ("latin1", "ISO 8859-1", b"Gr\xfc\xdfe"),
    ] {
        refuse_rich("utf8", scenario, comment, bytes(5, text));
    }
    let late = [vec![b'a'; 200], vec![0xff]].concat();
    refuse_rich("utf8", "late", "wrong at the end of a longer text", bytes(6, late));
    let key = bytes(12, [bytes(1, b"\xff"), bytes(2, "")].concat());
    refuse_rich("utf8", "key", "a map key", key);
    let edit = bytes(11, bytes(2, b"\xff"));
    refuse_rich("utf8", "edit", "the text of an edit", edit);
}

/// Writes fields that occur too often, too seldom, twice, or not at all.
fn occurrences(refuse_rich: &Refuse<'_>, refuse: &Refuse<'_>) {
    let many = |field, element: Vec<u8>, count| vec![bytes(field, element); count].concat();
    let mention = bytes(1, [6; 32]);
    let edit = bytes(2, "");
    refuse_rich("count", "attachments", "33 attachments", many(7, attachment(), 33));
    refuse_rich("count", "reactions", "257 reactions", many(8, reaction(), 257));
    refuse_rich("count", "mentions", "257 mentions", many(9, mention, 257));
    refuse_rich("count", "edits", "33 edits", many(11, edit, 33));
    let entries: Vec<u8> = (0..33).flat_map(|i| bytes(12, entry(&format!("{i:02}")))).collect();
    refuse_rich("count", "metadata", "33 map entries", entries);
    let receipt = |ids: usize| {
        bytes(2, [bytes(1, "c"), bytes(2, [2; 32]), many(4, vec![1; 16], ids)].concat())
    };
    refuse("count", "receipt_none", "a receipt of no message", receipt(0));
    refuse("count", "receipt_many", "a receipt of 1,025 messages", receipt(1025));
    let revoke = [bytes(1, "g"), bytes(3, [3; 32])].concat();
    refuse("count", "removed_none", "a revocation of nobody", bytes(5, revoke));

    let twice = bytes(3, [typing(), bytes(1, "c")].concat());
    refuse("duplicate", "bytes", "a byte string twice", twice);
    refuse_rich("duplicate", "number", "a number twice", [number(4, 1), number(4, 1)].concat());
    refuse_rich(
        "duplicate",
        "default",
        "a default value twice",
        [number(4, 0), number(4, 0)].concat(),
    );
    let bodies = [bytes(5, "a"), bytes(6, "a")].concat();
    refuse_rich("duplicate", "oneof", "two members of a oneof", bodies);
    refuse_rich("duplicate", "oneof_same", "a member of a oneof twice", bytes(5, "a").repeat(2));
    refuse_rich("duplicate", "optional", "an optional field twice", bytes(10, [7; 16]).repeat(2));
    refuse(
        "duplicate",
        "content",
        "two contents",
        [bytes(3, typing()), rich_message(&[])].concat(),
    );
    refuse("duplicate", "content_same", "one content twice", bytes(3, typing()).repeat(2));
    let parts = [bytes(3, bytes(1, "c")), bytes(3, bytes(2, [2; 32]))].concat();
    refuse("missing", "content_in_parts", "one content in two parts is not merged", parts);
    let keys =
        |keys: &[&str]| -> Vec<u8> { keys.iter().flat_map(|key| bytes(12, entry(key))).collect() };
    refuse_rich("duplicate", "key_next", "a map key twice in a row", keys(&["a", "a"]));
    refuse_rich(
        "duplicate",
        "key_later",
        "a map key twice, not in a row",
        keys(&["b", "a", "c", "b"]),
    );
    let entry_key = bytes(12, [bytes(1, "k"), bytes(1, "l")].concat());
    refuse_rich("duplicate", "key_of_entry", "a map entry with two keys", entry_key);

    refuse("missing", "empty", "a message without any field", Vec::new());
    refuse("missing", "rich_empty", "a content without any field", bytes(1, ""));
    let sender = bytes(3, bytes(1, "c"));
    refuse("missing", "sender", "a content without its sender", sender);
    let no_id = bytes(1, [bytes(2, "c"), bytes(3, [3; 32])].concat());
    refuse("missing", "id", "a message of a conversation without its id", no_id);
    refuse_rich("missing", "source", "an attachment without content", bytes(7, bytes(1, "a")));
    refuse_rich("missing", "edit_body", "an edit without text", bytes(11, number(1, 1)));
    refuse_rich("missing", "key", "a map entry without its key", bytes(12, bytes(2, "v")));
    let referenced = bytes(7, [bytes(1, "a"), bytes(5, bytes(1, [8; 32]))].concat());
    refuse_rich("missing", "location", "a reference without its location", referenced);
    let share = [bytes(1, "g"), bytes(3, [3; 32]), bytes(4, "n")].concat();
    refuse("missing", "object", "a share without its object", bytes(4, share));
    refuse("missing", "digest", "an end without its digest", bytes(8, bytes(1, [5; 16])));

    let fields = vec![number(99, 1); 65].concat();
    refuse_rich("unknown", "in_content", "65 unknown fields", fields.clone());
    let outside = [bytes(3, typing()), fields.clone()].concat();
    refuse("unknown", "beside_content", "65 unknown fields of the outermost message", outside);
    let deeper = bytes(8, [reaction(), fields].concat());
    refuse_rich("unknown", "deeper", "65 unknown fields of an element", deeper);
}

fn sealed(dir: &Path) {
    let refuse = |class: &str, scenario: &str, comment: &str, hex: Vec<u8>| {
        Vector::new(scenario, comment, class)
            .with("message", "SealedMessage")
            .with_hex("hex", &hex)
            .write(dir);
    };
    let ciphertext = || bytes(3, "c");
    refuse("missing", "scheme", "a sealed message without its scheme", ciphertext());
    let zero = [number(1, 0), ciphertext()].concat();
    refuse("missing", "scheme_zero", "a scheme of 0 is none", zero);
    refuse("missing", "ciphertext", "a sealed message without its ciphertext", number(1, 1));
    refuse("length", "ciphertext_empty", "a ciphertext of 0 bytes", {
        [number(1, 1), bytes(3, "")].concat()
    });
    let context = [number(1, 1), bytes(2, [0; 65]), ciphertext()].concat();
    refuse("length", "context_long", "a context of 65 bytes", context);
}
