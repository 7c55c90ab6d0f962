//! `endseal s3 key`: manages a key ring.

use core::fmt::{Display, Write as _};
use std::io;
use std::path::{Path, PathBuf};

use clap::Subcommand;
use endseal_crypto::random::OsRandom;
use endseal_keyring::Passphrase;
use endseal_kms::ring::{ChangeRingError, CreateRingError, Protection, RetireKeyError, RingFile};
use endseal_kms::{KeyId, Ring};

use super::ring_passphrase;
use crate::ctx::{self, Ctx, Outcome};
use crate::exposed;
use crate::failure::{Failure, Kind, MOVE};
use crate::json::{self, Value};
use crate::passphrase;
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
    /// Anyone who has the file, and its passphrase if it has one, can read every object. Keep a
    /// copy in another place than the objects. The ring has a passphrase if one is given, as by
    /// --passphrase-file; a proxy needs it, too: keys.passphrase_file of its configuration.
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
    /// Put a passphrase on a ring, change it, or take it off
    ///
    /// The present one is asked for or given as for every command, and the new one is typed twice,
    /// or given in a file. The keys stay the same. Copies of the file that were made before still
    /// open with the old one, and proxies have to be given the new one.
    Passphrase {
        /// File of the key ring
        file: PathBuf,
        /// Take the new one from the first line of a file
        #[arg(long, value_name = "FILE", conflicts_with = "no_passphrase")]
        new_passphrase_file: Option<PathBuf>,
        /// Use no passphrase: anyone who can read the file has what is in it
        #[arg(long)]
        no_passphrase: bool,
    },
}

pub(crate) fn run(args: &Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    match &args.command {
        Command::New { file } => new(file, ctx),
        Command::Rotate { file } => {
            let passphrase = opened(file, ctx)?;
            let passphrase = passphrase.as_ref();
            let ring = RingFile::at(file)
                .change(passphrase, &mut OsRandom, |ring| ring.add(now(), &mut OsRandom).map(drop))
                .map_err(|error| unchanged(file, &error))?;
            Ok(shown(&ring, passphrase.is_some()))
        }
        Command::List { file } => {
            let passphrase = opened(file, ctx)?;
            let ring = RingFile::at(file).load(passphrase.as_ref()).map_err(|error| {
                let what = format!("cannot read {}", file.display());
                Failure::new(Kind::Configuration, what).because(&error)
            })?;
            Ok(shown(&ring, passphrase.is_some()))
        }
        Command::Remove { file, id } => remove(file, id, ctx),
        Command::Passphrase { file, new_passphrase_file, no_passphrase } => {
            let passphrase = opened(file, ctx)?;
            let new = match (no_passphrase, new_passphrase_file) {
                (true, _) => None,
                (false, Some(file)) => Some(passphrase::new_in(file, ctx)?),
                (false, None) => Some(passphrase::type_new(ctx)?),
            };
            let protection = new.as_ref().map_or(Protection::None, Protection::recommended);
            RingFile::at(file)
                .protect(passphrase.as_ref(), protection, &mut OsRandom)
                .map_err(|error| unchanged(file, &error))?;
            let name = file.display().to_string();
            let text =
                if new.is_some() { "has a new passphrase" } else { "has no passphrase any more" };
            let json = json::object([
                ("file", Value::from(name.as_str())),
                ("protected", Value::from(new.is_some())),
            ]);
            Ok(Outcome::done(format!("'{name}' {text}"), json))
        }
    }
}

/// Returns the passphrase of a ring, if it has one. Warns if it has none, or others can read it.
fn opened(file: &Path, ctx: &mut Ctx) -> Result<Option<Passphrase>, Failure> {
    ctx.detail(&format!("reading '{}'", file.display()));
    exposed::warn(file, ctx);
    let passphrase = ring_passphrase::of_ring(file, ctx)?;
    if passphrase.is_none() && file.exists() {
        ring_passphrase::warn_of_none(file, ctx);
    }
    Ok(passphrase)
}

fn new(file: &Path, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let ring = Ring::generate(now(), &mut OsRandom)
        .map_err(|error| Failure::new(Kind::Environment, "no randomness").because(&error))?;
    let passphrase = passphrase::choose_if_given(ctx)?;
    let protection = passphrase.as_ref().map_or(Protection::None, Protection::recommended);
    RingFile::at(file).create(&ring, protection, &mut OsRandom).map_err(|error| {
        let what = format!("cannot make {}", file.display());
        match error {
            CreateRingError::Exists => Failure::usage(what).because(&error).hint(MOVE),
            _ => Failure::new(Kind::Environment, what).because(&error),
        }
    })?;
    if passphrase.is_none() {
        ring_passphrase::warn_of_none(file, ctx);
    }
    Ok(shown(&ring, passphrase.is_some()))
}

fn unchanged<E: Display>(file: &Path, error: &ChangeRingError<E>) -> Failure {
    let what = format!("cannot change {}", file.display());
    Failure::new(Kind::Environment, what).because_text(error.to_string())
}

fn remove(file: &Path, id: &str, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let id = KeyId::new(id)
        .map_err(|error| Failure::new(Kind::Usage, "this is no id of a key").because(&error))?;
    let passphrase = opened(file, ctx)?;
    let retired = RingFile::at(file).retire(passphrase.as_ref(), &id, &mut OsRandom);
    let (ring, kept) = retired.map_err(|error| {
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
    Ok(shown(&ring, passphrase.is_some()))
}

/// Returns the time in seconds since 1970, as key rings store it.
fn now() -> u64 {
    ctx::now() / 1_000
}

/// Lists the keys of a ring, one on each line.
fn shown(ring: &Ring, is_protected: bool) -> Outcome {
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
    let json =
        json::object([("protected", Value::from(is_protected)), ("keys", Value::from(keys))]);
    Outcome::new(text, json)
}
