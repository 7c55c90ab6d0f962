//! Commands that a running signer accepts on its control socket.

use std::path::PathBuf;

use endseal_crypto::secret::Zeroizing;
use serde::{Deserialize, Serialize};

use super::SecretText;

/// Command with its secret. The secret is the passphrase for [`Command::Unlock`], the 32 bytes of
/// the key followed by the passphrase for [`Command::Import`], and empty for all others.
#[allow(missing_debug_implementations, reason = "it holds secrets")]
#[allow(clippy::exhaustive_structs, reason = "callers make them")]
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Command to execute.
    pub command: Command,
    /// Secret of the command, wiped when dropped. It is sent in hexadecimal.
    #[serde(with = "secret_hex")]
    pub secret: Zeroizing<Vec<u8>>,
}

mod secret_hex {
    //! Hexadecimal form of a secret, in lower case. No branch and no address depends on its bytes.

    use base16ct::lower::{decode, encode_str};
    use endseal_crypto::secret::Zeroizing;
    use serde::de::Error as _;
    use serde::ser::Error as _;
    use serde::{Deserialize as _, Deserializer, Serializer};

    use super::SecretText;

    pub(super) fn serialize<S: Serializer>(secret: &[u8], to: S) -> Result<S::Ok, S::Error> {
        let mut digits = Zeroizing::new(vec![0; 2 * secret.len()]);
        to.serialize_str(encode_str(secret, &mut digits).map_err(S::Error::custom)?)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Zeroizing<Vec<u8>>, D::Error> {
        let text = SecretText::deserialize(from)?;
        let mut secret = Zeroizing::new(vec![0; text.expose_secret().len() / 2]);
        let decoded = decode(text.expose_secret(), &mut secret).map(drop);
        decoded.map_err(|_| D::Error::custom("the secret is not lower-case hexadecimal"))?;
        Ok(secret)
    }
}

/// Command to a signer. A [`Request`] carries it over the socket, with its secret.
#[allow(missing_debug_implementations, reason = "it holds secrets")]
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Command {
    /// Returns the state of the signer.
    Status,
    /// Adds a user's key. The passphrase must be that of the signer, which encrypts the key.
    Import {
        /// Label for people; may be empty.
        label: String,
    },
    /// Adds a user whose secret key is on a device.
    ImportDevice {
        /// Public key of the device, in hexadecimal.
        user: String,
        /// Label for people; may be empty.
        label: String,
    },
    /// Creates an app with an invitation that its client can use to connect.
    Invite {
        /// Name of the app, unique among the apps that have not ended.
        name: String,
        /// Public key of the user, in hexadecimal or as `npub`. Optional if there is only one user.
        user: Option<String>,
        /// Rules that the app starts with.
        grants: Vec<Grant>,
        /// Seconds until the app expires.
        lifetime: Option<u64>,
        /// Seconds until the invitation expires.
        invitation: u64,
        /// Relays of the app. An empty list stands for the signer's relays.
        relays: Vec<String>,
        /// Lets the client reach the signer by the user's key, for clients that take one for the
        /// other. Relays see the user then.
        as_user_key: bool,
    },
    /// Accepts a client's `nostrconnect://` URI and creates an app for it.
    Connect {
        /// URI of the client, which contains the secret of the connection.
        uri: SecretText,
        /// Name of the app. If absent, the name that the URI claims is used.
        name: Option<String>,
        /// Public key of the user, as in [`Self::Invite`].
        user: Option<String>,
        /// Rules that the app starts with.
        grants: Vec<Grant>,
        /// Seconds until the app expires.
        lifetime: Option<u64>,
        /// Accepts relays at private addresses and unencrypted relays in the URI.
        allow_private: bool,
        /// Answers the client by the user's key, as in [`Self::Invite`].
        as_user_key: bool,
        /// Adds the rules of [`Self::GrantRequested`], too.
        grant_requested: bool,
    },
    /// Lists the apps with their rules.
    Apps,
    /// Adds rules to an app.
    Grant {
        /// Name or number of the app.
        app: String,
        /// Rules to add.
        grants: Vec<Grant>,
    },
    /// Adds a rule for each permission that the client of an app has asked for: one that allows, or
    /// one that asks if the kind acts elsewhere.
    GrantRequested {
        /// Name or number of the app.
        app: String,
        /// Permissions that a person has seen.
        requested: Requested,
    },
    /// Gives an app another name.
    Rename {
        /// Name or number of the app.
        app: String,
        /// New name, unique among the apps that have not ended.
        name: String,
    },
    /// Invites the client of an app again, with the same rules: it has lost its key.
    Reinvite {
        /// Name or number of the app.
        app: String,
        /// Seconds until the invitation expires.
        invitation: u64,
    },
    /// Returns the key of a user, encrypted under the passphrase of the signer.
    EncryptedKey {
        /// Public key of the user, in hexadecimal.
        user: String,
    },
    /// Removes the key of a user, and the apps of this user that have ended.
    RemoveUser {
        /// Public key of the user, in hexadecimal.
        user: String,
    },
    /// Removes a rule of an app.
    RemoveRule {
        /// Name or number of the app.
        app: String,
        /// Number of the rule within the app.
        rule: u32,
    },
    /// Ends an app. Its later requests are answered with an error.
    Revoke {
        /// Name or number of the app.
        app: String,
    },
    /// Returns the requests that wait for a decision.
    Waiting {
        /// Number of a request, which is returned whole. If absent, all are returned, with long
        /// texts cut.
        id: Option<u32>,
    },
    /// Allows a request that waits for a decision.
    Approve {
        /// Number of the request.
        id: u32,
        /// Rule to add for later requests of the same sort, if any.
        remember: Option<Remember>,
        /// Adds rules for all that the app asks for, too.
        requested: Option<Requested>,
    },
    /// Refuses a request that waits for a decision.
    Deny {
        /// Number of the request.
        id: u32,
        /// Rule to add for later requests of the same sort, if any.
        remember: Option<Remember>,
    },
    /// Reports how a request would be decided now, without executing it.
    Explain {
        /// Name or number of the app.
        app: String,
        /// Method with its kind or peer, for instance `sign:4` or `nip44_decrypt:npub1…`.
        action: String,
    },
    /// Returns lines of the audit log.
    Log {
        /// Number of the line after which the result begins; 0 begins with the first line.
        after: u64,
        /// Maximum number of lines, at most 1,000.
        limit: u32,
    },
    /// Verifies the hash chain of the audit log.
    Verify,
    /// Returns the values of lines that the signer does not need any more, to be archived.
    OldLines {
        /// Number of the line after which the result begins.
        after: u64,
        /// Maximum number of lines, at most 1,000.
        limit: u32,
    },
    /// Removes the oldest lines, which the caller has archived: 1,000 at most, up to this one.
    RemoveOldLines {
        /// Number of the last line to remove.
        number: u64,
        /// Its hash in hexadecimal.
        hash: String,
    },
    /// Erases the users' keys from memory.
    Lock,
    /// Decrypts the users' keys with the passphrase.
    Unlock,
    /// Copies the store into a new directory.
    Backup {
        /// Directory of the copy; it must not exist.
        directory: PathBuf,
    },
    /// Returns a link that signs one browser in to the approval page. It works once.
    SignIn,
    /// Signs all browsers out, and ends a link that was not used. Returns their number.
    SignOut,
}

/// Permissions that the client of an app asks for, as a person has seen them. A client may ask for
/// others at any time, which no one has seen.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(clippy::exhaustive_structs, reason = "callers make them")]
pub struct Requested {
    /// Rules for the permissions, as [`AppView`](super::AppView) lists them.
    pub rules: Vec<String>,
    /// Seconds until the rules expire.
    pub lifetime: Option<u64>,
}

/// Rules to add to an app, with their effect and limits.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(clippy::exhaustive_structs, reason = "callers make them")]
pub struct Grant {
    /// Effect that all the rules have.
    pub effect: GrantEffect,
    /// Texts of rules, separated by commas (`docs/spec/nostr-connect.md`).
    pub rules: String,
    /// Seconds until the rules expire.
    pub lifetime: Option<u64>,
    /// Maximum number of uses in total.
    pub uses: Option<u32>,
    /// Maximum number of uses within a period.
    pub rate: Option<Rate>,
}

/// Effect of a rule on the requests that it matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(clippy::exhaustive_enums, reason = "the specification has these")]
pub enum GrantEffect {
    /// The request is answered.
    Allow,
    /// The request is refused.
    Deny,
    /// A person decides each request.
    Ask,
}

/// Maximum number of uses within a period.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(clippy::exhaustive_structs, reason = "callers make them")]
pub struct Rate {
    /// Number of uses that are allowed.
    pub uses: u32,
    /// Length of the period in seconds.
    pub window: u32,
}

/// Rule that a decision adds, for the same method, kind or peer, and scope as the request.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(clippy::exhaustive_structs, reason = "callers make them")]
pub struct Remember {
    /// Seconds until the rule expires.
    pub lifetime: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::{Command, Request};
    use endseal_crypto::secret::Zeroizing;

    fn secret_of(text: &str) -> Result<Vec<u8>, String> {
        let json = format!(r#"{{"command":"unlock","secret":"{text}"}}"#);
        let request = serde_json::from_str::<Request>(&json);
        request.map(|it| it.secret.to_vec()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_secret_survives_its_json() {
        for secret in [vec![], (0..=255).collect::<Vec<u8>>()] {
            let request =
                Request { command: Command::Unlock, secret: Zeroizing::new(secret.clone()) };
            let json = serde_json::to_string(&request).unwrap();
            let read = serde_json::from_str::<Request>(&json).unwrap();
            assert_eq!(*read.secret, secret);
        }
        assert_eq!(secret_of("00ff").unwrap(), [0, 255]);
    }

    #[test]
    fn only_pairs_of_small_hexadecimal_digits_are_a_secret() {
        for text in ["+f", "-0", "FF", "fF", "0", "000", "0g", " 0", "é"] {
            let error = secret_of(text).expect_err(text);
            assert!(error.starts_with("the secret is not lower-case hexadecimal"), "{error}");
        }
    }
}
