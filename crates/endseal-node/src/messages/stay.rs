//! A lasting connection to the hub: a sync that does not end. Arriving messages are opened at once,
//! and new texts are sent at once.

use core::cell::Cell;
use core::future::pending;
use core::mem::take;
use core::pin::pin;
use core::time::Duration;

use endseal_crypto::random::OsRandom;
use endseal_keyring::PersonRecord;
use endseal_session::EngineError;
use endseal_transport::Backoff;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout};

use super::approach::Sender;
use super::drain::Mailbox;
use super::error::SyncError;
use super::hub::HubClient;
use super::node_files::NodeFiles;
use super::report::SyncReport;
use super::send_state::SendState;
use super::send_turns::SendTurns;
use super::shared_engine::SharedEngine;
use super::sync::{forget_rejoined, give_up, greet};
use super::unconfirmed;
use super::unfollowed::give_up_unfollowed;
use super::unsent::KnownDocuments;

/// Time after which the connection state is renewed, so that the hub does not run out of prekeys.
const RENEWED: Duration = Duration::from_secs(3600);

/// Time after which another attempt is made in groups of which commits are missing.
const BEHIND: Duration = Duration::from_secs(1);

/// Input of a lasting connection, which starts with a full sync.
pub(crate) struct Stay<'s, 'e> {
    pub(crate) hub: &'s HubClient<'s>,
    pub(crate) engine: &'s SharedEngine<'e>,
    /// Newest person record of this identity.
    pub(crate) person: &'s PersonRecord,
    /// Files of the same state directory.
    pub(crate) files: &'s NodeFiles<'s>,
    /// Notified when texts or receipts wait to be sent.
    pub(crate) said: &'s Notify,
    /// Longest time until another attempt is made for messages that could not be sent or opened.
    pub(crate) retry: Duration,
}

/// Callbacks for the results of a lasting connection.
pub(crate) trait StayEvents {
    /// The initial sync is complete: everything that waited at the start was received, and
    /// everything that waits here was sent.
    fn visited(&self, report: &SyncReport);
    /// Messages arrived or were sent after the initial sync.
    fn noted(&self, report: &SyncReport);
    /// Everything that waited here after the initial sync was sent.
    fn sent(&self, report: &SyncReport);
    /// The hub temporarily accepts nothing. Another attempt follows.
    fn refused(&self, error: SyncError);
}

/// Trigger of the next attempt to send.
#[derive(Clone, Copy)]
enum Next {
    /// New texts, or a timeout if some messages still wait.
    Said(Option<Duration>),
    /// A timeout only, because the hub accepts nothing.
    After(Duration),
    /// Not before this device has new keys.
    Never,
}

