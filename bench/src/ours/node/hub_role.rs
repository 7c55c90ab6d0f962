//! A hub in a process of its own, so that the process's memory is that of the hub.

use core::convert::Infallible;
use core::future::pending;
use std::ffi::OsString;
use std::io::{self, Write as _};
use std::path::Path;

use endseal_hub::{Hub, SqliteStore};
use endseal_transport::Policy;

use super::server::{key, limits};
use crate::duplex::relay::HERE;
use crate::ours::sessions::folder::Failure;
use crate::s3::listen;

/// Serves the database that `arguments` name, and prints the hub's address.
///
/// # Errors
/// Fails if the arguments are wrong, or if the hub cannot open the database or listen.
pub(crate) fn serve(arguments: &[OsString]) -> Result<Infallible, Failure> {
    let database = arguments.first().ok_or("which database?")?;
    listen::runtime()?.block_on(async {
        let store = Box::new(SqliteStore::open(Path::new(database))?);
        let hub = Hub::serve(HERE, &key(), Policy::default(), store, limits())?;
        let mut out = io::stdout().lock();
        writeln!(out, "{}{}", listen::GREETING, hub.local_address()?)?;
        out.flush()?;
        drop(out);
        pending().await
    })
}
