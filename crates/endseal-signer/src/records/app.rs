//! Apps: connections that clients have or may make.

use core::fmt;

use endseal_crypto::secret::{Zeroizing, constant_time_eq};
use endseal_crypto::sha256;
use endseal_nostr::connect::ConnectSecret;
use endseal_nostr::key::{PublicKey, SecretKey, SigningKey};

use super::name;
use crate::bytes::{Fields, RecordWriter, codes};
use crate::error::RecordError;
use crate::text::{BoundedText, MAX_NAME, MAX_TEXT};

/// Greatest number of relays of one app, and of the signer.
pub const MAX_RELAYS: usize = 8;

/// An app. Its transport key is the name of its record.
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
#[non_exhaustive]
pub struct App {
    number: u32,
    state: AppState,
    flow: Flow,
    user: PublicKey,
    // Boxed, so that a move leaves no copy.
    transport: Box<SigningKey>,
    secret_digest: [u8; sha256::LEN],
    made: u64,
    /// Time in seconds since 1970 from which requests are refused; 0 for never.
    pub expires: u64,
    /// Name that a person gave.
    pub name: BoundedText<MAX_NAME>,
    /// Name that the client claims.
    pub claimed_name: BoundedText<MAX_NAME>,
    /// URL that the client claims.
    pub claimed_url: BoundedText<MAX_TEXT>,
    relays: Vec<BoundedText<MAX_TEXT>>,
}

/// Stage in the life of an app.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_enums, reason = "a change of the format changes it")]
pub enum AppState {
    /// No client has connected.
    Invited,
    /// One client has connected, and no other can.
    Paired {
        /// Key of the client.
        client: PublicKey,
    },
    /// A person ended it.
    Revoked {
        /// Key of the client, if one had connected.
        client: Option<PublicKey>,
        /// Time in seconds since 1970, not 0.
        ended: u64,
    },
    /// The client ended it.
    LoggedOut {
        /// Key of the client.
        client: PublicKey,
        /// Time in seconds since 1970, not 0.
        ended: u64,
    },
}

/// Origin of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_enums, reason = "NIP-46 has these")]
pub enum Flow {
    /// The signer made a `bunker://` URI.
    Bunker {
        /// Time in seconds since 1970 until which it may be used, not 0.
        until: u64,
    },
    /// The client made a `nostrconnect://` URI.
    NostrConnect,
}

codes! {
    /// Code of an [`AppState`].
    pub(super) enum StateCode {
        /// Invited.
        Invited = 1,
        /// Paired.
        Paired = 2,
        /// Revoked.
        Revoked = 3,
        /// Logged out.
        LoggedOut = 4,
    }
}

/// The app was paired before, or has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NotInvited;

impl fmt::Display for NotInvited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the app does not wait for a client")
    }
}

impl core::error::Error for NotInvited {}

impl App {
    pub(crate) const KIND: u32 = 3;

    /// An app that waits for a client until `until`, which is not 0 (`bunker://`). `number` is
    /// [`Settings::next_app`](crate::Settings::next_app), `transport` a key of its own.
    #[must_use]
    pub fn invite(
        number: u32,
        user: PublicKey,
        transport: SecretKey,
        secret: &ConnectSecret,
        now: u64,
        until: u64,
    ) -> Self {
        let flow = Flow::Bunker { until: until.max(1) };
        Self::new(number, AppState::Invited, flow, user, transport, secret, now)
    }

    /// An app for the client of a `nostrconnect://` URI; otherwise as [`Self::invite`].
    #[must_use]
    pub fn connect(
        number: u32,
        user: PublicKey,
        transport: SecretKey,
        secret: &ConnectSecret,
        now: u64,
        client: PublicKey,
    ) -> Self {
        let state = AppState::Paired { client };
        Self::new(number, state, Flow::NostrConnect, user, transport, secret, now)
    }

    fn new(
        number: u32,
        state: AppState,
        flow: Flow,
        user: PublicKey,
        transport: SecretKey,
        secret: &ConnectSecret,
        made: u64,
    ) -> Self {
        Self {
            number,
            state,
            flow,
            user,
            transport: Box::new(SigningKey::new(transport)),
            secret_digest: sha256::digest(secret.expose_secret().as_bytes()),
            made,
            expires: 0,
            name: BoundedText::default(),
            claimed_name: BoundedText::default(),
            claimed_url: BoundedText::default(),
            relays: Vec::new(),
        }
    }

