//! The content of a report, independent of its format.

use super::chart::Chart;
use crate::words;

/// A whole report as a list of blocks.
#[derive(Debug, Default)]
pub(crate) struct Document {
    pub(crate) title: String,
    pub(crate) blocks: Vec<Block>,
}

/// One element of a report.
#[derive(Debug)]
pub(crate) enum Block {
    /// Title of a section.
    Section(String),
    /// Title of a subsection.
    Subsection(String),
    Paragraph(Text),
    List(Vec<Text>),
    /// Warning that applies to the figures below.
    Banner(Text),
    Table(Table),
    Chart(Chart),
}

/// A table. The first cell of a row names the row.
#[derive(Debug, Default)]
pub(crate) struct Table {
    pub(crate) caption: String,
    pub(crate) head: Vec<Text>,
    pub(crate) rows: Vec<TableRow>,
    /// Footnotes, numbered from 1 in this order.
    pub(crate) notes: Vec<Text>,
    /// True if all columns are text; otherwise all columns but the first hold figures.
    pub(crate) prose: bool,
}

/// A row of a table, or a heading within it.
#[derive(Debug)]
pub(crate) enum TableRow {
    Cells(Vec<Text>),
    /// A heading across all columns.
    Group(Text),
}

/// Text with marks. It is not escaped; the writer of a format does that.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Text(pub(crate) Vec<Span>);

/// A piece of text with one mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Span {
    Plain(String),
    Strong(String),
    Emphasis(String),
    Code(String),
    Link {
        text: String,
        url: String,
    },
    /// Reference to a footnote of the table.
    Note(usize),
    /// Placeholder for a missing figure, with the reason.
    Absent(String),
    /// Line break within a cell.
    Break,
}

impl Text {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn say(mut self, text: impl AsRef<str>) -> Self {
        self.0.push(Span::Plain(words::tame(text.as_ref())));
        self
    }

    pub(crate) fn strong(mut self, text: impl AsRef<str>) -> Self {
        self.0.push(Span::Strong(words::tame(text.as_ref())));
        self
    }

    pub(crate) fn emphasis(mut self, text: impl AsRef<str>) -> Self {
        self.0.push(Span::Emphasis(words::tame(text.as_ref())));
        self
    }

    pub(crate) fn code(mut self, text: impl AsRef<str>) -> Self {
        self.0.push(Span::Code(words::tame(text.as_ref())));
        self
    }

    /// Returns the text of a cell that has no figure.
    pub(crate) fn not_measured() -> Self {
        Self::absent("not measured in this run")
    }

    /// Returns the text of a cell that can have no figure, with the reason.
    pub(crate) fn absent(why: &str) -> Self {
        Self(vec![Span::Absent(words::tame(why))])
    }

    pub(crate) fn line_break(mut self) -> Self {
        self.0.push(Span::Break);
        self
    }

    pub(crate) fn note(mut self, number: usize) -> Self {
        self.0.push(Span::Note(number));
        self
    }

    /// Adds a link if its URL is an `https` URL of harmless characters, otherwise the text alone.
    pub(crate) fn link(mut self, text: impl AsRef<str>, url: &str) -> Self {
        let rest = url.strip_prefix("https://").unwrap_or_default();
        let safe = |c: char| c.is_ascii_alphanumeric() || "-._~/?#=&%+@:,".contains(c);
        if !rest.is_empty() && rest.len() < 300 && rest.chars().all(safe) {
            self.0.push(Span::Link { text: words::tame(text.as_ref()), url: url.to_owned() });
            return self;
        }
        self.say(text)
    }

    /// Returns the text without its marks.
    pub(crate) fn plain(&self) -> String {
        let piece = |span: &Span| match span {
            Span::Plain(text) | Span::Strong(text) | Span::Emphasis(text) | Span::Code(text) => {
                text.clone()
            }
            Span::Link { text, .. } | Span::Absent(text) => text.clone(),
            Span::Note(_) => String::new(),
            Span::Break => " ".into(),
        };
        self.0.iter().map(piece).collect()
    }

    pub(crate) fn join(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self::new().say(text)
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self::new().say(text)
    }
}

impl Document {
    pub(crate) fn section(&mut self, title: impl Into<String>) {
        self.blocks.push(Block::Section(title.into()));
    }

    pub(crate) fn subsection(&mut self, title: impl Into<String>) {
        self.blocks.push(Block::Subsection(words::tame(&title.into())));
    }

    pub(crate) fn paragraph(&mut self, text: impl Into<Text>) {
        self.blocks.push(Block::Paragraph(text.into()));
    }

    pub(crate) fn list(&mut self, items: Vec<Text>) {
        if !items.is_empty() {
            self.blocks.push(Block::List(items));
        }
    }

    pub(crate) fn banner(&mut self, text: impl Into<Text>) {
        self.blocks.push(Block::Banner(text.into()));
    }

    pub(crate) fn table(&mut self, table: Table) {
        if !table.rows.is_empty() {
            self.blocks.push(Block::Table(table));
        }
    }

    pub(crate) fn chart(&mut self, chart: Option<Chart>) {
        self.blocks.extend(chart.map(Block::Chart));
    }
}

impl Table {
    pub(crate) fn new(caption: impl AsRef<str>, head: &[&str]) -> Self {
        Self {
            caption: words::tame(caption.as_ref()),
            head: head.iter().map(|cell| Text::from(*cell)).collect(),
            ..Self::default()
        }
    }

    pub(crate) fn row(&mut self, cells: Vec<Text>) {
        self.rows.push(TableRow::Cells(cells));
    }

    pub(crate) fn group(&mut self, title: impl Into<Text>) {
        self.rows.push(TableRow::Group(title.into()));
    }
}
