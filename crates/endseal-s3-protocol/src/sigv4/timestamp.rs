//! Points in time as requests write them.

use std::time::{SystemTime, UNIX_EPOCH};

use time::{Date, Month, UtcDateTime};

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// A second within the years 1970 to 9999.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(UtcDateTime);

impl Timestamp {
    /// The system's time; outside the years above the nearest within.
    #[must_use]
    pub fn of(time: SystemTime) -> Self {
        let seconds = time.duration_since(UNIX_EPOCH).map_or(0, |it| it.as_secs());
        Self::of_seconds(i64::try_from(seconds).unwrap_or(i64::MAX))
    }

    /// The time in seconds since 1970.
    #[must_use]
    pub fn seconds(self) -> i64 {
        self.0.unix_timestamp()
    }

    fn of_seconds(seconds: i64) -> Self {
        let last = UtcDateTime::MAX.truncate_to_second();
        Self(UtcDateTime::from_unix_timestamp(seconds).unwrap_or(last))
    }

    /// Reads `20130524T000000Z` (ISO 8601, basic).
    #[must_use]
    pub fn from_basic(text: &str) -> Option<Self> {
        let bytes: &[u8; 16] = text.as_bytes().try_into().ok()?;
        if bytes[8] != b'T' || bytes[15] != b'Z' {
            return None;
        }
        let pair = |at: usize| number(&bytes[at..at + 2]);
        Self::new(number(&bytes[..4])?, pair(4)?, pair(6)?, [pair(9)?, pair(11)?, pair(13)?])
    }

    /// Reads `20130524`: its first second.
    pub(super) fn from_day(text: &str) -> Option<Self> {
        let bytes: &[u8; 8] = text.as_bytes().try_into().ok()?;
        Self::new(number(&bytes[..4])?, number(&bytes[4..6])?, number(&bytes[6..])?, [0; 3])
    }

    /// Reads `2013-05-24T00:00:00Z` and `2013-05-24T00:00:00.000Z` (ISO 8601, extended). Fractions
    /// are cut off.
    #[must_use]
    pub fn from_extended(text: &str) -> Option<Self> {
        let (head, fraction) = text.strip_suffix('Z')?.split_at_checked(19)?;
        let digits = fraction.strip_prefix('.');
        let whole = fraction.is_empty();
        let fraction = digits.is_some_and(|it| {
            (1..=9).contains(&it.len()) && it.bytes().all(|byte| byte.is_ascii_digit())
        });
        let bytes: &[u8; 19] = head.as_bytes().try_into().ok()?;
        let marks = [bytes[4], bytes[7], bytes[10], bytes[13], bytes[16]];
        if !(whole || fraction) || &marks != b"--T::" {
            return None;
        }
        let pair = |at: usize| number(&bytes[at..at + 2]);
        Self::new(number(&bytes[..4])?, pair(5)?, pair(8)?, [pair(11)?, pair(14)?, pair(17)?])
    }

    /// Reads `Fri, 24 May 2013 00:00:00 GMT` (RFC 9110, IMF-fixdate); botocore ends it in `-0000`.
    #[must_use]
    pub fn from_http(text: &str) -> Option<Self> {
        let zones = [" GMT", " -0000", " +0000"];
        let text = zones.into_iter().find_map(|zone| text.strip_suffix(zone))?;
        let bytes: &[u8; 25] = text.as_bytes().try_into().ok()?;
        let marks = [bytes[3], bytes[4], bytes[7], bytes[11], bytes[16], bytes[19], bytes[22]];
        if &marks != b",    ::" {
            return None;
        }
        let month = MONTHS.iter().position(|name| name.as_bytes() == &bytes[8..11])?;
        let month = u8::try_from(month).ok()? + 1;
        let pair = |at: usize| number(&bytes[at..at + 2]);
        Self::new(number(&bytes[12..16])?, month, pair(5)?, [pair(17)?, pair(20)?, pair(23)?])
    }

    /// Writes the basic form of ISO 8601, such as `20130524T000000Z`.
    #[must_use]
    pub fn to_basic(self) -> String {
        self.basic().as_str().to_owned()
    }

    /// The same without an allocation: it stands in each signature twice.
    pub(super) fn basic(self) -> Basic {
        let (year, month, day) = self.0.to_calendar_date();
        // Years have four digits, so that each half of one has two.
        let [century, year] = [year / 100, year % 100].map(|it| u8::try_from(it).unwrap_or(0));
        let (hour, minute, second) = self.0.as_hms();
        let pairs = [century, year, month.into(), day, hour, minute, second];
        let mut out = *b"YYYYMMDDThhmmssZ";
        for (at, pair) in [0, 2, 4, 6, 9, 11, 13].into_iter().zip(pairs) {
            out[at] = b'0' + pair / 10;
            out[at + 1] = b'0' + pair % 10;
        }
        Basic(out)
    }

    /// Writes `2013-05-24T00:00:00.000Z`, as documents have it.
    #[must_use]
    pub fn to_iso(self) -> String {
        let (date, (hour, minute, second)) = (self.0.date(), self.0.as_hms());
        format!("{date}T{hour:02}:{minute:02}:{second:02}.000Z")
    }

