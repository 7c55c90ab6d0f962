//! Conventions that all commands follow, tested on the tree of commands.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

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

/// Words that follow "endseal" in sentences and are no commands.
const PROSE: [&str; 10] =
    ["envelope", "forbid", "identity", "in", "itself", "made", "may", "msgs", "or", "roster"];
/// Options of other programs, aws and cargo.
const FOREIGN: [&str; 2] = ["endpoint-url", "quick"];

fn has_option(command: &Command, long: &str) -> bool {
    command.get_arguments().any(|argument| argument.get_long() == Some(long))
}

/// Returns true if a command or one below it has the option.
fn knows_option(command: &Command, long: &str) -> bool {
    let mut below = command.get_subcommands();
    has_option(command, long) || below.any(|below| knows_option(below, long))
}

/// Returns the commands and long options in a text that do not exist. An option behind a command,
/// as in `endseal init --force`, must be one of that command.
fn unknown(text: &str, all: &Command) -> Vec<String> {
    let is_mark = |c: char| !c.is_ascii_alphanumeric() && c != '-';
    let longs = text.split(is_mark).filter_map(|word| word.strip_prefix("--"));
    let longs = longs.filter(|long| long.starts_with(|c: char| c.is_ascii_alphabetic()));
    let longs = longs.filter(|long| !knows_option(all, long) && !FOREIGN.contains(long));
    let mut unknown: Vec<_> = longs.map(str::to_owned).collect();
    for clause in text.split("endseal ").skip(1) {
        let mut command = all;
        for word in clause.split_whitespace() {
            let name = word.split(is_mark).next().unwrap_or_default();
            let is_word = name.starts_with(|c: char| c.is_ascii_lowercase());
            if let Some(below) = command.find_subcommand(name) {
                command = below;
            } else if is_word && PROSE.contains(&name) {
                break;
            } else if is_word && command.has_subcommands()
                || name.strip_prefix("--").is_some_and(|long| !has_option(command, long))
            {
                unknown.push(format!("{} {name}", command.get_name()));
            }
            if name != word {
                break;
            }
        }
    }
    unknown
}

/// Passes each source file of the program to `check`, without comments and tests.
fn each_source(folder: &Path, check: &mut impl FnMut(&Path, &str)) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            each_source(&path, check);
        } else if !path.ends_with("conventions.rs") {
            let source = fs::read_to_string(&path).unwrap().replace("\\\n", " ");
            let source = source.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
            let code = source.lines().filter(|line| !line.trim_start().starts_with("//"));
            check(&path, &code.collect::<Vec<_>>().join("\n"));
        }
    }
}

#[test]
fn texts_name_commands_and_options_that_exist() {
    let (all, mut wrong) = (all(), Vec::new());
    each_source(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut |path, source| {
        wrong.extend(unknown(source, &all).iter().map(|it| format!("{}: {it}", path.display())));
    });
    each(&all, "", &mut |name, command| {
        let help = command.clone().render_long_help().to_string();
        wrong.extend(unknown(&help, &all).iter().map(|it| format!("help of {name}: {it}")));
    });
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(unknown("replace it with --force", &all), [""; 0]);
    assert_eq!(unknown("or with: endseal listen --force", &all), ["listen --force"]);
    assert_eq!(unknown("(endseal session group resett)", &all), ["group resett"]);
}
