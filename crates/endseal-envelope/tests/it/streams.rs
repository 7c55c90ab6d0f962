//! Streams give the same results as in memory, in pieces of any size and across blocks.

use std::io::{self, Read, Write};

use endseal_crypto::random::OsRandom;
use endseal_envelope::{OpenError, Opener, Policy, Recipients, Sealer, Suite};

use crate::{CONTEXT, data, identity};

const BLOCK: usize = 4 << 20;

#[test]
fn streams_and_memory_open_each_other() {
    let (sender, reader) = (identity(1), identity(2));
    let list = Recipients::from_identities([reader.public(), identity(3).public()]).unwrap();
    let opener = Opener::new(&reader, CONTEXT);
    for suite in [Suite::X25519, Suite::X25519Compact, Suite::X25519MlKem768] {
        for len in [0, 1, 16_264, 100_000, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK + 77] {
            let content = data("stream", len);
            let sealer = Sealer::new(&sender, &list, CONTEXT).suite(suite).time(9);
            let mut writer = sealer.writer(Vec::new(), &mut OsRandom).unwrap();
            for piece in content.chunks(100_003) {
                writer.write_all(piece).unwrap();
            }
            let streamed = writer.finish().unwrap();
            assert_eq!(streamed.len() as u64, sealer.sealed_len(len as u64).unwrap());
            let opened = opener.open(&streamed, &mut Policy::new()).unwrap();
            assert!(opened.content == content, "{suite:?} {len}");

            let whole = sealer.seal(&content, &mut OsRandom).unwrap();
            let mut reader = opener.reader(Slow(&whole, 0), Policy::new()).unwrap();
            assert_eq!((reader.sender(), reader.time()), (sender.public().ed25519(), 9));
            let mut read = Vec::new();
            reader.read_to_end(&mut read).unwrap();
            assert!(read == content, "{suite:?} {len}");
            assert_eq!(reader.read(&mut [0; 10]).unwrap(), 0, "the end stays the end");
        }
    }
}

/// A reader that returns pieces of changing, mostly odd sizes.
struct Slow<'a>(&'a [u8], usize);

impl Read for Slow<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.1 = self.1 * 5 % 65_537 + 1;
        if self.1.is_multiple_of(11) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let len = out.len().min(self.1);
        self.0.read(&mut out[..len])
    }
}

#[test]
fn nothing_of_a_forged_block_is_released() {
    let (sender, reader) = (identity(1), identity(2));
    let list = Recipients::from_identities([reader.public()]).unwrap();
    let content = data("stream", BLOCK + 50_000);
    let mut envelope = Sealer::new(&sender, &list, CONTEXT).seal(&content, &mut OsRandom).unwrap();
    let in_second_block = envelope.len() - 20_000;
    envelope[in_second_block] ^= 1;
    let mut stream = Opener::new(&reader, CONTEXT).reader(&envelope[..], Policy::new()).unwrap();
    let mut read = Vec::new();
    let error = stream.read_to_end(&mut read).unwrap_err();
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref());
    assert_eq!(inner, Some(&OpenError::Authentication));
    assert!(read == content[..BLOCK], "the first block, and no byte of the second");
    let again = stream.read(&mut [0; 10]).unwrap_err();
    let inner = again.get_ref().and_then(|inner| inner.downcast_ref());
    assert_eq!(inner, Some(&OpenError::Authentication), "and nothing after the error");
}

#[test]
fn an_error_of_the_source_stays_its_own() {
    struct Failing<'a>(&'a [u8]);
    impl Read for Failing<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            match self.0.read(out)? {
                0 => Err(io::ErrorKind::ConnectionReset.into()),
                n => Ok(n),
            }
        }
    }
    let (sender, reader) = (identity(1), identity(2));
    let list = Recipients::from_identities([reader.public()]).unwrap();
    let envelope = Sealer::new(&sender, &list, CONTEXT).seal(b"content", &mut OsRandom).unwrap();
    for len in [0, 50, 110, 140, envelope.len() - 1] {
        let source = Failing(&envelope[..len]);
        let outcome = Opener::new(&reader, CONTEXT).reader(source, Policy::new());
        assert_eq!(outcome.err().map(|e| e.kind()), Some(io::ErrorKind::ConnectionReset), "{len}");
    }
}

#[test]
fn an_error_of_the_source_stays_its_own_when_it_is_read_again() {
    /// A reader that returns its bytes, then one error, then the end.
    struct FailsOnce<'a>(&'a [u8], Option<io::Error>);
    impl Read for FailsOnce<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            match self.0.read(out)? {
                0 => self.1.take().map_or(Ok(0), Err),
                n => Ok(n),
            }
        }
    }
    let (sender, reader) = (identity(1), identity(2));
    let list = Recipients::from_identities([reader.public()]).unwrap();
    let content = data("stream", BLOCK + 50_000);
    let envelope = Sealer::new(&sender, &list, CONTEXT).seal(&content, &mut OsRandom).unwrap();
    let cut = &envelope[..envelope.len() - 20_000];
    let errors = [
        || io::ErrorKind::ConnectionReset.into(),
        || io::Error::from_raw_os_error(5),
        || io::Error::new(io::ErrorKind::TimedOut, "no answer in 3 s"),
    ];
    for error in errors {
        let source = FailsOnce(cut, Some(error()));
        let mut stream = Opener::new(&reader, CONTEXT).reader(source, Policy::new()).unwrap();
        let mut read = Vec::new();
        for call in 0..3 {
            let seen = stream.read_to_end(&mut read).unwrap_err();
            assert_eq!(seen.kind(), error().kind(), "call {call}");
            assert_eq!(seen.raw_os_error(), error().raw_os_error(), "call {call}");
            assert_eq!(seen.to_string(), error().to_string(), "call {call}");
        }
        assert!(read == content[..BLOCK], "the first block, and nothing behind the error");
    }
}

#[test]
fn a_writer_that_is_dropped_leaves_nothing_that_opens() {
    let (sender, reader) = (identity(1), identity(2));
    let list = Recipients::from_identities([reader.public()]).unwrap();
    let mut out = Vec::new();
    let mut writer = Sealer::new(&sender, &list, CONTEXT).writer(&mut out, &mut OsRandom).unwrap();
    writer.write_all(&data("stream", 100_000)).unwrap();
    drop(writer);
    assert!(out.len() > 90_000);
    let outcome = Opener::new(&reader, CONTEXT).open(&out, &mut Policy::new());
    assert_eq!(outcome, Err(OpenError::Authentication));
}

#[test]
fn the_policy_judges_before_anything_is_given() {
    let (sender, reader) = (identity(1), identity(2));
    let list = Recipients::from_identities([reader.public()]).unwrap();
    let envelope = Sealer::new(&sender, &list, CONTEXT).seal(b"content", &mut OsRandom).unwrap();
    let policy = Policy::new().senders([*reader.public().ed25519()]);
    let error = Opener::new(&reader, CONTEXT).reader(&envelope[..], policy).err().unwrap();
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref());
    assert_eq!(inner, Some(&OpenError::SenderNotAccepted(*sender.public().ed25519())));
}
