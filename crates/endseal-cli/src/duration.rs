//! Durations in arguments: a number and a unit, as in `10s`, `5m` or `7d`.

use core::time::Duration;

pub(crate) const SECOND: Duration = Duration::from_secs(1);
pub(crate) const MINUTE: Duration = Duration::from_secs(60);
pub(crate) const HOUR: Duration = Duration::from_secs(3_600);
pub(crate) const DAY: Duration = Duration::from_secs(86_400);
pub(crate) const WEEK: Duration = Duration::from_secs(604_800);

const UNITS: [(char, Duration); 5] =
    [('w', WEEK), ('d', DAY), ('h', HOUR), ('m', MINUTE), ('s', SECOND)];

/// Returns a parser of durations from `least` to `most`.
pub(crate) fn between(
    least: Duration,
    most: Duration,
) -> impl Fn(&str) -> Result<Duration, String> + Clone {
    move |typed| {
        let duration = parse(typed)?;
        if (least..=most).contains(&duration) {
            return Ok(duration);
        }
        Err(format!("expected {} to {}", text(least), text(most)))
    }
}

fn parse(typed: &str) -> Result<Duration, String> {
    let wrong = || "expected a number and s, m, h, d or w, for example 10s or 7d".to_owned();
    let (number, unit) = UNITS
        .iter()
        .find_map(|(letter, unit)| Some((typed.strip_suffix(*letter)?, unit.as_secs())))
        .ok_or_else(wrong)?;
    if !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(wrong());
    }
    let number: Option<u64> = number.parse().ok();
    let seconds = number.and_then(|number| number.checked_mul(unit));
    seconds.map(Duration::from_secs).ok_or_else(wrong)
}

/// Formats a duration in the largest unit without a remainder, in the syntax of [`between`].
pub(crate) fn text(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let fits = |unit: &Duration| seconds > 0 && seconds.is_multiple_of(unit.as_secs());
    let found = UNITS.iter().find(|(_, unit)| fits(unit));
    let (letter, unit) = found.copied().unwrap_or(('s', SECOND));
    format!("{}{letter}", seconds / unit.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_a_unit() {
        for (typed, seconds) in [
            ("0s", 0),
            ("90s", 90),
            ("30m", 1_800),
            ("12h", 43_200),
            ("7d", 604_800),
            ("2w", 1_209_600),
        ] {
            assert_eq!(parse(typed), Ok(Duration::from_secs(seconds)), "{typed}");
        }
        for bad in [
            "",
            "7",
            "d",
            "-1d",
            "+1d",
            "1.5h",
            "7 d",
            "7D",
            "99999999999999999999s",
            "9999999999999999999w",
            "7\u{e4}",
        ] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_range_is_part_of_the_error() {
        let parse = between(SECOND, 10 * MINUTE);
        assert_eq!(parse("10m"), Ok(10 * MINUTE));
        for outside in ["0s", "601s"] {
            assert_eq!(parse(outside), Err("expected 1s to 10m".to_owned()));
        }
    }

    #[test]
    fn texts_are_read_again() {
        for seconds in [0, 1, 60, 61, 86_400, 604_800, 1_209_601] {
            let duration = Duration::from_secs(seconds);
            assert_eq!(parse(&text(duration)), Ok(duration));
        }
    }
}
