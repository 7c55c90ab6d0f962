#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "these are tests")]

use alloc::string::String;
use alloc::vec::Vec;
use std::io::{Cursor, Read, Seek, SeekFrom, Write};

use serde_json::Value;

use super::*;
use crate::mid::backend;
use crate::random::OsRandom;

mod inflate;
mod within;

const BOUNDARIES: [usize; 11] = [
    0,
    1,
    CHUNK_LEN - 1,
    CHUNK_LEN,
    CHUNK_LEN + 1,
    2 * CHUNK_LEN - 1,
    2 * CHUNK_LEN,
    2 * CHUNK_LEN + 1,
    5 * CHUNK_LEN + 7,
    256 * CHUNK_LEN,
    257 * CHUNK_LEN + 3,
];

fn key() -> InputKey {
    InputKey::from_bytes(&[0x11; 32])
}

fn seal_keys(salt: &[u8; SALT_LEN]) -> SealKeys {
    KeySource::new(&key()).seal_keys(salt, b"").0
}

fn open_keys(salt: &[u8; SALT_LEN]) -> ChunkKeys {
    KeySource::new(&key()).uncommitted_keys(salt, b"")
}

fn seal_with_salt(
    key: &InputKey,
    salt: &[u8; SALT_LEN],
    context: &[u8],
    plaintext: &[u8],
) -> Vec<u8> {
    let (keys, commitment) = KeySource::new(key).seal_keys(salt, context);
    let prefix = [&salt[..], &commitment].concat();
    seal_with(keys, prefix.first_chunk().unwrap(), plaintext)
}

fn data(len: usize) -> Vec<u8> {
    let mut out = vec![0; len];
    crate::hash::derive_into(crate::label::ENVELOPE_HEADER, &[b"test data"], &mut out);
    out
}

#[test]
fn whole_stream_and_random_access_agree() {
    for len in BOUNDARIES {
        let plaintext = data(len);
        let sealed = seal(&key(), b"context", &plaintext, &mut OsRandom).unwrap();
        assert_eq!(Some(sealed.len() as u64 - 56), chunks_len(len as u64), "{len}");
        assert_eq!(plaintext_len(sealed.len() as u64 - 56), Some(len as u64));
        assert_eq!(open(&key(), b"context", &sealed).unwrap(), plaintext);

        let mut read = Vec::new();
        OpenReader::new(&key(), b"context", &sealed[..]).unwrap().read_to_end(&mut read).unwrap();
        assert_eq!(read, plaintext, "{len}");

        let mut seek = OpenSeek::new(&key(), b"context", Cursor::new(&sealed)).unwrap();
        assert_eq!(seek.len(), len as u64);
        for start in [0, len / 3, len.saturating_sub(1), len] {
            let mut part = Vec::new();
            seek.seek(SeekFrom::Start(start as u64)).unwrap();
            seek.read_to_end(&mut part).unwrap();
            assert_eq!(part, plaintext[start..]);
        }
    }
}

#[test]
fn pieces_of_any_size_give_the_same_stream() {
    let plaintext = data(3 * CHUNK_LEN + 5);
    let salt = [9; SALT_LEN];
    let whole = seal_with_salt(&key(), &salt, b"", &plaintext);
    for piece in [1, 7, 1000, CHUNK_LEN - 1, CHUNK_LEN, CHUNK_LEN + 1, 2 * CHUNK_LEN + 3] {
        let mut writer = SealWriter::from_keys(seal_keys(&salt), Vec::new());
        plaintext.chunks(piece).for_each(|part| writer.write_all(part).unwrap());
        assert_eq!(writer.finish().unwrap(), whole[PREFIX_LEN..], "{piece}");

        let mut out = vec![0; whole.len() - PREFIX_LEN];
        let mut sealer = SliceSealer::new(seal_keys(&salt), &mut out);
        plaintext.chunks(piece).for_each(|part| sealer.push(part));
        sealer.finish();
        assert_eq!(out, whole[PREFIX_LEN..], "{piece}");

        let mut opener = SliceOpener::new(open_keys(&salt), &out).unwrap();
        let mut opened = Vec::new();
        while opener.remaining() > 0 {
            let mut part = vec![0; piece.min(opener.remaining())];
            opener.pull(&mut part).unwrap();
            opened.extend(part);
        }
        assert_eq!(opened, plaintext, "{piece}");
        assert_eq!(opener.pull(&mut [0]), Err(AuthenticationFailed), "nothing beyond the end");
    }
}