    /// Writes `Fri, 24 May 2013 00:00:00 GMT`, as headers have it.
    #[must_use]
    pub fn to_http(self) -> String {
        const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
        let (year, month, day) = self.0.to_calendar_date();
        let weekday = DAYS[usize::from(self.0.weekday().number_days_from_monday())];
        let month = MONTHS[usize::from(u8::from(month)) - 1];
        let (hour, minute, second) = self.0.as_hms();
        format!("{weekday}, {day:02} {month} {year:04} {hour:02}:{minute:02}:{second:02} GMT")
    }

    /// Writes the day alone: `20130524`.
    #[must_use]
    pub fn to_day(self) -> String {
        self.basic().day().to_owned()
    }

    fn new(year: u16, month: u8, day: u8, [hour, minute, second]: [u8; 3]) -> Option<Self> {
        let date = Date::from_calendar_date(year.into(), Month::try_from(month).ok()?, day).ok()?;
        let time = date.with_hms(hour, minute, second).ok()?.as_utc();
        (year >= 1970).then_some(Self(time))
    }
}

/// A point in time as `20130524T000000Z`.
#[derive(Clone, Copy)]
pub(super) struct Basic([u8; 16]);

impl Basic {
    pub(super) fn as_str(&self) -> &str {
        // Digits and two letters are UTF-8.
        str::from_utf8(&self.0).unwrap_or_default()
    }

    /// The day alone, such as `20130524`.
    pub(super) fn day(&self) -> &str {
        &self.as_str()[..8]
    }
}

fn number<N: TryFrom<u16>>(digits: &[u8]) -> Option<N> {
    let number = digits
        .iter()
        .try_fold(0, |sum, byte| byte.is_ascii_digit().then(|| sum * 10 + u16::from(byte - b'0')));
    number?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_forms_mean_the_same() {
        let time = Timestamp::of_seconds(1_369_353_600);
        assert_eq!(Timestamp::from_basic("20130524T000000Z"), Some(time));
        assert_eq!(Timestamp::from_extended("2013-05-24T00:00:00Z"), Some(time));
        assert_eq!(Timestamp::from_extended("2013-05-24T00:00:00.999Z"), Some(time));
        assert_eq!(Timestamp::from_http("Fri, 24 May 2013 00:00:00 GMT"), Some(time));
        assert_eq!(Timestamp::from_http("Fri, 24 May 2013 00:00:00 -0000"), Some(time));
        assert_eq!(time.to_basic(), "20130524T000000Z");
        assert_eq!(time.to_http(), "Fri, 24 May 2013 00:00:00 GMT");
        assert_eq!(time.to_day(), "20130524");
    }

    #[test]
    fn every_day_comes_back() {
        const DAY: i64 = 86_400;
        for day in 0..100_000 {
            let time = Timestamp::of_seconds(day * DAY + 86_399 - day % 86_400);
            assert_eq!(Timestamp::from_basic(&time.to_basic()), Some(time));
            assert_eq!(Timestamp::from_http(&time.to_http()), Some(time));
            let midnight = Timestamp::of_seconds(day * DAY);
            assert_eq!(Timestamp::from_day(&time.to_day()), Some(midnight));
        }
        assert_eq!(Timestamp::of_seconds(951_782_400).to_basic(), "20000229T000000Z");
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for wrong in [
            "",
            "20130524T000000",
            "20130524T000000z",
            "20130524 000000Z",
            "20130231T000000Z",
            "20130524T240000Z",
            "20130524T006000Z",
            "20131324T000000Z",
            "20130500T000000Z",
            "+0130524T000000Z",
            "19691231T235959Z",
            "2013052éT00000Z",
            "20010229T000000Z",
        ] {
            assert_eq!(Timestamp::from_basic(wrong), None, "{wrong}");
        }
        for wrong in ["", "2013052", "201305240", "20130231", "2013052x", "+0130524", "2013052é"] {
            assert_eq!(Timestamp::from_day(wrong), None, "{wrong}");
        }
        for wrong in [
            "2013-05-24T00:00:00",
            "2013-05-24T00:00:00.Z",
            "2013-05-24T00:00:00+00:00",
            "2013-05-24T00:00:00.xZ",
            "2013-05-24",
            "Z",
            "2013-05-24T00:00:0éZ",
        ] {
            assert_eq!(Timestamp::from_extended(wrong), None, "{wrong}");
        }
        for wrong in
            ["Fri, 24 May 2013 00:00:00 UTC", "Fri, 24 Mai 2013 00:00:00 GMT", "24 May 2013"]
        {
            assert_eq!(Timestamp::from_http(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn the_systems_clock_is_read() {
        let time = UNIX_EPOCH + core::time::Duration::from_millis(1_369_353_600_999);
        assert_eq!(Timestamp::of(time).to_basic(), "20130524T000000Z");
        assert_eq!(Timestamp::of(time).seconds(), 1_369_353_600);
    }
}
