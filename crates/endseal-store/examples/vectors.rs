//! Writes the test vectors of docs/spec/store.md:
//! `cargo run -p endseal-store --example endseal-store-vectors -- vectors`.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a generator that fails may stop")]

use std::path::{Path, PathBuf};
use std::{env, fs};

use endseal_crypto::random::{Random, RandomError};
use endseal_crypto::secret::Zeroizing;
use endseal_store::hazmat::{open_key_file, seal_key_file};
use endseal_store::{
    GroupRow, KdfParams, OuterKey, ParkedRow, Protection, SessionRow, SessionStatus, Store, Unlock,
};
use endseal_testing::hex;

fn main() {
    let folder = PathBuf::from(env::args_os().nth(1).expect("usage: vectors <directory>"));
    let folder = folder.join("store");
    fs::create_dir_all(&folder).unwrap();
    let key = kept_store(&folder, "v4");
    for (name, vector) in key_files(&key) {
        fs::write(folder.join(format!("{name}.json")), vector.to_json()).unwrap();
    }
}

/// A random source with the same bytes every time, so that a new store has the key of the previous
/// one.
struct Counting(u8);

impl Random for Counting {
    fn fill(&mut self, out: &mut [u8]) -> Result<(), RandomError> {
        for byte in out {
            *byte = self.0;
            self.0 = self.0.wrapping_add(1);
        }
        Ok(())
    }
}

/// Copies the committed store and returns its key. The store cannot be created again with the same
/// bytes, because pages have random initialisation vectors. If the format changes, remove its
/// directory, and a new one is created.
fn kept_store(folder: &Path, version: &str) -> Zeroizing<[u8; 48]> {
    let to = &folder.join(version);
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/store").join(version);
    if !kept.exists() {
        fill(&mut Store::create(&kept, Protection::None, &mut Counting(0)).unwrap());
        // After closing, the log and other files that are not committed are removed, so that the
        // database and the key file remain.
        fs::remove_file(kept.join("store.db-wal")).unwrap();
        fs::remove_file(kept.join("lock")).unwrap();
    }
    if fs::canonicalize(&kept).ok() != fs::canonicalize(to).ok() {
        fs::create_dir_all(to).unwrap();
        for name in ["key", "store.db"] {
            fs::write(to.join(name), fs::read(kept.join(name)).unwrap()).unwrap();
        }
    }
    open_key_file(&fs::read(to.join("key")).unwrap(), Unlock::None).unwrap()
}

/// Writes one row to every table, and several where they must be distinguished.
fn fill(store: &mut Store) {
    let transaction = store.begin().unwrap();
    transaction.put_record(1, b"", b"account").unwrap();
    transaction.put_record(2, b"package", b"key package").unwrap();
    let alice = transaction.address_ref(&[1; 32], 1).unwrap();
    let bob = transaction.address_ref(&[2; 32], 7).unwrap();
    transaction.set_certificate(bob, b"certificate").unwrap();
    let team = transaction.conversation_ref(b"team").unwrap();
    for (tag, status) in [(1, SessionStatus::Active), (2, SessionStatus::ReceiveOnly)] {
        let state = Zeroizing::new(vec![tag; 1_000]);
        let row = SessionRow { tag: [tag; 8], engine: 1, status, used: tag.into(), state };
        transaction.put_session(alice, &row).unwrap();
    }
    let state = Zeroizing::new(vec![5; 10_000]);
    let group = GroupRow { status: SessionStatus::Active, epoch: 3, state };
    transaction.put_group(b"team", &group).unwrap();
    transaction.put_group_epoch(b"team", 2, b"epoch").unwrap();
    let mut messages = transaction.messages().unwrap();
    for (id, kind) in [(b"m1", 0), (b"m2", 1), (b"m3", 0)] {
        messages.deliver(team, id, alice, kind, &[kind; 16], b"at noon").unwrap();
    }
    let body = b"sealed".to_vec();
    let row = ParkedRow { message: b"m4".to_vec(), device: 0, reason: 1, epoch: 4, body };
    messages.park(team, &row).unwrap();
    drop(messages);
    assert!(transaction.consume(1).unwrap());
    transaction.push_outbox(team, Some(bob), b"sealed").unwrap();
    transaction.push_outbox(team, None, b"sealed").unwrap();
    assert!(transaction.sent(1).unwrap());
    transaction.set_cursor(b"queue", b"17").unwrap();
    transaction.commit().unwrap();
}

struct Vector {
    comment: String,
    expect: &'static str,
    unlock: &'static str,
    secret: Vec<u8>,
    file: Vec<u8>,
}

impl Vector {
    fn to_json(&self) -> String {
        format!(
            "{{\n  \"comment\": \"{}\",\n  \"expect\": \"{}\",\n  \"unlock\": \"{}\",\n  \
             \"secret\": \"{}\",\n  \"file\": \"{}\"\n}}\n",
            self.comment,
            self.expect,
            self.unlock,
            hex(&self.secret),
            hex(&self.file)
        )
    }
}

