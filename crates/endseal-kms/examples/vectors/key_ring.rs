//! Vectors of docs/spec/s3-key-ring.md.

use std::path::Path;

use base64ct::{Base64, Encoding as _};
use endseal_crypto::argon2id::KdfParams;
use endseal_crypto::segment::{InputKey, KeySource, SliceSealer, chunks_len};
use endseal_crypto::{hash, hazmat, label};
use endseal_testing::{Vector, hex};

#[path = "key_ring/file.rs"]
mod file;
#[path = "key_ring/sealed.rs"]
mod sealed;
#[path = "key_ring/wrap.rs"]
mod wrap;

pub(crate) fn write(dir: &Path) {
    file::write(dir);
    sealed::write(dir);
    wrap::write(dir);
}

const FIRST: &str = "endseal s3-key-ring v1\n";
const PASSPHRASE: &str = "correct horse battery staple";

/// Returns the id of key n: `ring-` and 12 times the digit. The key is 32 bytes of n, its time
/// 1789000000 + n.
fn id(n: u8) -> String {
    format!("ring-{}", format!("{n:x}").repeat(12))
}

fn time(n: u8) -> u64 {
    1_789_000_000 + u64::from(n)
}

fn line(n: u8) -> String {
    line_of(&id(n), time(n), &[n; 32])
}

fn line_of(id: &str, time: u64, key: &[u8; 32]) -> String {
    let mut check = [0; 8];
    let parts = [&key[..], &time.to_be_bytes(), id.as_bytes()];
    hash::derive_into(label::S3_KEY_RING_CHECK, &parts, &mut check);
    format!("key {id} {time} {} {}\n", Base64::encode_string(key), hex(&check))
}

fn open_ring(lines: &str) -> String {
    format!("{FIRST}protection none\n{lines}")
}

/// Seals a ring. `params` are in the order of the file.
fn sealed_ring(params: (u32, u32, u32), passphrase: &str, plaintext: &str) -> String {
    let (m, t, p) = params;
    let salt = [0xa1; 16];
    let header =
        format!("{FIRST}protection argon2id {m} {t} {p} {}\n", Base64::encode_string(&salt));
    let stretched = KdfParams::new(m, t, p).unwrap().stretch(passphrase.as_bytes(), &salt).unwrap();
    let parts = [&stretched.expose_secret()[..], header.as_bytes()];
    let key = InputKey::init_with(|out| hash::derive_into(label::S3_KEY_RING_FILE, &parts, out));
    let chunk_salt = [0xb2; 24];
    let (keys, commitment) = hazmat::seal_keys(&KeySource::new(&key), &chunk_salt, &[]);
    let len = chunks_len(plaintext.len() as u64).unwrap();
    let mut chunks = vec![0; usize::try_from(len).unwrap()];
    let mut sealer = SliceSealer::new(keys, &mut chunks);
    sealer.push(plaintext.as_bytes());
    sealer.finish();
    let sealed = [&chunk_salt[..], &commitment, &chunks].concat();
    format!("{header}sealed {}\n", Base64::encode_string(&sealed))
}

fn vector(scenario: &str, comment: &str, expect: &str, file: &str) -> Vector {
    Vector::new(scenario, comment, expect).with_json("file", &json(file))
}

/// Adds the results that a reader must find.
fn found(vector: Vector, keys: &[u8]) -> Vector {
    let join = |texts: Vec<String>| texts.join(" ");
    vector
        .with("ids", &join(keys.iter().map(|n| id(*n)).collect()))
        .with("times", &join(keys.iter().map(|n| time(*n).to_string()).collect()))
        .with("keys", &join(keys.iter().map(|n| hex(&[*n; 32])).collect()))
}

/// Returns a text as a JSON string.
fn json(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            ' '..='~' => out.push(c),
            _ => c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| {
                out.push_str(&format!("\\u{unit:04x}"));
            }),
        }
    }
    out.push('"');
    // Line feeds are written in their short form, because the text is mostly lines.
    out.replace("\\u000a", "\\n")
}
