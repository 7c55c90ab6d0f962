//! State of the connection to the hub, and counts of the events on it.

use core::cell::{Cell, RefCell};

use endseal_transport::Endpoint;
use tokio::sync::{Notify, watch};

use super::event::ServiceEvent;
use super::syncs::Syncs;
use crate::api::{Error, ErrorKind};
use crate::messages::{PersonTexts, StayEvents, SyncError, SyncReport};

/// Connection state that was reported last.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Told {
    Nothing,
    Connected,
    Disconnected,
    Refused,
}

/// Reason why the hub does not serve this device.
#[derive(Clone)]
pub(super) struct Failure {
    pub(super) error: Error,
    /// True if the hub said so, and not who answered in its place, and no attempt will succeed
    /// until a person acts.
    pub(super) is_final: bool,
}

/// State that the components of a service share. They all run in one task.
pub(super) struct HubState<'n> {
    notify: &'n dyn Fn(ServiceEvent),
    /// Notified when texts wait to be sent.
    pub(super) said: Notify,
    pub(super) syncs: Syncs,
    endpoint: RefCell<Option<Endpoint>>,
    told: Cell<Told>,
    /// The last failure, until the hub serves this device again.
    failure: watch::Sender<Option<Failure>>,
    is_full: Cell<bool>,
    problems: Cell<u64>,
    lost: Cell<u64>,
    /// True if states in the log of the store were replaced since the last maintenance.
    is_worked_with: Cell<bool>,
}

impl<'n> HubState<'n> {
    pub(super) fn new(notify: &'n dyn Fn(ServiceEvent)) -> Self {
        Self {
            notify,
            said: Notify::new(),
            syncs: Syncs::default(),
            endpoint: RefCell::new(None),
            told: Cell::new(Told::Nothing),
            failure: watch::Sender::default(),
            is_full: Cell::new(false),
            problems: Cell::new(0),
            lost: Cell::new(0),
            is_worked_with: Cell::new(false),
        }
    }

    /// Returns a receiver of the last failure, which is `None` once the hub serves this device.
    pub(super) fn failure(&self) -> watch::Receiver<Option<Failure>> {
        self.failure.subscribe()
    }

    /// Returns the reason why the hub does not serve this device.
    pub(super) fn cause(&self) -> Option<String> {
        self.failure.borrow().as_ref().map(|it| it.error.to_string())
    }

    pub(super) fn is_connected(&self) -> bool {
        self.endpoint.borrow().is_some()
    }

    /// Takes the endpoint of the connection, if there is one. The next call returns `None`.
    pub(super) fn endpoint(&self) -> Option<Endpoint> {
        self.endpoint.take()
    }

    pub(super) fn connected(&self, endpoint: Endpoint) {
        self.endpoint.replace(Some(endpoint));
    }

    /// Reports a failed attempt to connect, or to stay connected if `is_of_hub`.
    pub(super) fn failed(&self, error: &Error, is_of_hub: bool) {
        let is_final = is_of_hub && error.kind == (ErrorKind::Hub { is_transient: false });
        self.failure.send_replace(Some(Failure { error: error.clone(), is_final }));
        self.attempt_failed(error);
    }

    fn attempt_failed(&self, error: &Error) {
        let is_refusal = error.kind == (ErrorKind::Hub { is_transient: false });
        let cause = error.to_string();
        if is_refusal {
            self.tell(Told::Refused, || ServiceEvent::Refused { cause });
        } else {
            self.tell(Told::Disconnected, || ServiceEvent::Disconnected { cause });
        }
        self.syncs.failed(error);
    }

    /// Adds the counts of a report.
    fn note(&self, report: &SyncReport) {
        if report.received + report.encrypted + report.sent + report.receipts > 0 {
            self.is_worked_with.set(true);
        }
        let count = |rows: &[PersonTexts]| rows.iter().map(|row| row.texts).sum::<u64>();
        let (requests, no_room) = (count(&report.requests), count(&report.no_room));
        let blocked = count(&report.blocked);
        if requests + no_room + blocked > 0 {
            (self.notify)(ServiceEvent::Unasked { requests, no_room, blocked });
        }
        let (teams, left) = (report.teams.len() as u64, report.left.len() as u64);
        let (departures, replaced) = (report.departures.len() as u64, report.replaced.len() as u64);
        let changes = report.team_changes.len() as u64;
        if teams + left + departures + replaced + changes > 0 {
            (self.notify)(ServiceEvent::Membership { teams, left, departures, replaced, changes });
        }
        for hub_move in &report.hub_moves {
            (self.notify)(ServiceEvent::HubMove(hub_move.clone()));
        }
        let lost: u64 = report.gaps.iter().map(|gap| gap.count.max(1)).sum();
        let lost = lost.saturating_add(u64::from(report.hub_forgot.is_some()));
        self.problems.set(self.problems.get().saturating_add(report.problems));
        self.lost.set(self.lost.get().saturating_add(lost));
    }

    /// Reports the problems since the last call.
    pub(super) fn tell_problems(&self) {
        let (problems, lost) = (self.problems.take(), self.lost.take());
        if problems + lost > 0 {
            (self.notify)(ServiceEvent::Problems { problems, lost });
        }
    }

    pub(super) fn note_work(&self) {
        self.is_worked_with.set(true);
    }

    /// Returns true if the store was used since the last call.
    pub(super) fn was_worked_with(&self) -> bool {
        self.is_worked_with.take()
    }

    /// Replies to the requests that still wait for a sync: the service is stopping.
    pub(super) fn end(&self) {
        self.syncs.failed(&Error::stopping());
    }

    fn note_full(&self, is_full: bool) {
        if self.is_full.replace(is_full) != is_full {
            (self.notify)(ServiceEvent::MailboxFull(is_full));
        }
    }

    fn connected_again(&self) {
        self.failure.send_replace(None);
        self.tell(Told::Connected, || ServiceEvent::Connected);
    }

    fn tell(&self, told: Told, event: impl FnOnce() -> ServiceEvent) {
        if self.told.replace(told) != told {
            (self.notify)(event());
        }
    }
}

impl StayEvents for HubState<'_> {
    fn visited(&self, report: &SyncReport) {
        self.connected_again();
        self.sent(report);
        self.syncs.succeeded(report);
    }

    fn noted(&self, report: &SyncReport) {
        self.note(report);
    }

    fn sent(&self, report: &SyncReport) {
        self.note(report);
        self.note_full(report.mailbox_full);
    }

    fn refused(&self, error: SyncError) {
        if matches!(error, SyncError::Restored) {
            // It still receives.
            self.failure.send_replace(None);
            return self.attempt_failed(&error.into());
        }
        self.connected_again();
        self.syncs.refused(&error.into());
    }
}
