//! Repeatable pseudorandom choices for tests: equal seeds give equal numbers.

/// SplitMix64 (<https://prng.di.unimi.it/splitmix64.c>). The same seed gives the same numbers, so
/// that a failure comes again.
#[derive(Clone, Debug)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// Returns a generator with the state `seed`.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns the next pseudorandom number of the sequence.
    #[allow(clippy::should_implement_trait, reason = "it has no end")]
    pub const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns the lowest byte of the next number.
    pub const fn byte(&mut self) -> u8 {
        self.next().to_le_bytes()[0]
    }

    /// Returns a number below `end`.
    ///
    /// # Panics
    /// If `end` is not positive.
    pub fn below<T: TryFrom<u64> + TryInto<u64>>(&mut self, end: T) -> T {
        let end: Option<u64> = end.try_into().ok();
        let number = self.next() % end.expect("the end is not negative");
        T::try_from(number).ok().expect("a number below `end` fits its type")
    }

    /// Returns true in `percent` of 100 cases.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// Returns a copy of `bytes` with one to three changes: bits turned, bytes replaced, pieces cut
    /// out or copied to another place, an end cut off. It may equal `bytes`.
    #[must_use]
    pub fn mutant(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut mutant = bytes.to_vec();
        for _ in 0..=self.below(3) {
            let at = self.below(mutant.len() + 1);
            let piece = self.below(bytes.len() + 1);
            let piece = &bytes[piece..bytes.len().min(piece + self.below(40))];
            match self.below(6) {
                0 => mutant.truncate(at),
                1 => mutant.splice(at..at, piece.iter().copied()).for_each(drop),
                2 => {
                    let end = mutant.len().min(at + piece.len());
                    mutant.splice(at..end, piece.iter().copied()).for_each(drop);
                }
                3 if at < mutant.len() => mutant[at] = self.byte(),
                4 => drop(mutant.drain(at..mutant.len().min(at + self.below(9)))),
                _ if at < mutant.len() => mutant[at] ^= 1 << self.below(8),
                _ => {}
            }
        }
        mutant
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_of_the_reference() {
        // The reference implementation with x = 1234567.
        let mut random = SplitMix64::new(1_234_567);
        let numbers = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973];
        assert_eq!([random.next(), random.next()], numbers);
    }

    #[test]
    fn choices_stay_below_their_end() {
        let mut random = SplitMix64::new(1);
        assert!((0..100).all(|_| random.below(7_u8) < 7 && random.below(3_usize) < 3));
        let hits = (0..1_000).filter(|_| random.chance(25)).count();
        assert!((150..350).contains(&hits), "{hits}");
    }

    #[test]
    fn mutants_differ_in_most_cases() {
        let mut random = SplitMix64::new(2);
        let bytes = [7; 64];
        assert!((0..100).filter(|_| random.mutant(&bytes) != bytes).count() > 50);
        assert!((0..100).all(|_| random.mutant(&[]).is_empty()));
    }
}
