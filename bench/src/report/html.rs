//! Writes the document as one HTML file that has no scripts and makes no network requests.

use super::document::{Block, Document, Span, Table, TableRow, Text};
use super::svg::{self, Width, escape};

const STYLE: &str = include_str!("style.css");

/// Writes the whole page.
pub(super) fn write(document: &Document) -> String {
    // If an escape were missing, this policy would still keep scripts from running and resources
    // from loading.
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n\
         <h1>{title}</h1>\n",
        title = escape(&document.title),
    );
    let sections = document.blocks.iter().filter_map(|block| match block {
        Block::Section(title) => Some(title),
        _ => None,
    });
    out += "<nav aria-label=\"Sections\"><ul>";
    for (i, title) in sections.enumerate() {
        out += &format!("<li><a href=\"#section-{i}\">{}</a></li>", escape(title));
    }
    out += "</ul></nav>\n";
    let (mut section, mut chart) = (0, 0);
    for block in &document.blocks {
        match block {
            Block::Section(title) => {
                out += &format!("<h2 id=\"section-{section}\">{}</h2>\n", escape(title));
                section += 1;
            }
            Block::Subsection(title) => out += &format!("<h3>{}</h3>\n", escape(title)),
            Block::Paragraph(words) => out += &format!("<p>{}</p>\n", text(words)),
            Block::Banner(words) => {
                out += "<p class=\"banner\" role=\"note\"><strong>Caution.</strong> ";
                out += &format!("{}</p>\n", text(words));
            }
            Block::List(items) => {
                out += "<ul>\n";
                for item in items {
                    out += &format!("<li>{}</li>\n", text(item));
                }
                out += "</ul>\n";
            }
            Block::Table(rows) => out += &table(rows),
            Block::Chart(drawn) => {
                out += &format!("<figure>\n<figcaption>{}", escape(drawn.title()));
                if !drawn.note().is_empty() {
                    out += &format!(" <span>{}.</span>", escape(drawn.note()));
                }
                out += "</figcaption>\n";
                out += &svg::draw(drawn, &format!("chart-{chart}w"), Width::Wide);
                out += &svg::draw(drawn, &format!("chart-{chart}n"), Width::Narrow);
                out += "</figure>\n";
                chart += 1;
            }
        }
    }
    out + "</main>\n</body>\n</html>\n"
}

fn table(table: &Table) -> String {
    let class = if table.prose { "prose" } else { "figures" };
    let name = escape(if table.caption.is_empty() { "Table" } else { &table.caption });
    // A scrollable box must be reachable by keyboard, so it has a tab index.
    let mut out = format!(
        "<div class=\"box\" role=\"region\" tabindex=\"0\" aria-label=\"{name}\">\
         <table class=\"{class}\">\n"
    );
    if !table.caption.is_empty() {
        out += &format!("<caption><span>{name}</span></caption>\n");
    }
    out += "<thead><tr>";
    for cell in &table.head {
        out += &format!("<th scope=\"col\">{}</th>", text(cell));
    }
    out += "</tr></thead>\n<tbody>\n";
    for row in &table.rows {
        match row {
            TableRow::Group(title) => {
                let across = table.head.len();
                out += "<tr class=\"group\">";
                out += &format!("<th scope=\"colgroup\" colspan=\"{across}\">");
                out += &format!("<span>{}</span></th></tr>\n", escape(&title.plain()));
            }
            TableRow::Cells(cells) => {
                out += "<tr>";
                for (i, cell) in cells.iter().take(table.head.len()).enumerate() {
                    let cell = text(cell);
                    out += &if i == 0 {
                        format!("<th scope=\"row\">{cell}</th>")
                    } else {
                        format!("<td>{cell}</td>")
                    };
                }
                out += "</tr>\n";
            }
        }
    }
    out += "</tbody>\n</table></div>\n";
    if !table.notes.is_empty() {
        out += "<ol class=\"notes\">\n";
        for note in &table.notes {
            out += &format!("<li>{}</li>\n", text(note));
        }
        out += "</ol>\n";
    }
    out
}

fn text(text: &Text) -> String {
    text.0.iter().map(|piece| glued(&span(piece))).collect()
}

/// Keeps a number and its unit on one line.
fn glued(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(' ') {
        let (before, after) = (&rest[..at], &rest[at + 1..]);
        let word = after.split([' ', ',', ';', '.', ')', '<']).next().unwrap_or_default();
        let unit = ["%", "ns", "µs", "ms", "s", "B", "KB", "MB", "KB/s", "CPU"].contains(&word);
        out += before;
        out.push(if unit && before.ends_with(|c: char| c.is_ascii_digit()) {
            '\u{a0}'
        } else {
            ' '
        });
        rest = after;
    }
    out + rest
}

fn span(span: &Span) -> String {
    match span {
        Span::Plain(text) => escape(text),
        Span::Strong(text) => format!("<strong>{}</strong>", escape(text)),
        Span::Emphasis(text) => format!("<em>{}</em>", escape(text)),
        Span::Code(text) => format!("<code>{}</code>", escape(text)),
        Span::Link { text, url } => {
            format!("<a rel=\"noreferrer\" href=\"{}\">{}</a>", escape(url), escape(text))
        }
        Span::Note(number) => format!("<sup>{number}</sup>"),
        Span::Absent(text) => format!("<span class=\"absent\">{}</span>", escape(text)),
        Span::Break => "<br>".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_stays_with_its_number() {
        assert_eq!(glued("in 3 ms, 4 % of 5 members"), "in 3\u{a0}ms, 4\u{a0}% of 5 members");
        assert_eq!(glued("a s 1  ms"), "a s 1  ms");
    }

    #[test]
    fn foreign_text_has_no_meaning() {
        let hostile = "</td><script>alert(\"1\")</script>'&";
        let escaped = escape(hostile);
        assert!(!escaped.contains(['<', '>', '"', '\'']), "{escaped}");
        let link = Text::new().link("here", "javascript:alert(1)");
        assert_eq!(text(&link), "here");
        let link = Text::new().link("here", "https://a.example/\"onclick=x");
        assert_eq!(text(&link), "here");
        let link = Text::new().link("here", "https://a.example/x?y=1&z=2");
        let expected = "<a rel=\"noreferrer\" href=\"https://a.example/x?y=1&amp;z=2\">here</a>";
        assert_eq!(text(&link), expected);
    }
}
