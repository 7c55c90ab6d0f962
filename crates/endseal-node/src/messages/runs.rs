//! Sets of text numbers, stored as runs without a gap.

/// Length of an encoded run: first (8) || last (8).
const RUN_LEN: usize = 16;

/// A set of numbers above 0, as runs in ascending order with a gap between any two.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Runs(Vec<(u64, u64)>);

impl Runs {
    /// Makes a set from the first and last number of each run. Returns `None` if the runs are not
    /// in ascending order with gaps between them, or contain the number 0.
    pub(super) fn new(runs: Vec<(u64, u64)>) -> Option<Self> {
        let mut end = 0;
        for (at, (first, last)) in runs.iter().enumerate() {
            // The first number must be above 0, or leave a gap after the run before.
            let least = if at == 0 { Some(1) } else { u64::checked_add(end, 2) };
            if least.is_none_or(|least| *first < least) || last < first {
                return None;
            }
            end = *last;
        }
        Some(Self(runs))
    }

    /// Iterates over the first and last number of each run.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, u64)> {
        self.0.iter().copied()
    }

    /// Returns the highest number; 0 if the set is empty.
    pub(super) fn last(&self) -> u64 {
        self.0.last().map_or(0, |(_, last)| *last)
    }

    /// The numbers that are not above `last`; `None` if there is none.
    pub(super) fn up_to(&self, last: u64) -> Option<Self> {
        let below = self.iter().filter(|(first, _)| *first <= last);
        let runs: Vec<_> = below.map(|(first, end)| (first, end.min(last))).collect();
        (!runs.is_empty()).then_some(Self(runs))
    }

    pub(super) fn contains(&self, number: u64) -> bool {
        let at = self.0.partition_point(|(first, _)| *first <= number);
        // This is the last run that starts at or before the number.
        at.checked_sub(1).and_then(|at| self.0.get(at)).is_some_and(|(_, last)| number <= *last)
    }

    /// Counts the numbers.
    pub(super) fn count(&self) -> u64 {
        self.0.iter().fold(0, |count, (first, last)| count.saturating_add(last - first + 1))
    }

    /// Adds the numbers from `first`, which is above 0, to `last`. Returns true if that changes the
    /// set. If there are more than `most` runs, those with the lowest numbers are dropped.
    pub(super) fn add(&mut self, first: u64, last: u64, most: usize) -> bool {
        // Runs that overlap or touch are merged.
        let from = self.0.partition_point(|(_, end)| end.saturating_add(1) < first);
        let to = self.0.partition_point(|(begin, _)| *begin <= last.saturating_add(1));
        let merged = match self.0.get(from..to) {
            Some([one]) if one.0 <= first && last <= one.1 => return false,
            Some(touched @ [one, ..]) => {
                let end = touched.last().map_or(last, |it| it.1);
                (one.0.min(first), end.max(last))
            }
            _ => (first, last),
        };
        self.0.splice(from..to.max(from), [merged]);
        let dropped = self.0.len().saturating_sub(most);
        self.0.drain(..dropped);
        // A run below all that are kept was dropped at once.
        dropped == 0 || merged >= self.0.first().copied().unwrap_or_default()
    }

    /// Adds all numbers of `other`, like [`Self::add`]. Returns true if that changes the set.
    pub(super) fn add_all(&mut self, other: &Self, most: usize) -> bool {
        other.iter().fold(false, |changed, (first, last)| self.add(first, last, most) || changed)
    }

    /// Encodes the runs: first (8) || last (8) of each, little-endian.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        self.iter()
            .flat_map(|(first, last)| [first.to_le_bytes(), last.to_le_bytes()])
            .flatten()
            .collect()
    }

    /// Decodes the bytes of [`Self::to_bytes`]. Returns `None` if they are invalid.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let (runs, []) = bytes.as_chunks::<RUN_LEN>() else { return None };
        let number = |bytes: &[u8]| Some(u64::from_le_bytes(bytes.try_into().ok()?));
        let run = |it: &[u8; RUN_LEN]| Some((number(&it[..8])?, number(&it[8..])?));
        Self::new(runs.iter().map(run).collect::<Option<_>>()?)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use alloc::collections::BTreeSet;

    use endseal_testing::SplitMix64;

    use super::Runs;

    #[test]
    fn runs_are_the_set_of_their_numbers() {
        for seed in 0..200 {
            let mut random = SplitMix64::new(seed);
            let (mut runs, mut set) = (Runs::default(), BTreeSet::new());
            for _ in 0..40 {
                let first = 1 + random.below(60_u64);
                let last = first + random.below(6_u64);
                let before = set.len();
                set.extend(first..=last);
                assert_eq!(runs.add(first, last, usize::MAX), set.len() > before);
                assert_eq!(runs.count(), set.len() as u64);
                assert!((0..80).all(|it| runs.contains(it) == set.contains(&it)), "{runs:?}");
                assert_eq!(Runs::read(&runs.to_bytes()), Some(runs.clone()), "{runs:?}");
            }
            assert_eq!(runs.last(), *set.last().unwrap());
        }
    }

    #[test]
    fn of_too_many_runs_the_lowest_are_dropped() {
        let mut runs = Runs::default();
        for number in [1, 3, 5, 7] {
            assert!(runs.add(number, number, 3));
        }
        assert_eq!(runs, Runs::new(vec![(3, 3), (5, 5), (7, 7)]).unwrap());
        assert!(!runs.add(1, 1, 3));
        assert_eq!(runs, Runs::new(vec![(3, 3), (5, 5), (7, 7)]).unwrap());
        assert!(runs.add(4, 4, 3));
        assert_eq!(runs, Runs::new(vec![(3, 5), (7, 7)]).unwrap());
    }

    #[test]
    fn the_last_number_has_none_behind_it() {
        let mut runs = Runs::default();
        assert!(runs.add(u64::MAX, u64::MAX, 3) && runs.add(u64::MAX - 1, u64::MAX - 1, 3));
        assert_eq!(runs, Runs::new(vec![(u64::MAX - 1, u64::MAX)]).unwrap());
        assert!(!runs.add(u64::MAX, u64::MAX, 3));
    }

    #[test]
    fn runs_in_another_order_are_none() {
        for runs in [
            vec![(0, 1)],
            vec![(2, 1)],
            vec![(1, 2), (2, 3)],
            vec![(1, 2), (3, 4)],
            vec![(3, 4), (1, 1)],
            vec![(1, u64::MAX), (1, 1)],
        ] {
            assert_eq!(Runs::new(runs.clone()), None, "{runs:?}");
        }
        assert_eq!(Runs::read(&[1; 17]), None);
    }
}
