//! Writes `vectors/envelope/*.json` to the given directory: one scenario in each file, always the
//! same bytes. Run by `cargo xtask vectors`.
#![allow(clippy::expect_used, reason = "a generator that cannot go on stops")]

use core::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

use endseal_crypto::ed25519::Seed;
use endseal_crypto::hash;
use endseal_crypto::identity::Identity;
use endseal_crypto::mlkem768;
use endseal_envelope::hazmat::{Derandomized, seal};
use endseal_envelope::{Decoys, Recipients, Sealer, Suite};

mod recipe;

const TIME: u64 = 1_767_225_600_000;
const CONTEXT: &[u8] = b"endseal/vectors@v1";

fn main() {
    let out = env::args_os().nth(1).expect("usage: vectors DIRECTORY");
    let out = Path::new(&out).join("envelope");
    fs::create_dir_all(&out).expect("the output directory can be made");
    let mut files = Vec::new();
    successes(&mut files);
    clear_failures(&mut files);
    authentication_failures(&mut files);
    recipe::recipes(&mut files);
    for (name, json) in files {
        fs::write(out.join(format!("{name}.json")), json).expect("the file can be written");
    }
}

type Files = Vec<(String, String)>;

pub(crate) fn identity(i: u8) -> Identity {
    Identity::from_seeds(Seed::from_bytes(&[i; 32]), mlkem768::Seed::from_bytes(&[i; 64]))
}

/// A scenario before it is written to a file.
struct Case {
    comment: &'static str,
    expect: &'static str,
    reader: u8,
    with_kem: bool,
    suite: Suite,
    context: Vec<u8>,
    envelope: Vec<u8>,
    content: Option<Vec<u8>>,
    time: u64,
}

impl Case {
    fn json(&self) -> String {
        let mut json = String::from("{\n");
        let mut field = |name: &str, value: String| {
            let comma = if json.ends_with("{\n") { "" } else { ",\n" };
            write!(json, "{comma}  \"{name}\": {value}").expect("a string can be written to");
        };
        field("comment", quoted(self.comment));
        field("expect", quoted(self.expect));
        field("context", hex(&self.context));
        field("ed25519_seed", hex(&[self.reader; 32]));
        if self.with_kem {
            field("mlkem768_seed", hex(&[self.reader; 64]));
        }
        if let Some(content) = &self.content {
            field("suite", quoted(self.suite.name()));
            field("sender", hex(identity(1).public().ed25519().as_bytes()));
            field("message_id", hex(&values().message_id[..]));
            field("time", self.time.to_string());
            if content.len() <= 4096 {
                field("content", hex(content));
            }
            field("content_blake3", hex(&hash::digest(content)));
            field("content_length", content.len().to_string());
        }
        field("envelope", hex(&self.envelope));
        json.push_str("\n}\n");
        json
    }
}

fn quoted(text: &str) -> String {
    format!("\"{text}\"")
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    let digits = bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a string can be written to");
        text
    });
    quoted(&digits)
}

pub(crate) fn values() -> Derandomized<'static> {
    Derandomized {
        ephemeral: &[0xe1; 32],
        material: &[0xc3; 32],
        salt: &[0x5a; 24],
        message_id: &[0x1d; 16],
        stream: &[0x57; 32],
    }
}

fn content(len: usize) -> Vec<u8> {
    (0..len).map(|i| u8::try_from(i % 251).expect("below 251")).collect()
}

struct Message {
    recipients: Vec<u8>,
    suite: Suite,
    decoys: Decoys,
    time: u64,
    context: &'static [u8],
    len: usize,
}

impl Default for Message {
    fn default() -> Self {
        Self {
            recipients: vec![2, 3, 4],
            suite: Suite::X25519,
            decoys: Decoys::None,
            time: TIME,
            context: CONTEXT,
            len: 100,
        }
    }
}

impl Message {
    fn seal(&self) -> Vec<u8> {
        let sender = identity(1);
        let identities: Vec<_> = self.recipients.iter().map(|&i| identity(i)).collect();
        let recipients = Recipients::from_identities(identities.iter().map(Identity::public))
            .expect("made keys are valid");
        let sealer = Sealer::new(&sender, &recipients, self.context)
            .suite(self.suite)
            .decoys(self.decoys)
            .time(self.time);
        seal(&sealer, &content(self.len), &values()).expect("a vector can be sealed")
    }

