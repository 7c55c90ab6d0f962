//! The list of commands in the help of the program: by tasks, with an example each.

use core::fmt::Write as _;

use clap::Command;

/// Task, its commands, and an example.
const GROUPS: [(&str, &[&str], &str); 7] = [
    (
        "Files",
        &["init", "id", "contacts", "group", "seal", "open", "inspect"],
        "endseal seal -r bob -o notes.es notes.txt",
    ),
    (
        "Conversations over a hub",
        &["join", "say", "sync", "up", "inbox", "history", "status", "unsend", "block", "unblock"],
        "endseal say bob 'at noon' && endseal sync && endseal inbox",
    ),
    (
        "Devices and backups",
        &["devices", "backup", "restore", "recover"],
        "endseal backup alice.backup",
    ),
    ("Groups in files, and the store", &["session", "store"], "endseal store backup copy"),
    (
        "Machines that are on",
        &["peers", "listen", "send", "ping"],
        "endseal send bob@192.0.2.7 notes.txt",
    ),
    (
        "Servers and apps",
        &["hub", "s3", "nostr", "signer"],
        "endseal hub serve --listen 0.0.0.0:4433",
    ),
    ("This program", &["completions", "man", "help"], "endseal seal --help"),
];
/// Columns of the list.
const WIDTH: usize = 80;

/// Returns the help template of the program, whose list has its commands by tasks.
pub(crate) fn template(root: &Command) -> String {
    // In a template braces name its parts, and no text of a command has any.
    format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{}Options of every command:\n{{options}}{{after-help}}",
        list(root)
    )
}

fn list(root: &Command) -> String {
    let visible = || root.get_subcommands().filter(|it| !it.is_hide_set());
    let about = |name: &str| match visible().find(|it| it.get_name() == name) {
        Some(command) => command.get_about().map(ToString::to_string),
        // clap adds it when it builds the tree.
        None if name == "help" => Some("Print this list, or the help of a command".to_owned()),
        None => None,
    };
    let is_grouped = |name: &str| GROUPS.iter().any(|(_, commands, _)| commands.contains(&name));
    let rest: Vec<_> = visible().map(Command::get_name).filter(|it| !is_grouped(it)).collect();
    let width = visible().map(|it| it.get_name().len()).max().unwrap_or_default();
    let mut text = String::new();
    let rest = (!rest.is_empty()).then_some(("More", rest.as_slice(), ""));
    for (task, commands, example) in GROUPS.into_iter().chain(rest) {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{task}:");
        for name in commands {
            let Some(about) = about(name) else { continue };
            entry(&mut text, name, &about, width);
        }
        if !example.is_empty() {
            let _ = writeln!(text, "  For example: {example}");
        }
        text.push('\n');
    }
    text
}

/// Appends a command and what it does, broken into lines.
fn entry(text: &mut String, name: &str, about: &str, width: usize) {
    let (mut line, indent) = (format!("  {name:width$} "), width + 3);
    for word in about.split(' ') {
        if line.chars().count() + 1 + word.chars().count() > WIDTH {
            text.push_str(line.trim_end());
            text.push('\n');
            line = " ".repeat(indent);
        }
        line.push(' ');
        line.push_str(word);
    }
    text.push_str(&line);
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args;

    #[test]
    fn every_command_is_listed_once_and_fits() {
        let root = args::tree();
        let list = list(&root);
        for command in root.get_subcommands().filter(|it| !it.is_hide_set()) {
            let name = format!("  {} ", command.get_name());
            assert_eq!(list.lines().filter(|line| line.starts_with(&name)).count(), 1, "{name}");
        }
        for (_, commands, _) in GROUPS {
            assert!(commands.iter().all(|name| list.contains(&format!("  {name} "))));
        }
        assert!(list.lines().all(|line| line.chars().count() <= WIDTH), "{list}");
        assert!(!list.contains(['{', '}']));
    }
}
