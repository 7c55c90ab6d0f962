//! Properties that callers rely on.

use std::collections::HashSet;

use endseal_crypto::ed25519::{InvalidPublicKey, Seed};
use endseal_crypto::identity::{Identity, PublicIdentity};
use endseal_crypto::mlkem768;
use endseal_crypto::random::{OsRandom, Random, RandomError};
use endseal_crypto::x25519::Platform;
use endseal_envelope::{
    Decoys, Envelope, MAX_SLOTS, OpenError, Opener, Policy, Recipients, RecipientsError, SealError,
    Sealer, Suite,
};

use crate::insider::{VALUES, forged};
use crate::replay::Seen;
use crate::{CONTEXT, data, identity};

const SUITES: [Suite; 3] = [Suite::X25519, Suite::X25519Compact, Suite::X25519MlKem768];

fn recipients(readers: &[Identity]) -> Recipients {
    Recipients::from_identities(readers.iter().map(Identity::public)).unwrap()
}

#[test]
fn everyone_named_opens_and_no_one_else() {
    let sender = identity(1);
    let readers: Vec<_> = (2..22).map(identity).collect();
    let outsider = identity(99);
    for suite in SUITES {
        for n in [1, 2, 7, 8, 9, 17, 20] {
            let recipients = recipients(&readers[..n]);
            let sealer = Sealer::new(&sender, &recipients, CONTEXT).suite(suite).time(77);
            let content = data("content", 1000 + n);
            let envelope = sealer.seal(&content, &mut OsRandom).unwrap();
            assert_eq!(envelope.len(), 100 + n * suite.slot_len() + content.len() + 56 + 64 + 16);
            for (i, reader) in readers.iter().chain([&outsider]).enumerate() {
                let opened = Opener::new(reader, CONTEXT).open(&envelope, &mut Policy::new());
                assert_eq!(opened.is_ok(), i < n, "{suite:?} {n} {i}");
                if let Ok(opened) = opened {
                    assert_eq!(opened.content, content);
                    assert_eq!(opened.sender, *sender.public().ed25519());
                    assert_eq!(opened.time, 77);
                }
            }
        }
    }
}

#[test]
fn every_platform_seals_the_same() {
    use endseal_envelope::hazmat::seal;
    let sender = identity(1);
    let readers: Vec<_> = (2..60).map(identity).collect();
    for n in [1, 8, 58] {
        let recipients = recipients(&readers[..n]);
        let sealer = Sealer::new(&sender, &recipients, CONTEXT);
        let portable = seal(&sealer.platform(Platform::Portable), b"m", &VALUES).unwrap();
        for platform in Platform::all() {
            assert_eq!(seal(&sealer.platform(platform), b"m", &VALUES).unwrap(), portable);
        }
    }
}

/// Lists of one part and of several, with and without decoys.
#[cfg(feature = "parallel")]
#[test]
fn every_number_of_threads_seals_the_same() {
    use core::num::NonZeroUsize;

    use endseal_envelope::hazmat::seal;
    let sender = identity(1);
    let readers: Vec<_> = (2..102).map(identity).collect();
    for n in [1, 16, 33, 100] {
        let recipients = recipients(&readers[..n]);
        for suite in SUITES {
            for decoys in [Decoys::None, Decoys::PowerOfTwo] {
                let sealer = Sealer::new(&sender, &recipients, CONTEXT).suite(suite).decoys(decoys);
                for platform in Platform::all() {
                    let sealer = sealer.platform(platform);
                    let one = seal(&sealer, b"m", &VALUES).unwrap();
                    for threads in [2, 3, 7] {
                        let sealer = sealer.threads(NonZeroUsize::new(threads).unwrap());
                        assert_eq!(seal(&sealer, b"m", &VALUES).unwrap(), one, "{threads}");
                    }
                }
            }
        }
    }
}

#[test]
fn the_order_of_recipients_leaves_no_trace() {
    use endseal_envelope::hazmat::seal;
    let sender = identity(1);
    let mut readers: Vec<_> = (2..40).map(identity).collect();
    let one = seal(&Sealer::new(&sender, &recipients(&readers), CONTEXT), b"m", &VALUES).unwrap();
    readers.reverse();
    readers.push(identity(7));
    let other = seal(&Sealer::new(&sender, &recipients(&readers), CONTEXT), b"m", &VALUES).unwrap();
    assert_eq!(one, other);
}

