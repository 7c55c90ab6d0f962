//! Compares the replay window with a set of all accepted numbers.

use std::collections::BTreeSet;

use endseal_codec::frame::{ReplayWindow, Replayed};

use crate::random::Random;

#[test]
fn the_window_answers_as_a_set_of_all_sequences_would() {
    let mut random = Random::new(4);
    for round in 0..200_u64 {
        let mut window = ReplayWindow::new();
        let mut accepted = BTreeSet::new();
        // Numbers near 0, in the middle, and up to the largest one.
        let base = match round % 3 {
            0 => 0,
            1 => 1 << 40,
            _ => u64::MAX - 6_000,
        };
        let mut highest = base;
        for _ in 0..2_000 {
            let sequence = match random.below(20) {
                0 => highest.saturating_add(random.below(3_000)),
                1..=9 => highest.saturating_add(random.below(4)),
                _ => highest.saturating_sub(random.below(1_100)),
            };
            let top = accepted.last().copied();
            let too_old =
                top.is_some_and(|top| sequence < top && top - sequence > ReplayWindow::SIZE);
            let expected = match too_old {
                true => Err(Replayed::Old),
                false if accepted.insert(sequence) => Ok(()),
                false => Err(Replayed::Seen),
            };
            assert_eq!(window.accept(sequence), expected, "{sequence} below {top:?}");
            assert_eq!(window.highest(), accepted.last().copied());
            assert_eq!(ReplayWindow::from_bytes(&window.to_bytes().unwrap()), window);
            highest = accepted.last().copied().unwrap();
        }
    }
}

#[test]
fn the_window_has_1024_sequences_below_the_highest() {
    let mut window = ReplayWindow::new();
    assert_eq!(window.accept(5_000), Ok(()));
    assert_eq!(window.accept(5_000 - 1_024), Ok(()));
    assert!(window.accept(5_000 - 1_024).is_err());
    assert!(window.accept(5_000 - 1_025).is_err());
    assert_eq!(window.accept(u64::MAX), Ok(()));
    assert!(window.accept(u64::MAX).is_err());
    assert_eq!(window.accept(u64::MAX - 1), Ok(()));
    assert!(window.accept(5_001).is_err());
}
