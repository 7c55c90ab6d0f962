//! The state in force, in memory: all records but the lines of the log, and what the last of these
//! say about events and requests.

mod load;
pub(crate) mod memory;
pub(crate) mod transaction;

use alloc::collections::BTreeMap;

use endseal_nostr::key::PublicKey;

use self::memory::{Decision, Memory};
use crate::records::app::App;
use crate::records::head::LogHead;
use crate::records::rule::RuleRecord;
use crate::records::settings::Settings;
use crate::records::user::User;

/// Most users: each takes about 100 ms to unlock.
pub const MAX_USERS: usize = 32;
/// Most apps, those that ended less than 30 days ago among them.
pub const MAX_APPS: usize = 1_000;
/// Most rules of one app.
pub const MAX_RULES: usize = 256;
/// Most events that are remembered.
pub const MAX_EVENTS: usize = 100_000;
/// Seconds for which events and requests are remembered.
pub const KEPT_SEEN: u64 = 600;
/// Seconds after its end at which an app is removed.
pub const KEPT_ENDED: u64 = 30 * 24 * 3_600;

/// The state as of the last commit, with the changes of the
/// [`StateTransaction`](crate::StateTransaction) that is open.
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
pub struct State {
    settings: Settings,
    users: BTreeMap<PublicKey, User>,
    apps: BTreeMap<[u8; 32], AppRules>,
    memory: Memory,
    head: LogHead,
}

/// An app with its rules.
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
pub struct AppRules {
    app: App,
    rules: BTreeMap<u32, RuleRecord>,
}

impl AppRules {
    /// The app.
    #[must_use]
    pub const fn app(&self) -> &App {
        &self.app
    }

    /// Its rules, in the order of their numbers.
    pub fn rules(&self) -> impl ExactSizeIterator<Item = &RuleRecord> {
        self.rules.values()
    }

    /// The rule of a number.
    #[must_use]
    pub fn rule(&self, number: u32) -> Option<&RuleRecord> {
        self.rules.get(&number)
    }
}

impl State {
    /// Settings of the signer.
    #[must_use]
    pub const fn settings(&self) -> &Settings {
        &self.settings
    }

    /// A user.
    #[must_use]
    pub fn user(&self, key: &PublicKey) -> Option<&User> {
        self.users.get(key)
    }

    /// Users, in the order of their keys.
    pub fn users(&self) -> impl ExactSizeIterator<Item = &User> {
        self.users.values()
    }

    /// The app with this transport key.
    #[must_use]
    pub fn app(&self, transport: &[u8; 32]) -> Option<&AppRules> {
        self.apps.get(transport)
    }

    /// Apps, in the order of their transport keys.
    pub fn apps(&self) -> impl ExactSizeIterator<Item = &AppRules> {
        self.apps.values()
    }

    /// Returns true if an event was seen.
    #[must_use]
    pub fn has_event(&self, id: &[u8; 32]) -> bool {
        self.memory.has_event(id)
    }

    /// Ids and `created_at` of events that were seen and not forgotten, in no order.
    pub fn events(&self) -> impl ExactSizeIterator<Item = (&[u8; 32], u64)> {
        self.memory.events()
    }

    /// The decision about the request of an app with this digest.
    #[must_use]
    pub fn request(&self, app: u32, digest: &[u8; 32]) -> Option<&Decision> {
        self.memory.request(app, digest)
    }

    /// Requests that were decided and not forgotten, by app and digest, in no order.
    pub fn requests(&self) -> impl ExactSizeIterator<Item = (&(u32, [u8; 32]), &Decision)> {
        self.memory.requests()
    }

    /// End of the audit log.
    #[must_use]
    pub const fn head(&self) -> &LogHead {
        &self.head
    }
}
