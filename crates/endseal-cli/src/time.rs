//! Formatting of points in time (RFC 3339, UTC).

use time::UtcDateTime;

/// Formats milliseconds since 1970-01-01T00:00:00Z with a precision of one second. RFC 3339 has no
/// time after the year 9999: later ones are formatted as its last second.
pub(crate) fn rfc3339(milliseconds: u64) -> String {
    let seconds = i64::try_from(milliseconds / 1000).unwrap_or(i64::MAX);
    let time = UtcDateTime::from_unix_timestamp(seconds).unwrap_or(UtcDateTime::MAX);
    let (date, (hour, minute, second)) = (time.date(), time.as_hms());
    format!("{date}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::rfc3339;

    #[test]
    fn known_times() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_800, "2000-03-01T00:00:00Z"),
            (1_767_225_599, "2025-12-31T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(rfc3339(seconds * 1000 + 999), text);
        }
    }

    #[test]
    fn times_that_have_no_form_are_the_last_one_that_has() {
        assert_eq!(rfc3339(253_402_300_800_000), "9999-12-31T23:59:59Z");
        assert_eq!(rfc3339(u64::MAX), "9999-12-31T23:59:59Z");
    }
}
