//! Conventions that all commands follow, tested on the tree of commands.

use std::collections::BTreeMap;

use clap::{Arg, Command};

use crate::args;
use crate::tree;

/// Calls `check` with each visible command and its full name.
fn each(command: &Command, name: &str, check: &mut impl FnMut(&str, &Command)) {
    check(name, command);
    for below in command.get_subcommands().filter(|it| !it.is_hide_set() && !is_help(it)) {
        let name = format!("{name} {}", below.get_name());
        each(below, name.trim_start(), check);
    }
}

fn all() -> Command {
    tree::set(args::tree);
    tree::all()
}

fn is_help(command: &Command) -> bool {
    command.get_name() == "help"
}

fn each_argument(check: &mut impl FnMut(&str, &Arg)) {
    each(&all(), "", &mut |name, command| {
        for argument in command.get_arguments() {
            check(name, argument);
        }
    });
}

/// Returns the value name of an option that takes a value.
fn value_name(argument: &Arg) -> Option<String> {
    argument.get_action().takes_values().then(|| {
        argument.get_value_names().unwrap_or_default().iter().map(ToString::to_string).collect()
    })
}

#[test]
fn one_thing_has_one_name() {
    let (mut forms, mut shorts) = (BTreeMap::new(), BTreeMap::new());
    let mut wrong = Vec::new();
    each_argument(&mut |command, argument| {
        let Some(long) = argument.get_long() else { return };
        let value = value_name(argument);
        let expected = match value.as_deref() {
            Some("IP:PORT") => &["listen", "metrics", "page", "proxy"][..],
            Some("DIR") => &["home", "dir"],
            _ => &[],
        };
        if !expected.is_empty() && !expected.contains(&long) {
            wrong.push(format!("{command} --{long}: {expected:?}"));
        }
        let form = (argument.get_short(), value.is_some());
        if *forms.entry(long.to_owned()).or_insert(form) != form {
            wrong.push(format!("{command} --{long}: another form elsewhere"));
        }
        if let Some(short) = argument.get_short() {
            let first = shorts.entry(short).or_insert_with(|| long.to_owned());
            if first != long {
                wrong.push(format!("{command} -{short}: --{long} and --{first}"));
            }
        }
        if ["address", "folder", "messages", "out"].contains(&long) {
            wrong.push(format!("{command} --{long}: another word elsewhere"));
        }
    });
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn durations_have_one_syntax() {
    let (mut wrong, mut count) = (Vec::new(), 0);
    each_argument(&mut |command, argument| {
        let Some(long) = argument.get_long() else { return };
        if value_name(argument).is_some_and(|name| ["SECONDS", "DAYS"].contains(&&*name)) {
            wrong.push(format!("{command} --{long}: not TIME"));
        }
        let is_time = ["wait", "idle", "timeout", "older-than", "days"].contains(&long);
        if !is_time && value_name(argument).as_deref() != Some("TIME") {
            return;
        }
        count += 1;
        let parse = |typed: &str| {
            let alone = Command::new("alone").arg(argument.clone());
            alone.try_get_matches_from(["alone", &format!("--{long}={typed}")])
        };
        if let Err(error) = parse("600s") {
            // The range of this option is longer.
            let error = error.to_string();
            if !error.contains("expected 1d to") {
                wrong.push(format!("{command} --{long}: {error}"));
            }
        }
        match parse("10").map_err(|error| error.to_string()) {
            Err(error) if error.contains("expected a number and s, m, h, d or w") => {}
            other => wrong.push(format!("{command} --{long}: {other:?}")),
        }
    });
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(count >= 8, "{count}");
}

#[test]
fn short_help_is_one_line() {
    const WIDEST: usize = 80;
    let mut wrong = Vec::new();
    let mut check = |name: &str, help: Option<String>| {
        let help = help.unwrap_or_default();
        if help.is_empty() || help.contains('\n') || help.chars().count() > WIDEST {
            wrong.push(format!("{name}: {} characters: {help}", help.chars().count()));
        }
    };
    each(&all(), "", &mut |name, command| {
        check(name, command.get_about().map(ToString::to_string));
        for argument in command.get_arguments() {
            let help = argument.get_help().map(ToString::to_string);
            check(&format!("{name} {}", argument.get_id()), help);
        }
    });
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Commands whose JSON value is only their text, without fields.
const PAYLOAD: [&str; 1] = ["completions"];

#[test]
fn every_command_documents_its_json() {
    let document = include_str!("../../../docs/json.md");
    let section = document.split("\n## Commands\n").nth(1).unwrap_or_default();
    let first_cells = section.lines().filter_map(|line| line.strip_prefix("| ")?.split('|').next());
    let rows: Vec<_> = first_cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect();
    let mut missing = Vec::new();
    each(&all(), "", &mut |name, command| {
        let is_leaf = !command.has_subcommands();
        if is_leaf && !PAYLOAD.contains(&name) && !rows.contains(&name) {
            missing.push(name.to_owned());
        }
    });
    assert!(missing.is_empty(), "{missing:?}");
    assert!(PAYLOAD.iter().all(|name| !rows.contains(name)));
}
