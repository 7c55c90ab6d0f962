//! Slots and their number are not authenticated: a relay can add slots (docs/spec/envelope.md,
//! "Malleability").

use std::io::Read;

use endseal_crypto::hash;
use endseal_crypto::identity::Identity;
use endseal_crypto::random::OsRandom;
use endseal_envelope::{Envelope, OpenError, Opened, Opener, Policy, Recipients, Sealer, Suite};

use crate::{CONTEXT, data, identity};

/// Inserts `count` slots with random bodies at the position of their tag, before equal ones.
fn insert_slots(envelope: &[u8], tag: [u8; 4], count: usize) -> Vec<u8> {
    let parsed = Envelope::parse(envelope).unwrap();
    let (slots, body_len) = (parsed.slots(), parsed.suite().slot_len() - tag.len());
    let (tags, rest) = envelope[100..].split_at(4 * slots);
    let (tags, _) = tags.as_chunks::<4>();
    let at = tags.partition_point(|other| *other < tag);
    let (bodies, chunks) = rest.split_at(slots * body_len);
    [
        &envelope[..96],
        &u32::try_from(slots + count).unwrap().to_le_bytes(),
        tags[..at].as_flattened(),
        &tag.repeat(count),
        tags[at..].as_flattened(),
        &bodies[..at * body_len],
        &data("bodies", count * body_len),
        &bodies[at * body_len..],
        chunks,
    ]
    .concat()
}

/// Returns the tag of the reader's slot: that of the view that opens.
fn tag_of(reader: &Identity, envelope: &[u8]) -> [u8; 4] {
    let parsed = Envelope::parse(envelope).unwrap();
    let own = (0..parsed.slots())
        .filter_map(|i| parsed.view(i))
        .find(|view| Opener::new(reader, CONTEXT).open(view, &mut Policy::new()).is_ok());
    *own.expect("the reader is a recipient")[100..].first_chunk().unwrap()
}

fn open_all(readers: &[Identity], envelope: &[u8]) -> Vec<Result<Opened, OpenError>> {
    let open = |reader| {
        let opener = Opener::new(reader, CONTEXT);
        let opened = opener.open(envelope, &mut Policy::new());
        let mut content = Vec::new();
        let streamed = opener.reader(envelope, Policy::new()).and_then(|mut stream| {
            assert_eq!(stream.sender(), identity(1).public().ed25519());
            stream.read_to_end(&mut content)
        });
        assert_eq!(streamed.is_ok(), opened.is_ok());
        assert!(
            opened.as_ref().is_ok_and(|opened| opened.content == content) || content.is_empty()
        );
        opened
    };
    readers.iter().map(open).collect()
}

fn sealed(suite: Suite, readers: &[Identity]) -> Vec<u8> {
    let list = Recipients::from_identities(readers.iter().map(Identity::public)).unwrap();
    let sender = identity(1);
    let sealer = Sealer::new(&sender, &list, CONTEXT).suite(suite);
    sealer.seal(b"content", &mut OsRandom).unwrap()
}

const SUITES: [Suite; 3] = [Suite::X25519, Suite::X25519Compact, Suite::X25519MlKem768];

#[test]
fn an_envelope_with_slots_added_by_a_relay_opens_as_before_and_has_another_hash() {
    let readers: Vec<_> = (2..6).map(identity).collect();
    for suite in SUITES {
        let envelope = sealed(suite, &readers);
        let before = open_all(&readers, &envelope);
        assert!(before.iter().all(Result::is_ok));
        for (tag, count) in [([0; 4], 1), ([0x80; 4], 3), ([0xff; 4], 40)] {
            let added = insert_slots(&envelope, tag, count);
            assert_eq!(open_all(&readers, &added), before, "{suite:?} {tag:?}");
            assert_ne!(hash::digest(&added), hash::digest(&envelope));
        }
    }
}

#[test]
fn sixteen_slots_with_the_tag_of_a_recipient_shut_it_out_and_no_one_else() {
    let readers: Vec<_> = (2..6).map(identity).collect();
    for suite in SUITES {
        let envelope = sealed(suite, &readers);
        let before = open_all(&readers, &envelope);
        let tag = tag_of(&readers[1], &envelope);
        assert_eq!(open_all(&readers, &insert_slots(&envelope, tag, 15)), before);
        let after = open_all(&readers, &insert_slots(&envelope, tag, 16));
        assert_eq!(after[1], Err(OpenError::Authentication), "{suite:?}");
        for other in [0, 2, 3] {
            assert_eq!(after[other], before[other], "{suite:?}");
        }
    }
}
