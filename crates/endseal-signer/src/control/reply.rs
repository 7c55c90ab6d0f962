//! Replies to the commands of [`super::Command`].

use serde::{Deserialize, Serialize};

use super::{GrantEffect, Rate, SecretText};

/// Reply to a command that succeeded, of the variant that belongs to the [`super::Command`].
#[allow(missing_debug_implementations, reason = "it holds secrets")]
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Reply {
    /// The command succeeded and has no result.
    Done,
    /// State of the signer, in reply to [`super::Command::Status`].
    Status(Status),
    /// Public key of the imported user in hexadecimal.
    Imported(String),
    /// The app was created.
    Invited {
        /// Number of the new app.
        app: u32,
        /// `bunker://` URI with its secret. Absent if the app was made from a client's URI.
        uri: Option<SecretText>,
        /// Relays of a client's URI, each with its report about the greeting to the client.
        greeted: Vec<GreetedRelay>,
        /// Number of relays of a client's URI that are no WebSocket URLs.
        ignored_relays: usize,
    },
    /// Apps with their rules.
    Apps(Vec<AppView>),
    /// Numbers of the rules that were added.
    Granted(Vec<u32>),
    /// Requests that wait for a decision.
    Waiting(Vec<WaitingView>),
    /// Decision that a request would get now, and its reasons.
    Explained {
        /// `allow`, `deny`, `limit` or `ask`.
        verdict: String,
        /// Number of the rule that decided, if a rule did.
        rule: Option<u32>,
        /// Reasons of the decision, one per line.
        reasons: String,
    },
    /// Lines of the audit log.
    Lines(Vec<LineView>),
    /// Values of lines as in the store, in hexadecimal.
    OldLines(Vec<String>),
    /// Number of the first line that is left in the log.
    Removed(u64),
    /// The hash chain of the audit log is complete.
    Verified {
        /// Number of the last line that was archived before; 0 if none was.
        archived: u64,
        /// Hash of that line in hexadecimal.
        archived_hash: String,
        /// Number of the last line.
        lines: u64,
        /// Hash of the last line in hexadecimal.
        hash: String,
    },
    /// Key of a user, encrypted under the passphrase of the signer (`ncryptsec`).
    EncryptedKey(String),
    /// Link that signs a browser in to the approval page.
    Link(SecretText),
    /// Number of browsers that were signed out.
    SignedOut(usize),
}

/// State of the signer.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[allow(clippy::exhaustive_structs, reason = "a view")]
pub struct Status {
    /// True while the users' keys are in memory.
    pub unlocked: bool,
    /// Users whose keys the signer holds.
    pub users: Vec<UserView>,
    /// Relays of the signer.
    pub relays: Vec<String>,
    /// Other relays, at which clients of apps listen, each with the names of these apps.
    pub app_relays: Vec<AppRelays>,
    /// Relays that are connected now. The list is empty unless the signer runs and has an app.
    pub connected: Vec<String>,
    /// Apps that have not ended.
    pub apps: usize,
    /// Requests that wait for a decision.
    pub waiting: usize,
    /// Events that got no answer since the signer started, by cause. Causes without events are left
    /// out.
    #[serde(default)]
    pub ignored: Vec<IgnoredView>,
}

/// Relay at which clients of apps listen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(clippy::exhaustive_structs, reason = "a view")]
pub struct AppRelays {
    /// URL of the relay.
    pub relay: String,
    /// Names of the apps.
    pub apps: Vec<String>,
}

/// Number of events that got no answer for one cause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(clippy::exhaustive_structs, reason = "a view")]
pub struct IgnoredView {
    /// Cause, as in the metric `endseal_signer_ignored_total`.
    pub cause: String,
    /// Number of events.
    pub count: u64,
}

/// Relay of a client's URI, with its report about the greeting to the client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(clippy::exhaustive_structs, reason = "a view")]
pub struct GreetedRelay {
    /// URL of the relay.
    pub relay: String,
    /// Reason why the relay did not take the greeting. Absent if it took it, or reports nothing
    /// about events.
    pub failure: Option<String>,
}

