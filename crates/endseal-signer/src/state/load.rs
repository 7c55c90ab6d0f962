//! Loading of the state.

use alloc::collections::{BTreeMap, BTreeSet};
use std::collections::HashMap;

use endseal_store::ReadTransaction;

use super::{AppRules, MAX_APPS, MAX_EVENTS, MAX_REQUESTS, MAX_RULES, MAX_USERS, State};
use crate::error::{LoadError, RecordError};
use crate::log;
use crate::records::app::App;
use crate::records::event::EventRecord;
use crate::records::head::LogHead;
use crate::records::line::LogLine;
use crate::records::request::RequestRecord;
use crate::records::rule::RuleRecord;
use crate::records::settings::Settings;
use crate::records::user::User;

impl State {
    /// Reads everything but the lines of the log, of which it reads the last.
    pub(crate) fn load(transaction: &ReadTransaction<'_>) -> Result<Self, LoadError> {
        let settings = transaction.record(Settings::KIND, &[])?;
        let settings = settings.ok_or(LoadError::Inconsistent("there are no settings"))?;
        let settings = Settings::from_bytes(&settings)
            .map_err(|error| LoadError::Record(Settings::KIND, error))?;
        let mut state = Self {
            settings,
            users: BTreeMap::new(),
            apps: BTreeMap::new(),
            events: HashMap::new(),
            requests: HashMap::new(),
            head: log::head(transaction)?,
        };
        each(transaction, User::KIND, MAX_USERS, |name, value| {
            let user = User::from_bytes(name, value)?;
            state.users.insert(*user.key(), user);
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
        each(transaction, EventRecord::KIND, MAX_EVENTS, |name, value| {
            let event = EventRecord::from_bytes(name, value)?;
            state.events.insert(event.id, event.created_at);
            Ok(())
        })?;
        each(transaction, RequestRecord::KIND, MAX_REQUESTS, |name, value| {
            let (key, request) = RequestRecord::from_bytes(name, value)?;
            state.requests.insert(key, request);
            Ok(())
        })?;
        state.check_apps()?;
        check_head(transaction, &state.head)?;
        Ok(state)
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

/// Checks that the log ends with its head, so that the next line continues what is there.
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

/// Cause why a record is not taken.
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

/// Calls `take` with name and value of each record of a kind, of which there are at most `max`.
fn each(
    transaction: &ReadTransaction<'_>,
    kind: u32,
    max: usize,
    mut take: impl FnMut(&[u8], &[u8]) -> Result<(), Refusal>,
) -> Result<(), LoadError> {
    // No kind has records without a name, behind which pages begin.
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

/// Records that are read at a time.
const PAGE: usize = 1_024;
