//! Times and tags of seals and wraps.

use endseal_crypto::random::{Random, RandomError};

use super::{EPHEMERAL_GIFT_WRAP, GIFT_WRAP};
use crate::event::Tags;
use crate::json::Text;
use crate::json::scan::MAX_INTEGER;

/// Seconds by which the time of a seal or a wrap lies in the past at most: two days.
pub const MAX_DELAY: u64 = 2 * 24 * 60 * 60;

/// Public times of a seal or a wrap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "callers make them")]
pub struct Layer {
    /// Seconds since 1970. The caller SHOULD take [`past_time`], one for each layer.
    pub created_at: u64,
    /// Time after which relays delete it (NIP-40), if any. The caller SHOULD take another one for
    /// each layer: equal ones link them.
    pub expiration: Option<u64>,
}

/// Treatment of a wrap by relays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(clippy::exhaustive_enums, reason = "NIP-59 has these")]
pub enum Lifetime {
    /// Relays keep it for receivers that are offline: kind 1059.
    #[default]
    Stored,
    /// Relays pass it on to receivers that are connected, and forget it: kind 21059.
    Ephemeral,
}

impl Lifetime {
    pub(super) const fn kind(self) -> u16 {
        match self {
            Self::Stored => GIFT_WRAP,
            Self::Ephemeral => EPHEMERAL_GIFT_WRAP,
        }
    }

    pub(super) const fn of_kind(kind: u16) -> Option<Self> {
        match kind {
            GIFT_WRAP => Some(Self::Stored),
            EPHEMERAL_GIFT_WRAP => Some(Self::Ephemeral),
            _ => None,
        }
    }
}

/// A random time between `now`, in seconds since 1970, and [`MAX_DELAY`] before it.
///
/// # Errors
/// [`RandomError`].
pub fn past_time(now: u64, random: &mut impl Random) -> Result<u64, RandomError> {
    let mut bytes = [0; 8];
    random.fill(&mut bytes)?;
    // The remainder of 64 bits prefers none by more than 2^-46.
    Ok(now.saturating_sub(u64::from_le_bytes(bytes) % (MAX_DELAY + 1)))
}

/// Name of the tag of NIP-40.
pub(super) const EXPIRATION: &str = "expiration";

/// The time of the first expiration tag that has one.
pub(super) fn expiration(tags: &Tags<'_>) -> Option<u64> {
    let mut named = tags.iter().filter(|tag| tag.is(EXPIRATION));
    named.find_map(|tag| tag.values().nth(1).and_then(|value| integer(&value)))
}

/// Returns true if a seal may have these tags: none, or one expiration tag with its time alone.
pub(super) fn may_seal_have(tags: &Tags<'_>) -> bool {
    let mut tags_left = tags.iter();
    match tags_left.next() {
        None => true,
        Some(tag) => {
            tag.is(EXPIRATION)
                && tag.values().count() == 2
                && expiration(tags).is_some()
                && tags_left.next().is_none()
        }
    }
}

/// The number that a text has in its shortest decimal form, whether its digits are escaped or not:
/// anyone can write a signed event with other escapes.
fn integer(text: &Text<'_>) -> Option<u64> {
    let mut value = 0_u64;
    for (i, c) in text.chars().enumerate() {
        let digit = c.to_digit(10).filter(|_| i == 0 || value > 0)?;
        value = value * 10 + u64::from(digit);
        if value > MAX_INTEGER {
            return None;
        }
    }
    text.chars().next().map(|_| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fixed(u64);

    impl Random for Fixed {
        fn fill(&mut self, buffer: &mut [u8]) -> Result<(), RandomError> {
            buffer.copy_from_slice(&self.0.to_le_bytes());
            Ok(())
        }
    }

    #[test]
    fn past_times_span_two_days() {
        let now = 1_700_000_000;
        assert_eq!(past_time(now, &mut Fixed(0)), Ok(now));
        assert_eq!(past_time(now, &mut Fixed(MAX_DELAY)), Ok(now - 172_800));
        assert_eq!(past_time(now, &mut Fixed(MAX_DELAY + 1)), Ok(now));
        assert_eq!(past_time(5, &mut Fixed(6)), Ok(0));
    }

    #[test]
    fn a_seal_has_an_expiration_tag_or_none() {
        let tag = |tag: &[&str]| may_seal_have(&Tags::List(&[tag]));
        assert!(may_seal_have(&Tags::NONE));
        assert!(tag(&["expiration", "1700000000"]));
        assert!(tag(&["expiration", "0"]));
        for other in [
            &["p", "1700000000"][..],
            &["expiration"],
            &["expiration", ""],
            &["expiration", "01"],
            &["expiration", "-1"],
            &["expiration", "+1"],
            &["expiration", "1.5"],
            &["expiration", "9007199254740992"],
            &["expiration", "99999999999999999999"],
            &["expiration", "1", "2"],
        ] {
            assert!(!tag(other), "{other:?}");
        }
        assert_eq!(expiration(&Tags::List(&[&["expiration"], &["expiration", "7"]])), Some(7));
        let two: &[&[&str]] = &[&["expiration", "1"], &["expiration", "2"]];
        assert!(!may_seal_have(&Tags::List(two)));
        assert!(!may_seal_have(&Tags::List(&[&["expiration", "1"], &["p", "x"]])));
    }
}
