//! The tables of a report as CSV (RFC 4180): one file for all, each table under a line with its
//! caption.

use super::document::{Block, Document, Span, TableRow, Text};

/// Writes all tables: `section,caption,row,column,value`, so that a data frame reads it at once.
pub(super) fn write(document: &Document) -> String {
    let mut out = String::from("section,table,group,row,column,value\r\n");
    let mut section = String::new();
    let mut numbered = 0;
    for block in &document.blocks {
        match block {
            Block::Section(title) => section.clone_from(title),
            Block::Table(table) => {
                numbered += 1;
                let caption = match &*table.caption {
                    "" => format!("table {numbered}"),
                    caption => caption.to_owned(),
                };
                let mut group = String::new();
                for row in &table.rows {
                    match row {
                        TableRow::Group(title) => group = plain(title),
                        TableRow::Cells(cells) => {
                            let Some((name, rest)) = cells.split_first() else { continue };
                            for (cell, head) in rest.iter().zip(table.head.iter().skip(1)) {
                                let name = plain(name);
                                let (head, cell) = (plain(head), plain(cell));
                                line(&mut out, &[&section, &caption, &group, &name, &head, &cell]);
                            }
                        }
                    }
                }
            }
            _ => {}
        }
    }
    out
}

fn plain(text: &Text) -> String {
    let mut out = String::new();
    for span in &text.0 {
        match span {
            Span::Plain(text) | Span::Strong(text) | Span::Emphasis(text) | Span::Code(text) => {
                out.push_str(text);
            }
            Span::Link { text, .. } => out.push_str(text),
            Span::Break => out.push_str("; "),
            Span::Note(_) | Span::Absent(_) => {}
        }
    }
    out
}

fn line(out: &mut String, fields: &[&str]) {
    for (i, field) in fields.iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        // A spreadsheet takes a leading sign for a formula.
        let formula = field.starts_with(['=', '+', '-', '@']) && field.parse::<f64>().is_err();
        let field = if formula { format!("'{field}") } else { (*field).to_owned() };
        if field.contains([',', '"', '\r', '\n']) {
            out.push('"');
            out.push_str(&field.replace('"', "\"\""));
            out.push('"');
        } else {
            out.push_str(&field);
        }
    }
    out.push_str("\r\n");
}

#[cfg(test)]
mod tests {
    use super::super::document::Table;
    use super::*;

    #[test]
    fn every_cell_is_a_line_and_nothing_is_a_formula() {
        let mut document = Document::default();
        document.section("Sizes, all");
        let mut table = Table::new("T", &["Subject", "bytes"]);
        table.group("G");
        table.row(vec!["=cmd()".into(), "8,472 B".into()]);
        document.table(table);
        let expected = "section,table,group,row,column,value\r\n\
                        \"Sizes, all\",T,G,'=cmd(),bytes,\"8,472 B\"\r\n";
        assert_eq!(write(&document), expected);
    }
}
