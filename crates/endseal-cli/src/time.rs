//! Formatting of points in time (RFC 3339): in UTC for programs, and in local time for people.

mod rule;
mod zone;

use std::sync::OnceLock;

use time::{Date, Month, UtcDateTime};
use zone::Zone;

/// Formats milliseconds since 1970-01-01T00:00:00Z with a precision of one second. RFC 3339 has no
/// time after the year 9999: later ones are formatted as its last second.
pub(crate) fn rfc3339(milliseconds: u64) -> String {
    with_offset(milliseconds, 0)
}

/// Like [`rfc3339`], in the time zone of the user and with its offset, for text that people read.
pub(crate) fn local(milliseconds: u64) -> String {
    static ZONE: OnceLock<Zone> = OnceLock::new();
    // Tests in this process are independent of the machine's zone.
    let variable = if cfg!(test) { Some("UTC0".into()) } else { std::env::var_os("TZ") };
    let zone = ZONE.get_or_init(|| Zone::find(variable));
    let seconds = i64::try_from(milliseconds / 1000).unwrap_or(i64::MAX);
    with_offset(milliseconds, zone.offset(seconds))
}

/// Formats a time with an offset in seconds, of which RFC 3339 has whole minutes.
fn with_offset(milliseconds: u64, offset: i64) -> String {
    let minutes = offset / 60;
    let seconds = i64::try_from(milliseconds / 1000).unwrap_or(i64::MAX);
    let time = UtcDateTime::from_unix_timestamp(seconds.saturating_add(minutes * 60));
    let time = time.unwrap_or(UtcDateTime::MAX);
    let (date, (hour, minute, second)) = (time.date(), time.as_hms());
    let text = format!("{date}T{hour:02}:{minute:02}:{second:02}");
    let sign = if minutes < 0 { '-' } else { '+' };
    match (minutes.abs() / 60, minutes.abs() % 60) {
        (0, 0) => text + "Z",
        (hours, minutes) => format!("{text}{sign}{hours:02}:{minutes:02}"),
    }
}

/// Reads a day as `YYYY-MM-DD`. Returns its start in UTC, in milliseconds since 1970; `None` if it
/// is no day, or one before 1970.
pub(crate) fn start_of_day(text: &str) -> Option<u64> {
    let mut parts = text.split('-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    let is_form = [(year, 4), (month, 2), (day, 2)]
        .iter()
        .all(|(part, len)| part.len() == *len && part.bytes().all(|it| it.is_ascii_digit()));
    if !is_form || parts.next().is_some() {
        return None;
    }
    let month = Month::try_from(month.parse::<u8>().ok()?).ok()?;
    let date = Date::from_calendar_date(year.parse().ok()?, month, day.parse().ok()?).ok()?;
    let seconds = date.midnight().assume_utc().unix_timestamp();
    u64::try_from(seconds).ok()?.checked_mul(1_000)
}

#[cfg(test)]
mod tests {
    use super::{rfc3339, start_of_day, with_offset};

    #[test]
    fn offsets_are_shown() {
        let noon = 1_774_785_600_000;
        assert_eq!(with_offset(noon, 7_200), "2026-03-29T14:00:00+02:00");
        assert_eq!(with_offset(noon, -12_600), "2026-03-29T08:30:00-03:30");
        assert_eq!(with_offset(noon, 20_700 + 15), "2026-03-29T17:45:00+05:45");
        assert_eq!(with_offset(noon, 0), "2026-03-29T12:00:00Z");
    }

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
    fn days() {
        assert_eq!(start_of_day("1970-01-02"), Some(86_400_000));
        assert_eq!(start_of_day("2000-02-29"), Some(951_782_400_000));
        for wrong in ["2001-02-29", "2001-2-03", "1969-12-31", "2001-01-01-", "today", ""] {
            assert_eq!(start_of_day(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn times_that_have_no_form_are_the_last_one_that_has() {
        assert_eq!(rfc3339(253_402_300_800_000), "9999-12-31T23:59:59Z");
        assert_eq!(rfc3339(u64::MAX), "9999-12-31T23:59:59Z");
    }
}
