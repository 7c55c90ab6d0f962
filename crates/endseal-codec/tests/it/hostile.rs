//! Hostile input. The heap that it can cost is measured in `bench/tests/codec_heap.rs`, with the
//! counting allocator.

use endseal_codec::{Codec, DecodeError, Limits};

use crate::random::Random;
use crate::vectors::{all, hex};
use crate::with_message;

/// Number of seeded mutants of each golden message.
const MUTANTS: usize = 100_000;

#[test]
fn mutated_messages_never_panic_and_have_one_meaning() {
    let mut random = Random::new(6);
    let golden: Vec<(String, Vec<u8>)> = all("codec", 120)
        .into_iter()
        .filter(|(_, vector)| vector["expect"] == "ok")
        .map(|(_, vector)| (vector["message"].as_str().unwrap().to_owned(), hex(&vector["hex"])))
        .collect();
    for (name, bytes) in &golden {
        let mut accepted = 0;
        for _ in 0..MUTANTS {
            let (_, other) = &golden[random.below(golden.len() as u64) as usize];
            let mutant = random.mutant(bytes, &other[..other.len().min(400)]);
            let outcome = with_message!(name.as_str(), M => one_meaning::<M>(&mutant));
            accepted += u32::from(outcome.is_ok());
        }
        assert!(accepted > 100, "mutants that are messages show what is written again");
    }
}

/// Both readers must refuse a mutant with the same class, or read it to the same value. A value
/// that was read must be the same after writing and reading again.
fn one_meaning<M: Codec>(bytes: &[u8]) -> Result<(), DecodeError> {
    let owned = M::decode(bytes, Limits::default());
    assert_eq!(M::view(bytes, Limits::default()).err(), owned.as_ref().err().copied());
    let owned = owned?;
    let encoded = owned.to_vec(Limits::default()).unwrap();
    assert_eq!(M::decode(&encoded, Limits::default()).unwrap(), owned);
    Ok(())
}

#[test]
fn every_truncation_of_every_golden_message_is_refused_or_a_message() {
    for (path, vector) in all("codec", 120) {
        let bytes = hex(&vector["hex"]);
        for cut in 0..bytes.len().min(2_000) {
            let outcome = with_message!(vector["message"].as_str().unwrap(), M => {
                one_meaning::<M>(&bytes[..cut])
            });
            // The message is one top-level field, as our writer encodes it, so no prefix of it is a
            // message.
            if vector["message"] == "Message" && vector["canonical"] == true {
                assert!(outcome.is_err(), "{} cut to {cut}", path.display());
            }
        }
    }
}

#[test]
fn depth_is_not_what_the_input_says() {
    // Nested length-delimited fields, a hundred thousand levels deep: known and unknown ones.
    for tag in [0x0a_u8, 0x3a, 0x7a] {
        let mut bytes = Vec::new();
        for _ in 0..100_000 {
            let len = bytes.len();
            let mut front = vec![tag];
            let mut rest = len;
            while rest >= 0x80 {
                front.push((rest & 0x7f) as u8 | 0x80);
                rest >>= 7;
            }
            front.push(rest as u8);
            if bytes.len() > 60_000 {
                break;
            }
            bytes.splice(0..0, front);
        }
        // The content of unknown fields is not parsed; known ones end at a depth of four messages.
        let verdict = endseal_codec::Message::decode(&bytes, Limits::default());
        assert_eq!(verdict.is_ok(), tag == 0x7a, "{verdict:?}");
    }
}
