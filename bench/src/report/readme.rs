//! Writes the table of README.md as `data/readme.toml` specifies it.

use serde::Deserialize;

use super::figures::{Figure, Figures, is_floor, row_text};
use crate::case::{Case, OURS};
use crate::words;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    #[serde(rename = "row")]
    rows: Vec<Row>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    work: String,
    suite: String,
    /// Name of our subject, if it is not the default one.
    #[serde(default = "ours")]
    subject: String,
    /// The figure, such as `seal.size members=100`.
    of: String,
    beside: Vec<Peer>,
}

fn ours() -> String {
    OURS.into()
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Peer {
    subject: String,
    #[serde(rename = "as")]
    name: String,
    /// A difference that is not a property of docs/spec/bench-peer.md.
    note: Option<String>,
    /// True if the measured version is printed.
    #[serde(default)]
    version: bool,
}

/// Properties of endseal, each with the remark for a peer that lacks it.
const LACKING: [(&str, &str); 3] = [
    ("insider", "unsigned"),
    ("post-quantum", "classical keys"),
    ("authenticated", "not authenticated"),
];

/// Factors below this value are printed as less than 1.
const BELOW: f64 = 0.995;

/// Formats the differences of a peer in brackets, from the properties that it declared in the run.
fn remarks(figures: &Figures<'_>, row: &Row, case: &Case, peer: &Peer) -> String {
    let has = |subject: &str, property: &str| {
        let info = figures.info_in(&row.suite, subject);
        info.is_some_and(|info| info.properties.iter().any(|it| it == property))
    };
    let compared = figures.protects(case) && !is_floor(&row.suite, &peer.subject);
    let lacking = LACKING.iter().filter(|(property, _)| {
        compared && has(&row.subject, property) && !has(&peer.subject, property)
    });
    let versions = figures.info_in(&row.suite, &peer.subject).map(|info| info.versions.values());
    let versions = versions.into_iter().flatten().filter(|_| peer.version);
    let remarks: Vec<String> = lacking
        .map(|(_, remark)| (*remark).to_owned())
        .chain(peer.note.clone())
        .chain(versions.map(|it| words::tame(it)))
        .collect();
    if remarks.is_empty() { String::new() } else { format!(" ({})", remarks.join(", ")) }
}

/// Writes the table as Markdown. Each peer has its cost divided by endseal's, in bold if endseal
/// costs more.
pub(super) fn write(figures: &Figures<'_>) -> String {
    let mut out = String::from(
        "| work | endseal | other programs, with their cost divided by endseal's |\n|---|---|---|\n",
    );
    let content: Result<Content, _> = toml::from_str(include_str!("../../data/readme.toml"));
    for row in content.map(|content| content.rows).unwrap_or_default() {
        let Figure { case, metric } = Figure::read(&row.suite, &row.of);
        let Some(ours) = figures.row(&case, &row.subject, &metric) else { continue };
        let beside: Vec<String> = row
            .beside
            .iter()
            .filter_map(|peer| {
                let factor = figures.better(&case, &metric, &row.subject, &peer.subject)?.median;
                let remarks = remarks(figures, &row, &case, peer);
                let factor = match words::factor(factor, None) {
                    text if factor < BELOW => format!("**{text}**"),
                    text => text,
                };
                Some(format!("{}{remarks} {factor}", peer.name))
            })
            .collect();
        out += &format!("| {} | {} | {} |\n", row.work, row_text(ours), beside.join(", "));
    }
    let environment = &figures.record.environment;
    let date = words::date(environment.started);
    out += &format!(
        "\nMeasured on {}, in the extent \"{}\", on {} of {}.\n",
        date.split(' ').next().unwrap_or_default(),
        figures.record.extent,
        words::plural(environment.cpus, "core"),
        words::tame(&environment.cpu),
    );
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Record, Row as RecordRow, SubjectInfo};

    fn table(quinn: f64, properties: &[&str]) -> String {
        let mut record = Record::default();
        let both = [("endseal", 100.0, &["post-quantum"][..]), ("quinn", quinn, properties)];
        for (subject, median, properties) in both {
            record.rows.push(RecordRow {
                case: Case::read("transport", "echo bytes=8K"),
                subject: subject.into(),
                metric: "time".into(),
                unit: "ns".into(),
                median,
                ..RecordRow::default()
            });
            let properties = properties.iter().map(|it| (*it).to_owned()).collect();
            let subject = subject.into();
            record.subjects.push(SubjectInfo { subject, properties, ..SubjectInfo::default() });
        }
        write(&Figures::new(&record))
    }

    #[test]
    fn a_factor_has_its_remarks_and_is_bold_where_endseal_costs_more() {
        assert!(table(100.0, &["sender"]).contains("plain quinn (classical keys) 1.00×"));
        assert!(table(50.0, &["post-quantum"]).contains("plain quinn **0.50×**"));
    }

    /// The two peers differ only in the handshake: the table must have both or neither.
    #[test]
    fn both_forms_of_tls_over_tcp_are_printed_and_suites_exist() {
        let content: Content = toml::from_str(include_str!("../../data/readme.toml")).unwrap();
        for row in &content.rows {
            let has = |name: &str| row.beside.iter().any(|peer| peer.subject == name);
            assert_eq!(has("tcp-tls"), has("tcp-tls-pq"), "{}", row.work);
            assert!(crate::suite::Suite::find(&row.suite).is_some(), "{}", row.work);
        }
    }
}
