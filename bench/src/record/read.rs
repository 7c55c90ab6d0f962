//! Reading a `run.json`: bounded, and checked by the types of the record, which take no unknown
//! fields.

use core::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use serde::Deserialize;

use super::{Record, SCHEMA};

/// Longest `run.json` that is read: a full run has a few megabytes, and all of it is held in
/// memory.
pub const MAX_RECORD: usize = 64 << 20;

/// The reason for which a `run.json` was not read.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReadRecordError {
    /// The file cannot be read.
    Unreadable(io::Error),
    /// It is longer than [`MAX_RECORD`].
    TooLong,
    /// Another version wrote it, in this schema.
    OtherSchema(String),
    /// It is no record: not JSON, as after a run that ended while it was written, or with a field
    /// that is wrong, missing or unknown.
    Invalid(serde_json::Error),
}

impl fmt::Display for ReadRecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(error) => write!(f, "cannot be read: {error}"),
            Self::TooLong => write!(f, "longer than {} MiB", MAX_RECORD >> 20),
            Self::OtherSchema(schema) => {
                let schema = crate::words::tame(schema);
                write!(f, "written in schema {schema}; this version reads {SCHEMA}")
            }
            Self::Invalid(error) => write!(f, "not a record of {SCHEMA}: {error}"),
        }
    }
}

impl core::error::Error for ReadRecordError {}

/// Reads a record from a file.
///
/// # Errors
/// [`ReadRecordError`].
pub fn read_record_file(path: &Path) -> Result<Record, ReadRecordError> {
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(MAX_RECORD as u64 + 1).read_to_end(&mut bytes))
        .map_err(ReadRecordError::Unreadable)?;
    read_record(&bytes)
}

/// Reads a record.
///
/// # Errors
/// [`ReadRecordError`].
pub fn read_record(bytes: &[u8]) -> Result<Record, ReadRecordError> {
    if bytes.len() > MAX_RECORD {
        return Err(ReadRecordError::TooLong);
    }
    /// A newer record may look different everywhere else.
    #[derive(Deserialize)]
    struct Head {
        schema: String,
    }
    let head: Head = serde_json::from_slice(bytes).map_err(ReadRecordError::Invalid)?;
    if head.schema != SCHEMA {
        return Err(ReadRecordError::OtherSchema(head.schema));
    }
    serde_json::from_slice(bytes).map_err(ReadRecordError::Invalid)
}
