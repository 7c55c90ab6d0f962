//! The files of `deploy/signer` name commands and options of this program, which must exist.

use core::net::SocketAddr;
use std::collections::BTreeMap;

use crate::people::{program, run};

const UNIT: &str = include_str!("../../../../deploy/signer/endseal-signer.service");
const PROMETHEUS: &str = include_str!("../../../../deploy/signer/prometheus.yml");
const README: &str = include_str!("../../../../deploy/signer/README.md");

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

/// Returns the signer commands with their options, in the blocks and in the text of the README.
fn commands() -> Vec<&'static str> {
    let mut commands = Vec::new();
    for (i, part) in README.split("\n```").enumerate() {
        match i % 2 {
            0 => commands.extend(part.split('`').skip(1).step_by(2)),
            _ => commands.extend(part.lines()),
        }
    }
    // Lines with `$@` define the shell function that runs the commands.
    let is_command = |it: &&str| it.split(' ').any(|it| it == "signer") && !it.contains("$@");
    commands.into_iter().filter(is_command).collect()
}

#[test]
fn the_unit_and_the_readme_name_commands_and_options_that_exist() {
    let mut helps = BTreeMap::new();
    let commands = commands();
    assert!(commands.len() >= 12, "{commands:?}");
    for command in commands.into_iter().chain([entry("ExecStart")]) {
        let mut words = command.split(' ').skip_while(|word| *word != "signer");
        let Some(name) = words.nth(1) else { continue };
        let help = helps.entry(name).or_insert_with(|| {
            run(program().args(["signer", name, "--help"])).ok().text().to_owned()
        });
        for option in command.split(' ').filter(|word| word.starts_with("--")) {
            let is_named = |line: &str| line.trim_start().starts_with(option);
            assert!(help.lines().any(is_named), "{option} in {command}");
        }
    }
    // Options that the text explains without naming their command.
    for option in README.split("`--").skip(1).filter_map(|rest| rest.split(['`', ' ']).next()) {
        let option = format!("--{option}");
        let is_named = |help: &String| help.contains(&option);
        assert!(helps.values().any(is_named), "{option}");
    }
}

#[test]
fn the_entries_of_the_unit_fit_to_each_other() {
    let state = format!("/var/lib/{}", entry("StateDirectory"));
    assert_eq!(option("--home"), state);
    assert_eq!(entry("StateDirectoryMode"), "0700");
    let (secret, file) = entry("LoadCredential").split_once(':').unwrap();
    assert_eq!(option("--passphrase-file"), format!("%d/{secret}"));
    for file in [file, &state] {
        assert!(README.contains(file), "{file}");
    }
    let address: SocketAddr = option("--listen").parse().unwrap();
    assert!(address.ip().is_loopback() && PROMETHEUS.contains(&format!("[\"{address}\"]")));
}