    /// Number in the log, from 1.
    #[must_use]
    pub const fn number(&self) -> u32 {
        self.number
    }

    /// Stage in its life.
    #[must_use]
    pub const fn state(&self) -> &AppState {
        &self.state
    }

    /// Origin.
    #[must_use]
    pub const fn flow(&self) -> &Flow {
        &self.flow
    }

    /// Key that the app may ask for.
    #[must_use]
    pub const fn user(&self) -> &PublicKey {
        &self.user
    }

    /// Transport key: encrypts to the client and signs events to it.
    #[must_use]
    pub fn transport(&self) -> &SigningKey {
        &self.transport
    }

    /// Key of the client that is or was paired.
    #[must_use]
    pub const fn client(&self) -> Option<&PublicKey> {
        match &self.state {
            AppState::Invited => None,
            AppState::Paired { client } | AppState::LoggedOut { client, .. } => Some(client),
            AppState::Revoked { client, .. } => client.as_ref(),
        }
    }

    /// Time of its making in seconds since 1970.
    #[must_use]
    pub const fn made(&self) -> u64 {
        self.made
    }

    /// Relays over which its client is reached; if there are none, those of the signer.
    #[must_use]
    pub fn relays(&self) -> &[BoundedText<MAX_TEXT>] {
        &self.relays
    }

    /// Sets the relays.
    ///
    /// # Errors
    /// [`RecordError::Value`] if they are more than [`MAX_RELAYS`] or one is empty; nothing
    /// changed.
    pub fn set_relays(&mut self, relays: Vec<BoundedText<MAX_TEXT>>) -> Result<(), RecordError> {
        check_relays(&relays)?;
        self.relays = relays;
        Ok(())
    }

    /// Returns true if `secret` is the app's, in constant time.
    #[must_use]
    pub fn has_secret(&self, secret: &ConnectSecret) -> bool {
        let digest = sha256::digest(secret.expose_secret().as_bytes());
        constant_time_eq(&digest, &self.secret_digest)
    }

    /// Time in seconds since 1970 at which it ends or has ended: it was revoked or logged out,
    /// expires, or is not paired when its invitation expires.
    #[must_use]
    pub fn end(&self) -> Option<u64> {
        let invitation = match (&self.state, &self.flow) {
            (AppState::Revoked { ended, .. } | AppState::LoggedOut { ended, .. }, _) => {
                return Some(*ended);
            }
            (AppState::Invited, Flow::Bunker { until }) => Some(*until),
            _ => None,
        };
        let expires = Some(self.expires).filter(|time| *time != 0);
        invitation.into_iter().chain(expires).min()
    }

    /// Pairs it with a client, whose secret the caller has compared. The secret is spent.
    ///
    /// # Errors
    /// [`NotInvited`]; nothing changed.
    pub fn pair(&mut self, client: PublicKey) -> Result<(), NotInvited> {
        if self.state != AppState::Invited {
            return Err(NotInvited);
        }
        self.state = AppState::Paired { client };
        Ok(())
    }

    /// Ends it for a person. Returns false if it had ended before.
    pub fn revoke(&mut self, now: u64) -> bool {
        let client = match self.state {
            AppState::Invited => None,
            AppState::Paired { client } => Some(client),
            AppState::Revoked { .. } | AppState::LoggedOut { .. } => return false,
        };
        self.state = AppState::Revoked { client, ended: now.max(1) };
        true
    }

    /// Ends it for its client. Returns false if it was not paired.
    pub fn log_out(&mut self, now: u64) -> bool {
        let AppState::Paired { client } = self.state else { return false };
        self.state = AppState::LoggedOut { client, ended: now.max(1) };
        true
    }

    /// Name of the record.
    #[must_use]
    pub fn record_name(&self) -> [u8; 32] {
        self.transport.public_key().to_bytes()
    }

