//! Reads a `run.json`. Its length is bounded, and it is checked by the types of the record. They
//! refuse unknown fields, except in rows and ratios.

use core::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::process::{Command, Stdio};

use serde::Deserialize;

use super::{Record, SCHEMA};

/// Bytes of the longest `run.json` that is read. A full run has a few megabytes, and all of it is
/// held in memory.
pub const MAX_RECORD: usize = 64 << 20;

/// Reason why a `run.json` was not read.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReadRecordError {
    /// The file cannot be read.
    Unreadable(io::Error),
    /// The file is longer than [`MAX_RECORD`].
    TooLong,
    /// Another version wrote the file, in the schema named here.
    OtherSchema(String),
    /// The file is not a record: it is not JSON, as after a run that was interrupted while writing,
    /// or a field is wrong, missing or unknown.
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

/// Reads a record from a file. If the file's name ends in `.gz`, the program `gzip` unpacks it.
///
/// # Errors
/// Fails if the file cannot be read, is too long, or is not a record of this schema.
pub fn read_record_file(path: &Path) -> Result<Record, ReadRecordError> {
    let mut bytes = Vec::new();
    let most = MAX_RECORD as u64 + 1;
    let read = match path.extension() {
        Some(extension) if extension == "gz" => unpacked(path, most, &mut bytes),
        _ => File::open(path).and_then(|file| file.take(most).read_to_end(&mut bytes)),
    };
    read.map_err(ReadRecordError::Unreadable)?;
    read_record(&bytes)
}

/// Reads the output of `gzip` for a file, up to `most` bytes.
fn unpacked(path: &Path, most: u64, bytes: &mut Vec<u8>) -> io::Result<usize> {
    let mut gzip = Command::new("gzip")
        .args(["-dc", "--"])
        .arg(path)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()?;
    let output = gzip.stdout.take().ok_or_else(|| io::Error::other("gzip has no output"))?;
    let read = output.take(most).read_to_end(bytes)?;
    // A record that is too long was not read to its end, and gzip fails at the closed pipe.
    let complete = gzip.wait()?.success() || read as u64 == most;
    if complete { Ok(read) } else { Err(io::Error::other("gzip cannot unpack it")) }
}

/// Reads a record from the bytes of a `run.json`.
///
/// # Errors
/// Fails if the bytes are too long or not a record of this schema.
pub fn read_record(bytes: &[u8]) -> Result<Record, ReadRecordError> {
    if bytes.len() > MAX_RECORD {
        return Err(ReadRecordError::TooLong);
    }
    /// The schema alone, because a record of another schema may differ in all other fields.
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
