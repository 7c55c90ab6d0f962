//! The replay window beside a set that remembers everything.

use std::collections::BTreeSet;

use endseal_transport::{PeerId, ReplayWindow, ReplayWindows, Replayed};

use crate::pair::Generator;

#[test]
fn the_window_agrees_with_a_set() {
    for seed in 0..200 {
        let mut random = Generator::new(seed);
        let mut window = ReplayWindow::new();
        let mut seen = BTreeSet::new();
        let mut base = random.below(1 << 40);
        // Some runs stay close, some jump far.
        let spread = [3, 100, 1500, 5000][usize::try_from(seed % 4).unwrap()];
        for _ in 0..3000 {
            base += if random.below(100) == 0 { random.below(4000) } else { random.below(3) };
            let number = (base + spread).saturating_sub(random.below(2 * spread));
            let highest = seen.last().copied();
            let expected = match highest {
                Some(highest) if highest >= number && highest - number >= ReplayWindow::LEN => {
                    Err(Replayed::TooOld)
                }
                _ if seen.contains(&number) => Err(Replayed::Seen),
                _ => Ok(()),
            };
            assert_eq!(window.accept(number), expected, "{seed}: {number} after {highest:?}");
            if expected.is_ok() {
                seen.insert(number);
            }
        }
    }
}

#[test]
fn edges_of_the_window() {
    let mut window = ReplayWindow::new();
    assert_eq!(window.accept(0), Ok(()));
    assert_eq!(window.accept(0), Err(Replayed::Seen));
    assert_eq!(window.accept(1023), Ok(()));
    assert_eq!(window.accept(0), Err(Replayed::Seen));
    assert_eq!(window.accept(1024), Ok(()));
    assert_eq!(window.accept(0), Err(Replayed::TooOld));
    assert_eq!(window.accept(1), Ok(()));
    assert_eq!(window.accept(u64::MAX - 1), Ok(()));
    assert_eq!(window.accept(u64::MAX - 1024), Ok(()));
    assert_eq!(window.accept(u64::MAX - 1025), Err(Replayed::TooOld));
    assert_eq!(window.accept(u64::MAX), Err(Replayed::TooOld), "no number follows it");
}

#[test]
fn senders_have_windows_of_their_own_and_none_is_forgotten_for_another() {
    let peer = |n| PeerId::from_bytes(&[n; 32]);
    let mut windows = ReplayWindows::new(2);
    assert_eq!(windows.accept(peer(1), 5), Ok(()));
    assert_eq!(windows.accept(peer(2), 5), Ok(()));
    assert_eq!(windows.accept(peer(1), 5), Err(Replayed::Seen));
    assert_eq!(windows.accept(peer(3), 5), Err(Replayed::TooManySenders));
    windows.forget(&peer(2));
    assert_eq!(windows.accept(peer(3), 5), Ok(()));
}
