//! Repeatable choices.

/// SplitMix64.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(limit).unwrap()).unwrap()
    }

    pub(crate) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// `bytes` with one to three changes: bits turned, bytes replaced, cut out, put in, or an end
    /// cut off.
    pub(crate) fn mutant(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut mutant = bytes.to_vec();
        for _ in 0..=self.below(3) {
            let at = self.below(mutant.len() + 1);
            let byte = self.next().to_le_bytes()[0];
            match self.below(6) {
                0 if at < mutant.len() => mutant[at] ^= 1 << (byte & 7),
                1 if at < mutant.len() => mutant[at] = byte,
                2 if at < mutant.len() => drop(mutant.remove(at)),
                3 => mutant.insert(at, byte),
                4 => mutant.truncate(at),
                _ => {
                    let end = (at + self.below(40)).min(mutant.len());
                    let piece = mutant[at..end].to_vec();
                    let to = self.below(mutant.len() + 1);
                    mutant.splice(to..to, piece);
                }
            }
        }
        mutant
    }
}
