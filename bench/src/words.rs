//! Formats numbers for people: three significant digits, a unit, an interval in the same unit.

use time::UtcDateTime;

/// Units of time in ns, the next larger one for values from 1,000 on.
const TIMES: [(f64, &str); 4] = [(1.0, "ns"), (1e3, "µs"), (1e6, "ms"), (1e9, "s")];

/// Formats a figure in its unit.
pub(crate) fn value(value: f64, unit: &str) -> String {
    match unit {
        "ns" => time(value),
        "B" => bytes(value),
        "1" => count(value),
        unit => format!("{} {}", digits(value), tame(unit)),
    }
}

/// Formats a time, given in ns.
pub(crate) fn time(ns: f64) -> String {
    let (unit, name) = time_unit(ns);
    format!("{} {name}", digits(ns / unit))
}

/// Formats a time, given in ns, with its interval.
pub(crate) fn time_within(ns: f64, ci95: Option<[f64; 2]>) -> String {
    let Some(ci95) = ci95 else { return time(ns) };
    let (unit, name) = time_unit(ns);
    let decimals = decimals(ns / unit);
    let [low, high] = ci95.map(|bound| fixed(bound / unit, decimals));
    format!("{} {name} ({low}\u{2013}{high})", fixed(ns / unit, decimals))
}

/// Formats a power of ten of nanoseconds: "100 µs".
pub(crate) fn tick(ns: f64) -> String {
    let (unit, name) = time_unit(ns);
    format!("{:.0} {name}", ns / unit)
}

fn time_unit(ns: f64) -> (f64, &'static str) {
    // A value that rounds to 1000 gets the next unit.
    let fits = |(unit, _): &&(f64, &str)| ns / unit < 999.5;
    TIMES.iter().find(fits).copied().unwrap_or(TIMES[3])
}

/// Formats a factor, with its interval if there is one.
pub(crate) fn factor(ratio: f64, ci95: Option<[f64; 2]>) -> String {
    let decimals = decimals(ratio);
    let mut text = format!("{}×", fixed(ratio, decimals));
    if let Some(bounds) = ci95 {
        let [low, high] = bounds.map(|bound| fixed(bound, decimals));
        text += &format!(" ({low}\u{2013}{high})");
    }
    text
}

/// Formats a factor with enough digits to show differences of one percent.
pub(crate) fn fine_factor(ratio: f64) -> String {
    if ratio < 1.995 { format!("{}×", fixed(ratio, 3)) } else { factor(ratio, None) }
}

/// Formats a length or an amount of memory: exact up to 10 MB.
pub(crate) fn bytes(bytes: f64) -> String {
    if bytes.abs() < 1e7 {
        let whole = (bytes - bytes.round()).abs() < 0.005 || bytes.abs() >= 1000.0;
        return if whole { format!("{} B", count(bytes)) } else { format!("{bytes:.1} B") };
    }
    format!("{} MB", digits(bytes / 1e6))
}

/// Formats a parameter in bytes. 1 KB is 1,024 bytes, as in the published tables.
pub(crate) fn size_parameter(bytes: u64) -> String {
    let scales = [(1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "KB")];
    match scales.iter().find(|(scale, _)| bytes >= *scale && bytes.is_multiple_of(*scale)) {
        Some((scale, name)) => format!("{} {name}", bytes / scale),
        None => format!("{} B", integer(bytes)),
    }
}

/// Formats a number without a unit, such as allocations.
pub(crate) fn count(number: f64) -> String {
    let number = number.round();
    if number.abs() >= 1e15 {
        return format!("{number:e}");
    }
    let sign = if number < 0.0 { "-" } else { "" };
    format!("{sign}{}", grouped(&format!("{:.0}", number.abs())))
}

/// Formats a whole number with thousands separators.
pub(crate) fn integer(number: u64) -> String {
    grouped(&number.to_string())
}

fn grouped(digits: &str) -> String {
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats a share from 0 to 1 as a percentage.
pub(crate) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent.abs() >= 10.0 { format!("{percent:.0} %") } else { format!("{percent:.1} %") }
}

/// Formats a small share, such as a noise floor, with two significant digits.
pub(crate) fn fine_percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent.abs() >= 1.0 { format!("{percent:.1} %") } else { format!("{percent:.2} %") }
}

/// Formats a value with three significant digits, without a unit.
pub(crate) fn digits(value: f64) -> String {
    fixed(value, decimals(value))
}

/// Returns the number of decimal places that gives three digits.
fn decimals(value: f64) -> usize {
    match value.abs() {
        v if v >= 99.95 => 0,
        v if v >= 9.995 => 1,
        v if v >= 0.1 || v == 0.0 => 2,
        v if v >= 0.01 => 3,
        _ => 4,
    }
}

fn fixed(value: f64, decimals: usize) -> String {
    if !value.is_finite() {
        return "?".into();
    }
    if value.abs() >= 1e15 {
        return format!("{value:.2e}");
    }
    let text = format!("{value:.decimals$}");
    match text.split_once('.') {
        None if value >= 10_000.0 => grouped(&text),
        _ => text,
    }
}

