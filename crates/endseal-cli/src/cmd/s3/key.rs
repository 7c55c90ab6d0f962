//! `endseal s3 key`: manages a key ring.

use core::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

use clap::Subcommand;
use endseal_crypto::random::OsRandom;
use endseal_kms::ring::{ChangeRingError, CreateRingError, Protection, RetireKeyError, RingFile};
use endseal_kms::{KeyId, Ring};

use crate::ctx::{self, Ctx, Outcome};
use crate::exposed;
use crate::failure::{Failure, Kind, MOVE};
use crate::json::{self, Value};
use crate::printable::printable;
use crate::time;

/// Make and change the key ring that wraps the keys of objects
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Make a ring with one key
    ///
    /// Anyone who has the file can read every object. Keep a copy in another place than the
    /// objects.
    New {
        /// A file that does not exist yet
        file: PathBuf,
    },
    /// Add a key, which wraps from now on
    ///
    /// The other keys still open objects. Restart the proxies to use the new key.
    Rotate {
        /// File of the key ring
        file: PathBuf,
    },
    /// Show ids and dates of the keys
    List {
        /// File of the key ring
        file: PathBuf,
    },
    /// Remove a retired key
    ///
    /// Run endseal s3 rewrap first, until it has nothing to do: objects that are still wrapped with
    /// this key become unreadable, also older versions and copies in other places. A copy of the
    /// ring is kept next to it. endseal s3 recover needs it for copies without metadata.
    Remove {
        /// File of the key ring
        file: PathBuf,
        /// The whole id of the key, as `list` shows it; never the one that wraps
        id: String,
    },
}

pub(crate) fn run(args: &Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    if let Command::Rotate { file } | Command::List { file } | Command::Remove { file, .. } =
        &args.command
    {
        ctx.detail(&format!("reading '{}'", file.display()));
        exposed::warn(file, ctx);
    }
    match &args.command {
        Command::New { file } => {
            let ring = Ring::generate(now(), &mut OsRandom).map_err(|error| {
                Failure::new(Kind::Environment, "no randomness").because(&error)
            })?;
            RingFile::at(file).create(&ring, Protection::None, &mut OsRandom).map_err(|error| {
                let what = format!("cannot make {}", file.display());
                match error {
                    CreateRingError::Exists => Failure::usage(what).because(&error).hint(MOVE),
                    _ => Failure::new(Kind::Environment, what).because(&error),
                }
            })?;
            Ok(shown(&ring))
        }
        Command::Rotate { file } => {
            let ring = RingFile::at(file)
                .change(None, &mut OsRandom, |ring| ring.add(now(), &mut OsRandom).map(drop))
                .map_err(|error| {
                    let what = format!("cannot change {}", file.display());
                    Failure::new(Kind::Environment, what).because(&error)
                })?;
            Ok(shown(&ring))
        }
        Command::List { file } => {
            let ring = RingFile::at(file).load(None).map_err(|error| {
                let what = format!("cannot read {}", file.display());
                Failure::new(Kind::Configuration, what).because(&error)
            })?;
            Ok(shown(&ring))
        }
        Command::Remove { file, id } => remove(file, id, ctx),
    }
}

fn remove(file: &Path, id: &str, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let id = KeyId::new(id)
        .map_err(|error| Failure::new(Kind::Usage, "this is no id of a key").because(&error))?;
    let (ring, kept) = RingFile::at(file).retire(None, &id, &mut OsRandom).map_err(|error| {
        let what = format!("no key was taken out of {}", file.display());
        match &error {
            ChangeRingError::Change(RetireKeyError::Keep(cause))
                if cause.kind() == io::ErrorKind::AlreadyExists =>
            {
                Failure::usage(what).because(&error).hint("move the copy of an earlier run away")
            }
            _ => Failure::new(Kind::Environment, what).because(&error),
        }
    })?;
    ctx.note(&format!(
        "when the proxies are restarted, objects that {id} wraps can no longer be opened, \
         including older versions and copies elsewhere. {} still contains the key",
        printable(&kept.display().to_string())
    ));
    Ok(shown(&ring))
}

/// Returns the time in seconds since 1970, as key rings store it.
fn now() -> u64 {
    ctx::now() / 1_000
}

/// Lists the keys of a ring, one on each line.
fn shown(ring: &Ring) -> Outcome {
    let mut text = String::new();
    let mut keys = Vec::new();
    for entry in ring.entries() {
        let (id, made) = (entry.id.as_str(), entry.created * 1_000);
        let does = if entry.wraps { "wraps" } else { "opens" };
        // Writing into a string cannot fail.
        let _ = writeln!(text, "{id}  {}  {does}", time::local(made));
        keys.push(json::object([
            ("id", Value::from(id)),
            ("created", Value::from(time::rfc3339(made))),
            ("wraps", Value::from(entry.wraps)),
        ]));
    }
    Outcome::new(text, json::object([("keys", Value::from(keys))]))
}