/// Returns key files of the committed store. They open it if `expect` is `ok`.
fn key_files(key: &[u8; 48]) -> Vec<(String, Vector)> {
    let outer = [7; 32];
    let passphrase = b"correct horse battery staple";
    let seal = |protection: &Protection<'_>| {
        seal_key_file(key, protection, &[0x51; 16], &[0xc4; 24]).unwrap()
    };
    let with = |params| seal(&Protection::Passphrase { passphrase, params });
    let none = seal(&Protection::None);
    let minimum = with(KdfParams::MINIMUM);
    let lanes = with(KdfParams::new(16 * 1024, 2, 4).unwrap());
    let outer_file = seal(&Protection::OuterKey(&OuterKey::from_bytes(&outer)));

    let mut vectors = Vec::new();
    let mut add = |name: &str, comment: &str, expect, unlock, secret: &[u8], file: &[u8]| {
        let (comment, secret, file) = (comment.to_owned(), secret.to_vec(), file.to_vec());
        vectors.push((name.to_owned(), Vector { comment, expect, unlock, secret, file }));
    };
    let (ok, no) = ("ok", "authentication");
    add("key_none", "no protection", ok, "none", b"", &none);
    add("key_passphrase", "the least work", ok, "passphrase", passphrase, &minimum);
    add("key_lanes", "16 MiB, two passes, four lanes", ok, "passphrase", passphrase, &lanes);
    add("key_outer", "under an outer key", ok, "outer", &outer, &outer_file);

    let other = b"correct horse battery stapler";
    add("secret_passphrase", "another passphrase", no, "passphrase", other, &minimum);
    add("secret_empty", "no passphrase", no, "passphrase", b"", &minimum);
    add("secret_outer", "another outer key", no, "outer", &[8; 32], &outer_file);
    add("kind_none_for_passphrase", "nothing for a passphrase", no, "none", b"", &minimum);
    add("kind_none_for_outer", "nothing for an outer key", no, "none", b"", &outer_file);
    add(
        "kind_passphrase_for_none",
        "a passphrase for nothing",
        no,
        "passphrase",
        passphrase,
        &none,
    );
    add(
        "kind_outer_for_passphrase",
        "an outer key for a passphrase",
        no,
        "outer",
        &outer,
        &minimum,
    );

    for (name, at) in [
        ("magic", 0),
        ("version", 15),
        ("kind", 16),
        ("memory", 18),
        ("passes", 21),
        ("lanes", 25),
        ("salt", 26),
        ("salt_end", 41),
        ("chunk_salt", 42),
        ("commitment", 66),
        ("key", 98),
        ("tag", 161),
    ] {
        let mut file = lanes.clone();
        file[at] ^= 1;
        let name = format!("changed_{name}");
        let comment = format!("byte {at} changed");
        add(&name, &comment, no, "passphrase", passphrase, &file);
    }
    // This is not an authentication error: it would be a second encoding of the same values.
    for (name, at) in [("memory", 17), ("passes", 21), ("lanes", 25), ("salt", 41)] {
        let mut file = none.clone();
        file[at] = 1;
        let name = format!("unused_{name}");
        add(&name, "a field that the protection does not use is not zero", no, "none", b"", &file);
    }
    // The cost is refused before anything is computed.
    let work = |memory: u32, passes: u32, lanes: u8| {
        let mut file = minimum.clone();
        file[17..21].copy_from_slice(&memory.to_le_bytes());
        file[21..25].copy_from_slice(&passes.to_le_bytes());
        file[25] = lanes;
        file
    };
    for (name, file) in [
        ("memory_low", work(8 * 1024 - 1, 1, 1)),
        ("memory_high", work(1024 * 1024 + 1, 1, 1)),
        ("memory_most", work(u32::MAX, 1, 1)),
        ("passes_none", work(8 * 1024, 0, 1)),
        ("passes_high", work(8 * 1024, 17, 1)),
        ("passes_most", work(8 * 1024, u32::MAX, 1)),
        ("lanes_none", work(8 * 1024, 1, 0)),
        ("lanes_high", work(8 * 1024, 1, 5)),
        ("product", work(1024 * 1024, 5, 1)),
    ] {
        let name = format!("limit_{name}");
        add(&name, "work beyond the limits", no, "passphrase", passphrase, &file);
    }
    let longer = [&none[..], &[0]].concat();
    for (name, file) in
        [("empty", &[][..]), ("header", &none[..42]), ("short", &none[..161]), ("long", &longer)]
    {
        add(&format!("length_{name}"), "not 162 bytes", no, "none", b"", file);
    }
    let mut protection = none.clone();
    protection[16] = 3;
    add("kind_unknown", "a protection that is not known", no, "none", b"", &protection);
    vectors
}
