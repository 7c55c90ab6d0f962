//! Rules of a time zone for all years, in the syntax of the variable TZ (POSIX, 8.3):
//! `EST5EDT,M3.2.0,M11.1.0`.

use time::{Date, Month, UtcDateTime};

/// Seconds of a day.
const DAY: i64 = 86_400;
/// Seconds of an hour.
const HOUR: i64 = 3_600;

/// Standard time, and summer time if there is one. Offsets are seconds east of Greenwich.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rule {
    standard: i64,
    summer: Option<Summer>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Summer {
    offset: i64,
    start: Change,
    end: Change,
}

/// Change of the offset in a year: a day, and seconds of local time after its start.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Change {
    day: Day,
    time: i64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Day {
    /// Weekday (0 is Sunday) of a week (5 is the last one) of a month.
    Weekday { month: u8, week: u8, weekday: u8 },
    /// Day of the year from 1. 29 February is never counted.
    Julian(u16),
    /// Day of the year from 0.
    Ordinal(u16),
}

impl Rule {
    /// Parses a rule. Returns `None` for another text.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut rest = Rest(text);
        rest.name()?;
        let standard = -rest.duration()?;
        if rest.0.is_empty() {
            return Some(Self { standard, summer: None });
        }
        rest.name()?;
        let offset = match rest.0.starts_with(',') {
            true => standard + HOUR,
            false => -rest.duration()?,
        };
        let (start, end) = (rest.change()?, rest.change()?);
        rest.0.is_empty().then_some(Self { standard, summer: Some(Summer { offset, start, end }) })
    }

    /// Returns the offset at a point in time, in seconds since 1970.
    pub(super) fn offset(&self, at: i64) -> i64 {
        let Some(Summer { offset, start, end }) = &self.summer else { return self.standard };
        let local = UtcDateTime::from_unix_timestamp(at.saturating_add(self.standard));
        let Ok(year) = local.map(UtcDateTime::year) else { return self.standard };
        let (Some(start), Some(end)) = (start.local(year), end.local(year)) else {
            return self.standard;
        };
        let (start, end) = (start - self.standard, end - offset);
        let is_summer = match start < end {
            true => (start..end).contains(&at),
            // South of the equator summer goes over the end of the year.
            false => !(end..start).contains(&at),
        };
        if is_summer { *offset } else { self.standard }
    }
}

impl Change {
    /// Returns the change of a year in local time, as seconds since 1970.
    fn local(&self, year: i32) -> Option<i64> {
        let start = Date::from_ordinal_date(year, 1).ok()?;
        let days = i64::from(
            start.to_julian_day() - Date::from_ordinal_date(1970, 1).ok()?.to_julian_day(),
        );
        let is_leap = start.year() % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let day = match self.day {
            Day::Ordinal(day) => i64::from(day),
            Day::Julian(day) => i64::from(day) - i64::from(!is_leap || day < 60),
            Day::Weekday { month, week, weekday } => {
                let month = Month::try_from(month).ok()?;
                let first = Date::from_calendar_date(year, month, 1).ok()?;
                let until = (7 + weekday - first.weekday().number_days_from_sunday()) % 7;
                let day = until + 7 * (week - 1);
                let last = month.length(year) - 1;
                // The fifth week stands for the last one.
                let day = if day > last { day - 7 } else { day };
                i64::from(first.ordinal()) - 1 + i64::from(day)
            }
        };
        Some((days + day) * DAY + self.time)
    }
}

/// Rest of a text that is parsed.
struct Rest<'t>(&'t str);

