//! Display of typed text in messages.

/// Shortens typed text to 80 characters, because an identity in the long form has 2,064. Secrets
/// and control characters are replaced.
pub(crate) fn shown(text: &str) -> String {
    const MAX: usize = 80;
    let text = &redacted(text);
    let clean: String =
        text.chars().take(MAX).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    if clean.len() < text.len() { format!("{clean}...") } else { clean }
}

/// Prefixes of secret texts, in lower case, because bech32 may be in either case.
const MARKS: [&str; 5] =
    ["endseal-secret-1", "nsec1", "ncryptsec1", "bunker://", "nostrconnect://"];

/// Returns the length of the secret at the start of `rest`, which follows `mark`; 0 if there is
/// none.
fn secret_len(mark: &str, rest: &str) -> usize {
    let is_uri = mark.ends_with("://") && rest.starts_with(|c: char| c.is_ascii_alphanumeric());
    let ends = |c: char| match is_uri {
        true => c.is_whitespace() || matches!(c, '\'' | '"' | '<' | '>'),
        false => !c.is_ascii_alphanumeric(),
    };
    rest.find(ends).unwrap_or(rest.len())
}

/// Replaces the secrets in a text. A prefix without anything after it, as in a description of the
/// format, stays.
pub(crate) fn redacted(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let (mut clean, mut at) = (String::with_capacity(text.len()), 0);
    while let Some((start, mark)) = MARKS
        .iter()
        .filter_map(|mark| Some((at + lower[at..].find(mark)?, mark)))
        .min_by_key(|(start, _)| *start)
    {
        let behind = start + mark.len();
        let len = secret_len(mark, &lower[behind..]);
        clean.push_str(&text[at..start]);
        clean.push_str(if len == 0 { &text[start..behind] } else { "(a secret)" });
        at = behind + len;
    }
    clean.push_str(&text[at..]);
    clean
}

/// Returns true if a text may be a secret key of Nostr: bech32 or hexadecimal digits.
pub(crate) fn may_be_key(text: &str) -> bool {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    let is_hex = digits.len() >= 60 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hex || redacted(text) != text
}

#[cfg(test)]
mod tests {
    use super::{may_be_key, redacted, shown};

    #[test]
    fn secrets_and_control_characters_are_not_shown() {
        let typed = "a 'ENDSEAL-SECRET-1QPZRY9X8' and ENDSEAL-SECRET-1ABC.";
        assert_eq!(redacted(typed), "a '(a secret)' and (a secret).");
        assert_eq!(redacted("-k nsec1qpz: NSEC1QPZ"), "-k (a secret): (a secret)");
        assert_eq!(redacted("'ncryptsec1qpz' and Nsec1Qpz"), "'(a secret)' and (a secret)");
        assert_eq!(redacted("nsec1..., ENDSEAL-SECRET-1..."), "nsec1..., ENDSEAL-SECRET-1...");
        let uri = "nostrconnect://79be?relay=wss%3A%2F%2Fa.example&secret=x-y";
        assert_eq!(redacted(&format!("no app '{uri}' here")), "no app '(a secret)' here");
        assert_eq!(redacted(&uri.to_uppercase()), "(a secret)");
        assert_eq!(redacted("bunker://79be?secret=x\nbunker://..."), "(a secret)\nbunker://...");
        assert_eq!(redacted("endseal1abc"), "endseal1abc");
        assert_eq!(shown("\u{1b}[2J"), "\u{fffd}[2J");
        assert_eq!(shown(&"x".repeat(81)), format!("{}...", "x".repeat(80)));
    }

    #[test]
    fn what_may_be_a_key_is_known() {
        let digits = "0".repeat(63);
        for text in [&digits, &format!("0x{digits}a"), "nsec1qpz"] {
            assert!(may_be_key(text), "{text}");
        }
        for text in ["key", "a/nsec1", "npub1qpz", &digits[..40], &format!("{digits}.key")] {
            assert!(!may_be_key(text), "{text}");
        }
    }
}
