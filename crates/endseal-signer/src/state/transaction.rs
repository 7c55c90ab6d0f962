//! Transactions that change the state.

use core::ops::Deref;

use endseal_nostr::key::PublicKey;
use endseal_store::{StoreError, WriteTransaction};

use super::{AppRules, KEPT_ENDED, KEPT_SEEN, MAX_APPS, MAX_EVENTS, MAX_RULES, MAX_USERS, State};
use crate::error::{StateError, StateLimit};
use crate::records::app::{App, AppState, check_relays};
use crate::records::head::LogHead;
use crate::records::line::{LogEntry, LogLine, write_body};
use crate::records::rule::RuleRecord;
use crate::records::settings::Settings;
use crate::records::user::User;
use crate::text::{BoundedText, MAX_TEXT};

/// Changes of the state that are recorded together. Reading it returns the [`State`] with these
/// changes.
///
/// A refused change has no effect, and the transaction can be continued. After
/// [`StateError::Store`] it can only be dropped. If it is dropped without [`Self::commit`] after a
/// change, the state is stale.
#[allow(missing_debug_implementations, reason = "nothing of it is for people")]
pub struct StateTransaction<'s> {
    store: WriteTransaction<'s>,
    state: &'s mut State,
    /// True from the first change until the commit.
    is_stale: &'s mut bool,
}

/// Numbers of records that [`StateTransaction::prune`] removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Expired {
    /// Number of events that were forgotten.
    pub events: usize,
    /// Number of decisions on requests that were forgotten.
    pub requests: usize,
    /// Number of apps that were removed.
    pub apps: usize,
}

impl Deref for StateTransaction<'_> {
    type Target = State;

    fn deref(&self) -> &State {
        self.state
    }
}

impl<'s> StateTransaction<'s> {
    pub(crate) fn new(
        store: WriteTransaction<'s>,
        state: &'s mut State,
        is_stale: &'s mut bool,
    ) -> Self {
        Self { store, state, is_stale }
    }

    /// Makes all changes durable. Responses MUST NOT be sent before it returns.
    ///
    /// # Errors
    /// [`StoreError`] if the commit failed. The state is stale then.
    pub fn commit(self) -> Result<(), StoreError> {
        *self.is_stale = true;
        self.store.commit()?;
        *self.is_stale = false;
        Ok(())
    }

    /// Appends a line to the audit log and returns its number and hash. The event and the decision
    /// of the entry are remembered.
    ///
    /// # Errors
    /// [`StateError::Store`] if the store fails.
    pub fn append(&mut self, entry: LogEntry) -> Result<LogHead, StateError> {
        let number = self.state.head.number.saturating_add(1);
        let head = self.state.head.after(&write_body(number, &entry));
        self.state.memory.learn(number, &entry, 0);
        let line = LogLine { number, hash: head.hash, entry };
        self.put(LogLine::KIND, &LogLine::record_name(number), &line.to_bytes())?;
        self.put(LogHead::KIND, &[], &head.to_bytes())?;
        self.state.head = head;
        Ok(head)
    }

    /// Removes the lines `after + 1` to `last` from the log, which begins behind them from then on.
    /// The caller has copied them and continues where the log begins. Lines from
    /// [`Settings::first_line`] on MUST stay.
    ///
    /// # Errors
    /// [`StateError::Store`] if the store fails.
    pub(crate) fn remove_lines(&mut self, after: u64, last: &LogHead) -> Result<(), StateError> {
        *self.is_stale = true;
        for number in after.saturating_add(1)..=last.number {
            self.store.remove_record(LogLine::KIND, &LogLine::record_name(number))?;
        }
        self.put(LogHead::START_KIND, &[], &last.to_bytes())
    }

    /// Sets the relays of the signer and of new apps.
    ///
    /// # Errors
    /// [`StateError::Limit`] if there are more than 8 relays or one is empty.
    pub fn set_relays(&mut self, relays: Vec<BoundedText<MAX_TEXT>>) -> Result<(), StateError> {
        check_relays(&relays).map_err(|_| StateError::Limit(StateLimit::Relays))?;
        self.put_settings(Settings { relays, ..self.state.settings.clone() })
    }

    /// Refuses requests that are encrypted with NIP-04, or accepts them.
    ///
    /// # Errors
    /// [`StateError`] if the settings cannot be written.
    pub fn refuse_nip04(&mut self, refuses_nip04: bool) -> Result<(), StateError> {
        self.put_settings(Settings { refuses_nip04, ..self.state.settings.clone() })
    }