/// Formats a time in seconds since 1970 as day and time, in UTC.
pub(crate) fn date(seconds: u64) -> String {
    let seconds = i64::try_from(seconds).unwrap_or(i64::MAX);
    let time = UtcDateTime::from_unix_timestamp(seconds).unwrap_or(UtcDateTime::MAX);
    format!("{} {:02}:{:02} UTC", time.date(), time.hour(), time.minute())
}

/// Formats a duration in whole seconds.
pub(crate) fn duration(seconds: u64) -> String {
    match (seconds / 60, seconds % 60) {
        (0, seconds) => format!("{seconds} s"),
        (minutes, seconds) => format!("{minutes} min {seconds} s"),
    }
}

/// Joins the items: "a, b and c".
pub(crate) fn list(items: &[impl AsRef<str>]) -> String {
    match items {
        [] => String::new(),
        [one] => one.as_ref().to_owned(),
        [most @ .., last] => {
            let most: Vec<_> = most.iter().map(AsRef::as_ref).collect();
            format!("{} and {}", most.join(", "), last.as_ref())
        }
    }
}

/// Formats a number of things: "1 subject", "2 subjects".
pub(crate) fn plural(number: usize, noun: &str) -> String {
    format!("{} {noun}{}", integer(number as u64), if number == 1 { "" } else { "s" })
}

/// Makes foreign text harmless for every output: control characters, line ends and characters that
/// change the direction of writing are replaced, and the text is cut at 2,000 characters.
#[must_use]
pub fn tame(text: &str) -> String {
    const LIMIT: usize = 2000;
    let mut tame: String = text
        .chars()
        .take(LIMIT)
        .map(|c| match c {
            '\n' | '\r' | '\t' => ' ',
            c if c.is_control() => char::REPLACEMENT_CHARACTER,
            '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                char::REPLACEMENT_CHARACTER
            }
            '\u{feff}' | '\u{61c}' => char::REPLACEMENT_CHARACTER,
            c => c,
        })
        .collect();
    if text.chars().nth(LIMIT).is_some() {
        tame.push('…');
    }
    tame
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_three_digits_and_the_unit_that_fits() {
        for (ns, text) in [
            (0.0, "0.00 ns"),
            (3.0, "3.00 ns"),
            (999.4, "999 ns"),
            (999.6, "1.00 µs"),
            (12_345.0, "12.3 µs"),
            (262_000.0, "262 µs"),
            (999_700.0, "1.00 ms"),
            (87_654_321.0, "87.7 ms"),
            (5.6e9, "5.60 s"),
            (4.2e12, "4200 s"),
        ] {
            assert_eq!(time(ns), text);
        }
        assert_eq!(time_within(262_400.0, Some([259_800.0, 1_265_000.0])), "262 µs (260–1265)");
        assert_eq!(time_within(9_996.0, Some([9_990.0, 10_004.0])), "10.0 µs (10.0–10.0)");
        assert_eq!(time(f64::NAN), "? s");
    }

    #[test]
    fn factors_sizes_and_shares() {
        assert_eq!(factor(342.6, Some([338.2, 349.0])), "343× (338–349)");
        assert_eq!(factor(0.912, Some([0.9, 0.93])), "0.91× (0.90–0.93)");
        assert_eq!(factor(2.5, None), "2.50×");
        assert_eq!(factor(12_345.0, None), "12,345×");
        let fine = [1.0062, 1.9949, 1.996, 12.5].map(fine_factor);
        assert_eq!(fine, ["1.006×", "1.995×", "2.00×", "12.5×"]);
        assert_eq!(bytes(15_787.0), "15,787 B");
        assert_eq!(bytes(35.97), "36.0 B");
        assert_eq!(bytes(36.0), "36 B");
        assert_eq!(bytes(144_487_000.0), "144 MB");
        assert_eq!(size_parameter(1024), "1 KB");
        assert_eq!(size_parameter(16 << 20), "16 MB");
        assert_eq!(size_parameter(1000), "1,000 B");
        assert_eq!(percent(0.123), "12 %");
        assert_eq!(fine_percent(0.0031), "0.31 %");
        assert_eq!(count(1_234_567.0), "1,234,567");
        assert_eq!(count(1e300), "1e300");
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(date(0), "1970-01-01 00:00 UTC");
        assert_eq!(date(951_782_400), "2000-02-29 00:00 UTC");
        assert_eq!(date(1_763_683_199), "2025-11-20 23:59 UTC");
        assert_eq!(duration(61), "1 min 1 s");
    }

    #[test]
    fn lists_and_foreign_text() {
        assert_eq!(list(&["a"]), "a");
        assert_eq!(list(&["a", "b", "c"]), "a, b and c");
        assert_eq!(plural(1, "peer"), "1 peer");
        assert_eq!(tame("a\nb\u{1b}[31m\u{202e}c"), "a b\u{fffd}[31m\u{fffd}c");
        assert_eq!(tame(&"x".repeat(4000)).chars().count(), 2001);
    }
}
