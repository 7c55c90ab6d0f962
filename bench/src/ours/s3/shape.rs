//! The parameters of the suite's cases.

use super::{GET, MEMORY, MULTIPART, PUT, PUT_CHUNKED, RANGE, SMALL};
use crate::record::Params;
use crate::subject::SubjectError;
use crate::suite::s3::{MINIO, SERVER, SINK};

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
    Minio,
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
        let backend =
            within("backend", SINK, if job == Job::Multipart { MINIO } else { SERVER }, SINK)?;
        Ok(Self {
            job,
            bytes: within("bytes", 1, MOST_BYTES, 1)?,
            backend: match backend {
                SINK => Backend::Sink,
                MINIO => Backend::Minio,
                _ => Backend::Server,
            },
            count: small(within("count", 1, 100_000, 1)?),
            down: within("down", 0, 1, 0)? == 1,
            streams: small(within("streams", 1, 256, 1)?),
            part: within("part", LEAST_PART, MOST_BYTES, LEAST_PART)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_the_parameters_of_the_case_are_taken() {
        let params = |of: &[(&str, u64)]| -> Params {
            of.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
        };
        let good = Shape::new(PUT, &params(&[("bytes", 5), ("backend", 1)])).unwrap();
        assert_eq!((good.job, good.bytes, good.backend), (Job::Put, 5, Backend::Server));
        assert_eq!((good.count, good.streams, good.down), (1, 1, false));
        for (case, wrong) in [
            ("seal", params(&[("bytes", 5)])),
            (PUT, params(&[("bytes", 5)])),
            (PUT, params(&[("bytes", 0), ("backend", 0)])),
            (PUT, params(&[("bytes", 5), ("backend", 2)])),
            (PUT, params(&[("bytes", 5), ("backend", 0), ("streams", 1)])),
            (RANGE, params(&[("bytes", MOST_BYTES + 1)])),
            (MEMORY, params(&[("bytes", 5), ("down", 2), ("streams", 1)])),
        ] {
            let refused = Shape::new(case, &wrong);
            assert!(matches!(refused, Err(SubjectError::Unsupported(_))), "{case} {wrong:?}");
        }
    }
}