    /// Adds a user with an encrypted key.
    ///
    /// # Errors
    /// [`StateError::UserExists`] if the key is already there, [`StateError::Limit`] if there are
    /// too many users.
    pub fn add_user(&mut self, user: User) -> Result<(), StateError> {
        if self.users.contains_key(user.key()) {
            return Err(StateError::UserExists);
        }
        check(self.users.len(), MAX_USERS, StateLimit::Users)?;
        self.put(user.kind(), &user.name(), &user.to_bytes())?;
        self.state.users.insert(*user.key(), user);
        Ok(())
    }

    /// Removes a user, the encrypted key and all apps of this user.
    ///
    /// # Errors
    /// [`StateError::UnknownUser`] if the signer has no such user.
    pub fn remove_user(&mut self, key: &PublicKey) -> Result<(), StateError> {
        let Some((kind, name)) = self.users.get(key).map(|it| (it.kind(), it.name())) else {
            return Err(StateError::UnknownUser);
        };
        let apps = self.apps().map(AppRules::app).filter(|app| app.user() == key);
        let apps: Vec<_> = apps.map(App::record_name).collect();
        apps.iter().try_for_each(|app| self.remove_app(app))?;
        *self.is_stale = true;
        self.store.remove_record(kind, &name)?;
        self.state.users.remove(key);
        Ok(())
    }

    /// Replaces the record of a user.
    ///
    /// # Errors
    /// [`StateError::UnknownUser`] if the signer has no such user.
    pub(crate) fn replace_user(&mut self, user: User) -> Result<(), StateError> {
        if !self.users.contains_key(user.key()) {
            return Err(StateError::UnknownUser);
        }
        self.put(user.kind(), &user.name(), &user.to_bytes())?;
        self.state.users.insert(*user.key(), user);
        Ok(())
    }

    /// Adds an app. Its number must be [`Settings::next_app`].
    ///
    /// # Errors
    /// [`StateError::AppNumber`] for another number or a transport key in use,
    /// [`StateError::UnknownUser`] if the app's user does not exist, [`StateError::Limit`] if there
    /// are too many apps.
    pub fn add_app(&mut self, app: App) -> Result<(), StateError> {
        let (name, number) = (app.record_name(), self.settings.next_app);
        if app.number() != number || self.apps.contains_key(&name) {
            return Err(StateError::AppNumber);
        }
        if !self.users.contains_key(app.user()) {
            return Err(StateError::UnknownUser);
        }
        check(self.apps.len(), MAX_APPS, StateLimit::Apps)?;
        let next_app = number.checked_add(1).ok_or(StateError::Limit(StateLimit::Apps))?;
        self.put_settings(Settings { next_app, ..self.state.settings.clone() })?;
        self.put(App::KIND, &name, &app.to_bytes())?;
        self.state.apps.insert(name, AppRules { app, rules: Default::default() });
        Ok(())
    }

    /// Changes an app with `change` and returns its result.
    ///
    /// # Errors
    /// [`StateError::UnknownApp`] if no app has this transport key.
    pub fn update_app<T>(
        &mut self,
        transport: &[u8; 32],
        change: impl FnOnce(&mut App) -> T,
    ) -> Result<T, StateError> {
        let entry = self.state.apps.get_mut(transport).ok_or(StateError::UnknownApp)?;
        *self.is_stale = true;
        let result = change(&mut entry.app);
        self.store.put_record(App::KIND, transport, &entry.app.to_bytes())?;
        Ok(result)
    }

    /// Removes an app with its rules and its transport key.
    ///
    /// # Errors
    /// [`StateError::UnknownApp`] if no app has this transport key.
    pub fn remove_app(&mut self, transport: &[u8; 32]) -> Result<(), StateError> {
        let entry = self.state.apps.get(transport).ok_or(StateError::UnknownApp)?;
        *self.is_stale = true;
        for number in entry.rules.keys() {
            let name = RuleRecord::record_name(transport, *number);
            self.store.remove_record(RuleRecord::KIND, &name)?;
        }
        self.store.remove_record(App::KIND, transport)?;
        self.state.apps.remove(transport);
        Ok(())
    }