#[test]
fn slots_are_in_an_order_that_differs_from_envelope_to_envelope() {
    let sender = identity(1);
    let readers: Vec<_> = (2..40).map(identity).collect();
    let list = recipients(&readers);
    for suite in SUITES {
        let sealer = Sealer::new(&sender, &list, CONTEXT).suite(suite);
        let positions = || {
            let mut out = vec![0; usize::try_from(sealer.sealed_len(1).unwrap()).unwrap()];
            let positions = sealer.seal_into(b"m", &mut out, &mut OsRandom).unwrap();
            let (tags, _) = out[100..][..4 * readers.len()].as_chunks::<4>();
            assert!(tags.is_sorted(), "{suite:?}");
            positions
        };
        let (one, other) = (positions(), positions());
        // 38 slots in random order: two envelopes must differ in it, and neither order is that of
        // the list.
        assert!(one != other && !one.is_sorted() && !other.is_sorted(), "{suite:?}");
    }
}

#[test]
fn two_envelopes_share_nothing() {
    let (sender, reader) = (identity(1), identity(2));
    let recipients = recipients(&[reader]);
    let seal = || Sealer::new(&sender, &recipients, CONTEXT).seal(b"m", &mut OsRandom).unwrap();
    let (a, b) = (seal(), seal());
    assert!(a[8..96].chunks(8).zip(b[8..96].chunks(8)).all(|(x, y)| x != y));
}

/// A random source that always returns the same bytes, as after a virtual machine was restored.
struct Stuck;

impl Random for Stuck {
    fn fill(&mut self, buffer: &mut [u8]) -> Result<(), RandomError> {
        buffer.fill(7);
        Ok(())
    }
}

#[test]
fn a_stuck_source_does_not_repeat_keys_for_other_contents() {
    let (sender, reader) = (identity(1), identity(2));
    let list = recipients(&[reader]);
    let mut seen = HashSet::new();
    let other_list = recipients(&[identity(3)]);
    let other_sender = identity(4);
    let sealer = Sealer::new(&sender, &list, CONTEXT);
    for (case, sealer, content) in [
        ("first", sealer, "a"),
        ("content", sealer, "b"),
        ("length", sealer, "ab"),
        ("time", sealer.time(1), "a"),
        ("recipients", Sealer::new(&sender, &other_list, CONTEXT), "a"),
        ("sender", Sealer::new(&other_sender, &list, CONTEXT), "a"),
        ("context", Sealer::new(&sender, &list, b"endseal/other-tests@v1"), "a"),
        ("suite", sealer.suite(Suite::X25519), "a"),
    ] {
        let envelope = sealer.seal(content.as_bytes(), &mut Stuck).unwrap();
        assert!(seen.insert(envelope[8..40].to_vec()), "epk repeats: {case}");
        assert!(seen.insert(envelope[40..64].to_vec()), "salt repeats: {case}");
    }
}

/// The hedge hashes the first block of a content, of 4 MiB, and its length.
#[test]
fn a_stuck_source_does_not_repeat_keys_for_longer_contents() {
    let (sender, reader) = (identity(1), identity(2));
    let list = recipients(&[reader]);
    let sealer = Sealer::new(&sender, &list, CONTEXT);
    let content = vec![b'a'; (4 << 20) + 2];
    let [shorter, longer] = [1, 2].map(|more| {
        let envelope = sealer.seal(&content[..(4 << 20) + more], &mut Stuck).unwrap();
        envelope[8..64].to_vec()
    });
    assert_ne!(shorter[..32], longer[..32], "epk repeats");
    assert_ne!(shorter[32..], longer[32..], "salt repeats");
}

struct Broken;

impl Random for Broken {
    fn fill(&mut self, _: &mut [u8]) -> Result<(), RandomError> {
        Err(RandomError::default())
    }
}

#[test]
fn a_broken_source_seals_nothing() {
    let (sender, reader) = (identity(1), identity(2));
    let list = recipients(&[reader]);
    assert_eq!(
        Sealer::new(&sender, &list, CONTEXT).seal(b"m", &mut Broken),
        Err(SealError::Random)
    );
}

