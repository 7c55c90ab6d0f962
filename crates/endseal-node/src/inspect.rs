//! The cleartext of an envelope, which any observer can read without a key.

use std::io::{self, Read};

use endseal_crypto::segment;
use endseal_envelope::{Envelope, MAX_SLOTS, Malformed, OpenError, Suite};

use crate::file::OpenFileError;

/// Length of the fixed header (docs/spec/envelope.md, "Format").
const HEADER_LEN: usize = 100;
/// The only version that the parser lets through.
const VERSION: u8 = 1;
const TAG_LEN: usize = 4;
const PRELUDE_LEN: u64 = 56;
const BLOCK_LEN: u64 = 4 << 20;
const SIGNATURE_LEN: u64 = 64;
const BUFFER_LEN: usize = 256 * 1024;

/// Facts about an envelope that are visible without a key. None of them is authenticated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Inspection {
    /// Version of the format.
    pub version: u8,
    /// Cipher suite that the header names.
    pub suite: Suite,
    /// Number of slots: recipients and decoys.
    pub slots: u32,
    /// Length of the envelope in bytes.
    pub envelope_len: u64,
    /// Length of the content in bytes. `None` if the envelope was cut: no content results in this
    /// length.
    pub content_len: Option<u64>,
}

impl Inspection {
    /// Reads an envelope to its end and inspects it.
    ///
    /// # Errors
    /// Returns [`OpenFileError::Envelope`] if the input is not an envelope, and
    /// [`OpenFileError::Input`] if it cannot be read.
    pub fn of(mut input: impl Read) -> Result<Self, OpenFileError> {
        let mut buffer = vec![0; BUFFER_LEN];
        let start = fill(&mut input, &mut buffer[..HEADER_LEN])?;
        let (suite, slots) = clear_part(&buffer[..start])?;
        check_tags(&mut input, slots as usize, &mut buffer)?;
        let bodies = u64::from(slots) * (suite.slot_len() - TAG_LEN) as u64;
        let mut chunks = 0_u64;
        loop {
            let len = fill(&mut input, &mut buffer)?;
            chunks += len as u64;
            if len < buffer.len() {
                break;
            }
        }
        let chunks = chunks
            .checked_sub(bodies)
            .ok_or(OpenFileError::Envelope(OpenError::Malformed(Malformed::Truncated)))?;
        Ok(Self {
            version: VERSION,
            suite,
            slots,
            envelope_len: HEADER_LEN as u64 + u64::from(slots) * suite.slot_len() as u64 + chunks,
            content_len: segment::plaintext_len(chunks).and_then(content_len),
        })
    }

    /// Returns the number of bytes by which the envelope is longer than the content.
    #[must_use]
    pub fn overhead(&self) -> Option<u64> {
        self.envelope_len.checked_sub(self.content_len?)
    }
}

/// Checks the fixed header at the start of `input`, and returns the whole input again. Callers use
/// this to reject a file that is not an envelope before they ask for a passphrase.
///
/// # Errors
/// Returns [`OpenFileError::Envelope`] if the input does not start with a valid header, and
/// [`OpenFileError::Input`] if it cannot be read.
pub fn check_start<R: Read>(mut input: R) -> Result<impl Read, OpenFileError> {
    let mut start = vec![0; HEADER_LEN];
    let len = fill(&mut input, &mut start)?;
    start.truncate(len);
    clear_part(&start)?;
    Ok(io::Cursor::new(start).chain(input))
}

/// Parses the suite and the number of slots from the fixed header. The parser is given an envelope
/// with one slot, so that the real slots need not be in memory.
fn clear_part(fixed: &[u8]) -> Result<(Suite, u32), OpenFileError> {
    let count = fixed.get(HEADER_LEN - 4..).and_then(|count| count.first_chunk::<4>());
    let Some(count) = count.map(|count| u32::from_le_bytes(*count)) else {
        return Envelope::parse(fixed)
            .map(|envelope| (envelope.suite(), 0))
            .map_err(OpenFileError::Envelope);
    };
    let mut single = fixed.to_vec();
    if count != 0 && count as usize <= MAX_SLOTS {
        single[HEADER_LEN - 4..].copy_from_slice(&1_u32.to_le_bytes());
    }
    single.resize(HEADER_LEN + Suite::X25519MlKem768.slot_len(), 0);
    let envelope = Envelope::parse(&single).map_err(OpenFileError::Envelope)?;
    Ok((envelope.suite(), count))
}