    fn ok(&self, comment: &'static str, reader: u8) -> Case {
        Case {
            comment,
            expect: "ok",
            reader,
            with_kem: self.suite == Suite::X25519MlKem768,
            suite: self.suite,
            context: self.context.to_vec(),
            envelope: self.seal(),
            content: Some(content(self.len)),
            time: self.time,
        }
    }

    fn fail(
        &self,
        comment: &'static str,
        expect: &'static str,
        edit: impl FnOnce(&mut Vec<u8>),
    ) -> Case {
        let mut envelope = self.seal();
        edit(&mut envelope);
        Case { expect, envelope, content: None, ..self.ok(comment, 2) }
    }
}

fn successes(files: &mut Files) {
    let mut add = |name: &str, case: Case| files.push((name.into(), case.json()));
    let one = || Message { recipients: vec![2], ..Message::default() };
    add("ok_one_recipient", one().ok("one recipient", 2));
    add("ok_three_first", Message::default().ok("three recipients, one of them reads", 2));
    add("ok_three_second", Message::default().ok("three recipients, another one reads", 3));
    add("ok_three_third", Message::default().ok("three recipients, the last one reads", 4));
    add("ok_empty_content", Message { len: 0, ..one() }.ok("no content: one empty block", 2));
    add("ok_empty_context", Message { context: b"", ..one() }.ok("no context", 2));
    add("ok_no_time", Message { time: 0, ..one() }.ok("the time is not stated", 2));
    let repeated = Message { recipients: vec![2, 3, 2, 2], ..Message::default() };
    add("ok_duplicates", repeated.ok("a recipient named three times has one slot", 2));
    let many = Message { recipients: (2..102).collect(), ..Message::default() };
    add("ok_100_recipients", many.ok("one hundred recipients", 77));
    let padded = Message { decoys: Decoys::PowerOfTwo, ..Message::default() };
    add("ok_decoys", padded.ok("three recipients in eight slots", 3));
    for (name, comment, len) in [
        (
            "ok_one_chunk_full",
            "content, prelude and signature fill one chunk: a second is empty",
            16_264,
        ),
        ("ok_one_chunk_almost", "one byte less than a full chunk", 16_263),
        ("ok_two_chunks", "one byte more than a full chunk", 16_265),
        ("ok_signature_split", "the signature lies across two chunks", 16_300),
    ] {
        add(name, Message { len, ..one() }.ok(comment, 2));
    }
    for (suite, name) in [(Suite::X25519Compact, "compact"), (Suite::X25519MlKem768, "hybrid")] {
        let suite = || Message { suite, ..Message::default() };
        let name = |rest: &str| format!("ok_{name}_{rest}");
        add(&name("three"), suite().ok("three recipients in another suite", 3));
        add(&name("one"), Message { recipients: vec![2], ..suite() }.ok("one recipient", 2));
        let decoys = Message { decoys: Decoys::PowerOfTwo, ..suite() };
        add(&name("decoys"), decoys.ok("three recipients in eight slots", 4));
    }
    add(
        "ok_context_longest",
        Message { context: &[b'c'; 1024], ..one() }.ok("a context of 1,024 bytes", 2),
    );
    let mut inserted = Message::default().ok("a relay added a slot of random bytes", 3);
    insert_slots(&mut inserted.envelope, [0x80, 0, 0, 0], &[[0x33; 32]]);
    add("ok_slot_inserted", inserted);
    add("ok_view", view(&Message::default(), 2));
    let hybrid = Message { suite: Suite::X25519MlKem768, ..Message::default() };
    add("ok_hybrid_view", view(&hybrid, 2));
}

/// Inserts slots between the others, so that tags stay in order, and increases the count.
fn insert_slots(envelope: &mut Vec<u8>, tag: [u8; 4], bodies: &[[u8; 32]]) {
    let count = usize::from(envelope[96]);
    let (tags, rest) = envelope[100..].split_at(4 * count);
    let (tags, _) = tags.as_chunks::<4>();
    let at = tags.partition_point(|other| *other < tag);
    let (own_bodies, chunks) = rest.split_at(32 * count);
    let total = u32::try_from(count + bodies.len()).expect("few");
    *envelope = [
        &envelope[..96],
        &total.to_le_bytes(),
        tags[..at].as_flattened(),
        &tag.repeat(bodies.len()),
        tags[at..].as_flattened(),
        &own_bodies[..32 * at],
        bodies.as_flattened(),
        &own_bodies[32 * at..],
        chunks,
    ]
    .concat();
}

