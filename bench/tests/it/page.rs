//! The page of a report as lines: one for each heading, paragraph, item or table row.

use endseal_bench::record::Record;
use endseal_bench::report::html;

/// Returns the text of the page. Cells are between bars, strong text between two stars and emphasis
/// between one; characters stay escaped.
pub(crate) fn words(record: &Record) -> String {
    // The page keeps a number and its unit on one line by a non-breaking space.
    let page = html(record).replace('\u{a0}', " ");
    let mut out = String::new();
    let mut rest = &page[page.find("<body>").unwrap()..];
    while let Some((before, after)) = rest.split_once('<') {
        out += before.trim_matches('\n');
        let (tag, after) = after.split_once('>').unwrap();
        rest = after;
        let name = tag.split(' ').next().unwrap();
        out += match name {
            "h2" => "\n\n## ",
            "h3" => "\n\n### ",
            "table" | "/table" | "/ul" | "/ol" | "/h2" | "/h3" => "\n\n",
            "p" | "li" | "figcaption" | "caption" => "\n",
            "/figcaption" | "/caption" => "\n\n",
            "tr" => "\n|",
            "th" | "td" => " ",
            "/th" | "/td" => " |",
            "strong" | "/strong" => "**",
            "em" | "/em" => "*",
            "br" => "<br>",
            _ => "",
        };
        if name == "sup" {
            let (number, after) = rest.split_once("</sup>").unwrap();
            let digits = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
            out.extend(number.bytes().map(|digit| digits[usize::from(digit - b'0')]));
            rest = after;
        }
        if name == "svg" {
            rest = rest.split_once("</svg>").unwrap().1;
        }
    }
    out
}

/// Returns the tables of such a page. The first line of each is its head.
pub(crate) fn tables(page: &str) -> Vec<&str> {
    let tables: Vec<&str> =
        page.split("\n\n").map(str::trim).filter(|block| block.starts_with('|')).collect();
    assert!(tables.len() > 1, "the page has tables");
    tables
}
