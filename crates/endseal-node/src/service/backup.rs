//! Backups that the running node writes, because it has the store open.

use std::fs;
use std::io::Write as _;

use endseal_crypto::identity::Identity;
use endseal_session::Engine;

use crate::api::{Backup, Error, ErrorKind, Reply};
use crate::archive::{ArchiveKeys, WriteArchiveError, write_archive};
use crate::atomic::{AtomicFile, Existing, Readers};
use crate::error_line::line;
use crate::home::Home;
use crate::messages::now;

/// Name of the file in the state directory.
const FILE: &str = "backup.endseal";

/// Removes a backup that a caller has not taken.
pub(super) fn remove_backup(home: &Home) {
    let _ = fs::remove_file(home.file(FILE));
}

/// Writes a backup into the state directory.
pub(super) fn write_backup(
    home: &Home,
    device: &Identity,
    engine: &mut Engine,
) -> Result<Reply, Error> {
    let failed = |error: &dyn core::error::Error| Error::new(ErrorKind::Store, &line(error));
    let person = home.person().map_err(|error| failed(&error))?;
    let file = AtomicFile::create(&home.file(FILE), Existing::Replace, Readers::Owner);
    let mut file = file.map_err(|error| failed(&error))?;
    let of = ArchiveKeys { device, person: &person, link: None };
    let texts = write_archive(home, of, engine, now(), &mut file).map_err(|error| match error {
        WriteArchiveError::Engine(error) => error.into(),
        other => failed(&other),
    })?;
    file.flush().map_err(|error| failed(&error))?;
    file.commit().map_err(|error| failed(&error))?;
    Ok(Reply::Backup(Backup { file: FILE.to_owned(), texts }))
}
