//! Changes of the state, all or nothing.

use core::ops::Deref;

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

/// Changes that are recorded together. It reads as the [`State`] with them.
///
/// A change that is refused changes nothing, and the transaction can go on, except after
/// [`StateError::Store`], where it can only be dropped. Dropped without [`Self::commit`] after a
/// change, it leaves the state stale.
#[allow(missing_debug_implementations, reason = "nothing of it is for people")]
pub struct StateTransaction<'s> {
    store: WriteTransaction<'s>,
    state: &'s mut State,
    /// True from the first change to the commit.
    is_stale: &'s mut bool,
}

/// Numbers of those that were forgotten or removed because their time was over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Expired {
    /// Events.
    pub events: usize,
    /// Requests.
    pub requests: usize,
    /// Apps.
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

    /// Makes everything durable. Only then may an answer leave.
    ///
    /// # Errors
    /// [`StoreError`]; the state is stale then.
    pub fn commit(self) -> Result<(), StoreError> {
        *self.is_stale = true;
        self.store.commit()?;
        *self.is_stale = false;
        Ok(())
    }

    /// Appends a line to the audit log. Returns its number and hash. The event that carried the
    /// request and the decision are remembered.
    ///
    /// # Errors
    /// [`StateError`].
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

    /// Sets the relays of new apps.
    ///
    /// # Errors
    /// [`StateError::Limit`] for more than 8, or an empty one.
    pub fn set_relays(&mut self, relays: Vec<BoundedText<MAX_TEXT>>) -> Result<(), StateError> {
        check_relays(&relays).map_err(|_| StateError::Limit(StateLimit::Relays))?;
        self.put_settings(Settings { relays, ..self.state.settings.clone() })
    }

    /// Adds a user.
    ///
    /// # Errors
    /// [`StateError::UserExists`], [`StateError::Limit`].
    pub fn add_user(&mut self, user: User) -> Result<(), StateError> {
        if self.users.contains_key(user.key()) {
            return Err(StateError::UserExists);
        }
        check(self.users.len(), MAX_USERS, StateLimit::Users)?;
        self.put(User::KIND, &user.name(), &user.to_bytes())?;
        self.state.users.insert(*user.key(), user);
        Ok(())
    }

    /// Adds an app with the number [`Settings::next_app`].
    ///
    /// # Errors
    /// [`StateError::AppNumber`], [`StateError::UnknownUser`], [`StateError::Limit`].
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

    /// Changes an app and returns the result of `change`.
    ///
    /// # Errors
    /// [`StateError::UnknownApp`].
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
    /// [`StateError::UnknownApp`].
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

    /// Adds a rule to an app, or puts it in the place of the one with its number.
    ///
    /// # Errors
    /// [`StateError::UnknownApp`], [`StateError::Limit`].
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

    /// Removes a rule. Returns false if the app has none of this number.
    ///
    /// # Errors
    /// [`StateError::UnknownApp`].
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

    /// Remembers an event, whose `created_at` the caller has compared with the clock. Returns false
    /// if it was seen before. A restart forgets it unless a line names it.
    ///
    /// # Errors
    /// [`StateError::Floor`], [`StateError::Limit`].
    pub fn note_event(&mut self, id: [u8; 32], created_at: u64) -> Result<bool, StateError> {
        if self.has_event(&id) {
            return Ok(false);
        }
        if created_at <= self.settings.floor {
            return Err(StateError::Floor);
        }
        check(self.events().len(), MAX_EVENTS, StateLimit::Events)?;
        *self.is_stale = true;
        self.state.memory.note(id, created_at);
        Ok(true)
    }

    /// Forgets events and requests that are older than 10 minutes, and removes apps that were
    /// revoked or logged out, or whose invitation expired, more than 30 days ago. Paired apps that
    /// expired stay, as a clock that jumps must not remove them. Raises the floor to the last of
    /// the events. It looks at all of them: a caller prunes once a minute, and not in each
    /// transaction.
    ///
    /// # Errors
    /// [`StateError`].
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

/// Checks that one more is not above `max`.
fn check(len: usize, max: usize, limit: StateLimit) -> Result<(), StateError> {
    if len < max { Ok(()) } else { Err(StateError::Limit(limit)) }
}
