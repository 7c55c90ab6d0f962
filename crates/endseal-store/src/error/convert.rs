//! Errors of SQLite as errors of the store.

use std::io;

use rusqlite::{Error, ErrorCode, ffi};

use crate::trouble::{self, Trouble};

use super::{CreateStoreError, Finding, OpenStoreError, StoreError};

/// Classes of SQLite's errors, independent of the operation that failed.
enum Class {
    Damaged,
    Full,
    Io,
    /// A row with that key is there.
    Duplicate,
    /// A row that is referred to is not there.
    Reference,
}

fn classify(error: &Error) -> Class {
    match error {
        Error::SqliteFailure(failure, _) => match (failure.code, failure.extended_code) {
            (ErrorCode::DiskFull, _) => Class::Full,
            (_, ffi::SQLITE_CONSTRAINT_FOREIGNKEY) => Class::Reference,
            (ErrorCode::ConstraintViolation, _) => Class::Duplicate,
            // SQLCipher says "unknown error" of a page that is not authentic; the statements are
            // constant and are prepared by the tests, so it cannot be one of them.
            (
                ErrorCode::DatabaseCorrupt
                | ErrorCode::NotADatabase
                | ErrorCode::Unknown
                | ErrorCode::SchemaChanged,
                _,
            ) => Class::Damaged,
            _ => Class::Io,
        },
        // A column of another type or out of range, or a row that must be there.
        Error::InvalidColumnType(..)
        | Error::IntegralValueOutOfRange(..)
        | Error::FromSqlConversionFailure(..)
        | Error::QueryReturnedNoRows => Class::Damaged,
        _ => Class::Io,
    }
}

/// SQLite's errors name tables, columns and files, and never a value.
fn finding(error: &Error) -> Finding {
    Finding::Engine(error.to_string())
}

pub(crate) fn into_io(error: Error) -> io::Error {
    io::Error::other(error)
}

/// Returns true if a failed commit surely did not happen. The record that makes a commit valid is
/// written last, and the write that found the medium full came before it.
pub(crate) fn is_full(error: &Error) -> bool {
    matches!(classify(error), Class::Full)
}

/// Returns true if a file could not be read.
fn is_reading(error: &Error) -> bool {
    let Error::SqliteFailure(failure, _) = error else { return false };
    matches!(
        failure.extended_code,
        ffi::SQLITE_IOERR_READ | ffi::SQLITE_IOERR_SHORT_READ | ffi::SQLITE_IOERR_CORRUPTFS
    )
}

impl From<Error> for StoreError {
    fn from(error: Error) -> Self {
        match classify(&error) {
            Class::Damaged => {
                // A row that is malformed is on pages that are not.
                if matches!(error, Error::SqliteFailure(..)) {
                    trouble::report(Trouble::Damaged);
                }
                Self::Damaged(finding(&error))
            }
            Class::Full => Self::Full,
            Class::Io => {
                if is_reading(&error) {
                    trouble::report(Trouble::Unreadable);
                }
                Self::Io(into_io(error))
            }
            Class::Duplicate => Self::Duplicate,
            Class::Reference => Self::Reference,
        }
    }
}

impl From<Error> for OpenStoreError {
    fn from(error: Error) -> Self {
        match classify(&error) {
            Class::Damaged | Class::Duplicate | Class::Reference => Self::Damaged(finding(&error)),
            Class::Full => Self::Full,
            Class::Io => Self::Io(into_io(error)),
        }
    }
}

impl From<Error> for CreateStoreError {
    fn from(error: Error) -> Self {
        match classify(&error) {
            Class::Full => Self::Full,
            _ => Self::Io(into_io(error)),
        }
    }
}

fn is_full_io(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

impl From<io::Error> for CreateStoreError {
    fn from(error: io::Error) -> Self {
        if is_full_io(&error) { Self::Full } else { Self::Io(error) }
    }
}

impl From<io::Error> for OpenStoreError {
    fn from(error: io::Error) -> Self {
        if is_full_io(&error) { Self::Full } else { Self::Io(error) }
    }
}

impl From<io::Error> for StoreError {
    fn from(error: io::Error) -> Self {
        if is_full_io(&error) { Self::Full } else { Self::Io(error) }
    }
}
