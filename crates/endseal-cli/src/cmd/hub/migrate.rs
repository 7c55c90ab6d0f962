//! `endseal hub migrate`: moves the database of a hub to another engine.

use std::fs;
use std::path::Path;

use endseal_hub::{HubStore, SqliteStore, StorageError, migrate};

use super::place::{self, Server};
use crate::ctx::{Ctx, Outcome};
use crate::failure::{Failure, Kind};
use crate::json;

/// Copy the database to another engine, and close the first one
///
/// The hub must not run: its nodes wait, and connect again. Afterwards no hub serves from the first
/// database. A migration that was interrupted goes on when it is started again.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// The database file of a hub, or postgres://USER@HOST/NAME
    from: String,
    /// A new file, or an empty database in PostgreSQL
    to: String,
    #[command(flatten)]
    server: Server,
}

pub(super) fn run(args: &Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    // The hub of a folder locks it as long as it serves.
    let path = (!is_url(&args.from)).then(|| Path::new(&args.from));
    let _occupied = path.map(place::occupy_beside).transpose()?;
    let mut from: Box<dyn HubStore> = match path {
        Some(path) => {
            let store = SqliteStore::open_existing(path);
            Box::new(store.map_err(|error| place::storage(&error))?)
        }
        None => open(&args.from, args, ctx)?,
    };
    let is_new = !is_url(&args.to) && !Path::new(&args.to).exists();
    let mut to: Box<dyn HubStore> = match is_url(&args.to) {
        true => open(&args.to, args, ctx)?,
        false => {
            let store = SqliteStore::open(Path::new(&args.to));
            Box::new(store.map_err(|error| place::storage(&error))?)
        }
    };
    let migrated = migrate(&mut *from, &mut *to);
    if let (Err(StorageError::Migration(_)), true) = (&migrated, is_new) {
        drop(to);
        // A hub that found an empty database would serve from it.
        let _gone = fs::remove_file(&args.to);
        return migrated.map(|_| Outcome::default()).map_err(|error| place::storage(&error));
    }
    let rows = migrated.map_err(|error| place::storage(&error))?;
    let faults = to.check().map_err(|error| place::storage(&error))?;
    if let Some(fault) = faults.first() {
        let text = format!("the copy is not whole: {fault}");
        return Err(Failure::new(Kind::Environment, text));
    }
    let json = json::object([("rows", rows.into())]);
    let text = match rows {
        0 => "it was moved before, and the other database is whole".to_owned(),
        rows => format!("{rows} rows are in the other database, and it is whole"),
    };
    Ok(Outcome::done(text, json))
}

fn open(url: &str, args: &Args, ctx: &Ctx) -> Result<Box<dyn HubStore>, Failure> {
    place::check_argument(url)?;
    args.server.open(url, ctx)
}

fn is_url(text: &str) -> bool {
    text.starts_with("postgres://") || text.starts_with("postgresql://")
}
