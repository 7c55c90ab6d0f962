//! Loading of the state from a store.

use alloc::collections::{BTreeMap, BTreeSet};

use endseal_store::ReadTransaction;

use super::memory::Memory;
use super::{AppRules, KEPT_SEEN, MAX_APPS, MAX_RULES, MAX_USERS, State};
use crate::error::{LoadError, RecordError};
use crate::log;
use crate::records::app::App;
use crate::records::head::LogHead;
use crate::records::line::LogLine;
use crate::records::rule::RuleRecord;
use crate::records::settings::Settings;
use crate::records::user::User;

impl State {
    /// Reads all records except the log, and the log lines from which events and requests are
    /// remembered.
    pub(crate) fn load(transaction: &ReadTransaction<'_>) -> Result<Self, LoadError> {
        let settings = transaction.record(Settings::KIND, &[])?;
        let settings = settings.ok_or(LoadError::Inconsistent("there are no settings"))?;
        let settings = Settings::from_bytes(&settings)
            .map_err(|error| LoadError::Record(Settings::KIND, error))?;
        let mut state = Self {
            settings,
            users: BTreeMap::new(),
            apps: BTreeMap::new(),
            memory: Memory::default(),
            head: log::head(transaction)?,
        };
        each(transaction, User::KIND, MAX_USERS, |name, value| {
            let user = User::from_bytes(name, value)?;
            state.users.insert(*user.key(), user);
            Ok(())
        })?;
        each(transaction, User::DEVICE_KIND, MAX_USERS - state.users.len(), |name, value| {
            let user = User::device_from_bytes(name, value)?;
            if state.users.insert(*user.key(), user).is_some() {
                return Err(LoadError::Inconsistent("a user has two records").into());
            }
            Ok(())
        })?;
        each(transaction, App::KIND, MAX_APPS, |name, value| {
            let app = App::from_bytes(name, value)?;
            state.apps.insert(app.record_name(), AppRules { app, rules: BTreeMap::new() });
            Ok(())
        })?;
        each(transaction, RuleRecord::KIND, MAX_APPS * MAX_RULES, |name, value| {
            let (app, rule) = RuleRecord::from_bytes(name, value)?;
            let app = state.apps.get_mut(&app);
            let app = app.ok_or(LoadError::Inconsistent("a rule belongs to no app"))?;
            if app.rules.len() == MAX_RULES {
                return Err(LoadError::Inconsistent("an app has too many rules").into());
            }
            app.rules.insert(rule.number(), rule);
            Ok(())
        })?;
        state.check_apps()?;
        check_head(transaction, &state.head)?;
        state.learn_lines(transaction)?;
        Ok(state)
    }

    /// Reads the lines from [`Settings::first_line`] to the last one.
    fn learn_lines(&mut self, transaction: &ReadTransaction<'_>) -> Result<(), LoadError> {
        let Settings { first_line, floor, .. } = self.settings;
        if first_line > self.head.number.saturating_add(1) {
            return Err(LoadError::Inconsistent("the first line is behind the last"));
        }
        let mut name = LogLine::record_name(first_line.saturating_sub(1)).to_vec();
        let last_time = self.last_time(transaction)?;
        let mut next = first_line;
        loop {
            let page = transaction.records_after(LogLine::KIND, &name, PAGE)?;
            let Some((last, _)) = page.last() else { break };
            name.clone_from(last);
            for (name, value) in &page {
                let line = LogLine::from_bytes(name, value)
                    .map_err(|error| LoadError::Record(LogLine::KIND, error))?;
                if line.number != next {
                    return Err(LoadError::Inconsistent("a line that is remembered is missing"));
                }
                next = next.saturating_add(1);
                self.memory.learn(line.number, &line.entry, floor);
            }
            // Decisions are kept for ten minutes, so old ones are dropped to bound the memory.
            self.memory.forget_decisions(|time| time.abs_diff(last_time) > KEPT_SEEN);
        }
        let is_whole = next == self.head.number.saturating_add(1);
        let missing = LoadError::Inconsistent("a line that is remembered is missing");
        if is_whole { Ok(()) } else { Err(missing) }
    }

    /// Returns the time of the last line of the log, or 0 if the log is empty.
    fn last_time(&self, transaction: &ReadTransaction<'_>) -> Result<u64, LoadError> {
        let name = LogLine::record_name(self.head.number);
        let Some(value) = transaction.record(LogLine::KIND, &name)? else { return Ok(0) };
        let line = LogLine::from_bytes(&name, &value);
        line.map(|line| line.entry.time).map_err(|error| LoadError::Record(LogLine::KIND, error))
    }

    fn check_apps(&self) -> Result<(), LoadError> {
        let mut numbers = BTreeSet::new();
        for AppRules { app, .. } in self.apps() {
            if !self.users.contains_key(app.user()) {
                return Err(LoadError::Inconsistent("an app belongs to no user"));
            }
            if app.number() >= self.settings.next_app || !numbers.insert(app.number()) {
                return Err(LoadError::Inconsistent("an app has a number of another"));
            }
        }
        Ok(())
    }
}

/// Checks that the log ends at its head, so that the next line continues it.
fn check_head(transaction: &ReadTransaction<'_>, head: &LogHead) -> Result<(), LoadError> {
    let name = LogLine::record_name(head.number.saturating_sub(1));
    let (from, count) = if head.number == 0 { (&[][..], 0) } else { (&name[..], 1) };
    let last = transaction.records_after(LogLine::KIND, from, 2)?;
    let is_last = last.iter().all(|(name, value)| {
        let hash = LogLine::split(value).map(|(hash, _)| *hash);
        *name.as_slice() == LogLine::record_name(head.number) && hash == Ok(head.hash)
    });
    if is_last && last.len() == count {
        return Ok(());
    }
    Err(LoadError::Inconsistent("the log does not end as its head says"))
}

/// Reason why a record cannot be loaded.
enum Refusal {
    Record(RecordError),
    Load(LoadError),
}

impl From<RecordError> for Refusal {
    fn from(error: RecordError) -> Self {
        Self::Record(error)
    }
}

impl From<LoadError> for Refusal {
    fn from(error: LoadError) -> Self {
        Self::Load(error)
    }
}

/// Calls `take` with name and value of each record of a kind. More than `max` records are an error.
fn each(
    transaction: &ReadTransaction<'_>,
    kind: u32,
    max: usize,
    mut take: impl FnMut(&[u8], &[u8]) -> Result<(), Refusal>,
) -> Result<(), LoadError> {
    // Pages start behind a name, so a record with an empty name would be skipped. No kind has one.
    if transaction.record(kind, &[])?.is_some() {
        return Err(LoadError::Record(kind, RecordError::Length));
    }
    let (mut after, mut count) = (Vec::new(), 0);
    loop {
        let page = transaction.records_after(kind, &after, PAGE)?;
        let Some((last, _)) = page.last() else { return Ok(()) };
        after.clone_from(last);
        count += page.len();
        if count > max {
            return Err(LoadError::Inconsistent("there are more records than a signer keeps"));
        }
        for (name, value) in &page {
            take(name, value).map_err(|refusal| match refusal {
                Refusal::Record(error) => LoadError::Record(kind, error),
                Refusal::Load(error) => error,
            })?;
        }
    }
}

/// Number of records that are read at a time.
const PAGE: usize = 1_024;