#[test]
fn recipients_are_checked_and_deduplicated() {
    assert_eq!(Recipients::from_ed25519(&[]).unwrap_err(), RecipientsError::Empty);
    let good = *identity(2).public().ed25519().as_bytes();
    let mut negative = good;
    negative[31] ^= 0x80;
    let list = Recipients::from_ed25519(&[good, good, negative]).unwrap();
    assert_eq!(list.len(), 1, "A and -A are one recipient");
    assert_eq!(
        Recipients::from_ed25519(&[good, [0; 32]]).unwrap_err(),
        RecipientsError::Key { index: 1, reason: InvalidPublicKey::LowOrder }
    );
    let (a, b) = (identity(2), identity(3));
    let mixed = Identity::from_seeds(
        Seed::from_bytes(a.signing().seed().expose_secret()),
        mlkem768::Seed::from_bytes(b.kem().seed().expose_secret()),
    );
    let key = *a.public().ed25519();
    let error = Recipients::from_identities([a.public(), mixed.public()]).unwrap_err();
    assert_eq!(error, RecipientsError::ConflictingKeys(key));
    let hex: String = key.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    assert!(error.to_string().contains(&hex), "it says which key: {error}");
    let without = PublicIdentity::short(*a.public().ed25519());
    let list = Recipients::from_identities([&without, a.public(), &without]).unwrap();
    assert_eq!(list.len(), 1);
    let sender = identity(1);
    assert!(
        Sealer::new(&sender, &list, CONTEXT).suite(SUITES[2]).seal(b"m", &mut OsRandom).is_ok()
    );
    let list = Recipients::from_identities([&without, b.public()]).unwrap();
    assert_eq!(
        Sealer::new(&sender, &list, CONTEXT).suite(SUITES[2]).seal(b"m", &mut OsRandom),
        Err(SealError::NoMlKemKey)
    );
}

#[test]
fn no_recipient_is_left_out_of_a_list_that_is_too_long() {
    let (alice, bob) = (identity(2).public().clone(), identity(3).public().clone());
    let alice = PublicIdentity::short(*alice.ed25519());
    let many = core::iter::repeat_n(&alice, MAX_SLOTS + 1).chain([&bob]);
    assert_eq!(Recipients::from_identities(many).err(), Some(RecipientsError::TooMany));
}

#[test]
fn decoys_hide_the_number() {
    let sender = identity(1);
    let readers: Vec<_> = (2..11).map(identity).collect();
    for suite in SUITES {
        for (n, slots) in [(1, 8), (3, 8), (8, 8), (9, 16)] {
            let list = recipients(&readers[..n]);
            let sealer =
                Sealer::new(&sender, &list, CONTEXT).suite(suite).decoys(Decoys::PowerOfTwo);
            let envelope = sealer.seal(b"m", &mut OsRandom).unwrap();
            assert_eq!(Envelope::parse(&envelope).unwrap().slots(), slots);
            for reader in &readers[..n] {
                assert!(Opener::new(reader, CONTEXT).open(&envelope, &mut Policy::new()).is_ok());
            }
        }
    }
}

#[test]
fn slot_positions_give_each_recipient_its_view() {
    let sender = identity(1);
    let readers: Vec<_> = (2..30).map(identity).collect();
    let list = recipients(&readers);
    let sealer =
        Sealer::new(&sender, &list, CONTEXT).suite(Suite::X25519).decoys(Decoys::PowerOfTwo);
    let mut envelope = vec![0; usize::try_from(sealer.sealed_len(5).unwrap()).unwrap()];
    let positions = sealer.seal_into(b"hello", &mut envelope, &mut OsRandom).unwrap();
    let parsed = Envelope::parse(&envelope).unwrap();
    for (key, position) in list.keys().zip(positions) {
        let view = parsed.view(position as usize).unwrap();
        assert_eq!(view.len(), envelope.len() - 31 * 36);
        for reader in &readers {
            let opens = Opener::new(reader, CONTEXT).open(&view, &mut Policy::new()).is_ok();
            assert_eq!(opens, reader.public().ed25519() == key);
        }
    }
    assert_eq!(parsed.view(32), None);
}

#[test]
fn contexts_are_bound_and_bounded() {
    let (sender, reader) = (identity(1), identity(2));
    let list = Recipients::from_identities([reader.public()]).unwrap();
    let envelope = Sealer::new(&sender, &list, b"a").seal(b"m", &mut OsRandom).unwrap();
    let open = |context: &[u8]| Opener::new(&reader, context).open(&envelope, &mut Policy::new());
    assert!(open(b"a").is_ok());
    assert_eq!(open(b"b"), Err(OpenError::Authentication));
    let long = [0; 1025];
    assert_eq!(open(&long), Err(OpenError::ContextTooLong));
    let sealed = Sealer::new(&sender, &list, &long).seal(b"m", &mut OsRandom);
    assert_eq!(sealed, Err(SealError::ContextTooLong));
}

