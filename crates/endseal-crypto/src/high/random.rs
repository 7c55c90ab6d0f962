//! Randomness as a capability: a function that needs it takes it as an argument.

use core::fmt;

use crate::low::wipe::wipe;

/// A cryptographically secure source of random bytes.
///
/// Implementations MUST NOT return bytes that another party could know or that were returned
/// before. Tests that need fixed bytes use the derandomized functions under `hazmat` instead of a
/// false source.
pub trait Random {
    /// Fills the whole of `buffer` with random bytes.
    ///
    /// # Errors
    /// [`RandomError`] if the source fails; `buffer` must not be used then.
    fn fill(&mut self, buffer: &mut [u8]) -> Result<(), RandomError>;
}

impl<R: Random + ?Sized> Random for &mut R {
    fn fill(&mut self, buffer: &mut [u8]) -> Result<(), RandomError> {
        (**self).fill(buffer)
    }
}

/// Reads `N` bytes at a time from its source and hands them out once: a read of `N` bytes costs
/// little more than one of a few.
///
/// Bytes that were not handed out are wiped when this is dropped. Meant for several short values
/// that are made at once. The caller MUST drop it before the process forks, or the two processes
/// hand out the same bytes; it MUST NOT outlive the operation that it serves.
pub struct BufferedRandom<R, const N: usize> {
    source: R,
    bytes: [u8; N],
    used: usize,
}

impl<R: Random, const N: usize> BufferedRandom<R, N> {
    /// Reads nothing before the first use.
    pub fn new(source: R) -> Self {
        Self { source, bytes: [0; N], used: N }
    }
}

impl<R: Random, const N: usize> Random for BufferedRandom<R, N> {
    fn fill(&mut self, buffer: &mut [u8]) -> Result<(), RandomError> {
        if buffer.len() > N {
            return self.source.fill(buffer);
        }
        if buffer.len() > N - self.used {
            // After a failure nothing of the earlier bytes is handed out either.
            self.used = N;
            self.source.fill(&mut self.bytes[..])?;
            self.used = 0;
        }
        let end = self.used + buffer.len();
        buffer.copy_from_slice(&self.bytes[self.used..end]);
        wipe(&mut self.bytes[self.used..end]);
        self.used = end;
        Ok(())
    }
}

impl<R, const N: usize> Drop for BufferedRandom<R, N> {
    fn drop(&mut self) {
        wipe(&mut self.bytes);
    }
}

impl<R, const N: usize> fmt::Debug for BufferedRandom<R, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BufferedRandom")
    }
}

/// The generator of the system. With the feature `aws-lc` it is AWS-LC's: a DRBG in each thread
/// (CTR_DRBG, NIST SP 800-90A), seeded and reseeded from the operating system, which notices a
/// fork. Otherwise, with `getrandom`, each call asks the operating system or the browser.
#[cfg(any(feature = "aws-lc", feature = "getrandom"))]
#[derive(Clone, Copy, Debug, Default)]
#[allow(clippy::exhaustive_structs, reason = "a value to name")]
pub struct OsRandom;

#[cfg(any(feature = "aws-lc", feature = "getrandom"))]
impl Random for OsRandom {
    fn fill(&mut self, buffer: &mut [u8]) -> Result<(), RandomError> {
        #[cfg(feature = "aws-lc")]
        let filled = crate::mid::aws_lc::random(buffer);
        #[cfg(not(feature = "aws-lc"))]
        let filled = getrandom::fill(buffer).map_err(drop);
        filled.map_err(|()| RandomError)
    }
}

/// The source of randomness failed. Nothing was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RandomError;

impl fmt::Display for RandomError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the source of randomness failed")
    }
}

impl core::error::Error for RandomError {}

#[cfg(all(test, any(feature = "aws-lc", feature = "getrandom")))]
mod tests {
    use super::{BufferedRandom, OsRandom, Random, RandomError};

    /// Returns bytes that count up by one. Fails after a given number of bytes.
    struct Counter(u8, u8);

    impl Random for Counter {
        fn fill(&mut self, buffer: &mut [u8]) -> Result<(), RandomError> {
            for byte in buffer {
                if self.0 == self.1 {
                    return Err(RandomError);
                }
                self.0 += 1;
                *byte = self.0;
            }
            Ok(())
        }
    }

    #[test]
    fn buffered_bytes_are_handed_out_once() {
        let mut buffered = BufferedRandom::<_, 10>::new(Counter(0, 255));
        let mut draw = |len: usize| {
            let mut out = alloc::vec![0; len];
            buffered.fill(&mut out).map(|()| out)
        };
        assert_eq!(draw(4).unwrap(), [1, 2, 3, 4]);
        assert!(draw(0).unwrap().is_empty());
        assert_eq!(draw(6).unwrap(), [5, 6, 7, 8, 9, 10]);
        assert_eq!(draw(3).unwrap(), [11, 12, 13]);
        // More than there is: the rest is never given.
        assert_eq!(draw(8).unwrap(), [21, 22, 23, 24, 25, 26, 27, 28]);
        assert_eq!(draw(11).unwrap(), (31..42).collect::<alloc::vec::Vec<_>>());
        assert_eq!(draw(2).unwrap(), [29, 30]);
    }

    #[test]
    fn a_failed_source_hands_out_nothing() {
        let mut buffered = BufferedRandom::<_, 4>::new(Counter(0, 6));
        let mut out = [0; 3];
        buffered.fill(&mut out).unwrap();
        for _ in 0..3 {
            assert_eq!(buffered.fill(&mut out), Err(RandomError));
            assert_eq!(buffered.fill(&mut [0]), Err(RandomError));
        }
        assert_eq!(out, [1, 2, 3]);
    }

    #[test]
    fn two_draws_differ() {
        let (mut a, mut b) = ([0; 32], [0; 32]);
        OsRandom.fill(&mut a).unwrap();
        OsRandom.fill(&mut b).unwrap();
        assert_ne!(a, b);
        assert_ne!(a, [0; 32]);
    }
}
