//! `endseal man`: prints or writes the manual pages.

use std::io;
use std::path::{Path, PathBuf};

use clap::Command;
use endseal_node::{Existing, FileError, Readers, write_file};

use crate::ctx::{Ctx, Outcome};
use crate::failure::Failure;
use crate::json;
use crate::output::make_folder;
use crate::tree;

/// Print the manual page, or write those of all commands into a folder
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Folder of the pages; it is made if it is missing
    folder: Option<PathBuf>,
    /// Replace pages that are there
    #[arg(short, long)]
    force: bool,
}

pub(crate) fn run(args: &Args, _ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let root = tree::all();
    let Some(folder) = &args.folder else {
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
    let mut command = command.clone();
    if command.get_after_long_help().is_some() {
        // The text after the help of a subcommand belongs to its short help only.
        command = command.after_help(None::<&str>).after_long_help(None::<&str>);
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(command).render(&mut page)?;
    Ok(page)
}
