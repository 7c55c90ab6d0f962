//! The table of README.md, from `data/readme.toml`, in one notation.

use serde::Deserialize;

use super::expression::Expression;
use super::figures::Figures;
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
    value: Expression,
    beside: Vec<Peer>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Peer {
    subject: String,
    #[serde(rename = "as")]
    name: String,
}

/// The table as Markdown, each peer with the factor by which its cost is endseal's.
pub(super) fn write(figures: &Figures<'_>) -> String {
    let mut out =
        String::from("| work | endseal | beside, with its cost in endseal's |\n|---|---|---|\n");
    let content: Result<Content, _> = toml::from_str(include_str!("../../data/readme.toml"));
    for row in content.map(|content| content.rows).unwrap_or_default() {
        let scope = |subject: Option<&str>| Scope {
            suite: row.suite.clone(),
            subject: subject.map(str::to_owned),
            ..Scope::default()
        };
        let of = |subject| row.value.value(&scope(subject), figures);
        let Some(ours) = of(None) else { continue };
        let paired = |peer: &Peer| {
            let figure = row.value.figure().filter(|figure| figure.metric == "time")?;
            let factor = figures.factor(
                &scope(None).case_of(figure)?,
                super::figures::OURS,
                &peer.subject,
            )?;
            Some(factor.median)
        };
        let beside: Vec<String> = row
            .beside
            .iter()
            .filter_map(|peer| {
                let theirs = of(Some(&peer.subject))?;
                let factor = paired(peer).unwrap_or(theirs.number / ours.number);
                Some(format!("{} {}", peer.name, words::factor(factor, None)))
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

    #[test]
    fn its_data_is_sound() {
        let content: Content = toml::from_str(include_str!("../../data/readme.toml")).unwrap();
        assert!(content.rows.iter().all(|row| crate::suite::Suite::find(&row.suite).is_some()));
    }
}
