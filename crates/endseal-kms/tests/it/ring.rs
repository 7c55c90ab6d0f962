//! Key rings as providers of keys, and as text.

use std::sync::Arc;

use endseal_crypto::random::{OsRandom, Random, RandomError};
use endseal_keyring::{KdfParams, Passphrase};
use endseal_kms::ring::{
    AddKeyError, MAX_KEYS, MAX_LEN, OpenRingError, ParseRingError, ParsedRing, RemoveKeyError,
};
use endseal_kms::{Ring, RingProvider, Several};

use super::*;

const NOW: u64 = 1_789_000_000;

fn ring(keys: usize) -> Ring {
    let mut ring = Ring::generate(NOW, &mut OsRandom).unwrap();
    for n in 1..keys {
        ring.add(NOW + n as u64, &mut OsRandom).unwrap();
    }
    ring
}

fn parse(text: &str) -> Result<Ring, ParseRingError> {
    match ParsedRing::parse(text.as_bytes())? {
        ParsedRing::Open(ring) => Ok(ring),
        ParsedRing::Sealed(_) => panic!("sealed"),
    }
}

fn why(text: &str) -> ParseRingError {
    parse(text).err().unwrap()
}

fn passphrase() -> Passphrase {
    Passphrase::new("correct horse").ok().unwrap()
}

#[tokio::test]
async fn a_ring_is_a_provider() {
    let provider = RingProvider::new(ring(3));
    let wrapped = opens_what_it_wrapped(&provider).await;
    assert_eq!(wrapped.bytes.len(), 60);
    refuses_changes(&provider, &wrapped, 1).await;
}

#[tokio::test]
async fn a_rotation_keeps_what_was_wrapped_before() {
    let first = ring(1);
    let text = first.to_open_text();
    let provider = RingProvider::new(first);
    let old = provider.wrap(b"context", &key(1)).await.ok().unwrap();
    let mut second = parse(&text).ok().unwrap();
    let new_id = second.add(NOW + 9, &mut OsRandom).unwrap().clone();
    provider.replace(second);
    let new = provider.wrap(b"context", &key(2)).await.ok().unwrap();
    assert_eq!(new.key_id, new_id);
    assert_ne!(new.key_id, old.key_id);
    for (wrapped, n) in [(&old, 1), (&new, 2)] {
        let opened = provider.unwrap(&wrapped.key_id, b"context", &wrapped.bytes).await;
        assert!(opened.ok().unwrap() == key(n));
    }
    // The same bytes under the id of the other key.
    let outcome = provider.unwrap(&new.key_id, b"context", &old.bytes).await;
    assert_eq!(outcome.err(), Some(ProviderError::AuthenticationFailed));
}

/// A random source that returns the same byte a limited number of times.
struct Bytes(u8, usize);

impl Random for Bytes {
    fn fill(&mut self, buffer: &mut [u8]) -> Result<(), RandomError> {
        self.1 = self.1.checked_sub(buffer.len()).ok_or_else(RandomError::default)?;
        buffer.fill(self.0);
        Ok(())
    }
}

#[tokio::test]
async fn a_nonce_is_of_the_randomness_that_is_at_hand() {
    let provider = Arc::new(RingProvider::new(ring(2)));
    let several = Several::new(Arc::<RingProvider>::clone(&provider), Vec::new());
    let providers: [&dyn KeyProvider; 2] = [&*provider, &several];
    for provider in providers {
        let mut random = Bytes(7, 12);
        let wrapped = provider.wrap_with(b"context", &key(1), &mut random).await.ok().unwrap();
        assert_eq!((&wrapped.bytes[..12], random.1), (&[7; 12][..], 0));
        let opened = provider.unwrap(&wrapped.key_id, b"context", &wrapped.bytes).await;
        assert!(opened.ok().unwrap() == key(1));
        let outcome = provider.wrap_with(b"context", &key(1), &mut random).await;
        assert!(matches!(outcome, Err(ProviderError::Unavailable { .. })));
    }
}

#[test]
fn entries_tell_ids_and_times_alone() {
    let ring = ring(3);
    let entries: Vec<_> = ring.entries().collect();
    let wraps: Vec<_> = entries.iter().map(|entry| (entry.created - NOW, entry.wraps)).collect();
    assert_eq!(wraps, [(0, false), (1, false), (2, true)]);
    for entry in &entries {
        let digits = entry.id.as_str().strip_prefix("ring-").unwrap();
        assert!(digits.len() == 12 && u64::from_str_radix(digits, 16).is_ok());
    }
    assert_ne!(entries[0].id, entries[1].id);
}

