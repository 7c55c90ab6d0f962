//! A stay at the hub: a visit that goes on. What arrives is opened at once, and what is said is
//! sent at once.

use core::time::Duration;

use endseal_codec::hub::Code;
use endseal_keyring::PersonRecord;
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

use super::drain::Mailbox;
use super::error::{HubError, SyncError};
use super::hub::HubClient;
use super::letter_keys::LetterKeys;
use super::report::SyncReport;
use super::shared_engine::SharedEngine;
use super::sync::{greet, send_all};

/// Time after which a stay begins anew, so that the hub does not run out of prekeys.
const RENEWED: Duration = Duration::from_secs(3600);

/// A stay that begins with a visit.
pub(crate) struct Stay<'s, 'e> {
    pub(crate) hub: &'s HubClient<'s>,
    pub(crate) engine: &'s SharedEngine<'e>,
    /// The newest record of this identity.
    pub(crate) person: &'s PersonRecord,
    /// Keys of the same state directory.
    pub(crate) keys: &'s LetterKeys<'s>,
    /// Notified when texts wait to be sent.
    pub(crate) said: &'s Notify,
    /// Time after which what could not be sent is tried again.
    pub(crate) retry: Duration,
}

impl Stay<'_, '_> {
    /// Stays until `again` completes, or an hour has passed; neither ends the visit at the
    /// beginning. `visited` gets the report of the visit, and `received` and `sent` those of what
    /// comes and goes then. May be dropped wherever it waits.
    ///
    /// # Errors
    /// [`SyncError`]; it may be called again.
    pub(crate) async fn run(
        &self,
        again: impl Future<Output = ()>,
        visited: impl Fn(&SyncReport),
        received: impl Fn(&SyncReport),
        sent: impl Fn(&SyncReport),
    ) -> Result<(), SyncError> {
        let mut report = SyncReport::default();
        greet(self.hub, self.engine, self.person, &mut report).await?;
        let mut mailbox = Mailbox::subscribe(self.hub, self.engine, self.keys, &mut report).await?;
        mailbox.catch_up(&mut report).await?;
        let receiving = async {
            loop {
                let mut report = SyncReport::default();
                if mailbox.has_waiting() {
                    // Another visit looks whether the roster has come.
                    match timeout(self.retry, mailbox.wait(&mut report)).await {
                        Ok(waited) => waited?,
                        Err(_) => return Ok(()),
                    }
                } else {
                    mailbox.wait(&mut report).await?;
                }
                received(&report);
            }
        };
        let sending = async {
            let mut waits = self.send(&mut report).await?;
            visited(&report);
            let mut again = core::pin::pin!(again);
            let mut age = core::pin::pin!(sleep(RENEWED));
            loop {
                tokio::select! {
                    () = self.said(waits) => {}
                    () = &mut again => return Ok(()),
                    () = &mut age => return Ok(()),
                }
                let mut report = SyncReport::default();
                waits = self.send(&mut report).await?;
                sent(&report);
            }
        };
        tokio::select! {
            ended = receiving => ended,
            ended = sending => ended,
        }
    }

    /// Waits until something may be sent.
    async fn said(&self, waits: bool) {
        if waits {
            // Either is as good.
            let _ = timeout(self.retry, self.said.notified()).await;
        } else {
            self.said.notified().await;
        }
    }

    /// Sends what can be sent. Returns true if something is to be tried again.
    async fn send(&self, report: &mut SyncReport) -> Result<bool, SyncError> {
        match send_all(self.hub, self.engine, self.keys, report).await {
            Ok(()) => Ok(report.mailbox_full || !report.skipped.is_empty()),
            // The hub takes no more for a while; it delivers all the same.
            Err(SyncError::Hub(HubError::Refused(Code::RATE | Code::STORAGE))) => Ok(true),
            Err(error) => Err(error),
        }
    }
}
