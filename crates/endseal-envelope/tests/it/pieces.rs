//! Streams without I/O: any split gives the same bytes, and nothing comes out that is not
//! authentic.

use alloc::sync::Arc;

use endseal_crypto::identity::Identity;
use endseal_crypto::random::{OsRandom, Random, RandomError};
use endseal_envelope::{
    Decoys, LastBlock, Malformed, MessageInfo, OpenError, OpenStream, Opener, Policy, Recipients,
    SealError, SealStream, Sealer, Suite,
};

use crate::replay::Seen;
use crate::{CONTEXT, data, identity};

const BLOCK: usize = 4 << 20;
const SUITES: [Suite; 3] = [Suite::X25519, Suite::X25519Compact, Suite::X25519MlKem768];

/// A source that repeats itself, so that two envelopes can be compared.
pub(crate) struct Repeated;

impl Random for Repeated {
    fn fill(&mut self, buffer: &mut [u8]) -> Result<(), RandomError> {
        buffer.fill(7);
        Ok(())
    }
}

pub(crate) fn recipients() -> Recipients {
    Recipients::from_identities([identity(2).public(), identity(3).public()]).unwrap()
}

fn seal(suite: Suite, content: &[u8]) -> Vec<u8> {
    let (sender, list) = (identity(1), recipients());
    Sealer::new(&sender, &list, CONTEXT).suite(suite).seal(content, &mut OsRandom).unwrap()
}

/// Seals the pieces as a stream, with the same randomness on each call.
pub(crate) fn seal_pieces<'a>(suite: Suite, pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
    let (sender, list) = (identity(1), recipients());
    let sealer = Sealer::new(&sender, &list, CONTEXT).suite(suite).time(9);
    let mut out = b"before".to_vec();
    let mut stream = sealer.stream(&mut Repeated, &mut out).unwrap();
    pieces.into_iter().for_each(|piece| stream.push(piece, &mut out).unwrap());
    stream.finish(&mut out).unwrap();
    assert_eq!(out.drain(..6).collect::<Vec<_>>(), b"before", "it appends");
    out
}

fn stream<'a>(reader: &'a Identity, context: &[u8]) -> OpenStream<'static, &'a Identity> {
    OpenStream::new(reader, context, Policy::new()).unwrap()
}

/// Opens the pieces as a stream: what it released before the end, and how it ended.
fn open_pieces<'a>(
    reader: &Identity,
    context: &[u8],
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> (Vec<u8>, Result<LastBlock, OpenError>) {
    let mut stream = stream(reader, context);
    let mut released = Vec::new();
    for mut piece in pieces {
        loop {
            let before = piece.len();
            match stream.feed(&mut piece) {
                Ok(Some(block)) => released.extend_from_slice(block),
                Ok(None) => break,
                Err(error) => {
                    let mut more = &[0; 100][..];
                    assert_eq!(stream.feed(&mut more), Err(error), "the same error again");
                    assert_eq!((stream.needed(), stream.info()), (0, None));
                    assert_eq!(stream.finish().err(), Some(error));
                    return (released, Err(error));
                }
            }
            assert!(piece.len() < before, "it takes bytes before it gives a block");
        }
        assert!(piece.is_empty(), "all of it was taken");
    }
    (released, stream.finish())
}

/// The whole content, if the stream opens.
pub(crate) fn opened<'a>(
    reader: &Identity,
    context: &[u8],
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> Result<(Vec<u8>, MessageInfo), OpenError> {
    let (mut content, end) = open_pieces(reader, context, pieces);
    let last = end?;
    content.extend_from_slice(last.content());
    Ok((content, *last.info()))
}

/// Cuts `bytes` into pieces of changing lengths, from 1 byte to some hundred thousand.
pub(crate) fn cut(bytes: &[u8], seed: usize) -> impl Iterator<Item = &[u8]> {
    let (mut rest, mut state) = (bytes, seed * 2 + 1);
    core::iter::from_fn(move || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let len = (state >> 40 & 0xf_ffff) >> (state >> 33 & 0xf);
        let (piece, tail) = rest.split_at(rest.len().min(len + 1));
        rest = tail;
        (!piece.is_empty()).then_some(piece)
    })
}

#[test]
fn every_split_of_a_short_stream() {
    let reader = identity(2);
    for suite in SUITES {
        let content = data("short", 40);
        let whole = seal_pieces(suite, [&content[..]]);
        assert_eq!(opened(&reader, CONTEXT, [&whole[..]]).unwrap().0, content);
        for at in 0..=content.len() {
            let (a, b) = content.split_at(at);
            assert_eq!(seal_pieces(suite, [a, &[], b]), whole, "{at}");
        }
        for at in 0..=whole.len() {
            let (a, b) = whole.split_at(at);
            assert_eq!(opened(&reader, CONTEXT, [a, &[], b]).unwrap().0, content, "{suite:?} {at}");
        }
        assert_eq!(opened(&reader, CONTEXT, whole.chunks(1)).unwrap().0, content, "{suite:?}");
        let bytes = seal_pieces(suite, content.chunks(1));
        assert_eq!(bytes, whole, "{suite:?}");
    }
}

