//! Times of versions in names of rclone, as in `name-v2001-02-03-040506-123.txt`. They are never
//! encrypted.

/// Example of the text, whose digits stand for any digits.
const FORM: &str = "-v2006-01-02-150405-000";

/// Takes the time out of a name. Returns the name without it, and the time.
pub(super) fn remove(name: &str) -> Option<(String, &str)> {
    let (base, extension) = split(name);
    let at = base.len().checked_sub(FORM.len())?;
    let time = base.get(at..)?;
    is_time(time).then(|| (format!("{}{extension}", &base[..at]), time))
}

/// Puts a time into a name.
pub(super) fn add(name: &str, time: &str) -> String {
    let (base, extension) = split(name);
    format!("{base}{time}{extension}")
}

/// Splits a name before its last dot. A name that begins with its only dot has no extension.
fn split(name: &str) -> (&str, &str) {
    match name.rfind('.') {
        Some(at) if at > 0 => name.split_at(at),
        _ => (name, ""),
    }
}

fn is_time(text: &str) -> bool {
    let fits = |(byte, form): (u8, u8)| match form {
        b'0'..=b'9' => byte.is_ascii_digit(),
        form => byte == form,
    };
    if text.len() != FORM.len() || !text.bytes().zip(FORM.bytes()).all(fits) {
        return false;
    }
    let number = |from: usize, len: usize| text[from..from + len].parse().unwrap_or(u32::MAX);
    let (year, month, day) = (number(2, 4), number(7, 2), number(10, 2));
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        4 | 6 | 9 | 11 => 30,
        2 => 28 + u32::from(is_leap),
        _ => 31,
    };
    (1..=12).contains(&month)
        && (1..=days).contains(&day)
        && number(13, 2) < 24
        && number(15, 2) < 60
        && number(17, 2) < 60
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_found_and_put_back() {
        for (name, without) in [
            ("x-v2001-02-03-040506-123.txt", "x.txt"),
            ("x-v2001-02-03-040506-123", "x"),
            (".x-v2000-02-29-235959-999", ".x"),
            ("-v2001-02-03-040506-123", ""),
        ] {
            let (found, time) = remove(name).unwrap();
            assert_eq!(found, without);
            assert_eq!(add(&found, time), name);
        }
        for name in [
            "x-v2001-02-29-040506-123.txt",
            "x-v2001-13-01-040506-123.txt",
            "x-v2001-04-31-040506-123.txt",
            "x-v2001-02-03-240506-123.txt",
            "x-v2001-02-03-040506-12.txt",
            "x-v2001-02-03-040506-123y.txt",
            "x",
            "",
            "\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}x",
        ] {
            assert_eq!(remove(name), None, "{name}");
        }
    }
}
