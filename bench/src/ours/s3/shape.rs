//! The parameters of the suite's cases.

use crate::case::Case;
use crate::subject::{Failure, unsupported};

/// Operation of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Job {
    /// Stores an object.
    Put,
    /// Stores an object in chunks with a trailing checksum.
    PutChunked,
    /// Fetches an object.
    Get,
    /// Fetches one byte of an object.
    Range,
    /// Stores many short objects, one after the other.
    Small,
    /// Stores an object in parts, several at the same time.
    Multipart,
    /// Not timed: the peak memory of a process that transfers objects.
    Memory,
}

/// Kind of backend that stores the objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Backend {
    Sink,
    Server,
}

/// Parameters of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) job: Job,
    pub(super) bytes: u64,
    pub(super) backend: Backend,
    pub(super) count: u64,
    pub(super) down: bool,
    pub(super) streams: u64,
    /// Bytes of one part.
    pub(super) part: u64,
}

impl Shape {
    pub(super) fn new(case: &Case) -> Result<Self, Failure> {
        let job = match case.case.as_str() {
            "put" => Job::Put,
            "put_chunked" => Job::PutChunked,
            "get" => Job::Get,
            "range" => Job::Range,
            "small" => Job::Small,
            "multipart" => Job::Multipart,
            "memory" => Job::Memory,
            other => return Err(unsupported(format!("there is no case {other}"))),
        };
        let or = |name: &str, otherwise: u64| case.params.get(name).copied().unwrap_or(otherwise);
        Ok(Self {
            job,
            bytes: case.number("bytes")? as u64,
            backend: if or("backend", 0) == 0 { Backend::Sink } else { Backend::Server },
            count: or("count", 1),
            down: or("down", 0) == 1,
            streams: or("streams", 1),
            part: or("part", 1),
        })
    }

    /// Returns true if objects are stored in the measured time.
    pub(super) fn is_up(&self) -> bool {
        !matches!(self.job, Job::Get | Job::Range)
    }
}