#[test]
fn random_splits_of_long_streams() {
    let (sender, reader, list) = (identity(1), identity(2), recipients());
    // Around the ends of chunks and blocks: the second chunk begins 16,328 bytes into the content.
    let near_blocks = [BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK - 1, 2 * BLOCK, 2 * BLOCK + 77];
    // The last chunk has the signature of the first block and some of the second.
    let in_last_chunk = [BLOCK + 16_383 - 184, BLOCK + 16_384 - 184, BLOCK + 16_385 - 184];
    let short = [0, 1, 16_263, 16_264, 16_327, 16_328, 16_329, 130_000, 200_000];
    for (seed, len) in short.into_iter().chain(near_blocks).chain(in_last_chunk).enumerate() {
        let content = data("long", len);
        let sealer = Sealer::new(&sender, &list, CONTEXT).suite(Suite::X25519).time(5);
        let whole = sealer.decoys(Decoys::PowerOfTwo).seal(&content, &mut OsRandom).unwrap();
        let in_memory = Opener::new(&reader, CONTEXT).open(&whole, &mut Policy::new()).unwrap();
        let (streamed, info) = opened(&reader, CONTEXT, cut(&whole, seed)).unwrap();
        assert!(streamed == content, "{len}");
        let facts = (in_memory.suite, in_memory.sender, in_memory.message_id, in_memory.time);
        assert_eq!((info.suite, info.sender, info.message_id, info.time), facts);

        let sealed = seal_pieces(Suite::X25519, cut(&content, seed + 100));
        assert!(sealed == seal_pieces(Suite::X25519, [&content[..]]), "{len}");
        assert_eq!(sealed.len() as u64, sealer.sealed_len(len as u64).unwrap());
        let in_memory = Opener::new(&reader, CONTEXT).open(&sealed, &mut Policy::new()).unwrap();
        assert!(in_memory.content == content, "{len}");
    }
}

#[test]
fn a_stream_that_is_cut_ends_in_an_error() {
    let reader = identity(2);
    for suite in SUITES {
        let whole = seal(suite, &data("cut", 16_500));
        let clear = 100 + 2 * suite.slot_len();
        let second_chunk = clear + 16_400;
        let near_ends = (0..clear + 400).chain(second_chunk - 20..whole.len());
        for len in near_ends.chain((clear..whole.len()).step_by(97)) {
            let (released, end) = open_pieces(&reader, CONTEXT, [&whole[..len]]);
            assert!(released.is_empty());
            let in_memory = Opener::new(&reader, CONTEXT).open(&whole[..len], &mut Policy::new());
            assert_eq!(end.err(), in_memory.err(), "{suite:?} {len}");
            let is_truncated = len < clear;
            let truncated = OpenError::Malformed(Malformed::Truncated);
            let expected = if is_truncated { truncated } else { OpenError::Authentication };
            let (_, end) = open_pieces(&reader, CONTEXT, whole[..len].chunks(7_000));
            assert!(len == 0 || end.err() == Some(expected), "{suite:?} {len}");
        }
    }
    // Behind the first block: what came before is a prefix, and the end is an error.
    let content = data("cut", BLOCK + 20_000);
    let whole = seal(Suite::X25519, &content);
    let end_of_block = whole.len() - 20_000;
    for len in (end_of_block - 40..end_of_block + 40).chain(whole.len() - 40..whole.len()) {
        let (released, end) = open_pieces(&reader, CONTEXT, cut(&whole[..len], len));
        assert_eq!(end.err(), Some(OpenError::Authentication), "{len}");
        assert!(released.is_empty() || released == content[..BLOCK], "{len}");
    }
    let (released, _) = open_pieces(&reader, CONTEXT, [&whole[..whole.len() - 1]]);
    assert_eq!(released.len(), BLOCK, "a whole block was released");
}

