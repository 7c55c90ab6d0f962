//! Tests of the files in deploy/signer: they must match the metrics of the program.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use endseal_signer::Signer;
use endseal_store::KdfParams;
use endseal_testing::Scratch;
use serde_json::Value;

use crate::world::PASSPHRASE;

const PREFIX: &str = "endseal_signer_";

fn read(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/signer");
    fs::read_to_string(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Returns the metrics that a text names, each with the rest of the text behind it.
fn names(text: &str) -> impl Iterator<Item = (String, &str)> {
    text.split(PREFIX).skip(1).map(|rest| {
        let is_part = |c: char| c.is_ascii_lowercase() || c == '_';
        let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        (format!("{PREFIX}{}", &rest[..end]), &rest[end..])
    })
}

/// Returns the queries of the dashboard.
fn queries() -> Vec<String> {
    let dashboard: Value = serde_json::from_str(&read("grafana.json")).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let panels = dashboard["panels"].as_array().unwrap();
    let targets = panels.iter().flat_map(|it| it["targets"].as_array().unwrap());
    let variables = dashboard["templating"]["list"].as_array().unwrap();
    let queries: Vec<_> = targets.map(|it| text(&it["expr"])).collect();
    assert!(panels.len() >= 8 && queries.len() > panels.len());
    queries.into_iter().chain(variables.iter().map(|it| text(&it["query"]))).collect()
}

#[test]
fn dashboard_alerts_and_readme_name_metrics_that_exist() {
    let scratch = Scratch::new();
    let signer = Signer::init(&scratch.path("signer"), PASSPHRASE, KdfParams::MINIMUM).unwrap();
    let series = signer.metrics_text();
    let known: BTreeSet<_> = series
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.split(['{', ' ']).next().unwrap().to_owned())
        .collect();
    let queries = queries();
    let alerts = read("alerts.yml");
    let mut used = BTreeSet::new();
    for text in queries.iter().chain([&alerts]) {
        for (name, _) in names(text) {
            assert!(known.contains(&name), "{name} in {text}");
            used.insert(name);
        }
    }
    // Dashboards use a histogram through its buckets.
    let must = known.iter().filter(|it| !it.ends_with("_sum") && !it.ends_with("_count"));
    let unused: Vec<_> = must.filter(|name| !used.contains(*name)).collect();
    assert!(unused.is_empty(), "{unused:?}");
    // An alert on a label value that the signer never writes would never fire.
    for text in queries.iter().chain([&alerts]) {
        for (name, rest) in names(text) {
            let Some((labels, _)) = rest.strip_prefix('{').and_then(|it| it.split_once('}')) else {
                continue;
            };
            for pair in labels.split(',').filter(|it| !it.starts_with("instance")) {
                let (label, values) = pair.split_once('=').unwrap();
                for value in values.trim_matches(['~', '"']).split('|') {
                    let label = format!("{label}=\"{value}\"");
                    let has = |it: &str| it.starts_with(&name) && it.contains(&label);
                    assert!(series.lines().any(has), "{label}");
                }
            }
        }
    }
    for row in read("README.md").lines().filter_map(|it| it.strip_prefix("| `endseal_")) {
        let name = format!("endseal_{}", row.split('`').next().unwrap());
        assert!(known.iter().any(|it| it.starts_with(&name)), "{name}");
    }
}

#[test]
fn the_readme_says_what_to_do_at_every_alert() {
    let (alerts, readme) = (read("alerts.yml"), read("README.md"));
    let alerts: Vec<_> =
        alerts.lines().filter_map(|it| it.trim().strip_prefix("- alert: ")).collect();
    assert!(alerts.len() >= 8);
    for alert in alerts {
        assert!(readme.contains(&format!("`{alert}`")), "{alert}");
    }
}
