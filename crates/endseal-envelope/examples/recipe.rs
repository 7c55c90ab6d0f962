//! Scenarios that are too large to be written out, and envelopes of dishonest insiders, who can
//! encrypt.

use endseal_crypto::segment::{
    ChunkKeys, InputKey, KeySource, SliceOpener, SliceSealer, chunks_len,
};
use endseal_crypto::{hash, hazmat, label};
use endseal_envelope::hazmat::seal;
use endseal_envelope::{Recipients, Sealer, Suite};

use crate::{CONTEXT, Files, TIME, hex, identity, quoted, values};

const BLOCK: usize = 4 << 20;
const SIGNED: usize = BLOCK + 64;
const PRELUDE: usize = 56;
const CHUNKS: usize = 100 + 3 * 36;
const CHUNK: usize = 16_400;

#[derive(Clone, Copy)]
enum Edit {
    Xor(usize, u8),
    Remove(usize, usize),
    Copy { from: usize, length: usize, to: usize },
    Swap(usize, usize, usize),
}

impl Edit {
    fn apply(self, bytes: &mut Vec<u8>) {
        match self {
            Self::Xor(at, byte) => bytes[at] ^= byte,
            Self::Remove(at, length) => drop(bytes.drain(at..at + length)),
            Self::Copy { from, length, to } => {
                let copy = bytes[from..from + length].to_vec();
                bytes.splice(to..to, copy);
            }
            Self::Swap(a, b, length) => {
                (0..length).for_each(|i| bytes.swap(a + i, b + i));
            }
        }
    }

