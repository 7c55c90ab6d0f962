//! Patterns for names, in which `*` matches any characters.

/// Pattern: `*` matches any number of characters, and all others match themselves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glob(String);

impl Glob {
    /// Creates a pattern. Every text is a valid pattern.
    #[must_use]
    pub fn new(pattern: &str) -> Self {
        Self(pattern.to_owned())
    }

    /// Returns true if the name matches. The time is at most proportional to the product of both
    /// lengths.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        let mut pieces = self.0.split('*');
        let Some(rest) = pieces.next().and_then(|first| name.strip_prefix(first)) else {
            return false;
        };
        let Some(last) = pieces.next_back() else { return rest.is_empty() };
        // The leftmost match of each piece leaves the most text for the following pieces.
        let rest = pieces.try_fold(rest, |rest, piece| {
            rest.find(piece).and_then(|at| rest.get(at + piece.len()..))
        });
        rest.is_some_and(|rest| rest.ends_with(last))
    }
}

#[cfg(test)]
mod tests {
    use super::Glob;

    #[test]
    fn stars_stand_for_anything() {
        for (pattern, name, fits) in [
            ("*", "", true),
            ("*", "x", true),
            ("logs", "logs", true),
            ("logs", "logs2", false),
            ("logs-*", "logs-", true),
            ("*-logs", "a-logs", true),
            ("*-logs", "a-logs-b", false),
            ("a*b*c", "aXbYbZc", true),
            ("a*b*c", "acb", false),
            ("ab*ba", "aba", false),
            ("", "", true),
            ("", "a", false),
        ] {
            assert_eq!(Glob::new(pattern).matches(name), fits, "{pattern} {name}");
        }
    }
}