#[test]
fn chunk_by_chunk_gives_the_same_stream() {
    for len in BOUNDARIES.into_iter().filter(|len| *len <= 5 * CHUNK_LEN + 7) {
        let plaintext = data(len);
        let salt = [9; SALT_LEN];
        let whole = seal_with_salt(&key(), &salt, b"", &plaintext);
        let mut sealer = ChunkSealer::new(seal_keys(&salt));
        let (full, last) = plaintext.as_chunks::<CHUNK_LEN>();
        let mut out = vec![0; whole.len() - PREFIX_LEN];
        let (sealed, sealed_last) = out.split_at_mut(full.len() * SEALED_CHUNK_LEN);
        for (chunk, out) in full.iter().zip(sealed.as_chunks_mut().0) {
            sealer.seal(chunk, out).unwrap();
        }
        sealer.seal_last(last, sealed_last);
        assert_eq!(out, whole[PREFIX_LEN..], "{len}");

        let keys = open_keys(&salt);
        for (index, chunk) in (0..).zip(out.chunks(SEALED_CHUNK_LEN)) {
            let mut opened = vec![0xaa; chunk.len() - TAG_LEN];
            keys.open_chunk(index, chunk, &mut opened).unwrap();
            let start = usize::try_from(index).unwrap() * CHUNK_LEN;
            assert_eq!(opened, plaintext[start..][..opened.len()]);
            assert_eq!(keys.open_chunk(index + 1, chunk, &mut opened), Err(AuthenticationFailed));
            assert!(opened.iter().all(|byte| *byte == 0));
            assert_eq!(keys.open_chunk(index, &chunk[1..], &mut opened), Err(AuthenticationFailed));
        }
    }
}

#[test]
#[should_panic(expected = "shorter than the others")]
fn a_full_last_chunk_is_the_callers_mistake() {
    let sealer = ChunkSealer::new(seal_keys(&[9; SALT_LEN]));
    sealer.seal_last(&[0; CHUNK_LEN], &mut [0; SEALED_CHUNK_LEN]);
}

#[test]
fn every_flipped_byte_is_refused() {
    let plaintext = data(CHUNK_LEN + 40);
    let sealed = seal(&key(), b"", &plaintext, &mut OsRandom).unwrap();
    let near_edges = (0..120).chain(SEALED_CHUNK_LEN..sealed.len());
    for i in near_edges.chain((120..SEALED_CHUNK_LEN).step_by(97)) {
        let mut changed = sealed.clone();
        changed[i] ^= 1;
        assert_eq!(open(&key(), b"", &changed), Err(AuthenticationFailed), "byte {i}");
    }
    for len in (0..100).chain(SEALED_CHUNK_LEN..sealed.len()) {
        assert_eq!(open(&key(), b"", &sealed[..len]), Err(AuthenticationFailed), "cut to {len}");
    }
    assert_eq!(open(&key(), b"other", &sealed), Err(AuthenticationFailed));
    assert_eq!(open(&InputKey::from_bytes(&[1; 32]), b"", &sealed), Err(AuthenticationFailed));
}

#[test]
fn a_reader_that_failed_keeps_failing() {
    let mut sealed = seal(&key(), b"", &data(3 * CHUNK_LEN), &mut OsRandom).unwrap();
    sealed[PREFIX_LEN + SEALED_CHUNK_LEN] ^= 1;
    let mut reader = OpenReader::new(&key(), b"", &sealed[..]).unwrap();
    let mut first = vec![0; CHUNK_LEN];
    reader.read_exact(&mut first).unwrap();
    for _ in 0..3 {
        assert!(reader.read(&mut first).is_err());
    }
    assert!(!reader.is_finished());
}

#[test]
fn an_error_of_the_source_is_repeated() {
    /// Gives what it has, then one error, then nothing.
    struct FailsOnce<'a>(&'a [u8], bool);
    impl Read for FailsOnce<'_> {
        fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
            match self.0.read(out)? {
                0 if !core::mem::replace(&mut self.1, true) => {
                    Err(std::io::ErrorKind::ConnectionReset.into())
                }
                n => Ok(n),
            }
        }
    }
    let sealed = seal(&key(), b"", &data(3 * CHUNK_LEN), &mut OsRandom).unwrap();
    let source = FailsOnce(&sealed[..2 * SEALED_CHUNK_LEN], false);
    let mut reader = OpenReader::new(&key(), b"", source).unwrap();
    let mut first = vec![0; CHUNK_LEN];
    reader.read_exact(&mut first).unwrap();
    for _ in 0..3 {
        let error = reader.read(&mut first).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
    }
}

#[test]
fn a_failed_pull_leaves_zeros() {
    let mut sealed = seal(&key(), b"", &data(100), &mut OsRandom).unwrap();
    let last = sealed.len() - 1;
    sealed[last] ^= 1;
    let keys = open_keys(sealed.first_chunk().unwrap());
    let mut opener = SliceOpener::new(keys, &sealed[PREFIX_LEN..]).unwrap();
    let mut out = [0xaa; 100];
    assert_eq!(opener.pull(&mut out), Err(AuthenticationFailed));
    assert_eq!(out, [0; 100]);
}

