//! Requests.

use std::path::PathBuf;

use endseal_crypto::secret::Zeroizing;
use serde::{Deserialize, Serialize};

use super::SecretText;

/// A command, and the secret that goes with it: for [`Command::Unlock`] the passphrase, for
/// [`Command::Import`] 32 bytes of the key and the passphrase; else empty.
#[allow(missing_debug_implementations, reason = "it holds secrets")]
#[allow(clippy::exhaustive_structs, reason = "callers make them")]
pub struct Request {
    /// Command.
    pub command: Command,
    /// Secret.
    pub secret: Zeroizing<Vec<u8>>,
}

/// A command.
#[allow(missing_debug_implementations, reason = "it holds secrets")]
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Command {
    /// State of the signer.
    Status,
    /// Adds a user's key. While the signer runs, another user's key must be there, by which the
    /// passphrase is checked.
    Import {
        /// Label for people; may be empty.
        label: String,
    },
    /// Makes an app that waits for its client.
    Invite {
        /// Name, unique among the apps that have not ended.
        name: String,
        /// Public key of the user; may be absent if there is one user.
        user: Option<String>,
        /// Rules.
        grants: Vec<Grant>,
        /// Seconds until the app expires.
        lifetime: Option<u64>,
        /// Seconds until the invitation expires.
        invitation: u64,
        /// Relays; those of the signer if it is empty.
        relays: Vec<String>,
    },
    /// Accepts a client's URI.
    Connect {
        /// `nostrconnect://`
        uri: SecretText,
        /// Name; that of the URI if absent.
        name: Option<String>,
        /// As in [`Self::Invite`].
        user: Option<String>,
        /// Rules.
        grants: Vec<Grant>,
        /// Seconds until the app expires.
        lifetime: Option<u64>,
        /// Takes relays at private addresses, and unencrypted ones, from the URI.
        allow_private: bool,
    },
    /// Lists the apps with their rules.
    Apps,
    /// Adds rules to an app.
    Grant {
        /// Name or number.
        app: String,
        /// Rules.
        grants: Vec<Grant>,
    },
    /// Removes a rule of an app.
    RemoveRule {
        /// Name or number.
        app: String,
        /// Number of the rule.
        rule: u32,
    },
    /// Ends an app: its requests get an error from here on.
    Revoke {
        /// Name or number.
        app: String,
    },
    /// Lists the requests that wait for a decision.
    Waiting,
    /// Allows a request that waits.
    Approve {
        /// Number.
        id: u32,
        /// Adds a rule.
        remember: Option<Remember>,
    },
    /// Refuses a request that waits.
    Deny {
        /// Number.
        id: u32,
        /// Adds a rule.
        remember: Option<Remember>,
    },
    /// Says how a request would be decided now.
    Explain {
        /// Name or number.
        app: String,
        /// `sign:4`, `nip44_decrypt:npub1…`
        action: String,
    },
    /// Lines of the audit log.
    Log {
        /// Number after which they begin.
        after: u64,
        /// Most lines; 1,000 at most.
        limit: u32,
    },
    /// Verifies the audit log.
    Verify,
    /// Forgets the users' keys.
    Lock,
    /// Decrypts the users' keys.
    Unlock,
    /// Copies the store.
    Backup {
        /// A directory that does not exist.
        directory: PathBuf,
    },
    /// A link that signs a browser in to the page for approvals, once.
    SignIn,
}

/// Rules to be added.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(clippy::exhaustive_structs, reason = "callers make them")]
pub struct Grant {
    /// Effect.
    pub effect: GrantEffect,
    /// Texts of rules, separated by commas (`docs/spec/nostr-connect.md`).
    pub rules: String,
    /// Seconds until they expire.
    pub lifetime: Option<u64>,
    /// Uses in all.
    pub uses: Option<u32>,
    /// Uses in a window.
    pub rate: Option<Rate>,
}

/// Effect of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(clippy::exhaustive_enums, reason = "the specification has these")]
pub enum GrantEffect {
    /// The request is answered.
    Allow,
    /// The request is refused.
    Deny,
    /// A person decides.
    Ask,
}

/// Uses in a window of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(clippy::exhaustive_structs, reason = "callers make them")]
pub struct Rate {
    /// Uses.
    pub uses: u32,
    /// Seconds.
    pub window: u32,
}

/// Rule that a decision leaves: for the same method, kind or peer, and scope.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(clippy::exhaustive_structs, reason = "callers make them")]
pub struct Remember {
    /// Seconds until the rule expires.
    pub lifetime: Option<u64>,
}