/// Returns the view of the reader's slot, which is the one that opens.
fn view(message: &Message, reader: u8) -> Case {
    use endseal_envelope::{Envelope, Opener, Policy};
    let whole = message.seal();
    let envelope = Envelope::parse(&whole).expect("it was just sealed");
    let identity = identity(reader);
    let opener = Opener::new(&identity, message.context);
    let view = (0..envelope.slots())
        .filter_map(|i| envelope.view(i))
        .find(|view| opener.open(view, &mut Policy::new()).is_ok())
        .expect("one of the slots is the reader's");
    let case = message.ok("one slot cut from an envelope to three", reader);
    Case { envelope: view, ..case }
}

fn clear_failures(files: &mut Files) {
    let mut add = |name: &str, expect: &'static str, comment, edit: fn(&mut Vec<u8>)| {
        let case = Message::default().fail(comment, expect, edit);
        files.push((format!("{expect}_{name}"), case.json()));
    };
    add("magic", "header", "another magic", |e| e[0] ^= 1);
    add("empty", "header", "no bytes at all", Vec::clear);
    add("short", "header", "the fixed header lacks its last byte", |e| e.truncate(99));
    add("truncated_tags", "header", "the tags are cut short", |e| e.truncate(100 + 11));
    add("truncated_bodies", "header", "the bodies are cut short", |e| e.truncate(100 + 107));
    add("no_slots", "header", "no slot is announced", |e| e[96..100].fill(0));
    add("reserved_first", "header", "a reserved bit", |e| e[6] = 1);
    add("reserved_second", "header", "a reserved bit", |e| e[7] = 0x80);
    add("epk_p", "header", "the ephemeral key is p, which is zero", |e| {
        e[8] = 0xed;
        e[9..39].fill(0xff);
        e[39] = 0x7f;
    });
    add("epk_top_bit", "header", "the top bit of the ephemeral key is set", |e| e[39] |= 0x80);
    add("tag_order", "header", "two slots are exchanged", |e| {
        for k in 0..4 {
            e.swap(100 + k, 104 + k);
        }
        for k in 0..32 {
            e.swap(112 + k, 144 + k);
        }
    });
    add("0", "version", "version 0", |e| e[4] = 0);
    add("2", "version", "version 2", |e| e[4] = 2);
    add("suite_0", "version", "suite 0", |e| e[5] = 0);
    add("suite_4", "version", "suite 4", |e| e[5] = 4);
    add("slots", "limit", "2^20 + 1 slots are announced", |e| {
        e[96..100].copy_from_slice(&(1_u32 << 20 | 1).to_le_bytes());
    });
    add("slots_max", "limit", "2^32 - 1 slots are announced", |e| e[96..100].fill(0xff));
    add("two_faults", "version", "version 2 and a reserved bit: the first check counts", |e| {
        e[4] = 2;
        e[6] = 1;
    });
}

