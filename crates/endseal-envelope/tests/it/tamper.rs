//! Flips every bit of a small envelope and every byte of a large one.

use endseal_crypto::random::OsRandom;
use endseal_envelope::{OpenError, Opener, Policy, Recipients, Sealer, Suite};

use crate::{CONTEXT, data, identity};

#[test]
fn every_flipped_bit_of_an_envelope_to_five_is_refused_or_harmless() {
    for suite in [Suite::X25519, Suite::X25519Compact] {
        let sender = identity(1);
        let readers: Vec<_> = (2..7).map(identity).collect();
        let recipients = Recipients::from_identities(readers.iter().map(|r| r.public())).unwrap();
        let content = data("content", 50);
        let sealer = Sealer::new(&sender, &recipients, CONTEXT).suite(suite);
        let envelope = sealer.seal(&content, &mut OsRandom).unwrap();
        let header = 100 + 5 * suite.slot_len();
        for bit in 0..envelope.len() * 8 {
            let mut changed = envelope.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            let opened: Vec<_> = readers
                .iter()
                .map(|reader| Opener::new(reader, CONTEXT).open(&changed, &mut Policy::new()))
                .collect();
            let in_slots = (100..header).contains(&(bit / 8));
            for outcome in &opened {
                // A changed slot affects at most its owner; every other change affects all
                // recipients.
                match outcome {
                    Ok(opened) => assert!(in_slots && opened.content == content, "bit {bit}"),
                    Err(OpenError::Authentication | OpenError::Malformed(_)) => {}
                    Err(_) if bit / 8 < 100 => {}
                    Err(other) => panic!("bit {bit}: {other}"),
                }
            }
            let shut_out = opened.iter().filter(|outcome| outcome.is_err()).count();
            assert!(shut_out >= 1, "bit {bit} changed nothing");
        }
    }
}

#[test]
fn every_flipped_byte_of_an_envelope_to_a_hundred() {
    let sender = identity(1);
    let readers: Vec<_> = (2..102).map(identity).collect();
    let recipients = Recipients::from_identities(readers.iter().map(|r| r.public())).unwrap();
    let content = data("content", 300);
    let sealer = Sealer::new(&sender, &recipients, CONTEXT).suite(Suite::X25519);
    let envelope = sealer.seal(&content, &mut OsRandom).unwrap();
    let opener = Opener::new(&readers[0], CONTEXT);
    let mut opened = 0;
    for i in 0..envelope.len() {
        let mut changed = envelope.clone();
        changed[i] ^= 0x55;
        match opener.open(&changed, &mut Policy::new()) {
            Ok(outcome) => {
                assert!((100..3700).contains(&i), "byte {i}");
                assert_eq!(outcome.content, content);
                opened += 1;
            }
            Err(error) => {
                assert!(i < 3700 || error == OpenError::Authentication, "byte {i}: {error}")
            }
        }
    }
    // The bodies of the 99 other slots do not matter to this reader; tags that are out of order do.
    assert!((99 * 32..99 * 36).contains(&opened), "{opened}");
}

#[test]
fn every_truncation_is_refused() {
    let (sender, reader) = (identity(1), identity(2));
    let recipients = Recipients::from_identities([reader.public()]).unwrap();
    let sealer = Sealer::new(&sender, &recipients, CONTEXT).suite(Suite::X25519);
    let envelope = sealer.seal(b"content", &mut OsRandom).unwrap();
    for len in 0..envelope.len() {
        let error =
            Opener::new(&reader, CONTEXT).open(&envelope[..len], &mut Policy::new()).unwrap_err();
        let malformed = matches!(error, OpenError::Malformed(_));
        assert_eq!(malformed, len < 136, "{len}: {error}");
        assert!(malformed || error == OpenError::Authentication);
    }
}