    /// Adds a rule to an app, or replaces the rule with the same number.
    ///
    /// # Errors
    /// [`StateError::UnknownApp`] if the app does not exist, [`StateError::Limit`] if it has too
    /// many rules.
    pub fn put_rule(&mut self, transport: &[u8; 32], rule: RuleRecord) -> Result<(), StateError> {
        let entry = self.state.apps.get_mut(transport).ok_or(StateError::UnknownApp)?;
        if !entry.rules.contains_key(&rule.number()) {
            check(entry.rules.len(), MAX_RULES, StateLimit::Rules)?;
        }
        *self.is_stale = true;
        let name = RuleRecord::record_name(transport, rule.number());
        self.store.put_record(RuleRecord::KIND, &name, &rule.to_bytes())?;
        entry.rules.insert(rule.number(), rule);
        Ok(())
    }

    /// Removes a rule. Returns false if the app has no rule with this number.
    ///
    /// # Errors
    /// [`StateError::UnknownApp`] if the app does not exist.
    pub fn remove_rule(&mut self, transport: &[u8; 32], number: u32) -> Result<bool, StateError> {
        let entry = self.state.apps.get_mut(transport).ok_or(StateError::UnknownApp)?;
        if !entry.rules.contains_key(&number) {
            return Ok(false);
        }
        *self.is_stale = true;
        self.store.remove_record(RuleRecord::KIND, &RuleRecord::record_name(transport, number))?;
        entry.rules.remove(&number);
        Ok(true)
    }

    /// Remembers an event. The caller has compared its `created_at` with the clock. Returns false
    /// if the event was seen before. A restart forgets the event unless a log line names it. `app`
    /// is the number of its app.
    ///
    /// # Errors
    /// [`StateError::Floor`] if the event is not newer than the floor, [`StateError::Limit`] if too
    /// many events are remembered: all that is possible, or half of it, and the app has its share
    /// of the other half.
    pub fn note_event(
        &mut self,
        id: [u8; 32],
        created_at: u64,
        app: u32,
    ) -> Result<bool, StateError> {
        if self.has_event(&id) {
            return Ok(false);
        }
        if created_at <= self.settings.floor {
            return Err(StateError::Floor);
        }
        let half = MAX_EVENTS / 2;
        let is_above_share =
            self.events().len() >= half && self.memory.of_app(app) >= half / self.apps.len().max(1);
        let max = if is_above_share { 0 } else { MAX_EVENTS };
        check(self.events().len(), max, StateLimit::Events)?;
        *self.is_stale = true;
        self.state.memory.note(id, created_at, app);
        Ok(true)
    }

    /// Forgets events and requests that are older than 10 minutes, and raises the floor to the
    /// newest of these events. Removes apps that were revoked or logged out, or whose invitation
    /// expired, more than 30 days ago. Paired apps that expired are kept, because a clock jump must
    /// not remove them. It scans all remembered events, so callers run it once a minute and not in
    /// each transaction.
    ///
    /// # Errors
    /// [`StateError::Store`] if the store fails.
    pub fn prune(&mut self, now: u64) -> Result<Expired, StateError> {
        let is_old = |time: u64, kept: u64| time.saturating_add(kept) < now;
        let is_over = |app: &App| {
            let is_paired = matches!(app.state(), AppState::Paired { .. });
            !is_paired && app.end().is_some_and(|end| is_old(end, KEPT_ENDED))
        };
        let apps = self.apps().map(AppRules::app).filter(|app| is_over(app));
        let apps: Vec<[u8; 32]> = apps.map(App::record_name).collect();

        *self.is_stale = true;
        let forgotten = self.state.memory.forget(|time| is_old(time, KEPT_SEEN));
        let floor = self.settings.floor.max(forgotten.last.unwrap_or_default());
        let next = self.head.number.saturating_add(1);
        let first_line = self.state.memory.first_line().unwrap_or(next);
        if (floor, first_line) != (self.settings.floor, self.settings.first_line) {
            self.put_settings(Settings { floor, first_line, ..self.state.settings.clone() })?;
        }
        apps.iter().try_for_each(|app| self.remove_app(app))?;
        Ok(Expired { events: forgotten.events, requests: forgotten.requests, apps: apps.len() })
    }

    fn put_settings(&mut self, settings: Settings) -> Result<(), StateError> {
        self.put(Settings::KIND, &[], &settings.to_bytes())?;
        self.state.settings = settings;
        Ok(())
    }

    fn put(&mut self, kind: u32, name: &[u8], value: &[u8]) -> Result<(), StateError> {
        *self.is_stale = true;
        Ok(self.store.put_record(kind, name, value)?)
    }
}

/// Checks that one more record does not exceed `max`.
fn check(len: usize, max: usize, limit: StateLimit) -> Result<(), StateError> {
    if len < max { Ok(()) } else { Err(StateError::Limit(limit)) }
}