#[test]
fn the_key_that_wraps_cannot_be_removed() {
    let mut ring = ring(3);
    let ids: Vec<_> = ring.entries().map(|entry| entry.id).collect();
    assert_eq!(ring.remove(&ids[2]), Err(RemoveKeyError::Wraps));
    assert_eq!(ring.remove(&id("another")), Err(RemoveKeyError::Unknown));
    ring.remove(&ids[0]).unwrap();
    assert_eq!(ring.remove(&ids[0]), Err(RemoveKeyError::Unknown));
    ring.remove(&ids[1]).unwrap();
    assert_eq!(ring.remove(&ids[2]), Err(RemoveKeyError::Wraps), "the last one");
    assert_eq!(ring.entries().count(), 1);
}

#[test]
fn a_ring_has_a_most_of_keys() {
    let mut full = ring(MAX_KEYS);
    assert_eq!(full.add(NOW, &mut OsRandom).err(), Some(AddKeyError::Full));
    let text = full.to_open_text();
    assert!(text.len() < MAX_LEN);
    let back = parse(&text).ok().unwrap();
    assert_eq!(back.to_open_text(), text);
    let sealed = full.seal(&passphrase(), KdfParams::MINIMUM, &mut OsRandom).unwrap();
    assert!(sealed.len() < MAX_LEN);
    let ParsedRing::Sealed(sealed) = ParsedRing::parse(sealed.as_bytes()).ok().unwrap() else {
        panic!("open");
    };
    assert_eq!(sealed.open(&passphrase()).ok().unwrap().to_open_text(), text);
    let (head, lines) = text.split_at(text.find("key ").unwrap());
    let extra = lines.lines().next().unwrap();
    assert_eq!(why(&format!("{head}{lines}{extra}\n")), ParseRingError::Duplicate { line: 1027 });
    assert_eq!(why(head), ParseRingError::KeyCount);
}

#[test]
fn the_text_of_a_ring_is_that_ring() {
    let text = ring(3).to_open_text();
    assert_eq!(parse(&text).ok().unwrap().to_open_text(), text);
    assert_eq!(text.lines().count(), 5);
}

#[test]
fn every_changed_byte_of_an_open_ring_is_seen() {
    let text = ring(2).to_open_text();
    for at in 0..text.len() {
        for flip in [0x01, 0x02, 0x20, 0x80] {
            let mut bad = text.as_bytes().to_vec();
            bad[at] ^= flip;
            assert!(ParsedRing::parse(&bad).is_err(), "{at} {flip}");
        }
        assert!(
            ParsedRing::parse(&text.as_bytes()[..at]).is_err() || {
                // A ring that is cut after its first key is a valid ring.
                text[..at].ends_with('\n') && text[..at].lines().count() == 3
            }
        );
    }
}

#[test]
fn a_sealed_ring_opens_with_its_passphrase_alone() {
    let ring = ring(2);
    let text = ring.seal(&passphrase(), KdfParams::MINIMUM, &mut OsRandom).unwrap();
    let sealed = |text: &str| match ParsedRing::parse(text.as_bytes()) {
        Ok(ParsedRing::Sealed(sealed)) => sealed,
        _ => panic!("not sealed"),
    };
    assert_eq!(sealed(&text).open(&passphrase()).ok().unwrap().to_open_text(), ring.to_open_text());
    let wrong = Passphrase::new("correct hors").ok().unwrap();
    let outcome = sealed(&text).open(&wrong);
    assert_eq!(outcome.err(), Some(OpenRingError::Authentication));
    let again = ring.seal(&passphrase(), KdfParams::MINIMUM, &mut OsRandom).unwrap();
    assert_ne!(again, text, "salts are fresh");
}

#[test]
fn every_changed_byte_of_a_sealed_ring_is_refused() {
    let text = ring(1).seal(&passphrase(), KdfParams::MINIMUM, &mut OsRandom).unwrap();
    let (mut parsed, mut opened) = (0, 0);
    for at in 0..text.len() {
        let mut bad = text.as_bytes().to_vec();
        bad[at] ^= 1;
        // Each file with the right form costs an Argon2id computation.
        let Ok(ParsedRing::Sealed(sealed)) = ParsedRing::parse(&bad) else { continue };
        parsed += 1;
        if at % 7 == 0 {
            opened += usize::from(sealed.open(&passphrase()).is_ok());
        }
    }
    assert!(opened == 0 && parsed > 150, "{opened} {parsed}");
}

#[tokio::test]
async fn a_provider_waits_for_no_one_while_it_is_replaced() {
    let text = ring(2).to_open_text();
    let provider = Arc::new(RingProvider::new(parse(&text).ok().unwrap()));
    let wrapped = provider.wrap(b"", &key(1)).await.ok().unwrap();
    for _ in 0..50 {
        provider.replace(parse(&text).ok().unwrap());
        let opened = provider.unwrap(&wrapped.key_id, b"", &wrapped.bytes).await;
        assert!(opened.ok().unwrap() == key(1));
    }
}