fn check_tags(input: &mut impl Read, slots: usize, buffer: &mut [u8]) -> Result<(), OpenFileError> {
    let malformed = |what| OpenFileError::Envelope(OpenError::Malformed(what));
    let (mut left, mut previous) = (slots, [0; TAG_LEN]);
    while left > 0 {
        let len = buffer.len().min(left * TAG_LEN);
        if fill(input, &mut buffer[..len])? < len {
            return Err(malformed(Malformed::Truncated));
        }
        for tag in buffer[..len].as_chunks::<TAG_LEN>().0 {
            if *tag < previous {
                return Err(malformed(Malformed::TagOrder));
            }
            previous = *tag;
        }
        left -= len / TAG_LEN;
    }
    Ok(())
}

/// Computes the length of the content from that of the plaintext (docs/spec/envelope.md,
/// "Content").
const fn content_len(plaintext: u64) -> Option<u64> {
    let Some(blocks) = plaintext.checked_sub(PRELUDE_LEN) else { return None };
    let full = blocks / (BLOCK_LEN + SIGNATURE_LEN);
    match (blocks % (BLOCK_LEN + SIGNATURE_LEN)).checked_sub(SIGNATURE_LEN) {
        Some(last) => Some(full * BLOCK_LEN + last),
        None => None,
    }
}

fn fill(input: &mut impl Read, buffer: &mut [u8]) -> Result<usize, OpenFileError> {
    let mut len = 0;
    while len < buffer.len() {
        match input.read(&mut buffer[len..]) {
            Ok(0) => break,
            Ok(n) => len += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(OpenFileError::Input(error)),
        }
    }
    Ok(len)
}

#[cfg(test)]
mod tests {
    use endseal_crypto::identity::Identity;
    use endseal_crypto::random::OsRandom;
    use endseal_envelope::{Decoys, Recipients, Sealer};

    use super::*;

    #[test]
    fn agrees_with_the_parser_of_whole_envelopes() {
        let alice = Identity::generate(&mut OsRandom).unwrap();
        let to = Recipients::from_identities([alice.public()]).unwrap();
        for suite in [Suite::X25519, Suite::X25519Compact, Suite::X25519MlKem768] {
            for len in [0, 1, 100_000, (4 << 20) - 1, 4 << 20, (4 << 20) + 1] {
                let sealer = Sealer::new(&alice, &to, b"").suite(suite).decoys(Decoys::PowerOfTwo);
                let sealed = sealer.seal(&vec![7; len], &mut OsRandom).unwrap();
                let seen = Inspection::of(&sealed[..]).unwrap();
                let parsed = Envelope::parse(&sealed).unwrap();
                assert_eq!(seen.content_len, Some(len as u64));
                assert_eq!(seen.content_len, parsed.content_len());
                assert_eq!(seen.slots as usize, parsed.slots());
                assert_eq!(seen.suite, suite);
                assert_eq!(seen.overhead(), Some((sealed.len() - len) as u64));
            }
        }
    }

    #[test]
    fn every_prefix_of_the_clear_part_gives_the_error_of_the_parser() {
        let alice = Identity::generate(&mut OsRandom).unwrap();
        let to = Recipients::from_identities([alice.public()]).unwrap();
        let sealed =
            Sealer::new(&alice, &to, b"").suite(Suite::X25519).seal(b"", &mut OsRandom).unwrap();
        for len in 0..HEADER_LEN + 36 {
            let seen = Inspection::of(&sealed[..len]).unwrap_err();
            let parsed = Envelope::parse(&sealed[..len]).unwrap_err();
            assert!(matches!(seen, OpenFileError::Envelope(e) if e == parsed), "{len}: {seen:?}");
        }
        for at in 0..HEADER_LEN {
            let mut changed = sealed.clone();
            changed[at] ^= 0x80;
            let seen = Inspection::of(&changed[..]);
            let parsed = Envelope::parse(&changed);
            assert_eq!(seen.is_ok(), parsed.is_ok(), "{at}");
        }
    }
}
