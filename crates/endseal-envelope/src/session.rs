//! Several envelopes under one agreement.

use alloc::vec;
use alloc::vec::Vec;
use core::ops::ControlFlow;

use endseal_crypto::random::Random;
use endseal_crypto::x25519;

use crate::error::SealError;
use crate::seal::{Agreement, Sealer, first_block_digest};

/// How long a session lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionLimits {
    /// Envelopes at most.
    pub envelopes: u32,
    /// Milliseconds at most.
    pub milliseconds: u64,
}

impl Default for SessionLimits {
    /// 4,096 envelopes or one hour.
    fn default() -> Self {
        Self { envelopes: 4096, milliseconds: 3_600_000 }
    }
}

/// Seals several envelopes to the same recipients with one ephemeral key, whose agreements it keeps:
/// about a tenth of the cost for each.
///
/// Envelopes of one session can be linked by whoever sees them, and whoever reads the memory of this
/// value can open all of them. A fresh [`Sealer::seal`] has neither weakness.
#[allow(missing_debug_implementations, reason = "holds secrets")]
pub struct Session<'a> {
    sealer: Sealer<'a>,
    agreement: Agreement,
    remaining: u32,
    expires: u64,
}

impl<'a> Session<'a> {
    /// Begins a session at `now`, in milliseconds of any steady clock.
    ///
    /// # Errors
    /// [`SealError`].
    pub fn new(
        sealer: Sealer<'a>,
        limits: SessionLimits,
        now: u64,
        random: &mut impl Random,
    ) -> Result<Self, SealError> {
        let ephemeral = x25519::SecretKey::generate(random)?;
        let agreement = Agreement::new(&sealer, &ephemeral);
        let expires = now.saturating_add(limits.milliseconds);
        Ok(Self { sealer, agreement, remaining: limits.envelopes, expires })
    }

    /// Seals `content`, stating `time` as [`Sealer::time`] does.
    ///
    /// # Errors
    /// [`SealError::SessionOver`] after the last envelope or moment; others as for
    /// [`Sealer::seal`].
    pub fn seal(
        &mut self,
        content: &[u8],
        time: u64,
        now: u64,
        random: &mut impl Random,
    ) -> Result<Vec<u8>, SealError> {
        if let ControlFlow::Break(()) = self.spend(now) {
            return Err(SealError::SessionOver);
        }
        let sealer = self.sealer.time(time);
        let len = sealer.sealed_len(content.len() as u64)?;
        let mut out = vec![0; usize::try_from(len).map_err(|_| SealError::ContentTooLong)?];
        let digest = first_block_digest(content);
        // The ephemeral key is the session's.
        let (_, secrets) = sealer.secrets(random, &digest, content.len() as u64)?;
        sealer.assemble(&self.agreement, &secrets, content, &digest, &mut out)?;
        Ok(out)
    }

    fn spend(&mut self, now: u64) -> ControlFlow<()> {
        match self.remaining.checked_sub(1) {
            Some(remaining) if now < self.expires => {
                self.remaining = remaining;
                ControlFlow::Continue(())
            }
            _ => ControlFlow::Break(()),
        }
    }
}