fn authentication_failures(files: &mut Files) {
    let mut put = |name: &str, case: Case| {
        files.push((format!("authentication_{name}"), case.json()));
    };
    let mut add = |name: &str, comment, edit: fn(&mut Vec<u8>)| {
        put(name, Message::default().fail(comment, "authentication", edit));
    };
    let chunks = 100 + 3 * 36;
    assert_eq!(Message::default().seal().len(), chunks + 56 + 100 + 64 + 16);
    add("epk", "another ephemeral key", |e| e[8] ^= 1);
    add("epk_zero", "an ephemeral key of low order: 0", |e| e[8..40].fill(0));
    add("epk_one", "an ephemeral key of low order: 1", |e| {
        e[8..40].fill(0);
        e[8] = 1;
    });
    add("salt", "another salt", |e| e[63] ^= 0x80);
    add("commitment", "another commitment", |e| e[64] ^= 1);
    add("suite", "another suite with bodies as long as were sealed", |e| {
        // The compact suite reads 20 bytes of each of three slots of 36 bytes; the rest counts as
        // chunks.
        e[5] = 2;
    });
    add("first_chunk", "a changed byte of the prelude", |e| e[100 + 108] ^= 1);
    add("content", "a changed byte of the content", |e| e[100 + 108 + 60] ^= 0x40);
    add("tag_of_chunk", "a changed tag of the chunk", |e| {
        let last = e.len() - 1;
        e[last] ^= 1;
    });
    add("truncated_one", "the last byte is missing", |e| {
        e.pop();
    });
    add("truncated_chunks", "all chunks are missing", |e| e.truncate(100 + 108));
    add("trailing_byte", "one byte more at the end", |e| e.push(0));
    add("trailing_chunk", "the chunk twice", |e| {
        let chunk = e[100 + 108..].to_vec();
        e.extend(chunk);
    });
    add("count_less", "one slot less is announced", |e| e[96] = 2);
    add("own_slot_removed", "the slots of the others alone", |e| {
        remove_slots_but(e, |_, own| !own);
    });
    add("bodies_exchanged", "bodies under each other's tags", |e| {
        for k in 0..32 {
            e.swap(112 + k, 144 + k);
            e.swap(144 + k, 176 + k);
        }
    });
    let view = view(&Message::default(), 2).envelope;
    let mut crowded = Message::default().fail(
        "sixteen slots before the reader's, with its tag",
        "authentication",
        |_| (),
    );
    let own_tag = view[100..].first_chunk().expect("the view has a slot");
    insert_slots(&mut crowded.envelope, *own_tag, &[[0x33; 32]; 16]);
    put("slots_with_own_tag", crowded);
    put(
        "outsider",
        Case {
            reader: 9,
            ..Message::default().fail("no slot for this key", "authentication", |_| ())
        },
    );
    put(
        "context",
        Case {
            context: b"another context".to_vec(),
            ..Message::default().fail("sealed under another context", "authentication", |_| ())
        },
    );
    put(
        "context_empty",
        Case {
            context: Vec::new(),
            ..Message::default().fail("no context is given", "authentication", |_| ())
        },
    );
    let hybrid = || Message { suite: Suite::X25519MlKem768, ..Message::default() };
    put(
        "hybrid_ciphertext",
        hybrid().fail("a changed bit in each ML-KEM ciphertext", "authentication", |e| {
            (0..3).for_each(|i| e[112 + 1120 * i + 500] ^= 1);
        }),
    );
    put(
        "hybrid_wrapped",
        hybrid().fail("a changed bit in each wrapped key", "authentication", |e| {
            (0..3).for_each(|i| e[112 + 1120 * i + 1100] ^= 1);
        }),
    );
    put(
        "hybrid_no_kem",
        Case {
            with_kem: false,
            ..hybrid().fail("the reader has no ML-KEM key", "authentication", |_| ())
        },
    );
    put(
        "hybrid_other_kem",
        Case {
            envelope: other_kem(),
            ..hybrid().fail("encapsulated to another ML-KEM key", "authentication", |_| ())
        },
    );
    let compact = || Message { suite: Suite::X25519Compact, ..Message::default() };
    put(
        "compact_body",
        compact().fail("a changed bit in each body", "authentication", |e| {
            (0..3).for_each(|i| e[112 + 16 * i] ^= 1);
        }),
    );
    put(
        "body",
        Message::default().fail("a changed bit in each body", "authentication", |e| {
            (0..3).for_each(|i| e[112 + 32 * i] ^= 1);
        }),
    );
}

/// Keeps the slots of a three-slot envelope for which `keep(index, is the reader's)` returns true.
fn remove_slots_but(envelope: &mut Vec<u8>, keep: impl Fn(usize, bool) -> bool) {
    use endseal_envelope::{Envelope, Opener, Policy};
    let parsed = Envelope::parse(envelope).expect("it was just sealed");
    let reader = identity(2);
    let opener = Opener::new(&reader, CONTEXT);
    let kept: Vec<usize> = (0..3)
        .filter(|&i| {
            let view = parsed.view(i).expect("there are three");
            keep(i, opener.open(&view, &mut Policy::new()).is_ok())
        })
        .collect();
    let mut out = envelope[..96].to_vec();
    out.extend(u32::try_from(kept.len()).expect("at most three").to_le_bytes());
    kept.iter().for_each(|i| out.extend(&envelope[100 + 4 * i..][..4]));
    kept.iter().for_each(|i| out.extend(&envelope[112 + 32 * i..][..32]));
    out.extend(&envelope[208..]);
    *envelope = out;
}

/// Returns an envelope that is sealed to the reader's Ed25519 key with the ML-KEM key of another
/// identity.
fn other_kem() -> Vec<u8> {
    let sender = identity(1);
    let (reader, other) = (identity(2), identity(3));
    let mixed = Identity::from_seeds(
        Seed::from_bytes(reader.signing().seed().expose_secret()),
        mlkem768::Seed::from_bytes(other.kem().seed().expose_secret()),
    );
    let recipients = Recipients::from_identities([mixed.public()]).expect("made keys are valid");
    let sealer = Sealer::new(&sender, &recipients, CONTEXT).suite(Suite::X25519MlKem768).time(TIME);
    seal(&sealer, &content(100), &values()).expect("a vector can be sealed")
}
