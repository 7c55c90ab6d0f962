//! Positions in a mailbox, which order its frames.

/// The position of the next frame of a mailbox: max(`last` + 1, `now`), with `now` in microseconds
/// since 1970. So a hub whose database was restored assigns no position that a node has passed, if
/// its clock is right. `None` if there is no greater position.
#[must_use]
pub fn position_after(last: u64, now: u64) -> Option<u64> {
    last.checked_add(1).map(|next| next.max(now))
}

#[cfg(test)]
mod tests {
    use super::position_after;

    #[test]
    fn positions_increase_whatever_the_clock_says() {
        assert_eq!(position_after(0, 1_000), Some(1_000));
        assert_eq!(position_after(1_000, 1_000), Some(1_001));
        assert_eq!(position_after(1_000, 5), Some(1_001));
        assert_eq!(position_after(u64::MAX - 1, 5), Some(u64::MAX));
        assert_eq!(position_after(u64::MAX, u64::MAX), None);
    }
}
