//! Replies.

use core::fmt;

use serde::{Deserialize, Serialize};

use super::{GrantEffect, Rate, SecretText};

/// Reply to a command that succeeded.
#[allow(missing_debug_implementations, reason = "it holds secrets")]
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Reply {
    /// Nothing more to say.
    Done,
    /// State of the signer.
    Status(Status),
    /// A user was imported: the public key in hexadecimal.
    Imported(String),
    /// An app was made.
    Invited {
        /// Number of the app.
        app: u32,
        /// `bunker://`, with the secret; absent for a client's URI.
        uri: Option<SecretText>,
    },
    /// Apps.
    Apps(Vec<AppView>),
    /// Numbers of the rules that were added.
    Granted(Vec<u32>),
    /// Requests that wait.
    Waiting(Vec<WaitingView>),
    /// A decision and its reasons.
    Explained {
        /// `allow`, `deny`, `limit` or `ask`.
        verdict: String,
        /// Number of the rule that decided.
        rule: Option<u32>,
        /// Reasons, a line each.
        reasons: String,
    },
    /// Lines of the audit log.
    Lines(Vec<LineView>),
    /// The audit log is whole.
    Verified {
        /// Number of the last line.
        lines: u64,
        /// Hash of the last line in hexadecimal.
        hash: String,
    },
    /// A link.
    Link(SecretText),
}

/// State of the signer.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[allow(clippy::exhaustive_structs, reason = "a view")]
pub struct Status {
    /// True while the users' keys are in memory.
    pub unlocked: bool,
    /// Users.
    pub users: Vec<UserView>,
    /// Relays of the signer.
    pub relays: Vec<String>,
    /// Those of them that are connected: while it runs and has an app.
    pub connected: Vec<String>,
    /// Apps that have not ended.
    pub apps: usize,
    /// Requests that wait for a decision.
    pub waiting: usize,
}

/// A user.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[allow(clippy::exhaustive_structs, reason = "a view")]
pub struct UserView {
    /// Public key in hexadecimal.
    pub public_key: String,
    /// Label.
    pub label: String,
}

/// State of an app.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(clippy::exhaustive_enums, reason = "the specification has these")]
pub enum AppState {
    /// It waits for its client.
    Invited,
    /// It has a client.
    Paired,
    /// Its time is over.
    Expired,
    /// It was revoked.
    Revoked,
    /// Its client logged out.
    LoggedOut,
}

/// Beginning of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(clippy::exhaustive_enums, reason = "NIP-46 has these")]
pub enum Flow {
    /// The signer's URI.
    Bunker,
    /// The client's URI.
    Nostrconnect,
}

/// An app.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[allow(clippy::exhaustive_structs, reason = "a view")]
pub struct AppView {
    /// Number.
    pub number: u32,
    /// Name.
    pub name: String,
    /// State.
    pub state: AppState,
    /// Beginning of the connection.
    pub flow: Flow,
    /// Public key of the user in hexadecimal.
    pub user: String,
    /// Transport public key in hexadecimal.
    pub signer: String,
    /// Key of the client in hexadecimal.
    pub client: Option<String>,
    /// Name that the client claims.
    pub claimed_name: String,
    /// URL that the client claims.
    pub claimed_url: String,
    /// Seconds since 1970.
    pub made: u64,
    /// Seconds since 1970.
    pub expires: Option<u64>,
    /// Relays.
    pub relays: Vec<String>,
    /// Rules.
    pub rules: Vec<RuleView>,
}

/// A rule.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[allow(clippy::exhaustive_structs, reason = "a view")]
pub struct RuleView {
    /// Number within its app.
    pub number: u32,
    /// Effect.
    pub effect: GrantEffect,
    /// Text (`docs/spec/nostr-connect.md`).
    pub text: String,
    /// Seconds since 1970.
    pub expires: Option<u64>,
    /// Uses in all.
    pub uses: Option<u32>,
    /// Uses in a window.
    pub rate: Option<Rate>,
    /// Uses until now.
    pub used: u32,
}

