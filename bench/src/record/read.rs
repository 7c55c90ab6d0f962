//! Reading a `run.json`: bounded, and checked by the types of the record, which take no unknown
//! fields.

use core::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::process::{Command, Stdio};

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

/// Reads a record from a file. One whose name ends in `.gz` is unpacked by the program `gzip`.
///
/// # Errors
/// [`ReadRecordError`].
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

/// Reads what `gzip` makes of a file, up to so many bytes.
fn unpacked(path: &Path, most: u64, bytes: &mut Vec<u8>) -> io::Result<usize> {
    let mut gzip = Command::new("gzip")
        .args(["-dc", "--"])
        .arg(path)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()?;
    let output = gzip.stdout.take().ok_or_else(|| io::Error::other("gzip has no output"))?;
    let read = output.take(most).read_to_end(bytes)?;
    // Of a record that is too long not all was read, and gzip fails at the closed pipe.
    let complete = gzip.wait()?.success() || read as u64 == most;
    if complete { Ok(read) } else { Err(io::Error::other("gzip cannot unpack it")) }
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