    /// Reads a record.
    ///
    /// # Errors
    /// [`RecordError`].
    pub fn from_bytes(record_name: &[u8], value: &[u8]) -> Result<Self, RecordError> {
        let record_name = name::<32>(record_name)?;
        let mut fields = Fields::versioned(value)?;
        let number = fields.u32()?;
        let state = fields.code(StateCode::from_code)?;
        let is_bunker = fields.code(|flow| match flow {
            BUNKER => Some(true),
            NOSTR_CONNECT => Some(false),
            _ => None,
        })?;
        let user = fields.public_key()?;
        let transport = SecretKey::from_bytes(fields.array()?).map_err(|_| RecordError::Value)?;
        let client = match fields.array()? {
            &NO_CLIENT => None,
            client => Some(PublicKey::from_bytes(client).map_err(|_| RecordError::Value)?),
        };
        let secret_digest = *fields.array()?;
        let (made, until, expires, ended) =
            (fields.u64()?, fields.u64()?, fields.u64()?, fields.u64()?);
        let (name, claimed_name, claimed_url) = (fields.text()?, fields.text()?, fields.text()?);
        let relays = fields.texts(MAX_RELAYS)?;
        fields.end()?;

        let state = match (state, client, ended) {
            (StateCode::Invited, None, 0) => AppState::Invited,
            (StateCode::Paired, Some(client), 0) => AppState::Paired { client },
            (StateCode::Revoked, client, 1..) => AppState::Revoked { client, ended },
            (StateCode::LoggedOut, Some(client), 1..) => AppState::LoggedOut { client, ended },
            _ => return Err(RecordError::Value),
        };
        let flow = match (is_bunker, until, client) {
            (true, 1.., _) => Flow::Bunker { until },
            (false, 0, Some(_)) => Flow::NostrConnect,
            _ => return Err(RecordError::Value),
        };
        let transport = Box::new(SigningKey::new(transport));
        if number == 0 || transport.public_key().to_bytes() != *record_name {
            return Err(RecordError::Value);
        }
        Ok(Self {
            number,
            state,
            flow,
            user,
            transport,
            secret_digest,
            made,
            expires,
            name,
            claimed_name,
            claimed_url,
            relays,
        })
    }

    /// The value, which holds the transport key.
    #[must_use]
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let (state, ended) = match self.state {
            AppState::Invited => (StateCode::Invited, 0),
            AppState::Paired { .. } => (StateCode::Paired, 0),
            AppState::Revoked { ended, .. } => (StateCode::Revoked, ended),
            AppState::LoggedOut { ended, .. } => (StateCode::LoggedOut, ended),
        };
        let (flow, until) = match self.flow {
            Flow::Bunker { until } => (BUNKER, until),
            Flow::NostrConnect => (NOSTR_CONNECT, 0),
        };
        RecordWriter::versioned(MAX_LEN)
            .u32(self.number)
            .bytes(&[state.code(), flow])
            .bytes(&self.user.to_bytes())
            .bytes(self.transport.secret_key().expose_secret())
            .bytes(&self.client().map_or(NO_CLIENT, PublicKey::to_bytes))
            .bytes(&self.secret_digest)
            .u64(self.made)
            .u64(until)
            .u64(self.expires)
            .u64(ended)
            .text(&self.name)
            .text(&self.claimed_name)
            .text(&self.claimed_url)
            .texts(&self.relays)
            .finish()
    }
}

/// Checks relays that are to be recorded.
pub(crate) fn check_relays(relays: &[BoundedText<MAX_TEXT>]) -> Result<(), RecordError> {
    let is_empty = |relay: &BoundedText<MAX_TEXT>| relay.as_str().is_empty();
    if relays.len() > MAX_RELAYS || relays.iter().any(is_empty) {
        return Err(RecordError::Value);
    }
    Ok(())
}

const NO_CLIENT: [u8; 32] = [0; 32];
const BUNKER: u8 = 1;
const NOSTR_CONNECT: u8 = 2;
/// Greatest length of a value.
const MAX_LEN: usize =
    7 + 4 * 32 + 4 * 8 + 2 * (1 + MAX_NAME) + 1 + MAX_TEXT + 1 + MAX_RELAYS * (1 + MAX_TEXT);