/// User whose key the signer holds.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[allow(clippy::exhaustive_structs, reason = "a view")]
pub struct UserView {
    /// Public key in hexadecimal.
    pub public_key: String,
    /// Label for people; may be empty.
    pub label: String,
    /// True if the secret key is on a device.
    pub on_device: bool,
    /// True if that device is connected.
    pub device_connected: bool,
}

/// State of an app in its life cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(clippy::exhaustive_enums, reason = "the specification has these")]
pub enum AppState {
    /// The app waits for its client to connect.
    Invited,
    /// The app is paired with a client.
    Paired,
    /// The app's lifetime or its invitation is over.
    Expired,
    /// The app was revoked by a command.
    Revoked,
    /// The client ended the app with `logout`.
    LoggedOut,
}

/// Side that started the connection between client and signer (NIP-46).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(clippy::exhaustive_enums, reason = "NIP-46 has these")]
pub enum Flow {
    /// The signer issued a `bunker://` URI.
    Bunker,
    /// The client issued a `nostrconnect://` URI.
    Nostrconnect,
}

/// App, which is one client's access to one user's key.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[allow(clippy::exhaustive_structs, reason = "a view")]
pub struct AppView {
    /// Number of the app, never used again.
    pub number: u32,
    /// Name that the user gave to the app.
    pub name: String,
    /// State of the app.
    pub state: AppState,
    /// Side that started the connection.
    pub flow: Flow,
    /// Public key of the user in hexadecimal.
    pub user: String,
    /// Public key by which the signer communicates with this app, in hexadecimal.
    pub signer: String,
    /// Public key of the client in hexadecimal. Absent until a client is paired.
    pub client: Option<String>,
    /// Name that the client claims. It is not verified.
    pub claimed_name: String,
    /// URL that the client claims. It is not verified.
    pub claimed_url: String,
    /// True if the client encrypts with NIP-04, which authenticates nothing.
    pub legacy: bool,
    /// True if the client reaches the signer by the user's key.
    pub at_user_key: bool,
    /// Rules for the permissions that the client asks for. They grant nothing.
    pub requested: Vec<String>,
    /// Permissions that the client asks for and that are no rules.
    pub not_understood: Vec<String>,
    /// Time of creation in seconds since 1970.
    pub made: u64,
    /// Time of expiry in seconds since 1970, if the app expires.
    pub expires: Option<u64>,
    /// Relays of the app.
    pub relays: Vec<String>,
    /// Rules of the app.
    pub rules: Vec<RuleView>,
}

/// Rule of an app, with its limits and its use so far.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[allow(clippy::exhaustive_structs, reason = "a view")]
pub struct RuleView {
    /// Number within its app.
    pub number: u32,
    /// Effect on the requests that match.
    pub effect: GrantEffect,
    /// Text form of the rule (`docs/spec/nostr-connect.md`).
    pub text: String,
    /// Time of expiry in seconds since 1970, if the rule expires.
    pub expires: Option<u64>,
    /// Maximum number of uses in total.
    pub uses: Option<u32>,
    /// Maximum number of uses within a period.
    pub rate: Option<Rate>,
    /// Number of uses so far.
    pub used: u32,
}

/// Request that waits for a decision, with what a person needs to decide it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[allow(clippy::exhaustive_structs, reason = "a view")]
pub struct WaitingView {
    /// Number by which the request is approved or denied.
    pub id: u32,
    /// Name of the app that made the request.
    pub app: String,
    /// Number of the app.
    pub app_number: u32,
    /// Time at which the app was added, in seconds since 1970.
    pub app_made: u64,
    /// Public key of the user whose key is to be used, in hexadecimal.
    pub user: String,
    /// Label of the user; may be empty.
    pub user_label: String,
    /// NIP-46 method of the request.
    pub method: String,
    /// Kind of the event to be signed, if the method signs one.
    pub kind: Option<u16>,
    /// Name of the kind in words, if it is known.
    pub kind_name: Option<String>,
    /// Public key of the peer to encrypt to or to decrypt from, in hexadecimal.
    pub peer: Option<String>,
    /// URL and method of kind 27235, or relay of kind 22242 (authentication).
    pub scope: Option<String>,
    /// Content of the event or the text to encrypt, without control and direction characters
    /// except line feeds.
    pub content: String,
    /// Number of characters of the whole content.
    pub content_length: usize,
    /// Text that the app would get from a decryption. Absent if the payload does not decrypt.
    pub plaintext: Option<String>,
    /// Time of the event in seconds since 1970.
    pub created_at: Option<u64>,
    /// Values of each tag; in a list of requests the first 20 tags, with long values cut.
    pub tags: Vec<Vec<String>>,
    /// Number of tags that the event has in total.
    pub tag_count: usize,
    /// Rules for all that the app has asked for.
    pub requested: Vec<String>,
    /// Rule that a decision would add if it is remembered.
    pub rule: String,
    /// Seconds until the request is refused without a decision.
    pub seconds: u64,
}

