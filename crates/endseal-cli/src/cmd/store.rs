//! `endseal store`: checks, copies and measures the store.

use core::fmt::Write as _;
use core::time::Duration;
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use clap::Subcommand;
use endseal_store::{Depth, Statistics, Store, StoreError};

use crate::cmd::session::StoreArgs;
use crate::ctx::{Ctx, Outcome};
use crate::failure::{self, Failure};
use crate::json::{self, Value};
use crate::output::{AtTerminal, Output};
use crate::passphrase;
use crate::printable::plural;
use crate::progress::Progress;
use crate::sessions::{not_opened, wait_of};

/// Check, copy and measure the store of messages and their keys
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    store: StoreArgs,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Look for damage, without repairing it
    ///
    /// The exit code is 1 if there is damage.
    Check {
        /// Read and authenticate every byte, in use or not
        #[arg(long)]
        read_data: bool,
    },
    /// Copy the store into a new folder, under the same key
    ///
    /// The copy opens with the keys of this device and with nothing else: back up the file
    /// device.endseal, and know its passphrase if it has one. The identity and its 24 words do not
    /// open it. After it is restored, groups in files only receive until this device is added
    /// again, and nothing is sent over a hub until this device has new keys.
    Backup {
        /// A folder that is not there yet
        dir: PathBuf,
    },
    /// Restore the store from a backup or a plain copy of its folder
    ///
    /// No store may exist. The write-ahead log of a plain copy is applied; if a commit in it is
    /// damaged, nothing is restored. Groups in files only receive until this device is added
    /// again, because their next keys may have been used after the copy was made. Over a hub, texts
    /// are received, and nothing is sent until this device has new keys (endseal devices renew).
    /// History and inbox stay.
    Restore {
        /// The folder of the backup or copy
        dir: PathBuf,
    },
    /// Show the size of the store and its number of entries
    Stats,
    /// Write the messages that were not read yet, in plaintext
    ///
    /// Each line is a JSON object; ids and contents are hexadecimal. What was read is in endseal
    /// history.
    Export {
        /// Write to a file [default: standard output]
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
        /// Replace the file
        #[arg(short, long)]
        force: bool,
    },
}

pub(crate) fn run(args: Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let wait = args.store.wait;
    match args.command {
        Command::Check { read_data } => {
            check(if read_data { Depth::ReadData } else { Depth::Structure }, wait, ctx)
        }
        Command::Backup { dir } => {
            let mut store = open(wait, ctx)?;
            let mut progress = None;
            store.backup_with(&dir, &mut |at, total| {
                progress.get_or_insert_with(|| Progress::new(ctx, "copying", Some(total))).at(at);
            })?;
            drop(progress);
            store.close()?;
            let text = format!("backup in '{}'", dir.display());
            Ok(Outcome::done(text, json::object([("backup", dir.display().to_string().into())])))
        }
        Command::Restore { dir } => restore(&dir, ctx),
        Command::Stats => {
            let mut store = open(wait, ctx)?;
            let statistics = store.statistics()?;
            store.close()?;
            Ok(numbers(&statistics))
        }
        Command::Export { output, force } => export(output.as_deref(), force, wait, ctx),
    }
}

fn open(wait: Duration, ctx: &mut Ctx) -> Result<Store, Failure> {
    let home = ctx.home()?;
    let device = passphrase::unlock_device(ctx, &home)?;
    home.store(&device, wait_of(&home, wait)).map_err(|error| not_opened(error, &home))
}

fn check(depth: Depth, wait: Duration, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let mut store = open(wait, ctx)?;
    let progress = Progress::of_time(ctx, "checking");
    let findings = store.check(depth);
    drop(progress);
    let findings = findings?;
    if findings.is_empty() {
        store.close()?;
        return Ok(Outcome::new("no damage\n", json::object([("findings", Value::Array(vec![]))])));
    }
    // Closing a damaged store may fail, and would only repeat these findings.
    drop(store);
    let findings: Vec<_> = findings.iter().map(ToString::to_string).collect();
    let text: String = findings.iter().map(|finding| format!("damaged: {finding}\n")).collect();
    let json = json::object([("findings", findings.into())]);
    ctx.note("hint: move the store away, and put a backup in its place: endseal store restore DIR");
    Ok(Outcome { refused: true, ..Outcome::new(text, json) })
}

fn restore(dir: &Path, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let home = ctx.home()?;
    let device = passphrase::unlock_device(ctx, &home)?;
    let store = home.restore_store(dir, &device)?;
    let waits = store.is_restored();
    store.close()?;
    ctx.note(
        "the keys of the old store are not used again: to send over a hub, give this device new keys \
         (endseal devices renew); to send to a session group, have it added again with a new key \
         package (endseal session group key-package)",
    );
    let path = home.store_path().display().to_string();
    let json = json::object([("store", path.clone().into()), ("awaits_reset", waits.into())]);
    Ok(Outcome::done(format!("store in '{path}'"), json))
}

fn numbers(it: &Statistics) -> Outcome {
    let sizes = [
        ("database bytes", it.database_len),
        ("log bytes", it.log_len),
        ("pages", it.pages),
        ("free pages", it.free_pages),
        ("generation", it.generation),
    ];
    let mut text = String::new();
    for (name, number) in sizes.iter().chain(&it.rows) {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{name:<14}  {number}");
    }
    let _ = writeln!(text, "{:<14}  {}", "restored", if it.restored { "yes" } else { "no" });
    let rows = it.rows.iter().map(|(name, number)| ((*name).to_owned(), (*number).into()));
    let json = json::object([
        ("database_length", it.database_len.into()),
        ("log_length", it.log_len.into()),
        ("pages", it.pages.into()),
        ("free_pages", it.free_pages.into()),
        ("generation", it.generation.into()),
        ("restored", it.restored.into()),
        ("rows", Value::Object(rows.collect())),
    ]);
    Outcome::new(text, json)
}

fn export(
    output: Option<&Path>,
    force: bool,
    wait: Duration,
    ctx: &mut Ctx,
) -> Result<Outcome, Failure> {
    let output = Output::create(output, force, AtTerminal::TextOnly, ctx)?;
    let (path, data_on_stdout) = (output.path(), output.is_stdout());
    let mut store = open(wait, ctx)?;
    let mut output = BufWriter::new(output);
    let count = {
        let transaction = store.read()?;
        transaction.export(&mut output).map_err(|error| match error {
            StoreError::Io(error) => failure::standard(&error),
            other => other.into(),
        })?
    };
    output.flush().map_err(|error| failure::standard(&error))?;
    let output = output.into_inner().map_err(|error| failure::standard(&io::Error::from(error)))?;
    output.commit()?;
    store.close()?;
    let path = path.map(|path| path.display().to_string());
    let json = json::object([("messages", count.into()), ("output", path.into())]);
    let confirmation = (!data_on_stdout).then(|| format!("{} written", plural(count, "message")));
    Ok(Outcome { data_on_stdout, confirmation, ..Outcome::new("", json) })
}