impl Rest<'_> {
    fn take(&mut self, mark: char) -> bool {
        let rest = self.0.strip_prefix(mark);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    /// Takes the name of a time: three letters or more, or signs between angle brackets.
    fn name(&mut self) -> Option<()> {
        if self.take('<') {
            self.0 = self.0.split_once('>')?.1;
            return Some(());
        }
        let len = self.0.bytes().take_while(u8::is_ascii_alphabetic).count();
        self.0 = &self.0[len..];
        (len >= 3).then_some(())
    }

    fn number(&mut self, most: i64) -> Option<i64> {
        let len = self.0.bytes().take_while(u8::is_ascii_digit).count();
        let (digits, rest) = self.0.split_at(len);
        self.0 = rest;
        // At most three digits, so that nothing overflows.
        let number = digits.parse().ok().filter(|_| len <= 3)?;
        (number <= most).then_some(number)
    }

    /// Takes `[+-]hours[:minutes[:seconds]]` as seconds.
    fn duration(&mut self) -> Option<i64> {
        let sign = if self.take('-') { -1 } else { 1 };
        let _plus = sign == 1 && self.take('+');
        let mut seconds = self.number(167)? * HOUR;
        for unit in [60, 1] {
            if !self.take(':') {
                break;
            }
            seconds += self.number(59)? * unit;
        }
        Some(sign * seconds)
    }

    /// Takes `,day[/time]`.
    fn change(&mut self) -> Option<Change> {
        if !self.take(',') {
            return None;
        }
        let day = if self.take('M') {
            let mut part = |most| u8::try_from(self.number(most)?).ok();
            let month = part(12).filter(|it| *it > 0)?;
            let parts = |own: &mut Self, most| match own.take('.') {
                true => u8::try_from(own.number(most)?).ok(),
                false => None,
            };
            let week = parts(self, 5).filter(|it| *it > 0)?;
            Day::Weekday { month, week, weekday: parts(self, 6)? }
        } else if self.take('J') {
            Day::Julian(u16::try_from(self.number(365)?).ok().filter(|it| *it > 0)?)
        } else {
            Day::Ordinal(u16::try_from(self.number(365)?).ok()?)
        };
        let time = if self.take('/') { self.duration()? } else { 2 * HOUR };
        Some(Change { day, time })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_change_with_the_seasons() {
        // Points in time of the IANA database, one second before and at each change.
        for (rule, changes) in [
            (
                "CET-1CEST,M3.5.0,M10.5.0/3",
                [
                    (1_774_745_999, 3_600),
                    (1_774_746_000, 7_200),
                    (1_792_889_999, 7_200),
                    (1_792_890_000, 3_600),
                ],
            ),
            (
                "EST5EDT,M3.2.0,M11.1.0",
                [
                    (1_772_953_199, -18_000),
                    (1_772_953_200, -14_400),
                    (1_793_512_799, -14_400),
                    (1_793_512_800, -18_000),
                ],
            ),
            (
                "AEST-10AEDT,M10.1.0,M4.1.0/3",
                [
                    (1_775_318_399, 39_600),
                    (1_775_318_400, 36_000),
                    (1_791_043_199, 36_000),
                    (1_791_043_200, 39_600),
                ],
            ),
        ] {
            let parsed = Rule::parse(rule).unwrap();
            for (at, offset) in changes {
                assert_eq!(parsed.offset(at), offset, "{rule} {at}");
            }
        }
        assert_eq!(Rule::parse("<+0545>-5:45").unwrap().offset(0), 20_700);
        assert_eq!(Rule::parse("UTC0").unwrap().offset(i64::MAX), 0);
        let days = Rule::parse("AAA0BBB,J60/0,300/0").unwrap();
        // 1 March 2026 and 2028, whose February has 29 days; day 300 from 0 is 28 October 2026.
        for (at, offset) in [
            (1_772_323_199, 0),
            (1_772_323_200, 3_600),
            (1_835_481_599, 0),
            (1_835_481_600, 3_600),
            (1_793_141_999, 3_600),
            (1_793_142_000, 0),
        ] {
            assert_eq!(days.offset(at), offset, "{at}");
        }
    }

    #[test]
    fn other_texts_are_no_rules() {
        for text in [
            "",
            "UTC",
            "AB1",
            "EST5EDT",
            "EST5EDT,M3.2.0",
            "EST5EDT,M13.2.0,M11.1.0",
            "<+1",
            "EST999",
            "EST5EDT,M3.0.0,M11.1.0",
            "EST5,",
            "EST5EDT,M3.2.0,M11.1.0x",
        ] {
            assert_eq!(Rule::parse(text), None, "{text}");
        }
    }
}