/// Line of the audit log.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[allow(clippy::exhaustive_structs, reason = "a view")]
pub struct LineView {
    /// Number of the line; the first has number 1.
    pub number: u64,
    /// Time of the line in seconds since 1970.
    pub time: u64,
    /// Kind of the line: its name in `docs/spec/signer.md`, with `_` for spaces.
    pub matter: String,
    /// Name of the app, text of the rule, label of the user, or what the client asked for.
    pub name: String,
    /// Number of the app, if the line is about one.
    pub app: Option<u32>,
    /// NIP-46 method of the request.
    pub method: Option<String>,
    /// Kind of the event to be signed.
    pub kind: Option<u16>,
    /// Public key of the peer or client in hexadecimal.
    pub peer: Option<String>,
    /// Decision on the request.
    pub verdict: Option<String>,
    /// Number of the rule that decided.
    pub rule: Option<u32>,
    /// Id of the event that was signed, in hexadecimal.
    pub signed: Option<String>,
    /// Digest of the request, in hexadecimal.
    pub request: Option<String>,
    /// Hash of the line in hexadecimal, which covers all earlier lines.
    pub hash: String,
}

/// Reason why a command failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CommandError {
    /// No app has this name or number.
    #[error("there is no app '{0}'")]
    NoApp(String),
    /// The app has no rule with this number.
    #[error("the app has no rule {0}")]
    NoRule(u32),
    /// The client asks for other permissions than those that were shown.
    #[error("the app asks for other permissions now")]
    Asks,
    /// This number of apps that have not ended use the key.
    #[error("{0} apps that have not ended use this key")]
    KeyInUse(usize),
    /// No request with this number waits.
    #[error("no request {0} waits for a decision")]
    NotWaiting(u32),
    /// Another app that has not ended has this name, which is that of the command or looks like it.
    #[error("another app already has the name '{0}', or one that looks like it")]
    NameTaken(String),
    /// The command must name a user, or the signer has no key of the named user.
    #[error("{0}")]
    User(String),
    /// A text of the command is malformed: a rule, a URI, a relay, a name or an action.
    #[error("{0}")]
    Invalid(String),
    /// A rule that allows kind 22242 or 27235 names no relay or URL, or lasts too long.
    #[error("{0}")]
    Credential(String),
    /// A limit of the signer is reached; the text names it.
    #[error("{0}")]
    Limit(String),
    /// The command names no relays, and the signer has none.
    #[error("the signer has no relays: name at least one")]
    NoRelays,
    /// The signer is locked, so it has no keys to use.
    #[error("the signer is locked: unlock it first")]
    Locked,
    /// The passphrase is wrong or is not UTF-8.
    #[error("the passphrase is wrong")]
    Passphrase,
    /// The signer already has this user's key.
    #[error("the key {0} is in the signer already")]
    Exists(String),
    /// The command needs a stopped signer.
    #[error("the signer is running: stop it first")]
    Running,
    /// The queue of commands is full.
    #[error("too many commands are waiting: try again later")]
    Busy,
    /// The command needs a running signer: only there requests wait and keys are unlocked.
    #[error("the signer is not running: start it first")]
    NotRunning,
    /// The audit log fails verification: number of the line, and the reason.
    #[error("{1}")]
    Broken(u64, String),
    /// The store could not be read or written.
    #[error("the store failed: {0}")]
    Store(String),
}
