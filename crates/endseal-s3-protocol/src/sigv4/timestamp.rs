//! Points in time as requests write them.

use std::time::{SystemTime, UNIX_EPOCH};

const DAY: i64 = 86_400;

/// Seconds since 1970-01-01T00:00:00Z, within the years 1970 to 9999.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The system's time; outside the years above the nearest within.
    #[must_use]
    pub fn of(time: SystemTime) -> Self {
        let seconds = time.duration_since(UNIX_EPOCH).map_or(0, |it| it.as_secs());
        let last = 253_402_300_799;
        Self(i64::try_from(seconds).unwrap_or(last).min(last))
    }

    /// The time in seconds since 1970.
    #[must_use]
    pub fn seconds(self) -> i64 {
        self.0
    }

    /// Reads `20130524T000000Z` (ISO 8601, basic).
    #[must_use]
    pub fn from_basic(text: &str) -> Option<Self> {
        let bytes: &[u8; 16] = text.as_bytes().try_into().ok()?;
        if bytes[8] != b'T' || bytes[15] != b'Z' {
            return None;
        }
        let field = |from: usize, to: usize| number(&bytes[from..to]);
        Self::new(
            field(0, 4)?,
            field(4, 6)?,
            field(6, 8)?,
            field(9, 11)?,
            field(11, 13)?,
            field(13, 15)?,
        )
    }

    /// Reads `20130524`: its first second.
    pub(super) fn from_day(text: &str) -> Option<Self> {
        let bytes: &[u8; 8] = text.as_bytes().try_into().ok()?;
        let field = |from: usize, to: usize| number(&bytes[from..to]);
        Self::new(field(0, 4)?, field(4, 6)?, field(6, 8)?, 0, 0, 0)
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
        let field = |from: usize, to: usize| number(&bytes[from..to]);
        Self::new(
            field(0, 4)?,
            field(5, 7)?,
            field(8, 10)?,
            field(11, 13)?,
            field(14, 16)?,
            field(17, 19)?,
        )
    }

    /// Reads `Fri, 24 May 2013 00:00:00 GMT` (RFC 9110, IMF-fixdate); botocore ends it in `-0000`.
    #[must_use]
    pub fn from_http(text: &str) -> Option<Self> {
        const MONTHS: &[u8; 36] = b"JanFebMarAprMayJunJulAugSepOctNovDec";
        let zones = [" GMT", " -0000", " +0000"];
        let text = zones.into_iter().find_map(|zone| text.strip_suffix(zone))?;
        let bytes: &[u8; 25] = text.as_bytes().try_into().ok()?;
        let marks = [bytes[3], bytes[4], bytes[7], bytes[11], bytes[16], bytes[19], bytes[22]];
        if &marks != b",    ::" {
            return None;
        }
        let month = MONTHS.chunks(3).position(|name| name == &bytes[8..11])?;
        let field = |from: usize, to: usize| number(&bytes[from..to]);
        let month = i64::try_from(month).ok()? + 1;
        Self::new(
            field(12, 16)?,
            month,
            field(5, 7)?,
            field(17, 19)?,
            field(20, 22)?,
            field(23, 25)?,
        )
    }

    /// Writes the basic form of ISO 8601, such as `20130524T000000Z`.
    #[must_use]
    pub fn to_basic(self) -> String {
        self.basic().as_str().to_owned()
    }

    /// The same without an allocation: it stands in each signature twice.
    pub(super) fn basic(self) -> Basic {
        let (year, month, day) = civil(self.0.div_euclid(DAY));
        let second = self.0.rem_euclid(DAY);
        let pairs =
            [year / 100, year % 100, month, day, second / 3_600, second / 60 % 60, second % 60];
        let mut out = *b"YYYYMMDDThhmmssZ";
        for (at, pair) in [0, 2, 4, 6, 9, 11, 13].into_iter().zip(pairs) {
            // All of them have two digits.
            let pair = u8::try_from(pair).unwrap_or(0);
            out[at] = b'0' + pair / 10 % 10;
            out[at + 1] = b'0' + pair % 10;
        }
        Basic(out)
    }

    /// Writes `2013-05-24T00:00:00.000Z`, as documents have it.
    #[must_use]
    pub fn to_iso(self) -> String {
        let (year, month, day) = civil(self.0.div_euclid(DAY));
        let second = self.0.rem_euclid(DAY);
        let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
        format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.000Z")
    }

    /// Writes `Fri, 24 May 2013 00:00:00 GMT`, as headers have it.
    #[must_use]
    pub fn to_http(self) -> String {
        // 1970 began on a Thursday.
        const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
        const MONTHS: [&str; 12] =
            ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
        let (year, month, day) = civil(self.0.div_euclid(DAY));
        let name = |names: &[&'static str], at: i64| {
            usize::try_from(at).ok().and_then(|at| names.get(at).copied()).unwrap_or_default()
        };
        let weekday = name(&DAYS, self.0.div_euclid(DAY).rem_euclid(7));
        let month = name(&MONTHS, month - 1);
        let second = self.0.rem_euclid(DAY);
        let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
        format!("{weekday}, {day:02} {month} {year:04} {hour:02}:{minute:02}:{second:02} GMT")
    }

    /// Writes the day alone: `20130524`.
    #[must_use]
    pub fn to_day(self) -> String {
        self.basic().day().to_owned()
    }

    fn new(year: i64, month: i64, day: i64, hour: i64, minute: i64, second: i64) -> Option<Self> {
        if year < 1970 || hour > 23 || minute > 59 || second > 59 || !(1..=12).contains(&month) {
            return None;
        }
        let days = days(year, month, day);
        // A day that the month does not have comes back as one of the next month.
        (civil(days) == (year, month, day))
            .then_some(Self(days * DAY + hour * 3_600 + minute * 60 + second))
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

fn number(digits: &[u8]) -> Option<i64> {
    digits
        .iter()
        .try_fold(0, |sum, byte| byte.is_ascii_digit().then(|| sum * 10 + i64::from(byte - b'0')))
}

/// Days since 1970-01-01 of a date of the Gregorian calendar. Years begin in March, so that the
/// leap day is the last of its year.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// The inverse: year, month, day.
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_forms_mean_the_same() {
        let time = Timestamp(1_369_353_600);
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
        for day in 0..100_000 {
            let time = Timestamp(day * DAY + 86_399 - day % 86_400);
            assert_eq!(Timestamp::from_basic(&time.to_basic()), Some(time));
            assert_eq!(Timestamp::from_http(&time.to_http()), Some(time));
            let midnight = Timestamp(time.0 - time.0.rem_euclid(DAY));
            assert_eq!(Timestamp::from_day(&time.to_day()), Some(midnight));
        }
        assert_eq!(Timestamp(951_782_400).to_basic(), "20000229T000000Z");
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
