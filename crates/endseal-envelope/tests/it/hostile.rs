//! Hostile input causes no panic, and takes no more memory or time than the limits allow.

use std::io::{self, Read};

use endseal_crypto::random::OsRandom;
use endseal_crypto::segment::SEALED_CHUNK_LEN;
use endseal_envelope::{Envelope, OpenError, Opener, Policy, Recipients, Sealer, Suite};

use crate::{CONTEXT, data, identity};

#[test]
fn mutated_envelopes_never_panic_and_never_open_to_something_else() {
    let (sender, reader) = (identity(1), identity(2));
    let list = Recipients::from_identities([reader.public(), identity(3).public()]).unwrap();
    let content = data("content", 200);
    let opener = Opener::new(&reader, CONTEXT);
    for suite in [Suite::X25519, Suite::X25519Compact, Suite::X25519MlKem768] {
        let sealer = Sealer::new(&sender, &list, CONTEXT).suite(suite);
        let envelope = sealer.seal(&content, &mut OsRandom).unwrap();
        for round in 0..2_000_u32 {
            let mut mutated = envelope.clone();
            let choices = data(&format!("{suite:?} {round}"), 40);
            for choice in choices.chunks_exact(8).take(1 + round as usize % 4) {
                mutate(&mut mutated, choice);
            }
            let _parsed = Envelope::parse(&mutated);
            if round % 4 == 0 {
                let opened = opener.open(&mutated, &mut Policy::new());
                assert!(opened.is_err() || opened.is_ok_and(|o| o.content == content));
            }
        }
    }
}

/// Applies one change, selected by eight random bytes: flip, cut, repeat, overwrite with extremes,
/// insert.
fn mutate(bytes: &mut Vec<u8>, choice: &[u8]) {
    // Half of the changes are in the header, which has most of the structure.
    let range = if choice[1] < 128 { bytes.len().min(120) } else { bytes.len() };
    if range == 0 {
        return;
    }
    let at = (usize::from(choice[2]) << 8 | usize::from(choice[3])) % range;
    let len = usize::from(choice[4]).min(bytes.len() - at);
    match choice[0] % 5 {
        0 => bytes[at] ^= choice[5] | 1,
        1 => bytes.truncate(at),
        2 => {
            let copy = bytes[at..at + len].to_vec();
            bytes.splice(at..at, copy);
        }
        3 => bytes[at..at + len.min(8)].fill(if choice[5] < 128 { 0xff } else { 0 }),
        _ => bytes.splice(at..at, choice.iter().copied()).for_each(drop),
    }
}

/// Returns a header and then endless zeros, and counts the bytes that were read.
struct Endless {
    header: Vec<u8>,
    given: u64,
    largest: usize,
}

impl Read for Endless {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.largest = self.largest.max(out.len());
        for byte in out.iter_mut() {
            let position = usize::try_from(self.given).unwrap_or(usize::MAX);
            *byte = self.header.get(position).copied().unwrap_or(0);
            self.given += 1;
        }
        Ok(out.len())
    }
}

#[test]
fn the_largest_number_of_slots_is_read_in_small_pieces_and_then_refused() {
    let (sender, reader) = (identity(1), identity(2));
    let list = Recipients::from_identities([reader.public()]).unwrap();
    let sealer = Sealer::new(&sender, &list, CONTEXT).suite(Suite::X25519);
    let mut header = sealer.seal(b"", &mut OsRandom).unwrap();
    header.truncate(100);
    header[96..100].copy_from_slice(&(1_u32 << 20).to_le_bytes());
    let mut source = Endless { header, given: 0, largest: 0 };
    let error = Opener::new(&reader, CONTEXT).reader(&mut source, Policy::new()).err().unwrap();
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref());
    assert_eq!(inner, Some(&OpenError::Authentication));
    assert_eq!(source.given, 100 + (36 << 20), "tags and bodies, and nothing behind them");
    assert!(source.largest <= SEALED_CHUNK_LEN, "in pieces of {} bytes", source.largest);
}

#[test]
fn slots_that_all_carry_the_readers_tag_cost_sixteen_tries() {
    let (sender, reader) = (identity(1), identity(2));
    let list = Recipients::from_identities([reader.public()]).unwrap();
    let sealer = Sealer::new(&sender, &list, CONTEXT).suite(Suite::X25519);
    let envelope = sealer.seal(b"m", &mut OsRandom).unwrap();
    let (tag, body, rest) = (&envelope[100..104], &envelope[104..136], &envelope[136..]);
    for (copies, right_at, opens) in [(16, 15, true), (17, 16, false), (100_000, 0, true)] {
        let mut crafted = envelope[..96].to_vec();
        crafted.extend(u32::try_from(copies).unwrap().to_le_bytes());
        crafted.extend(tag.repeat(copies));
        (0..copies).for_each(|i| crafted.extend(if i == right_at { body } else { &[7; 32] }));
        crafted.extend(rest);
        let opened = Opener::new(&reader, CONTEXT).open(&crafted, &mut Policy::new());
        assert_eq!(opened.is_ok(), opens, "{copies}");
        let streamed = Opener::new(&reader, CONTEXT).reader(&crafted[..], Policy::new());
        assert_eq!(streamed.is_ok(), opens, "{copies} as a stream");
    }
}