#[test]
fn policies_refuse_what_is_authentic() {
    let (sender, reader) = (identity(1), identity(2));
    let list = Recipients::from_identities([reader.public()]).unwrap();
    let sealer = Sealer::new(&sender, &list, CONTEXT);
    let opener = Opener::new(&reader, CONTEXT);
    let dated = sealer.time(1_000_000).seal(b"m", &mut OsRandom).unwrap();
    let undated = sealer.seal(b"m", &mut OsRandom).unwrap();

    let aged = |now| opener.open(&dated, &mut Policy::new().age(now, 1000, 50)).err();
    assert_eq!(aged(1_000_000), None);
    assert_eq!(aged(1_001_000), None);
    assert_eq!(aged(1_001_001), Some(OpenError::TooOld));
    assert_eq!(aged(999_950), None);
    assert_eq!(aged(999_949), Some(OpenError::TooNew));
    assert_eq!(
        opener.open(&undated, &mut Policy::new().age(500, 1000, 50)).err(),
        Some(OpenError::TooOld)
    );

    let (me, other) = (*sender.public().ed25519(), *reader.public().ed25519());
    assert!(opener.open(&dated, &mut Policy::new().senders([other, me])).is_ok());
    assert_eq!(
        opener.open(&dated, &mut Policy::new().senders([other])).err(),
        Some(OpenError::SenderNotAccepted(me))
    );

    let mut seen = Seen::default();
    let mut broken = dated.clone();
    *broken.last_mut().unwrap() ^= 1;
    assert!(opener.open(&broken, &mut Policy::new().replay(&mut seen)).is_err());
    let outcomes =
        opener.open_many(&[&dated, &undated, &dated], &mut Policy::new().replay(&mut seen));
    let errors: Vec<_> = outcomes.into_iter().map(Result::err).collect();
    assert_eq!(errors, [None, None, Some(OpenError::Replayed)]);
}

#[test]
fn a_backlog_has_the_outcome_of_each() {
    let reader = identity(2);
    let mut envelopes = Vec::new();
    for i in 0..40_u8 {
        let sender = identity(1 + i % 3 * 50);
        let to = identity(if i % 7 == 3 { 9 } else { 2 });
        let list = Recipients::from_identities([to.public(), identity(200).public()]).unwrap();
        let suite = SUITES[usize::from(i % 3)];
        let sealer = Sealer::new(&sender, &list, CONTEXT).suite(suite);
        let mut envelope = sealer.seal(&data("m", usize::from(i) * 100), &mut OsRandom).unwrap();
        match i {
            11 => envelope.truncate(50),
            // The message id, the content, and both halves of the signature.
            18 => envelope = forged(&sender, &list, b"m", 70),
            19 => envelope = forged(&sender, &list, b"m", 65),
            22 => envelope = forged(&sender, &list, b"m", 64),
            33 => envelope = forged(&sender, &list, b"m", 30),
            13 => *envelope.last_mut().unwrap() ^= 1,
            17 => envelope.clear(),
            _ => {}
        }
        envelopes.push(envelope);
    }
    let backlog: Vec<_> = envelopes.iter().map(|e| &e[..]).collect();
    let opener = Opener::new(&reader, CONTEXT);
    let many = opener.open_many(&backlog, &mut Policy::new());
    for (i, (outcome, envelope)) in many.iter().zip(&backlog).enumerate() {
        assert_eq!(*outcome, opener.open(envelope, &mut Policy::new()), "{i}");
        let damaged = [11, 13, 17, 18, 19, 22, 33];
        assert_eq!(outcome.is_ok(), i % 7 != 3 && !damaged.contains(&i), "{i}");
    }
    assert!(opener.open_many(&[], &mut Policy::new()).is_empty());
}

#[test]
fn a_wrong_buffer_is_refused() {
    let (sender, reader) = (identity(1), identity(2));
    let list = recipients(&[reader]);
    let sealer = Sealer::new(&sender, &list, CONTEXT);
    let len = usize::try_from(sealer.sealed_len(5).unwrap()).unwrap();
    for wrong in [0, 50, len - 1, len + 1] {
        let outcome = sealer.seal_into(b"hello", &mut vec![0; wrong], &mut OsRandom);
        assert_eq!(outcome, Err(SealError::BufferLength));
    }
    assert_eq!(sealer.sealed_len(1 << 52), Err(SealError::ContentTooLong));
    assert_eq!(sealer.sealed_len(u64::MAX), Err(SealError::ContentTooLong));
}
