//! `endseal s3 serve`, read without a description.
//!
//! Code that describes commands and parses by the description is spread over the program: what it takes of memory,
//! a tenth of all, a proxy would have for as long as it runs. So its few options are read here, word by word.
//! What is not understood, or is wrong, is left to the description, which says what is wrong.

use std::ffi::{OsStr, OsString};

use super::{Cli, Command, Global};
use crate::cmd::s3::{self, serve};

/// What was typed, the program's name first, if it is this command and nothing is wrong with it.
pub(super) fn of(typed: &[OsString]) -> Option<Cli> {
    let mut words = typed.iter().skip(1).map(OsString::as_os_str);
    let mut command = ["s3", "serve"].into_iter().peekable();
    let mut global = Global::default();
    let mut args = serve::Args::default();
    while let Some(word) = words.next() {
        if command.next_if(|next| word == *next).is_some() {
            continue;
        }
        let in_command = command.peek().is_none();
        match word.to_str()? {
            "--json" => once(&mut global.json)?,
            "-q" | "--quiet" => once(&mut global.quiet)?,
            "--home" => put(&mut global.home, value(words.next())?.into())?,
            "--no-log" if in_command => once(&mut args.no_log)?,
            "--config" if in_command => put(&mut args.config, value(words.next())?.into())?,
            "--folder" if in_command => put(&mut args.folder, value(words.next())?.into())?,
            "--listen" if in_command => {
                let address = value(words.next())?.to_str()?.parse().ok()?;
                put(&mut args.listen, address)?;
            }
            _ => return None,
        }
    }
    let is_whole = command.next().is_none() && args.config.is_some() != args.folder.is_some();
    is_whole.then(|| Cli { global, command: Command::S3(s3::Args::serve(args)) })
}

/// What stands behind an option, if it is no option itself.
fn value(word: Option<&OsStr>) -> Option<&OsStr> {
    word.filter(|word| !word.is_empty() && !word.as_encoded_bytes().starts_with(b"-"))
}

fn put<T>(place: &mut Option<T>, value: T) -> Option<()> {
    place.replace(value).is_none().then_some(())
}

fn once(flag: &mut bool) -> Option<()> {
    (!core::mem::replace(flag, true)).then_some(())
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use clap::Parser as _;

    use super::of;
    use crate::args::Cli;

    fn both(line: &str) -> (Option<String>, Option<String>) {
        let typed = || line.split(' ').map(OsString::from);
        let described = Cli::try_parse_from(typed()).ok();
        let read = of(&typed().collect::<Vec<_>>());
        (read.map(|cli| format!("{cli:?}")), described.map(|cli| format!("{cli:?}")))
    }

    #[test]
    fn it_is_understood_as_by_the_description() {
        for line in [
            "endseal s3 serve --folder f",
            "endseal --home h s3 serve --folder f --listen 127.0.0.1:1 --no-log",
            "endseal s3 --json serve --config c --quiet",
            "endseal -q s3 serve --listen [::1]:80 --config serve",
            "endseal s3 serve --folder s3 --home s3",
        ] {
            let (read, described) = both(line);
            assert!(read.is_some(), "{line}");
            assert_eq!(read, described, "{line}");
        }
    }

    /// Every three words of those that mean something, behind the command or before it.
    #[test]
    fn whatever_it_understands_the_description_understands_too() {
        let words = [
            "--folder",
            "--config",
            "--listen",
            "--no-log",
            "--json",
            "-q",
            "--home",
            "--quiet",
            "s3",
            "serve",
            "127.0.0.1:0",
            "f",
            "-",
            "--",
            "--help",
            "--folder=f",
            "-qq",
            "",
        ];
        let mut understood = 0;
        for a in words {
            for b in words {
                for c in words {
                    for line in [
                        format!("endseal s3 serve --folder f {a} {b} {c}"),
                        format!("endseal s3 serve {a} {b} {c}"),
                        format!("endseal {a} s3 {b} serve --config {c}"),
                    ] {
                        let (read, described) = both(&line);
                        understood += usize::from(read.is_some());
                        assert!(read.is_none() || read == described, "{line}");
                    }
                }
            }
        }
        assert!(understood > 100, "{understood}");
    }

    #[test]
    fn everything_else_is_left_to_the_description() {
        for line in [
            "endseal",
            "endseal --help",
            "endseal s3",
            "endseal s3 serve",
            "endseal s3 serve --help",
            "endseal s3 serve --listen",
            "endseal s3 serve --folder f --config c",
            "endseal s3 serve --folder f --listen here",
            "endseal s3 --folder f serve",
            "endseal s3 serve --folder f --frob",
            "endseal s3 serve --folder f more",
            "endseal s3 key new k",
            "endseal seal -r bob notes",
        ] {
            assert_eq!(both(line).0, None, "{line}");
        }
    }
}
