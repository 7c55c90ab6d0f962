//! A root seed as 24 words, for paper (docs/spec/identity.md, "Paper").

use alloc::string::String;
use core::fmt;

use endseal_crypto::identity::RootSeed;
use endseal_crypto::secret::{Zeroize as _, Zeroizing};
use endseal_crypto::sha256;

/// English word list of BIP-39: sorted, one word a line.
const LIST: &str = include_str!("../data/bip39-english.txt");
const LIST_LEN: usize = 2048;
const WORDS: usize = 24;
const BITS: usize = 11;
/// Length of the payload in bytes: the seed and one byte of checksum.
const PAYLOAD_LEN: usize = RootSeed::LEN + 1;
const LONGEST_WORD: usize = 8;

/// A root seed as 24 words: the whole identity, protected by nothing.
///
/// The caller MUST NOT log it or pass it as an argument of a process. The words are looked up in a
/// table, so time and addresses depend on the seed: the text is shown to a person, once.
///
/// ```compile_fail,E0277
/// # let seed = endseal_crypto::identity::RootSeed::from_bytes(&[7; 32]);
/// println!("{:?}", endseal_keyring::PaperText::encode(&seed));
/// ```
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
pub struct PaperText(Zeroizing<String>);

impl PaperText {
    /// Encodes a seed: words in lower case, one space between them.
    #[must_use]
    pub fn encode(seed: &RootSeed) -> Self {
        let mut payload = Zeroizing::new([0; PAYLOAD_LEN]);
        payload[..RootSeed::LEN].copy_from_slice(seed.expose_secret());
        payload[RootSeed::LEN] = checksum(seed.expose_secret());
        let list = list();
        // Never reallocated, so that no copy stays behind.
        let mut text = Zeroizing::new(String::with_capacity(WORDS * (LONGEST_WORD + 1)));
        for word in 0..WORDS {
            let bits = (word * BITS)..((word + 1) * BITS);
            let index = bits.fold(0, |index, bit| {
                index << 1 | usize::from(payload[bit / 8] >> (7 - bit % 8) & 1)
            });
            if word > 0 {
                text.push(' ');
            }
            text.push_str(list[index]);
        }
        Self(text)
    }

    /// Decodes 24 words in any case, with any white space around them.
    ///
    /// # Errors
    /// [`ParsePaperError`], which names places and no words.
    pub fn decode(text: &str) -> Result<RootSeed, ParsePaperError> {
        let count = text.split_ascii_whitespace().count();
        if count != WORDS {
            return Err(ParsePaperError::Count(count));
        }
        let list = list();
        let mut payload = Zeroizing::new([0_u8; PAYLOAD_LEN]);
        for (place, word) in text.split_ascii_whitespace().enumerate() {
            let mut lower = Zeroizing::new([0; LONGEST_WORD]);
            let lower = lower.get_mut(..word.len());
            let lower = lower.ok_or(ParsePaperError::Word { place: place + 1 })?;
            lower.copy_from_slice(word.as_bytes());
            lower.make_ascii_lowercase();
            let index = list.binary_search_by(|known| known.as_bytes().cmp(lower));
            let index = index.map_err(|_| ParsePaperError::Word { place: place + 1 })?;
            for i in 0..BITS {
                let (bit, value) = (place * BITS + i, index >> (BITS - 1 - i) & 1);
                payload[bit / 8] |= u8::from(value == 1) << (7 - bit % 8);
            }
        }
        let seed = RootSeed::init_with(|out| out.copy_from_slice(&payload[..RootSeed::LEN]));
        if payload[RootSeed::LEN] != checksum(seed.expose_secret()) {
            return Err(ParsePaperError::Checksum);
        }
        Ok(seed)
    }

    /// The words: the whole identity.
    #[must_use]
    pub fn expose_secret(&self) -> &str {
        &self.0
    }
}

/// Reason why a text is not a root seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParsePaperError {
    /// All words are of the list, and one of them is another one: a reading error, or their order.
    Checksum,
    /// So many words instead of 24.
    Count(usize),
    /// A word is not of the list.
    Word {
        /// Place of the word, from 1.
        place: usize,
    },
}

impl fmt::Display for ParsePaperError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Checksum => f.write_str("the words' checksum is wrong: one is another, or moved"),
            Self::Count(count) => write!(f, "{WORDS} words are expected, not {count}"),
            Self::Word { place } => write!(f, "word {place} is not of the list"),
        }
    }
}

impl core::error::Error for ParsePaperError {}

/// First 8 bits of SHA-256.
fn checksum(seed: &[u8; RootSeed::LEN]) -> u8 {
    let mut digest = sha256::digest(seed);
    let first = digest[0];
    digest.zeroize();
    first
}

fn list() -> [&'static str; LIST_LEN] {
    let mut lines = LIST.lines();
    core::array::from_fn(|_| lines.next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use base16ct::lower::encode_string;
    use endseal_crypto::hash;

    use super::*;

    #[test]
    fn the_list_is_that_of_bip_39() {
        assert_eq!(LIST.lines().count(), LIST_LEN);
        let list = list();
        assert!(list.is_sorted_by(|a, b| a < b));
        assert!(list.iter().all(|word| (3..=LONGEST_WORD).contains(&word.len())));
        assert!(list.iter().all(|word| word.bytes().all(|byte| byte.is_ascii_lowercase())));
        let digest = encode_string(&hash::digest(LIST.as_bytes()));
        assert_eq!(digest, "43afe08c75f902534cfd2a694bef11db381f4804cd3ef76cd05a8ad0d7199122");
    }

    #[test]
    fn the_text_never_grows_out_of_its_allocation() {
        let text = PaperText::encode(&RootSeed::from_bytes(&[0xff; 32]));
        assert!(text.0.len() < WORDS * (LONGEST_WORD + 1));
        assert_eq!(text.0.capacity(), WORDS * (LONGEST_WORD + 1));
    }
}
