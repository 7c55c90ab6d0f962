//! Uploads whose parts are sent to the backend at the same time: from which length on, how many
//! parts, and the memory that all of them may take.

use core::sync::atomic::Ordering::Relaxed;
use std::sync::Arc;

use endseal_s3_format::size;
use endseal_s3_protocol::S3Error;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::config::{Backend, Limits};
use crate::observability::Metrics;

/// Number of parts up to which content is sent in one request. For less, the requests that begin
/// and complete an upload cost more time than parallel parts save.
const PARTS_IN_ONE_REQUEST: u64 = 4;

/// Maximum number of parts of an upload in S3.
const MAX_PARTS: u64 = 10_000;

/// Settings of uploads in parts, and the memory that is free for their parts.
pub(crate) struct ParallelParts {
    at_once: usize,
    part_len: usize,
    /// Number of parts for which there is memory.
    limit: usize,
    /// One permit for each part in memory.
    free: Arc<Semaphore>,
}

/// Plan of one upload in parts. It holds the permission to keep its parts in memory.
pub(crate) struct PartPlan {
    /// Number of parts that are in memory, and so on their way, at the same time.
    pub(crate) at_once: usize,
    /// Length of all parts but the last in bytes.
    pub(crate) part_len: usize,
    _memory: OwnedSemaphorePermit,
}

impl ParallelParts {
    pub(crate) fn new(backend: &Backend, limits: &Limits) -> Self {
        let part_len = backend.part_size.max(1);
        let limit = (limits.part_memory / part_len).min(Semaphore::MAX_PERMITS);
        let free = Arc::new(Semaphore::new(limit));
        Self { at_once: backend.parts_at_once, part_len, limit, free }
    }

    /// Shares the memory of the previous configuration, if the limit is the same.
    pub(crate) fn take_over(&mut self, previous: &Self) {
        if (self.part_len, self.limit) == (previous.part_len, previous.limit) {
            self.free = Arc::clone(&previous.free);
        }
    }

    /// Returns true if content of this length is long enough to be sent in parts.
    pub(crate) fn are_for(&self, len: u64) -> bool {
        self.at_once > 1 && len > PARTS_IN_ONE_REQUEST * self.part_len as u64
    }

    /// Returns the plan for content of this length. `None` if it is sent in one request: because it
    /// is short, or because there is no memory for more parts and it is not longer than
    /// `max_request`.
    ///
    /// # Errors
    /// `EntityTooLarge` for content of more parts than S3 allows. `SlowDown` if there is no memory
    /// for more parts, and one request cannot hold the content.
    pub(crate) fn plan(
        &self,
        len: u64,
        max_request: u64,
        metrics: &Metrics,
    ) -> Result<Option<PartPlan>, S3Error> {
        if !self.are_for(len) {
            return Ok(None);
        }
        let sealed_len = size::sealed_len(len).ok_or_else(S3Error::too_large)?;
        if sealed_len.div_ceil(self.part_len as u64) > MAX_PARTS {
            return Err(S3Error::too_large());
        }
        // S3 has fewer parts, so the number fits.
        let wanted = u32::try_from(self.at_once).map_err(|_| S3Error::internal())?;
        if let Ok(memory) = Arc::clone(&self.free).try_acquire_many_owned(wanted) {
            metrics.uploads_in_parts.fetch_add(1, Relaxed);
            let (at_once, part_len) = (self.at_once, self.part_len);
            return Ok(Some(PartPlan { at_once, part_len, _memory: memory }));
        }
        metrics.part_memory_short.fetch_add(1, Relaxed);
        if len <= max_request {
            return Ok(None);
        }
        let cause = "limits.part_memory is in use, and the content is too long for one request";
        Err(S3Error::slow_down().with_retry_after(1).because("part_memory", cause))
    }
}

#[cfg(test)]
mod tests {
    use super::ParallelParts;
    use crate::access::SecretAccessKey;
    use crate::config::{Backend, Limits};
    use crate::observability::Metrics;

    const MIB: u64 = 1 << 20;

    fn parts(at_once: usize, part_memory: usize) -> ParallelParts {
        let secret = SecretAccessKey::new("secret".to_owned());
        let backend = Backend { parts_at_once: at_once, ..Backend::new("", "", secret) };
        ParallelParts::new(&backend, &Limits { part_memory, ..Limits::default() })
    }

    #[test]
    fn long_content_goes_in_parts_as_long_as_there_is_memory() {
        let (parts, metrics) = (parts(4, 128 << 20), Metrics::default());
        let code_of = |len: u64| match parts.plan(len, 5 << 30, &metrics) {
            Ok(plan) => Ok(plan.map(|plan| (plan.at_once, plan.part_len))),
            Err(error) => Err(error.code().to_owned()),
        };
        assert_eq!(code_of(64 * MIB), Ok(None));
        assert_eq!(code_of(64 * MIB + 1), Ok(Some((4, 16 << 20))));
        assert_eq!(code_of(6 << 30), Ok(Some((4, 16 << 20))));
        assert_eq!(code_of(10_000 * 16 * MIB), Err("EntityTooLarge".to_owned()));
        let held = [(); 2].map(|()| parts.plan(100 * MIB, 5 << 30, &metrics).unwrap());
        assert!(held.iter().all(Option::is_some));
        assert_eq!(code_of(64 * MIB + 1), Ok(None), "it goes in one request");
        assert_eq!(code_of(6 << 30), Err("SlowDown".to_owned()), "one request cannot hold it");
        drop(held);
        assert_eq!(code_of(6 << 30), Ok(Some((4, 16 << 20))));
    }

    #[test]
    fn one_part_at_once_is_one_request() {
        let (parts, metrics) = (parts(1, 512 << 20), Metrics::default());
        assert!(parts.plan(100 * MIB, 5 << 30, &metrics).unwrap().is_none());
        assert!(!parts.are_for(u64::MAX));
    }
}
