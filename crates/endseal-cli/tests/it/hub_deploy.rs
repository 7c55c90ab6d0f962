//! The files of `deploy/hub` name metrics, commands and options of a hub, which must exist.

use core::net::SocketAddr;
use std::collections::{BTreeMap, BTreeSet};

use endseal_testing::Scratch;
use serde_json::Value;

use crate::hub::page;
use crate::listener::Listener;
use crate::people::{Person, program, run};

const UNIT: &str = include_str!("../../../../deploy/hub/endseal-hub.service");
const PROMETHEUS: &str = include_str!("../../../../deploy/hub/prometheus.yml");
const ALERTS: &str = include_str!("../../../../deploy/hub/alerts.yml");
const DASHBOARD: &str = include_str!("../../../../deploy/hub/grafana.json");
const README: &str = include_str!("../../../../deploy/hub/README.md");

/// Returns the metrics that a text names, and the rest of the text after each.
fn names(text: &str) -> Vec<(String, &str)> {
    let mut found = Vec::new();
    for prefix in ["endseal_hub_", "endseal_transport_"] {
        found.extend(text.split(prefix).skip(1).map(|rest| {
            let is_part = |c: char| c.is_ascii_lowercase() || c == '_';
            let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
            (format!("{prefix}{}", &rest[..end]), &rest[end..])
        }));
    }
    found
}

/// Returns the queries of the dashboard.
fn queries() -> Vec<String> {
    let dashboard: Value = serde_json::from_str(DASHBOARD).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let panels = dashboard["panels"].as_array().unwrap();
    let targets = panels.iter().flat_map(|it| it["targets"].as_array().unwrap());
    let variables = dashboard["templating"]["list"].as_array().unwrap();
    let queries: Vec<_> = targets.map(|it| text(&it["expr"])).collect();
    assert!(panels.len() >= 8 && queries.len() > panels.len());
    queries.into_iter().chain(variables.iter().map(|it| text(&it["query"]))).collect()
}

/// Returns the metrics page of a running hub.
fn series() -> String {
    let scratch = Scratch::new();
    let owner = Person { name: "owner", scratch: &scratch };
    let serve = ["hub", "serve", "--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0"];
    let mut hub = Listener::of(owner.command(&serve));
    page(hub.line().strip_prefix("metrics at ").unwrap())
}

#[test]
fn dashboard_alerts_and_readme_name_metrics_of_a_hub() {
    let series = series();
    let lines = series.lines().filter(|line| line.starts_with("endseal_"));
    let known = lines.map(|line| line.split(['{', ' ']).next().unwrap().to_owned());
    let known: BTreeSet<_> = known.collect();
    let mut texts = queries();
    texts.push(ALERTS.to_owned());
    let mut used = BTreeSet::new();
    for text in &texts {
        for (name, rest) in names(text) {
            assert!(known.contains(&name), "{name} in {text}");
            // An alert on a label value that a hub never writes would never fire.
            let labels = rest.strip_prefix('{').and_then(|it| it.split_once('}'));
            let pairs = labels.iter().flat_map(|(labels, _)| labels.split(','));
            for pair in pairs.filter(|it| !it.starts_with("instance")) {
                let (label, values) = pair.split_once('=').unwrap();
                for value in values.trim_matches(['~', '"']).split('|') {
                    let label = format!("{label}=\"{value}\"");
                    let has = |it: &str| it.starts_with(&name) && it.contains(&label);
                    assert!(series.lines().any(has), "{label}");
                }
            }
            used.insert(name);
        }
    }
    // A histogram is used through its buckets.
    let must = known.iter().filter(|it| it.starts_with("endseal_hub_"));
    let must = must.filter(|it| !it.ends_with("_sum") && !it.ends_with("_count"));
    let unused: Vec<_> = must.filter(|name| !used.contains(*name)).collect();
    assert!(unused.is_empty(), "{unused:?}");
    for row in README.lines().filter(|it| it.starts_with("| `endseal_")) {
        let cell = row.split('|').nth(1).unwrap();
        for name in cell.split('`').skip(1).step_by(2) {
            assert!(known.iter().any(|it| it.starts_with(name)), "{name}");
        }
    }
}

#[test]
fn the_readme_says_what_to_do_at_every_alert() {
    let alerts = ALERTS.lines().filter_map(|it| it.trim().strip_prefix("- alert: "));
    assert!(alerts.clone().count() >= 8);
    for alert in alerts {
        assert!(README.contains(&format!("`{alert}`")), "{alert}");
    }
}

/// Returns the value of an entry of the unit.
fn entry(name: &str) -> &str {
    let value = UNIT.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
    value.unwrap_or_else(|| panic!("no {name}"))
}

/// Returns the value of an option of the program that the unit starts.
fn option(name: &str) -> &str {
    let mut words = entry("ExecStart").split(' ').skip_while(|word| *word != name);
    words.nth(1).unwrap_or_else(|| panic!("no {name}"))
}

#[test]
fn unit_and_readme_name_commands_and_options_that_exist() {
    let mut commands = vec![entry("ExecStart")];
    for (number, part) in README.split("\n```").enumerate() {
        match number % 2 {
            0 => commands.extend(part.split('`').skip(1).step_by(2)),
            _ => commands.extend(part.lines()),
        }
    }
    // Lines with `$@` define the shell function that runs the commands; PostgreSQL's user is `hub`.
    let is_other = |it: &str| it.contains("$@") || it.contains("pg_");
    commands.retain(|it| it.split(' ').any(|word| word == "hub") && !is_other(it));
    assert!(commands.len() >= 8, "{commands:?}");
    let mut helps = BTreeMap::new();
    for command in commands {
        let mut words = command.split(' ').skip_while(|word| *word != "hub").skip(1);
        let name = words.next().unwrap();
        let help = helps
            .entry(name)
            .or_insert_with(|| run(program().args(["hub", name, "--help"])).ok().text().to_owned());
        for option in command.split(' ').filter(|word| word.starts_with("--")) {
            let is_named = |line: &str| line.trim_start().starts_with(option);
            assert!(help.lines().any(is_named), "{option} in {command}");
        }
    }
    // Options that the text explains without naming their command.
    for option in README.split("`--").skip(1).filter_map(|rest| rest.split(['`', ' ']).next()) {
        let option = format!("--{option}");
        assert!(helps.values().any(|help| help.contains(&option)), "{option}");
    }
}

#[test]
fn entries_of_the_unit_fit_to_each_other_and_to_the_readme() {
    let state = format!("/var/lib/{}", entry("StateDirectory"));
    assert_eq!(option("--home"), state);
    assert_eq!(entry("StateDirectoryMode"), "0700");
    assert!(README.contains(&state));
    let address: SocketAddr = option("--metrics").parse().unwrap();
    assert!(address.ip().is_loopback() && PROMETHEUS.contains(&format!("[\"{address}\"]")));
    assert!(README.contains(&format!("http://{address}/healthz")));
    let nodes: SocketAddr = option("--listen").parse().unwrap();
    assert!(README.contains(&format!("UDP port {}", nodes.port())));
}
