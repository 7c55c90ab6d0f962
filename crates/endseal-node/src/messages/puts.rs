//! Ciphertexts of the outbox go to the hub.

use core::time::Duration;

use endseal_codec::frame::{Stamp, StoredFrame};
use endseal_codec::hub::{Code, Put, RefusedView, Request};
use endseal_delivery::node::{HubFault, Puts, Settled};
use endseal_delivery::stored_limits;
use endseal_session::{Engine, EngineError, Pending};
use tokio::time::sleep;

use super::error::{HubError, SyncError};
use super::hub::{HubClient, HubExchange};
use super::membership::membership_in;
use super::outbox::Target;
use super::payload::Payload;
use super::problem::{self, ProblemClass};
use super::records::{self, FRAME};
use super::report::SyncReport;

/// Frames that are read from the store at once.
const PAGE: usize = 32;
/// Frames on their way at once.
const WINDOW: usize = 512;
/// Longest wait that a hub may ask for.
const MAX_WAIT: Duration = Duration::from_secs(60);

/// Puts all frames of the outbox. Those that the hub cannot take now stay.
pub(super) async fn put_all(
    hub: &HubClient<'_>,
    engine: &mut Engine,
    report: &mut SyncReport,
) -> Result<(), SyncError> {
    loop {
        // An exchange begins with a request.
        if engine.transaction(|transaction| transaction.records_after(FRAME, &[], 1))?.is_empty() {
            return Ok(());
        }
        let mut round = Round { puts: Puts::new(), after: 0, wait: None, is_full: false };
        let mut exchange = hub.open().await?;
        round.run(&mut exchange, engine, report).await?;
        exchange.finish().await?;
        match round.wait {
            Some(wait) => sleep(wait).await,
            None => {
                report.mailbox_full = round.is_full;
                return Ok(());
            }
        }
    }
}

/// One exchange.
struct Round {
    puts: Puts,
    /// Number in the outbox behind which nothing was put yet.
    after: u64,
    /// Time after which another exchange may go on, if the hub asked for it.
    wait: Option<Duration>,
    is_full: bool,
}

impl Round {
    async fn run(
        &mut self,
        exchange: &mut HubExchange,
        engine: &mut Engine,
        report: &mut SyncReport,
    ) -> Result<(), SyncError> {
        loop {
            if self.wait.is_none() {
                self.feed(exchange, engine).await?;
            }
            if self.puts.unanswered() == 0 {
                return Ok(());
            }
            let payload = exchange.next().await?;
            match self.puts.answer(&payload)? {
                Settled::Stored(sequences) => {
                    report.sent += sequences.len() as u64;
                    stored(engine, &sequences)?;
                }
                Settled::Refused(None, refused) => {
                    return Err(HubError::Refused(refused.code).into());
                }
                Settled::Refused(Some(sequence), refused) => {
                    self.refused(engine, report, sequence, &refused)?;
                }
            }
        }
    }

    /// Sends frames until enough are on their way, or no more are there.
    async fn feed(
        &mut self,
        exchange: &mut HubExchange,
        engine: &mut Engine,
    ) -> Result<(), SyncError> {
        if self.puts.unanswered() > WINDOW / 2 {
            return Ok(());
        }
        while self.puts.unanswered() < WINDOW {
            let page = engine.outbox().pending(self.after, PAGE)?;
            let Some(last) = page.last() else { break };
            self.after = last.number;
            for pending in page {
                let number = pending.number;
                let target = engine.transaction(|transaction| Target::of(transaction, number))?;
                // The others leave in files.
                if let Some(target) = target
                    && self.puts.send(number)
                {
                    exchange.feed(put(engine, pending, &target)?).await?;
                }
            }
        }
        Ok(exchange.flush().await?)
    }

    fn refused(
        &mut self,
        engine: &mut Engine,
        report: &mut SyncReport,
        sequence: u64,
        refused: &RefusedView<'_>,
    ) -> Result<(), SyncError> {
        let class = match refused.code {
            Code::FULL => {
                self.is_full = true;
                return Ok(());
            }
            Code::RATE => {
                let wait = Duration::from_millis(refused.wait.max(1)).min(MAX_WAIT);
                self.wait = Some(self.wait.map_or(wait, |before| before.max(wait)));
                return Ok(());
            }
            Code::OLD => ProblemClass::OLD,
            Code::MAILBOX => ProblemClass::MAILBOX,
            code => return Err(HubError::Refused(code).into()),
        };
        report.problems += 1;
        engine.transaction(|transaction| {
            let target = Target::of(transaction, sequence)?;
            let target = target.ok_or(EngineError::Damaged("frame"))?;
            problem::note(transaction, class, &target.peer, sequence)?;
            problem::forget_old(transaction)?;
            Target::settle(transaction, sequence)
        })?;
        Ok(())
    }
}

/// The request that puts a ciphertext.
fn put(engine: &Engine, pending: Pending, target: &Target) -> Result<Request, HubError> {
    let sender = *engine.certificate().keys().peer_id.as_bytes();
    let stamp = Stamp { sequence: pending.number, timestamp: 0, sender };
    let sealed = Payload::seal(&engine.address(), pending.body);
    let frame = StoredFrame::vouched(&sealed, stamp, stored_limits());
    let targets = target.peer.as_bytes()[..].into();
    let frame = frame.map_err(|_| HubError::TooLong)?.into();
    Ok(Request::Put(Put { targets, frame, ..Put::default() }))
}

/// Removes frames that the hub has, and remembers that it has them.
fn stored(engine: &mut Engine, sequences: &[u64]) -> Result<(), EngineError> {
    engine.transaction(|transaction| {
        for sequence in sequences {
            Target::settle(transaction, *sequence)?;
        }
        if let (Some(mut membership), Some(last)) = (membership_in(transaction)?, sequences.last())
            && *last >= membership.sequence
        {
            (membership.sequence, membership.time) = (*last, records::now());
            membership.put(transaction)?;
        }
        Ok(())
    })
}
