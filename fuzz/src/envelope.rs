//! Fuzz targets of envelopes of unknown senders, and of envelopes that were sealed and then
//! changed.

use std::io::Read as _;
use std::sync::LazyLock;

use endseal_crypto::identity::Identity;
use endseal_crypto::random::{Random, RandomError};
use endseal_crypto::{ed25519, mlkem768};
use endseal_envelope::{OpenError, Opener, Policy, Recipients, Sealer, Suite};

use crate::choice;

/// Context of the vectors' envelopes.
const CONTEXT: &[u8] = b"endseal/vectors@v1";

fn identity(n: u8) -> Identity {
    Identity::from_seeds(ed25519::Seed::from_bytes(&[n; 32]), mlkem768::Seed::from_bytes(&[n; 64]))
}

static SENDER: LazyLock<Identity> = LazyLock::new(|| identity(1));
static READER: LazyLock<Identity> = LazyLock::new(|| identity(2));
static OTHER: LazyLock<Identity> = LazyLock::new(|| identity(3));

/// A generator with the same bytes in each run.
struct Fixed(u8);

impl Random for Fixed {
    fn fill(&mut self, buffer: &mut [u8]) -> Result<(), RandomError> {
        for byte in buffer {
            self.0 = self.0.wrapping_mul(77).wrapping_add(31);
            *byte = self.0;
        }
        Ok(())
    }
}

fn opener() -> Opener<'static> {
    Opener::new(&READER, CONTEXT)
}

fn sealed(suite: Suite, content: &[u8]) -> Vec<u8> {
    let recipients = Recipients::from_identities([READER.public(), OTHER.public()]);
    let recipients = recipients.expect("two recipients with valid keys");
    let sealer = Sealer::new(&SENDER, &recipients, CONTEXT).suite(suite);
    sealer.seal(content, &mut Fixed(1)).expect("the source does not fail")
}

/// Returns the envelope of an input, and its content if the target sealed it. With an even first
/// byte the rest is an envelope. An odd first byte selects a suite, followed by edits of four bytes
/// (offset, value) and the content, which is sealed and edited: it must open to the content or not
/// at all.
fn input(data: &[u8]) -> (Vec<u8>, Option<Vec<u8>>) {
    let (mode, data) = choice(data);
    if mode % 2 == 0 {
        return (data.to_vec(), None);
    }
    let suites = [Suite::X25519, Suite::X25519Compact, Suite::X25519MlKem768];
    let edits = data.len().min(4 * (mode >> 4));
    let (edits, content) = data.split_at(edits);
    let mut envelope = sealed(suites[(mode >> 1) % 3], content);
    for edit in edits.as_chunks::<4>().0 {
        let [a, b, flip, _] = *edit;
        let at = usize::from(u16::from_le_bytes([a, b])) % envelope.len();
        envelope[at] ^= flip;
    }
    (envelope, Some(content.to_vec()))
}

/// Fuzzes opening: alone and in a batch it must have the same outcome.
pub fn envelope_open(data: &[u8]) {
    let (envelope, content) = input(data);
    let one = opener().open(&envelope, &mut Policy::new());
    let many = opener().open_many(&[&envelope, &envelope], &mut Policy::new());
    for again in many {
        let summary =
            |it: Result<endseal_envelope::Opened, _>| it.map(|it| (it.sender, it.content));
        match &one {
            Ok(one) => {
                assert_eq!(summary(again), Ok((one.sender, one.content.clone())));
            }
            Err(error) => assert_eq!(summary(again), Err(*error)),
        }
    }
    if let (Ok(opened), Some(content)) = (one, content) {
        assert_eq!(opened.content, content, "an altered envelope does not open to something else");
        assert_eq!(&opened.sender, SENDER.public().ed25519());
    }
}

/// Fuzzes streams: reading in pieces must give the content of the whole envelope, or an error if
/// opening the whole one fails.
pub fn envelope_stream_vs_whole(data: &[u8]) {
    let (size, data) = choice(data);
    let (envelope, _) = input(data);
    let whole = opener().open(&envelope, &mut Policy::new());
    let reader = opener().reader(&envelope[..], Policy::new()).map_err(|_| ());
    let streamed = reader.and_then(|mut reader| {
        let sender = *reader.sender();
        let mut content = Vec::new();
        let mut piece = vec![0; size + 1];
        loop {
            match reader.read(&mut piece) {
                Ok(0) => return Ok((sender, content)),
                Ok(len) => content.extend_from_slice(&piece[..len]),
                Err(_) => return Err(()),
            }
        }
    });
    let whole = whole.map(|opened| (opened.sender, opened.content)).map_err(|_| ());
    assert_eq!(streamed, whole);
    assert_eq!(pushed(&envelope, size + 1).map_err(|_| ()), whole);
}

/// Opens an envelope that comes in pieces of `len` bytes.
fn pushed(envelope: &[u8], len: usize) -> Result<(ed25519::PublicKey, Vec<u8>), OpenError> {
    let mut stream = opener().stream(Policy::new())?;
    let mut content = Vec::new();
    for mut piece in envelope.chunks(len) {
        while let Some(block) = stream.feed(&mut piece)? {
            content.extend_from_slice(block);
        }
    }
    let last = stream.finish()?;
    content.extend_from_slice(last.content());
    Ok((last.info().sender, content))
}
