//! Checks that the commands and options that texts name exist.

use clap::Command;

use crate::tree;

/// Words that may follow "endseal" in a sentence without being a command.
const PROSE: [&str; 10] =
    ["envelope", "forbid", "identity", "in", "itself", "made", "may", "msgs", "or", "roster"];
/// Other programs. The options after their names are not checked.
const OTHERS: [&str; 3] = ["aws", "cargo", "ulimit"];

/// Returns the commands and options in a text that do not exist.
///
/// An option directly after a command, as in `endseal init --force`, must be an option of that
/// command. Every other option must be one of `own`, the running command, or of any command if
/// `own` is `None`.
pub(crate) fn unknown(text: &str, own: Option<&Command>, all: &Command) -> Vec<String> {
    let mut words = text.split_whitespace().peekable();
    let (mut named, mut unknown) = (None, Vec::new());
    while let Some(word) = words.next() {
        let bare = bare(word);
        if OTHERS.contains(&bare) {
            break;
        }
        if bare == all.get_name() {
            let mut command = all;
            let mut ends = ends_clause(word);
            while let Some(word) = words.peek().filter(|_| !ends && command.has_subcommands()) {
                if !is_command(self::bare(word)) {
                    break;
                }
                let Some(sub) = command.find_subcommand(self::bare(word)) else {
                    unknown.push(format!("{} {word}", command.get_name()));
                    break;
                };
                (command, ends) = (sub, ends_clause(word));
                words.next();
            }
            named = Some(command).filter(|_| !ends);
            continue;
        }
        let knows = |command: &Command| has_option(command, bare);
        let known = match named.or(own) {
            _ if !is_option(bare) => true,
            Some(command) => knows(command),
            None => any(all, &knows),
        };
        if !known {
            unknown.push(bare.to_owned());
        }
        if ends_clause(word) {
            named = None;
        }
    }
    unknown
}

/// Returns the command of this process and the tree of all commands. `None` if the arguments are
/// not valid.
fn running() -> Option<(Command, Command)> {
    let all = tree::all();
    let matches = all.clone().try_get_matches_from(std::env::args_os()).ok()?;
    let (mut own, mut matches) = (&all, &matches);
    while let Some((name, below)) = matches.subcommand() {
        (own, matches) = (own.find_subcommand(name)?, below);
    }
    Some((own.clone(), all))
}

/// Returns true if the running command has this option.
pub(crate) fn has(option: &str) -> bool {
    running().is_some_and(|(own, _)| has_option(&own, option))
}

/// Returns true if all commands and options that a text of the running command names exist.
pub(crate) fn fit(text: &str) -> bool {
    running().is_none_or(|(own, all)| unknown(text, Some(&own), &all).is_empty())
}

fn any(command: &Command, check: &impl Fn(&Command) -> bool) -> bool {
    check(command) || command.get_subcommands().any(|command| any(command, check))
}

fn has_option(command: &Command, option: &str) -> bool {
    let name = option.trim_start_matches('-').split('=').next().unwrap_or_default();
    command.get_arguments().any(|argument| match option.starts_with("--") {
        true => argument.get_long() == Some(name),
        false => argument.get_short().is_some_and(|short| name == short.to_string()),
    })
}

fn is_option(word: &str) -> bool {
    let letter = |text: &str| text.starts_with(|c: char| c.is_ascii_alphabetic());
    match word.strip_prefix("--") {
        Some(long) => letter(long),
        None => word.len() == 2 && word.starts_with('-') && letter(&word[1..]),
    }
}

fn is_command(bare: &str) -> bool {
    let is_word = bare.chars().all(|c| matches!(c, 'a'..='z' | '0'..='9' | '-'));
    is_word && bare.starts_with(char::is_alphabetic) && !PROSE.contains(&bare)
}

fn bare(word: &str) -> &str {
    word.trim_matches(|c: char| {
        matches!(c, '(' | ')' | '[' | ']' | ',' | ';' | ':' | '.' | '\'' | '"' | '`')
    })
}

fn ends_clause(word: &str) -> bool {
    word.ends_with([',', ';', ':', '.', ')', ']'])
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::args;

    fn all() -> Command {
        tree::set(args::tree);
        tree::all()
    }

    /// Returns the contents of the string literals in Rust source.
    fn literals(source: &str) -> Vec<String> {
        let (mut found, mut rest) = (Vec::new(), source.chars().peekable());
        while let Some(c) = rest.next() {
            match c {
                '/' if rest.peek() == Some(&'/') => {
                    rest.by_ref().find(|c| *c == '\n');
                }
                '\'' if rest.peek() == Some(&'"') => {
                    rest.next();
                }
                '"' => {
                    let mut literal = String::new();
                    while let Some(c) = rest.next().filter(|c| *c != '"') {
                        match c {
                            '\\' if rest.peek() == Some(&'\n') => {
                                while rest.next_if(|c| c.is_whitespace()).is_some() {}
                            }
                            '\\' => literal
                                .push(rest.next().map_or(' ', |c| if c == 'n' { '\n' } else { c })),
                            c => literal.push(c),
                        }
                    }
                    found.push(literal);
                }
                _ => {}
            }
        }
        found
    }

    fn each_source(folder: &Path, check: &mut impl FnMut(&Path, &str)) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => each_source(&path, check),
                false => check(&path, &fs::read_to_string(&path).unwrap()),
            }
        }
    }

    #[test]
    fn no_text_names_a_command_or_an_option_that_does_not_exist() {
        let (all, mut wrong, mut texts) = (all(), Vec::new(), 0);
        each_source(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut |path, source| {
            // Tests contain names that do not exist.
            let source = source.split("#[cfg(test)]").next().unwrap_or_default();
            for text in literals(source) {
                texts += 1;
                for name in unknown(&text, None, &all) {
                    wrong.push(format!("{}: {name} in {text:?}", path.display()));
                }
            }
        });
        assert!(wrong.is_empty(), "{wrong:#?}");
        assert!(texts > 300, "{texts}");
    }

    #[test]
    fn no_help_names_a_command_or_an_option_that_does_not_exist() {
        fn check(command: &Command, all: &Command, wrong: &mut Vec<String>) {
            let help = command.clone().render_long_help().to_string();
            for name in unknown(&help, Some(command), all) {
                wrong.push(format!("{name} in the help of {}", command.get_name()));
            }
            command.get_subcommands().for_each(|command| check(command, all, wrong));
        }
        let mut wrong = Vec::new();
        check(&all(), &all(), &mut wrong);
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    #[test]
    fn names_are_found_in_texts() {
        let all = all();
        let listen = all.find_subcommand("listen");
        let of_listen = |text| unknown(text, listen, &all);
        let anywhere = |text| unknown(text, None, &all);
        for text in
            ["give --dir DIR, or: endseal init --force", "see (endseal id show); --idle 3", "-h"]
        {
            assert_eq!(of_listen(text), [""; 0]);
        }
        assert_eq!(of_listen("replace it with --force, or leave -o away"), ["--force", "-o"]);
        assert_eq!(anywhere("replace it with --force"), [""; 0]);
        assert_eq!(anywhere("endseal listen --force"), ["--force"]);
        assert_eq!(anywhere("endseal session group resett x"), ["group resett"]);
    }
}
