//! The parameters of the suite's cases.

use super::{GET, MEMORY, MULTIPART, PUT, PUT_CHUNKED, RANGE, SMALL};
use crate::record::Params;
use crate::subject::SubjectError;
use crate::suite::s3::{SERVER, SINK};

/// Operation of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Job {
    Put,
    PutChunked,
    Get,
    Range,
    Small,
    Memory,
    Multipart,
}

/// Kind of backend that stores the objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Backend {
    Sink,
    Server,
}

/// Parameters of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) job: Job,
    pub(super) bytes: u64,
    pub(super) backend: Backend,
    pub(super) count: u32,
    pub(super) down: bool,
    pub(super) streams: u32,
    /// Bytes of one part.
    pub(super) part: u64,
}

/// Bytes of the largest object.
const MOST_BYTES: u64 = 5 << 30;
/// Bytes of the smallest part that servers accept.
const LEAST_PART: u64 = 5 << 20;

impl Shape {
    /// Reads exactly the parameters of the case. Fails if one is missing, unknown or out of range.
    pub(super) fn new(case: &str, params: &Params) -> Result<Self, SubjectError> {
        let (job, names): (_, &[&str]) = match case {
            PUT => (Job::Put, &["bytes", "backend"]),
            PUT_CHUNKED => (Job::PutChunked, &["bytes"]),
            GET => (Job::Get, &["bytes", "backend"]),
            RANGE => (Job::Range, &["bytes"]),
            SMALL => (Job::Small, &["bytes", "count", "down", "streams"]),
            MULTIPART => (Job::Multipart, &["bytes", "part", "streams", "down", "backend"]),
            MEMORY => (Job::Memory, &["bytes", "down", "streams"]),
            _ => return Err(SubjectError::Unsupported("there is no such case".into())),
        };
        let unsupported = |why: String| SubjectError::Unsupported(why);
        if params.keys().any(|name| !names.contains(&name.as_str())) {
            return Err(unsupported("this case has no such parameter".into()));
        }
        let within = |name: &str, least: u64, most: u64, otherwise: u64| {
            let wanted = names.contains(&name);
            let given = params.get(name).copied().filter(|_| wanted);
            match given.or((!wanted).then_some(otherwise)) {
                Some(value) if (least..=most).contains(&value) => Ok(value),
                _ => Err(unsupported(format!("{name} must be from {least} to {most}"))),
            }
        };
        let small = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
        let backend = within("backend", SINK, SERVER, SINK)?;
        Ok(Self {
            job,
            bytes: within("bytes", 1, MOST_BYTES, 1)?,
            backend: match backend {
                SINK => Backend::Sink,
                _ => Backend::Server,
            },
            count: small(within("count", 1, 100_000, 1)?),
            down: within("down", 0, 1, 0)? == 1,
            streams: small(within("streams", 1, 256, 1)?),
            part: within("part", LEAST_PART, MOST_BYTES, LEAST_PART)?,
        })
    }
}
