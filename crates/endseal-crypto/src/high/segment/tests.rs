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
        let (keys, _) = ChunkKeys::derive(&key(), &salt, b"");
        let mut writer = SealWriter::from_keys(keys, Vec::new());
        plaintext.chunks(piece).for_each(|part| writer.write_all(part).unwrap());
        assert_eq!(writer.finish().unwrap(), whole[PREFIX_LEN..], "{piece}");

        let (keys, _) = ChunkKeys::derive(&key(), &salt, b"");
        let mut out = vec![0; whole.len() - PREFIX_LEN];
        let mut sealer = SliceSealer::new(keys, &mut out);
        plaintext.chunks(piece).for_each(|part| sealer.push(part));
        sealer.finish();
        assert_eq!(out, whole[PREFIX_LEN..], "{piece}");

        let (keys, _) = ChunkKeys::derive(&key(), &salt, b"");
        let mut opener = SliceOpener::new(keys, &out).unwrap();
        let mut opened = Vec::new();
        while opener.remaining() > 0 {
            let mut part = vec![0; piece.min(opener.remaining())];
            opener.pull(&mut part).unwrap();
            opened.extend(part);
        }
        assert_eq!(opened, plaintext, "{piece}");
        assert_eq!(opener.pull(&mut [0]), Err(Unauthentic), "nothing beyond the end");
    }
}

#[test]
fn chunk_by_chunk_gives_the_same_stream() {
    for len in BOUNDARIES.into_iter().filter(|len| *len <= 5 * CHUNK_LEN + 7) {
        let plaintext = data(len);
        let salt = [9; SALT_LEN];
        let whole = seal_with_salt(&key(), &salt, b"", &plaintext);
        let mut sealer = ChunkSealer::new(ChunkKeys::derive(&key(), &salt, b"").0);
        let (full, last) = plaintext.as_chunks::<CHUNK_LEN>();
        let mut out = vec![0; whole.len() - PREFIX_LEN];
        let (sealed, sealed_last) = out.split_at_mut(full.len() * SEALED_CHUNK_LEN);
        for (chunk, out) in full.iter().zip(sealed.as_chunks_mut().0) {
            sealer.seal(chunk, out).unwrap();
        }
        sealer.seal_last(last, sealed_last);
        assert_eq!(out, whole[PREFIX_LEN..], "{len}");

        let keys = ChunkKeys::derive(&key(), &salt, b"").0;
        for (index, chunk) in (0..).zip(out.chunks(SEALED_CHUNK_LEN)) {
            let mut opened = vec![0xaa; chunk.len() - TAG_LEN];
            keys.open_chunk(index, chunk, &mut opened).unwrap();
            let start = usize::try_from(index).unwrap() * CHUNK_LEN;
            assert_eq!(opened, plaintext[start..][..opened.len()]);
            assert_eq!(keys.open_chunk(index + 1, chunk, &mut opened), Err(Unauthentic));
            assert!(opened.iter().all(|byte| *byte == 0));
            assert_eq!(keys.open_chunk(index, &chunk[1..], &mut opened), Err(Unauthentic));
        }
    }
}

#[test]
#[should_panic(expected = "shorter than the others")]
fn a_full_last_chunk_is_the_callers_mistake() {
    let sealer = ChunkSealer::new(ChunkKeys::derive(&key(), &[9; SALT_LEN], b"").0);
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
        assert_eq!(open(&key(), b"", &changed), Err(Unauthentic), "byte {i}");
    }
    for len in (0..100).chain(SEALED_CHUNK_LEN..sealed.len()) {
        assert_eq!(open(&key(), b"", &sealed[..len]), Err(Unauthentic), "cut to {len}");
    }
    assert_eq!(open(&key(), b"other", &sealed), Err(Unauthentic));
    assert_eq!(open(&InputKey::from_bytes(&[1; 32]), b"", &sealed), Err(Unauthentic));
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
fn a_failed_pull_leaves_zeros() {
    let mut sealed = seal(&key(), b"", &data(100), &mut OsRandom).unwrap();
    let last = sealed.len() - 1;
    sealed[last] ^= 1;
    let (keys, _) = ChunkKeys::derive(&key(), sealed.first_chunk().unwrap(), b"");
    let mut opener = SliceOpener::new(keys, &sealed[PREFIX_LEN..]).unwrap();
    let mut out = [0xaa; 100];
    assert_eq!(opener.pull(&mut out), Err(Unauthentic));
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

/// Their first bytes are those of a longer output, whatever of it is asked for.
#[test]
fn keys_without_a_commitment_are_the_same() {
    let source = KeySource::new(&key());
    for context in [0, 33, 38, 39, 200].map(data) {
        let salt = [7; SALT_LEN];
        let (keys, commitment) = source.derive(&salt, &context);
        let mut sealed = [0; 5 + TAG_LEN];
        keys.seal_chunk(3, b"bytes", &mut sealed);
        let mut out = [0; 5];
        source.keys(&salt, &context).open_chunk(3, &sealed, &mut out).unwrap();
        let (_, own, other) = source.derive_with((&[8; SALT_LEN], b"1"), (&salt, &context));
        assert_eq!(own, source.derive(&[8; SALT_LEN], b"1").1);
        other.open_chunk(3, &sealed, &mut out).unwrap();
        let (keys, own, _) = source.derive_with((&salt, &context), (&[8; SALT_LEN], b"1"));
        assert_eq!(own, commitment);
        keys.open_chunk(3, &sealed, &mut out).unwrap();
        assert_eq!(&out, b"bytes");
        assert!(source.derive_committed(&salt, &context, &commitment).is_ok());
        assert!(source.derive_committed(&[8; SALT_LEN], &context, &commitment).is_err());
        assert!(source.keys(&[8; SALT_LEN], &context).open_chunk(3, &sealed, &mut out).is_err());
    }
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
