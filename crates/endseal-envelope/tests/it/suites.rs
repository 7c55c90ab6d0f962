//! The suite of an envelope: hybrid unless the sender chooses another one, visible to the reader,
//! and checked by the reader's policy.

use endseal_crypto::identity::PublicIdentity;
use endseal_crypto::random::OsRandom;
use endseal_envelope::{Envelope, OpenError, Opener, Policy, Recipients, SealError, Sealer, Suite};

use crate::{CONTEXT, identity};

const SUITES: [Suite; 3] = [Suite::X25519, Suite::X25519Compact, Suite::X25519MlKem768];

#[test]
fn the_hybrid_suite_is_used_unless_another_one_is_chosen() {
    let sender = identity(1);
    let (with, other) = (identity(2), identity(3));
    let without = PublicIdentity::short(*other.public().ed25519());
    let suite_for = |list: &Recipients| {
        let sealer = Sealer::new(&sender, list, CONTEXT);
        if list.suite() != Suite::X25519MlKem768 {
            assert_eq!(sealer.seal(b"m", &mut OsRandom), Err(SealError::NoMlKemKey));
            let error = sealer.writer(Vec::new(), &mut OsRandom).err().unwrap();
            let inner = error.get_ref().and_then(|inner| inner.downcast_ref());
            assert_eq!(inner, Some(&SealError::NoMlKemKey));
        }
        let envelope = sealer.suite(list.suite()).seal(b"m", &mut OsRandom).unwrap();
        let suite = Envelope::parse(&envelope).unwrap().suite();
        assert_eq!(list.suite(), suite);
        let opened = Opener::new(&with, CONTEXT).open(&envelope, &mut Policy::new()).unwrap();
        assert_eq!(opened.suite, suite);
        let stream = Opener::new(&with, CONTEXT).reader(&envelope[..], Policy::new()).unwrap();
        assert_eq!(stream.suite(), suite);
        suite
    };
    let all = Recipients::from_identities([with.public(), other.public()]).unwrap();
    assert_eq!(suite_for(&all), Suite::X25519MlKem768);
    let some = Recipients::from_identities([with.public(), &without]).unwrap();
    assert_eq!(suite_for(&some), Suite::X25519);
    let none = Recipients::from_ed25519(&[*with.public().ed25519().as_bytes()]).unwrap();
    assert_eq!(suite_for(&none), Suite::X25519);
    let chosen = Sealer::new(&sender, &all, CONTEXT).seal(b"m", &mut OsRandom).unwrap();
    assert_eq!(Envelope::parse(&chosen).unwrap().suite(), Suite::X25519MlKem768);
    for suite in SUITES {
        let sealer = Sealer::new(&sender, &all, CONTEXT).suite(suite);
        let envelope = sealer.seal(b"m", &mut OsRandom).unwrap();
        assert_eq!(Envelope::parse(&envelope).unwrap().suite(), suite);
    }
}

#[test]
fn a_suite_that_is_not_accepted_is_refused_before_any_key_is_used() {
    let (sender, reader, outsider) = (identity(1), identity(2), identity(3));
    let list = Recipients::from_identities([reader.public()]).unwrap();
    for suite in SUITES {
        let sealer = Sealer::new(&sender, &list, CONTEXT).suite(suite);
        let mut envelope = sealer.seal(b"m", &mut OsRandom).unwrap();
        // An ephemeral key with which every agreement fails, and no slot after the header.
        envelope[8..40].fill(0);
        envelope.truncate(100);
        for required in [&[Suite::X25519MlKem768][..], &[Suite::X25519, Suite::X25519Compact], &[]]
        {
            let policy = || Policy::new().suites(required.iter().copied());
            let expected =
                (!required.contains(&suite)).then_some(OpenError::SuiteNotAccepted(suite));
            for identity in [&reader, &outsider] {
                let opener = Opener::new(identity, CONTEXT);
                let opened = opener.open(&envelope, &mut policy()).err();
                let many = opener.open_many(&[&envelope[..]], &mut policy()).remove(0).err();
                assert_eq!(many, opened);
                let streamed = opener.reader(&envelope[..], policy()).err().map(|error| {
                    *error.get_ref().and_then(|inner| inner.downcast_ref::<OpenError>()).unwrap()
                });
                assert_eq!(streamed, opened);
                match expected {
                    Some(_) => assert_eq!(opened, expected),
                    None => assert!(matches!(opened, Some(OpenError::Malformed(_)))),
                }
            }
        }
    }
}

#[test]
fn a_required_suite_opens() {
    let (sender, reader) = (identity(1), identity(2));
    let list = Recipients::from_identities([reader.public()]).unwrap();
    for suite in SUITES {
        let sealer = Sealer::new(&sender, &list, CONTEXT).suite(suite);
        let envelope = sealer.seal(b"m", &mut OsRandom).unwrap();
        let opener = Opener::new(&reader, CONTEXT);
        assert!(opener.open(&envelope, &mut Policy::new().suites([suite])).is_ok());
        assert!(opener.reader(&envelope[..], Policy::new().suites([suite])).is_ok());
    }
}
