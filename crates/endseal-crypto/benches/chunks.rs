//! GB/s of one core for sealed chunks: sealed, opened to another buffer, and opened within their
//! own.
//!
//! `cargo bench -p endseal-crypto --bench chunks`. Medians of rounds in which all take turns.
//! Sealed bytes were just written each time, as by a socket.

#![allow(clippy::print_stdout, clippy::expect_used, reason = "a program that prints its figures")]

use core::hint::black_box;
use std::time::Instant;

use endseal_crypto::hazmat;
use endseal_crypto::segment::{
    CHUNK_LEN, ChunkKeys, ChunkSealer, InputKey, KeySource, SALT_LEN, SEALED_CHUNK_LEN, SealKeys,
};

const SALT: [u8; SALT_LEN] = [2; SALT_LEN];

fn source() -> KeySource {
    KeySource::new(&InputKey::from_bytes(&[1; 32]))
}

fn seal_keys() -> SealKeys {
    hazmat::seal_keys(&source(), &SALT, b"").0
}

fn keys() -> ChunkKeys {
    hazmat::uncommitted_keys(&source(), &SALT, b"")
}

fn main() {
    println!("{:>6} {:>8} {:>8} {:>8}", "chunks", "seal", "open", "within");
    for chunks in [1, 4, 16, 48, 1024] {
        row(chunks);
    }
}

fn row(chunks: usize) {
    let rounds = (1 << 18) / chunks.max(16);
    let plaintext = vec![5; chunks * CHUNK_LEN];
    let mut sealed = vec![0; chunks * SEALED_CHUNK_LEN];
    let (mut buffer, mut out) = (sealed.clone(), plaintext.clone());
    let keys = keys();
    let mut seconds = [const { Vec::new() }; 3];
    for _ in 0..rounds.min(4_000) {
        let mut sealer = ChunkSealer::new(seal_keys());
        let start = Instant::now();
        for (from, to) in plaintext.as_chunks::<CHUNK_LEN>().0.iter().zip(sealed.as_chunks_mut().0)
        {
            sealer.seal(black_box(from), to).expect("it is not too long");
        }
        seconds[0].push(start.elapsed().as_secs_f64());

        buffer.copy_from_slice(black_box(&sealed));
        let start = Instant::now();
        for (i, (from, to)) in
            (0..).zip(buffer.chunks(SEALED_CHUNK_LEN).zip(out.chunks_mut(CHUNK_LEN)))
        {
            keys.open_chunk(i, black_box(from), to).expect("just sealed");
        }
        seconds[1].push(start.elapsed().as_secs_f64());

        buffer.copy_from_slice(black_box(&sealed));
        let start = Instant::now();
        let mut end = 0;
        for i in 0..chunks {
            let at = i * SEALED_CHUNK_LEN;
            let range = at..at + SEALED_CHUNK_LEN;
            end += keys
                .open_chunk_within(i as u64, black_box(&mut buffer), range, end)
                .expect("just sealed");
        }
        seconds[2].push(start.elapsed().as_secs_f64());
        assert!(buffer[..end] == plaintext, "it is what was sealed");
        assert!(black_box(&out) == &plaintext, "it is what was sealed");
    }
    let speed = seconds.map(|mut seconds| {
        seconds.sort_by(f64::total_cmp);
        (chunks * CHUNK_LEN) as f64 / seconds[seconds.len() / 2] / 1e9
    });
    println!("{chunks:>6} {:>8.1} {:>8.1} {:>8.1}", speed[0], speed[1], speed[2]);
}
