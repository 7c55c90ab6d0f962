//! Words for people about waiting requests.

use time::UtcDateTime;

use crate::control::WaitingView;

/// Difference in seconds from which a time is odd.
const ODD: u64 = 600;

/// Returns one sentence with what an app asks for.
#[must_use]
pub fn asks(it: &WaitingView) -> String {
    let what = match (it.method.as_str(), it.kind, &it.kind_name) {
        ("sign_event", Some(kind), Some(name)) => format!("sign a {name} (kind {kind})"),
        ("sign_event", Some(kind), None) => format!("sign an event of kind {kind}"),
        ("nip04_encrypt" | "nip44_encrypt", ..) => "encrypt a text".to_owned(),
        ("nip04_decrypt" | "nip44_decrypt", ..) => "decrypt a text".to_owned(),
        (method, ..) => method.to_owned(),
    };
    format!("{} asks to {what}", it.app)
}

/// Returns a time in seconds since 1970 as date and time in UTC.
#[must_use]
pub fn time(seconds: u64) -> String {
    let time = i64::try_from(seconds).ok().and_then(|it| UtcDateTime::from_unix_timestamp(it).ok());
    match time {
        Some(time) => {
            let (hour, minute, second) = time.as_hms();
            format!("{} {hour:02}:{minute:02}:{second:02} UTC", time.date())
        }
        None => format!("{seconds} s after 1970"),
    }
}

/// Returns the date of a time in seconds since 1970.
#[must_use]
pub fn date(seconds: u64) -> String {
    time(seconds).chars().take(10).collect()
}

/// Returns how far a time is from `now`, in words, or `None` if it is within ten minutes.
#[must_use]
pub fn odd_time(time: u64, now: u64) -> Option<String> {
    let difference = time.abs_diff(now);
    if difference <= ODD {
        return None;
    }
    let (count, unit) = match difference {
        ..7_200 => (difference / 60, "minutes"),
        7_200..172_800 => (difference / 3_600, "hours"),
        172_800..63_072_000 => (difference / 86_400, "days"),
        _ => (difference / 31_556_952, "years"),
    };
    let side = if time > now { "ahead of" } else { "behind" };
    Some(format!("{count} {unit} {side} this machine's clock"))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn view() -> WaitingView {
        WaitingView {
            id: 7,
            app: "web".to_owned(),
            app_number: 2,
            app_made: 1_790_000_000,
            user: "00".to_owned(),
            user_label: String::new(),
            method: "sign_event".to_owned(),
            kind: Some(1),
            kind_name: Some("short text note".to_owned()),
            peer: None,
            scope: None,
            content: "hello".to_owned(),
            content_length: 5,
            plaintext: None,
            created_at: Some(1),
            tags: Vec::new(),
            tag_count: 0,
            requested: Vec::new(),
            rule: "sign:1".to_owned(),
            seconds: 50,
        }
    }

    #[test]
    fn times_are_words() {
        assert_eq!(time(1_790_000_000), "2026-09-21 14:13:20 UTC");
        assert_eq!(date(1_790_000_000), "2026-09-21");
        assert_eq!(time(u64::MAX), "18446744073709551615 s after 1970");
        let now = 1_790_000_000;
        assert_eq!(odd_time(now + 600, now), None);
        let ahead = |seconds| odd_time(now + seconds, now).unwrap();
        assert_eq!(ahead(601), "10 minutes ahead of this machine's clock");
        assert_eq!(ahead(7_200), "2 hours ahead of this machine's clock");
        assert_eq!(ahead(200_000), "2 days ahead of this machine's clock");
        let behind = odd_time(0, now).unwrap();
        assert_eq!(behind, "56 years behind this machine's clock");
        assert!(
            odd_time(9_007_199_254_740_991, now)
                .unwrap()
                .ends_with("years ahead of this machine's clock")
        );
    }

    #[test]
    fn requests_are_sentences() {
        let mut view = view();
        assert_eq!(asks(&view), "web asks to sign a short text note (kind 1)");
        (view.kind, view.kind_name) = (Some(65_000), None);
        assert_eq!(asks(&view), "web asks to sign an event of kind 65000");
        (view.method, view.kind) = ("nip44_decrypt".to_owned(), None);
        assert_eq!(asks(&view), "web asks to decrypt a text");
    }
}