#[test]
fn lengths_that_no_stream_has() {
    let full = SEALED_CHUNK_LEN as u64;
    for len in [0, 1, 15, full, full + 15, 2 * full, 2 * full + 1] {
        assert_eq!(plaintext_len(len), None, "{len}");
    }
    assert_eq!(plaintext_len(16), Some(0));
    assert_eq!(plaintext_len(full + 16), Some(CHUNK_LEN as u64));
    assert_eq!(chunks_len((MAX_CHUNKS - 1) * CHUNK_LEN as u64).map(|_| ()), Some(()));
    assert_eq!(chunks_len(MAX_CHUNKS * CHUNK_LEN as u64), None);
}

/// The 70 vectors of Wycheproof for AES-128-GCM and AES-256-GCM, through every way to open.
#[test]
fn wycheproof_chunked_encryption() {
    let mut run = 0;
    for (file, info) in [
        (
            "c2sp_chunked_encryption_aes_128_gcm",
            "c2sp.org/chunked-encryption@v1+AEAD_AES_128_GCM\0",
        ),
        (
            "c2sp_chunked_encryption_aes_256_gcm",
            "c2sp.org/chunked-encryption@v1+AEAD_AES_256_GCM\0",
        ),
    ] {
        let path = std::format!(
            "{}/../../vectors/third-party/wycheproof/{file}_test.json",
            env!("CARGO_MANIFEST_DIR")
        );
        let set: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        for group in set["testGroups"].as_array().unwrap() {
            assert_eq!(group["sha"], "SHA-512");
            for test in group["tests"].as_array().unwrap() {
                wycheproof_case(info.as_bytes(), test);
                run += 1;
            }
        }
    }
    assert_eq!(run, 70);
}

/// The output without a commitment is the beginning of the longer one.
#[test]
fn keys_without_a_commitment_are_the_same() {
    let source = KeySource::new(&key());
    for context in [0, 33, 38, 39, 200].map(data) {
        let salt = [7; SALT_LEN];
        let (keys, commitment) = source.seal_keys(&salt, &context);
        let mut sealed = [0; 5 + TAG_LEN];
        keys.0.seal_chunk(3, b"bytes", &mut sealed);
        let mut other = [0; 5 + TAG_LEN];
        source.uncommitted_seal_keys(&salt, &context).0.seal_chunk(3, b"bytes", &mut other);
        assert_eq!(sealed, other);
        let mut out = [0; 5];
        source.uncommitted_keys(&salt, &context).open_chunk(3, &sealed, &mut out).unwrap();
        assert_eq!(&out, b"bytes");
        let keys = source.derive_committed(&salt, &context, &commitment).unwrap();
        keys.open_chunk(3, &sealed, &mut [0; 5]).unwrap();
        assert!(source.derive_committed(&[8; SALT_LEN], &context, &commitment).is_err());
        let other = source.uncommitted_keys(&[8; SALT_LEN], &context);
        assert!(other.open_chunk(3, &sealed, &mut out).is_err());
    }
}

#[test]
fn two_streams_of_one_input_key_have_salts_of_their_own() {
    let (_, one) = SealKeys::generate(&key(), b"", &mut OsRandom).unwrap();
    let (_, other) = SealKeys::generate(&key(), b"", &mut OsRandom).unwrap();
    assert_ne!(one[..SALT_LEN], other[..SALT_LEN]);
    let (salt, commitment) = (one.first_chunk().unwrap(), one.last_chunk().unwrap());
    assert!(ChunkKeys::derive_committed(&key(), salt, b"", commitment).is_ok());
}

#[test]
#[should_panic(expected = "measure the room")]
fn a_chunk_without_room_for_its_tag_is_the_callers_mistake() {
    seal_keys(&[9; SALT_LEN]).0.seal_chunk(0, b"bytes", &mut [0; 5 + TAG_LEN - 1]);
}

/// A writer that takes `room` bytes, fails once, and takes everything afterwards.
struct FailsOnce {
    out: Vec<u8>,
    room: usize,
    error: Option<std::io::ErrorKind>,
}

