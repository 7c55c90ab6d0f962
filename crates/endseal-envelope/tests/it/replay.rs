//! Replays: a message opens completely only once, even if opening was started several times.

use std::collections::HashSet;
use std::io::Read;

use endseal_crypto::ed25519::PublicKey;
use endseal_crypto::random::OsRandom;
use endseal_envelope::{OpenError, Opener, Policy, Recipients, ReplayCache, Sealer};

use crate::{CONTEXT, data, identity};

const MIB: usize = 1 << 20;

/// A replay cache in memory.
#[derive(Default)]
pub(crate) struct Seen(HashSet<(PublicKey, [u8; 16])>);

impl ReplayCache for Seen {
    fn is_new(&self, sender: &PublicKey, message_id: &[u8; 16], _: u64) -> bool {
        !self.0.contains(&(*sender, *message_id))
    }

    fn remember(&mut self, sender: &PublicKey, message_id: &[u8; 16], _: u64) -> bool {
        self.0.insert((*sender, *message_id))
    }
}

fn sealed(content: &[u8]) -> Vec<u8> {
    let list = Recipients::from_identities([identity(2).public()]).unwrap();
    Sealer::new(&identity(1), &list, CONTEXT).seal(content, &mut OsRandom).unwrap()
}

/// Reads a stream to its end. Returns the bytes that it released, and the error.
fn stream(envelope: &[u8], seen: &mut (impl ReplayCache + Send)) -> (Vec<u8>, Option<OpenError>) {
    let reader = identity(2);
    let mut released = Vec::new();
    let outcome = Opener::new(&reader, CONTEXT)
        .reader(envelope, Policy::new().replay(seen))
        .and_then(|mut stream| stream.read_to_end(&mut released));
    let error = outcome.err().map(|error| {
        *error.get_ref().and_then(|inner| inner.downcast_ref()).expect("an error of the envelope")
    });
    (released, error)
}

#[test]
fn a_stream_that_broke_off_opens_when_it_is_sent_again() {
    let content = data("stream", 9 * MIB);
    let envelope = sealed(&content);
    let mut seen = Seen::default();
    for _ in 0..2 {
        let (released, error) = stream(&envelope[..5 * MIB], &mut seen);
        assert_eq!(error, Some(OpenError::Authentication));
        assert!(released == content[..4 * MIB], "{} bytes", released.len());
    }
    let (released, error) = stream(&envelope, &mut seen);
    assert_eq!(error, None);
    assert!(released == content);
    let (released, error) = stream(&envelope, &mut seen);
    assert_eq!((released.len(), error), (0, Some(OpenError::Replayed)));
}

#[test]
fn a_short_stream_and_memory_have_one_cache() {
    let envelope = sealed(b"m");
    let reader = identity(2);
    let mut seen = Seen::default();
    assert_eq!(stream(&envelope, &mut seen), (b"m".to_vec(), None));
    let opened =
        Opener::new(&reader, CONTEXT).open(&envelope, &mut Policy::new().replay(&mut seen));
    assert_eq!(opened.err(), Some(OpenError::Replayed));
    let other = sealed(b"n");
    let opened = Opener::new(&reader, CONTEXT).open(&other, &mut Policy::new().replay(&mut seen));
    assert_eq!(opened.map(|opened| opened.content), Ok(b"n".to_vec()));
    assert_eq!(stream(&other, &mut seen), (vec![], Some(OpenError::Replayed)));
}

/// A cache in which another opener stores the message after this one was answered that it is new.
#[derive(Default)]
struct Overtaken(Seen);

impl ReplayCache for Overtaken {
    fn is_new(&self, _: &PublicKey, _: &[u8; 16], _: u64) -> bool {
        true
    }

    fn remember(&mut self, sender: &PublicKey, message_id: &[u8; 16], time: u64) -> bool {
        self.0.remember(sender, message_id, time);
        self.0.remember(sender, message_id, time)
    }
}

#[test]
fn an_opener_that_was_overtaken_does_not_release_the_last_block() {
    let content = data("stream", 5 * MIB);
    let (released, error) = stream(&sealed(&content), &mut Overtaken::default());
    assert_eq!(error, Some(OpenError::Replayed));
    assert!(released == content[..4 * MIB], "{} bytes", released.len());
    let mut cache = Overtaken::default();
    let mut policy = Policy::new().replay(&mut cache);
    let opened = Opener::new(&identity(2), CONTEXT).open(&sealed(b"m"), &mut policy);
    assert_eq!(opened.err(), Some(OpenError::Replayed));
}

#[test]
fn of_two_copies_in_a_backlog_the_second_is_refused() {
    let (one, other) = (sealed(b"one"), sealed(b"other"));
    let mut broken = one.clone();
    *broken.last_mut().unwrap() ^= 1;
    let mut seen = Seen::default();
    let reader = identity(2);
    let backlog = [&broken[..], &one, &other, &one, &broken, &other];
    let outcomes =
        Opener::new(&reader, CONTEXT).open_many(&backlog, &mut Policy::new().replay(&mut seen));
    let errors: Vec<_> = outcomes.into_iter().map(Result::err).collect();
    let (damaged, replayed) = (Some(OpenError::Authentication), Some(OpenError::Replayed));
    assert_eq!(errors, [damaged, None, None, replayed, damaged, replayed]);
}
