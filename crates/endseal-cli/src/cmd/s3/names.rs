//! `endseal s3 names`: makes the secret that encrypts object names.

use std::path::{Path, PathBuf};

use clap::Subcommand;
use endseal_crypto::random::OsRandom;
use endseal_s3proxy::name_secret::{CreateNameSecretError, NameSecretFile};

use crate::ctx::Outcome;
use crate::failure::{Failure, Kind, MOVE};
use crate::json::{self, Value};

/// Make the secret that encrypts the names of objects
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Make a secret that encrypts names of objects, and print its check
    ///
    /// The configuration names the file as name_secret_file of a bucket. Without the secret no
    /// object is found again: keep a copy in another place than the objects. Lists have the order
    /// of encrypted names, which aws s3 sync does not support.
    Init {
        /// A file that does not exist yet
        file: PathBuf,
    },
}

pub(crate) fn run(args: &Args) -> Result<Outcome, Failure> {
    match &args.command {
        Command::Init { file } => init(file),
    }
}

fn init(file: &Path) -> Result<Outcome, Failure> {
    let secret = NameSecretFile::at(file).create(&mut OsRandom).map_err(|error| {
        let what = format!("cannot make {}", file.display());
        match error {
            CreateNameSecretError::Exists => Failure::usage(what).because(&error).hint(MOVE),
            _ => Failure::new(Kind::Environment, what).because(&error),
        }
    })?;
    let check = secret.check();
    let json = json::object([("check", Value::from(check.as_str()))]);
    Ok(Outcome::new(format!("{check}\n"), json))
}
