//! `endseal backup`: writes an archive of what a person has here.

use std::fs::{self, File};
use std::io;
use std::path::PathBuf;

use endseal_node::api::{CallError, Client, Reply, Request};
use endseal_node::{ArchiveKeys, FileError, write_archive};

use super::session::StoreArgs;
use crate::ctx::{Ctx, Outcome};
use crate::failure::{self, Failure};
use crate::json;
use crate::output::{AtTerminal, Output};
use crate::printable::plural;
use crate::sessions::{open, unlock, work_and_close};

/// Write contacts, groups and conversations into one file, for your 24 words
///
/// The file is sealed to your identity, so that it may lie anywhere: the 24 words or the exported
/// identity open it, and nothing else does. Neither keys nor passphrases are in it, and none but
/// that of a protected device is asked for. It is written while endseal up runs, too. On another
/// machine, endseal restore makes a device of it.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    store: StoreArgs,
    /// Replace the file
    #[arg(short, long)]
    force: bool,
    /// The backup, or - for standard output
    file: PathBuf,
}

pub(crate) fn run(args: &Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let mut output = Output::create(Some(&args.file), args.force, AtTerminal::Refuse, ctx)?;
    let home = ctx.home()?;
    let texts = match Client::find(&home)? {
        Some(client) => {
            let Reply::Backup(backup) = client.call(&Request::Backup {})? else {
                return Err(CallError::Unexpected.into());
            };
            let path = home.path().join(&backup.file);
            let failed = |source| FileError::io("read", &path, source);
            let mut file = File::open(&path).map_err(failed)?;
            io::copy(&mut file, &mut output).map_err(|error| failure::standard(&error))?;
            fs::remove_file(&path).map_err(failed)?;
            backup.texts
        }
        None => {
            let (home, device) = unlock(ctx)?;
            let person = home.person()?;
            let engine = open(&home, &device, args.store.wait)?;
            work_and_close(engine, ctx, |engine, ctx| {
                let keys = ArchiveKeys { device: &device, person: &person, link: None };
                Ok(write_archive(&home, keys, engine, ctx.now, &mut output)?)
            })?
        }
    };
    let (data_on_stdout, path) = (output.is_stdout(), output.path());
    output.commit_durably()?;
    let shown = path.as_ref().map(|path| path.display().to_string());
    let confirmation = shown
        .as_ref()
        .map(|path| format!("{} in '{path}'; your 24 words open it", plural(texts, "text")));
    let json = json::object([("texts", texts.into()), ("output", shown.into())]);
    Ok(Outcome { data_on_stdout, confirmation, ..Outcome::new("", json) })
}