#[test]
fn nothing_comes_out_of_a_damaged_block() {
    let reader = identity(2);
    let whole = seal(Suite::X25519, &data("damaged", 300));
    // A changed slot denies the message to its owner alone, or to both if the order is wrong then.
    let denied = (100..172).filter(|at| {
        let mut changed = whole.clone();
        changed[*at] ^= 1;
        opened(&reader, CONTEXT, [&changed[..]]).is_err()
    });
    assert!((36..72).contains(&denied.count()));
    for at in (0..100).chain(172..whole.len()) {
        for bit in [1, 0x80] {
            let mut changed = whole.clone();
            changed[at] ^= bit;
            for pieces in [1, 50, usize::MAX] {
                let (released, end) = open_pieces(&reader, CONTEXT, changed.chunks(pieces));
                assert!(released.is_empty() && end.is_err(), "byte {at}");
            }
        }
    }
    // In each of two blocks: the first comes out before the second is damaged, and not after.
    let content = data("damaged", BLOCK + 50_000);
    let whole = seal(Suite::X25519, &content);
    let in_second = whole.len() - 30_000;
    for (at, expected) in [(200, 0), (BLOCK / 2, 0), (in_second, BLOCK), (whole.len() - 1, BLOCK)] {
        let mut changed = whole.clone();
        changed[at] ^= 1;
        let (released, end) = open_pieces(&reader, CONTEXT, cut(&changed, at));
        assert_eq!(end.err(), Some(OpenError::Authentication));
        assert!(released == content[..expected], "byte {at}: {}", released.len());
    }
}

#[test]
fn a_stream_of_another_reader_fails_behind_the_slots() {
    let whole = seal(Suite::X25519, b"content");
    let other = identity(4);
    let mut stream = stream(&other, CONTEXT);
    assert_eq!(stream.feed(&mut &whole[..171]), Ok(None));
    assert_eq!(stream.feed(&mut &whole[171..172]), Err(OpenError::Authentication));
    assert_eq!(stream.feed(&mut &[][..]), Err(OpenError::Authentication));
}

#[test]
fn the_policy_judges_the_first_block_and_remembers_at_the_end() {
    let reader = identity(2);
    let content = data("policy", BLOCK + 20_000);
    let whole = seal(Suite::X25519, &content);
    let mut seen = Seen::default();
    let authentication = Some(OpenError::Authentication);
    // Cut short, it is not remembered; complete, it is.
    for (len, end) in [(whole.len() - 10, authentication), (whole.len(), None)] {
        let policy = Policy::new().replay(&mut seen);
        let mut stream = Opener::new(&reader, CONTEXT).stream(policy).unwrap();
        let mut bytes = &whole[..len];
        assert_eq!(stream.feed(&mut bytes), Ok(Some(&content[..BLOCK])));
        assert_eq!(stream.info().unwrap().sender, *identity(1).public().ed25519());
        assert_eq!(stream.feed(&mut bytes), Ok(None));
        let last = stream.finish();
        assert_eq!(last.as_ref().err(), end.as_ref());
        assert!(last.is_err() || last.unwrap().content() == &content[BLOCK..]);
    }
    let policy = Policy::new().replay(&mut seen);
    let mut stream = Opener::new(&reader, CONTEXT).stream(policy).unwrap();
    assert_eq!(stream.feed(&mut &whole[..]), Err(OpenError::Replayed), "before any content");

    let other = Policy::new().senders([*reader.public().ed25519()]);
    let mut stream = Opener::new(&reader, CONTEXT).stream(other).unwrap();
    let refused = OpenError::SenderNotAccepted(*identity(1).public().ed25519());
    assert_eq!(stream.feed(&mut &whole[..]), Err(refused));
    let suites = Policy::new().suites([Suite::X25519MlKem768]);
    let mut stream = Opener::new(&reader, CONTEXT).stream(suites).unwrap();
    let refused = OpenError::SuiteNotAccepted(Suite::X25519);
    assert_eq!(stream.feed(&mut &whole[..100]), Err(refused), "behind the header");
}

#[test]
fn streams_can_be_held_by_any_object() {
    fn held<T: Send + 'static>(it: T) -> T {
        it
    }
    let mut out = Vec::new();
    let mut sealing: SealStream = {
        let (sender, list) = (identity(1), recipients());
        let sealer = Sealer::new(&sender, &list, CONTEXT);
        held(sealer.stream(&mut OsRandom, &mut out).unwrap())
    };
    let policy = Policy::new().replay(Seen::default());
    let opening = held(OpenStream::new(Arc::new(identity(2)), CONTEXT, policy).unwrap());
    let thread = std::thread::spawn(move || {
        sealing.push(b"content", &mut out).unwrap();
        sealing.finish(&mut out).unwrap();
        out
    });
    let envelope = thread.join().unwrap();
    let mut opening = opening;
    assert_eq!(opening.feed(&mut &envelope[..]), Ok(None));
    assert_eq!(opening.finish().unwrap().content(), b"content");
}

#[test]
fn what_cannot_be_sealed_appends_nothing() {
    let (sender, list) = (identity(1), recipients());
    let mut out = b"before".to_vec();
    let context = [0; 1025];
    let outcome = Sealer::new(&sender, &list, &context).stream(&mut OsRandom, &mut out);
    assert_eq!(outcome.err(), Some(SealError::ContextTooLong));
    assert_eq!(out, b"before");
    let outcome = OpenStream::new(&sender, &context, Policy::new());
    assert_eq!(outcome.err(), Some(OpenError::ContextTooLong));
}
