//! State of a signer in memory: all records except the log, and the events and requests that the
//! last log lines record.

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

/// Maximum number of users. Each takes about 100 ms to unlock.
pub const MAX_USERS: usize = 32;
/// Maximum number of apps, including those that ended less than 30 days ago.
pub const MAX_APPS: usize = 1_000;
/// Maximum number of rules of one app.
pub const MAX_RULES: usize = 256;
/// Maximum number of events that are remembered.
pub const MAX_EVENTS: usize = 100_000;
/// Seconds for which events and requests are remembered.
pub const KEPT_SEEN: u64 = 600;
/// Seconds after its end at which an app is removed.
pub const KEPT_ENDED: u64 = 30 * 24 * 3_600;

/// State as of the last commit, plus the changes of the open
/// [`StateTransaction`](crate::StateTransaction), if there is one.
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
pub struct State {
    settings: Settings,
    users: BTreeMap<PublicKey, User>,
    apps: BTreeMap<[u8; 32], AppRules>,
    memory: Memory,
    head: LogHead,
}

/// App with its rules.
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
pub struct AppRules {
    app: App,
    rules: BTreeMap<u32, RuleRecord>,
}

impl AppRules {
    /// Returns the app.
    #[must_use]
    pub const fn app(&self) -> &App {
        &self.app
    }

    /// Returns the rules of the app in the order of their numbers.
    pub fn rules(&self) -> impl ExactSizeIterator<Item = &RuleRecord> {
        self.rules.values()
    }

    /// Returns the rule with this number.
    #[must_use]
    pub fn rule(&self, number: u32) -> Option<&RuleRecord> {
        self.rules.get(&number)
    }
}

impl State {
    /// Returns the settings of the signer.
    #[must_use]
    pub const fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns the user with this public key.
    #[must_use]
    pub fn user(&self, key: &PublicKey) -> Option<&User> {
        self.users.get(key)
    }

    /// Returns all users in the order of their keys.
    pub fn users(&self) -> impl ExactSizeIterator<Item = &User> {
        self.users.values()
    }

    /// Returns the app with this transport public key.
    #[must_use]
    pub fn app(&self, transport: &[u8; 32]) -> Option<&AppRules> {
        self.apps.get(transport)
    }

    /// Returns all apps in the order of their transport public keys.
    pub fn apps(&self) -> impl ExactSizeIterator<Item = &AppRules> {
        self.apps.values()
    }

    /// Returns true if an event with this id was seen and is still remembered.
    #[must_use]
    pub fn has_event(&self, id: &[u8; 32]) -> bool {
        self.memory.has_event(id)
    }

    /// Returns ids and `created_at` of the remembered events, in no particular order.
    pub fn events(&self) -> impl ExactSizeIterator<Item = (&[u8; 32], u64)> {
        self.memory.events()
    }

    /// Returns the remembered decision on the request of an app with this digest.
    #[must_use]
    pub fn request(&self, app: u32, digest: &[u8; 32]) -> Option<&Decision> {
        self.memory.request(app, digest)
    }

    /// Returns the remembered decisions by app and digest, in no particular order.
    pub fn requests(&self) -> impl ExactSizeIterator<Item = (&(u32, [u8; 32]), &Decision)> {
        self.memory.requests()
    }

    /// Returns the end of the audit log.
    #[must_use]
    pub const fn head(&self) -> &LogHead {
        &self.head
    }
}
