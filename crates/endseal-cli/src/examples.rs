//! Examples of commands, for their help and manual pages.

/// Names of a command, and examples.
const EXAMPLES: [(&str, &[&str]); 31] = [
    ("init", &["endseal init", "endseal init --paper < words"]),
    ("id show", &["endseal id show --pq > me.txt", "endseal id show --qr"]),
    ("id export", &["endseal id export --secret -o key"]),
    ("id passphrase", &["endseal id passphrase", "endseal id passphrase --of-device"]),
    ("contacts add", &["endseal contacts add bob bob.txt", "endseal contacts add bob endseal1..."]),
    ("contacts verify", &["endseal contacts verify bob", "endseal contacts verify bob --confirm"]),
    ("group create", &["endseal group create team bob carol"]),
    ("group export", &["endseal group export team -o team.roster"]),
    ("group import", &["endseal group import team.roster"]),
    (
        "seal",
        &[
            "endseal seal -r bob -o notes.es notes.txt",
            "endseal seal -g team --to-self -o plan.es plan.txt",
            "tar c photos | endseal seal -r bob > photos.es",
        ],
    ),
    ("open", &["endseal open -o notes.txt notes.es", "endseal open photos.es | tar x"]),
    ("inspect", &["endseal inspect notes.es"]),
    ("join", &["endseal join bob.invite"]),
    ("recover", &["endseal recover --revoke-others PEERID@hub.example.org:4433 < words"]),
    ("devices list", &["endseal devices list bob"]),
    ("devices rename", &["endseal devices rename 7 phone"]),
    ("devices revoke", &["endseal devices revoke 7"]),
    ("say", &["endseal say bob 'at noon'", "make 2>&1 | endseal say team -"]),
    ("sync", &["endseal sync", "endseal sync --once -q"]),
    ("up", &["endseal up"]),
    ("inbox", &["endseal inbox --keep", "endseal inbox --follow", "endseal inbox --problems"]),
    ("history", &["endseal history bob --search noon --last 20"]),
    ("store backup", &["endseal store backup copy"]),
    ("peers add", &["endseal peers add bob endsealpeer1..."]),
    ("listen", &["endseal listen --listen 0.0.0.0:4433 --dir inbox"]),
    (
        "send",
        &[
            "endseal send bob@192.0.2.7 notes.txt",
            "tail -f log | endseal send --lines bob@192.0.2.7",
        ],
    ),
    ("hub serve", &["endseal hub serve --listen 0.0.0.0:4433"]),
    ("hub invite", &["endseal hub invite bob --at hub.example.org:4433 -o bob.invite"]),
    ("s3 serve", &["endseal s3 serve --dir vault"]),
    ("signer init", &["endseal signer init --relay wss://relay.example"]),
    ("signer invite", &["endseal signer invite mail --allow sign:1 --for 30d"]),
];

/// Returns the examples of a command by its names without that of the program.
pub(crate) fn of(names: &str) -> &'static [&'static str] {
    let found = EXAMPLES.iter().find(|(of, _)| *of == names);
    found.map_or(&[], |(_, examples)| examples)
}

/// Returns the text after the long help of a command: its examples, or nothing.
pub(crate) fn help(names: &str) -> String {
    let lines: String = of(names).iter().map(|example| format!("\n  {example}")).collect();
    if lines.is_empty() { lines } else { format!("Examples:{lines}") }
}

#[cfg(test)]
mod tests {
    use clap::{Command, Parser as _};

    use super::*;
    use crate::args;

    /// Returns the names of commands with examples that are not in the tree.
    fn unknown(root: &Command) -> Vec<&'static str> {
        let is_known = |names: &str| {
            let below =
                |command: Option<&Command>, name: &str| command?.find_subcommand(name).cloned();
            let mut command = Some(root.clone());
            for name in names.split(' ') {
                command = below(command.as_ref(), name);
            }
            command.is_some()
        };
        EXAMPLES.iter().map(|(names, _)| *names).filter(|names| !is_known(names)).collect()
    }

    #[test]
    fn examples_are_of_commands_that_exist_and_parse() {
        assert_eq!(unknown(&args::tree()), [""; 0]);
        for (names, examples) in EXAMPLES {
            for example in examples {
                // The part of a pipe that is of this program, without redirections.
                let own = example.split('|').find(|part| part.contains("endseal")).unwrap();
                let own = own.split(['<', '>']).next().unwrap();
                let words = own.split_whitespace().map(|word| word.trim_matches('\''));
                let words: Vec<_> = words.collect();
                assert!(own.contains(&format!("endseal {names}")), "{example}");
                let has_placeholder = own.contains("...") || own.contains("PEERID");
                if !has_placeholder && !own.contains('\'') {
                    assert!(args::Cli::try_parse_from(words).is_ok(), "{example}");
                }
            }
        }
    }
}
