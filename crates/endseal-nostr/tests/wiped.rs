//! A conversation that leaves the cache is wiped: this process searches its own memory. It is a
//! program of its own, so that nothing else runs at the same time.
#![cfg(target_os = "linux")]
#![forbid(unsafe_code)]
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "these are tests")]

use std::fs::File;
use std::os::unix::fs::FileExt as _;

use endseal_crypto::secp256k1::SecretKey;
use endseal_nostr::nip44::{Cache, Conversation};

/// Returns bytes of this process's memory, padding included.
fn bytes_at(address: usize, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    File::open("/proc/self/mem").unwrap().read_exact_at(&mut bytes, address as u64).unwrap();
    bytes
}

fn key(byte: u8) -> SecretKey {
    SecretKey::from_bytes(&[byte; 32]).unwrap()
}

/// Returns the offsets in `memory` of eight bytes that look random and are part of no public key.
fn secrets(memory: &[u8], public: &[[u8; 32]]) -> Vec<usize> {
    let is_random = |word: &[u8]| {
        let mut word = word.to_vec();
        word.sort_unstable();
        word.dedup();
        word.len() >= 6
    };
    let is_public = |word: &[u8]| public.iter().any(|key| key.windows(8).any(|part| part == word));
    let places = (0..memory.len() - 7).step_by(8);
    places
        .filter(|at| is_random(&memory[*at..at + 8]) && !is_public(&memory[*at..at + 8]))
        .collect()
}

#[test]
fn a_conversation_that_leaves_the_cache_is_wiped() {
    let own = key(3);
    let peers = [5, 7, 9].map(|byte| key(byte).public_key());
    let public: Vec<_> =
        peers.iter().chain([&own.public_key()]).map(|key| key.to_bytes()).collect();
    let mut cache = Box::new(Cache::<2>::new());
    let (address, len) = ((&raw const *cache).addr(), size_of::<Cache<2>>());
    for peer in &peers[..2] {
        cache.get_or_insert_with(&own.public_key(), peer, || Conversation::new(&own, peer));
    }
    let full = bytes_at(address, len);
    let found = secrets(&full, &public);
    // Each conversation has two states of 32 bytes.
    assert!(found.len() >= 14, "{}", found.len());

    // The first conversation is removed before the third one is created.
    let mut during = Vec::new();
    cache.get_or_insert_with(&own.public_key(), &peers[2], || {
        during = bytes_at(address, len);
        Conversation::new(&own, &peers[2])
    });
    let wiped: Vec<_> = found.iter().filter(|at| during[**at..*at + 8] == [0; 8]).collect();
    let kept: Vec<_> =
        found.iter().filter(|at| during[**at..*at + 8] == full[**at..*at + 8]).collect();
    assert_eq!(wiped.len() + kept.len(), found.len());
    assert!(wiped.len() >= 7 && kept.len() >= 7, "{} {}", wiped.len(), kept.len());

    let found = secrets(&bytes_at(address, len), &public);
    assert!(found.len() >= 14, "{}", found.len());
    cache.forget(&own.public_key());
    let after = bytes_at(address, len);
    assert!(found.iter().all(|at| after[*at..at + 8] == [0; 8]));
}
