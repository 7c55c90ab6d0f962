//! Writes the table of README.md as `data/readme.toml` specifies it.

use serde::Deserialize;

use super::expression::Expression;
use super::figures::{Figures, OURS, is_floor};
use super::value::Scope;
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
    value: Expression,
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

/// Formats the differences of a peer in brackets, from the properties that it declared in the run.
fn remarks(figures: &Figures<'_>, row: &Row, scope: &Scope, peer: &Peer) -> String {
    let protected = row
        .value
        .figures()
        .first()
        .and_then(|it| scope.case_of(it))
        .is_some_and(|case| figures.protects(&case));
    let has = |subject: &str, property: &str| {
        let info = figures.info_in(&row.suite, subject);
        info.is_some_and(|info| info.properties.iter().any(|it| it == property))
    };
    let lacking = LACKING.iter().filter(|(property, _)| {
        protected
            && !is_floor(&row.suite, &peer.subject)
            && has(&row.subject, property)
            && !has(&peer.subject, property)
    });
    let versions = figures.info_in(&row.suite, &peer.subject).map(|info| info.versions.values());
    let versions =
        versions.into_iter().flatten().filter(|_| peer.version).map(|it| words::tame(it));
    let lacking = lacking.map(|(_, remark)| (*remark).to_owned());
    let remarks: Vec<String> = lacking.chain(peer.note.clone()).chain(versions).collect();
    if remarks.is_empty() { String::new() } else { format!(" ({})", remarks.join(", ")) }
}

/// Factors below this value are printed as less than 1.
const BELOW: f64 = 0.995;

/// Writes the table as Markdown. Each peer has its cost divided by endseal's, in bold if endseal
/// costs more.
pub(super) fn write(figures: &Figures<'_>) -> String {
    let mut out = String::from(
        "| work | endseal | other programs, with their cost divided by endseal's |\n|---|---|---|\n",
    );
    let content: Result<Content, _> = toml::from_str(include_str!("../../data/readme.toml"));
    for row in content.map(|content| content.rows).unwrap_or_default() {
        let scope = |subject: Option<&str>| Scope {
            suite: row.suite.clone(),
            subject: Some(subject.unwrap_or(&row.subject).to_owned()),
            ..Scope::default()
        };
        let of = |subject| row.value.value(&scope(subject), figures);
        let Some(ours) = of(None) else { continue };
        let paired = |peer: &Peer| {
            let figure = row.value.figure().filter(|figure| figure.metric == "time")?;
            let factor =
                figures.factor(&scope(None).case_of(figure)?, &row.subject, &peer.subject)?;
            Some(factor.median)
        };
        let beside: Vec<String> = row
            .beside
            .iter()
            .filter_map(|peer| {
                let theirs = of(Some(&peer.subject))?;
                let factor = paired(peer).unwrap_or(theirs.number / ours.number);
                let remarks = remarks(figures, &row, &scope(None), peer);
                let factor = match words::factor(factor, None) {
                    text if factor < BELOW => format!("**{text}**"),
                    text => text,
                };
                Some(format!("{}{remarks} {factor}", peer.name))
            })
            .collect();
        out += &format!("| {} | {} | {} |\n", row.work, ours.text(), beside.join(", "));
    }
    let record = figures.record;
    let environment = &record.environment;
    let date = words::date(environment.started);
    out += &format!(
        "\nMeasured on {}, in the extent \"{}\", on {} of {}.\n",
        date.split(' ').next().unwrap_or_default(),
        record.extent,
        words::plural(environment.cpus, "core"),
        words::tame(&environment.cpu),
    );
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Record, Row as RecordRow, SubjectInfo};

    #[test]
    fn remarks_follow_from_what_the_peers_declared() {
        let table = |quinn: &[&str]| {
            let mut record = Record::default();
            for (subject, properties) in [("endseal", &["post-quantum"][..]), ("quinn", quinn)] {
                record.rows.push(RecordRow {
                    suite: "transport".into(),
                    case: "echo".into(),
                    params: [("bytes".to_owned(), 8192)].into(),
                    subject: subject.into(),
                    metric: "time".into(),
                    unit: "ns".into(),
                    median: 100.0,
                    ..RecordRow::default()
                });
                record.subjects.push(SubjectInfo {
                    subject: subject.into(),
                    properties: properties.iter().map(|it| (*it).to_owned()).collect(),
                    ..SubjectInfo::default()
                });
            }
            write(&Figures::new(&record, Vec::new()))
        };
        assert!(table(&["sender"]).contains("plain quinn (classical keys) 1.00×"));
        assert!(table(&["post-quantum"]).contains("plain quinn 1.00×"));
    }

    #[test]
    fn a_factor_is_bold_where_endseal_costs_more() {
        let table = |quinn: f64| {
            let row = |subject: &str, median: f64| RecordRow {
                suite: "transport".into(),
                case: "echo".into(),
                params: [("bytes".to_owned(), 8192)].into(),
                subject: subject.into(),
                metric: "time".into(),
                unit: "ns".into(),
                median,
                ..RecordRow::default()
            };
            let rows = vec![row("endseal", 100.0), row("quinn", quinn)];
            write(&Figures::new(&Record { rows, ..Record::default() }, Vec::new()))
        };
        assert!(table(50.0).contains("plain quinn **0.50×**"), "{}", table(50.0));
        assert!(table(200.0).contains("plain quinn 2.00×"));
    }

    /// The two peers differ only in the handshake: the table must have both or neither.
    #[test]
    fn both_forms_of_tls_over_tcp_are_printed() {
        let content: Content = toml::from_str(include_str!("../../data/readme.toml")).unwrap();
        for row in &content.rows {
            let has = |name: &str| row.beside.iter().any(|peer| peer.subject == name);
            assert_eq!(has("tcp-tls"), has("tcp-tls-pq"), "{}", row.work);
        }
    }

    #[test]
    fn remarks_are_not_written_by_hand() {
        let content: Content = toml::from_str(include_str!("../../data/readme.toml")).unwrap();
        for peer in content.rows.iter().flat_map(|row| &row.beside) {
            let by_hand = format!("{} {}", peer.name, peer.note.as_deref().unwrap_or_default());
            let found = LACKING.iter().find(|(_, remark)| by_hand.contains(remark));
            assert!(found.is_none(), "{by_hand}");
        }
    }

    #[test]
    fn its_data_is_sound() {
        let content: Content = toml::from_str(include_str!("../../data/readme.toml")).unwrap();
        assert!(content.rows.iter().all(|row| crate::suite::Suite::find(&row.suite).is_some()));
    }
}
