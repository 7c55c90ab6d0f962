//! Random bytes from the raw bits of a ring oscillator.

use endseal_crypto::secret::wipe;
use endseal_crypto::sha256::Digest;

use crate::board::NoRandomness;

/// Raw bits for 32 bytes. A tenth of a bit of entropy in each is more than three times enough.
const BITS: u32 = 8_192;
/// Equal bits in sequence at which the repetition count test fails (SP 800-90B, section 4.4.1, for
/// a tenth of a bit, and false alarms of 2^-20).
const MAX_EQUAL: u32 = 201;
/// Bits of a window of the adaptive proportion test (section 4.4.2), and how many that equal the
/// first fail it.
const WINDOW: u32 = 1_024;
const MAX_PROPORTION: u32 = 1_000;

/// Hashes raw bits to random bytes, after health tests. A source that failed once stays failed.
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
pub struct Conditioner {
    state: [u8; 32],
    has_failed: bool,
}

impl Conditioner {
    /// Makes a conditioner that has seen no bits.
    #[must_use]
    pub const fn new() -> Self {
        Self { state: [0; 32], has_failed: false }
    }

    /// Fills `out` from as many raw bits as it needs, which `bit` returns one by one.
    ///
    /// # Errors
    /// [`NoRandomness`] if the bits do not pass the tests, now or before.
    pub fn fill(
        &mut self,
        out: &mut [u8; 32],
        mut bit: impl FnMut() -> bool,
    ) -> Result<(), NoRandomness> {
        if self.has_failed {
            return Err(NoRandomness);
        }
        let mut hash = Digest::new();
        hash.update(b"endseal device random 1");
        hash.update(&self.state);
        let mut tests = Tests::default();
        for _ in 0..BITS / 8 {
            let mut byte = 0;
            for _ in 0..8 {
                let bit = bit();
                self.has_failed |= tests.fails(bit);
                byte = byte << 1 | u8::from(bit);
            }
            hash.update(&[byte]);
        }
        if self.has_failed {
            return Err(NoRandomness);
        }
        let mut next = hash.finish();
        self.state.copy_from_slice(&next);
        wipe(&mut next);
        let mut hash = Digest::new();
        hash.update(b"endseal device bytes 1");
        hash.update(&self.state);
        let mut bytes = hash.finish();
        out.copy_from_slice(&bytes);
        wipe(&mut bytes);
        Ok(())
    }
}

impl Default for Conditioner {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Conditioner {
    fn drop(&mut self) {
        wipe(&mut self.state);
    }
}

/// The health tests over the bits of one call.
#[derive(Default)]
struct Tests {
    seen: u32,
    last: bool,
    equal: u32,
    first: bool,
    like_first: u32,
}

impl Tests {
    fn fails(&mut self, bit: bool) -> bool {
        self.equal = if self.seen > 0 && bit == self.last { self.equal + 1 } else { 1 };
        self.last = bit;
        if self.seen.is_multiple_of(WINDOW) {
            (self.first, self.like_first) = (bit, 0);
        }
        self.like_first += u32::from(bit == self.first);
        self.seen += 1;
        self.equal >= MAX_EQUAL || self.like_first >= MAX_PROPORTION
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bits that look random, from a xorshift generator.
    fn bits(mut seed: u64) -> impl FnMut() -> bool {
        move || {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            seed & 1 == 1
        }
    }

    #[test]
    fn the_same_bits_give_other_bytes_the_second_time() {
        let (mut a, mut b) = ([0; 32], [0; 32]);
        let mut conditioner = Conditioner::new();
        conditioner.fill(&mut a, bits(1)).unwrap();
        conditioner.fill(&mut b, bits(1)).unwrap();
        assert_ne!(a, b);
        let mut other = [0; 32];
        Conditioner::new().fill(&mut other, bits(2)).unwrap();
        assert_ne!(a, other);
    }

    #[test]
    fn a_source_that_is_stuck_or_leans_fails_for_good() {
        let mut out = [0; 32];
        for stuck in [false, true] {
            let mut conditioner = Conditioner::new();
            assert_eq!(conditioner.fill(&mut out, || stuck), Err(NoRandomness));
            assert_eq!(conditioner.fill(&mut out, bits(1)), Err(NoRandomness));
        }
        // Every hundredth bit differs: no long run, but a window with 1,013 equal bits.
        let mut count = 0;
        let leaning = || {
            count += 1;
            count % 100 == 0
        };
        assert_eq!(Conditioner::new().fill(&mut out, leaning), Err(NoRandomness));
        assert_eq!(out, [0; 32]);
    }

    #[test]
    fn two_hundred_equal_bits_pass_and_one_more_fails() {
        for (equal, passes) in [(200, true), (201, false)] {
            let (mut count, mut other) = (0, bits(3));
            let source = || {
                count += 1;
                match count {
                    0..100 => other(),
                    100 => false,
                    _ if count <= 100 + equal => true,
                    _ if count == 101 + equal => false,
                    _ => other(),
                }
            };
            assert_eq!(Conditioner::new().fill(&mut [0; 32], source).is_ok(), passes);
        }
    }
}
