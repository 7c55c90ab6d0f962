//! Colours of messages on standard error.

use std::ffi::OsString;

/// Use of colours in messages.
#[derive(clap::ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Color {
    /// If standard error is a terminal and NO_COLOR is not set
    #[default]
    Auto,
    /// Use colours always
    Always,
    /// Use no colours
    Never,
}

/// Words at the start of lines, and their style as a parameter of SGR (ECMA-48).
const STYLES: [(&str, &str); 4] =
    [("error:", "1;31"), ("warning:", "1;33"), ("hint:", "1;36"), ("note:", "1")];

impl Color {
    /// Finds the choice in arguments that could not be parsed.
    pub(crate) fn typed(arguments: impl Iterator<Item = OsString>) -> Self {
        let text = arguments.map(|it| it.to_string_lossy().into_owned()).collect::<Vec<_>>();
        let text = text.join(" ");
        let has = |choice| {
            text.contains(&format!("--color={choice}"))
                || text.contains(&format!("--color {choice}"))
        };
        match (has("always"), has("never")) {
            (true, false) => Self::Always,
            (false, true) => Self::Never,
            _ => Self::Auto,
        }
    }

    /// Returns true if messages are coloured.
    pub(crate) fn is_on(
        self,
        is_terminal: bool,
        environment: impl Fn(&'static str) -> Option<OsString>,
    ) -> bool {
        let is_set = |name| environment(name).is_some_and(|value| !value.is_empty());
        let is_dumb = || environment("TERM").is_some_and(|term| term == "dumb");
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto => is_terminal && !is_set("NO_COLOR") && !is_dumb(),
        }
    }
}

/// Colours the first words of the lines of a text.
pub(crate) fn styled(text: &str) -> String {
    let line = |line: &str| {
        let style =
            STYLES.iter().find_map(|(word, sgr)| Some((word, sgr, line.strip_prefix(word)?)));
        style.map_or_else(
            || line.to_owned(),
            |(word, sgr, rest)| format!("\u{1b}[{sgr}m{word}\u{1b}[0m{rest}"),
        )
    };
    text.split_inclusive('\n').map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_color_and_pipes_have_no_colours() {
        let with = |name: &'static str, value: &'static str| {
            move |asked: &'static str| (asked == name).then(|| value.into())
        };
        assert!(Color::Auto.is_on(true, |_| None));
        assert!(!Color::Auto.is_on(false, |_| None));
        assert!(!Color::Auto.is_on(true, with("NO_COLOR", "1")));
        assert!(Color::Auto.is_on(true, with("NO_COLOR", "")));
        assert!(!Color::Auto.is_on(true, with("TERM", "dumb")));
        assert!(Color::Always.is_on(false, with("NO_COLOR", "1")));
        assert!(!Color::Never.is_on(true, |_| None));
    }

    #[test]
    fn beginnings_of_lines_are_coloured() {
        let text = "error: no\n  because: error: why\nhint: try\n";
        let expected = "\u{1b}[1;31merror:\u{1b}[0m no\n  because: error: why\n\u{1b}[1;36mhint:\u{1b}[0m try\n";
        assert_eq!(styled(text), expected);
    }
}