impl Write for FailsOnce {
    fn write(&mut self, data: &[u8]) -> std::io::Result<usize> {
        if self.error.is_some() {
            let len = data.len().min(self.room);
            if len == 0 {
                return Err(self.error.take().unwrap().into());
            }
            self.room -= len;
            self.out.extend_from_slice(&data[..len]);
            return Ok(len);
        }
        self.out.extend_from_slice(data);
        Ok(data.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// In the middle of the second chunk, and before any of it.
#[test]
fn a_writer_that_failed_keeps_failing() {
    use std::io::ErrorKind::{StorageFull, WouldBlock};
    let plaintext = data(3 * CHUNK_LEN);
    for (kind, room) in [(WouldBlock, 100), (StorageFull, 0)] {
        for piece in [1_000, CHUNK_LEN, 3 * CHUNK_LEN] {
            let room = SEALED_CHUNK_LEN + room;
            let inner = FailsOnce { out: Vec::new(), room, error: Some(kind) };
            let mut writer = SealWriter::from_keys(seal_keys(&[9; SALT_LEN]), inner);
            let mut pieces = plaintext.chunks(piece);
            let error = pieces.find_map(|piece| writer.write_all(piece).err()).unwrap();
            assert_eq!(error.kind(), kind);
            for piece in pieces {
                assert!(writer.write(piece).is_err());
            }
            assert!(writer.write(b"").is_err());
            assert!(writer.flush().is_err());
            assert!(writer.finish().is_err());
        }
    }
}

/// A chunk beyond the longest possible stream is an error; it is not dropped silently.
#[test]
fn a_writer_at_the_limit_keeps_failing() {
    let mut writer = SealWriter::from_keys(seal_keys(&[9; SALT_LEN]), Vec::new());
    writer.stream.chunks.index = MAX_CHUNKS - 1;
    assert!(writer.write_all(&data(CHUNK_LEN)).is_err());
    assert!(writer.write(b"more").is_err());
    assert!(writer.finish().is_err());
}

fn wycheproof_case(info: &[u8], test: &Value) {
    let name = std::format!("{} {}", test["tcId"], test["comment"]);
    let key = unhex(&test["key"]);
    let context = unhex(&test["ctx"]);
    let sealed = inflate::zlib(&unhex(&test["ct"]));
    let expected = (test["result"] == "valid").then(|| unhex(&test["msgSha512"]));
    let flag = |name: &str| test["flags"].as_array().unwrap().iter().any(|f| f == name);

    let keys = || {
        // The length of the key is part of the type for callers; here it can be wrong.
        let right_len = if info.windows(3).any(|w| w == b"128") { 16 } else { 32 };
        let (salt, rest) = sealed.split_first_chunk()?;
        let (commitment, chunks) = rest.split_first_chunk::<COMMITMENT_LEN>()?;
        let (source, mut own) = (ExpandKey::new(&key), [0; COMMITMENT_LEN]);
        let keys = (key.len() == right_len)
            .then(|| ChunkKeys::expand(&source, info, key.len(), salt, &context, &mut own))??;
        (own == *commitment).then_some((keys, chunks))
    };

    // In memory.
    let whole = keys().and_then(|(keys, chunks)| {
        let mut opener = SliceOpener::new(keys, chunks).ok()?;
        let mut out = vec![0; opener.remaining()];
        opener.pull(&mut out).ok().map(|()| out)
    });
    assert_eq!(whole.as_deref().map(sha512), expected, "{name}");
    let within = keys().and_then(|(keys, chunks)| within::opened(&keys, chunks));
    assert_eq!(within.as_deref().map(sha512), expected, "{name}");
    if flag("HeaderFailure") {
        assert!(keys().is_none() || sealed.len() < PREFIX_LEN + TAG_LEN, "{name}");
    }

    // As a stream: what it gives before it fails is the announced prefix, or less.
    let mut given = Vec::new();
    let streamed = keys().and_then(|(keys, chunks)| {
        OpenReader::from_keys(keys, chunks).read_to_end(&mut given).ok()
    });
    assert_eq!(streamed.is_some(), expected.is_some(), "{name}");
    if expected.is_some() || flag("PartialPlaintext") {
        assert_eq!(Some(given.len() as u64), test["msgLength"].as_u64(), "{name}");
        assert_eq!(sha512(&given), unhex(&test["msgSha512"]), "{name}");
    }

    // The public functions, where the key is one of theirs.
    if let Ok(key) = <&[u8; 32]>::try_from(&key[..])
        && info == INFO
    {
        let key = InputKey::from_bytes(key);
        assert_eq!(open(&key, &context, &sealed).ok().map(|m| sha512(&m)), expected, "{name}");
        let mut message = Vec::new();
        let sought = OpenSeek::new(&key, &context, Cursor::new(&sealed))
            .and_then(|mut seek| seek.read_to_end(&mut message));
        assert_eq!(sought.is_ok(), expected.is_some(), "{name}");
        if let Some(salt) = sealed.first_chunk().filter(|_| expected.is_some()) {
            assert_eq!(seal_with_salt(&key, salt, &context, &message), sealed, "{name}");
        }
    }
}

fn sha512(data: &[u8]) -> Vec<u8> {
    backend::sha512(&[data]).to_vec()
}

fn unhex(value: &Value) -> Vec<u8> {
    let text: String = value.as_str().unwrap_or_default().into();
    (0..text.len() / 2).map(|i| u8::from_str_radix(&text[2 * i..][..2], 16).unwrap()).collect()
}
