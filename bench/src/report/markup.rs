//! Marks in the texts of `data/`: `**strong**`, `` `code` ``, `[text](url)` and `{expression}`.

use super::content::Format;
use super::document::{Document, Text};
use super::expression::Expression;
use super::figures::Figures;
use super::value::Scope;

/// Parses text with marks.
pub(crate) fn text(source: &str) -> Text {
    let mut text = Text::new();
    let mut rest = source;
    while let Some(at) = rest.find(['*', '`', '[']) {
        let (plain, marked) = rest.split_at(at);
        let found = enclosed(marked, "**", "**")
            .map(|(inner, after)| (Text::new().strong(inner), after))
            .or_else(|| {
                let (inner, after) = enclosed(marked, "`", "`")?;
                Some((Text::new().code(inner), after))
            })
            .or_else(|| {
                let (name, after) = enclosed(marked, "[", "](")?;
                let (url, after) = after.split_once(')')?;
                Some((Text::new().link(name, url), after))
            });
        text = if plain.is_empty() { text } else { text.say(plain) };
        let (mark, after) = found.unwrap_or_else(|| {
            let (first, after) = marked.split_at(1);
            (Text::from(first), after)
        });
        text = text.join(mark);
        rest = after;
    }
    if rest.is_empty() { text } else { text.say(rest) }
}

fn enclosed<'a>(text: &'a str, open: &str, close: &str) -> Option<(&'a str, &'a str)> {
    text.strip_prefix(open)?.split_once(close)
}

/// Writes paragraphs, which are separated by empty lines.
pub(crate) fn paragraphs(document: &mut Document, source: &str) {
    for paragraph in source.split("\n\n").map(str::trim).filter(|it| !it.is_empty()) {
        document.paragraph(text(&paragraph.replace('\n', " ")));
    }
}

/// Replaces each `{expression}` or `{expression|percent}` by its value; `None` if one was not
/// measured.
pub(crate) fn filled(source: &str, scope: &Scope, figures: &Figures<'_>) -> Option<Text> {
    let mut out = String::new();
    let mut rest = source;
    while let Some((before, after)) = rest.split_once('{') {
        let (inner, after) = after.split_once('}')?;
        let (inner, format) = match inner.split_once('|') {
            Some((inner, "percent")) => (inner, Format::Percent),
            Some((inner, "fine")) => (inner, Format::Fine),
            Some((inner, "count")) => (inner, Format::Count),
            Some(_) => return None,
            None => (inner, Format::Unit),
        };
        let expression = Expression::try_from(inner.to_owned()).ok()?;
        let mut value = expression.value(scope, figures)?;
        value.ci95 = None;
        out += before;
        out += &value.written(format);
        rest = after;
    }
    Some(text(&(out + rest)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_become_spans_and_stray_ones_stay() {
        let expected = Text::new()
            .say("a ")
            .strong("b")
            .say(", ")
            .code("c")
            .say(" and ")
            .link("d", "https://example.org/x")
            .say(".");
        assert_eq!(text("a **b**, `c` and [d](https://example.org/x)."), expected);
        assert_eq!(text("2 * 3"), Text::from("2 ").say("*").say(" 3"));
        assert_eq!(text("[72,101]"), Text::from("[").say("72,101]"));
    }
}
