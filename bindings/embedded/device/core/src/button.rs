//! Decisions with one button and one light.

use crate::board::Board;

/// Milliseconds after which a level of the button counts.
const BOUNCE: u32 = 30;
/// Milliseconds after which a press refuses.
const LONG: u32 = 1_000;
/// Milliseconds after which a request without a decision is refused.
pub(crate) const TIMEOUT: u32 = 30_000;
/// Milliseconds of a flash, and of the dark after it.
const FLASH: u32 = 150;
/// Milliseconds of a group of flashes with the dark after it.
const GROUP: u32 = 1_500;

/// Decision of a person, or of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    Allowed,
    Refused,
    TimedOut,
    /// The host sent this byte.
    Withdrawn(u8),
}

/// Waits for a decision, and shows `flashes` in groups meanwhile.
pub(crate) fn ask(board: &mut impl Board, flashes: u32) -> Decision {
    let decision = wait(board, flashes);
    board.light(false);
    decision
}

fn wait(board: &mut impl Board, flashes: u32) -> Decision {
    let start = board.now();
    // The level that counts, and the time since which the other one was seen.
    let (mut is_down, mut other_since) = (board.is_pressed(), None);
    // A press that began before the request is none.
    let mut pressed_at = None;
    loop {
        let now = board.now();
        if now.wrapping_sub(start) >= TIMEOUT {
            return Decision::TimedOut;
        }
        if let Some(byte) = board.read() {
            return Decision::Withdrawn(byte);
        }
        board.light(is_lit(now.wrapping_sub(start), flashes));
        if board.is_pressed() == is_down {
            other_since = None;
        } else if now.wrapping_sub(*other_since.get_or_insert(now)) >= BOUNCE {
            is_down = !is_down;
            other_since = None;
            match (is_down, pressed_at) {
                (true, _) => pressed_at = Some(now),
                (false, Some(_)) => return Decision::Allowed,
                (false, None) => {}
            }
        }
        if pressed_at.is_some_and(|at| now.wrapping_sub(at) >= LONG) {
            return Decision::Refused;
        }
    }
}

fn is_lit(elapsed: u32, flashes: u32) -> bool {
    let place = elapsed % GROUP;
    place / (2 * FLASH) < flashes && place % (2 * FLASH) < FLASH
}

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init, reason = "each range is a press")]
mod tests {
    use super::*;
    use crate::board::NoRandomness;

    /// A button that is pressed within the given ranges of milliseconds.
    struct Hand {
        now: u32,
        pressed: Vec<core::ops::Range<u32>>,
        byte_at: Option<u32>,
        flashes: u32,
        is_lit: bool,
    }

    impl Board for Hand {
        fn read(&mut self) -> Option<u8> {
            self.byte_at.filter(|at| self.now >= *at).map(|_| b'{')
        }

        fn write(&mut self, _: &[u8]) {}

        fn now(&mut self) -> u32 {
            self.now += 1;
            self.now
        }

        fn is_pressed(&mut self) -> bool {
            self.pressed.iter().any(|it| it.contains(&self.now))
        }

        fn light(&mut self, is_on: bool) {
            if is_on && !self.is_lit && self.now < GROUP {
                self.flashes += 1;
            }
            self.is_lit = is_on;
        }

        fn random(&mut self, _: &mut [u8; 32]) -> Result<(), NoRandomness> {
            Err(NoRandomness)
        }
    }

    fn decide(pressed: &[core::ops::Range<u32>], byte_at: Option<u32>) -> (Decision, u32) {
        let pressed = pressed.to_vec();
        let mut hand = Hand { now: 0, pressed, byte_at, flashes: 0, is_lit: false };
        let decision = ask(&mut hand, 2);
        assert!(!hand.is_lit);
        (decision, hand.now)
    }

    #[test]
    fn a_short_press_allows_and_a_long_one_refuses() {
        assert_eq!(decide(&[500..700], None).0, Decision::Allowed);
        let (decision, at) = decide(&[500..9_000], None);
        assert_eq!(decision, Decision::Refused);
        assert!((1_500..1_600).contains(&at), "{at}");
    }

    #[test]
    fn no_press_and_a_bounce_decide_nothing() {
        assert_eq!(decide(&[], None), (Decision::TimedOut, TIMEOUT + 1));
        assert_eq!(decide(&[500..520, 530..555], None).0, Decision::TimedOut);
    }

    #[test]
    fn a_button_that_was_pressed_before_must_be_released_first() {
        assert_eq!(decide(&[0..40_000], None).0, Decision::TimedOut);
        assert_eq!(decide(&[0..2_000], None).0, Decision::TimedOut);
        assert_eq!(decide(&[0..2_000, 3_000..3_100], None).0, Decision::Allowed);
    }

    #[test]
    fn a_byte_of_the_host_withdraws() {
        assert_eq!(decide(&[2_000..2_100], Some(1_000)).0, Decision::Withdrawn(b'{'));
    }

    #[test]
    fn the_light_flashes_in_groups() {
        let mut hand = Hand { now: 0, pressed: vec![], byte_at: None, flashes: 0, is_lit: false };
        ask(&mut hand, 3);
        assert_eq!(hand.flashes, 3);
    }
}