    fn json(self) -> String {
        match self {
            Self::Xor(at, byte) => format!(r#"{{"op": "xor", "at": {at}, "byte": {byte}}}"#),
            Self::Remove(at, length) => {
                format!(r#"{{"op": "remove", "at": {at}, "length": {length}}}"#)
            }
            Self::Copy { from, length, to } => {
                format!(r#"{{"op": "copy", "from": {from}, "length": {length}, "to": {to}}}"#)
            }
            Self::Swap(a, b, length) => {
                format!(r#"{{"op": "swap", "a": {a}, "b": {b}, "length": {length}}}"#)
            }
        }
    }
}

struct Recipe {
    name: &'static str,
    comment: &'static str,
    length: usize,
    plaintext_edits: Vec<Edit>,
    edits: Vec<Edit>,
}

pub(crate) fn recipes(files: &mut Files) {
    let ok = |name, comment, length| Recipe {
        name,
        comment,
        length,
        plaintext_edits: vec![],
        edits: vec![],
    };
    let inside = |name, comment, length, plaintext_edits| Recipe {
        plaintext_edits,
        ..ok(name, comment, length)
    };
    let outside = |name, comment, edits| Recipe { edits, ..ok(name, comment, 40_000) };
    let three = 2 * BLOCK + 1000;
    let all = [
        ok("ok_recipe_small", "a recipe without edits", 40_000),
        ok("ok_block_full", "content of exactly one block: an empty one follows", BLOCK),
        ok("ok_blocks_two", "two blocks", BLOCK + 1),
        ok("ok_blocks_three", "three blocks", three),
        inside(
            "authentication_insider_content",
            "an insider changes the content",
            1000,
            vec![Edit::Xor(PRELUDE + 10, 1)],
        ),
        inside(
            "authentication_insider_last_block",
            "an insider changes the second block",
            BLOCK + 1000,
            vec![Edit::Xor(PRELUDE + SIGNED + 10, 1)],
        ),
        inside(
            "authentication_insider_sender",
            "an insider names another sender",
            1000,
            vec![Edit::Xor(0, 1)],
        ),
        inside(
            "authentication_insider_message_id",
            "an insider changes the message id",
            1000,
            vec![Edit::Xor(32, 1)],
        ),
        inside(
            "authentication_insider_time",
            "an insider changes the time",
            1000,
            vec![Edit::Xor(48, 1)],
        ),
        inside(
            "authentication_insider_signature_r",
            "a changed signature",
            1000,
            vec![Edit::Xor(PRELUDE + 1000, 1)],
        ),
        inside(
            "authentication_insider_signature_s",
            "a changed signature",
            1000,
            vec![Edit::Xor(PRELUDE + 1000 + 40, 1)],
        ),
        inside(
            "authentication_insider_truncated",
            "an insider drops the last content byte",
            1000,
            vec![Edit::Remove(PRELUDE + 999, 1)],
        ),
        inside(
            "authentication_insider_extended",
            "an insider repeats a content byte",
            1000,
            vec![Edit::Copy { from: PRELUDE, length: 1, to: PRELUDE }],
        ),
        inside(
            "authentication_block_first_dropped",
            "an insider drops the first block",
            three,
            vec![Edit::Remove(PRELUDE, SIGNED)],
        ),
        inside(
            "authentication_block_middle_dropped",
            "an insider drops the second block",
            three,
            vec![Edit::Remove(PRELUDE + SIGNED, SIGNED)],
        ),
        inside(
            "authentication_block_last_dropped",
            "an insider drops the last block: a full one ends the content",
            three,
            vec![Edit::Remove(PRELUDE + 2 * SIGNED, 1064)],
        ),
        inside(
            "authentication_block_empty_dropped",
            "an insider drops the empty last block",
            BLOCK,
            vec![Edit::Remove(PRELUDE + SIGNED, 64)],
        ),
        inside(
            "authentication_block_repeated",
            "an insider repeats the first block",
            three,
            vec![Edit::Copy { from: PRELUDE, length: SIGNED, to: PRELUDE }],
        ),
        inside(
            "authentication_block_last_repeated",
            "an insider repeats an empty last block",
            BLOCK,
            vec![Edit::Copy { from: PRELUDE + SIGNED, length: 64, to: PRELUDE + SIGNED }],
        ),
        inside(
            "authentication_blocks_swapped",
            "an insider exchanges two blocks of the same content",
            three,
            vec![Edit::Swap(PRELUDE, PRELUDE + SIGNED, SIGNED)],
        ),
        inside(
            "authentication_blocks_cut_short",
            "an insider cuts a full block short, with its signature",
            three,
            vec![
                Edit::Remove(PRELUDE + 1000, SIGNED - 1064),
                Edit::Remove(PRELUDE + 1064, SIGNED + 1064),
            ],
        ),
        inside(
            "authentication_plaintext_empty",
            "an insider encrypts nothing",
            10,
            vec![Edit::Remove(0, PRELUDE + 10 + 64)],
        ),
        inside(
            "authentication_plaintext_prelude",
            "an insider encrypts a prelude alone",
            10,
            vec![Edit::Remove(PRELUDE, 10 + 64)],
        ),
        inside(
            "authentication_plaintext_no_signature",
            "one byte less than a signature after the prelude",
            0,
            vec![Edit::Remove(PRELUDE + 63, 1)],
        ),
        outside(
            "authentication_chunks_swapped",
            "two chunks are exchanged",
            vec![Edit::Swap(CHUNKS, CHUNKS + CHUNK, CHUNK)],
        ),
        outside(
            "authentication_chunk_removed",
            "the first chunk is missing",
            vec![Edit::Remove(CHUNKS, CHUNK)],
        ),
        outside(
            "authentication_chunk_repeated",
            "the first chunk comes twice",
            vec![Edit::Copy { from: CHUNKS, length: CHUNK, to: CHUNKS }],
        ),
        outside(
            "authentication_chunks_truncated",
            "the last, short chunk is missing",
            vec![Edit::Remove(CHUNKS + 2 * CHUNK, 40_000 + 56 + 64 - 2 * 16_384 + 16)],
        ),
        outside(
            "authentication_chunk_bit",
            "a changed byte in the second chunk",
            vec![Edit::Xor(CHUNKS + CHUNK + 5, 0x80)],
        ),
    ];
    for recipe in all {
        files.push((recipe.name.into(), recipe.json()));
    }
}

impl Recipe {
    fn json(&self) -> String {
        let sealed = self.sealed();
        let values = values();
        let expect = if self.name.starts_with("ok") { "ok" } else { "authentication" };
        let opened = if expect == "ok" {
            let content = vec![b'e'; self.length];
            format!(
                "\n  \"suite\": \"x25519\",\n  \"sender\": {},\n  \"message_id\": {},\n  \"time\": {TIME},\n  \"content_blake3\": {},\n  \"content_length\": {},",
                hex(identity(1).public().ed25519().as_bytes()),
                hex(values.message_id),
                hex(&hash::digest(&content)),
                self.length,
            )
        } else {
            String::new()
        };
        let list = |edits: &[Edit]| {
            let edits: Vec<_> = edits.iter().map(|edit| edit.json()).collect();
            format!("[{}]", edits.join(", "))
        };
        let recipients: Vec<_> = [2, 3, 4].iter().map(|i| hex(&[*i; 32])).collect();
        format!(
            r#"{{
  "comment": {},
  "expect": "{expect}",
  "context": {},
  "ed25519_seed": {},{opened}
  "recipe": {{
    "sender_seed": {},
    "recipients": [{}],
    "e": {},
    "key": {},
    "salt": {},
    "message_id": {},
    "time": {TIME},
    "content_byte": {},
    "content_length": {},
    "plaintext_edits": {},
    "envelope_blake3": {},
    "edits": {}
  }}
}}
"#,
            quoted(self.comment),
            hex(CONTEXT),
            hex(&[2; 32]),
            hex(&[1; 32]),
            recipients.join(", "),
            hex(values.ephemeral),
            hex(values.material),
            hex(values.salt),
            hex(values.message_id),
            b'e',
            self.length,
            list(&self.plaintext_edits),
            hex(&hash::digest(&sealed)),
            list(&self.edits),
        )
    }

    /// Returns the sealed bytes before `edits` are applied.
    fn sealed(&self) -> Vec<u8> {
        let (sender, a, b, c) = (identity(1), identity(2), identity(3), identity(4));
        let recipients = Recipients::from_identities([a.public(), b.public(), c.public()])
            .expect("made keys are valid");
        let sealer = Sealer::new(&sender, &recipients, CONTEXT).suite(Suite::X25519).time(TIME);
        let envelope =
            seal(&sealer, &vec![b'e'; self.length], &values()).expect("it can be sealed");
        if self.plaintext_edits.is_empty() {
            return envelope;
        }
        let mut plaintext = Vec::new();
        let mut opener = SliceOpener::new(chunk_keys(&envelope), &envelope[CHUNKS..])
            .expect("it was just sealed");
        plaintext.resize(opener.remaining(), 0);
        opener.pull(&mut plaintext).expect("it was just sealed");
        self.plaintext_edits.iter().for_each(|edit| edit.apply(&mut plaintext));
        reseal(&envelope, &plaintext)
    }
}

fn source() -> KeySource {
    KeySource::new(&InputKey::from_bytes(values().material))
}

fn header_digest(envelope: &[u8]) -> [u8; hash::LEN] {
    hash::derive(label::ENVELOPE_HEADER, &[&envelope[..64], CONTEXT])
}

/// Returns the keys that every recipient of an envelope of these vectors has.
pub(crate) fn chunk_keys(envelope: &[u8]) -> ChunkKeys {
    hazmat::uncommitted_keys(&source(), values().salt, &header_digest(envelope))
}

/// Builds the envelope that an insider can make of an envelope to three recipients: the same header
/// with another plaintext.
pub(crate) fn reseal(envelope: &[u8], plaintext: &[u8]) -> Vec<u8> {
    let len = chunks_len(plaintext.len() as u64).expect("below the limit");
    let mut out = envelope[..CHUNKS].to_vec();
    out.resize(CHUNKS + usize::try_from(len).expect("it fits into memory"), 0);
    let keys = hazmat::seal_keys(&source(), values().salt, &header_digest(envelope)).0;
    let mut sealer = SliceSealer::new(keys, &mut out[CHUNKS..]);
    sealer.push(plaintext);
    sealer.finish();
    out
}