impl Stay<'_, '_> {
    /// Runs until `again` completes or an hour has passed. Neither of them ends the initial sync,
    /// unless the hub accepts nothing. This is cancel-safe.
    ///
    /// # Errors
    /// Returns [`SyncError`] if the connection, the hub or the store fails. The call may be
    /// repeated.
    pub(crate) async fn run(
        &self,
        again: impl Future<Output = ()>,
        events: &impl StayEvents,
    ) -> Result<(), SyncError> {
        let mut report = SyncReport::default();
        let visit = async {
            let may_send =
                greet(self.hub, self.engine, self.person, self.files, &mut report).await?;
            let mailbox =
                Mailbox::subscribe(self.hub, self.engine, self.files, &mut report).await?;
            Ok::<_, SyncError>((may_send, mailbox))
        };
        let started = visit.await;
        if started.is_err() {
            events.noted(&report);
        }
        let (may_send, mut mailbox) = started?;
        let (turns, caught_up) = (SendTurns::new(), Cell::new(SyncReport::default()));
        let (mut visit, mut sent) = (Some(report), SyncReport::default());
        let state = &SendState::default();
        let own = self.engine.address();
        let sender = &Sender { hub: self.hub, engine: self.engine, files: self.files, state, own };
        let receiving = async {
            let mut report = SyncReport::default();
            let ended = mailbox.catch_up(turns.opened(), &mut report).await;
            if ended.is_err() {
                events.noted(&report);
            }
            ended?;
            self.engine.with(give_up_unfollowed)?;
            forget_rejoined(self.engine, self.files, &mut report)?;
            // No send takes this over.
            match may_send {
                true => caught_up.set(report),
                false => events.noted(&report),
            }
            turns.end();
            loop {
                let mut report = SyncReport::default();
                let ended = mailbox.wait(Instant::now() + self.retry, &mut report).await;
                forget_rejoined(self.engine, self.files, &mut report)?;
                events.noted(&report);
                ended?;
                self.engine.with(give_up_unfollowed)?;
                // Texts of groups that were behind may be encrypted now.
                let waits = state.has_behind() || has_work(sender)?;
                if waits {
                    self.said.notify_one();
                }
            }
        };
        let sending = async {
            let mut ended = match may_send {
                true => turns.send(&mut sent, async |report| sender.send_all(report).await).await,
                false => Err(SyncError::Restored),
            };
            if ended.is_ok() {
                ended = sender.send_again(&mut sent).await;
            }
            let mut again = pin!(again);
            let mut age = pin!(sleep(RENEWED));
            let mut backoff = Backoff::default();
            backoff.max = self.retry;
            let (mut refusals, mut skips) = (0_u32, 0_u32);
            loop {
                let next = match ended {
                    Ok(()) => {
                        refusals = 0;
                        let waits = sent.mailbox_full
                            || !sent.skipped.is_empty()
                            || self.engine.with(unconfirmed::waits)?;
                        match visit.take() {
                            Some(mut report) => {
                                report.add(caught_up.take());
                                report.add(take(&mut sent));
                                events.visited(&report);
                            }
                            None => events.sent(&take(&mut sent)),
                        }
                        skips = if waits { skips.saturating_add(1) } else { 0 };
                        Next::Said(if state.has_behind() {
                            Some(BEHIND.min(self.retry))
                        } else {
                            waits.then(|| self.wait(&backoff, skips))
                        })
                    }
                    Err(error @ SyncError::Restored) => {
                        // It goes on receiving, so that texts can be read.
                        if let Some(mut visit) = visit.take() {
                            visit.add(caught_up.take());
                            events.noted(&visit);
                        }
                        events.noted(&take(&mut sent));
                        events.refused(error);
                        Next::Never
                    }
                    Err(error) if error.is_refusal_for_now() => {
                        match &mut visit {
                            Some(report) => report.add(take(&mut sent)),
                            None => events.noted(&take(&mut sent)),
                        }
                        events.refused(error);
                        refusals = refusals.saturating_add(1);
                        Next::After(self.wait(&backoff, refusals))
                    }
                    Err(error) => return Err(error),
                };
                tokio::select! {
                    () = self.until(next) => {}
                    () = &mut again => return Ok(()),
                    () = &mut age => return Ok(()),
                }
                for group in state.stuck(self.engine)? {
                    give_up(sender, &group)?;
                }
                ended = sender.send_all(&mut sent).await;
            }
        };
        let ended = tokio::select! {
            ended = receiving => ended,
            ended = sending => ended,
        };
        if ended.is_err() {
            // What was done before the failure.
            let mut report = visit.unwrap_or_default();
            report.add(caught_up.take());
            report.add(sent);
            events.noted(&report);
        }
        ended
    }

    /// Returns the time until the next attempt. Without randomness the longest one is used.
    fn wait(&self, backoff: &Backoff, attempts: u32) -> Duration {
        backoff.wait(attempts, &mut OsRandom).unwrap_or(self.retry)
    }

    /// Waits until an attempt to send may be made.
    async fn until(&self, next: Next) {
        match next {
            Next::Said(None) => self.said.notified().await,
            // The result does not matter: both mean that sending is possible.
            Next::Said(Some(retry)) => drop(timeout(retry, self.said.notified()).await),
            Next::After(wait) => sleep(wait).await,
            Next::Never => pending().await,
        }
    }
}

/// Returns true if there is something to send beside texts: receipts, or changes of groups.
fn has_work(sender: &Sender<'_, '_>) -> Result<bool, EngineError> {
    if sender.engine.with(unconfirmed::is_due)? {
        return Ok(true);
    }
    let known = KnownDocuments::of(sender)?;
    Ok(!sender.engine.transaction(|transaction| known.due(transaction))?.is_empty())
}
