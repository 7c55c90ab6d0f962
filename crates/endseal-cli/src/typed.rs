//! Text that was typed, as messages show it.

/// The typed text, cut: an identity in the long form has 2,064 characters.
pub(crate) fn shown(text: &str) -> String {
    const MAX: usize = 80;
    let text = &redacted(text);
    let clean: String =
        text.chars().take(MAX).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    if clean.len() < text.len() { format!("{clean}...") } else { clean }
}

/// Beginnings of texts that are secret.
const MARKS: [&str; 5] = ["ENDSEAL-SECRET-1", "nsec1", "NSEC1", "ncryptsec1", "NCRYPTSEC1"];

/// A text without the secrets that were typed where none belong.
pub(crate) fn redacted(text: &str) -> String {
    let mut clean = text.to_owned();
    for mark in MARKS {
        let mut parts = clean.split(mark);
        let mut redacted = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            redacted.push_str("(a secret)");
            redacted.push_str(part.trim_start_matches(|c: char| c.is_ascii_alphanumeric()));
        }
        clean = redacted;
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::{redacted, shown};

    #[test]
    fn secrets_and_control_characters_are_not_shown() {
        let typed = "a 'ENDSEAL-SECRET-1QPZRY9X8' and ENDSEAL-SECRET-1ABC.";
        assert_eq!(redacted(typed), "a '(a secret)' and (a secret).");
        assert_eq!(redacted("-k nsec1qpz: NSEC1QPZ"), "-k (a secret): (a secret)");
        assert_eq!(redacted("'ncryptsec1qpz'"), "'(a secret)'");
        assert_eq!(redacted("endseal1abc"), "endseal1abc");
        assert_eq!(shown("\u{1b}[2J"), "\u{fffd}[2J");
        assert_eq!(shown(&"x".repeat(81)), format!("{}...", "x".repeat(80)));
    }
}
