//! `endseal man`: prints or writes the manual pages.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use clap::Command;
use clap_mangen::Man;
use endseal_node::{Existing, FileError, Readers, write_file};

use crate::ctx::{Ctx, Outcome};
use crate::examples;
use crate::failure::Failure;
use crate::json;
use crate::output::make_folder;
use crate::tree;

/// Print the manual page, or write those of all commands into a folder
///
/// To read the page: endseal man | man -l -
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Folder of the pages; it is made if it is missing
    folder: Option<PathBuf>,
    /// Replace pages that are there
    #[arg(short, long)]
    force: bool,
}

/// Exit status of the commands, for their pages. The page of the program has more.
const EXIT_STATUS: &str = "\
0 if it is done, 1 if the answer is no, 2 for wrong usage, 3 if a file, the network or another \
process prevents it, 4 if the state directory is missing or damaged, 130 if it was interrupted. \
endseal(1) has them all.";

pub(crate) fn run(args: &Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let mut root = tree::without_help();
    root.build();
    let Some(folder) = &args.folder else {
        if ctx.stdout_is_terminal {
            ctx.note("note: this is the source of the page; to read it: endseal man | man -l -");
        }
        let page = render(&root).map_err(|error| crate::failure::standard(&error))?;
        let text = String::from_utf8_lossy(&page).into_owned();
        return Ok(Outcome::new(text.clone(), json::Value::String(text)));
    };
    let existing = if args.force { Existing::Replace } else { Existing::Keep };
    make_folder(folder)?;
    let mut written = Vec::new();
    write(&root, folder, existing, &mut written)?;
    let text = written.iter().map(|path| format!("{path}\n")).collect::<String>();
    Ok(Outcome::new(text, json::object([("pages", written.into())])))
}

/// Writes the page of a command, and those of its subcommands.
fn write(
    command: &Command,
    folder: &Path,
    existing: Existing,
    written: &mut Vec<String>,
) -> Result<(), Failure> {
    let name = command.get_display_name().unwrap_or(command.get_name());
    let path = folder.join(format!("{name}.1"));
    let page = render(command).map_err(|source| FileError::io("write", &path, source))?;
    write_file(&path, &page, existing, Readers::Umask)?;
    written.push(path.display().to_string());
    let visible = command.get_subcommands().filter(|command| !command.is_hide_set());
    visible.into_iter().try_for_each(|command| write(command, folder, existing, written))
}

fn render(command: &Command) -> io::Result<Vec<u8>> {
    let mut page = Vec::new();
    let man = Man::new(command.clone());
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    }
    let name = command.get_display_name().unwrap_or(command.get_name());
    let names = name.strip_prefix("endseal-").map(|names| names.replace('-', " "));
    match names {
        Some(names) => {
            section(&mut page, "EXIT STATUS", &[EXIT_STATUS])?;
            let examples = examples::of(&names);
            if !examples.is_empty() {
                section(&mut page, "EXAMPLES", examples)?;
            }
        }
        None => sections_of_the_program(&mut page, command)?,
    }
    if command.get_version().is_some() {
        man.render_version_section(&mut page)?;
    }
    Ok(page)
}

/// Writes the parts of the text after the help of the program, each of which has a title.
fn sections_of_the_program(page: &mut Vec<u8>, command: &Command) -> io::Result<()> {
    let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    for part in text.split("\n\n") {
        let (title, lines) = part.split_once(":\n").unwrap_or_default();
        let title = if title == "Exit codes" { "EXIT STATUS" } else { title };
        let lines: Vec<_> = lines.lines().map(str::trim_start).collect();
        section(page, &title.to_uppercase(), &lines)?;
    }
    Ok(())
}

/// Writes a section with one paragraph for each text, in the language of roff.
fn section(page: &mut Vec<u8>, title: &str, texts: &[&str]) -> io::Result<()> {
    writeln!(page, ".SH \"{title}\"")?;
    for (index, text) in texts.iter().enumerate() {
        if index > 0 {
            writeln!(page, ".br")?;
        }
        // A line that begins with a dot or a quote would be a request.
        writeln!(page, "\\&{}", text.replace('\\', "\\\\").replace('-', "\\-"))?;
    }
    Ok(())
}