/// A request that waits.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[allow(clippy::exhaustive_structs, reason = "a view")]
pub struct WaitingView {
    /// Number.
    pub id: u32,
    /// Name of the app.
    pub app: String,
    /// Method.
    pub method: String,
    /// Kind of the event.
    pub kind: Option<u16>,
    /// Peer in hexadecimal.
    pub peer: Option<String>,
    /// URL and method, or relay, of kinds 27235 and 22242.
    pub scope: Option<String>,
    /// Content, shortened, without control and direction characters.
    pub content: String,
    /// Time of the event in seconds since 1970.
    pub created_at: Option<u64>,
    /// The first 20 tags of the event, each with its values, as the content.
    pub tags: Vec<String>,
    /// Number of its tags.
    pub tag_count: usize,
    /// Seconds until it is refused.
    pub seconds: u64,
}

/// A line of the audit log.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[allow(clippy::exhaustive_structs, reason = "a view")]
pub struct LineView {
    /// Number.
    pub number: u64,
    /// Seconds since 1970.
    pub time: u64,
    /// Matter, as in `docs/spec/signer.md` with `_` for spaces.
    pub matter: String,
    /// Name of the app or label.
    pub name: String,
    /// Number of the app.
    pub app: Option<u32>,
    /// Method.
    pub method: Option<String>,
    /// Kind.
    pub kind: Option<u16>,
    /// Peer in hexadecimal.
    pub peer: Option<String>,
    /// Verdict.
    pub verdict: Option<String>,
    /// Rule.
    pub rule: Option<u32>,
    /// Id of the event that was signed, in hexadecimal.
    pub signed: Option<String>,
    /// Digest of the request, in hexadecimal.
    pub request: Option<String>,
    /// Hash of the line in hexadecimal.
    pub hash: String,
}

/// Cause why a command failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CommandError {
    /// There is no such app.
    NoApp(String),
    /// There is no such rule.
    NoRule(u32),
    /// No request with this number waits.
    NotWaiting(u32),
    /// An app has this name.
    NameTaken(String),
    /// There is no user, several of them, or none with this key.
    User(String),
    /// A text is malformed: of a rule, a URI, a relay, a name, an action.
    Invalid(String),
    /// An allowance of kind 22242 or 27235 names no relay or URL, or lasts too long.
    Credential(String),
    /// A limit is reached.
    Limit(String),
    /// The signer has no relays.
    NoRelays,
    /// The signer is locked.
    Locked,
    /// The passphrase is wrong.
    Passphrase,
    /// A user's key is in the signer already.
    Exists(String),
    /// The signer must be stopped for this.
    Running,
    /// As many commands wait as there may be.
    Busy,
    /// The signer does not run, so that nothing waits and nothing can be unlocked.
    NotRunning,
    /// The audit log is not whole: number of the line, and the cause.
    Broken(u64, String),
    /// The store failed.
    Store(String),
}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoApp(name) => write!(f, "there is no app '{name}'"),
            Self::NoRule(number) => write!(f, "the app has no rule {number}"),
            Self::NotWaiting(id) => write!(f, "no request {id} waits for a decision"),
            Self::NameTaken(name) => write!(f, "an app has the name '{name}'"),
            Self::User(cause)
            | Self::Invalid(cause)
            | Self::Credential(cause)
            | Self::Limit(cause) => f.write_str(cause),
            Self::NoRelays => f.write_str("the signer has no relays"),
            Self::Locked => f.write_str("the signer is locked"),
            Self::Passphrase => f.write_str("the passphrase is wrong"),
            Self::Exists(key) => write!(f, "the key {key} is in the signer already"),
            Self::Running => f.write_str("the signer runs"),
            Self::Busy => f.write_str("too many commands wait"),
            Self::NotRunning => f.write_str("the signer does not run"),
            Self::Broken(_, cause) => f.write_str(cause),
            Self::Store(cause) => write!(f, "the store failed: {cause}"),
        }
    }
}

impl core::error::Error for CommandError {}
