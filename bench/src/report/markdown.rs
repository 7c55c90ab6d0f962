//! The document as Markdown (CommonMark with tables).

use super::document::{Block, Document, Span, Table, TableRow, Text};

/// Writes the document.
pub(super) fn write(document: &Document) -> String {
    let mut out = format!("# {}\n", escape(&document.title));
    for block in &document.blocks {
        out.push('\n');
        match block {
            Block::Section(title) => out += &format!("## {}\n", escape(title)),
            Block::Subsection(title) => out += &format!("### {}\n", escape(title)),
            Block::Paragraph(words) => out += &format!("{}\n", text(words)),
            Block::Banner(words) => out += &format!("> **Caution.** {}\n", text(words)),
            Block::List(items) => {
                for item in items {
                    out += &format!("* {}\n", text(item));
                }
            }
            Block::Table(rows) => out += &table(rows),
            Block::Chart(chart) => {
                out += &format!("*Chart in report.html: {}*\n", escape(chart.title()));
            }
        }
    }
    out
}

fn table(table: &Table) -> String {
    let columns = table.head.len();
    let mut out = String::new();
    if !table.caption.is_empty() {
        out += &format!("**{}**\n\n", escape(&table.caption));
    }
    out += &line(&table.head, columns);
    let rule = |i| if i == 0 || table.prose { " --- |" } else { " ---: |" };
    out += &format!("|{}\n", (0..columns).map(rule).collect::<String>());
    for row in &table.rows {
        match row {
            TableRow::Cells(cells) => out += &line(cells, columns),
            TableRow::Group(title) => {
                let title = Text::new().strong(plain(title));
                out += &line(&[title], columns);
            }
        }
    }
    let numbered = |(i, note)| format!("{} {}", superscript(i + 1), text(note));
    let notes: Vec<_> = table.notes.iter().enumerate().map(numbered).collect();
    if !notes.is_empty() {
        // A backslash before a line end breaks the line.
        out += &format!("\n{}\n", notes.join("\\\n"));
    }
    out
}

fn line(cells: &[Text], columns: usize) -> String {
    let mut out = String::from("|");
    for i in 0..columns {
        out += &format!(" {} |", cells.get(i).map(text).unwrap_or_default());
    }
    out + "\n"
}

fn text(text: &Text) -> String {
    text.0.iter().map(span).collect()
}

fn span(span: &Span) -> String {
    match span {
        Span::Plain(text) | Span::Absent(text) => escape(text),
        Span::Strong(text) => marked("**", text),
        Span::Emphasis(text) => marked("*", text),
        // A code span takes no escapes; what would end it or the cell is written as text.
        Span::Code(text) if text.is_empty() || text.contains(['`', '|', '\\']) => escape(text),
        Span::Code(text) => format!("`{text}`"),
        Span::Link { text, url } => format!("[{}](<{url}>)", escape(text)),
        Span::Note(number) => superscript(*number),
        Span::Break => "<br>".into(),
    }
}

fn marked(mark: &str, text: &str) -> String {
    let text = text.trim();
    if text.is_empty() { String::new() } else { format!("{mark}{}{mark}", escape(text)) }
}

/// The words without their marks.
pub(super) fn plain(text: &Text) -> String {
    let piece = |span: &Span| match span {
        Span::Plain(text) | Span::Strong(text) | Span::Emphasis(text) | Span::Code(text) => {
            text.clone()
        }
        Span::Link { text, .. } | Span::Absent(text) => text.clone(),
        Span::Note(_) => String::new(),
        Span::Break => " ".into(),
    };
    text.0.iter().map(piece).collect()
}

pub(super) fn superscript(number: usize) -> String {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    number.to_string().bytes().map(|digit| DIGITS[usize::from(digit - b'0')]).collect()
}

/// Takes away every meaning that Markdown or HTML gives to a character.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (i, c) in text.chars().enumerate() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' => {
                out.push('\\');
                out.push(c);
            }
            '#' | '+' | '-' | '=' if i == 0 => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_has_no_meaning() {
        assert_eq!(escape("<b>|`x`*_[a](b)&"), "&lt;b&gt;\\|\\`x\\`\\*\\_\\[a\\](b)&amp;");
        assert_eq!(escape("# a - b"), "\\# a - b");
        let code = |text: &str| span(&Span::Code(text.into()));
        assert_eq!((code("a-b").as_str(), code("a`|").as_str()), ("`a-b`", "a\\`\\|"));
    }

    #[test]
    fn notes_stand_below_their_table() {
        let mut table_of = Table::new("Sizes", &["row", "here"]);
        table_of.row(vec![Text::from("a").note(1), "1".into()]);
        table_of.notes = vec!["first".into(), "second".into()];
        assert_eq!(
            table(&table_of),
            "**Sizes**\n\n| row | here |\n| --- | ---: |\n| a¹ | 1 |\n\n¹ first\\\n² second\n"
        );
    }
}
